"""The agent's errors in the words of the command line: no method name, JSON pointer or pattern reaches a person."""

import json
import os
import re
import subprocess
import unittest

from fake_agent import Error
from people import WORK, accounts
from person import BINARIES, PATIENCE_SECONDS, Person
from test_tables import columns

SCHEMAS = os.path.join(os.path.dirname(__file__), "../../../Schemas")

with open(os.path.join(SCHEMAS, "errors.json"), encoding="utf-8") as file:
    ERRORS = json.load(file)["errors"]
METHODS = sorted(name[:-len(".json")] for name in os.listdir(os.path.join(SCHEMAS, "methods")))

# Possible values of each member of `data`.
DATA = {
    "account": WORK["id"], "accounts": [WORK["id"]], "attemptsLeft": 2, "candidates": [WORK["id"]],
    "claims": {"id_token": {}}, "decision": {"effect": "deny"}, "duplicateId": False,
    "expected": "string like ^[a-z0-9][a-z0-9._-]{0,63}$", "kind": "pin", "limit": 9, "path": "/refresh/graceSeconds",
    "acrValues": ["urn:acr:mfa"], "maxAgeSeconds": 60, "outcome": "notSent",
    "problems": [{"pointer": "/capabilities/a~1b", "text": "expected object"}], "providerError": "invalid_grant",
    "reason": "revoked", "retryAfterMs": 1500, "scopes": ["mail.read"], "source": "/etc/lanyard/providers.d/acme.json", "supported": [1],
    "remedies": ["unlock", "connect", "stepUp", "interact", "reauthenticate", "administrator"],
}
# Messages of the agent that send a program to `data`.
INVALID_PARAMS = "A parameter is not valid: see data.path and data.expected."
INVALID_POLICY = "The policy is not valid; data.problems says where. Nothing was changed."
# Methods without a command of their own: the person calls them by `lanyard rpc`.
RAW = re.compile(r"`lanyard rpc [A-Za-z]+\.[A-Za-z]+`")


class LineTests(Person):
    """Messages on a terminal are broken between words; a command in them stays in one piece."""

    MESSAGE = ("The account was signed out at the provider, and what was kept of it is gone. Sign in again with "
               "`lanyard login --account a-name-that-fills-most-of-a-line` when you need it \u4e2d\u6587" + "\u5b57" * 20 + " again.")

    def setUp(self):
        super().setUp()
        agent = self.agent(accounts(WORK))
        agent.answers["token.get"] = Error(2003, "signedOut", self.MESSAGE)

    def test_no_line_is_longer_than_the_terminal_and_no_word_is_broken(self):
        shown = self.on_terminal("token", "work").text
        lines = shown.replace("\r", "").rstrip("\n").split("\n")
        self.assertGreater(len(lines), 2)
        self.assertTrue(all(columns(line) <= 80 for line in lines), lines)
        self.assertTrue(any("`lanyard login --account a-name-that-fills-most-of-a-line`" in line for line in lines), lines)
        self.assertEqual(" ".join(line.strip() for line in lines).split(), self.refused(4, "token", "work").split())

    def test_a_command_longer_than_the_terminal_stays_on_one_line(self):
        shown = self.on_terminal("token", "work", size=(24, 40)).text
        self.assertIn("\n`lanyard login --account a-name-that-fills-most-of-a-line`", shown.replace("\r", ""))

    def test_a_pipe_and_json_have_one_line(self):
        self.assertIn(self.MESSAGE + "\n", self.refused(4, "token", "work"))
        shown = self.on_terminal("token", "work", "--json", size=(24, 40)).text
        self.assertEqual(json.loads(shown)["error"]["message"], self.MESSAGE)


class EventTypeTests(Person):
    def test_types_of_events_are_no_commands(self):
        types = sorted(name[:-len(".json")] for name in os.listdir(os.path.join(SCHEMAS, "events")))
        expected = "one of " + ", ".join(types)
        self.agent({**accounts(WORK), "event.subscribe": Error(
            -32602, "invalidParams", INVALID_PARAMS, path="/types/0", expected=expected)})
        told = self.refused(2, "events", "--type", "wrong")
        self.assertIn(f"Expected for --type: {expected}.", told)

    def test_a_message_that_names_an_event_keeps_the_name(self):
        types = sorted(name[:-len(".json")] for name in os.listdir(os.path.join(SCHEMAS, "events")))
        message = "It tells of " + ", ".join(types) + "."
        self.agent({**accounts(WORK), "token.get": Error(-32603, "internalError", message)})
        self.assertIn(message, self.refused(1, "token", "work"))


