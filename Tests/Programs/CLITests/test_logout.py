"""logout and forget, as people and programs see them."""

import datetime
import json

from browser import Browser
from fake_agent import Error
from people import AGENT, CLIENT, HOME, WORK, accounts, resolving
from person import Person

END_SESSION = "https://idp.example/logout?id_token_hint=not-a-real-id-token&client_id=lanyard"


class Logouts(Person):
    def people(self, *people):
        agent = self.agent(accounts(*people))
        self.sign_out = agent.answers["account.signOut"]
        return agent

    def answering(self, agent, **members):
        """Signing out says this, too."""
        agent.answers["account.signOut"] = lambda params, connection: {
            **self.sign_out(params, connection), **members}

    def failing(self, agent, *failing):
        agent.answers["account.signOut"] = lambda params, connection: (
            Error(5001, "storeUnavailable", "The disk is full.") if params["account"] in failing
            else self.sign_out(params, connection))

    @staticmethod
    def signed_out(agent):
        return [params["account"] for method, params in agent.calls if method == "account.signOut"]


class LogoutTests(Logouts):
    def test_modes(self):
        agent = self.people(WORK)
        for words, mode in (([], "soft"), (["--soft"], "soft"), (["--hard"], "hard"), (["--offline"], "offline")):
            self.answer("logout", "work", *words)
            self.assertEqual(agent.params("account.signOut"), {"account": WORK["id"], "mode": mode})
        self.refused(2, "logout", "--soft", "--hard")

    def test_an_account_is_looked_up_once(self):
        agent = self.people(WORK)
        for words, before in (
            (["work"], ["account.get"]), (["work", "--json"], []),
            (["Alice Example"], ["account.get", "account.resolve", "account.get"]),
            (["Alice Example", "--json"], ["account.signOut", "account.resolve"]),
            (["--yes"], ["account.get"]), (["--all", "--yes"], ["account.list"])):
            with self.subTest(words):
                agent.answers.update(resolving(WORK))
                del agent.calls[:]
                self.answer("logout", *words)
                asked = [method for method, _ in agent.calls if method.startswith("account.")]
                self.assertEqual(asked[:len(before) + 1], [*before, "account.signOut"])

    def test_an_account_to_forget_is_looked_up_once(self):
        agent = self.people(CLIENT)
        for words, asked in (
            (["cli"], ["account.get", "account.forget"]), (["cli", "--json"], ["account.forget"]),
            (["Bob Example"], ["account.get", "account.resolve", "account.get", "account.forget"]),
            (["Bob Example", "--json"], ["account.forget", "account.resolve", "account.forget"])):
            with self.subTest(words):
                agent.answers.update(resolving({**CLIENT, "alias": "cli", "displayName": "Bob Example"}))
                del agent.calls[:]
                self.answer("forget", *words)
                self.assertEqual([method for method in agent.methods() if method.startswith("account.")], asked)

    def test_the_output_names_data_and_revocation(self):
        self.people(WORK)
        shown = self.answer("logout", "work", "--offline")
        self.assertIn("Signed out: work", shown)
        self.assertIn("sealed until Alice Example", shown)
        self.assertIn("queued", shown)

    def test_the_output_names_the_file_that_demands_the_erasure(self):
        agent = self.people(WORK)
        self.answering(agent, mode="hard", data="erased", demandedBy="/etc/lanyard/agent.json")
        shown = self.answer("logout", "work", "--soft")
        self.assertIn("/etc/lanyard/agent.json demands that every sign-out erases the data", shown)
        self.assertIn("Its data is erased", shown)

    def test_the_output_names_an_account_that_can_be_switched_to(self):
        third = {**HOME, "id": "acc_bbbbbbbbbbbbbbbbbbbbbbbbbb", "alias": "client", "state": "active"}
        self.people(WORK, HOME, third)
        told = self.answer("logout", "work")
        self.assertIn("No account is active now. Choose one: `lanyard switch home`, `lanyard switch client`.", told)
        self.answer("switch", "client")
        self.assertIn("No account is active now: `lanyard switch home` makes that one active.", self.answer("logout", "client"))

    def test_switch_is_not_advised_with_no_account_left(self):
        self.people(WORK, HOME)
        self.assertNotIn("active", self.answer("logout", "home"))
        told = self.answer("logout", "work")
        self.assertNotIn("switch", told)
        self.assertIn("No account is signed in now: `lanyard login` signs in.", told)

    def test_all_advises_no_switch(self):
        self.people(WORK, HOME)
        told = self.answer("logout", "--all", "--yes")
        self.assertNotIn("switch", told)
        self.assertEqual(told.count("No account is signed in now"), 1)

    def test_a_locked_vault_says_how(self):
        agent = self.people(WORK)
        locked = Error(1001, "agentLocked", "The vault is locked.", remedies=["unlock"])
        for method in ("account.resolve", "account.get", "account.list", "account.signOut"):
            agent.answers[method] = locked
        for words, command in ((["work"], "lanyard logout work"), (["--yes"], "lanyard logout --yes"),
                               (["--all"], "lanyard logout --all"),
                               (["work", "--hard"], "lanyard logout work --hard"),
                               (["--yes", "--offline"], "lanyard logout --yes --offline"),
                               (["work", "--open"], "lanyard logout work --open"),
                               (["--all", "--hard", "--open"], "lanyard logout --all --hard --open")):
            told = self.refused(8, "logout", *words)
            self.assertIn("nothing was signed out", told)
            self.assertIn(f"`lanyard unlock`, `{command}`", told)

    def test_a_program_that_names_no_account_is_told_the_whole_command(self):
        self.people(WORK)
        self.assertIn("`lanyard logout --hard work`", self.refused(2, "logout", "--hard"))

    def test_all_says_that_a_demanded_sign_out_erases(self):
        agent = self.people(WORK, HOME)
        agent.answers["agent.status"] = {**AGENT, "hardSignOutDemandedBy": "/etc/lanyard/agent.json"}
        screen = self.on_terminal("logout", "--all", answers=[("and erase their data? [y/N] ", "\n")])
        self.assertEqual(screen.code, 1, screen.text)
        self.assertNotIn("account.signOut", agent.methods())

    def test_quiet_says_nothing_without_an_account(self):
        self.people({**WORK, "active": False})
        self.assertEqual(self.answer("logout", "--yes", "--quiet"), "")
        self.assertEqual(self.answer("logout", "--yes"), "No account is active, so none was signed out.\n")

    def test_quiet_says_nothing(self):
        for mode in ([], ["--hard"], ["--offline"]):
            agent = self.people(WORK)
            self.assertEqual(self.answer("logout", "work", "--quiet", *mode), "")
            agent.close()

    def test_an_erased_account_keeps_its_id_until_it_is_forgotten(self):
        self.people(WORK)
        shown = self.answer("logout", "work", "--hard")
        self.assertIn("Its data is erased, and whose account it was.", shown)
        self.assertIn(f"`lanyard forget {WORK['id']}`", shown)
        self.assertTrue(all(len(line) <= 80 for line in shown.splitlines()), shown)

    def test_a_pending_erasure_is_explained(self):
        agent = self.people(WORK)
        self.answering(agent, data="erasurePending")
        shown = self.answer("logout", "work", "--hard")
        self.assertIn("its data can't be read any more", shown)
        self.assertIn("When that ends", shown)
        self.assertIn("at the latest at its next start", shown)
        self.assertIn(f"`lanyard forget {WORK['id']}`", shown)
        self.assertTrue(all(len(line) <= 80 for line in shown.splitlines()), shown)

    def test_a_queued_revocation_names_the_next_attempt_and_how_to_send_it_now(self):
        agent = self.people(WORK)
        soon = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=6)).strftime("%FT%T.000Z")
        self.answering(agent, revocation="queued", nextAttemptAt=soon)
        shown = self.answer("logout", "work", "--offline")
        self.assertIn("The revocation is queued. The agent sends it in 6 h,", shown)
        self.assertIn("or when the network changes. `lanyard revocations send` sends it now.", shown)
        self.assertTrue(all(len(line) <= 80 for line in shown.splitlines()), shown)

    def test_a_refused_revocation_says_what_the_person_can_do(self):
        agent = self.people(WORK)
        self.answering(agent, revocation="refused", nextAttemptAt="2999-01-01T00:00:00.000Z")
        shown = self.answer("logout", "work")
        self.assertIn("was reached and refuses", shown)
        self.assertIn("sign out at the provider's own page", shown)
        self.assertNotIn("can be reached", shown)
        self.assertTrue(all(len(line) <= 80 for line in shown.splitlines()), shown)

    def test_json(self):
        self.people(WORK)
        self.assertEqual(json.loads(self.answer("logout", "work", "--hard", "--json")), {
            "account": WORK["id"], "mode": "hard", "data": "erased", "revocation": "confirmed"})

    def test_an_agent_that_cannot_sign_out_yet(self):
        agent = self.people(WORK)
        del agent.answers["account.signOut"]
        self.assertIn("does not know this command", self.refused(1, "logout", "work"))


