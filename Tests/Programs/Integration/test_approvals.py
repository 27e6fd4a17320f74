"""Requests that wait for a person, on the running agent and by bare sockets: the agent dies, callers hang up, grants end,
and the agent's own prompt races with other deciders."""

import json
import os
import socket
import stat
import threading

from agent_fixture import PATIENCE_SECONDS, AgentFixture, add_provider, import_account, request

NOT_PERMITTED, SHUTTING_DOWN, DENIED, NOT_FOUND = 1007, 1002, 4001, 6003
ORIGIN_NOT_ALLOWED, STEP_UP_REQUIRED = 6001, 4002

# A pinentry that is asked for a yes and says nothing: it waits to be closed, or until the file beside it has a word.
PINENTRY = r"""#!/usr/bin/python3 -u
import os, sys, time
with open(__file__ + ".pid", "w") as file:
    file.write(str(os.getpid()))
print("OK Pleased to meet you")
for line in sys.stdin:
    if line.strip() == "CONFIRM":
        open(__file__ + ".asked", "w").close()
        while not os.path.exists(__file__ + ".word"):
            time.sleep(0.01)
        word = open(__file__ + ".word").read()
        print("OK" if word == "yes" else "ERR 83886194 Not confirmed <Pinentry>")
    else:
        print("OK" if line.startswith("SET") else "ERR 83886355 unknown")
"""


class Program:
    """A program under a grant, on a socket of its own."""

    def __init__(self, path, secret):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.socket.settimeout(PATIENCE_SECONDS)
        self.reader = self.socket.makefile("rb")
        self.ask("agent.hello", {"client": {"name": "robot", "version": "1"}, "grant": secret}, 1)

    def send(self, method, params, identity):
        self.socket.sendall(request(method, params, identity))

    def answer(self):
        """None if the agent has closed the connection."""
        line = self.reader.readline()
        return json.loads(line) if line else None

    def ask(self, method, params, identity):
        self.send(method, params, identity)
        return self.answer()

    def close(self):
        self.reader.close()
        self.socket.close()


