"""`lanyard import`, with stores in the forms that the other programs document, and real refresh tokens in them."""

import json
import os
import re
import shlex
import subprocess
import time
import unittest
import urllib.request

from import_fixture import Import
from person import PATIENCE_SECONDS

SCOPES = ["openid", "offline_access"]
ASK_SCOPES = ["-s", "openid offline_access"]
NO_IDENTITY = "without the scope openid the server does not say whose token it is"


class MuttOAuth2Tests(Import):
    def store(self, token, registration="google", **more):
        return json.dumps({
            "registration": registration, "authflow": "authcode", "email": "alice@acme.example", "access_token": "at",
            "access_token_expiration": "2030-01-01T00:00:00.000000", "refresh_token": token, **more})

    def here(self):
        """What the script knows and its file does not."""
        return ["--issuer", self.issuer, "--client-id", "lanyard-demo", *ASK_SCOPES]

    def test_a_token_without_an_identity_is_left_to_the_script(self):
        """The agent would refuse it, and revoke it."""
        path = self.write("tokens", self.store(self.token_of(), client_id="lanyard-demo"))
        entry = self.listed("mutt_oauth2", path, "--issuer", self.issuer)["alice@acme.example"]
        self.assertEqual((entry["importable"], entry["reason"]), ("provider", NO_IDENTITY))
        done = self.lanyard("import", "mutt_oauth2", path, "--issuer", self.issuer, "--yes", "--remove")
        self.assertEqual(done.returncode, 0, done)
        provider, = self.providers()
        self.assertEqual(provider["scopes"], ["openid", "https://mail.google.com/"])
        self.assertIn(f"Sign in: `lanyard login {provider['name']} --alias alice@acme.example`.", done.stdout)
        self.assertEqual((len(self.requests("/token")), os.path.exists(path), self.accounts()), (1, True, []))

    def test_a_plain_file_is_listed_taken_over_and_deleted(self):
        path = self.write("tokens", self.store(self.token_of()))
        entry = self.listed("mutt_oauth2", path)["alice@acme.example"]
        self.assertEqual((entry["issuer"], entry["scopes"], entry["reason"]), (
            "https://accounts.google.com", ["https://mail.google.com/"],
            "its client id is not known: --client-id ID"))
        self.assertIn("`client_secret`", entry["advice"][0])
        done = self.lanyard("import", "mutt_oauth2", path, *self.here(), "--yes", "--remove")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(done.stdout.splitlines()[-1],
                         f"Removed alice@acme.example from mutt_oauth2: {path} is deleted.")
        self.assertIn("replace the script by `lanyard token alice@acme.example`", done.stderr)
        self.assertFalse(os.path.exists(path))
        self.refreshes("alice@acme.example")

    def test_a_second_import_sends_nothing_and_the_session_lives(self):
        """The file still has the first token, and the provider would end the session if that came back."""
        path = self.write("tokens", self.store(self.token_of()))
        for _ in range(2):
            done = self.lanyard("import", "mutt_oauth2", path, *self.here(), "--yes")
            self.assertEqual(done.returncode, 0, done)
            self.assertRegex(done.stdout, "Took over .*, account alice@acme.example")
            self.refreshes("alice@acme.example")
        # The sign-in of the other program, the import, and two refreshes.
        self.assertEqual(len(self.requests("/token")), 4)
        done = self.lanyard("import", "mutt_oauth2", path, *self.here(), "--yes", "--remove")
        self.assertEqual((done.returncode, os.path.exists(path)), (0, False), done)
        self.refreshes("alice@acme.example")

    def test_a_person_who_is_here_keeps_the_alias(self):
        self.add_provider()
        self.answer("login", "idp", "--import", "--alias", "work", input=self.token_of() + "\n")
        path = self.write("tokens", self.store(self.token_of()))
        done = self.lanyard("import", "mutt_oauth2", path, *self.here(), "--yes")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(done.stdout.splitlines()[-1],
                         "Took over alice@acme.example: alice-acme at idp, account work.")
        self.assertEqual([account["alias"] for account in self.accounts()], ["work"])
        self.refreshes("work")

    def test_an_encrypted_file(self):
        self.make_key()
        text = self.encrypted(self.store(self.token_of(), client_id="lanyard-demo"))
        path = self.write("tokens", text, mode=0o644)  # the bytes are encrypted: no warning
        done = self.lanyard("import", "mutt_oauth2", path, "--issuer", self.issuer, *ASK_SCOPES, "--yes")
        self.assertEqual((done.returncode, "Other users" in done.stderr), (0, False), done)
        self.assertEqual(self.read(path), text)
        self.refreshes("alice@acme.example")

    def test_a_file_for_a_key_that_is_not_here(self):
        self.make_key()
        path = self.write("tokens", self.encrypted(self.store(self.token_of())))
        told = self.refused(1, "import", "mutt_oauth2", path, environment={"GNUPGHOME": self.work})
        self.assertIn(f"{path} could not be decrypted by gpg. Nothing was changed.", told)

    def test_a_client_secret_of_the_script_comes_from_a_file(self):
        path = self.write("tokens", self.store(self.token_of(client="confidential", secret="practice-secret")))
        secret = self.write("secret", "practice-secret\n")
        result, = self.taken("mutt_oauth2", path, "--issuer", self.issuer, "--client-id", "confidential",
                             "--client-secret-file", secret, *ASK_SCOPES)
        self.assertEqual(result["alias"], "alice@acme.example")

    def test_microsoft(self):
        path = self.write("tokens", self.store("rt", "microsoft", client_id="c", tenant="acme.example"))
        entry = self.listed("mutt_oauth2", path)["alice@acme.example"]
        self.assertEqual(entry["issuer"], "https://login.microsoftonline.com/acme.example/v2.0")
        self.assertIn("https://outlook.office.com/SMTP.Send", entry["scopes"])
        self.assertEqual((entry["importable"], entry["reason"]), ("provider", NO_IDENTITY))

    def test_a_refused_token_keeps_the_file(self):
        token = self.token_of()
        self.post("/practice/revoke", user="alice")
        path = self.write("tokens", self.store(token))
        before = self.read(path)
        done = self.lanyard("import", "mutt_oauth2", path, *self.here(), "--yes", "--remove")
        self.assertEqual((done.returncode, done.stdout.count("\n")), (4, 2), done)
        self.assertIn("The store of mutt_oauth2 was not changed.", done.stderr)
        self.assertEqual((self.read(path), self.accounts(), self.providers()), (before, [], []))

    def test_a_refused_token_is_followed_by_commands_that_sign_in(self):
        """The provider that the import added is removed again, so a sign-in needs it first."""
        path = self.write("tokens", self.store("not-a-real-token"))
        done = self.lanyard("import", "mutt_oauth2", path, *self.here(), "--yes")
        self.assertEqual((done.returncode, self.providers()), (4, []), done)
        adding, signing_in = re.findall("`lanyard ([^`]*)`", done.stderr)
        self.answer(*shlex.split(adding))
        page = self.page(process := self.start(*shlex.split(signing_in), "--no-browser"))
        self.post("/practice/options", autoApprove="alice")
        with urllib.request.urlopen(page, timeout=PATIENCE_SECONDS) as answer:
            answer.read()
        _, told = process.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual(process.returncode, 0, told)
        self.assertEqual([account["subject"] for account in self.accounts()], ["alice-acme"])

    def test_a_refused_client_is_given_with_the_same_command(self):
        path = self.write("tokens", self.store(self.token_of(client="confidential", secret="practice-secret")))
        wrong, right = self.write("wrong", "not-the-secret\n"), self.write("right", "practice-secret\n")
        command = ["import", "mutt_oauth2", path, "--issuer", self.issuer, "--client-id", "confidential", *ASK_SCOPES,
                   "--yes", "--client-secret-file"]
        done = self.lanyard(*command, wrong)
        self.assertEqual((done.returncode, self.providers()), (1, []), done)
        self.assertIn("with the same command: --client-id ID, --client-secret-file FILE", done.stderr)
        for removed in ("provider update", "doctor", "lanyard login"):
            self.assertNotIn(removed, done.stderr)
        done = self.lanyard(*command, right)
        self.assertEqual(done.returncode, 0, done)

    def test_a_lost_answer_says_that_the_token_may_be_used_up(self):
        path = self.write("tokens", self.store(self.token_of()))
        self.post("/practice/faults", path="/token", effect="dropAfterProcessing")
        done = self.lanyard("import", "mutt_oauth2", path, *self.here(), "--yes")
        self.assertEqual((done.returncode, self.providers()), (1, []), done)
        self.assertIn("was not changed, but the token in it may be used up.", done.stderr)
        self.assertNotIn("begins a new sign-in", done.stderr)

    def test_what_is_no_token_file(self):
        for text in ("[]", "{}", '{"registration": "google"}', '{"registration": 1, "refresh_token": "r"}', "{"):
            with self.subTest(text):
                path = self.write("tokens", text)
                told = self.refused(1, "import", "mutt_oauth2", path, "--yes", "--remove")
                self.assertIn(f"{path} can't be understood. Expected: a JSON object with registration", told)
                self.assertEqual(self.read(path), text.encode())
        self.assertIn("Name the file", self.refused(2, "import", "mutt_oauth2"))

    def test_an_account_that_never_signed_in(self):
        path = self.write("tokens", self.store(""))
        self.assertIn("never signed in", self.listed("mutt_oauth2", path)["alice@acme.example"]["reason"])


