"""The agent's own advice, in the state in which it gives it: the command is run as it was printed."""

import json
import os
import stat
import time
import unittest
import urllib.request

from person import PATIENCE_SECONDS
from test_hints import Following, advice
from test_real import MISSING

# What a person types into the agent's own prompt.
PIN = "2468"
PINENTRY = f"""#!/usr/bin/env python3
import sys
print("OK", flush=True)
for line in sys.stdin:
    print("D {PIN}" if line.strip() == "GETPIN" else "", end="\\n" if line.strip() == "GETPIN" else "")
    print("OK" if line.startswith(("SET", "GETPIN", "OPTION", "BYE")) else "ERR 83886355 unknown", flush=True)
"""


@unittest.skipIf(MISSING, f"not built: {', '.join(MISSING)}")
class ProviderAdviceTests(Following):
    def finding(self, *words):
        return self.lanyard(*words).stdout

    def test_a_server_that_compares_ports_gets_a_redirect_with_one(self):
        self.answer("provider", "add", "idp", "--preset", "okta", "--issuer", self.issuer, "--client-id", "lanyard-demo")
        self.follow(self.finding("provider", "test", "idp"), "lanyard provider update idp --redirect 8765")
        found = self.finding("provider", "test", "idp")
        self.assertRegex(found, r"ok +The sign-in by browser begins\. The browser comes back to http://127\.0\.0\.1:8765/callback\.")

    def test_tokens_that_are_bound_no_more_are_refused_from_then_on(self):
        self.post("/practice/options", dpop="offered")
        self.add_provider()
        self.sign_in("alice", "--alias", "work")
        self.assertIn("DPoP", self.answer("token", "work", "--json"))
        self.post("/practice/faults", path="/token", effect="changeAnswer", json={"token_type": "Bearer"}, count=None)
        self.answer("token", "work", "--force")
        self.follow(self.finding("doctor"), "lanyard provider update idp --dpop required")
        self.assertIn("--dpop required", self.lanyard("token", "work", "--force").stderr)

    def test_a_sign_in_whose_details_are_refused_is_made_without(self):
        self.post("/practice/options", authorizationDetails="granted")
        self.add_provider()
        told = self.lanyard("login", "--details", '[{"type": "unknown_here"}]')
        self.assertNotEqual(told.returncode, 0)
        self.sign_in_by(told.stderr, "lanyard login --details '[]'", "alice")
        self.assertEqual(self.states(), {"idp": "active"})

    def test_a_grant_for_tokens_with_details_names_their_type(self):
        self.post("/practice/options", authorizationDetails="granted")
        self.add_provider()
        self.sign_in("alice", "--alias", "work", "--details", '[{"type": "payment_initiation"}]')
        secret = os.path.join(self.home, "grant")
        limits = ["--can", "tokens", "-u", "work", "-s", "openid", "-s", "profile", "-s", "email", "-s", "offline_access"]
        self.answer("grant", "create", "ci", *limits, "--to", secret, "-q")
        told = self.lanyard("token", "work", environment={"LANYARD_GRANT_FILE": secret})
        self.assertNotEqual(told.returncode, 0)
        other = os.path.join(self.home, "other")
        command = next(command for command in advice(told.stderr) if command.startswith("lanyard grant create"))
        words = command.replace("NAME", "ci").replace("TYPE", "payment_initiation").split()[1:]
        self.answer(*words, *limits, "--to", other, "-q")
        self.answer("token", "work", environment={"LANYARD_GRANT_FILE": other})

    def test_a_session_without_a_refresh_token_gets_other_scopes_by_a_sign_in(self):
        self.post("/practice/options", issuesRefreshTokens=False)
        self.answer("provider", "add", "idp", "--issuer", self.issuer, "--client-id", "lanyard-demo", "-s", "openid")
        self.sign_in("alice", "--alias", "work")
        told = self.lanyard("token", "work", "-s", "profile")
        self.assertNotEqual(told.returncode, 0)
        command = next(command for command in advice(told.stderr) if command.endswith("--scope SCOPE"))
        self.at_its_page("alice", *command.replace("ACCOUNT", "work").replace("SCOPE", "profile").split()[1:])
        self.assertEqual(json.loads(self.answer("token", "work", "--json"))["scopes"], ["openid", "profile"])


