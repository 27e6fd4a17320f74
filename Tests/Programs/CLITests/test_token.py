"""`lanyard token`, and the exit code of every error of the agent."""

import json
import os
import subprocess
import sys
import time
import unittest

from fake_agent import Error, NoAnswer
from people import TOKEN, WORK, accounts
from person import PATIENCE_SECONDS, Person, interrupt


class TokenTests(Person):
    def test_prints_the_token_alone(self):
        self.agent(accounts(WORK))
        self.assertEqual(self.answer("token"), "not-a-real-access-token\n")
        self.assertEqual(self.answer("token", "work"), "not-a-real-access-token\n")

    def test_options_become_parameters(self):
        agent = self.agent(accounts(WORK))
        self.answer("token", "work", "-t", "60", "-s", "mail.read", "-s", "mail.send files.read", "--aud", "https://m.example")
        self.assertEqual(agent.calls, [("token.get", {
            "account": "work", "minimumLifetimeSeconds": 60, "scopes": ["mail.read", "mail.send", "files.read"],
            "resource": "https://m.example"})])

    def test_one_token_needs_one_request(self):
        agent = self.agent(accounts(WORK))
        self.answer("token")
        self.assertEqual(agent.calls, [("token.get", {"account": "@active"})])

    def test_force_calls_token_refresh(self):
        agent = self.agent(accounts(WORK))
        self.assertEqual(self.answer("token", "-f"), "a-new-token\n")
        self.assertEqual(agent.methods(), ["token.refresh"])

    def test_id_prints_the_id_token_alone(self):
        agent = self.agent(accounts(WORK))
        self.assertEqual(self.answer("token", "--id"), "not-a-real-id-token\n")
        self.assertEqual(self.answer("token", "work", "--id", "-t", "60"), "not-a-real-id-token\n")
        self.assertEqual(agent.calls, [
            ("identity.get", {"account": "@active"}),
            ("identity.get", {"account": "work", "minimumLifetimeSeconds": 60})])
        self.assertEqual(json.loads(self.answer("token", "--id", "--json"))["audience"], ["lanyard-demo"])

    def test_id_goes_with_no_scope_resource_and_force(self):
        agent = self.agent(accounts(WORK))
        for words in (["-s", "mail.read"], ["--aud", "https://m.example"], ["-f"]):
            self.assertIn("--id without", self.refused(2, "token", "--id", *words))
        self.assertEqual(agent.calls, [])

    def test_long_spellings_and_equals_signs_mean_the_same(self):
        agent = self.agent(accounts(WORK))
        for words in (["--minimum-lifetime", "5", "--force", "--account", "work"],
                      ["--minimum-lifetime=5", "--force", "--account=work"]):
            self.answer("token", *words)
            self.assertEqual(agent.calls[-1], ("token.refresh", {"account": "work", "minimumLifetimeSeconds": 5}))

    def test_json_is_the_whole_answer_on_one_line(self):
        self.agent(accounts(WORK))
        out = self.answer("token", "--json")
        self.assertEqual(json.loads(out), TOKEN)
        self.assertEqual(out.count("\n"), 1)

    def test_an_escaped_token_is_printed_unescaped(self):
        self.agent({"token.get": {**TOKEN, "accessToken": 'a"b\\c\u00e9/'}})
        self.assertEqual(self.answer("token"), 'a"b\\c\u00e9/\n')

    def test_a_long_token_arrives_whole(self):
        self.agent({"token.get": {**TOKEN, "accessToken": "x" * 200_000}})
        self.assertEqual(self.answer("token"), "x" * 200_000 + "\n")

    def test_mistakes_are_usage(self):
        self.agent(accounts(WORK))
        for words in (["-t", "soon"], ["-t", "-5"], ["-t"], ["one", "two"], ["--nonsense"], ["-s"]):
            told = self.refused(2, "token", *words).splitlines()
            self.assertTrue(told[0].startswith("lanyard: "), told)
            self.assertEqual(told[1:], ["  `lanyard help token` shows how to use it."])

    def test_two_names_that_disagree_are_usage(self):
        agent = self.agent(accounts(WORK))
        self.assertIn("Two accounts", self.refused(2, "token", "work", "-u", "home"))
        self.assertEqual(agent.calls, [])
        self.answer("token", "work", "-u", "work")

    def test_help_is_an_answer(self):
        done = self.lanyard("token", "--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("EXAMPLES", done.stdout)

    def test_a_reader_that_left_is_an_error_not_a_signal(self):
        self.agent(accounts(WORK))
        with open("/dev/full", "w") as full:
            process = self.start("token")
            process.communicate(timeout=PATIENCE_SECONDS)
            done = subprocess.run(self.command(["token"]), env=self.settings({}), cwd=self.work, stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=PATIENCE_SECONDS)
        self.assertEqual(done.returncode, 1)
        self.assertIn("could not be written", done.stderr)

    def test_ctrl_c_ends_with_130(self):
        agent = self.agent({"token.get": lambda params, connection: time.sleep(60)})
        process = self.start("token")
        while not agent.calls:
            time.sleep(0.01)
        out, _ = interrupt(process)
        self.assertEqual((process.returncode, out), (130, ""))


class FailureTests(Person):
    """docs/protocol.md, Programs: each exit status means one thing to a script."""

    CODES = {
        3: [(1002, "shuttingDown"), (1005, "unsupportedProtocol")],
        4: [(2003, "signedOut"), (2004, "reauthenticationRequired"), (2005, "interactionRequired"),
            (2007, "signInFailed")],
        5: [(3001, "offline"), (3002, "providerUnavailable")],
        6: [(4001, "denied"), (1007, "notPermitted")],
        7: [(4002, "stepUpRequired"), (4003, "stepUpFailed"), (4004, "stepUpThrottled")],
        8: [(1001, "agentLocked"), (2008, "dataLocked"), (1008, "unlockFailed")],
        2: [(-32602, "invalidParams")],
        1: [(1003, "overloaded"), (1006, "timedOut"), (2001, "accountNotFound"), (2002, "accountAmbiguous"),
            (2006, "accountLocked"), (3003, "providerMisconfigured"), (3004, "untrustedServer"), (3005, "providerNotFound"), (4005, "policyInvalid"), (5001, "storeUnavailable"),
            (5002, "integrity"), (5003, "rolledBack"), (6001, "originNotAllowed"), (6003, "notFound"),
            (-32601, "methodNotFound")],
    }

    def test_a_server_that_is_not_trusted_is_not_worth_another_try(self):
        agent = self.agent()
        for reason, shown in [("pinMismatch", "pin mismatch"), ("unknownAuthority", "unknown authority"),
                              ("wrongName", "wrong name"), ("expired", "expired"), ("tls", "tls")]:
            with self.subTest(reason):
                agent.answers["token.get"] = Error(3004, "untrustedServer", "It is not the server.", reason=reason)
                told = self.refused(1, "token")
                self.assertIn("It is not the server.", told)
                self.assertIn(f"Reason: {shown}.", told)
                self.assertEqual("in a browser" in told, reason in ("unknownAuthority", "wrongName"))

    def test_every_error_has_its_exit_code(self):
        agent = self.agent()
        for exit_code, errors in self.CODES.items():
            for code, name in errors:
                with self.subTest(name):
                    agent.answers["token.get"] = Error(code, name, "Something happened; nothing was lost.")
                    words = self.refused(exit_code, "token")
                    if code != -32601:
                        self.assertIn("lanyard: Something happened; nothing was lost.", words)

    def test_a_shorter_life_than_asked_for_is_told(self):
        agent = self.agent(accounts(WORK))
        done = self.lanyard("token", "-t", "600")
        self.assertEqual((done.returncode, done.stdout), (0, "not-a-real-access-token\n"))
        self.assertIn("valid for 300 s, not for 600 s", done.stderr)
        self.answer("token", "-t", "300")
        agent.answers["token.get"] = {"accessToken": "t"}
        self.answer("token", "-t", "600")

    def test_an_error_has_hints(self):
        agent = self.agent()
        agent.answers["token.get"] = Error(
            2004, "reauthenticationRequired", "The provider revoked the session.", account=WORK["id"],
            reason="revoked", remedies=["reauthenticate"], retryAfterMs=1500)
        words = self.refused(4, "token")
        self.assertIn("Reason: revoked.", words)
        self.assertEqual(words.count(f"lanyard login --account {WORK['id']}"), 1)
        self.assertIn("Try again in 2 s", words)

    def test_a_wait_that_nobody_notices_is_not_told(self):
        agent = self.agent()
        agent.answers["token.get"] = Error(3001, "offline", "No network.", account=WORK["id"], retryAfterMs=1000)
        self.assertNotIn("Try again in", self.refused(5, "token"))

    def test_an_agent_that_does_not_know_the_method_is_told_plainly(self):
        self.agent()
        told = self.refused(1, "token")
        self.assertIn("does not know this command", told)
        self.assertNotIn("token.get", told)

    def test_control_characters_of_the_agent_are_replaced(self):
        agent = self.agent()
        agent.answers["token.get"] = Error(3001, "offline", "gone\x1b[2J\u202eaway\n next")
        words = self.refused(5, "token")
        self.assertNotIn("\x1b", words)
        self.assertNotIn("\u202e", words)
        self.assertEqual(words.splitlines()[0], "lanyard: gone\ufffd[2J\ufffdaway\ufffd next")

    def test_an_agent_that_disconnects_exits_with_3(self):
        self.agent({"token.get": lambda params, connection: connection.stream.shutdown(2)})
        self.assertIn("closed the connection", self.refused(3, "token"))

    def test_an_ending_agent_is_asked_again(self):
        endings = [Error(1002, "shuttingDown"), lambda params, connection: connection.stream.shutdown(2)]
        agent = self.agent()
        for ending in endings:
            answers = [ending, TOKEN]

            def answer(params, connection):
                first = answers.pop(0)
                return first(params, connection) if callable(first) else first

            agent.answers["token.get"] = answer
            self.assertEqual(self.answer("token"), "not-a-real-access-token\n")

    def test_another_protocol_at_the_socket_exits_with_3(self):
        def babble(params, connection):
            connection.stream.sendall(b"220 mail.example ESMTP\n")
            time.sleep(1)
            return {}
        self.agent({"token.get": babble})
        self.assertIn("does not speak its protocol", self.refused(3, "token"))

    def test_an_error_without_an_id_is_shown(self):
        def refuse(params, connection):
            connection.send({"jsonrpc": "2.0", "id": None, "error": Error(1003, "overloaded", "Too many.").body})
            connection.stream.shutdown(2)
            return {}
        self.agent({"token.get": refuse})
        self.assertIn("Too many.", self.refused(1, "token"))

    def test_an_answer_without_a_result_exits_with_3(self):
        def hollow(params, connection):
            connection.send({"jsonrpc": "2.0", "id": 1})
            raise NoAnswer
        self.agent({"token.get": hollow})
        self.assertIn("does not speak its protocol", self.refused(3, "token"))

    def test_events_before_the_answer_are_dropped(self):
        def chatty(params, connection):
            for number in range(3):
                connection.event(number, "token.refreshed")
            return TOKEN
        self.agent({"token.get": chatty})
        self.assertEqual(self.answer("token"), "not-a-real-access-token\n")


class NoAgentTests(Person):
    def test_no_agent(self):
        for words in (["token"], ["list"], ["rpc", "agent.status"]):
            self.assertIn("No agent answers at", self.refused(3, *words))
            environment = {"LANYARD_NO_START": None}
            self.assertIn("may not start one", self.refused(3, *words, "--no-start", environment=environment))

    def test_as_json(self):
        told = json.loads(self.refused(3, "token", "--json"))["error"]
        self.assertEqual((told["name"], told["exit"]), ("noAgent", 3))

    def test_a_command_that_never_starts_one_advises_no_option_that_was_not_given(self):
        told = json.loads(self.refused(3, "metrics", "--json", environment={"LANYARD_NO_START": None}))["error"]
        self.assertEqual(told["hints"], ["Start one: `lanyard-agent`."])

    def test_mistakes_in_an_mcp_command_are_told_as_json(self):
        for words in (["mcp", "bogus"], ["mcp", "--self"]):
            with self.subTest(words):
                told = json.loads(self.refused(2, *words, "--json"))["error"]
                self.assertEqual((told["name"], told["exit"]), ("usage", 2))

    def test_the_socket_can_be_named(self):
        self.agent(accounts(WORK))
        elsewhere = {"LANYARD_SOCKET": self.socket, "XDG_RUNTIME_DIR": "/nowhere"}
        self.assertEqual(self.answer("token", environment=elsewhere), "not-a-real-access-token\n")
        self.refused(3, "token", environment={"LANYARD_SOCKET": "relative.sock"})

    @unittest.skipUnless(os.geteuid() == 0, "only root can be two users")
    def test_nothing_is_sent_to_another_users_socket(self):
        # The peer is who called listen(2): an agent in a process of another user.
        os.makedirs(os.path.dirname(self.socket))
        os.chmod(self.place, 0o777)
        os.chmod(self.runtime, 0o777)
        os.chmod(os.path.dirname(self.socket), 0o777)
        other = subprocess.Popen(
            [sys.executable, "-c",
             "import os,socket,sys;os.setuid(65534);s=socket.socket(socket.AF_UNIX);s.bind(sys.argv[1]);s.listen();"
             "print('up',flush=True);c,_=s.accept();print(c.recv(100),flush=True)", self.socket],
            stdout=subprocess.PIPE, text=True)
        self.addCleanup(other.stdout.close)
        self.assertEqual(other.stdout.readline(), "up\n")
        self.assertIn("Another user", self.refused(3, "token"))
        self.assertEqual(other.stdout.readline(), "b''\n")
        other.wait()


if __name__ == "__main__":
    unittest.main()


class ExecTests(Person):
    def test_an_agent_that_is_older_serves_the_command_and_the_person_is_told(self):
        self.agent(accounts(WORK))
        ran = self.lanyard("exec", "work", "--", "sh", "-c", "echo $LANYARD_TOKEN")
        self.assertEqual((ran.returncode, ran.stdout), (0, "not-a-real-access-token\n"))
        self.assertIn("audit log does not record this command", ran.stderr)

    def test_a_grant_that_gives_tokens_runs_the_command(self):
        self.agent({**accounts(WORK), "exec.begin": Error(1007, "notPermitted")})
        ran = self.lanyard("exec", "work", "--", "true")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_an_interruption_is_told_as_json(self):
        for words in (["token", "work", "--json"], ["exec", "--json", "work", "--", "true"]):
            with self.subTest(words):
                agent = self.agent({**accounts(WORK), "token.get": lambda params, connection: time.sleep(PATIENCE_SECONDS)})
                process = self.start(*words)
                while "token.get" not in agent.methods():
                    time.sleep(0.01)
                _, told = interrupt(process)
                self.assertEqual((process.returncode, json.loads(told)["error"]["name"]), (130, "interrupted"))
                agent.close()

    def test_a_command_that_can_not_be_run_is_told_as_json(self):
        self.agent({**accounts(WORK), "exec.begin": {}})
        for command, code in (("/nope", 127), ("/etc/passwd", 126)):
            with self.subTest(command):
                self.assertIn(f"lanyard: {command} can't be run: ", self.refused(code, "exec", "work", "--", command))
                told = json.loads(self.refused(code, "exec", "--json", "work", "--", command))["error"]
                self.assertEqual((told["name"], told["exit"]), ("commandNotRun", code))

    def test_a_command_that_the_audit_log_can_not_tell_of_is_not_run(self):
        self.agent({**accounts(WORK), "exec.begin": Error(5001, "storeUnavailable", retryable=True)})
        ran = self.lanyard("exec", "work", "--", "echo", "ran")
        self.assertEqual((ran.returncode, ran.stdout), (1, ""))


class CredentialTests(Person):
    def test_the_names_beside_a_token_are_those_of_the_python_client(self):
        self.agent({**accounts(WORK), "account.resolve": {"account": WORK["id"], "because": "rule"}})
        # The same hosts as `KeyringTests` of the Python client.
        for host, name in (("bitbucket.org", "x-token-auth"), ("gcr.io", "oauth2accesstoken"), ("eu.gcr.io", "oauth2accesstoken"),
                           ("europe-python.pkg.dev", "oauth2accesstoken"), ("mygcr.io", "oauth2"), ("github.com", "oauth2")):
            told = self.answer("credential", "netrc", f"https://{host}/x")
            self.assertIn(f"login {name}", told)