class FileTests(Import):
    """How files of other programs are read and changed, shown with those of mutt_oauth2 and MSAL."""

    def store(self, token):
        return json.dumps({"registration": "google", "email": "alice", "refresh_token": token,
                           "client_id": "lanyard-demo"})

    def test_what_others_can_do_with_a_file_is_told(self):
        for mode, told in ((0o600, None), (0o640, "Other users can read"), (0o602, "Other users can write")):
            path = self.write("tokens", self.store("rt"), mode=mode)
            done = self.lanyard("import", "mutt_oauth2", path)
            self.assertEqual(done.returncode, 0, done)
            warnings = [line for line in done.stderr.splitlines() if "Other users" in line]
            self.assertEqual(len(warnings), 1 if told else 0, done.stderr)
            self.assertIn(told or "", done.stderr)

    def test_a_link_is_read_and_never_removed_through(self):
        path = self.write("tokens", self.store(self.token_of()))
        link = os.path.join(self.home, "link")
        os.symlink(path, link)
        done = self.lanyard("import", "mutt_oauth2", link, "--issuer", self.issuer, *ASK_SCOPES, "--yes", "--remove")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("alice was taken over", done.stderr)
        self.assertEqual([account["alias"] for account in self.accounts()], ["alice"])

    def test_a_link_of_another_user_is_not_followed(self):
        if os.geteuid() != 0:
            return  # only root can make one
        path = self.write("tokens", self.store("rt"))
        link = os.path.join(self.home, "link")
        os.symlink(path, link)
        os.lchown(link, 65534, 65534)
        self.assertIn("a link that belongs to another user", self.refused(1, "import", "mutt_oauth2", link))
        os.chown(path, 65534, 65534)
        self.assertIn("belongs to another user", self.lanyard("import", "mutt_oauth2", path).stderr)

    def test_what_is_no_plain_file_or_too_large_is_not_read(self):
        os.mkfifo(os.path.join(self.home, "pipe"))
        self.assertIn("not a plain file", self.refused(1, "import", "mutt_oauth2", os.path.join(self.home, "pipe")))
        path = self.write("tokens", b"{" + b" " * (4 << 20))
        self.assertIn("more than 4 MiB", self.refused(1, "import", "mutt_oauth2", path))
        self.assertIn("There is no file", self.refused(2, "import", "mutt_oauth2", "/nowhere"))

    def test_a_file_that_changed_while_the_person_was_asked_is_kept(self):
        store = MSALTests.cache({"alice": self.token_of()})
        path = self.write("cache", json.dumps(store))
        newer = json.dumps(MSALTests.cache({"alice": "a-newer-token"}))

        def write_and_agree(_):
            self.write("cache", newer)
            return "y\n"
        screen = self.on_terminal("import", "msal", path, "--issuer", self.issuer, "--client-id", "lanyard-demo",
                                  "--remove", size=(24, 160), answers=[("Take over", write_and_agree)])
        self.assertEqual(screen.code, 1, screen.text)
        self.assertIn("was taken over, but not removed", screen.text)
        self.assertIn("has changed meanwhile", screen.text)
        self.assertEqual(self.read(path), newer.encode())