class UnnamedTests(Logouts):
    """No account was named: the directory, the environment or the active account must not decide unseen."""

    def test_a_program_is_refused_and_told_the_account(self):
        agent = self.people(WORK, HOME)
        for words in ([], ["--hard"], ["--json"]):
            for environment in ({}, {"LANYARD_ACCOUNT": "work"}):
                told = self.refused(2, "logout", *words, environment=environment)
                self.assertIn("work (Alice Example <alice@acme.example>)", told)
                if not words:
                    self.assertIn("`lanyard logout work`", told)
                    self.assertIn("--yes", told)
        self.assertEqual(self.signed_out(agent), [])

    def test_yes_takes_it(self):
        agent = self.people(WORK)
        self.answer("logout", "--yes", "--hard")
        self.assertEqual(agent.params("account.signOut"), {"account": WORK["id"], "mode": "hard"})

    def test_a_person_is_asked(self):
        agent = self.people(WORK, HOME)
        question = ("Sign out and erase the data of work (Alice Example <alice@acme.example>)? "
                    "No account was named, and it is the active account. [y/N] ")
        asked = question.replace("\n", "")
        screen = self.on_terminal("logout", "--hard", answers=[(asked, "\n")], size=(24, 200))
        self.assertEqual((screen.code, self.signed_out(agent)), (1, []))
        self.assertIn("Nothing was changed.", screen.text)
        screen = self.on_terminal("logout", "--hard", answers=[(asked, "y\n")], size=(24, 200))
        self.assertEqual((screen.code, self.signed_out(agent)), (0, [WORK["id"]]))

    def test_a_second_sign_out_is_no_failure(self):
        agent = self.people(WORK)
        agent.answers["account.signOut"] = Error(2003, "signedOut", account=WORK["id"])
        self.assertIn("work (Alice Example <alice@acme.example>) is signed out already.", self.answer("logout", "work"))
        self.assertEqual(json.loads(self.answer("logout", "work", "--json"))["account"], WORK["id"])

    def test_a_second_hard_sign_out_is_no_failure_although_the_name_is_erased(self):
        erased = {**WORK, "state": "signedOut", "subject": "erased:q3v5", "active": False}
        for member in ("alias", "displayName", "email", "tenant"):
            erased.pop(member, None)
        agent = self.people(HOME)
        # A name that no account has, and none was erased: a mistake.
        self.refused(1, "logout", "work", "--hard")
        agent.answers["account.list"] = {"accounts": [HOME, erased]}
        for mode in ([], ["--hard"]):
            told = self.answer("logout", "work", *mode)
            self.assertIn("No account is called work, so none was signed out.", told)
            self.assertEqual(json.loads(self.answer("logout", "work", *mode, "--json")), {})

    def test_without_an_active_account_no_one_is_signed_out(self):
        agent = self.people(HOME)
        self.assertEqual(self.answer("logout"), "No account is active, so none was signed out.\n")
        self.assertEqual(self.signed_out(agent), [])
        self.refused(1, "logout", "nobody")


