"""What goes wrong in a first hour: each message is true, and the next command in it helps."""

import json
import os
import shlex
import time
import unittest
import urllib.request

from test_hints import advice
from person import PATIENCE_SECONDS, Person, interrupt
from test_real import MISSING, RealPerson, RealProvider

DOCUMENTS = ("/.well-known/openid-configuration", "/.well-known/oauth-authorization-server")


class EmptyInputTests(Person):
    def test_without_a_terminal_an_empty_stdin_is_named(self):
        self.agent({"agent.status": {"locked": False, "initialized": True}})
        for words in (["backup", os.path.join(self.home, "b")], ["key", "add", "passphrase"], ["restore", "b"]):
            with self.subTest(words):
                told = self.refused(2, *words)
                self.assertTrue(told.startswith("lanyard: stdin is empty. Nothing was changed.\n"), told)
                self.assertNotIn("secret", told)


class HelpTests(Person):
    def test_help_about_a_command_with_a_slip_names_the_one_that_was_meant(self):
        for words, meant in ((["help", "stauts"], "lanyard status"), (["help", "provider", "ad"], "lanyard provider add")):
            told = self.refused(2, *words)
            self.assertTrue(told.startswith(f"lanyard: Unknown command `{words[-1]}`. Did you mean `{meant}`?\n"), told)
        for words in (["help"], ["help", "status"], ["help", "provider", "add"], ["help", "json"], ["help", "help"]):
            self.answer(*words)


@unittest.skipIf(MISSING, f"not built: {', '.join(MISSING)}")
class StartTests(RealPerson):
    def test_a_home_that_can_not_be_written_is_named_by_the_command_and_by_doctor(self):
        closed = os.path.join(self.home, "closed")
        with open(closed, "w", encoding="utf-8"):
            pass
        state = os.path.join(closed, "state")
        told = self.refused(3, "status", environment={"LANYARD_STATE_DIR": state})
        self.assertIn(f"{state} can't be created: Not a directory.", told)
        self.assertNotIn("chmod", told)
        self.assertIn("lanyard doctor", advice(told))
        found = self.lanyard("doctor", environment={"LANYARD_STATE_DIR": state})
        self.assertEqual(found.returncode, 1, found)
        self.assertIn(f"problem  {state}: The state directory does not exist, and the agent can't create it: {closed}: ", found.stdout)
        self.assertNotIn("the first start of the agent creates it", found.stdout.split("stateDirectory")[-1].split(state)[-1])

    def test_a_person_who_forbids_a_start_is_not_in_a_sandbox(self):
        told = self.refused(3, "status", environment={"LANYARD_NO_START": "1", "LANYARD_SOCKET": f"{self.home}/none.sock"})
        self.assertIn("unset LANYARD_NO_START", told)
        self.assertNotIn("lanyard sandbox", told)


