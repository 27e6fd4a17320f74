"""revocations, as people and programs see them."""

import datetime
import json

from people import SESSION, WORK, accounts
from person import Person

WAITING = {
    "id": "rev_c2ztq4xk7m3vwy5ndhb6rfgupa", "issuer": "https://idp.example", "accountLabel": "work", "attempts": 2,
    "nextAttemptAt": "2999-01-01T00:00:00.000Z", "expiresAt": "2999-02-01T00:00:00.000Z",
    "lastError": {"name": "providerMisconfigured", "at": "2030-01-01T00:00:00.000Z"},
}


class RevocationTests(Person):
    def shown(self, **changes):
        entry = {**WAITING, **changes}
        agent = self.agent({"revocation.list": {"revocations": [entry]}})
        shown = self.answer("revocations")
        self.assertEqual(
            json.loads(self.answer("revocations", "--json")), {"revocations": [entry]})
        agent.close()
        lines = shown.splitlines()
        self.assertTrue(all(len(line) <= 80 for line in lines[1:]), shown)
        return lines

    def test_a_refused_revocation_is_not_shown_as_done(self):
        first, plan, trouble = self.shown()
        self.assertEqual(first, f"{WAITING['id']}  work at https://idp.example")
        self.assertRegex(plan, "^  tried 2 times, again in .*, given up in ")
        self.assertIn("may stay valid", trouble)

    def test_a_provider_that_is_down(self):
        self.assertIn("until then the token stays valid", self.shown(lastError={**WAITING["lastError"], "name": "providerUnavailable"})[2])

    def test_an_unreachable_provider(self):
        _, plan, trouble = self.shown(
            attempts=1, nextAttemptAt="2020-01-01T00:00:00.000Z", lastError={**WAITING["lastError"], "name": "offline"})
        self.assertRegex(plan, "^  tried once, being sent, given up ")
        self.assertEqual(trouble, "  The provider could not be reached.")

    def test_a_revocation_that_is_due_is_on_its_way(self):
        due = {key: value for key, value in WAITING.items() if key != "lastError"}
        self.agent({"revocation.list": {"revocations": [{**due, "attempts": 0, "nextAttemptAt": "2020-01-01T00:00:00.000Z"}]}})
        self.assertRegex(self.answer("revocations"), "\n  being sent, given up in ")

    def test_lists_count_on_this_machines_clock_and_sign_outs_on_the_providers(self):
        def instant(**ahead):
            return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(**ahead)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        entry = {**WAITING, "nextAttemptAt": instant(minutes=5, seconds=10), "expiresAt": instant(days=7, seconds=10),
                 "lastError": {**WAITING["lastError"], "name": "offline"}}
        session = {**SESSION, "serverTimeOffsetMs": 3 * 86_400_000}
        self.agent({
            **accounts(WORK), "session.get": session, "revocation.list": {"revocations": [entry]},
            "revocation.retry": {"revocations": [entry]},
            "account.signOut": {"account": WORK["id"], "mode": "soft", "data": "sealed", "revocation": "queued",
                                "nextAttemptAt": instant(days=3, minutes=5, seconds=10)}})
        self.assertIn("  tried 2 times, again in 5 min, given up in 7 days\n", self.answer("revocations"))
        self.assertIn("The agent tries again in 5 min.", self.lanyard("revocations", "send").stderr)
        self.assertIn("The agent sends it in 5 min,", self.answer("logout", "work"))

    def test_an_error_of_a_newer_agent(self):
        self.assertEqual(self.shown(lastError={**WAITING["lastError"], "name": "somethingNew"})[2], "  somethingNew")

    def test_control_characters_of_a_provider_are_replaced(self):
        self.assertNotIn("\x1b", "".join(self.shown(accountLabel="\x1b[2J")))
