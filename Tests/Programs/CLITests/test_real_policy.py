"""Decisions without the provider: the example of a field service, from the sign-in to a denial in a cellar."""

import json
import os
import time
import unittest

from test_real import RealProvider

EXAMPLE = os.path.abspath(os.path.join(
    os.path.dirname(__file__), "..", "..", "..", "Schemas", "examples", "field-service.policy.json"))
VIEW, NOTE, COMPLETE = "workOrder.view", "workOrder.note", "workOrder.complete"


class FieldServiceTests(RealProvider):
    def setUp(self):
        super().setUp()
        scopes = [word for scope in ("openid", "offline_access", "workorders:read", "workorders:write")
                  for word in ("-s", scope)]
        self.answer("provider", "add", "idp", "--issuer", self.issuer, "--client-id", "lanyard-demo", *scopes)
        self.sign_in("alice", "--alias", "work")

    def can(self, code, capability, *words):
        done = self.lanyard("can", capability, *words)
        self.assertEqual((done.returncode, done.stderr), (code, ""), done)
        return done.stdout

    def set_example(self, **high):
        """The example; with other numbers for what needs the provider, as its next version."""
        with open(EXAMPLE) as file:
            policy = json.load(file)
        if high:
            policy["version"] += 1
            policy["tiers"]["high"].update(high)
        path = os.path.join(self.work, "policy.json")
        with open(path, "w") as file:
            json.dump(policy, file)
        done = self.lanyard("policy", "set", path)
        self.assertEqual(done.returncode, 0, done)
        return done

    def use_example(self):
        self.set_example()
        self.answer("rpc", "provider.update", json.dumps(
            {"provider": "idp", "policy": "field-service", "authorization": {"rolesClaim": "roles"}}))

    def test_the_field_service_policy_online_and_offline(self):
        told = self.can(6, VIEW)
        self.assertIn("There is no policy for this account, and without one nothing is allowed.", told)
        self.assertIn("`lanyard policy set FILE --provider PROVIDER`", told)

        self.assertEqual(self.answer("policy", "check", EXAMPLE), "field-service, version 1: no problems.\n")
        screen = self.on_terminal("policy", "set", EXAMPLE)
        self.assertIn("No provider names this policy yet", screen.text)
        self.assertIn("There is no policy for this account", self.can(6, VIEW))
        self.use_example()
        self.assertRegex(self.answer("policy", "list"), r"field-service +1\n")
        self.answer("token", "work", "-f")

        self.assertRegex(self.can(0, VIEW), r"(?s)^Allowed: work may do workOrder.view.\n  Until .*\(in 7 days\)")
        self.assertTrue(self.can(0, COMPLETE).startswith("Allowed"))
        self.assertIn("`lanyard step-up work`", self.can(7, NOTE))
        self.assertIn("`lanyard step-up --enroll`", self.refused(1, "step-up", input="2468\n"))
        self.answer("step-up", "--enroll", input="2468\n")
        self.assertIn("9 more wrong ones destroy it", self.refused(7, "step-up", input="1111\n"))
        self.assertRegex(self.answer("step-up", input="2468\n"), r"^Confirmed, until .* \(in 12 h\)\.\n$")
        self.assertTrue(self.can(0, NOTE).startswith("Allowed"))
        self.assertIn("at most internal data", self.can(6, NOTE, "--sensitivity", "restricted"))
        self.assertTrue(self.lanyard("policy", "explain", NOTE, "--offline", "--at", "+49h").stdout.startswith("Denied"))

        # Into the cellar.
        self.provider.terminate()
        self.provider.wait()
        self.assertIn("The provider can't be reached", self.refused(5, "token", "work", "-f"))
        self.answer("rpc", "connectivity.report", '{"online":false}')
        self.assertTrue(self.can(0, COMPLETE).startswith("Allowed"), "within five minutes of the last word")
        self.set_example(onlineWithinSeconds=1)
        while self.lanyard("can", COMPLETE).returncode == 0:
            time.sleep(0.1)
        told = self.can(6, COMPLETE)
        self.assertIn("This needs a recent confirmation by the provider; it last confirmed this account", told)
        self.assertIn("the provider can be reached", told)
        self.assertTrue(self.can(0, VIEW).startswith("Allowed"))
        self.assertTrue(self.can(0, NOTE).startswith("Allowed"))
        decision = json.loads(self.can(6, COMPLETE, "--json"))
        self.assertEqual((decision["effect"], decision["reason"], decision["remedies"]),
                         ("deny", "onlineRequired", ["connect"]))
        done = self.lanyard("policy", "set", EXAMPLE)
        self.assertIn("a version never decreases", done.stderr)
        self.assertEqual((done.returncode, done.stdout), (1, ""))

        status = self.answer("status")
        self.assertRegex(status, r"Session +offline, since today at \d\d:\d\d")
        self.assertRegex(status, r"Offline until +on .* \(in 7 days\), by the policy")
        self.assertRegex(status, r"Step-up +valid until \d\d:\d\d:\d\d")
        self.assertRegex(status, r"Next +Try again .*once the provider can be reached")

        self.answer("lock")
        self.assertIn("`lanyard unlock`", self.refused(8, "can", VIEW))
        self.answer("unlock")
        self.assertIn("`lanyard step-up work`", self.can(7, NOTE), "a lock ends the step-up")
        self.answer("logout", "work", "--offline")
        told = self.can(4, VIEW, "work")
        self.assertIn("The account is signed out.", told)
        self.assertIn("`lanyard login --account work`", told)

    @unittest.skipUnless(os.environ.get("LANYARD_LONG"), "waits a minute and a half: LANYARD_LONG=1")
    def test_after_ten_wrong_pins_the_output_leads_to_a_new_pin(self):
        """Ten wrong ones: what is told at each step leads to a new PIN."""
        self.use_example()
        self.answer("step-up", "--enroll", input="2468\n")
        left = 10
        while left:
            done = self.lanyard("step-up", "--json", input="0000\n")
            self.assertEqual((done.returncode, done.stdout), (7, ""), done)
            error = json.loads(done.stderr)
            if error["code"] == 4004:
                time.sleep(error["data"]["retryAfterMs"] / 1000)
            else:
                left -= 1
                self.assertEqual(error["data"]["attemptsLeft"], left)
        for words in ([], ["--enroll"]):
            told = self.refused(7, "step-up", *words, input="2468\n")
            self.assertIn("destroyed", told)
            self.assertIn("Sign in again: `lanyard login --account ", told)
        self.assertIn("Sign in again", self.answer("step-up", "--status"))
        self.can(7, NOTE)
        self.sign_in("alice", "--account", "work")
        self.assertEqual(self.answer("step-up", "--status"), "No PIN is set.\n")
        self.answer("step-up", "--enroll", input="1357\n")
        self.answer("step-up", input="1357\n")
        self.can(0, NOTE)


if __name__ == "__main__":
    unittest.main()
