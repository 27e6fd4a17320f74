"""Every way to sign in, as a person at a terminal goes it: the real agent, a provider on this machine, a browser."""

import base64
import hashlib
import json
import os
import re
import sys
import urllib.error
import urllib.parse
import urllib.request

import qr_reader
from person import PATIENCE_SECONDS
from test_login_paste import PROMPT
from test_real import RealProvider

WAITING = "Waiting until you have signed in"


class Elsewhere(urllib.request.HTTPRedirectHandler):
    """A browser on another machine: what it is sent back to is not there."""

    def redirect_request(self, request, file, code, message, headers, address):
        if address.startswith("http://127.0.0.1") and "/callback?" in address:
            raise Left(address)
        return super().redirect_request(request, file, code, message, headers, address)


class Left(Exception):
    """The address with which a browser was left."""


class SignInTests(RealProvider):
    def setUp(self):
        super().setUp()
        self.post("/practice/options", devicePollingIntervalSeconds=1)
        self.add_provider()

    def accounts(self):
        return json.loads(self.answer("list", "--json"))["accounts"]

    def visit(self, address, user="alice"):
        """Signs in at the provider's page; the address with which the browser is left there."""
        self.post("/practice/options", autoApprove=user)
        try:
            with urllib.request.build_opener(Elsewhere).open(address, timeout=PATIENCE_SECONDS) as page:
                return page.read().decode()
        except Left as left:
            return str(left)

    # Another device

    def scan(self, text):
        self.visit(qr_reader.read(qr_reader.drawn(text)))
        return ""

    def enter(self, text, **more):
        code = re.search(r"[B-Z]{4}-[B-Z]{4}", text)[0]
        self.post("/practice/device", user_code=code, **more)
        return ""

    def test_a_scanned_code(self):
        screen = self.on_terminal(
            "login", "idp", "--device", "--alias", "work", answers=[(WAITING, self.scan)], size=(50, 80))
        self.assertEqual(screen.code, 0, screen.text)
        self.assertIn("Signed in: alice-acme at idp, account work.", screen.text)
        self.answer("token", "work")

    def test_an_entered_code(self):
        screen = self.on_terminal(
            "login", "idp", "--device", answers=[(WAITING, lambda text: self.enter(text, user="bob"))])
        self.assertIn("Signed in: bob-globex at idp", screen.text)

    def test_a_denied_code(self):
        screen = self.on_terminal(
            "login", "idp", "--device", answers=[(WAITING, lambda text: self.enter(text, deny=True))])
        self.assertEqual(screen.code, 4)
        self.assertIn("Reason: denied.", screen.text)
        self.assertEqual(self.accounts(), [])

    def test_a_code_that_expires(self):
        self.post("/practice/options", deviceCodeLifetimeSeconds=2)
        screen = self.on_terminal("login", "idp", "--device")
        self.assertEqual(screen.code, 4)
        self.assertIn("Reason: expired.", screen.text)
        self.assertEqual(self.accounts(), [])

    def test_an_interrupted_device_sign_in(self):
        screen = self.on_terminal("login", "idp", "--device", interrupt_after=WAITING)
        self.assertEqual(screen.code, 130)
        code = re.search(r"[B-Z]{4}-[B-Z]{4}", screen.text)[0]
        self.post("/practice/device", user_code=code, user="alice")
        self.assertEqual(self.accounts(), [])

    # Another machine's browser

    def left(self, text, user="alice"):
        return self.visit(re.search(r"http://\S+/authorize\S+", text)[0], user)

    def test_a_pasted_address(self):
        screen = self.on_terminal(
            "login", "idp", "--paste", "--alias", "work", answers=[(PROMPT, lambda text: self.left(text) + "\n")])
        self.assertEqual(screen.code, 0, screen.text)
        self.assertIn("Signed in: alice-acme at idp, account work.", screen.text)
        self.assertNotIn("code=", screen.text.split(PROMPT)[1])
        self.answer("token", "work")

    def test_a_pasted_code(self):
        def code(text):
            query = urllib.parse.urlsplit(self.left(text, "bob")).query
            return urllib.parse.parse_qs(query)["code"][0] + "\n"

        screen = self.on_terminal("login", "idp", "--paste", answers=[(PROMPT, code)])
        self.assertIn("Signed in: bob-globex at idp", screen.text)

    def test_a_wrong_address_and_then_the_right_one(self):
        screen = self.on_terminal(
            "login", "idp", "--paste",
            answers=[(PROMPT, "http://127.0.0.1/callback?code=a&state=b\n"), ("9 more tries.", ""),
                     (PROMPT, lambda text: self.left(text) + "\n")])
        self.assertEqual(screen.code, 0, screen.text)
        self.assertEqual(len(self.accounts()), 1)

    # This machine's

    def test_no_browser_with_a_browser_by_hand(self):
        screen = self.on_terminal("login", "idp", "--no-browser", answers=[(WAITING, lambda text: self.come(text))])
        self.assertEqual(screen.code, 0, screen.text)
        self.assertIn("Signed in: alice-acme at idp", screen.text)
        self.assertIn("You are signed in", self.page)

    def come(self, text):
        self.post("/practice/options", autoApprove="alice")
        with urllib.request.urlopen(re.search(r"http://\S+/authorize\S+", text)[0], timeout=PATIENCE_SECONDS) as page:
            self.page = page.read().decode()
        return ""

    def test_an_unknown_provider_suggests_provider_add(self):
        self.assertIn("lanyard provider add elsewhere --issuer URL", self.refused(1, "login", "elsewhere"))

    # Another program's refresh token

    def token_of(self, user="alice"):
        """A refresh token as another program has it: by a sign-in of its own, without this agent."""
        verifier = "v" * 43
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        client, redirect = "lanyard-demo", "http://127.0.0.1:9/callback"
        asked = urllib.parse.urlencode({
            "response_type": "code", "client_id": client, "redirect_uri": redirect, "scope": "openid offline_access",
            "code_challenge": challenge, "code_challenge_method": "S256", "state": "s"})
        left = self.visit(f"{self.issuer}/authorize?{asked}", user)
        code = urllib.parse.parse_qs(urllib.parse.urlsplit(left).query)["code"][0]
        body = urllib.parse.urlencode({
            "grant_type": "authorization_code", "code": code, "redirect_uri": redirect, "client_id": client,
            "code_verifier": verifier}).encode()
        with urllib.request.urlopen(f"{self.issuer}/token", body, timeout=PATIENCE_SECONDS) as answer:
            return json.load(answer)["refresh_token"]

    def test_an_imported_token_typed_unseen(self):
        token = self.token_of()
        screen = self.on_terminal(
            "login", "idp", "--import", "--alias", "work", answers=[("(not shown): ", token + "\n")])
        self.assertEqual(screen.code, 0, screen.text)
        self.assertIn("Signed in: alice-acme at idp", screen.text)
        self.assertIn("account work.", screen.text)
        self.assertNotIn(token, screen.text)
        self.answer("token", "work")
        # The agent has used the token, and does not send it again while the session lives.
        self.assertIn("account work.", self.answer("login", "idp", "--import", input=token))
        self.assertEqual(len(self.accounts()), 1)
        self.answer("token", "work", "--force")
        self.answer("logout", "work")
        self.assertIn("was taken over before", self.refused(4, "login", "idp", "--import", input=token))

    def test_an_imported_token_from_a_pipe_and_from_a_file(self):
        self.answer("login", "idp", "--import", "--alias", "piped", input=self.token_of("alice") + "\n")
        path = os.path.join(self.place, "token")
        with open(path, "w") as file:
            file.write(self.token_of("bob") + "\n")
        self.answer("login", "idp", "--import", path, "--alias", "filed")
        self.assertEqual({account["alias"] for account in self.accounts()}, {"piped", "filed"})

    def test_a_failed_import_keeps_nothing(self):
        screen = self.on_terminal("login", "idp", "--import", interrupt_after="(not shown): ")
        self.assertEqual(screen.code, 130)
        self.refused(2, "login", "idp", "--import")
        told = self.refused(2, "login", "idp", "--import", "rt-that-is-no-file")
        self.assertNotIn("rt-that-is-no-file", told)
        self.assertIn("never as an argument", told)
        for words in (["--device"], ["-s", "openid"], ["--account", "work"]):
            self.refused(2, "login", "idp", "--import", *words, input="rt")
        self.refused(2, "login", "idp", "a-file")
        self.assertIn("provider add", self.refused(1, "login", "elsewhere", "--import", input="rt"))
        self.assertEqual(self.accounts(), [])

    # A browser that opens by itself

    def test_a_browser_that_opens(self):
        """`xdg-open` goes where it is sent, and all the way back to the agent."""
        programs = os.path.join(self.place, "bin")
        os.mkdir(programs)
        opener = os.path.join(programs, "xdg-open")
        os.mkfifo(os.path.join(self.place, "page"))
        with open(opener, "w") as file:
            file.write(
                f"#!{sys.executable}\nimport sys, urllib.request\n"
                "page = urllib.request.urlopen(sys.argv[1], timeout=20).read()\n"
                f"open({self.place!r} + '/page', 'wb').write(page)\n")
        os.chmod(opener, 0o755)
        self.post("/practice/options", autoApprove="alice")
        screen = self.on_terminal(
            "login", "idp", "--alias", "work",
            environment={"PATH": f"{programs}:{self.environment['PATH']}", "DISPLAY": ":0"})
        self.assertEqual(screen.code, 0, screen.text)
        self.assertIn("Signed in: alice-acme at idp", screen.text)
        with open(os.path.join(self.place, "page")) as file:
            self.assertIn("You are signed in", file.read())
        self.answer("token", "work")
