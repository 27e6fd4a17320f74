"""Signing in, as a person at a terminal and a program without one see it."""

import json
import os
import threading
import time

from browser import Browser
from fake_agent import Error
from people import HOME, IDP, OTHER, SESSION, WORK, accounts
from person import Person, interrupt

URL = "https://idp.example/authorize?client_id=lanyard&state=s"
BEGUN = {"signIn": "sgn_1", "flow": "browser", "authorizationUrl": URL, "expiresAt": "2999-01-01T00:00:00.000Z"}


class SignIns(Person):
    def sign_ins(self, *people, begun=BEGUN, **answers):
        answers = {
            **accounts(*(people or (WORK,)), **({"providers": answers.pop("providers")} if "providers" in answers else {})),
            "signIn.begin": begun,
            "signIn.wait": {"status": "completed", "account": WORK["id"]},
            "signIn.cancel": lambda params, _: {"signIn": params["signIn"]},
            **answers,
        }
        return self.agent(answers)


class LoginTests(SignIns):
    def test_the_answer_is_who_signed_in_and_nothing_else(self):
        agent = self.sign_ins()
        done = self.lanyard("login", "idp", "--alias", "work", "-s", "openid", "-s", "mail.read mail.send")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(
            done.stdout, "Signed in: Alice Example <alice@acme.example> at idp, tenant acme, account work.\n")
        self.assertIn(f"\n  {URL}\n", done.stderr)
        self.assertEqual(agent.params("signIn.begin"), {
            "provider": "idp", "flow": "browser", "alias": "work", "scopes": ["openid", "mail.read", "mail.send"]})

    def test_what_a_server_demands_becomes_parameters(self):
        agent = self.sign_ins(**{"session.get": SESSION})
        done = self.lanyard("login", "--account", "work", "--acr", "mfa", "--acr", "phr", "--max-age", "0", "--claims",
                            '{"id_token":{}}', "-s", "orders:write")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(agent.params("signIn.begin"), {
            "provider": "idp", "flow": "browser", "account": "work", "acrValues": ["mfa", "phr"], "maxAgeSeconds": 0,
            "claims": '{"id_token":{}}', "scopes": ["orders:write", "openid"]})

    def test_details_are_passed_on_as_they_are(self):
        agent = self.sign_ins()
        wanted = [{"type": "payment_initiation", "amount": {"value": "12.50"}}]
        file = os.path.join(self.home, "payment.json")
        with open(file, "w", encoding="utf-8") as out:
            json.dump(wanted, out, indent=2)
        for argument in (json.dumps(wanted), f"@{file}"):
            done = self.lanyard("login", "idp", "--device", "--details", argument)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(agent.params("signIn.begin")["authorizationDetails"], wanted)
        self.lanyard("login", "idp", "--account", "work", "--details", "[]")
        self.assertEqual(agent.params("signIn.begin")["authorizationDetails"], [])

    def test_details_that_are_no_array_are_refused(self):
        agent = self.sign_ins()
        for argument in ("", "{}", '{"type":"a"}', '[{"type":"a"}', "@", "@/nowhere/payment.json"):
            self.refused(2, "login", "idp", "--details", argument)
        self.refused(2, "login", "idp", "--import", "--details", "[]")
        self.assertNotIn("signIn.begin", agent.methods())

    def test_the_likely_mistake_is_named_while_no_answer_comes(self):
        address = URL + "&redirect_uri=http%3A%2F%2F127.0.0.1%3A8765%2Fcallback"
        said = threading.Event()

        def wait(params, _):
            said.wait(10)
            return {"status": "completed", "account": WORK["id"]}

        self.sign_ins(begun={**BEGUN, "authorizationUrl": address}, **{"signIn.wait": wait})
        process = self.start("login", "idp", "--hint-after", "0")
        told = ""
        while "--paste" not in told:
            told += process.stderr.readline()
        said.set()
        self.assertEqual(process.communicate(timeout=20)[0].split(":")[0], "Signed in")
        self.assertIn("register this one there: http://127.0.0.1:8765/callback", told)
        self.assertIn("`lanyard provider update idp --redirect", told)

    def test_the_browser_of_the_environment_or_the_command_opens_the_page(self):
        def program(name):
            path = os.path.join(self.place, name)
            with open(path, "w") as file:
                file.write(f'#!/bin/sh\nprintf "%s\\n" "$@" > {path}.new; mv {path}.new {path}.opened\n')
            os.chmod(path, 0o755)
            return path

        def opened(path):
            deadline = time.monotonic() + 20
            while not os.path.exists(path + ".opened") and time.monotonic() < deadline:
                time.sleep(0.01)
            with open(path + ".opened") as file:
                return file.read().splitlines()

        self.sign_ins()
        mine, other = program("mine"), program("other")
        environment = {"BROWSER": f"/nowhere/at/all:{mine} --new %s"}
        done = self.lanyard("login", "idp", environment=environment)
        self.assertIn("Your browser was asked to open this page", done.stderr)
        self.assertEqual(opened(mine)[0], "--new")
        self.assertRegex(opened(mine)[1], r"^http://127\.0\.0\.1:\d+/")
        self.lanyard("login", "idp", "--browser", other, environment=environment)
        self.assertEqual(len(opened(other)), 1)
        self.refused(2, "login", "idp", "--browser", "/nowhere/at/all")
        self.refused(2, "login", "idp", "--browser", other, "--paste")

    def test_a_code_can_not_carry_what_a_server_demands(self):
        agent = self.sign_ins()
        for words in (["--acr", "mfa"], ["--max-age", "60"], ["--claims", "{}"]):
            self.refused(2, "login", "idp", "--device", *words)
            self.refused(2, "login", "idp", "--import", *words)
        self.refused(2, "login", "idp", "--max-age", "-1")
        self.assertEqual(agent.calls, [])

    def test_json(self):
        self.sign_ins()
        done = self.lanyard("login", "idp", "--json")
        self.assertEqual(json.loads(done.stdout), WORK)
        self.assertEqual(json.loads(done.stderr), BEGUN)

    def test_a_timed_out_wait_is_repeated(self):
        outcomes = [{"status": "pending"}, Error(1006, "timedOut"), {"status": "completed", "account": WORK["id"]}]
        agent = self.sign_ins(**{"signIn.wait": lambda params, _: outcomes.pop(0)})
        self.assertEqual(self.lanyard("login", "idp").returncode, 0)
        self.assertEqual(agent.methods().count("signIn.wait"), 3)

    def test_ctrl_c_cancels_and_ends_with_130(self):
        waiting = threading.Event()

        def wait(params, connection):
            waiting.set()
            threading.Event().wait(30)

        agent = self.sign_ins(**{"signIn.wait": wait})
        process = self.start("login", "idp")
        waiting.wait(10)
        out, err = interrupt(process)
        self.assertEqual((process.returncode, out), (130, ""))
        self.assertIn(("signIn.cancel", {"signIn": "sgn_1"}), agent.calls)

    def test_at_a_terminal_the_wait_is_one_line_that_goes_away(self):
        self.sign_ins(**{"signIn.wait": lambda *_: threading.Event().wait(30)})
        screen = self.on_terminal("login", "idp", interrupt_after="Waiting until you have signed in")
        self.assertEqual(screen.code, 130)
        self.assertIn("\r\x1b[K", screen.text)

    def test_a_refusal_is_sign_in_again(self):
        self.sign_ins(**{"signIn.wait": Error(2007, "signInFailed", "You said no.", reason="denied")})
        done = self.lanyard("login", "idp")
        self.assertEqual((done.returncode, done.stdout), (4, ""))
        self.assertIn("You said no.", done.stderr)
        self.assertIn("Reason: denied.", done.stderr)

    def test_account_signs_in_again(self):
        agent = self.sign_ins(WORK, HOME)
        self.lanyard("login", "--account", "home")
        self.assertEqual(agent.params("signIn.begin"), {"provider": "idp", "flow": "browser", "account": "home"})

    def test_lanyard_account_does_not_select_the_account_of_a_login(self):
        agent = self.sign_ins()
        self.lanyard("login", environment={"LANYARD_ACCOUNT": "home"})
        self.assertNotIn("account", agent.params("signIn.begin"))

    def test_the_only_provider(self):
        agent = self.sign_ins()
        self.lanyard("login")
        self.assertEqual(agent.params("signIn.begin")["provider"], "idp")

    def test_a_provider_that_was_never_configured(self):
        missing = Error(3005, "providerNotFound", "There is no provider of this name.")
        self.sign_ins(**{"signIn.begin": missing})
        told = self.refused(1, "login", "acme")
        self.assertIn("There is no provider acme here.", told)
        self.assertIn("`lanyard provider add acme --issuer URL --client-id ID`", told)
        self.assertIn("`lanyard provider add --preset github --client-id ID`", self.refused(1, "login", "github"))
        self.assertIn(
            "`lanyard provider add --preset okta --issuer URL --client-id ID`", self.refused(1, "login", "okta"))

    def test_an_account_that_was_forgotten_meanwhile_leads_to_a_sign_in_without_it(self):
        gone = Error(2001, "accountNotFound", "There is no account of this name any more.")
        for method in ("signIn.begin", "signIn.wait"):
            with self.subTest(method):
                agent = self.sign_ins(**{method: gone})
                done = self.lanyard("login", "--account", "work", "--no-browser")
                self.assertEqual(done.returncode, 1, done)
                told = done.stderr[done.stderr.rindex("lanyard: "):]
                self.assertIn("`lanyard login idp`", told)
                self.assertNotIn("login --account", told)
                agent.close()

    def test_a_mistyped_provider_suggests_the_right_one(self):
        missing = Error(3005, "providerNotFound", "There is no provider of this name.")
        self.sign_ins(**{"signIn.begin": missing})
        self.assertIn("Did you mean `lanyard login idp`?", self.refused(1, "login", "ipd"))
        self.assertIn(
            "Did you mean github? Add it: `lanyard provider add --preset github --client-id ID`.",
            self.refused(1, "login", "gihtub"))
        self.assertIn(
            "Known by --preset: auth0, entra, github, gitlab, google, keycloak, okta.",
            self.refused(1, "login", "elsewhere"))

    def test_over_ssh_paste_and_device_are_suggested(self):
        self.sign_ins()
        self.assertNotIn("--paste", self.lanyard("login", "idp").stderr)
        done = self.lanyard("login", "idp", environment={"SSH_CONNECTION": "192.0.2.1 50000 192.0.2.2 22"})
        self.assertIn("`lanyard login --paste`", done.stderr)

    def test_no_provider(self):
        self.sign_ins(providers=())
        told = self.refused(2, "login")
        self.assertIn("`lanyard provider add --preset google --client-id ID`", told)
        self.assertIn("auth0, entra, github, gitlab, google, keycloak, okta", told)
        self.assertIn("`lanyard provider add NAME --issuer URL --client-id ID`", told)
        self.assertIn("`lanyard login openai`", told)
        self.assertIn("`lanyard demo`", told)

    def test_several_providers(self):
        self.sign_ins(providers=(IDP, OTHER))
        told = self.refused(2, "login")
        self.assertIn("idp  https://idp.example", told)
        self.assertIn("other  https://other.example", told)

    def test_conflicting_options_are_usage(self):
        self.sign_ins()
        self.refused(2, "login", "idp", "--device", "--paste")


