"""Tokens, calls, decisions, errors."""

from __future__ import annotations

import json
import os
import unittest
from typing import Any, Dict

from fake_agent import Fault, Peer

from .shell import SHELLS, ShellTest, secret

ALL_VARIABLES = (
    'printf "%s|" "$LANYARD_ERROR_NAME" "$LANYARD_ERROR_CODE" "$LANYARD_ERROR_MESSAGE" "$LANYARD_ERROR_REASON" '
    '"$LANYARD_ERROR_RETRYABLE" "$LANYARD_ERROR_RETRY_AFTER_MS" "$LANYARD_ERROR_ACCOUNT" "$LANYARD_ERROR_REMEDIES"'
)


class Tokens(ShellTest):
    def test_token_is_printed(self) -> None:
        self.prints("lanyard_token work", "secret-1\n")
        self.assertEqual(self.agent.requests("token.get")[0]["params"]["account"], "work")

    def test_token_in_a_variable(self) -> None:
        self.prints('lanyard_token -v token -t 120 -s "mail.read cal" --aud https://api.example work; echo "$token"', "secret-1\n")
        self.assertEqual(
            self.agent.requests("token.get")[0]["params"],
            {
                "account": "work",
                "scopes": ["mail.read", "cal"],
                "resource": "https://api.example",
                "minimumLifetimeSeconds": 120,
            },
        )

    def test_strict_options_of_the_caller(self) -> None:
        for options in ("set -euo pipefail", "set -euo pipefail; set -o noclobber", "set -fa; IFS=abc"):
            with self.subTest(options=options):
                self.prints(f'{options}\nlanyard_token -v token work; echo "$token"; echo "${{-//[^euC]/}}" >/dev/null', "secret-1\n")

    def test_odd_options_of_zsh(self) -> None:
        script = "setopt ksh_arrays sh_word_split glob_subst no_unset err_exit null_glob extended_glob csh_null_glob\n"
        ran = self.run_in("zsh", script + 'lanyard_token -v token work; print -r -- "$token"; [[ -o ksh_arrays ]]')
        self.assertEqual((ran.status, ran.out), (0, "secret-1\n"), ran.err)

    def test_case_is_told_apart_where_bash_would_not(self) -> None:
        script = "set -eu; shopt -s nocasematch\nlanyard_token -v token -t 120 work; echo $token; shopt -q nocasematch && echo on\n"
        ran = self.run_in("bash", script + "lanyard_call nothing 2>/dev/null || echo $?")
        self.assertEqual((ran.status, ran.out), (0, "secret-1\non\n1\n"), ran.err)
        self.assertEqual(self.agent.requests("token.get")[0]["params"], {"account": "work", "minimumLifetimeSeconds": 120})

    def test_zsh_does_not_warn_of_the_variables(self) -> None:
        script = "setopt warn_create_global no_unset\nprint -r -- \"$LANYARD_ERROR_NAME\"; lanyard_retry lanyard_token work"
        ran = self.run_in("zsh", script)
        self.assertEqual((ran.status, ran.out, ran.err), (0, "\nsecret-1\n", ""))

    def test_time_that_is_an_option_of_timeout(self) -> None:
        for shell, ran in self.both("lanyard_token -T --help work"):
            with self.subTest(shell=shell):
                self.assertNotEqual(ran.status, 0)
                self.assertEqual(self.agent.requests("token.get"), [])
                self.assertIn("[failed]", ran.err)

    def test_options_of_the_caller_are_restored(self) -> None:
        self.prints('set -eu; set -C; a=$-; lanyard_token -v token work; [ "$a" = "$-" ] && echo same', "same\n")

    def test_errexit_ends_the_script_at_a_failure(self) -> None:
        self.agent.on("token.get", refuse)
        for shell, ran in self.both("set -e; lanyard_token work; echo not reached"):
            with self.subTest(shell=shell):
                self.assertEqual((ran.status, ran.out), (4, ""))
                self.assertEqual(ran.err.splitlines()[-1][:15], "lanyard_token: ")

    def test_no_trace_shows_the_token(self) -> None:
        for shell, ran in self.both("set -xv; lanyard_token -v token work; : done; lanyard_call token.get '{}' >/dev/null"):
            with self.subTest(shell=shell):
                self.assertEqual(ran.status, 0, ran.err)
                self.assertNotIn("secret-1", ran.err)
                # The trace goes on behind the function.
                self.assertIn("+ : done" if shell == "bash" else "> : done", ran.err)

    def test_token_is_in_no_argument_and_no_environment(self) -> None:
        script = "set -a; export token __lanyard_value=x __lanyard_out=x; lanyard_token -v value work; lanyard_token work"
        for shell, ran in self.both(script):
            with self.subTest(shell=shell):
                self.assertEqual((ran.status, ran.out), (0, "secret-1\n"), ran.err)
        self.assertIn("LANYARD_SOCKET", self.seen())
        self.assertNotIn("secret-1", self.seen())

    def test_name_of_a_variable_is_checked(self) -> None:
        for name in ("a[0]", "1a", "a b", "x;id", "__lanyard_out", "a-b"):
            with self.subTest(name=name):
                self.prints(f"lanyard_token -v '{name}' work; echo $? \"$LANYARD_ERROR_NAME\"", "2 usage\n")

    def test_long_token(self) -> None:
        self.agent.on("token.get", lambda request, peer: {**secret(), "accessToken": "a" * 65_000 + "\u0021"})
        self.prints('lanyard_token -v token work; echo "${#token}"', "65001\n")

    def test_token_that_is_no_header_is_refused(self) -> None:
        self.agent.on("token.get", lambda request, peer: {**secret(), "accessToken": "a\r\nX: b"})
        self.prints('lanyard_token -v token work || echo "$?" "$LANYARD_ERROR_NAME" "${token-unset}"', "3 protocolError unset\n")


