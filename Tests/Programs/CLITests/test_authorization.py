"""Decisions about accounts: their text, and setting, checking and explaining policies."""

import json
import os
import time

from fake_agent import Error
from people import IDP, SESSION, WORK, accounts
from person import Person

POLICY = {"name": "field", "version": 2, "capabilities": {"order.view": {"kind": "read", "offlineWindowSeconds": 604800}}}


def instant(seconds_from_now):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() + seconds_from_now))


def decision(effect="allow", reason="allowed", failed=(), remedies=(), **more):
    return {
        "decisionId": "dec_1", "effect": effect, "capability": "order.view", "reason": reason,
        "failed": [{"check": "any", "reason": reason, **({"facts": facts} if facts else {})} for reason, facts in failed],
        "obligations": [], "remedies": list(remedies), "policy": {"name": "field", "version": 2}, "snapshotVersion": 1,
        "time": {"now": instant(0), "basis": "server", "clock": "trusted"}, "account": WORK["id"], **more}


def denied(*failed, remedies=()):
    return decision("deny", failed[0][0], failed, remedies)


class CanTests(Person):
    def setUp(self):
        super().setUp()
        self.fake = self.agent(accounts(WORK, providers=(IDP,)))

    def told(self, answer, *words, code=0):
        self.fake.answers["authorization.check"] = answer
        done = self.lanyard("can", "order.view", *words)
        self.assertEqual((done.returncode, done.stderr), (code, ""), done)
        return done.stdout

    def test_an_allowed_capability(self):
        self.assertEqual(
            self.told(decision(obligations=["log"])),
            "Allowed: work may do order.view.\n  Do      log\n  Policy  field, version 2\n")
        self.assertEqual(self.fake.params("authorization.check"), {"account": "@active", "capability": "order.view"})

    def test_the_end_of_validity_is_in_local_time(self):
        told = self.told(decision(validUntil=instant(3 * 3600 + 10)))
        self.assertRegex(told, r"Until   (today|tomorrow) at \d\d:\d\d \(in 3 h\), if nothing changes before\n")
        told = self.told(decision(validUntil="2999-01-12T09:00:00.000Z"))
        self.assertIn("on 12 January 2999 at 09:00", told)

    def test_the_end_of_validity_counts_on_the_clock_of_the_provider(self):
        days = 86_400
        told = self.told(decision(
            validUntil=instant(10 * days), time={"now": instant(3 * days), "basis": "server", "clock": "trusted"}))
        self.assertRegex(told, r"Until   on .* \(in 7 days\), if nothing changes before\n")

    def test_a_denial_names_every_reason(self):
        told = self.told(
            denied(
                ("offlineWindowExpired", {"lastOnlineAuthAgeSeconds": 49 * 3600, "offlineWindowSeconds": 48 * 3600}),
                ("stepUpRequired", {"method": "pin", "maxAgeSeconds": 43200}), remedies=["connect", "stepUp"]), code=6)
        self.assertEqual(told, """\
Denied: work may not do order.view now.
  Why     The provider last confirmed this account 49 hours ago; offline this is allowed for 48 hours.
          This needs your PIN, given less than 12 hours ago, to confirm that it is you.
  Help    Try again in a moment, or once the provider can be reached: the agent asks it.
          Confirm that it is you: `lanyard step-up work`.
  Policy  field, version 2
""")

    def test_each_reason_is_a_sentence_and_an_exit_code(self):
        codes = {"stepUpRequired": 7, "signedOut": 4, "reauthenticationRequired": 4}
        for reason in ["unknownCapability", "accountLocked", "signedOut", "reauthenticationRequired",
                       "neverAuthenticated", "clockSuspect", "snapshotMissing", "snapshotTooOld", "missingRole",
                       "missingScope", "missingEntitlement", "forbidden", "onlineRequired", "freshTokenRequired",
                       "offlineWindowExpired", "stepUpRequired", "sensitivityTooHigh", "budgetExceeded",
                       "policyError"]:
            told = self.told(denied((reason, None)), code=codes.get(reason, 6))
            self.assertRegex(told.splitlines()[1], r"^  Why     [A-Z].*\.$")
            self.assertNotIn(reason, told)

    def test_reasons_name_their_facts(self):
        for failed, words in [
            (("missingRole", {"missing": ["driver"]}), "lacks the role driver."),
            (("budgetExceeded", {"perHour": 20, "retryAfterSeconds": 900}),
             "hourly budget for this (20) is used up. It is allowed again in 15 minutes."),
            (("missingRole", {"rolesAny": ["chief", "deputy"]}), "roles that the policy accepts: chief, deputy."),
            (("missingScope", {"missing": ["mail"]}), "lacks the scope mail."),
            (("clockSuspect", {"behindSeconds": 3 * 86400}), "clock is 3 days behind the time that the provider told"),
            (("snapshotTooOld", {"snapshotAgeSeconds": 90000, "snapshotMaxAgeSeconds": 86400}),
             "25 hours old; the policy accepts 24 hours."),
            (("forbidden", {"whenRole": "trainee", "whenScope": "w"}), "accounts with the role trainee and the scope w."),
            (("sensitivityTooHigh", {"atMost": "internal", "sensitivity": "restricted"}),
             "The data is restricted; this capability covers at most internal data."),
            (("onlineRequired", {"lastOnlineAuthAgeSeconds": 301, "onlineWithinSeconds": 300}),
             "This needs a recent confirmation by the provider; "
             "it last confirmed this account 5 minutes ago (the policy wants at most 5 minutes ago)."),
            # Right after a start, and after an idle minute.
            (("onlineRequired", {"lastOnlineAuthAgeSeconds": 1}),
             "does not know that it can be reached now; it last confirmed this account 1 second ago."),
            (("freshTokenRequired", {"lastOnlineAuthAgeSeconds": 66}), "a confirmation by the provider within the last minute"),
            (("freshTokenRequired", {"token": "unexpired"}), "an access token that has not expired, and there is none now."),
        ]:
            self.assertIn(words, self.told(denied(failed), code=6))

    def test_suspect_clock_names_what_helps_with_and_without_the_provider(self):
        told = self.told(denied(("clockSuspect", {"behindSeconds": 600}), remedies=["connect"]), code=6)
        self.assertIn("10 minutes behind", told)
        self.assertIn("Help    Set the clock of this machine.\n", told)
        self.assertIn("the agent asks it", told)

    def test_suspect_clock_without_the_providers_time_is_behind_what_was_known(self):
        time_now = {"now": instant(0), "basis": "boot", "clock": "suspect"}
        told = self.told(decision("deny", "clockSuspect", [("clockSuspect", {"behindSeconds": 600})], time=time_now), code=6)
        self.assertIn("10 minutes behind the time that was known before, so", told)

    def test_the_end_of_a_session_is_told_by_its_reason(self):
        for because, words in (
                ("outcomeUnknown", "It is not known whether the provider took this account's refresh token"),
                ("noRefreshToken", "The account has no refresh token"),
                ("secretExpired", "This account's key has ended"),
                ("secretRefused", "The provider refuses this account's key"),
                ("identityMismatch", "The provider says that this account's key is another person's"),
                ("refused", "The provider requires a new sign-in for this account"),
                (None, "The provider requires a new sign-in for this account")):
            with self.subTest(because=because):
                told = self.told(
                    denied(("reauthenticationRequired", because and {"because": because}), remedies=["reauthenticate"]),
                    code=4)
                self.assertIn(f"Why     {words}", told)

    def test_a_key_that_nothing_asks_about_is_given_again(self):
        key = {**WORK, "kind": "secret", "subject": "secret:abc"}
        self.fake.answers.update(accounts(key, providers=(IDP,)))
        told = self.told(
            denied(("offlineWindowExpired", {"lastOnlineAuthAgeSeconds": 7200, "offlineWindowSeconds": 3600}),
                   remedies=["reauthenticate"]), code=6)
        self.assertIn("Help    Enter its key again, or another one: `lanyard rotate work`.\n", told)
        # A key that is signed out is taken by a sign-in.
        self.fake.answers.update(accounts({**key, "state": "signedOut"}, providers=(IDP,)))
        told = self.told(denied(("signedOut", None), remedies=["reauthenticate"]), code=4)
        self.assertIn("Sign in again: `lanyard login --account work`.", told)

    def test_rights_of_a_signed_out_account_are_not_said_to_be_missing(self):
        told = self.told(
            denied(("signedOut", None), ("snapshotMissing", None), remedies=["reauthenticate"]), code=4)
        self.assertIn("Its rights can't be read while it is signed out.\n", told)
        self.assertNotIn("not yet sent", told)

    def test_read_only_exits_with_0(self):
        told = self.told(decision("readOnly", "reauthenticationRequired", [("reauthenticationRequired", None)],
                                  ["reauthenticate"]))
        self.assertTrue(told.startswith("Read only: work may read, but not write, with order.view.\n"), told)
        self.assertIn("Sign in again: `lanyard login --account work`.", told)

    def test_confirmation_in_the_agents_prompt_is_named(self):
        told = self.told(denied(("stepUpRequired", {"method": "pinentry"})), code=7)
        self.assertIn("your confirmation in the agent's own prompt", told)

    def test_json_is_the_decision(self):
        answer = denied(("stepUpRequired", None))
        self.assertEqual(json.loads(self.told(answer, "--json", code=7)), answer)
        self.assertEqual(self.fake.methods().count("account.get"), 0)

    def test_account_and_sensitivity(self):
        self.told(decision(), "work", "--sensitivity", "confidential")
        self.assertEqual(self.fake.params("authorization.check"), {
            "account": "work", "capability": "order.view", "context": {"sensitivity": "confidential"}})
        self.refused(2, "can", "order.view", "--sensitivity", "secret")
        self.refused(2, "can")

    def test_wait_is_sent_and_bounded(self):
        self.told(decision(), "--wait", "5")
        self.assertEqual(self.fake.params("authorization.check"), {
            "account": "@active", "capability": "order.view", "waitSeconds": 5})
        self.refused(2, "can", "order.view", "--wait", "61")

    def test_an_error_is_not_a_denial(self):
        self.fake.answers["authorization.check"] = Error(1001, "agentLocked", remedies=["unlock"])
        self.assertIn("lanyard unlock", self.refused(8, "can", "order.view"))

    def test_a_hostile_name_moves_no_cursor(self):
        told = self.told(denied(("missingRole", {"missing": ["\x1b[2Jroot"]})), code=6)
        self.assertNotIn("\x1b", told)


