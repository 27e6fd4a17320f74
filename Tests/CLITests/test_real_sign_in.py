"""Every way to sign in, as a person at a terminal goes it: the real agent, a provider on this machine, a browser."""

import json
import re
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

    def test_a_code_that_nobody_enters(self):
        self.post("/practice/options", deviceCodeLifetimeSeconds=2)
        screen = self.on_terminal("login", "idp", "--device")
        self.assertEqual(screen.code, 4)
        self.assertIn("Reason: expired.", screen.text)
        self.assertEqual(self.accounts(), [])

    def test_a_code_given_up(self):
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

    def test_a_browser_that_is_told_where_to_go(self):
        screen = self.on_terminal("login", "idp", "--no-browser", answers=[(WAITING, lambda text: self.come(text))])
        self.assertEqual(screen.code, 0, screen.text)
        self.assertIn("Signed in: alice-acme at idp", screen.text)
        self.assertIn("You are signed in", self.page)

    def come(self, text):
        self.post("/practice/options", autoApprove="alice")
        with urllib.request.urlopen(re.search(r"http://\S+/authorize\S+", text)[0], timeout=PATIENCE_SECONDS) as page:
            self.page = page.read().decode()
        return ""

    def test_by_name_and_never_configured(self):
        self.assertIn("lanyard provider add elsewhere --issuer URL", self.refused(1, "login", "elsewhere"))