class MSALTests(Import):
    REALM = "11111111-2222-3333-4444-555555555555"

    @classmethod
    def cache(cls, tokens):
        """A cache as MSAL for Python writes it (unified cache schema), with an account for each user."""
        def key(*parts):
            return "-".join(parts).lower()
        environment, client = "login.microsoftonline.com", "04b07795-8ddb-461a-bbee-02f9e1bf7b46"
        accounts, refresh, access = {}, {}, {}
        for user, token in tokens.items():
            home = f"uid-{user}.{cls.REALM}"
            for realm in ("00000000-guest", cls.REALM):
                accounts[key(home, environment, realm)] = {
                    "home_account_id": home, "environment": environment, "realm": realm, "local_account_id": user,
                    "username": f"{user}@acme.example", "authority_type": "MSSTS"}
            refresh[key(home, environment, "refreshtoken", client, "")] = {
                "credential_type": "RefreshToken", "secret": token, "home_account_id": home,
                "environment": environment, "client_id": client, "target": "https://mail.example/.default",
                "last_modification_time": "1893456000", "family_id": "1"}
            access[key(home, environment, "accesstoken", client, cls.REALM)] = {
                "credential_type": "AccessToken", "secret": f"at-{user}", "home_account_id": home, "client_id": client,
                "environment": environment, "realm": cls.REALM, "target": "https://mail.example/.default",
                "cached_at": "1893456000", "expires_on": "1893459600", "extended_expires_on": "1893459600"}
        return {"AccessToken": access, "Account": accounts, "IdToken": {}, "RefreshToken": refresh, "AppMetadata": {}}

    @classmethod
    def text(cls, tokens):
        return json.dumps(cls.cache(tokens))

    def setUp(self):
        super().setUp()
        self.secrets += ["at-alice", "at-bob"]
        self.tokens = {"alice": self.token_of("alice"), "bob": self.token_of("bob")}
        self.path = self.write(".azure/msal_token_cache.json", json.dumps(self.cache(self.tokens), indent=2), mode=0o640)

    def here(self):
        return ["--issuer", self.issuer, "--client-id", "lanyard-demo"]

    def test_the_usual_file_is_listed_with_the_home_tenant(self):
        entry = self.listed("msal")["alice@acme.example"]
        self.assertEqual(entry, {
            "name": "alice@acme.example", "issuer": f"https://login.microsoftonline.com/{self.REALM}/v2.0",
            "server": "login.microsoftonline.com", "user": "alice@acme.example", "clientSecretSet": False,
            "clientId": "04b07795-8ddb-461a-bbee-02f9e1bf7b46", "importable": "token",
            "scopes": ["https://mail.example/.default", "openid", "profile", "offline_access"]})

    def test_an_account_of_a_program_that_names_no_tenant(self):
        cache = self.cache({"alice": "rt"})
        for account in cache["Account"].values():
            account["realm"] = {self.REALM: "organizations"}.get(account["realm"], account["realm"])
        entry = self.listed("msal", self.write("cache", json.dumps(cache)))["alice@acme.example"]
        self.assertEqual(entry["issuer"], "https://login.microsoftonline.com/organizations/v2.0")

    def test_only_what_was_taken_over_is_cut_out(self):
        result, = self.taken("msal", *self.here(), "--only", "alice@acme.example", "--remove")
        self.assertEqual((result["alias"], result["removed"]), ("alice@acme.example", True))
        left, expected = json.loads(self.read(self.path)), self.cache(self.tokens)
        expected["RefreshToken"] = {
            key: token for key, token in expected["RefreshToken"].items() if token["secret"] == self.tokens["bob"]}
        self.assertEqual(left, expected)
        self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o640)
        self.assertEqual(os.listdir(os.path.dirname(self.path)), ["msal_token_cache.json"])
        self.refreshes("alice@acme.example")

    def test_both_are_cut_out_one_after_the_other(self):
        self.assertEqual([result["removed"] for result in self.taken("msal", *self.here(), "--remove")], [True, True])
        left = json.loads(self.read(self.path))
        self.assertEqual((left["RefreshToken"], len(left["Account"])), ({}, 4))

    def test_a_refused_token_stays_and_the_other_goes(self):
        self.post("/practice/revoke", user="alice")
        alice, bob = sorted(self.taken("msal", *self.here(), "--remove", code=1), key=lambda result: result["name"])
        self.assertEqual((alice["removed"], bob["removed"]), (False, True))
        self.assertEqual([token["secret"] for token in json.loads(self.read(self.path))["RefreshToken"].values()],
                         [self.tokens["alice"]])

    def test_all_refused(self):
        self.post("/practice/revoke", user="alice")
        self.post("/practice/revoke", user="bob")
        before = self.read(self.path)
        self.assertEqual(self.lanyard("import", "msal", *self.here(), "--yes", "--remove").returncode, 4)
        self.assertEqual((self.read(self.path), self.providers()), (before, []))

    def test_what_is_no_cache(self):
        broken = self.cache(self.tokens)
        del next(iter(broken["RefreshToken"].values()))["client_id"]
        for text in ("", "[]", "{}", '{"RefreshToken": []}', '{"other": {}}', json.dumps(broken)):
            with self.subTest(text[:30]):
                path = self.write("cache", text)
                told = self.refused(1, "import", "msal", path, "--yes", "--remove")
                self.assertIn(f"{path} can't be understood. Expected: a token cache of MSAL", told)
                self.assertEqual(self.read(path), text.encode())

    def test_the_token_goes_to_no_other_issuer(self):
        """The documents below an issuer's URL may name another one."""
        done = self.lanyard("import", "msal", "--issuer", self.issuer + "/elsewhere", "--client-id", "lanyard-demo",
                            "--yes")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("The token was not sent to it.", done.stderr)
        self.assertEqual(self.requests("/token"), self.requests("/token")[:2])  # those of the two sign-ins