class MessageTests(Person):
    def told(self, *words, method="token.get", error):
        self.fake.answers[method] = error
        done = self.lanyard(*words)
        self.assertNotEqual(done.returncode, 0, done)
        return done.stderr

    def setUp(self):
        super().setUp()
        self.fake = self.agent(accounts(WORK))

    def assertInWordsOfTheCLI(self, told):
        rest = RAW.sub("", told)
        for method in METHODS:
            self.assertNotIn(method, rest)
        self.assertNotRegex(rest, r"(^|\s)/[A-Za-z]", "a JSON pointer")
        self.assertNotRegex(rest, r"\^|\[a-z|\{\d+,", "a pattern")
        self.assertNotRegex(rest, r"\bdata\.", "a member of the error")

    def test_every_error_of_the_contract_with_all_of_its_data(self):
        for error in ERRORS:
            with self.subTest(error["name"]):
                data = {member: DATA[member] for member in error["data"]}
                own = {"invalidParams": INVALID_PARAMS, "policyInvalid": INVALID_POLICY}.get(error["name"], error["meaning"])
                for message in (own, "It failed; `agent.unlock` or session.get helps."):
                    told = self.told("token", error=Error(error["code"], error["name"], message, **data))
                    self.assertInWordsOfTheCLI(told)
                    self.assertTrue(told.startswith("lanyard: "), told)

    def test_every_method_of_the_contract_in_a_message(self):
        for method in METHODS:
            with self.subTest(method):
                told = self.told("token", error=Error(3001, "offline", f"Try `{method}`, or {method}."))
                self.assertInWordsOfTheCLI(told)
                self.assertRegex(told, r"^lanyard: Try `[^`]+`, or `[^`]+`\.\n")

    def test_a_method_becomes_its_command(self):
        for message, shown in {
            "`account.list` lists the accounts.": "`lanyard list` lists the accounts.",
            "Unlock it, or let agent.unlock ask you.": "Unlock it, or let `lanyard unlock` ask you.",
            "`lanyard rpc agent.addKeySlot` adds one.": "`lanyard key add` adds one.",
            "Correct it by `provider.update`; nothing was deleted.":
                "Correct it by `lanyard provider update`; nothing was deleted.",
            "It is not like policy.schema.json wants the token.": "It is not like policy.schema.json wants the token.",
        }.items():
            with self.subTest(message):
                told = self.told("token", error=Error(3001, "offline", message))
                self.assertEqual(told.splitlines()[0], f"lanyard: {shown}")

    def test_a_refused_parameter_is_named_as_on_the_command_line(self):
        for path, expected, shown in [
            ("/minimumLifetimeSeconds", "integer from 0 to 86400",
             "Expected for --minimum-lifetime: a whole number from 0 to 86400."),
            ("/scopes/0", "string like ^[!#-~]{1,256}$",
             "Expected for --scope: a scope without spaces, quotes and backslashes."),
            ("/expiresAt", "an instant that is still to come",
             "Expected for --expires: an instant that is still to come."),
            ("/refresh/graceSeconds", "boolean", "Expected for grace seconds: true or false."),
            ("/headers/Authorization", "a header field that a caller may set",
             "Expected for the header Authorization: a header field that a caller may set."),
            ("/mystery", "member of params", "Expected for mystery: a setting that this agent knows."),
            ("", "object", "Expected for the parameters: a JSON object."),
        ]:
            with self.subTest(path):
                told = self.told(
                    "token", error=Error(-32602, "invalidParams", INVALID_PARAMS, path=path, expected=expected))
                self.assertEqual(told.splitlines(), [
                    "lanyard: The agent did not accept a value of this command.", "  " + shown])

    def test_a_message_that_sends_a_program_to_the_data_is_put_in_words(self):
        for message, shown in [
            ("The policy does not allow this now; data.decision says why. Nothing was stored or changed.",
             "The policy does not allow this now. Nothing was stored or changed."),
            ("This agent speaks another version of the protocol. See data.supported.",
             "The agent and this program speak different versions of the protocol."),
            ("The resource server demands a new sign-in; data says how.",
             "The server demands that you sign in again."),
        ]:
            told = self.told("token", error=Error(4001, "denied", message))
            self.assertEqual(told.splitlines()[0], f"lanyard: {shown}")

    def test_verbose_tells_what_the_provider_said(self):
        said = "The provider idp refused the last request, with status 401: invalid_client, Wrong secret"
        self.fake.answers["agent.diagnose"] = {"findings": [
            {"check": "vault", "severity": "ok", "message": "The vault is open.", "remedies": []},
            {"check": "providerRefusal", "severity": "notice", "message": said, "remedies": []}]}
        self.fake.answers["account.get"] = {**WORK, "provider": "idp"}
        error = Error(3003, "providerMisconfigured", "The provider does not accept this client.", reason="invalid_client",
                      account=WORK["id"])
        self.assertNotIn(said, self.told("token", error=error))
        for words in (["token", "--verbose"], ["--verbose", "token"]):
            told = self.told(*words, error=error)
            self.assertIn(f"  {said}\n", told)
            self.assertNotIn("The vault is open", told)
            self.assertIn(("agent.diagnose", {"provider": "idp"}), self.fake.calls)
        # Of no provider in particular nothing is told.
        self.assertNotIn(said, self.told("token", "--verbose", error=Error(1001, "agentLocked", "The vault is locked.")))
        self.assertEqual(json.loads(self.told("token", "--verbose", "--json", error=error))["error"]["exit"], 1)

    def test_a_hint_that_repeats_the_message_is_left_out(self):
        told = self.told("token", error=Error(
            6003, "notFound", "This account has no PIN. `stepUp.enroll` sets one.", kind="pin"))
        self.assertEqual(told, "lanyard: This account has no PIN. `lanyard step-up --enroll` sets one.\n")

    def test_json_tells_the_error_in_one_shape(self):
        self.fake.answers["token.get"] = Error(2004, "reauthenticationRequired", "`token.get` needs you.", reason="revoked")
        self.assertEqual(json.loads(self.refused(4, "token", "--json")), {"error": {
            "name": "reauthenticationRequired", "message": "`lanyard token` needs you.", "exit": 4, "code": 2004,
            "data": {"name": "reauthenticationRequired", "retryable": False, "reason": "revoked"}}})
        told = json.loads(self.refused(3, "token", "--json", environment={"LANYARD_SOCKET": "/nowhere/at/all"}))
        self.assertEqual((told["error"]["name"], told["error"]["exit"]), ("noAgent", 3))

    def test_json_tells_mistakes_in_the_command_too(self):
        for words in (["token", "--nonsense"], ["nosuch"], ["provider", "lst"], ["login", "a", "b"], ["token", "-t", "x"]):
            with self.subTest(words):
                told = json.loads(self.refused(2, *words, "--json"))["error"]
                self.assertEqual((told["name"], told["exit"]), ("usage", 2))
                self.assertTrue(told["message"])

    def test_mistakes_in_the_command_are_one_sentence_and_the_command_that_helps(self):
        for words, said in [
            (["token", "--nonsense"], "Unknown option '--nonsense'."),
            (["rename"], "Missing argument '<account>'."),
            (["token", "--aud"], "Missing value for '--aud <aud>'."),
            (["logout", "--hard", "--soft"], "Choose --hard or --soft, not both."),
            (["login", "a", "--device", "--paste"], "Choose --device or --paste, not both."),
            (["completion", "tcsh"],
             "The value 'tcsh' is invalid for '<shell>'. Please provide one of 'bash', 'zsh' or 'fish'."),
            (["import", "nosuch"],
             "The value 'nosuch' is invalid for '<source>'. Please provide one of the following: "
             "oidc-agent, pizauth, mutt_oauth2, gcm, gh, msal, netrc, dotenv, google-service-account."),
            (["provider", "list", "--nonsense"], "Unknown option '--nonsense'."),
        ]:
            with self.subTest(words):
                command = " ".join(words[:2] if words[0] == "provider" else words[:1])
                self.assertEqual(self.refused(2, *words),
                                 f"lanyard: {said}\n  `lanyard help {command}` shows how to use it.\n")
        # The options of a command that runs by default are known.
        for name in ("rule", "grant"):
            self.assertEqual(self.refused(2, name, "--wide", "x").splitlines()[0], "lanyard: Unexpected argument 'x'.")
        self.assertEqual(
            self.refused(2, "rule", "--wdie").splitlines()[0], "lanyard: Unknown option '--wdie'. Did you mean '--wide'?")
        self.assertEqual(self.refused(2, "--nonsense").splitlines()[-1], "  `lanyard help` shows how to use it.")

    def test_every_program_has_the_same_words_for_a_mistake_in_the_command(self):
        unknown, unexpected = "Unknown option '--nonsense'.", "Unexpected argument 'nonsense'."
        for program, words, told, code, help in [
            ("lanyard-demo", ["--nonsense"], unknown, 2, "demo --help"),
            ("lanyard-demo", ["nonsense"], "Unknown command `nonsense`.", 2, "demo --help"),
            ("lanyard-demo", ["run", "nonsense"], unexpected, 2, "demo --help"),
            ("lanyard-demo", ["provider", "--nonsense"], unknown, 2, "demo provider --help"),
            ("lanyard-demo", ["provider", "--port"], "Missing value for '--port'.", 2, "demo provider --help"),
            ("lanyard-demo", ["provider", "--port", "x"], "The value 'x' is invalid for '--port'.", 2, "demo provider --help"),
            ("lanyard-mcp", ["--nonsense"], unknown, 2, "help mcp"),
            ("lanyard-mcp", ["--self", "--nonsense"], unknown, 2, "help mcp"),
            ("lanyard-mcp", ["https://mcp.example", "nonsense"], unexpected, 2, "help mcp"),
            ("lanyard-mcp", ["--name"], "Missing value for '--name'.", 2, "help mcp"),
            ("lanyard-proxy", ["--nonsense=secret"], unknown, 2, "help proxy"),
            ("lanyard-proxy", ["--port"], "Missing value for '--port'.", 2, "help proxy"),
            ("lanyard-proxy", ["--port", "x"], "The value 'x' is invalid for '--port'.", 2, "help proxy"),
            ("lanyard-export", ["--nonsense"], unknown, 2, "help export"),
            ("lanyard-export", ["otlp", "https://logs.example", "nonsense"], unexpected, 2, "help export"),
            ("lanyard-web", ["--nonsense"], unknown, 2, "help ui"),
            ("lanyard-web", ["--port", "65536"], "The value '65536' is invalid for '--port'.", 2, "help ui"),
            ("lanyard-agent", ["--nonsense=secret"], f"{unknown} See --help.", 64, None),
            ("lanyard-agent", ["--nonsense\x1b[31m"], "Unknown option '--nonsense\\u{1B}[31m'. See --help.", 64, None),
            # What may be a secret in the wrong place stays out of the agent's log.
            ("lanyard-agent", ["nonsense"], "Unknown option. See --help.", 64, None),
            ("lanyard-agent", ["-nonsense"], "Unknown option. See --help.", 64, None),
            ("lanyard-agent", ["--socket"], "Missing value for '--socket'.", 64, None),
        ]:
            with self.subTest(program, words=words):
                done = subprocess.run(
                    [os.path.join(BINARIES, program), *words], env=self.settings(None), cwd=self.work, text=True,
                    capture_output=True, stdin=subprocess.DEVNULL, timeout=PATIENCE_SECONDS)
                hint = f"  `lanyard {help}` shows how to use it.\n" if help else ""
                name = "lanyard" if help else program
                self.assertEqual((done.returncode, done.stdout, done.stderr), (code, "", f"{name}: {told}\n{hint}"))

    def test_an_unknown_command_suggests_the_nearest(self):
        for words, said in [(["nosuch"], "Unknown command `nosuch`."),
                            (["tokne"], "Unknown command `tokne`. Did you mean `lanyard token`?"),
                            (["provider", "lst"], "Unknown command `lst`. Did you mean `lanyard provider list`?")]:
            told = self.refused(2, *words).splitlines()
            self.assertEqual(told[0], f"lanyard: {said}")
            self.assertRegex(told[1], r"^  `lanyard help( provider)?` lists the commands\.$")

    def test_an_unknown_account_is_named_as_typed(self):
        self.assertIn("There is no account nobody here.", self.refused(1, "token", "nobody"))

    def test_hints_use_the_name_that_the_person_typed(self):
        self.fake.answers["token.get"] = Error(
            2004, "reauthenticationRequired", "Sign in again.", account=WORK["id"], remedies=["reauthenticate"])
        for words, shown in ((["work"], "work"), (["Alice Example"], "'Alice Example'"), ([], "work")):
            self.assertIn(f"`lanyard login --account {shown}`", self.refused(4, "token", *words))

    def test_doctor_shows_commands_and_json_the_agents_words(self):
        finding = {"check": "vault", "severity": "notice", "message": "Locked; `agent.unlock` opens it.",
                   "remedies": ["`lanyard rpc agent.addKeySlot` adds a passphrase."]}
        self.fake.answers["agent.diagnose"] = {"findings": [finding]}
        told = self.lanyard("doctor").stdout
        self.assertIn("Locked; `lanyard unlock` opens it.", told)
        self.assertIn("`lanyard key add` adds a passphrase.", told)
        findings = json.loads(self.lanyard("doctor", "--json").stdout)["findings"]
        self.assertIn(finding["message"], [found["message"] for found in findings])


if __name__ == "__main__":
    unittest.main()