class PolicyTests(Person):
    def setUp(self):
        super().setUp()
        self.fake = self.agent(accounts(WORK, providers=(IDP,)))
        self.fake.answers["policy.list"] = {"policies": [{"name": "field", "version": 2}]}
        self.fake.answers["policy.get"] = lambda params, _: {"name": params["name"], "version": 2, "policy": POLICY}

    def file(self, text):
        path = os.path.join(self.place, "policy.json")
        with open(path, "w") as file:
            file.write(text)
        return path

    def test_list(self):
        self.assertEqual(self.answer("policy", "list").split(), ["POLICY", "VERSION", "field", "2"])
        self.fake.answers["policy.list"] = {"policies": []}
        done = self.lanyard("policy", "list")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("lanyard policy set", done.stderr)

    def test_draft_is_printed_and_nothing_is_set(self):
        policy = {"name": "github", "version": 1, "capabilities": {"issues.list": {
            "kind": "read", "requests": [{"origin": "https://api.github.com", "methods": ["GET"], "path": "/repos/*/*/issues"}]}}}
        asked = []
        self.fake.answers["policy.draft"] = lambda params, _: asked.append(params) or {"policy": policy}
        done = self.lanyard("policy", "draft", "github", "--allow", "issues.list", "--confirm", "delete", "--per-hour", "20")
        self.assertEqual((done.returncode, json.loads(done.stdout)), (0, policy), done)
        self.assertEqual(done.stderr, "issues.list: decides GET https://api.github.com/repos/*/*/issues\n")
        self.assertEqual(asked, [{"provider": "github", "allow": ["issues.list"], "confirm": ["delete"], "perHour": 20}])
        self.assertEqual(self.fake.methods()[-1], "policy.draft")
        self.assertIn("--allow read", self.refused(2, "policy", "draft", "github"))

    def test_requests_and_budgets_of_a_policy_are_told_beside_it(self):
        policy = {"name": "field", "version": 2, "tiers": {"rare": {"budget": {"perHour": 3}}}, "capabilities": {
            "pay": {"kind": "write", "tier": "rare", "stepUp": {"method": "pinentry", "maxAgeSeconds": 60},
                    "requests": [{"origin": "https://api.example", "methods": ["POST", "PUT"], "path": "/pay/*"}]},
            "view": {"kind": "read"}}}
        line = "pay: decides POST, PUT https://api.example/pay/*; 3 per hour; a person confirms"
        self.fake.answers["policy.get"] = {"name": "field", "version": 2, "policy": policy}
        done = self.lanyard("policy", "show", "field")
        self.assertEqual(json.loads(done.stdout), policy)
        self.assertEqual(" ".join(done.stderr.split()), line)
        self.fake.answers["policy.validate"] = {"name": "field", "version": 2}
        done = self.lanyard("policy", "check", "-", input=json.dumps(policy))
        self.assertIn("no problems", done.stdout)
        self.assertEqual(" ".join(done.stderr.split()), line)

    def test_approve_without_requests_is_told_to_have_no_effect(self):
        policy = {"name": "field", "version": 2, "tiers": {"asked": {"approve": {"waitSeconds": 60}}}, "capabilities": {
            "own": {"kind": "write", "approve": {"waitSeconds": 60}}, "tier": {"kind": "write", "tier": "asked"},
            "named": {"kind": "write", "tier": "asked",
                      "requests": [{"origin": "https://api.example", "methods": ["POST"], "path": "/*"}]}}}
        idle = "`approve` has no effect, since requests alone wait and this names no `requests`"
        self.fake.answers["policy.validate"] = {"name": "field", "version": 2}
        done = self.lanyard("policy", "check", "-", input=json.dumps(policy))
        self.assertEqual(" ".join(done.stderr.split()), (
            f"own: {idle} tier: {idle} "
            "named: decides POST https://api.example/*; a person approves what an AI agent sends"))
        self.fake.answers["policy.set"] = {"name": "field", "version": 2}
        self.fake.answers["provider.list"] = {"providers": [{**IDP, "policy": "field"}]}
        done = self.lanyard("policy", "set", "-", input=json.dumps(policy))
        self.assertEqual(" ".join(done.stderr.split()), f"own: {idle}. tier: {idle}.")

    def test_show_prints_a_document_that_set_accepts(self):
        self.fake.answers["policy.set"] = {"name": "field", "version": 2, "previousVersion": 2}
        self.fake.answers["provider.list"] = {"providers": [{**IDP, "policy": "field"}]}
        shown = self.answer("policy", "show", "field")
        self.assertEqual(json.loads(shown), POLICY)
        self.assertGreater(shown.count("\n"), 3)
        self.answer("policy", "set", "-", input=shown)
        self.assertEqual(self.fake.params("policy.set"), {"name": "field", "policy": POLICY})

    def test_show_without_a_name(self):
        self.answer("policy", "show")
        self.assertEqual(self.fake.params("policy.get"), {"name": "field"})
        self.fake.answers["policy.list"] = {"policies": [{"name": "a", "version": 1}, {"name": "b", "version": 1}]}
        self.fake.answers["provider.get"] = {"provider": {**IDP, "policy": "b"}}
        self.answer("policy", "show")
        self.assertEqual(self.fake.params("policy.get"), {"name": "b"})
        self.fake.answers["provider.get"] = {"provider": IDP}
        self.answer("policy", "show")
        self.assertEqual(self.fake.params("policy.get"), {"name": "default"})

    def test_set(self):
        self.fake.answers["policy.set"] = {"name": "other", "version": 3, "previousVersion": 2}
        path = self.file(json.dumps(POLICY, indent=2))
        self.fake.answers["provider.list"] = {"providers": [{**IDP, "policy": "other"}]}
        self.assertEqual(self.answer("policy", "set", path, "--name", "other"),
                         "other, version 3, is set. Before, it was version 2.\n")
        self.assertEqual(self.fake.params("policy.set"), {"name": "other", "policy": POLICY})

    def test_set_for_a_provider(self):
        self.fake.answers["policy.set"] = {"name": "field", "version": 3}
        self.fake.answers["provider.update"] = {"provider": {**IDP, "policy": "field"}}
        done = self.lanyard("policy", "set", self.file(json.dumps(POLICY)), "--provider", "corp")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.fake.params("provider.update"), {"provider": "corp", "policy": "field"})

    def test_set_warns_if_no_provider_names_the_policy(self):
        self.fake.answers["policy.set"] = {"name": "field", "version": 3}
        path = self.file(json.dumps(POLICY))
        self.assertIn("it has no effect", self.lanyard("policy", "set", path).stderr)
        self.assertEqual(self.lanyard("policy", "set", path, "--name", "default").stderr, "")
        self.fake.answers["provider.list"] = {"providers": [{**IDP, "policy": "field"}]}
        self.assertEqual(self.lanyard("policy", "set", path).stderr, "")

    def test_an_invalid_document_is_not_sent(self):
        for text in ("", "[]", "{,}", '{"a":1,"a":2}', '{"name":"a","x":{"b":1,"b":2}}', "{}"):
            self.refused(2, "policy", "set", self.file(text))
        self.refused(2, "policy", "check", "/nowhere")
        self.assertNotIn("policy.set", self.fake.methods())

    def test_text_that_is_no_json_has_its_line_and_column(self):
        for text, place in (('{\n  "name": "p",\n}\n', "3:1"), ('{"name": 01}', "1:11"),
                            ('{\n  "a": {"b": 1,\n    "b": 2}\n}', "3:5")):
            path = self.file(text)
            self.assertIn(f"{path}:{place} ", self.refused(2, "policy", "check", path))

    def test_every_problem_has_its_line_and_column(self):
        self.fake.answers["policy.validate"] = Error(
            4005, "policyInvalid", "The policy is not right.", problems=[
                {"pointer": "/capabilities/a~1b/kind", "text": "expected read or write"},
                {"pointer": "/capabilities/a~1b/requires/rolesAny/1", "text": "expected a string"},
                {"pointer": "/version", "text": "is missing"}])
        path = self.file('{\n  "name": "p",\n  "capabilities": {\n    "a/b": {\n      "kind": "look",\n'
                         '      "requires": {"rolesAny": ["ä", 7]}\n    }\n  }\n}\n')
        told = self.refused(1, "policy", "check", path)
        self.assertIn(f"{path}:5:7: capabilities > a/b > kind: expected read or write\n", told)
        self.assertIn(f"{path}:6:38: capabilities > a/b > requires > rolesAny > 1: expected a string\n", told)
        self.assertIn(f"{path}:1:1: version: is missing\n", told)
        self.assertEqual(json.loads(self.refused(1, "policy", "check", path, "--json"))["error"]["name"], "policyInvalid")

    def test_check(self):
        self.fake.answers["policy.validate"] = {"name": "field", "version": 2}
        self.assertEqual(self.answer("policy", "check", self.file(json.dumps(POLICY))),
                         "field, version 2: no problems.\n")
        self.assertNotIn("policy.set", self.fake.methods())

    def test_explain(self):
        self.fake.answers["policy.explain"] = decision()
        self.answer("policy", "explain", "order.view", "--at", "2030-01-01T00:00:00Z", "--offline", "--state",
                    "reauthenticationRequired", "--step-up")
        self.assertEqual(self.fake.params("policy.explain"), {
            "account": "@active", "capability": "order.view", "at": "2030-01-01T00:00:00.000Z",
            "assume": {"online": False, "state": "reauthenticationRequired", "stepUp": True}})
        self.answer("policy", "explain", "order.view", "work")
        self.assertEqual(self.fake.params("policy.explain"), {"account": "work", "capability": "order.view"})
        self.answer("policy", "explain", "order.view", "--no-offline", "--at", "+49h")
        sent = self.fake.params("policy.explain")
        self.assertEqual(sent["assume"], {"online": True})
        self.assertIn(sent["at"], [instant(49 * 3600 + late) for late in range(-30, 5)])
        # It counts from the time of the provider, by which the agent decides.
        for clock, ahead in (({"serverTimeOffsetMs": 3 * 86_400_000}, 3 * 86_400),
                             ({"clock": "suspect", "clockBehindSeconds": 7200}, 7200)):
            self.fake.answers["session.get"] = {**SESSION, **clock}
            self.answer("policy", "explain", "order.view", "--at", "+3h")
            self.assertIn(
                self.fake.params("policy.explain")["at"], [instant(ahead + 3 * 3600 + late) for late in range(-30, 5)])
        self.refused(2, "policy", "explain", "order.view", "--at", "soon")
        self.fake.answers["policy.explain"] = denied(("stepUpRequired", None))
        self.assertEqual(self.lanyard("policy", "explain", "order.view").returncode, 7)
