"""`lanyard provider add URL`: the issuer is found, and what is missing is asked for or named."""

import json

from fake_agent import Error
from people import IDP, accounts
from person import Person

ENDPOINTS = {"authorization": "https://login.corp.example/authorize", "token": "https://login.corp.example/token",
             "revocation": "https://login.corp.example/revoke"}


def found(issuer="https://login.corp.example", **members):
    return {"issuer": issuer, "isElsewhere": False, "endpoints": ENDPOINTS, "tokenEndpointAuthMethods": [],
            "pkce": True, "dpop": False, **members}


class ProviderURLTests(Person):
    def setUp(self):
        super().setUp()
        self.fake = self.agent(accounts(providers=(IDP,)))
        self.fake.answers["provider.add"] = lambda params, _: {
            "provider": {**IDP, "redirect": {"host": "127.0.0.1", "path": "/callback"}, **params}}

    def add(self, *words, discovered=None):
        self.fake.answers["provider.discover"] = discovered or found()
        self.answer("provider", "add", *words)
        return self.fake.params("provider.add")

    def missing(self, option, *words, discovered=None):
        self.fake.answers["provider.discover"] = discovered or found()
        told = self.refused(2, "provider", "add", *words)
        self.assertIn(f"The option {option} is missing.", told)
        self.assertNotIn("provider.add", self.fake.methods())
        return told

    def test_url_with_a_client_id_needs_nothing_else(self):
        url = "https://login.corp.example/account/settings?x=1#top"
        self.assertEqual(self.add(url, "--client-id", "app"),
                         {"name": "corp", "issuer": "https://login.corp.example", "clientId": "app"})
        self.assertEqual(self.fake.params("provider.discover"), {"url": url})

    def test_name_and_url(self):
        self.assertEqual(self.add("work", "https://login.corp.example", "--client-id", "app")["name"], "work")
        self.assertEqual(self.add("work", "login.corp.example", "--client-id", "app")["name"], "work")
        self.assertEqual(self.fake.params("provider.discover"), {"url": "https://login.corp.example"})

    def test_host_alone_is_a_url(self):
        self.add("login.corp.example", "--client-id", "app")
        self.assertEqual(self.fake.params("provider.discover"), {"url": "https://login.corp.example"})

    def test_proposed_names(self):
        for issuer, name in {"https://login.corp.example": "corp", "https://corp.example/realms/a": "corp",
                             "http://127.0.0.1:9000": "127-0-0-1", "http://localhost:9000": "localhost",
                             "https://sso.eu.corp.example": "eu"}.items():
            self.assertEqual(self.add("https://x.example", "--client-id", "a", discovered=found(issuer))["name"], name)

    def test_without_a_terminal_each_missing_option_is_named(self):
        self.assertIn("--client-id ID", self.missing("--client-id", "https://login.corp.example"))
        google = found("https://accounts.google.com", preset="google")
        told = self.missing("--client-secret-file", "https://accounts.google.com", "--client-id", "a", discovered=google)
        self.assertIn("--auth-method none", told)
        told = self.missing("--client-id", "https://accounts.google.com", discovered=google)
        self.assertIn("Register a client at https://console.developers.google.com/auth/clients", told)
        self.assertIn("Then add --client-id ID --client-secret-file FILE.", told)
        okta = found("https://acme.okta.com", preset="okta")
        told = self.missing("--redirect", "https://acme.okta.com", "--client-id", "a", discovered=okta)
        self.assertIn("http://127.0.0.1:8765/callback", told)
        # Servers that take public clients do not all announce it.
        self.add("https://login.corp.example", "--client-id", "a",
                 discovered=found(tokenEndpointAuthMethods=["client_secret_basic"]))

    def test_options_that_are_given_are_not_missing(self):
        google = found("https://accounts.google.com", preset="google")
        self.assertEqual(
            self.add("https://accounts.google.com", "--client-id", "a", "--auth-method", "none", discovered=google),
            {"name": "google", "issuer": "https://accounts.google.com", "clientId": "a", "preset": "google",
             "tokenEndpointAuthMethod": "none"})
        okta = found("https://acme.okta.com", preset="okta")
        self.assertEqual(
            self.add("https://acme.okta.com", "--client-id", "a", "--redirect", "9000", discovered=okta)["redirect"],
            {"port": 9000})

    def test_registration_where_it_is_offered(self):
        offered = found(endpoints={**ENDPOINTS, "registration": "https://login.corp.example/register"})
        self.assertEqual(self.add("https://login.corp.example", discovered=offered),
                         {"name": "corp", "issuer": "https://login.corp.example"})

    def test_terminal_asks_for_the_rest_and_hides_the_secret(self):
        self.fake.answers["provider.discover"] = found("https://accounts.google.com", preset="google")
        screen = self.on_terminal(
            "provider", "add", "https://accounts.google.com",
            answers=[("It offers sign-in by browser, revocation, PKCE.", ""), ("Name [google]: ", "work\n"),
                     ("Client id: ", " app \n"), ("Client secret (not shown; empty for none): ", "s3cret\n")])
        self.assertEqual(screen.code, 0, screen.text)
        self.assertNotIn("s3cret", screen.text)
        self.assertEqual(self.fake.params("provider.add"),
                         {"name": "work", "issuer": "https://accounts.google.com", "clientId": "app",
                          "clientSecret": "s3cret", "preset": "google"})
        self.assertIn("Register the redirect URI http://127.0.0.1/callback", screen.text)

    def test_terminal_asks_for_the_port_that_is_registered(self):
        self.fake.answers["provider.discover"] = found("https://acme.okta.com", preset="okta")
        screen = self.on_terminal(
            "provider", "add", "https://acme.okta.com", "--client-id", "a",
            answers=[("Name [okta]: ", "\n"), ("Port [8765]: ", "\n")])
        self.assertEqual(screen.code, 0, screen.text)
        self.assertEqual(self.fake.params("provider.add")["redirect"], {"host": "127.0.0.1", "port": 8765})

    def test_terminal_asks_for_a_preset_without_a_url_too(self):
        screen = self.on_terminal(
            "provider", "add", "--preset", "okta", "--issuer", "https://acme.okta.com", "--client-id", "a",
            answers=[("Port [8765]: ", "9000\n")])
        self.assertEqual(screen.code, 0, screen.text)
        self.assertEqual(self.fake.params("provider.add")["redirect"], {"host": "127.0.0.1", "port": 9000})

    def test_end_of_input_adds_nothing(self):
        self.fake.answers["provider.discover"] = found()
        screen = self.on_terminal("provider", "add", "https://login.corp.example", answers=[("Name [corp]: ", "\x04")])
        self.assertEqual(screen.code, 130)
        self.assertNotIn("provider.add", self.fake.methods())

    def test_issuer_elsewhere_is_confirmed_or_refused(self):
        elsewhere = found("https://other.example", isElsewhere=True)
        self.fake.answers["provider.discover"] = elsewhere
        told = self.refused(2, "provider", "add", "corp", "https://login.corp.example", "--client-id", "a")
        self.assertIn("https://other.example", told)
        self.assertIn("`lanyard provider add corp https://other.example`", told)
        question = "Use https://other.example? [y/N] "
        no = self.on_terminal("provider", "add", "corp", "https://login.corp.example", "--client-id", "a",
                              answers=[(question, "n\n")])
        self.assertEqual(no.code, 2)
        self.assertNotIn("provider.add", self.fake.methods())
        yes = self.on_terminal("provider", "add", "corp", "https://login.corp.example", "--client-id", "a",
                               answers=[(question, "y\n")])
        self.assertEqual(yes.code, 0)
        self.assertEqual(self.fake.params("provider.add")["issuer"], "https://other.example")

    def test_no_document_and_no_url(self):
        self.fake.answers["provider.discover"] = Error(
            3003, "providerMisconfigured", "No document.", reason="noDiscovery")
        told = self.refused(1, "provider", "add", "https://www.corp.example", "--client-id", "a")
        self.assertIn("https://www.corp.example", told)
        self.assertIn("--issuer URL", told)
        self.fake.answers["provider.discover"] = Error(
            -32602, "invalidParams", "No.", path="/url", expected="an https URL")
        self.assertIn("https://", self.refused(2, "provider", "add", "http://corp.example", "--client-id", "a"))

    def test_server_without_documents_is_not_asked(self):
        self.answer("provider", "add", "https://git.corp.example/settings", "--preset", "github-enterprise",
                    "--client-id", "a")
        self.assertNotIn("provider.discover", self.fake.methods())
        self.assertEqual(self.fake.params("provider.add"),
                         {"name": "github-enterprise", "issuer": "https://git.corp.example/login/oauth",
                          "clientId": "a", "preset": "github-enterprise"})

    def test_url_and_issuer_exclude_each_other(self):
        self.refused(2, "provider", "add", "https://a.example", "--issuer", "https://b.example", "--client-id", "a")

    def test_json_asks_nothing(self):
        self.fake.answers["provider.discover"] = found()
        screen = self.on_terminal("provider", "add", "https://login.corp.example", "--json")
        self.assertEqual(screen.code, 2)
        self.assertIn("--client-id", screen.text)
        done = self.answer("provider", "add", "https://login.corp.example", "--client-id", "a", "--json")
        self.assertEqual(json.loads(done)["provider"]["name"], "corp")
