"""Queued operations: killed at any moment, with a network that comes and goes, each is carried out once and in order."""

import http.server
import json
import os
import random
import socketserver
import threading
import time

from agent_fixture import PATIENCE_SECONDS, AgentFixture, ConnectionLost, add_provider, import_account
from lanyard import Overloaded

# `make nightly` sets LANYARD_KILLS=all: the long loop.
IS_NIGHTLY = os.environ.get("LANYARD_KILLS") == "all"
OPERATIONS = int(os.environ.get("LANYARD_OPERATIONS", "10000" if IS_NIGHTLY else "60"))
POLICY = {"name": "default", "version": 1, "capabilities": {"note": {"kind": "write", "offlineWindowSeconds": 86400}}}


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    allow_reuse_address = True


class Resource:
    """A resource server that honours Idempotency-Key, and that can go away and lose answers."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.effects = []
        self.known = {}
        self.requests = 0
        self.loses = 0.0
        self.port = 0
        self.server = None
        self.up()
        self.origin = f"http://127.0.0.1:{self.port}"

    def up(self):
        resource = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                answer = resource.take(self.headers["Idempotency-Key"], body, self.headers["Authorization"])
                if answer is None:
                    self.close_connection = True
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = Server(("127.0.0.1", self.port), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def down(self):
        if self.server is not None:
            self.server.shutdown()
            self.server.server_close()
            self.server = None

    def take(self, key, body, authorization):
        """The answer; None if it is lost on its way."""
        with self.lock:
            self.requests += 1
            assert authorization.startswith("Bearer "), authorization
            if key not in self.known:
                self.known[key] = len(self.effects)
                self.effects.append(body)
            return None if self.random.random() < self.loses else json.dumps({"effect": self.known[key]}).encode()


class Operations(AgentFixture):
    def setUp(self):
        self.seed = int(os.environ.get("LANYARD_SEED", time.time_ns() % 1_000_000))
        self.random = random.Random(self.seed)
        self.resource = Resource(self.seed)
        self.addCleanup(self.resource.down)
        # A kill between a rotation and its answer would end the grant, and the person would have to sign in.
        self.practice = self.provider("--rotation", "none")
        self.agent = self.scene()
        with self.agent.client() as client:
            add_provider(client, self.practice, allowedOrigins=[self.resource.origin], refresh={"reuse": "none"})
            client.call("policy.set", {"name": "default", "policy": POLICY})
            for person in ("alice", "bob"):
                import_account(client, self.practice, person, alias=person)

    def enqueue(self, client, person, number, **more):
        return client.call(
            "operation.enqueue",
            {
                "account": person, "capability": "note", "idempotencyKey": f"{person}-{number}",
                "request": {"method": "POST", "url": self.resource.origin + "/notes", "body": f"{person} {number}"},
                "retryWithinSeconds": 3600, **more,
            },
        )

    def pending(self):
        with self.agent.client() as client:
            return client.call("agent.status")["pendingOperations"]

    def statuses(self, client, person):
        return [(entry["label"] if "label" in entry else entry["idempotencyKey"], entry["status"])
                for entry in client.call("operation.list", {"account": person})["operations"]]

    def test_a_server_that_is_away_gets_the_operation_when_it_is_back(self):
        self.resource.down()
        with self.agent.client() as client:
            told = self.enqueue(client, "alice", 0)
            self.assertEqual(told["status"], "queued")
            self.resource.up()
            client.call("connectivity.report", {"online": True})
            self.until(lambda: self.statuses(client, "alice") == [("alice-0", "done")], "the delivery")
        self.assertEqual(self.resource.effects, ["alice 0"])

    def test_an_unknown_outcome_without_permission_stays_unknown_over_a_restart(self):
        self.resource.loses = 1.0
        with self.agent.client() as client:
            told = client.call(
                "operation.enqueue",
                {"account": "alice", "capability": "note",
                 "request": {"method": "POST", "url": self.resource.origin + "/notes", "body": "once"}})
            name = {"account": "alice", "operation": told["operation"]}
            self.until(lambda: client.call("operation.get", name)["status"] == "unknown", "the loss")
        self.resource.loses = 0.0
        self.agent.kill()
        self.agent.start()
        with self.agent.client() as client:
            self.assertEqual(client.call("operation.get", name)["status"], "unknown")
            self.assertEqual(self.resource.requests, 1)
            client.call("operation.retry", name)
            self.until(lambda: client.call("operation.get", name)["status"] == "done", "the retry")
        self.assertEqual(self.resource.effects, ["once"])

    def test_claims_end_with_the_agent(self):
        with self.agent.client() as client:
            told = client.call("operation.enqueue", {"account": "alice", "capability": "note", "payload": {"n": 1}})
            self.assertEqual(told["status"], "ready")
            claimed = client.call("operation.claim", {"account": "alice", "leaseSeconds": 3600})
            self.assertEqual(claimed["payload"], {"n": 1})
        self.agent.kill()
        self.agent.start()
        with self.agent.client() as client:
            again = client.call("operation.claim", {"account": "alice"})
            self.assertEqual(again["operation"], claimed["operation"])
            self.refused(
                6002, lambda: client.call("operation.settle", {
                    "account": "alice", "operation": claimed["operation"], "claim": claimed["claim"]}))
            client.call("operation.settle", {
                "account": "alice", "operation": again["operation"], "claim": again["claim"], "outcome": "done"})

    def test_kill_loop_each_operation_is_carried_out_once_and_in_order(self):
        """The agent is killed, the server goes and comes, answers are lost; every enqueued operation has one effect."""
        self.resource.loses = 0.1
        ended = threading.Event()

        def disturb():
            while not ended.wait(self.random.uniform(0.05, 0.4)):
                if self.random.random() < 0.5:
                    self.agent.kill()
                    self.agent.start()
                else:
                    self.resource.down()
                    time.sleep(self.random.uniform(0, 0.1))
                    self.resource.up()

        trouble = threading.Thread(target=disturb, daemon=True)
        trouble.start()
        for number in range(OPERATIONS // 2):
            for person in ("alice", "bob"):
                self.insist(person, number)
        ended.set()
        trouble.join(60)
        self.resource.loses = 0.0
        self.until_all_is_delivered()
        for person in ("alice", "bob"):
            mine = [effect for effect in self.resource.effects if effect.startswith(person)]
            self.assertEqual(mine, [f"{person} {number}" for number in range(OPERATIONS // 2)], f"seed {self.seed}")

    def insist(self, person, number):
        """Enqueues until the agent has confirmed it: the same key never makes a second operation."""
        deadline, effects = time.monotonic() + PATIENCE_SECONDS * 3, len(self.resource.effects)
        while True:
            try:
                with self.agent.client(timeout=PATIENCE_SECONDS) as client:
                    try:
                        self.enqueue(client, person, number)
                        return
                    except Overloaded:
                        # The queue is full. A pause may be minutes long by now.
                        client.call("connectivity.report", {"online": True})
                        raise
            except (ConnectionLost, OSError, Overloaded):
                if len(self.resource.effects) > effects:
                    deadline, effects = time.monotonic() + PATIENCE_SECONDS * 3, len(self.resource.effects)
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def until_all_is_delivered(self):
        deadline, effects = time.monotonic() + PATIENCE_SECONDS * 6, len(self.resource.effects)
        while pending := self.pending():
            if len(self.resource.effects) > effects:
                deadline, effects = time.monotonic() + PATIENCE_SECONDS * 6, len(self.resource.effects)
            if time.monotonic() > deadline:
                with self.agent.client() as client:
                    self.fail(f"{pending} wait: {[s for p in ('alice', 'bob') for s in self.statuses(client, p)][-20:]}")
            with self.agent.client() as client:
                client.call("connectivity.report", {"online": True})
            time.sleep(0.2)