@unittest.skipIf(MISSING, f"not built: {', '.join(MISSING)}")
class MistakeTests(RealProvider):
    def fail_at(self, *paths, effect, **more):
        for path in paths:
            self.post("/practice/faults", path=path, effect=effect, count=100, **more)

    def add(self, code=0):
        done = self.lanyard("provider", "add", "idp", "--issuer", self.issuer, "--client-id", "lanyard-demo")
        self.assertEqual(done.returncode, code, done)
        return done.stderr

    def test_without_an_account_no_command_advises_to_switch(self):
        self.add()
        for words in (["token"], ["can", "x"], ["exec", "--", "true"], ["operations"], ["request", "GET", self.issuer]):
            with self.subTest(words):
                told = self.refused(1, *words)
                self.assertTrue(told.startswith("lanyard: No account is signed in.\n"), told)
                self.assertNotIn("switch", told)
                self.assertIn("lanyard login", advice(told))
        self.sign_in("alice", "--alias", "work")
        self.sign_in("bob", "--alias", "home")
        self.answer("logout", "work")
        told = self.refused(1, "token")
        self.assertIn("lanyard switch", advice(told))
        self.answer("switch", "home")
        self.answer("token")

    def test_the_active_account_is_named_by_its_alias(self):
        self.add()
        self.sign_in("alice", "--alias", "work")
        self.post("/practice/revoke", user="alice")
        told = self.refused(4, "token", "--force")
        self.assertEqual(advice(told), ["lanyard login --account work"])
        self.assertNotIn("acc_", told)
        self.sign_in("alice", *shlex.split(advice(told)[0])[2:])
        self.answer("token")

    def test_two_accounts_of_one_name_are_told_apart_by_their_aliases(self):
        self.add()
        self.sign_in("alice", "--alias", "work")
        self.answer("provider", "add", "other", "--issuer", self.issuer, "--client-id", "lanyard-demo")
        process = self.start("login", "other", "--alias", "second")
        self.post("/practice/options", autoApprove="alice")
        urllib.request.urlopen(self.page(process), timeout=PATIENCE_SECONDS).close()
        process.communicate(timeout=PATIENCE_SECONDS)
        told = self.refused(1, "token", "alice@acme.example")
        self.assertIn("  work: Alice Archer <alice@acme.example> at idp\n", told)
        self.assertIn("  second: Alice Archer <alice@acme.example> at other\n", told)
        self.assertNotIn("acc_", told)
        self.assertIn("Name one by the word before the colon.", told)
        self.answer("token", "second")

    def test_a_capability_with_a_slip_leads_to_the_policy(self):
        self.add()
        self.sign_in("alice", "--alias", "work")
        path = os.path.join(self.home, "p.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"name": "default", "version": 1, "capabilities": {"orders.change": {"kind": "write"}}}, file)
        self.answer("policy", "set", path)
        told = self.lanyard("can", "orders.chnage")
        self.assertEqual(told.returncode, 6, told)
        self.assertEqual(advice(told.stdout), ["lanyard policy show default"])
        self.assertIn("orders.change", self.answer(*shlex.split(advice(told.stdout)[0])[1:]))

    def test_a_switch_to_an_account_that_has_to_sign_in_says_so(self):
        self.add()
        self.sign_in("bob", "--alias", "home")
        self.sign_in("alice", "--alias", "work")
        self.post("/practice/revoke", user="bob")
        self.refused(4, "token", "home", "--force")
        told = self.lanyard("switch", "home")
        self.assertEqual(advice(told.stderr), ["lanyard login --account home"])
        self.assertEqual(advice(self.lanyard("switch", "work").stderr), [])

    def test_the_token_that_is_there_is_printed_by_the_command(self):
        self.add()
        self.sign_in("alice", "--alias", "work")
        self.sign_in("bob", "--alias", "home")
        token = self.answer("token", "home")
        self.fail_at("/token", effect="answer", status=503)
        told = self.refused(5, "token", "home", "--force")
        command = next(command for command in advice(told) if command.startswith("lanyard token"))
        self.assertEqual(self.answer(*shlex.split(command)[1:]), token)

    def test_a_name_with_a_slip_is_no_change_that_was_not_made(self):
        self.add()
        for words in (["token", "wrk"], ["can", "x", "-u", "wrk"]):
            self.assertNotIn("changed", self.refused(1, *words))

    def test_a_command_of_an_account_without_a_token_is_not_in_the_audit_log_as_given_one(self):
        self.add()
        self.sign_in("alice", "--alias", "work")
        self.post("/practice/users", user="alice", disabled=True)
        self.assertNotEqual(self.lanyard("token", "work", "--force").returncode, 0)
        self.assertNotEqual(self.lanyard("exec", "work", "--", "true").returncode, 0)
        events = [entry["event"] for entry in json.loads(self.answer("audit", "--json"))["entries"]]
        self.assertNotIn("exec.begin", events)
        self.post("/practice/users", user="alice", disabled=False)
        self.sign_in("alice", "--account", "work")
        self.answer("exec", "work", "--", "true")
        events = [entry["event"] for entry in json.loads(self.answer("audit", "--json"))["entries"]]
        self.assertEqual(events.count("exec.begin"), 1)

    def test_a_page_that_answers_instead_of_the_provider_is_told(self):
        self.fail_at(*DOCUMENTS, effect="notJSON")
        told = self.add(code=1)
        self.assertIn(f"What answered is no discovery document of {self.issuer}.", told)
        self.assertIn("open any page in a browser", told)
        self.post("/practice/reset")
        self.add()
        self.fail_at("/jwks", effect="notJSON")
        found = self.lanyard("provider", "test", "idp").stdout
        self.assertNotIn("discovery", found)
        self.assertRegex(found, "problem +The keys that verify ID tokens could not be read: the answer is not what it should be")

    def test_a_sign_in_behind_the_page_of_a_network_opens_no_page(self):
        self.add()
        self.sign_in("alice", "--alias", "work")
        page = {"effect": "notJSON"}
        way_to_it = {"effect": "answer", "status": 302, "headers": {"Location": "http://portal.example/"}}
        for fault in (page, way_to_it):
            self.fail_at(*DOCUMENTS, "/authorize", "/token", **fault)
            for words in (["idp"], ["--account", "work"], ["idp", "--no-browser"], ["idp", "--paste"]):
                with self.subTest(words, **fault):
                    told = self.refused(5, "login", *words)
                    self.assertTrue(told.startswith(f"lanyard: What answers at {self.issuer} is not the provider idp"), told)
                    self.assertIn("no page was opened", told)
                    self.assertIn("open any page in a browser", told)
                    self.assertIn("lanyard login --account work" if "work" in words else "lanyard login idp", advice(told)[0])
            self.post("/practice/reset")
        self.sign_in("alice", "--account", "work")
        self.fail_at(*DOCUMENTS, **page)
        self.assertIn("open any page in a browser", self.refused(1, "provider", "add", self.issuer))

    def test_a_server_that_sends_pages_of_its_own_is_signed_in_at(self):
        endpoints = {name: f"{self.issuer}/{path}" for name, path in (("authorization", "authorize"), ("token", "token"))}
        self.answer("rpc", "provider.add", json.dumps({
            "name": "idp", "issuer": self.issuer, "clientId": "lanyard-demo", "endpoints": endpoints}))
        self.fail_at(*DOCUMENTS, effect="notJSON")
        process = self.start("login", "idp", "--no-browser")
        self.assertTrue(self.page(process).startswith(endpoints["authorization"]))
        interrupt(process)

    def test_a_caller_that_does_not_wait_gets_the_token_that_is_there(self):
        self.add()
        self.sign_in("alice", "--alias", "work")
        token = self.answer("token", "work")
        for words in (["work", "--timeout", "0"], ["work", "--timeout", "0", "-s", "openid"]):
            self.assertEqual(self.answer("token", *words), token)
        self.answer("token", "work", "--id")
        self.answer("token", "work", "--id", "--timeout", "0")

    def test_the_name_of_an_account_in_place_of_a_provider_is_told(self):
        self.add()
        self.sign_in("alice", "--alias", "work")
        told = self.refused(1, "login", "work")
        self.assertEqual(advice(told)[0], "lanyard login --account work")
        self.assertNotIn("provider add", told)
        command = advice(told)[0]
        self.assertIn("account work", self.sign_in("alice", *shlex.split(command)[2:]))

    def test_status_of_an_account_that_is_not_there_names_it_and_what_was_meant(self):
        self.add()
        self.sign_in("alice", "--alias", "work")
        told = self.answer("status", "-u", "wrok")
        self.assertRegex(told, r"Problem +There is no account wrok here\.\n")
        self.assertIn("Did you mean work?", told)
        self.assertNotIn("changed", told)

    def test_the_token_that_is_being_waited_for_is_not_said_to_come_with_the_next_request(self):
        self.post("/practice/options", accessTokenLifetimeSeconds=2)
        self.add()
        self.sign_in("alice", "--alias", "work")
        time.sleep(3)
        self.fail_at("/token", effect="hangBeforeProcessing")
        self.lanyard("token", "work", "--timeout", "1")
        told = self.answer("status")
        self.assertIn("being refreshed", told)
        self.assertNotIn("the next request refreshes it", told)

    def test_a_preset_without_a_client_says_which_option_is_missing(self):
        told = self.refused(2, "provider", "add", "--preset", "google")
        self.assertTrue(told.startswith("lanyard: The option --client-id is missing. Nothing was changed.\n"), told)

    def test_a_sign_in_again_that_finds_no_provider_names_the_account_as_it_was_typed(self):
        self.add()
        self.sign_in("alice", "--alias", "work")
        self.provider.terminate()
        self.provider.wait()
        told = self.refused(5, "login", "--account", "work")
        self.assertIn("lanyard login --account work", advice(told))
        self.assertIn("lanyard provider test idp", advice(self.refused(5, "login", "idp", "--device")))


if __name__ == "__main__":
    unittest.main()
