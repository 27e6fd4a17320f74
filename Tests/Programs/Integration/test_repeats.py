"""Repeated decisions are answered from memory: kill -9 at any moment loses none from the log, and nothing outlives its end."""

import contextlib
import json
import os
import random
import socket
import sqlite3
import threading
import time
import unittest

from agent_fixture import AgentFixture, ConnectionLost, LanyardError, PATIENCE_SECONDS, add_provider, import_account

KILLS = int(os.environ.get("LANYARD_KILLS", "10").replace("all", "200"))
OVERLOADED = 1003
BATCHES, RENAMES = 40, 50
POLICY = {
    "name": "default",
    "version": 1,
    "capabilities": {
        "read": {"kind": "read", "offlineWindowSeconds": 86400},
        "list": {"kind": "read", "offlineWindowSeconds": 86400},
        "write": {"kind": "write", "offlineWindowSeconds": 86400},
    },
}


class Checks(threading.Thread):
    """A client that checks one capability again and again until the agent dies."""

    def __init__(self, scene, capability):
        super().__init__(daemon=True)
        self.scene = scene
        self.capability = capability
        self.answered = 0
        self.unexpected = []
        self.start()

    def run(self):
        try:
            with self.scene.client(timeout=30) as client:
                while True:
                    effect = client.call("authorization.check", {"account": "alice", "capability": self.capability})
                    if effect["effect"] != "allow":
                        self.unexpected.append(effect)
                    self.answered += 1
        except (ConnectionLost, ConnectionError, OSError):
            pass
        except LanyardError as error:
            self.unexpected.append(error)