class BrowserTests(SignIns):
    def setUp(self):
        super().setUp()
        self.browser = Browser(self.place)
        self.environment.update(self.browser.environment)

    def test_the_browser_opens_the_page(self):
        def signed_in(params, _):
            self.browser.opened()
            return {"status": "completed", "account": WORK["id"]}

        self.sign_ins(**{"signIn.wait": signed_in})
        done = self.lanyard("login", "idp")
        arguments, address = self.browser.opened()
        self.assertEqual(address, URL)
        self.assertIn("browser was asked", done.stderr)
        # Every user of the machine can read arguments: another one could answer the request that they show.
        self.assertEqual(len(arguments), 1)
        self.assertRegex(arguments[0], r"^http://127\.0\.0\.1:[0-9]+/[0-9a-z]{16,}$")

    def test_no_browser_opens_no_page(self):
        self.sign_ins()
        done = self.lanyard("login", "idp", "--no-browser")
        self.assertIn("Open this page in a browser on this machine", done.stderr)
        self.assertFalse(self.browser.was_started())

    def test_without_a_display_no_page_is_opened(self):
        self.sign_ins()
        self.lanyard("login", "idp", environment={"DISPLAY": None})
        self.assertFalse(self.browser.was_started())
        screen = self.on_terminal("login", "idp", environment={"DISPLAY": None})
        self.assertIn("use `lanyard login --paste` or `--device`", " ".join(screen.text.split()))
        screen = self.on_terminal("login", "idp", "--no-browser")
        self.assertNotIn("--paste", screen.text)

    def test_only_web_addresses_are_opened(self):
        self.sign_ins(begun={**BEGUN, "authorizationUrl": "file:///etc/passwd"})
        self.lanyard("login", "idp")
        self.assertFalse(self.browser.was_started())