@unittest.skipIf(MISSING, f"not built: {', '.join(MISSING)}")
class OperationAdviceTests(Following):
    def waiting(self, **capability):
        """The account `work`, and an operation of it."""
        self.add_provider()
        self.answer("provider", "update", "idp", "--allowed-origin", self.issuer)
        self.sign_in("alice", "--alias", "work")
        path = os.path.join(self.home, "p.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"name": "default", "version": 1, "capabilities": {"orders.change": {
                "kind": "write", "offlineWindowSeconds": 86_400, **capability}}}, file)
        self.answer("policy", "set", path)

    def order(self):
        return json.dumps({
            "account": "work", "capability": "orders.change", "label": "Order 17",
            "request": {"method": "POST", "url": f"{self.issuer}/protected", "body": "part=4"}})

    def hold(self):
        """An operation that the server does not take yet."""
        self.post("/practice/faults", path="/protected", effect="answer", status=503, headers={"Retry-After": "1"}, count=100)
        self.answer("rpc", "operation.enqueue", self.order())

    def release(self):
        request = urllib.request.Request(f"{self.issuer}/practice/faults", method="DELETE")
        urllib.request.urlopen(request, timeout=PATIENCE_SECONDS).close()

    def doctor_until(self, beginning):
        self.until(lambda: any(command.startswith(beginning) for command in advice(self.lanyard("doctor").stdout)))
        return self.lanyard("doctor").stdout

    def state(self):
        listed = json.loads(self.answer("operations", "-u", "work", "--json"))["operations"]
        return listed[0]["status"]

    def until(self, holds):
        end = time.monotonic() + 30
        while not holds():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)

    def test_an_operation_that_waits_for_a_pin_goes_on_with_it(self):
        self.waiting(stepUp={"method": "pin", "maxAgeSeconds": 600})
        self.answer("step-up", "work", "--enroll", input=f"{PIN}\n")
        told = self.lanyard("rpc", "operation.enqueue", self.order())
        self.assertIn("The policy requires a step-up first", told.stderr)
        self.answer("step-up", "work", input=f"{PIN}\n")
        self.hold()
        # A lock ends the confirmation.
        self.answer("lock")
        self.answer("unlock")
        self.release()
        told = self.doctor_until("lanyard step-up -u work")
        self.follow(told, "lanyard step-up -u work", input=f"{PIN}\n")
        self.until(lambda: self.state() == "done")

    def test_an_operation_that_waits_for_a_sign_in_goes_on_with_it(self):
        self.waiting()
        self.hold()
        self.post("/practice/revoke", user="alice")
        self.lanyard("token", "work", "--force")
        self.release()
        self.sign_in_by(self.doctor_until("lanyard login -u work"), "lanyard login -u work", "alice")
        self.until(lambda: self.state() == "done")

    def test_an_operation_that_was_rejected_is_shown(self):
        self.waiting()
        self.post("/practice/faults", path="/protected", effect="answer", status=422, count=100)
        self.answer("rpc", "operation.enqueue", self.order())
        told = self.doctor_until("lanyard operations -u work")
        self.assertIn("rejected", self.follow(told, "lanyard operations -u work"))


@unittest.skipIf(MISSING, f"not built: {', '.join(MISSING)}")
class PromptAdviceTests(Following):
    def setUp(self):
        super().setUp()
        path = os.path.join(self.home, "pinentry")
        with open(path, "w", encoding="utf-8") as file:
            file.write(PINENTRY)
        os.chmod(path, stat.S_IRWXU)
        self.start_agent("--pinentry", path)

    def test_a_policy_that_needs_a_pin_is_met_at_the_agents_prompt(self):
        self.add_provider()
        self.sign_in("alice", "--alias", "work")
        path = os.path.join(self.home, "p.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"name": "default", "version": 1, "capabilities": {"data.read": {
                "kind": "read", "offlineWindowSeconds": 86_400, "stepUp": {"method": "pin", "maxAgeSeconds": 600}}}}, file)
        self.answer("policy", "set", path)
        self.answer("step-up", "--enroll", "--pinentry")
        self.assertEqual(self.lanyard("can", "data.read").returncode, 7)
        self.answer("step-up", "--pinentry")
        self.assertEqual(self.lanyard("can", "data.read").returncode, 0)


if __name__ == "__main__":
    unittest.main()
