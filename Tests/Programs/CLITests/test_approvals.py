"""`lanyard approvals`: what waits for a person's yes, and deciding about it in a terminal."""

import json
import threading
import time
import unittest

from fake_agent import Error
from people import WORK
from person import PATIENCE_SECONDS, Person, interrupt
from test_hints import advice
from test_real import MISSING, RealProvider
from waiting_agent import ACCESS, APPROVAL, WaitingAgent

ASKED = "not now? "


class ListTests(Person):
    def waiting(self, *waiting, **options):
        world = WaitingAgent(*waiting, **options)
        self.fake = self.agent(world.answers())
        return world

    def test_a_request_and_a_wish_are_listed(self):
        self.waiting(APPROVAL, ACCESS)
        header, request, wish = self.answer("approvals").splitlines()
        self.assertEqual(header.split(), ["ID", "PROGRAM", "ASKS", "FOR", "ENDS"])
        self.assertRegex(
            request, r"^apr_7k2m  claude +POST https://api\.example/tickets/17\?notify as work \(ticket\.comment\) +in \d+ days$")
        self.assertRegex(
            wish,
            r"^acr_3n8d  claude +https://api\.example with POST; it says: “To comment on the tickets that I close\.” +-$")

    def test_a_terminal_of_80_columns_shows_all_of_it(self):
        self.waiting(APPROVAL, ACCESS)
        lines = self.on_terminal("approvals", environment={"NO_COLOR": "1"}).text.splitlines()
        self.assertLessEqual(max(map(len, lines)), 80)
        joined = " ".join(" ".join(lines).split())
        for word in ("apr_7k2m", "https://api.example/tickets/17?notify", "(ticket.comment)", "acr_3n8d", "close.”"):
            self.assertIn(word, joined)
        self.assertIn("`lanyard approvals allow ID`", joined)

    def test_several_callers_of_one_request_are_told(self):
        self.waiting({**APPROVAL, "waiting": 3})
        self.assertIn("(ticket.comment), 3 times", self.answer("approvals"))

    def test_nothing_waits(self):
        self.waiting()
        done = self.lanyard("approvals")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("Nothing waits for your yes", done.stderr)

    def test_json(self):
        self.waiting(APPROVAL, ACCESS)
        self.assertEqual(json.loads(self.answer("approvals", "--json")), {"approvals": [APPROVAL], "requests": [ACCESS]})

    def test_what_a_program_chose_moves_no_cursor_and_turns_no_line(self):
        hostile = "\x1b[2J\x1b[1;1Hallowed\u202eno\u2066\u200b\nOK"
        self.waiting(
            {**APPROVAL, "client": "clau" + hostile, "url": "https://api.example/" + hostile},
            {**ACCESS, "reason": hostile, "origins": ["https://api.example/" + hostile]})
        shown = self.answer("approvals") + self.on_terminal("approvals", "list", environment={"NO_COLOR": "1"}).text
        for character in "\x1b\u202e\u2066\u200b":
            self.assertNotIn(character, shown)
        self.assertNotRegex(shown, "(?m)^OK")

    def test_the_words_of_a_program_stay_in_their_quotation(self):
        self.waiting({**ACCESS, "reason": "To read.”" + 60 * " " + 9 * "\u00a0" + "acr_3n8d: trusted by “lanyard"})
        self.assertIn('it says: “To read." acr_3n8d: trusted by "lanyard”', self.answer("approvals"))

    def test_under_a_grant_nothing_is_decided(self):
        refusal = Error(1007, "notPermitted", "The grant does not cover this.")
        self.agent({"approval.list": refusal, "access.list": refusal})
        self.assertIn("The grant does not cover this.", self.refused(6, "approvals"))


