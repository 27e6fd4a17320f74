"""Signing in with a browser elsewhere: the person pastes the address with which it was left."""

import os
import subprocess

from fake_agent import Error
from people import WORK
from test_login import SignIns, URL

BEGUN = {"signIn": "sgn_3", "flow": "paste", "authorizationUrl": URL, "expiresAt": "2999-01-01T00:00:00.000Z"}
ADDRESS = "http://127.0.0.1:8765/callback?code=c&state=s"
DONE = {"status": "completed", "account": WORK["id"]}
PROMPT = "Paste it here (it is not shown): "


class PasteTests(SignIns):
    def begun(self, *outcomes):
        outcomes = list(outcomes) or [DONE]
        return self.sign_ins(begun=BEGUN, **{"signIn.complete": lambda params, _: outcomes.pop(0)})

    def wrong(self, left):
        return Error(2007, "signInFailed", "That is not it.", reason="stateMismatch", attemptsLeft=left)

    def test_an_address_from_a_pipe(self):
        agent = self.begun()
        done = self.lanyard("login", "idp", "--paste", input=ADDRESS + "\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(agent.params("signIn.begin"), {"provider": "idp", "flow": "paste"})
        self.assertEqual(agent.params("signIn.complete"), {"signIn": "sgn_3", "redirectUrl": ADDRESS})
        self.assertNotIn("code=c", done.stderr + done.stdout)
        self.assertIn(f"in a browser, on any machine:\n\n  {URL}\n", done.stderr)
        self.assertIn("That is expected.", done.stderr)

    def test_a_wrapped_address_from_a_pipe(self):
        agent = self.begun()
        wrapped = ADDRESS[:30] + "\n" + ADDRESS[30:]
        done = self.lanyard("login", "idp", "--paste", input=wrapped + "\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        # The agent takes the line end out.
        self.assertEqual(agent.params("signIn.complete")["redirectUrl"], wrapped)

    def test_no_address_from_a_pipe_is_a_mistake(self):
        agent = self.begun()
        self.assertEqual(self.lanyard("login", "idp", "--paste", input="\n").returncode, 2)
        self.assertNotIn("signIn.complete", agent.methods())

    def test_a_wrong_address_from_a_pipe_cancels_the_sign_in(self):
        agent = self.begun(self.wrong(9))
        self.assertIn("That is not it.", self.lanyard("login", "idp", "--paste", input="x\n").stderr)
        self.assertIn(("signIn.cancel", {"signIn": "sgn_3"}), agent.calls)

    def test_at_a_terminal_it_is_not_shown(self):
        # Longer than a terminal's own line.
        address = ADDRESS + "c" * 5000
        agent = self.begun()
        screen = self.on_terminal("login", "idp", "--paste", answers=[(PROMPT, address + "\n")])
        self.assertEqual(agent.params("signIn.complete")["redirectUrl"], address)
        self.assertNotIn("cccc", screen.text)
        self.assertIn("Signed in: Alice", screen.text)

    def test_the_code_alone_is_enough(self):
        agent = self.begun()
        self.on_terminal("login", "idp", "--paste", answers=[(PROMPT, "4/0AbC-d\n")])
        self.assertEqual(agent.params("signIn.complete")["redirectUrl"], "4/0AbC-d")

    def test_a_wrong_address_is_asked_for_again(self):
        agent = self.begun(self.wrong(9), Error(3001, "offline", "The provider can't be reached."), self.wrong(1), DONE)
        screen = self.on_terminal(
            "login", "idp", "--paste",
            answers=[(PROMPT, "one\n"), ("That is not it. 9 more tries.", ""), (PROMPT, "two\n"),
                     ("provider can't be reached.", ""), (PROMPT, "three\n"), ("One more try.", ""), (PROMPT, "four\n")])
        self.assertEqual(screen.code, 0, screen.text)
        self.assertEqual(
            [params["redirectUrl"] for method, params in agent.calls if method == "signIn.complete"],
            ["one", "two", "three", "four"])

    def test_a_refused_code_is_not_said_to_end_the_sign_in(self):
        refused = Error(2007, "signInFailed", "The provider refused. Nothing was kept; sign in again.", reason="refused",
                        attemptsLeft=9)
        unread = Error(2007, "signInFailed", "The provider's answer has no code. Nothing was kept; begin again.",
                       reason="malformedAnswer", attemptsLeft=1)
        self.begun(refused, unread, DONE)
        screen = self.on_terminal(
            "login", "idp", "--paste", answers=[(PROMPT, "one\n"), (PROMPT, "two\n"), (PROMPT, "three\n")])
        told = " ".join(screen.text.split())
        self.assertIn("it is not the address or the code of this sign-in. Paste it again. 9 more tries.", told)
        self.assertIn("The provider's answer has no code. Paste it again. One more try.", told)
        self.assertNotIn("again; ", told)
        self.assertNotIn("Nothing was kept", told)

    def test_a_blank_line_is_no_try(self):
        agent = self.begun()
        self.on_terminal("login", "idp", "--paste", answers=[(PROMPT, "\n"), (PROMPT, ADDRESS + "\n")])
        self.assertEqual(agent.methods().count("signIn.complete"), 1)

    def test_a_denied_sign_in_ends_the_command(self):
        self.begun(Error(2007, "signInFailed", "You said no.", reason="denied"))
        screen = self.on_terminal("login", "idp", "--paste", answers=[(PROMPT, ADDRESS + "\n")])
        self.assertEqual(screen.code, 4)
        self.assertIn("Reason: denied.", screen.text)

    def test_the_question_is_asked_at_the_terminal_wherever_stderr_goes(self):
        agent = self.begun()
        log = os.path.join(self.place, "log")
        screen = self.on_terminal("login", "idp", "--paste", answers=[(PROMPT, ADDRESS + "\n")], stderr=log)
        self.assertEqual((screen.code, agent.params("signIn.complete")["redirectUrl"]), (0, ADDRESS))
        with open(log) as file:
            written = file.read()
        self.assertIn(URL, written)
        self.assertNotIn("Paste it", written)
        self.assertNotIn("code=c", written + screen.text)

    def test_ctrl_c_cancels_and_gives_the_echo_back(self):
        agent = self.begun()
        screen = self.on_terminal("login", "idp", "--paste", interrupt_after=PROMPT)
        self.assertEqual(screen.code, 130)
        self.assertIn(("signIn.cancel", {"signIn": "sgn_3"}), agent.calls)

    def test_the_end_of_input_cancels(self):
        agent = self.begun()
        done = subprocess.run(
            self.command(["login", "idp", "--paste"]), env=self.settings(None), cwd=self.work, input="", text=True,
            capture_output=True, timeout=20)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertNotIn("signIn.complete", agent.methods())
        self.assertIn(("signIn.cancel", {"signIn": "sgn_3"}), agent.calls)