def refuse(request: Dict[str, Any], peer: Peer) -> Dict[str, Any]:
    data = {"account": "acc_alice", "reason": "outcomeUnknown", "remedies": ["reauthenticate", "administrator"]}
    raise Fault(2004, "reauthenticationRequired", retryAfterMs=1500, **data)


class Calls(ShellTest):
    def setUp(self) -> None:
        super().setUp()
        self.agent.on("test.echo", lambda request, peer: {"echo": request.get("params", {})})

    def test_result_is_json(self) -> None:
        for shell, ran in self.both("""lanyard_call test.echo '{"a": "ä\\u0000\\"", "n": 9007199254740991}'"""):
            with self.subTest(shell=shell):
                self.assertEqual(json.loads(ran.out), {"echo": {"a": 'ä\0"', "n": 9007199254740991}}, ran.err)

    def test_params_from_stdin(self) -> None:
        self.prints("lanyard_call -v answer test.echo -; echo \"$answer\"", '{"echo": {"pin": "1234"}}\n', '{"pin":"1234"}')

    def test_params_are_in_no_argument(self) -> None:
        self.prints("""lanyard_call test.echo '{"pin":"secret-pin"}' >/dev/null""", "")
        self.assertNotIn("secret-pin", self.seen())

    def test_params_may_be_left_out(self) -> None:
        self.prints("lanyard_call -u work test.echo", '{"echo": {"account": "work"}}\n')

    def test_result_of_a_mebibyte(self) -> None:
        self.agent.on("test.long", lambda request, peer: {"text": "x" * (1 << 20)})
        self.prints('lanyard_call -v answer test.long; echo "${#answer}"', f"{(1 << 20) + 12}\n")

    def test_error_sets_the_variables(self) -> None:
        self.agent.on("test.fail", refuse)
        for shell, ran in self.both(f"lanyard_call test.fail || echo $?\n{ALL_VARIABLES}"):
            with self.subTest(shell=shell):
                status, _, told = ran.out.partition("\n")
                name, code, message, *rest = told.split("|")
                self.assertEqual((status, name, code), ("4", "reauthenticationRequired", "2004"))
                self.assertTrue(message)
                self.assertEqual(rest, ["outcomeUnknown", "false", "1500", "acc_alice", "reauthenticate administrator", ""])
                self.assertIn("[reauthenticationRequired (2004)]", ran.err)

    def test_message_is_decoded(self) -> None:
        def fail(request: Dict[str, Any], peer: Peer) -> None:
            error = '{"code":7777,"message":"a\\"b\\\\c\\u00e4\\ud83d\\ude00\\n\\u0000.","data":{"name":"new","extra":[{"a":"]}"}],"retryable":true}}'
            peer.raw(f'{{"jsonrpc":"2.0","id":{request["id"]},"error":{error}}}\n'.encode())

        self.agent.on("test.fail", fail)
        for shell, ran in self.both('lanyard_call test.fail 2>/dev/null; printf "%s\\n" "$LANYARD_ERROR_MESSAGE|$LANYARD_ERROR_NAME|$LANYARD_ERROR_RETRYABLE"'):
            with self.subTest(shell=shell):
                self.assertTrue(ran.out.endswith("|new|true\n"), ran.out)
                self.assertIn('a"b\\cä😀', ran.out)

    def test_error_is_forgotten_by_the_next_call(self) -> None:
        self.agent.on("test.fail", refuse)
        self.prints('lanyard_call test.fail 2>/dev/null; lanyard_call -v a test.echo; echo "<$LANYARD_ERROR_NAME$LANYARD_ERROR_CODE>"', "<>\n")

    def test_agent_that_does_not_run(self) -> None:
        self.prints(
            'lanyard_token work 2>/dev/null; echo "$? $LANYARD_ERROR_NAME $LANYARD_ERROR_RETRYABLE"',
            "3 agentNotRunning true\n",
            LANYARD_SOCKET=os.path.join(self.place, "none.sock"),
        )

    def test_agent_that_goes_away(self) -> None:
        self.agent.on("test.end", lambda request, peer: peer.close())
        self.prints('lanyard_call test.end 2>/dev/null; echo "$? $LANYARD_ERROR_NAME"', "3 connectionLost\n")

    def test_program_that_speaks_something_else(self) -> None:
        self.agent.on("test.odd", lambda request, peer: peer.raw(b"HTTP/1.1 400 Bad Request\n"))
        self.prints('lanyard_call test.odd 2>/dev/null; echo "$? $LANYARD_ERROR_NAME"', "3 protocolError\n")

    def test_request_that_is_too_large(self) -> None:
        script = 'lanyard_call test.echo - 2>/dev/null; echo "$? $LANYARD_ERROR_NAME"'
        self.prints(script, "2 requestTooLarge\n", json.dumps({"text": "x" * 1_048_000}) + " " * 100_000)

    def test_command_that_is_not_installed(self) -> None:
        self.prints('LANYARD_BIN=/nowhere/lanyard; lanyard_token 2>/dev/null; echo "$? $LANYARD_ERROR_NAME"', "127 notInstalled\n")

    def test_call_that_takes_too_long(self) -> None:
        self.agent.on("test.slow", lambda request, peer: None)
        self.prints('lanyard_call -T 0.3 test.slow 2>/dev/null; echo "$? $LANYARD_ERROR_NAME $LANYARD_ERROR_RETRYABLE"', "124 callTimeout true\n")

    def test_grant_from_a_file(self) -> None:
        path = os.path.join(self.place, "grant")
        with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write("g" * 43 + "\n")
        self.prints("lanyard_call -v a test.echo && echo done", "done\n", LANYARD_GRANT_FILE=path)
        self.assertEqual(self.agent.requests("agent.hello")[0]["params"]["grant"], "g" * 43)

    def test_mistakes(self) -> None:
        for script in ("lanyard_call", "lanyard_call a b c", "lanyard_call -x a", "lanyard_call -v", "lanyard_call test.echo '{'"):
            with self.subTest(script=script):
                self.prints(f'{script} 2>/dev/null; echo "$? $LANYARD_ERROR_NAME"', "2 usage\n")


