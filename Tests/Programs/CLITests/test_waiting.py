"""A person who waits for more than two seconds is told for whom; a program, and a quick answer, see nothing of it."""

import os
import re
import shutil
import time
import unittest

from fake_agent import Error, NoAnswer
from people import AGENT, TOKEN, WORK, accounts
from person import BINARIES, Person, interrupt

LINE = re.compile(r"\r\x1b\[Kwaiting for ([^…]*)… (\d+) s")
CLEARED = "\r\x1b[K"


def late(seconds, answer):
    """An answer that takes its time."""
    def answers(params, connection):
        time.sleep(seconds)
        return answer(params, connection) if callable(answer) else answer
    return answers


class WaitingTests(Person):
    SECONDS = 4.2

    def waits(self, *words, method, answer, subject, **answers):
        agent = self.agent({**accounts(WORK), **answers, method: late(self.SECONDS, answer)})
        screen = self.on_terminal(*words)
        agent.close()
        self.assertEqual(screen.code, 0, screen.text)
        told = LINE.findall(screen.text)
        self.assertEqual({name for name, _ in told}, {subject}, screen.text)
        # From the third second on, each second once.
        self.assertEqual([int(seconds) for _, seconds in told], [2, 3, 4])
        # What follows the line is what takes it away.
        rest = LINE.split(screen.text)[-1]
        self.assertTrue(rest.startswith(CLEARED), screen.text)
        self.assertNotIn("waiting for", rest)
        return rest[len(CLEARED):]

    def test_a_token_in_both_ways(self):
        for words in (["token", "work"], ["token", "-u", "work", "--timeout", "30"], ["token"]):
            with self.subTest(words):
                self.assertEqual(
                    self.waits(*words, method="token.get", answer=TOKEN, subject="idp"), TOKEN["accessToken"] + "\n")

    def test_other_commands_name_the_provider_the_server_or_the_agent(self):
        findings = {"findings": [{"check": "discovery", "severity": "ok", "message": "It answers.", "remedies": []}]}
        for words, method, answer, subject in (
            (["provider", "test", "corp"], "provider.test", findings, "corp"),
            (["request", "GET", "https://api.example/orders"], "request.send",
             {"status": 200, "headers": {}, "body": "ok", "attempts": 1, "refreshed": False, "account": WORK["id"]},
             "api.example"),
            (["request", "GET", "https://alice:secret@API.example/orders"], "request.send",
             {"status": 200, "headers": {}, "body": "ok", "attempts": 1, "refreshed": False, "account": WORK["id"]},
             "api.example"),
            (["logout", "work"], "account.signOut", {"account": WORK["id"], "mode": "soft", "data": "sealed"}, "idp"),
            (["provider", "add", "corp", "--issuer", "https://Slow.example/idp", "--client-id", "c"], "provider.add",
             {"provider": {"name": "corp", "issuer": "https://slow.example/idp"}}, "slow.example"),
            (["status"], "agent.status", AGENT, "the agent"),
        ):
            with self.subTest(words):
                self.assertTrue(self.waits(*words, method=method, answer=answer, subject=subject))

    def test_a_request_under_a_grant_may_wait_for_a_yes(self):
        grant = os.path.join(self.place, "grant")
        with open(grant, "w", encoding="utf-8") as file:
            file.write("not-a-real-grant\n")
        os.chmod(grant, 0o600)
        self.environment["LANYARD_GRANT_FILE"] = grant
        answer = {"status": 200, "headers": {}, "body": "ok", "attempts": 1, "refreshed": False, "account": WORK["id"]}
        self.waits("request", "POST", "https://api.example/orders", method="request.send", answer=answer,
                   subject="api.example or a yes (`lanyard approvals`)", **{"agent.hello": {}})

    def test_a_quick_answer_shows_no_line(self):
        self.agent({**accounts(WORK), "token.get": late(1.2, TOKEN)})
        self.assertEqual(self.on_terminal("token", "work").text, TOKEN["accessToken"] + "\n")

    def test_a_pipe_json_in_a_pipe_and_quiet_show_no_line(self):
        self.agent({**accounts(WORK), "token.get": late(3.2, TOKEN)})
        self.assertEqual(self.answer("token", "work"), TOKEN["accessToken"] + "\n")
        self.assertEqual(self.on_terminal("token", "work", "--quiet").text, TOKEN["accessToken"] + "\n")

    def test_an_interrupted_wait_ends_at_once(self):
        self.agent({**accounts(WORK), "token.get": late(10, TOKEN)})
        began = time.monotonic()
        process = self.start("token", "work")
        time.sleep(0.5)
        interrupt(process)
        self.assertEqual(process.returncode, 130)
        self.assertLess(time.monotonic() - began, 3)