class AllTests(Logouts):
    def test_all_signs_out_of_every_account(self):
        agent = self.people(WORK, HOME, CLIENT)
        shown = self.answer("logout", "--all", "--yes")
        self.assertEqual(self.signed_out(agent), [WORK["id"], HOME["id"]])
        self.assertIn("Signed out: work", shown)
        self.assertIn("Signed out: home", shown)
        self.refused(2, "logout", "--all", "work")

    def test_all_without_accounts(self):
        self.people(CLIENT)
        self.assertEqual(self.lanyard("logout", "--all").stderr, "No account is signed in.\n")
        self.assertEqual(self.answer("logout", "--all", "--json"), "[]\n")

    def test_a_person_is_asked(self):
        agent = self.people(WORK, HOME)
        question = "Sign out of 2 accounts (work, home)? [y/N] "
        for no in ("\n", "n\n", "\x04"):
            screen = self.on_terminal("logout", "--all", answers=[(question, no)])
            self.assertEqual(screen.code, 1, screen.text)
            self.assertIn("No account was signed out.", screen.text)
        self.assertEqual(self.on_terminal("logout", "--all", interrupt_after=question).code, 130)
        self.assertEqual(self.signed_out(agent), [])
        self.assertEqual(self.on_terminal("logout", "--all", answers=[(question, "yes\n")]).code, 0)
        self.assertEqual(self.signed_out(agent), [WORK["id"], HOME["id"]])

    def test_all_hard_asks_about_the_erasure(self):
        self.people(WORK)
        question = "Sign out of one account (work) and erase their data? [y/N] "
        self.assertEqual(self.on_terminal("logout", "--all", "--hard", answers=[(question, "y\n")]).code, 0)

    def test_a_program_is_not_asked(self):
        agent = self.people(WORK, HOME)
        for words in ([], ["--json"], ["--yes"]):
            agent.answers.update(accounts(WORK, HOME))
            self.assertEqual(self.lanyard("logout", "--all", *words).returncode, 0)
        self.assertEqual(self.signed_out(agent), [WORK["id"], HOME["id"]] * 3)

    def test_yes_skips_the_question(self):
        agent = self.people(WORK, HOME)
        self.assertEqual(self.on_terminal("logout", "--all", "--yes").code, 0)
        self.assertEqual(self.signed_out(agent), [WORK["id"], HOME["id"]])

    def test_one_that_fails_does_not_keep_the_others_signed_in(self):
        agent = self.people(WORK, HOME)
        self.failing(agent, WORK["id"])
        done = self.lanyard("logout", "--all", "--yes")
        self.assertEqual(done.returncode, 1)
        self.assertIn("Signed out: home", done.stdout)
        self.assertIn("work (Alice Example <alice@acme.example>) was not signed out: The disk is full.", done.stderr)
        self.assertIn("1 of 2 accounts could not be signed out.", done.stderr)

    def test_every_failure_is_told(self):
        agent = self.people(WORK, HOME)
        self.failing(agent, WORK["id"], HOME["id"])
        told = self.refused(1, "logout", "--all", "--yes")
        self.assertEqual(told.count("was not signed out"), 2)
        self.assertIn("2 of 2", told)

    def test_json_is_a_list(self):
        agent = self.people(WORK, HOME)
        self.failing(agent, HOME["id"])
        done = self.lanyard("logout", "--all", "--yes", "--json")
        self.assertEqual((done.returncode, done.stdout.count("\n")), (1, 1))
        first, second = json.loads(done.stdout)
        self.assertEqual(first, {
            "account": WORK["id"], "mode": "soft", "data": "sealed", "revocation": "confirmed"})
        self.assertEqual((second["account"], second["error"]["code"]), (HOME["id"], 5001))
        self.assertEqual(json.loads(done.stderr)["error"]["name"], "storeUnavailable")


