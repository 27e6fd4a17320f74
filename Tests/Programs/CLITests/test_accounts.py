"""list, switch and status, as people and programs see them."""

import datetime
import json
import time

from fake_agent import Error, NoAnswer
from people import AGENT, CLIENT, HOME, SESSION, WORK, accounts
from person import Person


class ListTests(Person):
    def test_list_prints_a_table(self):
        self.agent(accounts(WORK, HOME))
        self.assertEqual([line.split() for line in self.answer("list").splitlines()][:1], [
            ["ACCOUNT", "NAME", "PROVIDER", "TENANT", "STATE", "LAST", "ONLINE"]])
        lines = self.answer("list").splitlines()
        self.assertRegex(lines[1], r"^\*  work +Alice Example <alice@acme.example> +idp +acme +active +\d+ days ago$")
        self.assertRegex(lines[2], r"^   home +alice2 +idp +- +sign in again +-$")
        column = lines[0].index("PROVIDER")
        self.assertEqual([line[column:column + 3] for line in lines], ["PRO", "idp", "idp"])

    def test_json(self):
        self.agent(accounts(WORK, HOME))
        out = self.answer("list", "--json")
        self.assertEqual(out.count("\n"), 1)
        self.assertEqual(json.loads(out), {"accounts": [WORK, HOME], "active": WORK["id"]})

    def test_list_without_accounts_suggests_login(self):
        self.agent(accounts())
        done = self.lanyard("list")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("lanyard login", done.stderr)
        self.assertEqual(json.loads(self.answer("list", "--json")), {"accounts": []})

    def test_colour_is_for_terminals_that_want_it(self):
        self.agent(accounts(WORK))
        self.assertNotIn("\x1b", self.answer("list"))
        self.assertIn("\x1b[32mactive\x1b[0m", self.on_terminal("list").text)
        self.assertNotIn("\x1b", self.on_terminal("list", environment={"NO_COLOR": "1"}).text)
        self.assertNotIn("\x1b", self.on_terminal("list", environment={"TERM": "dumb"}).text)

    def test_a_hostile_name_stays_in_its_cell(self):
        self.agent(accounts({**WORK, "displayName": "A\x1b[2Jlice\nroot\u202e\u200b\U000e0041"}))
        lines = self.on_terminal("list").text.splitlines()
        self.assertEqual(len(lines), 2)
        self.assertNotIn("\x1b[2J", lines[1])
        for hidden in ("\u202e", "\u200b", "\U000e0041"):
            self.assertNotIn(hidden, lines[1])


class SwitchTests(Person):
    def test_switch_by_name(self):
        agent = self.agent(accounts(WORK, HOME, CLIENT))
        told = self.lanyard("switch", "home")
        self.assertEqual((told.returncode, told.stdout), (0, "Active account: home (alice2).\n"))
        # It ended: the person is told what follows.
        self.assertEqual(told.stderr, "It has to sign in again: `lanyard login --account home`.\n")
        self.assertEqual(agent.params("account.switch"), {"account": "home"})
        self.assertEqual(json.loads(self.answer("switch", "work", "--json")),
                         {"account": WORK["id"], "active": WORK["id"], "previous": HOME["id"]})

    def test_switch_without_a_name_toggles_two_accounts(self):
        self.agent(accounts(WORK, {**HOME, "state": "active"}))
        self.assertIn("home", self.answer("switch"))
        self.assertIn("work", self.answer("switch"))

    def test_switch_without_a_terminal_lists_the_accounts(self):
        agent = self.agent(accounts(WORK, HOME, {**CLIENT, "state": "active"}))
        told = self.refused(2, "switch")
        for name in ("* work", "home", CLIENT["id"]):
            self.assertIn(name, told)
        self.assertNotIn("account.switch", agent.methods())

    def test_switch_at_a_terminal_asks(self):
        agent = self.agent(accounts(WORK, HOME, {**CLIENT, "state": "active"}))
        screen = self.on_terminal("switch", answers=[("name): ", "2\n")])
        self.assertIn("Active account: home", screen.text)
        self.assertEqual((screen.code, agent.params("account.switch")), (0, {"account": HOME["id"]}))
        screen = self.on_terminal("switch", answers=[("name): ", "work\n")])
        self.assertIn("Active account: work", screen.text)
        self.assertEqual(self.on_terminal("switch", interrupt_after="name): ").code, 130)

    def test_switch_without_accounts_suggests_login(self):
        self.agent(accounts())
        self.assertIn("lanyard login", self.refused(1, "switch"))

    def test_switch_to_an_unknown_name_fails(self):
        self.agent(accounts(WORK))
        self.assertIn("lanyard list", self.refused(1, "switch", "nobody"))

    def test_switch_warns_if_the_environment_overrides_it(self):
        self.agent(accounts(WORK, HOME))
        done = self.lanyard("switch", "home", environment={"LANYARD_ACCOUNT": "work"})
        self.assertEqual(done.returncode, 0)
        self.assertIn("work is still used, because of LANYARD_ACCOUNT", done.stderr)