@unittest.skipUnless(os.path.exists(os.path.join(BINARIES, "lanyard-export")), "not built: lanyard-export")
class StartTests(Person):
    """An agent that takes seconds to start, and then does not."""

    def setUp(self):
        super().setUp()
        self.programs = os.path.join(self.place, "bin")
        os.mkdir(self.programs)
        for name in ("lanyard", "lanyard-cli", "lanyard-export"):
            shutil.copy2(os.path.join(BINARIES, name), self.programs)
        agent = os.path.join(self.programs, "lanyard-agent")
        with open(agent, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nsleep 3.2\nexit 70\n")
        os.chmod(agent, 0o700)
        self.environment.pop("LANYARD_NO_START")
        os.makedirs(os.path.join(self.home, ".local", "state", "lanyard"), mode=0o700)

    def test_a_person_is_told_of_a_long_start(self):
        told = LINE.findall(self.on_terminal("list").text)
        self.assertEqual(told, [("the agent", "2"), ("the agent", "3")])

    def test_a_program_beside_the_commands_tells_nothing_of_it(self):
        screen = self.on_terminal("export", "otlp", "http://127.0.0.1:1/v1/logs", "--once")
        self.assertIn("none could be started", screen.text)
        self.assertNotIn("waiting for", screen.text)


class TimeoutTests(Person):
    def test_the_agent_gets_the_bound(self):
        agent = self.agent(accounts(WORK))
        for words in (["token", "work", "--timeout", "7"], ["token", "--timeout=7", "work"], ["token", "--id", "--timeout", "7"]):
            self.answer(*words)
            method = "identity.get" if "--id" in words else "token.get"
            self.assertEqual(agent.params(method)["timeoutSeconds"], 7)
        self.answer("token", "work")
        self.assertNotIn("timeoutSeconds", agent.params("token.get"))

    def test_a_bound_that_ran_out_is_worth_another_try(self):
        agent = self.agent(accounts(WORK))
        agent.answers["token.get"] = Error(1006, "timedOut", account=WORK["id"], retryable=True)
        self.assertEqual(self.refused(5, "token", "--timeout", "2"),
                         "lanyard: The provider did not answer within 2 s. The agent goes on waiting: ask again.\n")
        self.assertIn("There is no token yet.", self.refused(5, "token", "--timeout", "0"))
        self.refused(5, "token", "--json")

    def test_a_request_that_may_have_had_its_effect_is_not(self):
        agent = self.agent(accounts(WORK))
        for outcome, retryable, code in (("unknown", True, 1), ("unknown", False, 1), ("notSent", True, 5)):
            with self.subTest(outcome=outcome, retryable=retryable):
                agent.answers["request.send"] = Error(1006, "timedOut", retryable=retryable, outcome=outcome)
                self.refused(code, "request", "GET", "https://api.example/orders")

    def test_a_bound_that_is_none_is_refused(self):
        for bound in ("-1", "x", "3601", "1.5"):
            self.refused(2, "token", "work", "--timeout", bound)

    def test_an_agent_that_says_nothing_is_given_up(self):
        def silent(params, connection):
            raise NoAnswer
        self.agent({**accounts(WORK), "token.get": silent})
        began = time.monotonic()
        self.assertIn("did not answer in time", self.refused(3, "token", "work", "--timeout", "1"))
        # Ten seconds more than the agent was given, and without --timeout more than it waits for a provider.
        self.assertLess(time.monotonic() - began, 15)


if __name__ == "__main__":
    unittest.main()
