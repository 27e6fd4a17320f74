"""The audit log, as people and programs read it."""

import json
import re

from people import IDP, WORK, accounts
from person import Person

GONE = "acc_zzzzzzzzzzzzzzzzzzzzzzzzzz"


def entry(sequence, event="authorization.check", outcome="ok", client="desk", **more):
    facts = more.pop("facts", None)
    return {
        "sequence": sequence, "at": f"2030-01-12T09:00:{sequence % 60:02}.000Z", "event": event, "outcome": outcome,
        **({"client": client} if client else {}), **({"facts": facts} if facts else {}), **more}


class AuditTests(Person):
    def setUp(self):
        super().setUp()
        self.fake = self.agent(accounts(WORK, providers=(IDP,)))

    def keeps(self, *entries):
        """The agent's own paging over these."""
        def pages(params, _):
            rest = [entry for entry in entries if entry["sequence"] > params.get("after", 0)]
            page = rest[:params.get("limit", 100)]
            return {"entries": page, **({"next": page[-1]["sequence"]} if len(rest) > len(page) else {})}
        self.fake.answers["audit.list"] = pages

    def told(self, *words):
        return [line.split(None, 3) for line in self.answer("audit", *words).splitlines()[1:]]

    def says(self, *words, **facts):
        self.keeps(entry(7, *words, client=None, **({"facts": facts} if facts else {})))
        return re.split(r"\s{2,}", self.answer("audit").splitlines()[1])[3]

    def test_a_row_has_number_time_account_event_and_caller(self):
        self.keeps(
            entry(1, "provider.add", client=None, facts={"provider": "idp"}),
            entry(2, "signIn", client=None, account=WORK["id"], facts={"provider": "idp", "new": True}),
            entry(3, outcome="deny", account=GONE,
                  facts={"capability": "order.view", "reason": "missingRole", "decisionId": "dec_1"}))
        self.assertEqual(self.answer("audit"), f"""\
NUMBER  WHEN                 ACCOUNT                         WHAT                                  ASKED BY
1       2030-01-12 09:00:01  -                               provider idp added                    -
2       2030-01-12 09:00:02  work                            signed in at idp                      -
3       2030-01-12 09:00:03  {GONE}  may not do order.view (missing role)  desk
""")

    def test_times_are_local(self):
        self.keeps(entry(1, "agent.lock"))
        done = self.lanyard("audit", environment={"TZ": "UTC-2"})
        self.assertIn("2030-01-12 11:00:01", done.stdout)

    def test_requests_tell_for_whom_and_by_which_grant(self):
        request = {"origin": "https://api.example", "method": "POST", "grant": "grt_a", "grantee": "robot"}
        named = {**request, "capability": "mail.send"}
        self.assertEqual(
            self.says("request.authorize", "allow", **request),
            "token for POST to https://api.example for robot (grant grt_a)")
        self.assertEqual(
            self.says("request.send", "allow", **named),
            "POST to https://api.example for robot (grant grt_a), allowed by mail.send")
        self.assertEqual(
            self.says("request.authorize", "deny", reason="budgetExceeded", **named),
            "refused: token for POST to https://api.example for robot (grant grt_a), denied by mail.send (budget exceeded)")
        self.assertEqual(
            self.says("request.send", "notPermitted", **request),
            "refused: POST to https://api.example for robot (grant grt_a), the grant only reads")
        self.assertEqual(
            self.says("stepUp.verify", capability="pay", **request),
            "confirmed in the prompt: pay for robot, POST https://api.example")

    def test_key_events_are_sentences(self):
        self.assertEqual(
            self.says("agent.addKeySlot", slot=1, protection="passphrase"),
            "key slot 1 (a passphrase) added")
        self.assertEqual(
            self.says("agent.removeKeySlot", slot=0, protection="keyFile"),
            "key slot 0 (the key file beside the store) removed")
        self.assertEqual(self.says("agent.rotateRootKey", keyEpoch=2), "root key rotated, key epoch 2")
        self.assertIn("every account signed out", self.says("agent.acceptOldStore"))

    def test_every_event_is_a_sentence(self):
        self.assertEqual(self.says("authorization.check", "allow", capability="a.b", reason="allowed"), "may do a.b")
        self.assertEqual(
            self.says("authorization.check", "allowReadOnly", capability="a.b", reason="clockSuspect"),
            "may only read for a.b (clock suspect)")
        self.assertEqual(self.says("account.signOut", mode="hard"), "signed out (hard)")
        self.assertEqual(self.says("policy.set", policy="field", policyVersion=4), "policy field set, version 4")
        self.assertEqual(
            self.says("session.stateChanged", state="offlineStale", previous="active"),
            "session: offline, was: active")
        self.assertEqual(
            self.says("stepUp.verify", "stepUpFailed", reason="wrong", attemptsLeft=1),
            "PIN checked, 1 try left: stepUpFailed")
        self.assertEqual(
            self.says("revocation.abandoned", issuer="https://idp.example", reason="expired"),
            "revocation at https://idp.example abandoned (expired)")
        for event in (
                "signIn account.forget account.switch account.rename provider.update provider.remove agent.initialize "
                "agent.unlock agent.lock revocation.confirmed stepUp.enroll stepUp.unenroll stepUp.clear").split():
            self.assertNotIn(event, self.says(event))

    def test_repeats_are_counted(self):
        self.keeps(entry(
            7, outcome="deny", client=None, facts={"capability": "a.b", "reason": "missingRole"}, count=12,
            firstAt="2030-01-12T09:00:07.000Z", lastAt="2030-01-12T09:20:00.000Z"))
        self.assertIn(
            "may not do a.b (missing role), 12 times until 2030-01-12 09:20:00", self.answer("audit"))

    def test_an_event_of_a_newer_agent(self):
        self.assertEqual(self.says("grant.made", size=3), "grant.made (size: 3)")

    def test_the_last_entries_are_shown_newest_last(self):
        self.keeps(*(entry(number, "agent.lock") for number in range(1, 2351)))
        self.assertEqual([int(line[0]) for line in self.told()], list(range(2251, 2351)))
        self.assertEqual([int(line[0]) for line in self.told("--limit", "3")], [2348, 2349, 2350])
        self.assertEqual(len(self.told("--limit", "2200")), 2200)

    def test_after_shows_the_entries_that_follow(self):
        self.keeps(*(entry(number, "agent.lock") for number in range(1, 2351)))
        self.assertEqual([int(line[0]) for line in self.told("--after", "5", "--limit", "2")], [6, 7])
        self.assertEqual(len(self.told("--after", "0", "--limit", "1500")), 1500)
        asked = [params for method, params in self.fake.calls if method == "audit.list"][-2:]
        self.assertEqual(asked, [{"after": 0, "limit": 1000}, {"after": 1000, "limit": 500}])

    def test_account_selects_entries(self):
        self.keeps(entry(1, "account.rename", account=WORK["id"]))
        self.answer("audit", "--account", "work")
        self.assertEqual(self.fake.params("audit.list"), {"account": "work", "limit": 1000})

    def test_json_keeps_the_agents_entries(self):
        entries = [entry(1, "agent.lock"), entry(2, "agent.unlock")]
        self.keeps(*entries)
        self.assertEqual(json.loads(self.answer("audit", "--json")), {"entries": entries})

    def test_an_empty_log_is_told(self):
        self.keeps()
        done = self.lanyard("audit")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", "No entry.\n"))
        self.assertEqual(json.loads(self.answer("audit", "--json")), {"entries": []})

    def test_an_intact_log(self):
        self.fake.answers["audit.verify"] = {"intact": True, "entries": 12, "head": "x"}
        self.assertEqual(self.answer("audit", "--verify"), "Intact: 12 entries are unchanged.\n")

    def test_verify_names_the_first_broken_entry(self):
        found = {"intact": False, "entries": 4, "head": "x", "firstBroken": 5}
        self.fake.answers["audit.verify"] = found
        done = self.lanyard("audit", "--verify")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertEqual(done.stdout, """\
Not intact: the audit log is not as the agent wrote it.
Entry 5 was edited, removed, moved or added, and not by the agent.
Earlier entries are unchanged; entry 5 and later ones are not proven.
Accounts and tokens are not affected. Ask the administrator of this machine.
""")
        done = self.lanyard("audit", "--verify", "--json")
        self.assertEqual((done.returncode, json.loads(done.stdout)), (1, found))

    def test_mistakes_in_the_command_line(self):
        for words in (["--limit", "0"], ["--after", "-1"], ["--verify", "--after", "3"]):
            self.assertEqual(self.lanyard("audit", *words).returncode, 2, words)

    def test_control_characters_of_a_caller_are_replaced(self):
        self.keeps(entry(1, "agent.lock", client="\x1b[2Jevil"))
        self.assertNotIn("\x1b", self.answer("audit"))