class Retries(ShellTest):
    def test_pause_is_the_agents(self) -> None:
        def busy(request: Dict[str, Any], peer: Peer) -> Dict[str, Any]:
            if len(self.agent.requests("token.get")) % 3:
                raise Fault(1003, "overloaded", retryAfterMs=10)
            return secret()

        def fault(request: Dict[str, Any], peer: Peer) -> Dict[str, Any]:
            try:
                return busy(request, peer)
            except Fault as error:
                error.error["data"]["retryable"] = True
                raise

        self.agent.on("token.get", fault)
        self.prints('set -e; lanyard_retry lanyard_token -v token work 2>/dev/null; echo "$token"', "secret-1\n")

    def test_other_errors_are_not_retried(self) -> None:
        self.agent.on("token.get", refuse)
        self.prints("lanyard_retry lanyard_token work 2>/dev/null; echo $?", "4\n")
        self.assertEqual(len(self.agent.requests("token.get")), len(SHELLS))

    def test_tries_are_counted(self) -> None:
        self.prints("lanyard_retry -n 1 lanyard_token work 2>/dev/null; echo $?", "3\n", LANYARD_SOCKET="/nowhere/x.sock")


class Decisions(ShellTest):
    def decide(self, effect: str, reason: str) -> None:
        decision = {"effect": effect, "reason": reason, "account": "acc_alice", "capability": "order.close", "basis": "policy"}
        decision["validUntil"] = "2030-01-01T00:00:00.000Z"
        self.agent.on("authorization.check", lambda request, peer: decision)

    def test_allowed(self) -> None:
        self.decide("allow", "allowed")
        self.prints('set -e; lanyard_can order.close work; echo "$LANYARD_EFFECT $LANYARD_REASON"', "allow allowed\n")

    def test_denied_is_an_answer(self) -> None:
        self.decide("deny", "notGranted")
        script = 'if lanyard_can -v why order.close work; then echo yes; else echo "$? $LANYARD_EFFECT $LANYARD_REASON <$LANYARD_ERROR_NAME> ${#why}"; fi'
        for shell, ran in self.both(script):
            with self.subTest(shell=shell):
                self.assertRegex(ran.out, r"^6 deny notGranted <> \d{2,}\n$", ran.err)
                self.assertEqual(ran.err, "")

    def test_failure_is_an_error(self) -> None:
        self.agent.on("authorization.check", refuse)
        self.prints('lanyard_can order.close work 2>/dev/null; echo "$? $LANYARD_EFFECT $LANYARD_ERROR_NAME"', "4  reauthenticationRequired\n")


if __name__ == "__main__":
    unittest.main()