class Approvals(AgentFixture):
    def prepare(self, *options, step_up=None):
        scene = self.scene(*options)
        self.idp = self.provider()
        self.url = self.idp.issuer + "/protected"
        write = {
            "kind": "write", "offlineWindowSeconds": 86400, "approve": {"waitSeconds": 60},
            "requests": [{"origin": self.idp.issuer, "methods": ["POST"], "path": "/protected"}]}
        if step_up:
            write["stepUp"] = step_up
        with scene.client() as client:
            add_provider(client, self.idp, allowedOrigins=[self.idp.issuer])
            import_account(client, self.idp, "alice", alias="work")
            client.call("policy.set", {"name": "default", "policy": {
                "name": "default", "version": 1, "capabilities": {"write": write}}})
            made = client.call("grant.create", {
                "client": "robot", "accounts": ["work"], "methods": ["request.send"], "agent": True})
        self.grant, self.secret = made["grant"], made["secret"]
        return scene

    def program(self, scene):
        program = Program(scene.socket, self.secret)
        self.addCleanup(program.close)
        return program

    def send(self, program, identity=2, url=None):
        program.send("request.send", {
            "account": "work", "method": "POST", "url": url or self.url, "body": "1"}, identity)

    def waiting(self, client, count=1):
        def listed():
            approvals = client.call("approval.list")["approvals"]
            return [approvals] if len(approvals) == count else None
        return self.until(listed, f"{count} requests that wait")[0]

    def decide(self, client, approval, verdict):
        return client.call("approval.decide", {"approval": approval["approval"], "verdict": verdict})

    def events(self, client, event):
        return [entry for entry in client.call("audit.list", {"limit": 1000})["entries"] if entry["event"] == event]

    def test_a_yes_sends_the_request_and_a_no_does_not(self):
        scene = self.prepare()
        program = self.program(scene)
        with scene.client() as client:
            self.send(program)
            approval, = self.waiting(client)
            self.assertEqual(
                {name: approval[name] for name in ("grant", "client", "capability", "method", "url")},
                {"grant": self.grant, "client": "robot", "capability": "write", "method": "POST", "url": self.url})
            self.assertEqual(self.idp.asked("/protected"), 0)
            self.decide(client, approval, "once")
            self.assertEqual(program.answer()["result"]["status"], 200)
            self.refused(NOT_FOUND, lambda: self.decide(client, approval, "deny"))
            self.send(program, 3)
            self.decide(client, self.waiting(client)[0], "deny")
            self.assertEqual(program.answer()["error"]["data"]["reason"], "declined")
            self.assertEqual(self.idp.asked("/protected"), 1)
            verdicts = [entry["outcome"] for entry in self.events(client, "approval.decide")]
            self.assertEqual(verdicts, ["once", "deny"])

    def test_a_yes_for_the_session_sends_the_requests_that_wait_already(self):
        scene = self.prepare()
        first, second = self.program(scene), self.program(scene)
        with scene.client() as client, client.events(types=["approval.decided"]) as events:
            self.send(first)
            shown, = self.waiting(client)
            self.send(second, url=self.url + "?more=1")
            both = self.waiting(client, 2)
            self.decide(client, shown, "session")
            for program in (first, second):
                self.assertEqual(program.answer()["result"]["status"], 200)
            self.assertEqual(self.waiting(client, 0), [])
            told = [events.next(PATIENCE_SECONDS).data for _ in both]
            self.assertEqual({each["approval"] for each in told}, {each["approval"] for each in both})
            self.assertEqual({each["verdict"] for each in told}, {"session"})
            self.assertEqual(len(self.events(client, "approval.decide")), 1)

    def test_an_agent_that_is_killed_sends_nothing_that_waited(self):
        scene = self.prepare()
        program = self.program(scene)
        with scene.client() as client:
            self.send(program)
            approval, = self.waiting(client)
        scene.kill()
        self.assertIsNone(program.answer())
        scene.start()
        with scene.client() as client:
            self.assertEqual(client.call("approval.list"), {"approvals": []})
            self.refused(NOT_FOUND, lambda: self.decide(client, approval, "once"))
        self.assertEqual(self.idp.asked("/protected"), 0)

    def test_what_was_allowed_for_a_session_ends_with_the_agent(self):
        scene = self.prepare()
        program = self.program(scene)
        with scene.client() as client:
            self.send(program)
            self.decide(client, self.waiting(client)[0], "session")
            self.assertEqual(program.answer()["result"]["status"], 200)
            self.send(program, 3, self.url + "?more=1")
            self.assertEqual(program.answer()["result"]["status"], 200)
        scene.kill()
        scene.start()
        program = self.program(scene)
        with scene.client() as client:
            self.send(program)
            self.waiting(client)

    def test_a_program_that_hangs_up_withdraws_its_request(self):
        scene = self.prepare()
        first, second = self.program(scene), self.program(scene)
        with scene.client() as client:
            self.send(first)
            self.waiting(client)
            self.send(second)
            self.until(lambda: self.waiting(client)[0]["waiting"] == 2, "two callers of one request")
            first.close()
            self.until(lambda: self.waiting(client)[0]["waiting"] == 1, "one caller")
            approval, = self.waiting(client)
            second.close()
            self.waiting(client, 0)
            self.refused(NOT_FOUND, lambda: self.decide(client, approval, "once"))
        self.assertEqual(self.idp.asked("/protected"), 0)

    def test_a_revoked_grant_ends_the_wait_at_once(self):
        scene = self.prepare()
        program = self.program(scene)
        with scene.client() as client:
            self.send(program)
            approval, = self.waiting(client)
            client.call("grant.revoke", {"grant": self.grant})
            self.assertEqual(program.answer()["error"]["code"], NOT_PERMITTED)
            self.assertEqual(client.call("approval.list"), {"approvals": []})
            self.refused(NOT_FOUND, lambda: self.decide(client, approval, "once"))
        self.assertEqual(self.idp.asked("/protected"), 0)

    def test_an_agent_that_ends_answers_those_that_wait(self):
        scene = self.prepare()
        program = self.program(scene)
        with scene.client() as client:
            self.send(program)
            self.waiting(client)
            client.call("agent.shutdown")
        self.assertEqual(program.answer()["error"]["code"], SHUTTING_DOWN)
        self.assertEqual(self.idp.asked("/protected"), 0)

    def test_of_many_deciders_one_counts(self):
        scene = self.prepare()
        program = self.program(scene)
        told = []

        def decide(approval, verdict):
            with scene.client() as client:
                try:
                    told.append(self.decide(client, approval, verdict)["verdict"])
                except Exception as error:  # noqa: BLE001 - each is looked at below
                    told.append(error)

        with scene.client() as client:
            for round in range(5):
                told.clear()
                self.send(program, 10 + round, f"{self.url}?round={round}")
                approval, = self.waiting(client)
                threads = [
                    threading.Thread(target=decide, args=(approval, verdict)) for verdict in ["once", "deny"] * 4]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                verdict, = [word for word in told if isinstance(word, str)]
                self.assertEqual({error.code for error in told if not isinstance(error, str)}, {NOT_FOUND})
                answer = program.answer()
                self.assertEqual("result" in answer, verdict == "once", answer)

    def pinentry(self):
        self.path = os.path.join(self.directory(), "pinentry")
        with open(self.path, "w") as file:
            file.write(PINENTRY)
        os.chmod(self.path, stat.S_IRWXU)
        return self.path

    def asking(self):
        """An agent whose prompt is open for a request that waits, and what becomes of that request."""
        scene = self.prepare(
            "--pinentry", self.pinentry(), step_up={"method": "pinentry", "maxAgeSeconds": 60})
        told = []

        def authorize():
            with scene.client() as client:
                try:
                    told.append(client.call("request.authorize", {
                        "account": "work", "method": "POST", "url": self.url, "grant": "robot", "prompt": "pinentry"}))
                except Exception as error:  # noqa: BLE001
                    told.append(error)

        thread = threading.Thread(target=authorize)
        thread.start()
        self.addCleanup(thread.join)
        self.until(lambda: os.path.exists(self.path + ".asked"), "a question")
        return scene, thread, told

    def test_a_yes_in_the_prompt_is_a_verdict(self):
        scene, thread, told = self.asking()
        with scene.client() as client:
            self.assertEqual(self.waiting(client)[0]["stepUp"], "pinentry")
            with open(self.path + ".word", "w") as file:
                file.write("yes")
            thread.join()
            self.assertIn("accessToken", told[0])
            verdict, = self.events(client, "approval.decide")
            self.assertEqual((verdict["outcome"], verdict["facts"]["mode"]), ("once", "pinentry"))

    def test_another_decider_closes_the_prompt(self):
        scene, thread, told = self.asking()
        with open(self.path + ".pid") as file:
            pid = int(file.read())
        with scene.client() as client:
            self.decide(client, self.waiting(client)[0], "deny")
            thread.join()
            self.assertEqual((told[0].code, told[0].data["reason"]), (DENIED, "declined"))
        self.until(lambda: not os.path.exists(f"/proc/{pid}"), "the end of the dialog")

    def test_what_a_person_adds_to_a_grant_survives_a_kill(self):
        scene = self.prepare()
        program = self.program(scene)
        delete = {"account": "work", "method": "DELETE", "url": self.url}
        self.assertEqual(program.ask("request.send", delete, 2)["error"]["code"], NOT_PERMITTED)
        wanted = {"origins": [self.idp.issuer], "methods": ["DELETE"], "reason": "To tidy up."}
        asked = program.ask("access.request", wanted, 3)["result"]
        self.assertEqual(asked["status"], "waiting")
        with scene.client() as client:
            client.call("access.decide", {"request": asked["request"], "verdict": "allow", "expiresInSeconds": 600})
        self.assertIn("result", program.ask("request.send", delete, 4))
        scene.kill()
        scene.start()
        program = self.program(scene)
        self.assertIn("result", program.ask("request.send", delete, 2))
        self.assertEqual(program.ask("access.request", wanted, 3)["result"]["status"], "allowed")

    def test_an_origin_that_no_provider_lists_is_never_allowed(self):
        scene = self.prepare()
        program = self.program(scene)
        # The grant names no origins, and so covers each one that the provider lists.
        wanted = {"origins": ["https://elsewhere.example"], "reason": "To look."}
        asked = program.ask("access.request", wanted, 2)["result"]
        self.assertEqual(asked["status"], "waiting")
        self.assertEqual(
            program.ask("access.request", {**wanted, "origins": [self.idp.issuer]}, 3)["result"]["status"], "allowed")
        with scene.client() as client:
            self.refused(ORIGIN_NOT_ALLOWED, lambda: client.call(
                "access.decide", {"request": asked["request"], "verdict": "allow"}))
            waiting, = client.call("access.list")["requests"]
            self.assertEqual(waiting["request"], asked["request"])

    def test_long_words_are_cut_and_what_is_added_ends_with_the_grant(self):
        scene = self.prepare()
        with scene.client() as client:
            made = client.call("grant.create", {
                "client": "robot", "accounts": ["work"], "methods": ["request.send"], "agent": True, "expiresInSeconds": 60})
            program = Program(scene.socket, made["secret"])
            self.addCleanup(program.close)
            asked = program.ask("access.request", {
                "origins": [self.idp.issuer], "methods": ["DELETE"], "reason": "\u202e" + "x" * 2000}, 2)["result"]
            waiting, = client.call("access.list")["requests"]
            self.assertEqual(waiting["reason"], "?" + "x" * 499)
            told = client.call("access.decide", {
                "request": asked["request"], "verdict": "allow", "expiresInSeconds": 86400})
            self.assertEqual(told["expiresAt"][:16], made["expiresAt"][:16])

    def rejected(self, scene, client):
        """An operation of the program that a person approved and the server refused."""
        with scene.client() as owner:
            grant = owner.call("grant.create", {
                "client": "robot", "accounts": ["work"], "methods": ["operation.enqueue"], "agent": True})
        program = Program(scene.socket, grant["secret"])
        self.addCleanup(program.close)
        self.idp.fault("answer", "/protected", status=409, count=1)
        program.send("operation.enqueue", {
            "account": "work", "capability": "write", "request": {"method": "POST", "url": self.url, "body": "1"}}, 2)
        self.decide(client, self.waiting(client)[0], "once")
        operation = program.answer()["result"]["operation"]
        named = {"account": "work", "operation": operation}
        self.until(lambda: client.call("operation.get", named)["status"] == "rejected", "a refusal of the server")
        return named

    def test_a_person_who_retries_an_operation_is_not_asked_about_it(self):
        scene = self.prepare()
        with scene.client() as client:
            named = self.rejected(scene, client)
            client.call("operation.retry", named)
            self.assertEqual(client.call("approval.list"), {"approvals": []})
            self.until(lambda: client.call("operation.get", named)["status"] == "done", "its end")

    def test_a_person_who_retries_an_operation_still_steps_up(self):
        scene = self.prepare()
        with scene.client() as client:
            named = self.rejected(scene, client)
            client.call("policy.set", {"name": "default", "policy": {
                "name": "default", "version": 2, "capabilities": {"write": {
                    "kind": "write", "offlineWindowSeconds": 86400, "approve": {"waitSeconds": 60},
                    "stepUp": {"method": "pin", "maxAgeSeconds": 60},
                    "requests": [{"origin": self.idp.issuer, "methods": ["POST"], "path": "/protected"}]}}}})
            self.refused(STEP_UP_REQUIRED, lambda: client.call("operation.retry", named))

    def policy(self, version, **capabilities):
        """Each capability names POST to a path, and wants an approval."""
        return {"name": "default", "policy": {"name": "default", "version": version, "capabilities": {
            name: {
                "kind": "write", "offlineWindowSeconds": 86400, "approve": {"waitSeconds": 60},
                "requests": [{"origin": self.idp.issuer, "methods": ["POST"], "path": path}], **more}
            for name, (path, more) in capabilities.items()}}}

    def test_a_session_is_about_the_capability_that_was_shown(self):
        scene = self.prepare()
        program = self.program(scene)
        with scene.client() as client:
            client.call("policy.set", self.policy(2, narrow=("/protected", {}), wide=("/*", {})))
            self.send(program)
            approval, = self.waiting(client)
            self.assertEqual(approval["capability"], "narrow")
            self.decide(client, approval, "session")
            self.assertEqual(program.answer()["result"]["status"], 200)
            self.send(program, 3, self.idp.issuer + "/userinfo")
            self.assertEqual(self.waiting(client)[0]["capability"], "wide")
            outcomes = [(entry["facts"]["capability"], entry["outcome"]) for entry in self.events(client, "approval.decide")]
            self.assertEqual(outcomes, [("narrow", "session"), ("wide", "once")])

    def test_who_joins_under_a_stricter_policy_is_asked_about_that(self):
        scene = self.prepare()
        first, second = self.program(scene), self.program(scene)
        with scene.client() as client:
            self.send(first)
            approval, = self.waiting(client)
            client.call("policy.set", self.policy(
                2, write=("/protected", {}), strict=("/*", {"stepUp": {"method": "pin", "maxAgeSeconds": 60}})))
            self.send(second)
            self.until(lambda: self.waiting(client)[0]["waiting"] == 2, "two callers")
            self.decide(client, approval, "once")
            approval = self.until(
                lambda: next((one for one in self.waiting(client) if one["waiting"] == 2), None), "both to wait again")
            self.assertEqual(approval["capability"], "strict")
            self.refused(STEP_UP_REQUIRED, lambda: self.decide(client, approval, "once"))
        self.assertEqual(self.idp.asked("/protected"), 0)