class DecideTests(Person):
    waiting = ListTests.waiting

    def test_what_waits_is_allowed_by_the_command_that_is_told(self):
        world = self.waiting(APPROVAL)
        self.assertIn("Allowed once.", self.answer("approvals", "allow", "apr_7k2m"))
        self.assertEqual(world.decided, [{"approval": "apr_7k2m", "verdict": "once"}])

    def test_for_the_session(self):
        world = self.waiting(APPROVAL)
        told = self.answer("approvals", "allow", "apr_7k2m", "--session")
        self.assertIn("Allowed, and such requests of this account too, until", told)
        self.assertEqual(world.decided, [{"approval": "apr_7k2m", "verdict": "session"}])

    def test_what_waits_is_denied(self):
        world = self.waiting(APPROVAL, ACCESS)
        self.assertIn("not asked again for a minute", self.answer("approvals", "deny", "apr_7k2m"))
        self.assertIn("The grant stays as it is", self.answer("approvals", "deny", "acr_3n8d"))
        self.assertEqual([each["verdict"] for each in world.decided], ["deny", "deny"])

    def test_more_access_for_a_while(self):
        world = self.waiting(ACCESS)
        self.assertIn("Allowed for 8 hours", self.answer("approvals", "allow", "acr_3n8d", "--expires", "8h"))
        self.assertEqual(world.decided, [{"request": "acr_3n8d", "verdict": "allow", "expiresInSeconds": 28800}])

    def test_an_option_of_the_other_kind_decides_nothing(self):
        world = self.waiting(APPROVAL, ACCESS)
        self.assertIn("Leave out --expires", self.refused(2, "approvals", "allow", "apr_7k2m", "--expires", "8h"))
        self.assertIn("Give --expires", self.refused(2, "approvals", "allow", "acr_3n8d", "--session"))
        self.assertIn("--expires is a duration", self.refused(2, "approvals", "allow", "acr_3n8d", "--expires", "soon"))
        self.assertEqual(world.decided, [])

    def test_an_id_that_is_not_whole_decides_nothing(self):
        world = self.waiting(APPROVAL, ACCESS)
        for verdict in ("allow", "deny"):
            told = self.refused(2, "approvals", verdict, "apr_7")
            self.assertEqual(told, "lanyard: apr_7 is not a whole id. Nothing was decided.\n  Did you mean apr_7k2m?\n")
        self.assertEqual(world.decided, [])

    def test_more_access_that_the_provider_does_not_list_still_waits(self):
        world = self.waiting(ACCESS)
        self.fake.answers["access.decide"] = Error(6001, "originNotAllowed", account=WORK["id"])
        self.fake.answers["provider.get"] = {"name": "idp", "allowedOrigins": ["https://other.example"]}
        told = self.refused(1, "approvals", "allow", "acr_3n8d")
        self.assertIn("does not list https://api.example, so nothing was allowed, and the wish still waits.", told)
        self.assertEqual(advice(told), [
            "lanyard provider update idp --allowed-origin https://other.example --allowed-origin https://api.example"])
        self.assertEqual(world.decided, [])

    def test_what_is_over_says_so(self):
        world = self.waiting(APPROVAL)
        self.assertIn("does not wait any more", self.refused(1, "approvals", "allow", "apr_none"))
        # Decided by another program between the list and the verdict.
        self.fake.answers["approval.decide"] = Error(6003, "notFound", "There is no such approval.", kind="approval")
        told = self.refused(1, "approvals", "allow", "apr_7k2m")
        self.assertIn("apr_7k2m does not wait any more", told)
        self.assertIn("`lanyard approvals` shows what waits", told)
        self.assertEqual(world.decided, [])

    def test_a_step_up_is_asked_for_on_a_terminal_and_named_elsewhere(self):
        world = self.waiting(APPROVAL, step_up=True)
        self.assertIn("lanyard step-up", self.refused(7, "approvals", "allow", "apr_7k2m"))
        self.assertEqual(world.decided, [])
        screen = self.on_terminal("approvals", "allow", "apr_7k2m", answers=[("PIN (not shown): ", "2468\n")])
        self.assertEqual(screen.code, 0, screen.text)
        self.assertIn("that it is you", screen.text)
        self.assertNotIn("2468", screen.text)
        self.assertEqual(self.fake.params("stepUp.verify"), {"account": WORK["id"], "pin": "2468", "durationSeconds": 60})
        self.assertEqual(world.decided, [{"approval": "apr_7k2m", "verdict": "once"}])

    def test_a_step_up_in_the_agents_own_prompt(self):
        world = self.waiting(APPROVAL, step_up=True)
        self.answer("approvals", "allow", "apr_7k2m", "--pinentry")
        self.assertEqual(
            self.fake.params("stepUp.verify"), {"account": WORK["id"], "prompt": "pinentry", "durationSeconds": 60})
        self.assertEqual(world.decided, [{"approval": "apr_7k2m", "verdict": "once"}])

    def test_json(self):
        self.waiting(APPROVAL)
        self.assertEqual(
            json.loads(self.answer("approvals", "allow", "apr_7k2m", "--json")),
            {"approval": "apr_7k2m", "verdict": "once", "account": WORK["id"]})


