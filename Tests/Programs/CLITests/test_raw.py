"""rpc, events, completion, help, version, demo."""

import json
import os
import shutil
import socket
import subprocess

from fake_agent import Error, NoAnswer
from people import HOME, WORK, accounts
from person import BINARIES, Person, interrupt


class LostAnswerTests(Person):
    COMMANDS = [
        ["list"], ["list", "--json"], ["rpc", "account.get", '{"account":"work"}'], ["token", "work", "--json"], ["man"],
        ["--version"], ["help", "exit-codes"], ["completion", "bash"], ["status", "--help"], ["exec", "--help"],
        # Those that this program becomes.
        ["export", "--status", "--json"], ["ui", "--no-browser"], ["ui", "--no-browser", "--json"], ["mcp", "--help"],
        ["demo", "--help"],
    ]

    def test_an_answer_that_a_full_disk_does_not_take_is_told(self):
        self.agent(accounts(WORK))
        for words in self.COMMANDS:
            with self.subTest(words), open("/dev/full", "w") as full:
                done = self.writing_to(full, *words)
                self.assertEqual(done.returncode, 1)
                self.assertIn("The answer could not be written: No space left on device", done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                if "--json" in words:
                    self.assertEqual(json.loads(done.stderr)["error"]["name"], "output")

    def test_an_answer_without_a_stdout_is_told(self):
        self.agent(accounts(WORK))
        for words in self.COMMANDS:
            with self.subTest(words):
                done = self.writing_to(None, *words)
                self.assertEqual(done.returncode, 1)
                self.assertIn("The answer could not be written: Bad file descriptor", done.stderr)

    def test_a_reader_that_left_needs_no_words(self):
        self.agent(accounts(WORK))
        reading, writing = os.pipe()
        os.close(reading)
        self.addCleanup(os.close, writing)
        done = self.writing_to(writing, "list")
        self.assertEqual((done.returncode, done.stderr), (1, ""))

    def test_what_failed_before_keeps_its_status(self):
        self.agent({**accounts(WORK), "account.list": Error(1001, "agentLocked")})
        with open("/dev/full", "w") as full:
            self.assertEqual(self.writing_to(full, "list").returncode, 8)

    def test_a_command_without_an_answer_succeeds(self):
        self.agent({**accounts(WORK), "agent.lock": {"locked": True}})
        for words in (["lock"], ["lock", "--quiet"]):
            with self.subTest(words), open("/dev/full", "w") as full:
                done = self.writing_to(full, *words)
                self.assertEqual((done.returncode, done.stderr), (0, ""))


class RPCTests(Person):
    def test_rpc_prints_the_result_alone(self):
        agent = self.agent(accounts(WORK))
        self.assertEqual(json.loads(self.answer("rpc", "account.get", '{"account":"work"}')), WORK)
        self.assertEqual(agent.calls, [("account.get", {"account": "work"})])

    def test_rpc_without_parameters(self):
        agent = self.agent({"agent.lock": {"locked": True}})
        self.assertEqual(json.loads(self.answer("rpc", "agent.lock")), {"locked": True})
        self.assertEqual(agent.calls, [("agent.lock", {})])

    def test_from_stdin_over_several_lines(self):
        agent = self.agent({"agent.unlock": {"locked": False}})
        self.answer("rpc", "agent.unlock", "-", input='{\n  "passphrase": "a b"\r\n}\n')
        self.assertEqual(agent.calls, [("agent.unlock", {"passphrase": "a b"})])

    def test_an_account_option_is_a_parameter(self):
        agent = self.agent(accounts(WORK, HOME))
        self.answer("rpc", "session.get", "-u", "home")
        self.answer("rpc", "token.get", '{"scopes":["a"]}', "-u", "home")
        self.answer("rpc", "account.get", '{"account":"work"}', "-u", "home")
        self.assertEqual(agent.calls, [
            ("session.get", {"account": "home"}), ("token.get", {"account": "home", "scopes": ["a"]}),
            ("account.get", {"account": "work"})])

    def test_an_error_is_json_on_stderr(self):
        agent = self.agent()
        agent.answers["token.get"] = error = Error(2003, "signedOut")
        self.assertEqual(json.loads(self.refused(4, "rpc", "token.get", '{"account":"work"}')), error.body)
        self.assertEqual(json.loads(self.refused(1, "rpc", "no.such"))["code"], -32601)

    def test_invalid_json_is_not_sent(self):
        agent = self.agent()
        for text in ("{", "{'a':1}", "[1,]", "1", '"a"', "null"):
            self.assertIn("Nothing was sent", self.refused(2, "rpc", "agent.status", text))
        self.assertEqual(agent.calls, [])


class SteeringNames(Person):
    """Names come from providers. C1 controls steer a terminal, marks of direction turn a line around, and what is not seen
    disguises a name."""

    NAME = "a\x9b31m\x7f \u202etxet\u2066 \u061cé 名\u200b\u00ad\u3164\U000e0041"
    MARKS = ("\u202e", "\u2066", "\u061c", "\u200b", "\u00ad", "\u3164", "\U000e0041")

    def printed(self, text):
        for control in ("\x9b", "\x7f"):
            self.assertNotIn(control, text)
        self.assertIn("é 名", text)
        return text

    def test_control_characters_are_escaped_in_json(self):
        self.agent(accounts({**WORK, "displayName": self.NAME}))
        for words in (("rpc", "account.get", '{"account":"work"}'), ("list", "--json")):
            text = self.printed(self.answer(*words))
            for mark in self.MARKS:
                self.assertIn(mark, text, "a program reads the names as they are")
            account = json.loads(text)
            account = account["accounts"][0] if "accounts" in account else account
            self.assertEqual(account["displayName"], self.NAME)

    def test_marks_of_direction_are_escaped_in_json_on_a_terminal(self):
        self.agent(accounts({**WORK, "displayName": self.NAME}))
        screen = self.on_terminal("rpc", "account.get", '{"account":"work"}')
        text = self.printed(screen.text)
        for mark in self.MARKS:
            self.assertNotIn(mark, text)
        self.assertEqual(json.loads(text)["displayName"], self.NAME)

    def test_errors_are_escaped_too(self):
        agent = self.agent()
        agent.answers["token.get"] = Error(2003, "signedOut", self.NAME)
        text = self.printed(self.refused(4, "rpc", "token.get", '{"account":"work"}'))
        self.assertEqual(json.loads(text)["message"], self.NAME)


class EventTests(Person):
    def subscribed(self, *events):
        agent = self.agent()

        def subscribe(params, connection):
            connection.send({"jsonrpc": "2.0", "id": len(agent.calls), "result": {
                "subscription": "sub_1", "epoch": "e1", "sequence": 0, "gap": False}})
            for number, (type, account, data) in enumerate(events):
                connection.event(number + 1, type, account, **data)
            raise NoAnswer

        agent.answers["event.subscribe"] = subscribe
        return agent

    def test_events_are_readable_lines(self):
        agent = self.subscribed(
            ("token.refreshed", WORK["id"], {"generation": 8}), ("token.refreshed", HOME["id"], {}),
            ("agent.locked", None, {}))
        agent.answers["account.list"] = {"accounts": [WORK]}
        process = self.start("events")
        self.assertEqual(process.stdout.readline(), "12:00:00  token.refreshed  work  generation=8\n")
        self.assertEqual(process.stdout.readline(), f"12:00:00  token.refreshed  {HOME['id']}\n")
        self.assertEqual(process.stdout.readline(), "12:00:00  agent.locked\n")
        out, err = interrupt(process)
        self.assertEqual((process.returncode, out), (130, ""))

    def test_the_end_of_the_agent_ends_a_watch_that_only_read(self):
        for words in (["events"], ["events", "--json"]):
            with self.subTest(words):
                agent = self.agent({**accounts(WORK), "event.subscribe": {"subscription": "sub_1", "epoch": "e1", "sequence": 0}})
                agent.last = "event.subscribe"
                told = self.refused(3, *words)
                self.assertIn("The agent has ended", told)
                self.assertNotIn("taken effect", told)
                agent.close()

    def test_a_command_that_only_shows_can_not_have_taken_effect(self):
        agent = self.agent(accounts(WORK))

        def hang_up(params, connection):
            connection.stream.shutdown(socket.SHUT_RDWR)

        for method, words in (("account.list", ["list"]), ("agent.lock", ["lock"])):
            with self.subTest(words):
                agent.answers[method] = hang_up
                told = self.refused(3, *words)
                self.assertIn("closed the connection", told)
                self.assertEqual("taken effect" in told, words == ["lock"], told)

    def test_events_json_is_one_object_a_line(self):
        agent = self.subscribed(("agent.locked", None, {}))
        process = self.start("events", "--json", "--type", "agent.locked", "--type", "agent.unlocked", "-u", "work")
        self.assertEqual(json.loads(process.stdout.readline()), {
            "subscription": "sub_1", "epoch": "e1", "sequence": 1, "type": "agent.locked",
            "at": "2030-01-01T12:00:00.000Z", "data": {}})
        interrupt(process)
        self.assertEqual(agent.params("event.subscribe"),
                         {"types": ["agent.locked", "agent.unlocked"], "accounts": ["work"]})

    def test_ends_with_the_agent(self):
        self.agent({"event.subscribe": lambda params, connection: connection.stream.shutdown(2)})
        self.refused(3, "events")


class ProgramTests(Person):
    def test_version(self):
        self.assertRegex(self.answer("--version"), r"^\d+\.\d+\.\d+\n$")

    def test_help(self):
        shown = self.answer("--help")
        for words in ("EXAMPLES", "EXIT CODES", "login", "LANYARD_ACCOUNT", "130  interrupted"):
            self.assertIn(words, shown)
        for command in ("login", "logout", "list", "switch", "status", "token", "provider", "rpc", "events", "completion"):
            self.assertIn("USAGE: lanyard " + command, self.answer(command, "--help"))

    def test_unknown_commands_are_usage(self):
        for words in (["nonsense"], ["--nonsense"], ["list", "extra"], ["completion", "tcsh"], ["rpc"]):
            self.refused(2, *words)

    def test_completion_scripts_are_for_lanyard(self):
        for shell in ("bash", "zsh", "fish"):
            script = self.answer("completion", shell)
            self.assertIn("lanyard", script)
            self.assertNotIn("lanyard-cli", script)
            for command in ("login", "switch", "completion"):
                self.assertIn(command, script)

    def test_bash_takes_the_script_and_completes(self):
        self.agent(accounts(WORK, HOME))
        script = self.answer("completion", "bash")
        path = os.path.join(self.place, "completion")
        with open(path, "w") as file:
            file.write(script)
        complete = (f"source {path}; "
                    'complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; '
                    'COMP_POINT=${#COMP_LINE}; _lanyard lanyard "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"; printf "%s\\n" "${COMPREPLY[@]}"; }; ')
        environment = self.settings({"PATH": f"{BINARIES}:/usr/bin:/bin"})
        for words, expected in (("lanyard sw", ["switch"]), ("lanyard switch h", ["home"]),
                                ("lanyard token w", ["work"])):
            done = subprocess.run(["bash", "-c", f"{complete} complete_words {words}"], env=environment, text=True,
                                  capture_output=True, timeout=20)
            self.assertEqual(done.stdout.split(), expected, done)

    def test_demo_runs_the_companion_program(self):
        for program in ("lanyard", "lanyard-cli"):
            shutil.copy2(os.path.join(BINARIES, program), self.place)
        self.programs = self.place
        self.assertIn("lanyard-demo", self.refused(1, "demo"))
        with open(os.path.join(self.place, "lanyard-demo"), "w") as program:
            program.write('#!/bin/sh\necho "$0 $*"\n')
        os.chmod(os.path.join(self.place, "lanyard-demo"), 0o755)
        shown = self.answer("demo", "provider", "--port", "0", "--json")
        self.assertTrue(shown.endswith("lanyard-demo provider --port 0 --json\n"), shown)