class EndSessionTests(Logouts):
    def setUp(self):
        super().setUp()
        self.browser = Browser(self.place)
        self.environment.update(self.browser.environment)
        self.answering(self.people(WORK), endSessionUrl=END_SESSION)

    def address(self):
        """The page that was opened. It holds an ID token, and every user of the machine can read arguments."""
        arguments, address = self.browser.opened()
        self.assertNotIn("id_token_hint", " ".join(arguments or []))
        return address

    def test_the_end_session_page_is_not_printed_into_a_pipe(self):
        told = self.answer("logout", "work")
        self.assertNotIn("http", told)
        self.assertIn("The session in the browser at idp may go on: sign out on its page, too.\n", told)
        # The account is signed out by then: the option is no way to end this session.
        self.assertIn("With --open, a sign-out opens that page.\n", told)
        self.assertTrue(all(len(line) <= 80 for line in told.splitlines()), told)
        self.assertFalse(self.browser.was_started())

    def test_open_without_a_browser_is_not_advised_again(self):
        done = self.lanyard("logout", "work", "--open", environment={"DISPLAY": None})
        self.assertIn("No browser opened the page here.", done.stderr)
        self.assertIn("sign out on its page", done.stdout)
        self.assertNotIn("--open", done.stdout)

    def test_a_terminal_without_a_browser_shows_the_end_session_page(self):
        self.environment.pop("DISPLAY")
        self.assertIn(END_SESSION, self.on_terminal("logout", "work").text)
        self.assertEqual(self.on_terminal("logout", "work", "--quiet").text, "")

    def test_open_opens_the_end_session_page(self):
        self.assertNotIn(END_SESSION, self.answer("logout", "work", "--open"))
        self.assertEqual(self.address(), END_SESSION)

    def test_open_works_with_json(self):
        self.assertEqual(json.loads(self.answer("logout", "work", "--open", "--json"))["endSessionUrl"], END_SESSION)
        self.assertEqual(self.address(), END_SESSION)

    def test_a_person_is_asked(self):
        question = "End the browser's session at idp, too? [y/N] "
        screen = self.on_terminal("logout", "work", answers=[(question, "y\n")])
        self.assertEqual((screen.code, self.address()), (0, END_SESSION))
        self.assertNotIn("id_token_hint", screen.text)

    def test_a_declined_end_session_page_is_shown(self):
        screen = self.on_terminal("logout", "work", answers=[("too? [y/N] ", "\n")])
        self.assertEqual(screen.code, 0)
        self.assertNotIn("id_token_hint", screen.text)
        self.assertFalse(self.browser.was_started())

    def test_without_a_screen_it_is_shown(self):
        for words in ([], ["--open"]):
            screen = self.on_terminal("logout", "work", *words, environment={"DISPLAY": None})
            self.assertIn("id_token_hint", screen.text)
            self.assertEqual(screen.code, 0)

    def test_all_asks_no_question_for_each_account(self):
        screen = self.on_terminal("logout", "--all", "--yes")
        self.assertIn("id_token_hint", screen.text)