class WatchTests(Person):
    waiting = ListTests.waiting

    def until(self, condition):
        end = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def watch(self, world, *steps):
        """On a terminal; `steps` are (what to wait for, what to type or do); the last is Ctrl-C."""
        typed = [(cue, step if isinstance(step, str) else lambda _, step=step: step() or "") for cue, step in steps]
        done = self.on_terminal("approvals", "--watch", answers=typed)
        self.assertEqual(done.code, 130, done.text)
        return done.text

    def test_watch_asks_about_each_as_it_comes(self):
        world = self.waiting(APPROVAL)
        second = {**APPROVAL, "approval": "apr_second", "method": "DELETE"}

        def third():
            world.comes({**APPROVAL, "approval": "apr_third"})
        shown = self.watch(
            world, (ASKED, "o\n"), ("Allowed once.", lambda: world.comes(second)), ("DELETE", ""), (ASKED, "s\n"),
            ("and such requests of this account too", third), (ASKED, "d\n"), ("Denied.", "\x03"))
        self.assertEqual([each["verdict"] for each in world.decided], ["once", "session", "deny"])
        self.assertIn("POST https://api.example/tickets/17?notify as work (ticket.comment)", shown)

    def test_of_two_the_one_that_is_asked_about_is_shown_above_its_question(self):
        world = self.waiting(APPROVAL)
        second = {**APPROVAL, "approval": "apr_second", "method": "DELETE"}
        shown = self.watch(
            world, ("POST https", ""), (ASKED, lambda: world.comes(second)), ("apr_second of claude waits too.", ""),
            (ASKED, "d\n"), ("DELETE https", ""), (ASKED, "d\n"), ("Denied.", "\x03"))
        self.assertEqual([each["approval"] for each in world.decided], ["apr_7k2m", "apr_second"])
        self.assertLess(shown.index("waits too"), shown.index("DELETE https"))

    def test_more_access_for_a_time_or_as_long_as_the_grant(self):
        world = self.waiting(ACCESS)
        another = {**ACCESS, "request": "acr_second"}
        self.watch(
            world, ("it says: “To comment", ""), (ASKED, "8h\n"), ("Allowed for", lambda: world.comes(another)),
            (ASKED, "a\n"), ("until the grant ends", "\x03"))
        self.assertEqual([each.get("expiresInSeconds") for each in world.decided], [28800, None])

    def test_not_now_leaves_it_waiting(self):
        world = self.waiting(APPROVAL)
        shown = self.watch(world, (ASKED, "n\n"), ("`lanyard approvals allow apr_7k2m`", "\x03"))
        self.assertEqual(world.decided, [])
        self.assertEqual(shown.count(ASKED), 1)

    def test_what_is_no_answer_is_asked_again(self):
        world = self.waiting(APPROVAL)
        self.watch(world, (ASKED, "\n"), (ASKED, "yes\n"), (ASKED, "o\n"), ("Allowed once.", "\x03"))
        self.assertEqual([each["verdict"] for each in world.decided], ["once"])

    def test_a_decision_elsewhere_takes_the_question_away(self):
        world = self.waiting(APPROVAL)
        shown = self.watch(
            world, (ASKED, lambda: world.goes(APPROVAL, outcome="decided", verdict="once")),
            ("apr_7k2m is over: allowed once", "o\n\x03"))
        self.assertEqual(world.decided, [])
        self.assertNotIn("Allowed once.", shown)

    def test_what_was_typed_before_the_question_decides_nothing(self):
        world = self.waiting()
        started = threading.Event()

        def later():
            started.wait(PATIENCE_SECONDS)
            time.sleep(0.3)
            world.comes(APPROVAL)
        threading.Thread(target=later, daemon=True).start()
        # Typed while nothing waits, as into a shell.
        self.watch(world, ("Ctrl-C ends this.", lambda: started.set() or "o\n"), (ASKED, lambda: time.sleep(0.3) or "\x03"))
        self.assertEqual(world.decided, [])

    def test_a_step_up_is_asked_for(self):
        world = self.waiting({**APPROVAL, "stepUp": "pin"}, step_up=True)
        shown = self.watch(
            world, ("A yes needs your PIN", ""), (ASKED, "o\n"), ("PIN (not shown): ", "1111\n"),
            ("The PIN is wrong.", ""), (ASKED, "o\n"), ("PIN (not shown): ", "2468\n"), ("Allowed once.", "\x03"))
        self.assertEqual(world.decided, [{"approval": "apr_7k2m", "verdict": "once"}])
        self.assertNotIn("2468", shown)

    def test_the_end_of_the_input_ends_the_questions_only(self):
        world = self.waiting(APPROVAL)
        self.watch(
            world, (ASKED, "\x04"), ("", lambda: world.goes(APPROVAL, outcome="timedOut")),
            ("no answer came in time", "\x03"))
        self.assertEqual(world.decided, [])

    def test_the_list_may_be_ahead_of_what_became_of_one(self):
        world = self.waiting(APPROVAL)

        def goes():
            gone, world.approvals = world.approvals, []
            # Another event has the list read before the end of this one is told.
            world.tell("account.renamed", APPROVAL["account"])
            time.sleep(0.1)
            world.approvals = gone
            world.goes(APPROVAL, outcome="withdrawn")
        self.watch(world, (ASKED, goes), ("given up by the program", "\x03"))

    def test_without_a_terminal_it_only_shows(self):
        world = self.waiting(APPROVAL)
        process = self.start("approvals", "--watch")
        self.assertEqual(process.stdout.readline(), "claude wants to send this request:\n")
        self.assertIn("tickets/17", process.stdout.readline())
        self.assertIn("apr_7k2m", process.stdout.readline())
        self.until(lambda: world.subscribed)
        world.comes(ACCESS)
        self.assertIn("asks for more than its grant covers", process.stdout.readline())
        self.assertIn("https://api.example with POST", process.stdout.readline())
        self.assertIn("acr_3n8d", process.stdout.readline())
        world.goes(APPROVAL, outcome="withdrawn")
        self.assertIn("apr_7k2m is over: given up by the program", process.stdout.readline())
        out, err = interrupt(process)
        self.assertEqual((process.returncode, out), (130, ""))
        self.assertNotIn(ASKED, err)
        self.assertEqual(world.decided, [])

    def test_a_vault_that_is_locked_meanwhile_ends_nothing(self):
        world = self.waiting(APPROVAL)
        process = self.start("approvals", "--watch")
        for _ in range(3):
            process.stdout.readline()
        self.until(lambda: world.subscribed)
        unlocked = self.fake.answers["approval.list"]
        self.fake.answers["approval.list"] = Error(1001, "agentLocked", "The vault is locked.")
        world.tell("approval.decided", WORK["id"], approval="apr_7k2m", outcome="locked")
        world.tell("agent.locked")
        self.assertIn("is over: the vault was locked", process.stdout.readline())
        self.fake.answers["approval.list"] = unlocked
        world.tell("agent.unlocked")
        self.assertIn("wants to send this request", process.stdout.readline())
        _, err = interrupt(process)
        self.assertIn("`lanyard unlock`", err)

    def test_json_is_a_line_after_each_change(self):
        world = self.waiting()
        process = self.start("approvals", "--watch", "--json")
        self.assertEqual(json.loads(process.stdout.readline()), {"approvals": [], "requests": []})
        self.until(lambda: world.subscribed)
        world.tell("token.refreshed", WORK["id"])
        world.comes(APPROVAL)
        self.assertEqual(json.loads(process.stdout.readline()), {"approvals": [APPROVAL], "requests": []})
        interrupt(process)
        self.assertEqual(process.returncode, 130)

    def test_it_sleeps_while_nothing_happens(self):
        world = self.waiting(APPROVAL)
        process = self.start("approvals", "--watch")
        for _ in range(3):
            process.stdout.readline()
        calls = len(self.fake.calls)
        with open(f"/proc/{process.pid}/schedstat", encoding="ascii") as file:
            before = int(file.read().split()[2])
        time.sleep(1.5)
        with open(f"/proc/{process.pid}/schedstat", encoding="ascii") as file:
            self.assertLessEqual(int(file.read().split()[2]) - before, 2)
        self.assertEqual(len(self.fake.calls), calls)
        interrupt(process)