class GCMTests(Import):
    def setUp(self):
        super().setUp()
        self.host = self.issuer.removeprefix("http://")

    def configure(self, name, value):
        self.run_program("git", "config", "--global", f"credential.{self.issuer}.{name}", value)

    def store(self, token, service=None, account="oauth2"):
        return f"{token}\nservice={service or self.issuer + '/refresh_token'}\naccount={account}\n"

    def plain(self, token):
        return self.write(f".gcm/store/git/http/{self.host}/refresh_token/oauth2.credential", self.store(token))

    def test_the_plain_store(self):
        self.configure("gitLabDevClientId", "confidential")
        self.configure("gitLabDevClientSecret", "practice-secret")
        path = self.plain(self.token_of(client="confidential", secret="practice-secret"))
        other = self.write(".gcm/store/git/https/github.com/alice.credential",
                           self.store("gho_x", "https://github.com", "alice"))
        self.secrets.append("gho_x")
        entries = self.listed("gcm")
        self.assertEqual({name: entry["importable"] for name, entry in entries.items()},
                         {"github.com": "none", self.host: "provider"})
        self.assertEqual((entries[self.host]["clientId"], entries[self.host]["clientSecretSet"]), ("confidential", True))
        self.assertEqual(entries["github.com"]["reason"], "a password or an access token without a refresh token")
        self.assertEqual(entries[self.host]["reason"], NO_IDENTITY)
        result, = self.taken("gcm", "--only", self.host, *ASK_SCOPES, "--remove")
        self.assertTrue(result["removed"])
        self.assertEqual((os.path.exists(path), os.path.exists(other)), (False, True))
        self.refreshes(result["alias"])

    def test_a_client_that_is_built_in_has_to_be_named(self):
        self.plain(self.token_of())
        entry = self.listed("gcm")[self.host]
        self.assertEqual(entry["reason"], "its client id is not known: --client-id ID")
        self.assertIn("built into GCM", entry["advice"][0])
        result, = self.taken("gcm", "--client-id", "lanyard-demo", *ASK_SCOPES)
        self.assertIn("account", result)

    def test_a_server_by_configuration_has_its_endpoints_there(self):
        self.configure("oauthClientId", "lanyard-demo")
        self.configure("oauthAuthorizeEndpoint", "/authorize")
        self.configure("oauthTokenEndpoint", self.issuer + "/token")
        self.configure("oauthScopes", "openid offline_access")
        service = self.issuer.replace("://", "://refresh_token.")
        self.write(f".gcm/store/git/http/refresh_token.{self.host}/alice.credential",
                   self.store(self.token_of(), service, "alice"))
        result, = self.taken("gcm", "--remove")
        self.assertIn("account", result)
        provider, = self.providers()
        self.assertEqual((provider["issuer"], provider["scopes"]), (self.issuer, SCOPES))
        self.assertEqual(self.lanyard("import", "gcm").stderr, "gcm has no accounts here.\n")

    def test_the_store_of_pass(self):
        self.make_key()
        self.configure("gitLabDevClientId", "lanyard-demo")
        self.run_program("pass", "init", "alice@acme.example")
        path = self.write(f".password-store/git/http/{self.host}/refresh_token/oauth2.gpg",
                          self.encrypted(self.store(self.token_of())))
        # Neither the rest of the person's passwords nor what is no refresh token is decrypted.
        self.write(".password-store/bank.gpg", b"not to be opened")
        self.write(".password-store/git/https/github.com/alice.gpg", b"not to be opened")
        self.write(".password-store/git/https/gitlab.com/refresh_token/oauth2.gpg", b"\x85for another key")
        self.assertEqual({name: entry["reason"] for name, entry in self.listed("gcm").items()}, {
            self.host: NO_IDENTITY, "refresh_token": "gpg does not open it",
            "github.com": "a password or an access token without a refresh token"})
        result, = self.taken("gcm", *ASK_SCOPES, "--remove")
        self.assertEqual((result["removed"], os.path.exists(path)), (True, False))

    def test_the_keyring(self):
        self.open_keyring()
        self.configure("gitLabDevClientId", "lanyard-demo")
        self.keep(self.token_of(), f"git:{self.issuer}/refresh_token", "oauth2")
        self.secrets.append("gho_x")
        self.keep("gho_x", "git:https://github.com", "alice")
        log = self.watch("secret-tool", "git")
        self.assertEqual({name: (entry["user"], entry["importable"]) for name, entry in self.listed("gcm").items()},
                         {self.host: ("oauth2", "provider"), "github.com": ("alice", "none")})
        result, = self.taken("gcm", *ASK_SCOPES, "--remove")
        self.assertTrue(result["removed"])
        self.assertEqual(list(self.listed("gcm")), ["github.com"])
        # The secret of github.com was not even asked for.
        service = "xdg:schema com.microsoft.GitCredentialManager service"
        self.show_watched(log, f"secret-tool lookup {service} git:{self.issuer}/refresh_token account oauth2")
        self.assertNotIn("lookup " + service + " git:https://github.com", self.shown[-1])
        self.refreshes(result["alias"])

    def open_keyring(self):
        """A session bus of the test's own, and a keyring at it."""
        bus = subprocess.Popen(["dbus-daemon", "--session", "--nofork", "--print-address"], env=self.settings(None),
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.end_at_the_end(bus)
        self.environment["DBUS_SESSION_BUS_ADDRESS"] = bus.stdout.readline().strip()
        keyring = subprocess.Popen(
            ["gnome-keyring-daemon", "--foreground", "--components=secrets", "--unlock"], env=self.settings(None),
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.end_at_the_end(keyring)
        keyring.stdin.write(b"password")
        keyring.stdin.close()
        asked = ["dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.DBus", "/",
                 "org.freedesktop.DBus.NameHasOwner", "string:org.freedesktop.secrets"]
        end = time.monotonic() + PATIENCE_SECONDS
        while b"boolean true" not in self.run_program(*asked):
            self.assertLess(time.monotonic(), end, "the keyring does not start")

    def end_at_the_end(self, process):
        if process.stdout:
            self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

    def keep(self, secret, service, account):
        self.run_program("secret-tool", "store", "--label", service, "xdg:schema",
                         "com.microsoft.GitCredentialManager", "service", service, "account", account,
                         input=secret.encode())

    def test_a_refused_token_keeps_the_file(self):
        path = self.plain(self.token_of())
        self.post("/practice/revoke", user="alice")
        done = self.lanyard("import", "gcm", "--client-id", "lanyard-demo", *ASK_SCOPES, "--yes", "--remove")
        self.assertEqual(done.returncode, 4, done)
        self.assertTrue(os.path.exists(path))

    def test_what_is_no_credential(self):
        for text in ("", "token", "token\naccount=a\n", "\nservice=https://a\n", "token\nservice=nowhere\n"):
            with self.subTest(text):
                path = self.plain("x")
                self.write(path, text)
                told = self.refused(1, "import", "gcm", "--yes", "--remove")
                self.assertIn(f"{path} can't be understood. Expected: a secret on the first line", told)
                self.assertEqual(self.read(path), text.encode())


class GHTests(Import):
    HOSTS = ("github.com:\n    git_protocol: https\n    users:\n        monalisa:\n            oauth_token: gho_one\n"
             "        hubot:\n    user: monalisa\n    oauth_token: gho_one\n"
             "\"ghe.example\":\n    user: bob\n    oauth_token: 'gho_two'\n    git_protocol: ssh\n")

    def setUp(self):
        super().setUp()
        self.secrets += ["gho_one", "gho_two"]
        self.path = self.write(".config/gh/hosts.yml", self.HOSTS)

    def test_accounts_are_listed_with_the_way_to_sign_in(self):
        entries = self.listed("gh")
        self.assertEqual({name: (entry["server"], entry["user"], entry["reason"]) for name, entry in entries.items()}, {
            "github.com/monalisa": ("https://github.com", "monalisa", "gh's tokens have no refresh token"),
            "github.com/hubot": ("https://github.com", "hubot",
                                 "its token is in the keyring, and has no refresh token"),
            "ghe.example/bob": ("https://ghe.example", "bob", "gh's tokens have no refresh token")})
        self.assertIn("`lanyard provider add --preset github --client-id ID`", entries["github.com/monalisa"]["advice"][0])
        self.assertIn("--issuer https://ghe.example/login/oauth", entries["ghe.example/bob"]["advice"][0])

    def test_a_provider_that_is_here_needs_only_a_sign_in(self):
        self.answer("provider", "add", "--preset", "github", "--client-id", "c")
        self.assertEqual(self.listed("gh")["github.com/hubot"]["advice"],
                         ["Sign in: `lanyard login github --device`."])

    def test_nothing_is_taken_over_or_removed(self):
        done = self.lanyard("import", "gh", "--yes", "--remove")
        self.assertEqual(done.returncode, 0, done)
        self.assertTrue(done.stderr.endswith("Nothing here can be taken over. Nothing was changed.\n"), done.stderr)
        self.assertEqual(done.stderr.count("--preset github "), 1)
        self.refused_by_name("github.com/hubot")
        # On a screen the reasons stand below the table, in full.
        screen = self.on_terminal("import", "gh")
        self.assertIn("\ngithub.com/monalisa, ghe.example/bob: gh's tokens have no refresh token\n", screen.text)
        self.assertRegex(screen.text, r"(?m)github.com/hubot.* no$")
        self.assertEqual(self.read(self.path), self.HOSTS.encode())

    def refused_by_name(self, name):
        done = self.lanyard("import", "gh", "--yes", "--only", name)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("has no account nobody", self.refused(2, "import", "gh", "--only", "nobody"))

    def test_quoted_and_commented_users(self):
        self.write(".config/gh/hosts.yml",
                   "\ufeff---\r\n# made by hand\r\ngithub.com: # work\r\n    user: \"monalisa\" # mine, not hubot's\r\n"
                   "    oauth_token: gho_one # secret\r\n\"ghe.example\": # home\n    user: 'o''hara'   \n"
                   "    oauth_token: \"\"\nother.example:\n    user: bob # with a comment\n    git_protocol: ssh\n")
        self.assertEqual({name: entry["user"] for name, entry in self.listed("gh").items()},
                         {"github.com/monalisa": "monalisa", "ghe.example/o'hara": "o'hara", "other.example/bob": "bob"})
        # What is not plain is not guessed at.
        for user in ("&a monalisa", "*a", "!!str monalisa", "|", "[monalisa]", '"mona\\x6cisa"', '"monalisa', "'a' b"):
            with self.subTest(user):
                self.write(".config/gh/hosts.yml", f"github.com:\n    user: {user}\n    oauth_token: gho_one\n")
                self.assertIn("plain or quoted word", self.refused(1, "import", "gh"))

    def test_a_key_that_stands_twice_or_is_taken_over_is_not_guessed_at(self):
        host = "github.com:\n    user: monalisa\n    oauth_token: gho_one\n"
        for text in (host + "    user: hubot\n", host + "---\n" + host, "a: &a\n    user: eve\n" + host,
                     "a:\n    user: eve\n" + host + "    <<: *a\n",
                     "github.com:\n    users:\n        hubot:\n        hubot:\n    user: hubot\n"):
            with self.subTest(text):
                path = self.write(".config/gh/hosts.yml", text)
                self.assertIn(f"{path} can't be understood.", self.refused(1, "import", "gh"))

    def test_what_is_no_hosts_file(self):
        for text in ("{}", "- github.com\n", "github.com\n", "github.com:\n", "\tgithub.com:\n\t\tuser: a\n", "a: b\n"):
            with self.subTest(text):
                path = self.write(".config/gh/hosts.yml", text)
                self.assertIn(f"{path} can't be understood. Expected: hosts.yml of gh", self.refused(1, "import", "gh"))
        self.write(".config/gh/hosts.yml", "")
        self.assertEqual(self.lanyard("import", "gh").stderr, "gh has no accounts here.\n")


class PizauthTests(Import):
    def configuration(self):
        return f'''
auth_notify_cmd = "notify-send \\"$PIZAUTH_ACCOUNT\\""; // a comment with "quotes"
refresh_at_least = 90m;
account "mail" {{
  auth_uri = "{self.issuer}/authorize";
  token_uri = "{self.issuer}/token";
  client_id = "confidential";
  client_secret = "practice-secret";
  scopes = ["openid", "offline_access"];
  auth_uri_fields = {{ "prompt": "consent" }};
  login_hint = "alice@acme.example";
}}
account "office" {{
  auth_uri = "https://login.microsoftonline.com/common/oauth2/v2.0/authorize";
  token_uri = "https://login.microsoftonline.com/common/oauth2/v2.0/token";
  client_id = "c\\"\\\\";
  scopes = ["https://outlook.office365.com/SMTP.Send"];
}}
'''

    def setUp(self):
        super().setUp()
        self.path = self.write(".config/pizauth.conf", self.configuration())

    def test_providers_are_listed_and_why_no_token(self):
        entries = self.listed("pizauth")
        self.assertEqual({name: (entry["issuer"], entry["clientId"], entry["clientSecretSet"], entry["importable"])
                          for name, entry in entries.items()}, {
            "mail": (self.issuer, "confidential", True, "provider"),
            "office": ("https://login.microsoftonline.com/common/v2.0", 'c"\\', False, "provider")})
        self.assertEqual(entries["mail"]["scopes"], SCOPES)
        self.assertEqual(entries["mail"]["user"], "alice@acme.example")
        self.assertEqual(entries["mail"]["reason"], "pizauth does not give its refresh tokens away")

    def test_the_provider_is_added_and_the_person_signs_in(self):
        done = self.lanyard("import", "pizauth", "--only", "mail", "--yes", "--remove")
        self.assertEqual(done.returncode, 0, done)
        provider, = self.providers()
        name = provider["name"]
        self.assertEqual(done.stdout.splitlines()[-2:],
                         [f"Added the provider {name}.", f"Sign in: `lanyard login {name} --alias mail`."])
        self.assertEqual((provider["issuer"], provider["clientSecretSet"], provider["scopes"]), (self.issuer, True, SCOPES))
        self.assertEqual(self.read(self.path), self.configuration().encode())
        self.assertIn("account mail", self.sign_in_at(name))

    def sign_in_at(self, name):
        import urllib.request
        process = self.start("login", name, "--alias", "mail")
        address = self.page(process) + "&login_hint=alice"
        self.post("/practice/options", autoApprove="alice")
        urllib.request.urlopen(address, timeout=20).close()
        out, err = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 0, err)
        return out

    def test_what_is_no_configuration(self):
        for text in ("account", 'account "a" {', 'account "a" { client_id = "c"; }', 'a = "b', "a = b", "{}", "a b;"):
            with self.subTest(text):
                path = self.write(".config/pizauth.conf", text)
                told = self.refused(1, "import", "pizauth", "--yes")
                self.assertIn(f"{path} can't be understood. Expected: pizauth.conf", told)


class NetrcTests(Import):
    NETRC = ('# hosts of mine\nmachine api.acme.example login alice password "one secret\\"c"\n\n'
             "machine other.example\n  login bob\n  password #secret2 # kept\n"
             "machine ftp.acme.example login alice password secret3\nmacdef init\nput a\n\n"
             "machine twice.acme.example login alice password secret4 machine last.example login x password secret5\n"
             "default login anonymous password secret6\n")

    def setUp(self):
        super().setUp()
        self.secrets += ["one secret", "#secret2", "secret3", "secret4", "secret5", "secret6"]
        self.path = self.write(".netrc", self.NETRC)
        self.add_provider()
        self.answer("login", "idp", "--import", "--alias", "work", input=self.token_of() + "\n")
        self.answer("rule", "add", "https://api.acme.example", "work")

    def test_hosts_are_listed_with_the_account_that_answers(self):
        entries = self.listed("netrc")
        self.assertEqual({name: (entry.get("user"), entry.get("answeredBy")) for name, entry in entries.items()}, {
            "api.acme.example": ("alice", "work"), "other.example": ("bob", None), "ftp.acme.example": ("alice", None),
            "twice.acme.example": ("alice", None), "last.example": ("x", None), "default": ("anonymous", None)})
        self.assertEqual({entry["importable"] for entry in entries.values()}, {"none"})
        self.assertIn("lanyard credential netrc https://api.acme.example", entries["api.acme.example"]["advice"][0])
        self.assertIn("lanyard rule add https://other.example ACCOUNT", entries["other.example"]["advice"][0])
        self.assertEqual(self.read(self.path), self.NETRC.encode())

    def test_only_answered_hosts_are_removed(self):
        result, = self.taken("netrc", "--remove")
        self.assertEqual((result["name"], result["removed"]), ("api.acme.example", True))
        self.assertEqual(self.read(self.path).decode(),
                         self.NETRC.replace('machine api.acme.example login alice password "one secret\\"c"\n', ""))
        done = self.lanyard("import", "netrc", "--yes", "--remove")
        self.assertIn("Nothing here can be taken over.", done.stderr)

    def test_an_entry_in_the_middle_of_a_line_and_one_with_a_macro(self):
        for host in ("twice", "ftp"):
            self.answer("rule", "add", f"https://{host}.acme.example", "work")
        results = {result["name"]: result for result in self.taken("netrc", "--remove", code=1)}
        self.assertEqual({name: result["removed"] for name, result in results.items()},
                         {"api.acme.example": True, "twice.acme.example": True, "ftp.acme.example": False})
        self.assertIn("macdef", results["ftp.acme.example"]["failure"]["error"]["message"])
        left = self.read(self.path).decode()
        self.assertIn("\n machine last.example login x password secret5\n", left)
        self.assertIn("machine ftp.acme.example login alice password secret3\nmacdef init\nput a\n\n", left)
        self.assertNotIn("secret4", left)

    def test_a_terminal_asks_before_it_removes(self):
        screen = self.on_terminal("import", "netrc", "--remove", size=(24, 160),
                                  answers=[("Remove api.acme.example from .netrc?", "n\n")])
        self.assertEqual((screen.code, self.read(self.path)), (0, self.NETRC.encode()), screen.text)

    def test_what_is_no_netrc(self):
        for text in ("machine", "login a", "machine a frob b", "password x", "macdef a\n"):
            with self.subTest(text):
                path = self.write(".netrc", text)
                told = self.refused(1, "import", "netrc", "--yes", "--remove")
                self.assertIn(f"{path} can't be understood. Expected: lines of .netrc", told)
                self.assertEqual(self.read(path), text.encode())


class CommandTests(Import):
    def test_usage(self):
        for words in (["frob"], ["gh", "--account", "a"], ["gh", "--pw-file", "x"],
                      ["oidc-agent", "--pw-file", "-", "--client-secret-file", "-"]):
            self.refused(2, "import", *words)

    def test_without_an_agent_it_lists_and_takes_nothing_over(self):
        token = self.token_of()
        path = self.write("tokens", json.dumps({"registration": "x", "refresh_token": token, "client_id": "lanyard-demo"}))
        entry = self.listed("mutt_oauth2", path, "--issuer", self.issuer, "--no-start")["x"]
        self.assertEqual(entry["reason"], "its scopes are not known: --scope openid, if it has that")
        done = self.lanyard("import", "mutt_oauth2", path, "--issuer", self.issuer, *ASK_SCOPES, "--yes", "--no-start")
        self.assertEqual(done.returncode, 3, done)
        self.assertIn("x was not taken over: No agent answers", done.stderr)

    def test_a_locked_vault(self):
        path = self.write("tokens", MSALTests.text({"alice": "rt", "bob": "rt"}))
        phrase = self.write("phrase", "correct horse\n")
        self.assertEqual(self.lanyard("key", "add", "passphrase", "--pw-file", phrase).returncode, 0)
        self.answer("lock")
        done = self.lanyard("import", "msal", path, "--yes", "--json")
        self.assertEqual((done.returncode, len(json.loads(done.stdout)["results"])), (8, 1), done)


if __name__ == "__main__":
    unittest.main()