class Repeats(AgentFixture):
    def prepare(self, **policy):
        provider = self.provider()
        scene = self.scene()
        with scene.client() as client:
            add_provider(client, provider)
            import_account(client, provider, "alice", alias="alice")
            client.call("policy.set", {"name": "default", "policy": {**POLICY, **policy}})
        return scene

    def counts(self, client):
        counts, after = {}, 0
        while after is not None:
            page = client.call("audit.list", {"after": after, "limit": 1000})
            for entry in page["entries"]:
                if entry["event"] == "authorization.check":
                    name = entry["facts"]["capability"]
                    counts[name] = counts.get(name, 0) + entry.get("count", 1)
            after = page.get("next")
        self.assertTrue(client.call("audit.verify", {})["intact"])
        return counts

    def test_no_repeat_is_lost_by_a_kill(self):
        seed = int(os.environ.get("LANYARD_SEED", time.time_ns() % 1_000_000))
        chance = random.Random(seed)
        scene = self.prepare()
        told = {"read": 0, "list": 0}
        deaths = 0
        with self.subTest(seed=seed):
            for _ in range(KILLS):
                clients = [Checks(scene, name) for name in told for _ in range(2)]
                time.sleep(chance.uniform(0.01, 0.5))
                scene.kill()
                deaths += 1
                for client in clients:
                    client.join(30)
                    self.assertEqual(client.unexpected, [])
                    told[client.capability] += client.answered
                scene.start()
                with scene.client() as client:
                    counts = self.counts(client)
                for name, answered in told.items():
                    # Each of the two clients may have had one check under way at each kill.
                    self.assertGreaterEqual(counts.get(name, 0), answered, f"{name}, seed {seed}")
                    self.assertLessEqual(counts.get(name, 0), answered + 2 * deaths, f"{name}, seed {seed}")
            self.assertGreater(told["read"], 50 * KILLS, "repeats came from memory")

    def test_repeats_reach_the_disk_soon(self):
        scene = self.prepare()
        with scene.client() as client:
            first = client.call("authorization.check", {"account": "alice", "capability": "read"})
            for _ in range(500):
                repeat = client.call("authorization.check", {"account": "alice", "capability": "read"})
                self.assertEqual(repeat["decisionId"], first["decisionId"])
            self.assertEqual({**repeat, "time": 0, "validForSeconds": 0, "validUntil": 0},
                             {**first, "time": 0, "validForSeconds": 0, "validUntil": 0})
            time.sleep(1)
        scene.kill()
        # What is in the file beside the log is of no use any more.
        os.remove(os.path.join(scene.state, "lanyard.sqlite-repeats"))
        scene.start()
        with scene.client() as client:
            self.assertEqual(self.counts(client), {"read": 501})

    def test_what_ends_a_decision_ends_its_repeats_at_once(self):
        scene = self.prepare()
        with scene.client() as client, scene.client() as other:
            for version in range(2, 8):
                for _ in range(50):
                    decision = client.call("authorization.check", {"account": "alice", "capability": "read"})
                    self.assertEqual((decision["effect"], decision["policy"]["version"]), ("allow", version - 1))
                other.call("policy.set", {"name": "default", "policy": {**POLICY, "version": version}})
            other.call("account.signOut", {"account": "alice", "mode": "offline"})
            decision = client.call("authorization.check", {"account": "alice", "capability": "read"})
            self.assertEqual((decision["effect"], decision["reason"]), ("deny", "signedOut"))
            self.assertEqual(self.counts(client)["read"], 301)

    def test_a_long_batch_is_one_line_beside_other_answers_and_events(self):
        scene = self.prepare()
        with scene.client() as client:
            account = client.call("account.get", {"account": "alice"})["account"]
            token = client.call("token.get", {"account": account})["accessToken"]
        request = '{"jsonrpc":"2.0","id":%d,"method":"token.get","params":{"account":"' + account + '"}}'
        status = '{"jsonrpc":"2.0","id":"status %d","method":"agent.status"}\n'
        batch = "[" + ",".join(request % number for number in range(500)) + "]\n"
        subscribe = '{"jsonrpc":"2.0","id":"subscribe","method":"event.subscribe","params":{}}\n'

        def rename():
            with scene.client() as client:
                for number in range(RENAMES):
                    names = ("alice", "other")
                    client.call("account.rename", {"account": names[number % 2], "alias": names[(number + 1) % 2]})

        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE_SECONDS)
            connection.connect(scene.socket)
            lines = connection.makefile("rb")
            connection.sendall(subscribe.encode())
            self.assertIn("result", json.loads(lines.readline()))
            requests = request % 0 + "\n" + "".join(status % number + batch for number in range(BATCHES))
            sending = threading.Thread(target=connection.sendall, args=(requests.encode(),))
            renaming = threading.Thread(target=rename)
            sending.start()
            renaming.start()
            # The first answers come while nothing is read, so that parts of batches wait.
            time.sleep(0.2)
            counts = {"batch": 0, "status": 0, "event": 0}
            while counts != {"batch": BATCHES, "status": BATCHES, "event": RENAMES}:
                answer = json.loads(lines.readline())
                if isinstance(answer, list):
                    self.assertEqual([member["id"] for member in answer], list(range(500)))
                    self.assertEqual({member["result"]["accessToken"] for member in answer}, {token})
                    counts["batch"] += 1
                elif "method" in answer:
                    self.assertEqual(answer["params"]["type"], "account.renamed")
                    counts["event"] += 1
                elif answer["id"] != 0:
                    self.assertIn("result", answer)
                    counts["status"] += 1
            sending.join(PATIENCE_SECONDS)
            renaming.join(PATIENCE_SECONDS)

    def test_each_client_has_an_entry_of_its_own(self):
        scene = self.prepare()
        for name in ("mail", "editor"):
            with scene.client() as client:
                client.call("agent.hello", {"client": {"name": name, "version": "1"}})
                for _ in range(30):
                    client.call("authorization.check", {"account": "alice", "capability": "read"})
        with scene.client() as client:
            entries = client.call("audit.list", {"after": 3})["entries"]
            told = [(e["client"], e.get("count")) for e in entries if e["event"] == "authorization.check"]
            self.assertEqual(told, [("mail", 30), ("editor", 30)])

    def test_deleted_store_is_noticed_within_a_moment(self):
        scene = self.prepare()
        with scene.client() as client:
            for _ in range(20):
                client.call("authorization.check", {"account": "alice", "capability": "read"})
            for name in os.listdir(scene.state):
                if name.startswith("lanyard.sqlite"):
                    os.remove(os.path.join(scene.state, name))
            end = time.monotonic() + 5
            error = None
            while error is None and time.monotonic() < end:
                try:
                    client.call("authorization.check", {"account": "alice", "capability": "read"})
                except LanyardError as refused:
                    error = refused
            self.assertIsNotNone(error, "checks go on without a log")
            self.assertEqual(error.code, 5001)

    def test_pipelined_checks_are_answered_in_one_go(self):
        scene = self.prepare()
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "authorization.check",
                           "params": {"account": "alice", "capability": "read"}}).encode()
        with scene.client() as client:
            for _ in range(3):
                client.call("authorization.check", {"account": "alice", "capability": "read"})
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(scene.socket)
            peer.sendall(b"".join(line.replace(b'"id": 1', b'"id": %d' % n) + b"\n" for n in range(100)))
            received = b""
            while received.count(b"\n") < 100:
                received += peer.recv(65536)
        answers = [json.loads(text) for text in received.splitlines()]
        self.assertEqual({answer["id"] for answer in answers}, set(range(100)))
        self.assertEqual({answer["result"]["effect"] for answer in answers}, {"allow"})


    def together(self, scene, names):
        """Checks capabilities in one write; the error codes and effects, in the order of the names."""
        lines = [json.dumps({"jsonrpc": "2.0", "id": number, "method": "authorization.check",
                             "params": {"account": "alice", "capability": name}}) for number, name in enumerate(names)]
        with socket.socket(socket.AF_UNIX) as peer:
            peer.settimeout(PATIENCE_SECONDS)
            peer.connect(scene.socket)
            peer.sendall("".join(line + "\n" for line in lines).encode())
            received = b""
            while received.count(b"\n") < len(names):
                received += peer.recv(65536)
        answers = sorted(map(json.loads, received.splitlines()), key=lambda answer: answer["id"])
        return [answer["result"]["effect"] if "result" in answer else answer["error"]["code"] for answer in answers]

    def test_repeats_add_no_entries_past_the_quota(self):
        """Capabilities in turn, more than the entries that count repeats: each is a new entry, and charged."""
        names = [f"c{number}" for number in range(300)]
        scene = self.prepare(capabilities={name: {"kind": "read", "offlineWindowSeconds": 86400} for name in names})
        with scene.client() as client:
            before = client.call("audit.verify", {})["entries"]
            told = {name: 0 for name in names}
            refused = False
            for _ in range(60):
                if refused:
                    break
                for group in (names[:100], names[100:200], names[200:], names[:256]):
                    outcomes = self.together(scene, group)
                    self.assertLessEqual(set(outcomes), {"allow", OVERLOADED})
                    refused = refused or OVERLOADED in outcomes
                    for name, outcome in zip(group, outcomes):
                        told[name] += outcome == "allow"
            self.assertTrue(refused, "the quota of new entries was not reached")
            # The agent's own words about refused checks are among them.
            self.assertLess(client.call("audit.verify", {})["entries"] - before, 5_200)
            counts = self.counts(client)
            for name in names:
                self.assertGreaterEqual(counts.get(name, 0), told[name], name)

    def commits(self, scene, client, checks=300):
        """In how many of the checks the store was committed."""
        with contextlib.closing(sqlite3.connect(os.path.join(scene.state, "lanyard.sqlite"))) as store:
            versions = []
            for _ in range(checks):
                client.call("authorization.check", {"account": "alice", "capability": "read"})
                versions.append(store.execute("PRAGMA data_version").fetchone())
        return sum(one != other for one, other in zip(versions, versions[1:]))

    def test_repeats_come_from_memory_whatever_happened_to_the_log(self):
        scene = self.prepare()
        with scene.client() as client:
            self.assertLess(self.commits(scene, client), 100, "the log had no decision yet")
            for method, params in (("audit.list", {"after": 0}), ("audit.verify", {})):
                client.call(method, params)
                self.assertLess(self.commits(scene, client), 100, method)
            scene.kill()
        scene.start()
        with scene.client() as client:
            self.assertLess(self.commits(scene, client), 100, "after a start")

    def test_damaged_counts_leave_one_gap(self):
        scene = self.prepare()
        path = os.path.join(scene.state, "lanyard.sqlite-repeats")
        with scene.client() as client:
            for _ in range(20):
                client.call("authorization.check", {"account": "alice", "capability": "read"})
            scene.kill()
        with open(path, "r+b") as file:
            content = bytearray(file.read())
            used = [at for at in range(0, len(content), 128) if any(content[at:at + 128])]
            self.assertTrue(used)
            for at in used:
                content[at + 40] ^= 1
            file.seek(0)
            file.write(content)
        scene.start()
        with scene.client() as client:
            events = [entry["event"] for entry in client.call("audit.list", {"after": 0, "limit": 1000})["entries"]]
            self.assertEqual(events.count("audit.gap"), 1, events)
            self.assertTrue(client.call("audit.verify", {})["intact"])

    def test_repeats_are_written_into_no_other_file(self):
        scene = self.prepare()
        other = os.path.join(self.directory(), "other")
        with open(other, "w") as file:
            file.write("mine")
        path = os.path.join(scene.state, "lanyard.sqlite-repeats")
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)
        os.link(other, path)
        with scene.client() as client:
            for _ in range(20):
                effect = client.call("authorization.check", {"account": "alice", "capability": "read"})["effect"]
                self.assertEqual(effect, "allow")
            self.assertEqual(self.counts(client), {"read": 20})
        with open(other) as file:
            self.assertEqual(file.read(), "mine")


if __name__ == "__main__":
    unittest.main()
