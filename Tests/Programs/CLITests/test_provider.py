"""Providers: added without a secret in any list of processes, shown, removed."""

import json
import os

from fake_agent import Error
from people import IDP, OTHER, WORK, accounts
from person import Person


class ProviderTests(Person):
    def setUp(self):
        super().setUp()
        self.fake = self.agent(accounts(WORK, providers=(IDP, OTHER)))

    def added(self, *words, **options):
        self.answer("provider", "add", *words, **options)
        return self.fake.params("provider.add")

    def test_add(self):
        self.assertEqual(
            self.answer("provider", "add", "idp", "--issuer", "https://idp.example", "--client-id", "app"),
            "Added idp, https://idp.example.\n")
        self.assertEqual(self.fake.params("provider.add"),
                         {"name": "idp", "issuer": "https://idp.example", "clientId": "app"})

    def test_an_unknown_provider_is_named_whatever_the_agent_says(self):
        self.fake.answers["provider.get"] = Error(3005, "providerNotFound", "In other words.")
        self.assertIn("There is no provider ipd here.", self.refused(1, "provider", "show", "ipd"))
        # One whose file is gone is there.
        self.fake.answers["provider.get"] = Error(3005, "providerNotFound", "Its file is gone.", source="/etc/lanyard/idp.json")
        self.assertIn("Its file is gone.", self.refused(1, "provider", "show", "idp"))

    def test_every_option(self):
        self.assertEqual(
            self.added("idp", "--issuer", "https://i", "--client-id", "c", "-s", "openid offline_access", "-s", "mail",
                       "--resource", "https://r", "--redirect", "localhost:8765/callback", "--reuse", "grace",
                       "--grace-seconds", "60", "--revocation-scope", "grant", "--narrowing", "keeps", "--dpop", "required", "--post-logout-redirect-uri", "https://i/bye", "--allowed-origin", "https://api",
                       "--persist-access-tokens", "--require-pkce", "--identity", "resource", "--policy", "field", "--preset", "okta"),
            {"name": "idp", "issuer": "https://i", "clientId": "c", "scopes": ["openid", "offline_access", "mail"],
             "resources": ["https://r"], "redirect": {"host": "localhost", "port": 8765, "path": "/callback"},
             "refresh": {"reuse": "grace", "graceSeconds": 60}, "revocationScope": "grant", "narrowing": "keeps", "dpop": "required", "postLogoutRedirectUri": "https://i/bye",
             "allowedOrigins": ["https://api"], "persistAccessTokens": True, "requirePkce": True, "identity": "resource", "policy": "field", "preset": "okta"})

    def test_a_preset_needs_a_client_id_and_nothing_else(self):
        self.assertEqual(self.added("--preset", "google", "--client-id", "c"),
                         {"name": "google", "clientId": "c", "preset": "google"})
        self.assertEqual(self.added("work", "--preset", "okta", "--issuer", "https://o", "--client-id", "c"),
                         {"name": "work", "issuer": "https://o", "clientId": "c", "preset": "okta"})

    def test_authorization_parameters(self):
        common = ["idp", "--issuer", "https://i", "--client-id", "c"]
        self.assertEqual(
            self.added(*common, "--authorization-parameter", "audience=https://api.example/?a=b",
                       "--authorization-parameter", "ui_locales=de")["authorizationParameters"],
            {"audience": "https://api.example/?a=b", "ui_locales": "de"})
        # Those of the preset stay.
        self.assertEqual(
            self.added("--preset", "google", "--client-id", "c", "--authorization-parameter", "hd=acme.example")[
                "authorizationParameters"], {"access_type": "offline", "hd": "acme.example"})
        # So do those that the provider has.
        self.fake.answers["provider.update"] = {"provider": IDP}
        self.fake.answers["provider.get"] = {
            "provider": {**IDP, "authorizationParameters": {"access_type": "offline", "audience": "y"}}}
        self.answer("provider", "update", "idp", "--authorization-parameter", "audience=x")
        self.assertEqual(
            self.fake.params("provider.update")["authorizationParameters"], {"access_type": "offline", "audience": "x"})
        for text in ("", "audience", "=x", "audience="):
            told = self.refused(2, "provider", "add", *common, "--authorization-parameter", text)
            self.assertIn("NAME=VALUE", told)

    def test_refused_authorization_parameter_names_the_option(self):
        self.fake.answers["provider.add"] = Error(
            -32602, "invalidParams", "These params are not valid.", path="/authorizationParameters/prompt",
            expected="a name that the protocol does not own")
        told = self.refused(2, "provider", "add", "idp", "--issuer", "https://i", "--client-id", "c",
                            "--authorization-parameter", "prompt=none")
        self.assertIn("--authorization-parameter", told)
        self.assertIn("a name that the protocol does not own", told)

    def test_show_names_the_authorization_parameters(self):
        self.fake.answers["provider.get"] = {
            "provider": {**IDP, "authorizationParameters": {"audience": "https://api.example"}}}
        self.assertRegex(self.answer("provider", "show", "idp"), r"authorization parameters +audience: https://api")

    def test_without_a_client_id_the_agent_registers_itself(self):
        self.assertEqual(self.added("idp", "--issuer", "https://i"), {"name": "idp", "issuer": "https://i"})

    def test_redirects(self):
        for text, expected in {"8765": {"port": 8765}, "8765/cb": {"port": 8765, "path": "/cb"},
                               "127.0.0.1:0": {"host": "127.0.0.1", "port": 0}, "[::1]:80": {"host": "[::1]", "port": 80}}.items():
            self.assertEqual(
                self.added("i", "--issuer", "https://i", "--client-id", "c", "--redirect", text)["redirect"], expected)
        for text in ("", "port", ":80", "70000", "localhost"):
            self.refused(2, "provider", "add", "i", "--issuer", "https://i", "--client-id", "c", "--redirect", text)

    def test_a_secret_from_a_file_or_a_pipe(self):
        path = os.path.join(self.place, "secret")
        with open(path, "w") as file:
            file.write('s3"cr\\et\n')
        common = ["idp", "--issuer", "https://i", "--client-id", "c", "--client-secret-file"]
        self.assertEqual(self.added(*common, path)["clientSecret"], 's3"cr\\et')
        self.assertEqual(self.added(*common, "-", input="from-a-pipe\r\n")["clientSecret"], "from-a-pipe")
        self.refused(2, "provider", "add", *common, "/nowhere")
        self.refused(2, "provider", "add", *common, "-", input="\n")
        self.refused(2, "provider", "add", "idp", "--issuer", "https://i", "--client-id", "c", "--client-secret", "x")

    def test_a_secret_file_as_an_editor_saved_it(self):
        path = os.path.join(self.place, "secret")
        common = ["idp", "--issuer", "https://i", "--client-id", "c", "--client-secret-file", path]

        def saved(content):
            with open(path, "wb") as file:
                file.write(content)

        for content in (b"s3cret\r\n", b"\xef\xbb\xbfs3cret", b"\xef\xbb\xbfs3cret\r\n\r\n", b"s3cret\r", b"s3cret\n\n"):
            saved(content)
            self.assertEqual(self.added(*common)["clientSecret"], "s3cret", content)
        saved("clé\n".encode())
        self.assertEqual(self.added(*common)["clientSecret"], "clé")
        # Said in words, and without a byte of the secret.
        for content, word in (("s3cret\n".encode("utf-16"), "UTF-16"), ("s3cret".encode("utf-16-be"), "UTF-16"),
                              ("clé\n".encode("latin-1"), "UTF-8"), (b"s3cret\nmore\n", "several lines")):
            saved(content)
            told = self.refused(2, "provider", "add", *common)
            self.assertIn(word, told, content)
            self.assertIn(path, told)
            self.assertNotIn("s3cret", told)

    def test_a_key_from_a_file_or_a_pipe(self):
        key = "-----BEGIN PRIVATE KEY-----\nMIG\n-----END PRIVATE KEY-----\n"
        path = os.path.join(self.place, "key.pem")
        with open(path, "w") as file:
            file.write(key)
        common = ["idp", "--issuer", "https://i", "--client-id", "c", "--auth-method", "private_key_jwt", "--client-key"]
        self.assertEqual(self.added(*common, path), {
            "name": "idp", "issuer": "https://i", "clientId": "c", "clientKey": key,
            "tokenEndpointAuthMethod": "private_key_jwt"})
        self.assertEqual(self.added(*common, "-", input=key)["clientKey"], key)
        self.refused(2, "provider", "add", *common, "/nowhere")
        self.refused(2, "provider", "add", *common, "-", input="")
        self.refused(2, "provider", "add", *common, "-", "--client-secret-file", "-", input=key)
        self.refused(2, "provider", "add", *common, path, "--auth-method", "guess")

    def test_a_secret_at_a_terminal_is_not_shown(self):
        screen = self.on_terminal("provider", "add", "idp", "--issuer", "https://i", "--client-id", "c",
                                  "--client-secret-file", "-", answers=[("(not shown): ", "typpo\x7f\x7fo\n")])
        self.assertEqual(self.fake.params("provider.add")["clientSecret"], "typo")
        self.assertNotIn("typ", screen.text)

    def test_from_adds_settings_of_a_file(self):
        path = os.path.join(self.place, "idp.json")
        with open(path, "w") as file:
            json.dump({"issuer": "https://i", "clientId": "c", "errorCodes": {"E1": "transient"}}, file, indent=2)
        self.assertEqual(self.added("idp", "--from", path, "-s", "openid"), {
            "name": "idp", "issuer": "https://i", "clientId": "c", "errorCodes": {"E1": "transient"},
            "scopes": ["openid"]})
        for text in ("", "[]", "{,}", '{"a":1,"a":2}'):
            self.refused(2, "provider", "add", "idp", "--from", "-", input=text)

    def test_missing_options_are_usage(self):
        self.refused(2, "provider", "add", "idp")
        self.refused(2, "provider", "add")
        self.refused(2, "provider", "add", "--issuer", "https://i", "--client-id", "c")
        self.refused(2, "provider", "add", "i", "--issuer", "https://i", "--client-id", "c", "--grace-seconds", "9")

    def test_list(self):
        lines = self.answer("provider", "list").splitlines()
        self.assertEqual(lines[0].split(), ["PROVIDER", "ISSUER", "CLIENT", "SCOPES"])
        self.assertEqual(lines[1].split(), ["idp", "https://idp.example", "lanyard", "openid", "offline_access"])
        self.assertEqual(json.loads(self.answer("provider", "list", "--json")), {"providers": [IDP, OTHER]})

    def test_show(self):
        self.assertRegex(self.answer("provider", "show", "idp"), "refresh +reuse: strict")
        self.fake.answers.update(accounts(WORK, providers=({**IDP, "endpoints": {"deviceAuthorization": "https://d"},
                                                            "refresh": {"onUnknownOutcome": "replayLast"}},)))
        self.assertRegex(self.answer("provider", "show", "idp"), "endpoints +device authorization: https://d")
        self.assertRegex(self.answer("provider", "show", "idp"), "refresh +on unknown outcome: replay last")
        self.fake.answers.update(accounts(WORK, providers=(IDP,)))
        self.assertEqual(json.loads(self.answer("provider", "show", "idp", "--json")), {"provider": IDP})
        for use, words in (("off", "bearer tokens"), ("auto", "where the provider offers it"), ("required", "no bearer")):
            self.fake.answers.update(accounts(WORK, providers=({**IDP, "dpop": use},)))
            self.assertRegex(self.answer("provider", "show", "idp"), f"dpop +{use}: .*{words}")
        self.assertIn("lanyard provider list", self.refused(1, "provider", "show", "none"))

    def test_show_says_why_the_refresh_rule_applies(self):
        for basis, words in {"configured": "configured", "learned": "learned: .*same refresh token",
                             "preset": "preset", "assumed": "assumed: .*not shown"}.items():
            self.fake.answers.update(accounts(WORK, providers=({**IDP, "refreshBecause": basis},)))
            self.assertRegex(self.answer("provider", "show", "idp"), f"refresh rule +.*{words}")

    PINS = ["sha256/" + "A" * 43 + "=", "sha256/" + "B" * 42 + "A="]

    def test_pin_sets_the_pins_of_one_host_and_keeps_the_others(self):
        other = {"api.example": self.PINS}
        self.fake.answers.update(accounts(WORK, providers=({**IDP, "pins": other},)))
        self.fake.answers["provider.update"] = {"provider": IDP}
        out = self.answer("provider", "pin", "idp", "IDP.example", *self.PINS, "--until", "2031-01-01")
        self.assertEqual(out, "Pinned 2 keys of idp.example for idp.\n")
        self.assertEqual(self.fake.calls[-1], ("provider.update", {
            "provider": "idp", "pins": {**other, "idp.example": self.PINS},
            "pinsExpireAt": "2031-01-01T00:00:00.000Z"}))
        self.answer("provider", "pin", "idp", "api.example", "--remove")
        self.assertEqual(self.fake.calls[-1], ("provider.update", {"provider": "idp", "pins": {}}))

    def test_pin_without_pins_shows_the_present_ones_and_changes_nothing(self):
        self.fake.answers.update(accounts(WORK, providers=({**IDP, "pins": {"idp.example": self.PINS}},)))
        new = "sha256/" + "C" * 42 + "A="
        key = {"check": "serverKey", "severity": "problem", "subject": "idp.example", "remedies": [],
               "message": f"The server idp.example proves itself with the key {new}. It is none of the 2 pinned ones."}
        self.fake.answers["provider.test"] = {"findings": [key]}
        done = self.lanyard("provider", "pin", "idp", "IDP.example")
        self.assertEqual(done.stdout.splitlines(), self.PINS)
        self.assertIn(f"  lanyard provider pin idp idp.example {new} BACKUP\n", done.stderr)
        self.assertEqual(json.loads(self.answer("provider", "pin", "idp", "idp.example", "--json")),
                         {"host": "idp.example", "pins": self.PINS, "keyInUse": new})
        self.assertEqual(self.lanyard("provider", "pin", "idp", "other.example").stdout, "other.example has no pins.\n")
        self.assertNotIn("provider.update", self.fake.methods())

    def test_trying_a_provider_says_what_does_not_work_and_ends_with_1(self):
        works = {"check": "tokenEndpoint", "severity": "ok", "message": "The token endpoint works.", "remedies": []}
        fails = {"check": "deviceEndpoint", "severity": "problem", "message": "It refuses.", "remedies": ["Ask."]}
        self.fake.answers["provider.test"] = {"findings": [works]}
        self.assertRegex(self.answer("provider", "test", "idp"), r"ok +The token endpoint works\.\n\nAll is well\.\n")
        self.assertEqual(self.fake.calls[-1], ("provider.test", {"provider": "idp"}))
        self.fake.answers["provider.test"] = {"findings": [works, fails]}
        done = self.lanyard("provider", "test", "idp")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"problem +It refuses\.\n +- Ask\.\n\n1 problem\.\n")

    def test_pin_until_alone_moves_the_end(self):
        pins = {"idp.example": self.PINS}
        self.fake.answers.update(accounts(WORK, providers=({**IDP, "pins": pins},)))
        self.fake.answers["provider.update"] = {"provider": IDP}
        self.answer("provider", "pin", "idp", "idp.example", "--until", "2032-01-01")
        self.assertEqual(self.fake.calls[-1], ("provider.update", {
            "provider": "idp", "pins": pins, "pinsExpireAt": "2032-01-01T00:00:00.000Z"}))
        self.assertIn("has no pins", self.refused(1, "provider", "pin", "idp", "b.example", "--until", "2032-01-01"))

    def test_pin_mistakes_are_usage(self):
        for words in ([self.PINS[0]], [self.PINS[0]] * 2, ["nonsense", self.PINS[1]], self.PINS + ["--remove"],
                      ["--remove", "--until", "2031-01-01"], self.PINS + ["--until", "soon"]):
            self.refused(2, "provider", "pin", "idp", "idp.example", *words)
        self.assertEqual(self.fake.calls, [])

    def test_remove(self):
        self.assertEqual(self.answer("provider", "remove", "idp"), "Removed idp.\n")
        self.assertEqual(self.fake.params("provider.remove"), {"provider": "idp"})

    def test_update_sends_only_what_was_given(self):
        self.fake.answers["provider.update"] = lambda params, _: {"provider": {**IDP, **params}}
        secret = os.path.join(self.place, "secret")
        with open(secret, "w") as file:
            file.write("s3cret\n")
        self.assertEqual(self.answer("provider", "update", "idp", "--client-secret-file", secret), "Changed idp.\n")
        self.assertEqual(self.fake.params("provider.update"), {"provider": "idp", "clientSecret": "s3cret"})
        self.answer("provider", "update", "idp", "-s", "openid mail.read", "--redirect", "8765/callback", "--reuse", "none")
        self.assertEqual(self.fake.params("provider.update"), {
            "provider": "idp", "scopes": ["openid", "mail.read"], "redirect": {"port": 8765, "path": "/callback"},
            "refresh": {"reuse": "none"}})
        self.refused(2, "provider", "update")

    def test_update_without_a_setting_changes_nothing(self):
        self.assertIn("No setting was named", self.refused(2, "provider", "update", "idp"))
        self.assertEqual(json.loads(self.refused(2, "provider", "update", "idp", "--json"))["error"]["name"], "usage")
        self.assertNotIn("provider.update", self.fake.methods())

    def test_update_names_the_accounts_that_have_to_sign_in_again(self):
        def update(params, _):
            people = self.fake.answers["account.list"]()["accounts"]
            people[0]["state"] = "interactionRequired"
            return {"provider": {**IDP, **params}}

        self.fake.answers["provider.update"] = update
        done = self.lanyard("provider", "update", "idp", "--client-id", "other")
        self.assertIn("work has to sign in again: `lanyard login --account work`.", done.stderr)

    def test_presets_are_listed_with_their_commands(self):
        shown = self.answer("provider", "presets")
        for name in json.loads(self.answer("provider", "presets", "--json"))["presets"]:
            self.assertIn(f"--preset {name}", shown)

    def test_presets_fit_80_columns_and_tell_what_to_know(self):
        screen = self.on_terminal("provider", "presets")
        self.assertLessEqual(max(len(line.rstrip("\r")) for line in screen.text.splitlines()), 80)
        self.assertIn("Issuer: https://login.microsoftonline.com/TENANT-ID/v2.0.", screen.text)
        one = self.answer("provider", "presets", "okta")
        self.assertIn("--redirect PORT", one)
        self.assertNotIn("google", one)
        servers = {server["name"]: server for server in json.loads(self.answer("provider", "presets", "--json"))["servers"]}
        self.assertEqual(servers["google"]["authorizationParameters"], {"access_type": "offline"})
        self.assertFalse(servers["entra"]["takesResource"])
        self.assertIn("Did you mean okta?", self.refused(2, "provider", "presets", "otka"))

    def presets(self, *word):
        return json.loads(self.answer("provider", "presets", *word, "--json"))["presets"]

    def test_word_finds_presets_by_name_host_variable_and_purpose(self):
        self.assertEqual(self.presets("openai"), ["openai"])
        self.assertEqual(self.presets("OPENAI_API_KEY"), ["openai"])
        self.assertEqual(self.presets("api.openai.com"), ["openai"])
        self.assertEqual(self.presets("github")[0], "github")
        self.assertIn("github-token", self.presets("github"))
        self.assertIn("stripe", self.presets("payments"))
        self.assertGreater(len(self.presets("ai")), 10)
        self.assertNotIn("stripe", self.presets("ai"))
        self.assertGreaterEqual(len(self.presets()), 100)

    def test_preset_of_a_key_tells_where_it_is_made_and_what_programs_do(self):
        one = self.answer("provider", "presets", "stripe")
        self.assertIn("lanyard provider add --preset stripe\n", one)
        self.assertIn("Make a key: https://dashboard.stripe.com/apikeys", one)
        self.assertIn("STRIPE_API_KEY", one)
        self.assertIn("refunds.create", one)
        self.assertNotIn("refunds.create", self.answer("provider", "presets", "payments"))
        self.assertIn("--allowed-origin URL", self.answer("provider", "presets", "home-assistant"))
        server = json.loads(self.answer("provider", "presets", "fastly", "--json"))["servers"][0]
        self.assertEqual(server["kind"], "secret")
        self.assertEqual(server["placement"], {"in": "header", "name": "Fastly-Key", "format": "{secret}"})
        self.assertEqual(server["whoami"]["subject"], "/user_id")
        self.assertEqual(server["revoke"]["method"], "DELETE")

    def test_preset_of_a_sign_in_tells_where_a_client_is_registered(self):
        one = self.answer("provider", "presets", "github")
        self.assertIn("Register a client: https://github.com/settings/applications/new\n", one)
        self.assertIn("Register http://127.0.0.1/callback; the port is free.\n", one)
        self.assertNotIn("Make a key", one.split("github-token:")[0])
        self.assertIn("https://HOST/user/settings/applications", self.answer("provider", "presets", "gitea"))
        # A client for the desktop has no redirect to register there, and Fastmail registers clients by itself.
        self.assertNotIn("/callback", self.answer("provider", "presets", "google"))
        self.assertNotIn("Register", self.answer("provider", "presets", "fastmail").split("fastmail-")[0])
        server = json.loads(self.answer("provider", "presets", "github", "--json"))["servers"][0]
        self.assertEqual(server["page"], "https://github.com/settings/applications/new")

    def without_a_client_id(self, *words):
        self.fake.answers["provider.add"] = Error(
            -32602, "invalidParams", "These params are not valid.", path="/clientId", expected="an id")
        told = self.refused(2, "provider", "add", *words)
        self.assertIn("The option --client-id is missing. Nothing was changed.", told)
        return told

    def test_missing_client_id_tells_where_to_register_a_client(self):
        github = self.without_a_client_id("--preset", "github")
        self.assertIn("Register a client at https://github.com/settings/applications/new; its redirect is "
                      "http://127.0.0.1/callback, with any port.", github)
        self.assertIn("Then add --client-id ID.", github)
        self.assertNotIn("Expected", github)
        self.assertIn("http://localhost/callback, with any port", self.without_a_client_id("--preset", "microsoft-personal"))
        self.assertIn("for a desktop application; it needs no redirect", self.without_a_client_id("--preset", "google"))
        dropbox = self.without_a_client_id("--preset", "dropbox")
        self.assertIn("its redirect is http://127.0.0.1:8765/callback.", dropbox)
        self.assertIn("Then add --client-id ID --redirect 8765.", dropbox)
        given = self.without_a_client_id("--preset", "dropbox", "--redirect", "localhost:9000/back")
        self.assertIn("its redirect is http://localhost:9000/back.", given)
        self.assertIn("Then add --client-id ID.", given)
        self.assertNotIn("redirect", self.without_a_client_id("--preset", "dropbox", "--redirect", "0"))
        self.assertIn("Register a client at Salesforce;", self.without_a_client_id("--preset", "salesforce"))
        self.assertIn("Expected: an id.", self.without_a_client_id("idp", "--issuer", "https://idp.example"))

    def test_remove_without_a_name_shows_the_provider_and_asks(self):
        self.fake.answers.update(accounts(providers=[IDP]))
        told = self.refused(2, "provider", "remove")
        self.assertIn("idp (https://idp.example)", told)
        self.assertIn("--yes", told)
        question = "Remove idp (https://idp.example)? [y/N] "
        self.assertEqual(self.on_terminal("provider", "remove", answers=[(question, "\n")]).code, 1)
        self.assertNotIn("provider.remove", self.fake.methods())
        self.assertEqual(self.on_terminal("provider", "remove", answers=[(question, "y\n")]).code, 0)
        self.answer("provider", "remove", "--yes")
        self.fake.answers.update(accounts(providers=[IDP, OTHER]))
        self.assertIn("other", self.refused(2, "provider", "remove", "--yes"))