class ForgetTests(Logouts):
    def test_forget_erases_the_account(self):
        agent = self.people(WORK, CLIENT)
        self.assertEqual(self.answer("forget", CLIENT["id"]), f"Forgotten: {CLIENT['id']} (a-17).\n")
        self.assertEqual(agent.params("account.forget"), {"account": CLIENT["id"]})
        self.assertNotIn("a-17", self.answer("list"))

    def test_json(self):
        self.people(CLIENT)
        self.assertEqual(json.loads(self.answer("forget", CLIENT["id"], "--json")), {"account": CLIENT["id"]})

    def test_forget_refuses_a_signed_in_account(self):
        agent = self.people(WORK)
        self.assertIn("`lanyard logout work`", self.refused(2, "forget", "work"))
        self.assertNotIn("account.forget", agent.methods())

    def test_without_a_name_a_program_is_refused_and_a_person_asked(self):
        agent = self.people(WORK, CLIENT)
        there = {"LANYARD_ACCOUNT": CLIENT["id"]}
        told = self.refused(2, "forget", environment=there)
        self.assertIn(CLIENT["id"], told)
        self.assertIn("--yes", told)
        self.assertIn("work", self.refused(2, "forget"))
        question = "LANYARD_ACCOUNT is set. [y/N] "
        self.assertEqual(self.on_terminal("forget", environment=there, answers=[(question, "n\n")]).code, 1)
        self.assertIn("is signed in", self.on_terminal("forget").text)
        self.assertNotIn("account.forget", agent.methods())
        self.assertEqual(self.on_terminal("forget", environment=there, answers=[(question, "y\n")]).code, 0)
        self.assertIn("lanyard list", self.refused(1, "forget", "nobody"))

    def test_yes_forgets_without_a_question(self):
        self.people(CLIENT)
        self.answer("forget", "--yes", environment={"LANYARD_ACCOUNT": CLIENT["id"]})