class RefusalTests(Person):
    """A request without a person's yes."""

    def refusal(self, reason):
        self.agent({"request.send": Error(
            4001, "denied", "The policy denies this: data.decision says why.", reason=reason, account=WORK["id"])})
        return self.refused(6, "request", "POST", "https://api.example/tickets/17", "-d", "x", "-u", "work")

    def test_without_an_answer_in_time(self):
        told = self.refusal("notApproved")
        self.assertIn("needs a person's yes, and none came in time. It was not sent, or", told)
        self.assertIn("`lanyard approvals --watch`", told)

    def test_a_no(self):
        told = self.refusal("declined")
        self.assertIn("A person said no to this request. It was not sent, or its redirect was not followed.", told)
        self.assertIn("refused for a minute", told)


@unittest.skipIf(MISSING, f"not built: {', '.join(MISSING)}")
class RealApprovalTests(RealProvider):
    """The real agent: a program under an AI agent's grant waits for a person in a terminal."""

    def setUp(self):
        super().setUp()
        self.answer("provider", "add", "idp", "--issuer", self.issuer, "--client-id", "lanyard-demo", "-s", "openid",
                    "-s", "offline_access", "--allowed-origin", self.issuer)
        self.sign_in("alice", "--alias", "work")
        self.version = 0
        self.approve(waitSeconds=15)
        self.grant = f"{self.home}/claude.grant"
        self.answer("grant", "create", "claude", "--agent", "-u", "work", "--to", self.grant, "--quiet")

    def approve(self, stepUp=None, **approve):
        """Reading who the person is needs a yes."""
        self.version += 1
        capability = {
            "kind": "read", "requests": [{"origin": self.issuer, "methods": ["GET"], "path": "/userinfo"}],
            "approve": approve, **({"stepUp": stepUp} if stepUp else {})}
        path = f"{self.work}/policy.json"
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"name": "careful", "version": self.version, "capabilities": {"who.read": capability}}, file)
        done = self.lanyard("policy", "set", path, "--provider", "idp")
        self.assertEqual(done.returncode, 0, done)

    def ask(self):
        return self.start("request", "GET", f"{self.issuer}/userinfo", "-u", "work",
                          environment={"LANYARD_GRANT_FILE": self.grant})

    def waiting(self, count=1):
        """What waits, once that is so many."""
        end = time.monotonic() + PATIENCE_SECONDS
        while len(found := json.loads(self.answer("approvals", "--json"))["approvals"]) != count:
            self.assertLess(time.monotonic(), end, found)
            time.sleep(0.05)
        return found

    def end(self, process, code):
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual(process.returncode, code, err)
        return out, err

    def test_a_yes_sends_the_request_and_a_no_does_not(self):
        process = self.ask()
        [found] = self.waiting()
        self.assertEqual((found["client"], found["capability"], found["method"]), ("claude", "who.read", "GET"))
        self.answer("approvals", "allow", found["approval"])
        self.assertIn('"sub":"alice-acme"', self.end(process, 0)[0].replace(" ", ""))
        # Once is once.
        process = self.ask()
        [found] = self.waiting()
        self.answer("approvals", "deny", found["approval"])
        self.assertIn("A person said no to this request. It was not sent, or its redirect was not followed.", self.end(process, 6)[1])
        self.assertIn("A person said no", self.end(self.ask(), 6)[1])
        self.waiting(0)
        self.assertIn("does not wait any more", self.refused(1, "approvals", "allow", found["approval"]))

    def test_for_the_session_the_next_one_is_not_asked_about(self):
        process = self.ask()
        self.answer("approvals", "allow", self.waiting()[0]["approval"], "--session")
        self.end(process, 0)
        self.end(self.ask(), 0)

    def test_nobody_decides_in_time(self):
        self.approve(waitSeconds=1)
        self.assertIn("none came in time. It was not sent, or", self.end(self.ask(), 6)[1])
        self.waiting(0)

    def test_a_program_that_ends_withdraws_its_request(self):
        process = self.ask()
        self.waiting()
        interrupt(process)
        self.assertEqual(process.returncode, 130)
        self.waiting(0)

    def test_the_end_of_the_grant_ends_the_wait(self):
        process = self.ask()
        [found] = self.waiting()
        self.answer("grant", "revoke", found["grant"])
        self.end(process, 6)
        self.waiting(0)

    def test_a_person_at_the_watch_decides(self):
        asked = []

        def begin(_):
            asked.append(self.ask())
            return ""
        screen = self.on_terminal("approvals", "--watch", answers=[
            ("Ctrl-C ends this.", begin), ("wants to send this request", ""), ("/userinfo as work (who.read)", ""),
            (ASKED, "o\n"), ("Allowed once.", lambda _: self.end(asked[0], 0) and ""), ("", "\x03")])
        self.assertEqual(screen.code, 130, screen.text)

    def test_a_step_up_that_the_capability_wants(self):
        self.answer("step-up", "work", "--enroll", input="2468\n")
        self.answer("step-up", "work", "--clear")
        self.approve(waitSeconds=15, stepUp={"method": "pin", "maxAgeSeconds": 60})
        process = self.ask()
        [found] = self.waiting()
        self.assertIn("`lanyard step-up", self.refused(7, "approvals", "allow", found["approval"]))
        screen = self.on_terminal(
            "approvals", "allow", found["approval"], answers=[("PIN (not shown): ", "2468\n")])
        self.assertEqual(screen.code, 0, screen.text)
        self.end(process, 0)


if __name__ == "__main__":
    unittest.main()