class StatusTests(Person):
    def test_status_is_a_report(self):
        self.agent(accounts(WORK))
        shown = self.answer("status")
        for words in ("Agent +running, version 0.1.0", "Vault +unlocked, protected by a key file", "Network +online",
                      "Accounts +2: 1 active, 1 sign in again", "Revocations +1 waiting",
                      "Account +work +Alice Example", "Provider +idp, tenant acme", "Session +active",
                      "Token +fresh, expires in", "Last online +.* days ago"):
            self.assertRegex(shown, words)

    def test_a_provider_that_can_not_be_reached_is_named(self):
        agent = self.agent({**accounts(WORK), "agent.status": {**AGENT, "connectivity": "offline"}})
        since = "2030-01-01T00:00:00.000Z"
        for basis, unreachable, words in (
                ("exchange", ["idp"], "Network +idp can't be reached\n"),
                ("exchange", ["idp", "keys", "mail"], "Network +offline: idp, keys and mail can't be reached\n"),
                ("report", [], "Network +offline\n")):
            with self.subTest(basis=basis, unreachable=unreachable):
                told = {"unreachable": unreachable} if unreachable else {}
                agent.answers["connectivity.get"] = {"state": "offline", "since": since, "basis": basis, **told}
                self.assertRegex(self.answer("status"), words)

    def test_what_happened_by_the_providers_time_is_never_still_to_come(self):
        agent = self.agent(accounts(WORK))
        for ahead in (0, 900, 999, 864_000_900):
            with self.subTest(ahead=ahead):
                then = datetime.datetime.fromtimestamp(time.time() + ahead / 1000, datetime.timezone.utc)
                agent.answers["session.get"] = {
                    **SESSION, "serverTimeOffsetMs": ahead, "lastOnlineAuthAt": f"{then:%Y-%m-%dT%H:%M:%S}.{then.microsecond // 1000:03}Z"}
                self.assertRegex(self.answer("status"), "Last online +(now|1 s ago)\n")

    def test_status_promises_no_refresh_of_a_session_that_is_over(self):
        agent = self.agent(accounts(WORK))
        ended = "2020-01-01T00:00:00.000Z"
        for state, session, words in (
                ("reauthenticationRequired", {"freshness": "none"}, "Token +none is served\n"),
                ("reauthenticationRequired", {"freshness": "expired", "accessTokenExpiresAt": ended},
                 "Token +none is served\n"),
                ("reauthenticationRequired", {"freshness": "stale", "accessTokenExpiresAt": "2999-01-01T00:00:00.000Z"},
                 "Token +served until it expires in .*, and not refreshed\n"),
                ("locked", {"freshness": "none"}, "Token +none is served\n"),
                ("active", {"freshness": "none"}, "Token +none in memory: the next request gets one\n"),
                ("offlineStale", {"freshness": "none"}, "Token +none in memory: the next request tries again\n"),
                ("offlineStale", {"freshness": "expired", "accessTokenExpiresAt": ended},
                 "Token +expired: the next request tries again\n"),
                ("interactionRequired", {"freshness": "none"}, "Token +none in memory\n"),
                ("active", {"freshness": "expired", "accessTokenExpiresAt": ended},
                 "Token +expired: the next request refreshes it\n"),
                ("active", {"freshness": "expired", "accessTokenExpiresAt": ended, "refresh": {"phase": "inDoubt", "attempts": 1}},
                 "Token +expired\n")):
            with self.subTest(state=state, session=session):
                session = {key: value for key, value in {**SESSION, "state": state, **session}.items()
                           if key != "accessTokenExpiresAt" or "accessTokenExpiresAt" in session}
                agent.answers.update({**accounts({**WORK, "state": state}), "session.get": session})
                self.assertRegex(self.answer("status"), words)

    def test_status_tells_what_failed_last(self):
        failed = {"phase": "idle", "attempts": 1, "lastError": {"name": "providerUnavailable", "at": "2020-01-01T00:00:00.000Z"}}
        agent = self.agent({**accounts(WORK), "session.get": {**SESSION, "refresh": failed}})
        self.assertRegex(self.answer("status"), r"Refresh +the last one failed \d+ days ago \(provider unavailable\)\n")
        for reason, words in (("status502", "the provider's answer to the last one leaves open whether it took the token"),
                              ("timedOut", "no answer came to the last one, so its outcome is unknown")):
            doubt = {**failed, "phase": "inDoubt", "lastError": {**failed["lastError"], "reason": reason}}
            agent.answers["session.get"] = {**SESSION, "refresh": doubt}
            self.assertRegex(self.answer("status"), f"Refresh +{words}\n")
        # What has ended says why already.
        agent.answers["session.get"] = {**SESSION, "state": "reauthenticationRequired", "refresh": failed}
        self.assertNotIn("Refresh", self.answer("status"))

    def test_status_of_a_disabled_account_says_what_follows_the_administrator(self):
        self.agent({**accounts({**WORK, "state": "locked"}),
                    "session.get": {**SESSION, "state": "locked", "remedies": ["administrator"]}})
        self.assertRegex(
            self.answer("status"), "Next +The provider has disabled this account: ask its administrator\\.\n"
            " +Once it is enabled again: `lanyard login --account work`, or wait 15 minutes")

    def test_status_counts_on_the_clock_of_the_provider(self):
        now = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=3)
        until = (now + datetime.timedelta(minutes=30)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        self.agent({**accounts(WORK), "session.get": {
            **SESSION, "accessTokenExpiresAt": until, "serverTimeOffsetMs": 3 * 86_400_000}})
        told = self.answer("status")
        self.assertRegex(told, "Token +fresh, expires in 30 min")
        self.assertRegex(told, "Clock +this machine's is 3 days behind the provider's")

    def test_status_tells_as_much_of_the_clock_as_the_doctor(self):
        agent = self.agent(accounts(WORK))
        for offset, words in ((3 * 86_400_000 - 400, "3 days behind"), (-3 * 86_400_000 + 400, "3 days ahead of"),
                              (120_400, "2 minutes behind")):
            with self.subTest(offset=offset):
                agent.answers["session.get"] = {**SESSION, "serverTimeOffsetMs": offset}
                self.assertRegex(self.answer("status"), f"Clock +this machine's is {words} the provider's")
        agent.answers["session.get"] = {**SESSION, "serverTimeOffsetMs": 120_000}
        self.assertNotRegex(self.answer("status"), "(?m)^Clock")

    def test_status_of_a_clock_that_was_set_back_counts_from_what_was_known(self):
        def instant(**ahead):
            now = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=3)
            return (now + datetime.timedelta(**ahead)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        session = {
            **SESSION, "accessTokenExpiresAt": instant(minutes=30, seconds=10), "lastOnlineAuthAt": instant(hours=-2),
            "clock": "suspect", "clockBehindSeconds": 3 * 86_400}
        agent = self.agent({**accounts(WORK), "session.get": session})
        told = self.answer("status")
        self.assertRegex(told, "Token +fresh, expires in 30 min\n")
        self.assertRegex(told, "Last online +2 h ago\n")
        self.assertRegex(told, "Clock +suspect: 3 days behind the time that was known before; set this machine's clock\n")
        agent.answers["session.get"] = {**session, "serverTimeOffsetMs": 3 * 86_400_000}
        self.assertRegex(self.answer("status"), "Clock +suspect: 3 days behind the time of the provider; ")
        # What a person told of the end of a key is by this machine's clock.
        key = {**WORK, "kind": "secret", "subject": "secret:abc", "expiresAt": instant(days=-3, minutes=30, seconds=10)}
        agent.answers.update({**accounts(key), "session.get": session})
        self.assertRegex(self.answer("status"), "Token +fresh, expires in 30 min\n")

    def test_list_counts_on_this_machines_clock(self):
        def ago(**past):
            return (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(**past)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        agent = self.agent({
            **accounts({**WORK, "lastOnlineAuthAt": ago(hours=2)}, {**HOME, "provider": "other", "lastOnlineAuthAt": ago(hours=3)}),
            "session.get": {**SESSION, "serverTimeOffsetMs": 3 * 86_400_000}})
        shown = self.answer("list")
        self.assertRegex(shown, r"(?m)^\* +work .* 2 h ago$")
        self.assertRegex(shown, r"(?m)^ +home .* 3 h ago$")
        self.assertNotIn("session.get", agent.methods())

    def test_status_of_a_named_account(self):
        self.agent(accounts(WORK, HOME))
        self.assertRegex(self.answer("status", "home"), "Account +home")
        self.assertEqual(json.loads(self.answer("status", "home", "--json"))["account"]["id"], HOME["id"])
        self.refused(2, "status", "home", "-u", "work")

    def test_status_says_how_the_data_is_protected(self):
        agent = self.agent(accounts(WORK))
        for protection, state, words in (
                ("vault", "active", "under the vault alone when signed out: no PIN is set"),
                ("pin", "active", "under the PIN when signed out"),
                ("vault", "signedOut", "sealed until the same person signs in again"),
                ("pin", "signedOut", "sealed until the same person signs in again and enters the PIN")):
            with self.subTest(protection=protection, state=state):
                agent.answers.update(accounts({**WORK, "dataProtection": protection, "state": state}))
                self.assertRegex(self.answer("status"), f"Data +{words}\n")
        # Of what was erased, nothing.
        agent.answers.update(accounts({**WORK, "state": "signedOut"}))
        self.assertNotRegex(self.answer("status"), "Data ")

    def test_status_of_a_key_names_no_end_that_nobody_told(self):
        agent = self.agent()
        key = {**WORK, "kind": "secret", "subject": "secret:abc"}
        session = {**SESSION, "accessTokenExpiresAt": "2999-01-01T00:00:00.000Z"}
        for told, state, words in (({}, "active", "fresh, no end is known"),
                                   ({"expiresAt": "2999-01-01T00:00:00.000Z"}, "active", r"fresh, expires in \d+ days"),
                                   ({}, "reauthenticationRequired", "none is served")):
            with self.subTest(words):
                agent.answers.update(
                    {**accounts({**key, **told, "state": state}), "session.get": {**session, "state": state}})
                self.assertRegex(self.answer("status"), f"Token +{words}\n")

    def test_status_says_how_to_get_lost_scopes_back(self):
        self.agent({**accounts(WORK), "session.get": {**SESSION, "lostScopes": ["mail.send"]}})
        self.assertRegex(self.answer("status"), "Lost scopes +mail.send: .*`lanyard login --account work`")

    def test_status_says_which_key_the_tokens_are_bound_to(self):
        agent = self.agent({**accounts(WORK), "session.get": {**SESSION, "deviceKeyId": "0ZcOCORZNYy"}})
        self.assertRegex(self.answer("status"), "Bound +to a key of this agent, 0ZcOCORZNYy\n")
        agent.answers["session.get"] = SESSION
        self.assertNotIn("Bound", self.answer("status"))

    def test_status_says_that_tokens_are_not_bound_any_more(self):
        session = {**SESSION, "deviceKeyId": "0ZcOCORZNYy", "tokenBinding": "downgraded"}
        self.agent({**accounts(WORK), "session.get": session})
        self.assertRegex(self.answer("status"), "Bound +no longer: .*`lanyard doctor`")

    def test_list_says_whose_tokens_are_bound(self):
        self.agent(accounts(WORK, {**HOME, "tokenBinding": "bound"}))
        self.assertRegex(self.answer("list"), r"STATE +TOKENS +LAST ONLINE\n.*work .* - .*\n.*home .* bound ")

    def test_list_says_whose_tokens_are_not_bound_any_more(self):
        self.agent(accounts({**WORK, "tokenBinding": "downgraded"}))
        self.assertIn("bearer, were bound", self.answer("list"))

    def test_status_names_the_rights_in_detail(self):
        details = [{"type": "payment_initiation", "amount": 1}, {"type": "account\x1b[31m"}]
        agent = self.agent({**accounts(WORK), "session.get": {**SESSION, "authorizationDetails": details}})
        self.assertRegex(self.answer("status"), r"Details +payment_initiation, account[^\x1b]*\n")
        agent.answers["session.get"] = SESSION
        self.assertNotIn("Details", self.answer("status"))

    def test_status_json_is_one_object(self):
        self.agent(accounts(WORK))
        out = self.answer("status", "--json")
        self.assertEqual(out.count("\n"), 1)
        self.assertEqual(json.loads(out), {
            "agent": AGENT, "account": WORK, "session": SESSION,
            "selection": {"account": WORK["id"], "selector": "@active", "because": "active"}})

    def test_status_without_an_account(self):
        self.agent({**accounts(), "agent.status": {**AGENT, "accounts": {"total": 0, "byState": {}}}})
        self.assertRegex(self.answer("status"), "Account +none\nNext +`lanyard login`")

    def test_status_reports_a_locked_vault(self):
        agent = self.agent({**accounts(), "agent.status": {**AGENT, "locked": True, "protection": "passphrase"}})
        agent.answers["account.get"] = error = Error(1001, "agentLocked", "The vault is locked.")
        self.assertRegex(self.answer("status"), "Vault +locked, protected by your passphrase")
        self.assertEqual(json.loads(self.answer("status", "--json"))["problem"], error.body)

    def test_status_of_an_ended_session_suggests_login(self):
        self.agent(accounts({**HOME, "active": True}))
        self.assertIn("lanyard login --account home", self.answer("status"))

    def test_watch_reports_after_each_event(self):
        agent = self.agent(accounts(WORK, HOME))
        connections = []

        def subscribe(params, connection):
            connections.append(connection)
            return {"subscription": "sub_1", "epoch": "e1", "sequence": 0, "gap": False}

        agent.answers["event.subscribe"] = subscribe
        process = self.start("status", "--watch", "--json")
        self.assertEqual(json.loads(process.stdout.readline())["account"], WORK)
        agent.answers["account.switch"]({"account": "home"}, None)
        connections[0].event(1, "account.switched", HOME["id"])
        self.assertEqual(json.loads(process.stdout.readline())["account"]["id"], HOME["id"])
        process.send_signal(2)
        process.communicate(timeout=10)
        self.assertEqual(process.returncode, 130)

    def test_watch_ends_when_the_agent_does(self):
        agent = self.agent(accounts(WORK))

        def subscribe(params, connection):
            connection.agent.closed.wait(0.3)
            connection.send({"jsonrpc": "2.0", "id": 1, "result": {"subscription": "s"}})
            connection.stream.shutdown(2)

        agent.answers["event.subscribe"] = subscribe
        done = self.lanyard("status", "--watch")
        self.assertEqual(done.returncode, 3)
        self.assertIn("closed this connection", done.stderr)

    def test_watch_stays_in_place_on_a_terminal(self):
        agent = self.agent(accounts(WORK))

        def subscribe(params, connection):
            connection.send({"jsonrpc": "2.0", "id": 1, "result": {"subscription": "s"}})
            connection.event(1, "token.refreshed")
            raise NoAnswer

        agent.answers["event.subscribe"] = subscribe
        screen = self.on_terminal("status", "--watch", interrupt_after="\x1b[J")
        self.assertEqual(screen.code, 130)
        self.assertRegex(screen.text, "\x1b\\[\\d+A")
