"""Keys as accounts: `lanyard login` at a provider of keys, `lanyard rotate`, and what tools get."""

import base64
import json
import os
import urllib.error
import urllib.request

from person import PATIENCE_SECONDS
from test_hints import advice
from test_real import RealProvider


class RealSecrets(RealProvider):
    """A person with keys of a service on this machine."""

    def setUp(self):
        super().setUp()
        settings = {
            "kind": "secret", "allowedOrigins": [self.issuer],
            "whoami": {"url": self.issuer + "/keyed/whoami", "subject": "/id", "email": "/profile/email"},
            "revoke": {"method": "POST", "url": self.issuer + "/keyed/revoke", "body": '{"secret":"{secret}"}'},
        }
        path = os.path.join(self.home, "keys.json")
        with open(path, "w") as file:
            json.dump(settings, file)
        self.answer("provider", "add", "keys", "--from", path)

    def key(self, user="alice@acme"):
        return json.loads(self.post("/practice/secrets", user=user))["secret"]

    def file(self, secret, end="\n"):
        path = os.path.join(self.home, "key")
        with open(path, "w") as file:
            file.write(secret + end)
        os.chmod(path, 0o600)
        return path

    def answer_with_note(self, *words):
        """A command that succeeds and says more on stderr."""
        done = self.lanyard(*words)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout

    def account(self, name):
        return json.loads(self.answer("rpc", "account.get", json.dumps({"account": name})))

    def asks(self, key):
        """The status of the service for a key."""
        request = urllib.request.Request(self.issuer + "/keyed/whoami", headers={"Authorization": "Bearer " + key})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
                return answer.status
        except urllib.error.HTTPError as refusal:
            return refusal.code


class LoginTests(RealSecrets):
    def test_a_key_from_a_file_becomes_an_account(self):
        key = self.key()
        said = self.answer("login", "keys", "--key-file", self.file(key), "--alias", "work", "--username", "pat",
                           "--expires", "2190-06-30")
        self.assertIn("alice@acme.example", said)
        self.assertNotIn(key, said)
        account = self.account("work")
        self.assertEqual((account["kind"], account["subject"], account["username"], account["expiresAt"]),
                         ("secret", "41", "pat", "2190-06-30T00:00:00.000Z"))
        self.assertEqual(self.answer("token", "work"), key + "\n")

    def test_a_key_from_stdin_becomes_an_account(self):
        key = self.key()
        self.answer("login", "keys", "--key-file", "-", "--alias", "work", input=key + "\n")
        self.assertEqual(self.answer("token", "work"), key + "\n")
        self.assertEqual(
            self.answer("account", "show", "work"), "work has a key or a password, which needs no browser.\n")

    def test_a_refused_key_is_told_and_not_stored(self):
        told = self.refused(4, "login", "keys", "--key-file", self.file("key-of-nobody"))
        self.assertRegex(told, r"The provider keys \(.+\) refuses this secret. Nothing was kept.\n")
        self.assertEqual(advice(told), ["lanyard login keys"])
        self.assertEqual(json.loads(self.answer("list", "--json"))["accounts"], [])

    def test_options_of_keys_need_a_provider_of_keys(self):
        self.add_provider()
        self.refused(2, "login", "idp", "--key-file", self.file(self.key()))
        self.refused(2, "login", "keys", "--device")
        self.assertIn("what it was made for", self.refused(2, "login", "keys", "-s", "read", "--key-file", self.file(self.key())))
        self.assertEqual(json.loads(self.answer("list", "--json"))["accounts"], [])

    def test_another_key_takes_the_place_and_ends_the_old_one(self):
        old, new = self.key(), self.key()
        self.answer("login", "keys", "--key-file", self.file(old), "--alias", "work")
        self.answer("rotate", "work", "--key-file", self.file(new))
        self.assertEqual(self.answer("token", "work"), new + "\n")
        self.answer("logout", "work", "--yes")
        self.assertEqual((self.asks(old), self.asks(new)), (401, 401))

    def test_a_refused_account_gets_another_key_by_the_command_that_is_told(self):
        old, new = self.key(), self.key()
        self.answer("login", "keys", "--key-file", self.file(old), "--alias", "work")
        self.post("/practice/secrets", end=old)
        command, = [command for command in advice(self.refused(4, "token", "work", "--force")) if " rotate " in command]
        words = command.replace("ACCOUNT", "work").split()[1:]
        self.answer(*words, "--key-file", self.file(new))
        self.assertEqual(self.answer("token", "work"), new + "\n")

    def test_the_doctor_wants_another_key_and_no_sign_in(self):
        old, new = self.key(), self.key()
        self.answer("login", "keys", "--key-file", self.file(old), "--alias", "work")
        self.post("/practice/secrets", end=old)
        self.refused(4, "token", "work", "--force")
        told = json.loads(self.answer("rpc", "agent.diagnose", "{}"))["findings"]
        remedy, = [each for finding in told if finding.get("check") == "session" for each in finding["remedies"]]
        self.assertIn("`lanyard rotate work`", remedy)
        self.answer(*advice(remedy)[0].split()[1:], "--key-file", self.file(new))
        self.assertEqual(self.answer("token", "work"), new + "\n")

    def test_a_key_of_another_person_is_refused_by_rotate(self):
        key = self.key()
        self.answer("login", "keys", "--key-file", self.file(key), "--alias", "work")
        self.assertIn("another person", self.refused(4, "rotate", "work", "--key-file", self.file(self.key("bob"))))
        self.assertEqual(self.answer("token", "work"), key + "\n")

    def test_a_signed_out_account_that_is_named_takes_no_key_of_another_person(self):
        self.answer("login", "keys", "--key-file", self.file(self.key()), "--alias", "work")
        self.answer("logout", "work", "--yes")
        told = self.refused(4, "login", "--account", "work", "--key-file", self.file(self.key("bob")))
        self.assertIn("belongs to another person than the account. The account stays signed out", told)
        self.assertEqual(advice(told), ["lanyard login keys"])
        self.assertEqual([account["alias"] for account in json.loads(self.answer("list", "--json"))["accounts"]], ["work"])
        new = self.key()
        self.assertIn("account work.", self.answer("login", "--account", "work", "--key-file", self.file(new)))
        self.assertEqual(self.answer("token", "work"), new + "\n")

    def test_a_signed_out_account_whose_person_nothing_proves_takes_its_own_key_alone(self):
        self.answer("rpc", "provider.add", json.dumps(
            {"name": "mute", "kind": "secret", "allowedOrigins": [self.issuer]}))
        self.answer_with_note("login", "mute", "--key-file", self.file("first-key"))
        self.answer_with_note("logout", "mute", "--yes")
        told = self.refused(4, "login", "--account", "mute", "--key-file", self.file("second-key"))
        self.assertIn("This is not the secret that the account had", told)
        self.assertEqual(advice(told), ["lanyard login mute", "lanyard login --account mute"])
        self.assertIn("sealed until the same key is added again", self.answer("status", "mute"))
        self.answer_with_note("login", "--account", "mute", "--key-file", self.file("first-key"))
        self.assertEqual(self.answer("token", "mute"), "first-key\n")
        self.assertEqual(len(json.loads(self.answer("list", "--json"))["accounts"]), 1)

    def test_an_account_of_another_provider_is_not_taken_for_this_one(self):
        self.answer("rpc", "provider.add", json.dumps(
            {"name": "mute", "kind": "secret", "allowedOrigins": [self.issuer]}))
        self.answer("login", "keys", "--key-file", self.file(self.key()), "--alias", "work")
        told = self.refused(2, "login", "mute", "--account", "work", "--key-file", self.file("a-key"))
        self.assertIn("work is an account at keys.", told)


class UnreachableTests(RealSecrets):
    def test_the_server_that_can_not_be_reached_is_named(self):
        self.answer("rpc", "provider.add", json.dumps({
            "name": "gone", "kind": "secret", "allowedOrigins": ["https://keys.invalid"],
            "whoami": {"url": "https://keys.invalid/me", "subject": "/id"}}))
        told = self.refused(5, "login", "gone", "--key-file", self.file("a-key"))
        self.assertIn("The provider gone (keys.invalid) can't be reached. Nothing was kept", told)
        self.assertRegex(self.answer("status"), "Network +gone can't be reached\n")
        self.answer("provider", "remove", "gone")
        self.assertRegex(self.answer("status"), "Network +unknown\n")


class HelperTests(RealSecrets):
    def setUp(self):
        super().setUp()
        self.secret = self.key()
        self.answer("login", "keys", "--key-file", self.file(self.secret), "--alias", "work", "--username", "pat")
        self.other = self.key("bob")
        self.answer("login", "keys", "--key-file", self.file(self.other), "--alias", "other")
        self.answer("switch", "work")

    def git(self, host, *lines):
        asked = "".join(line + "\n" for line in ("protocol=http", "host=" + host, *lines, ""))
        told = self.answer("credential", "git", "get", input=asked)
        return dict(line.split("=", 1) for line in told.splitlines())

    def test_git_gets_the_user_name_and_the_key(self):
        host = self.issuer.removeprefix("http://")
        told = self.git(host)
        self.assertEqual((told["username"], told["password"]), ("pat", self.secret))
        told = self.git(host, "username=bob@globex.example")
        self.assertEqual((told["username"], told["password"]), ("bob@globex.example", self.other))

    def test_a_key_without_a_user_name_has_the_usual_one(self):
        self.answer("switch", "other")
        told = self.git(self.issuer.removeprefix("http://"))
        self.assertEqual((told["username"], told["password"]), ("x-access-token", self.other))

    def test_a_program_that_may_only_get_tokens_has_the_user_name_too(self):
        granted = json.loads(self.answer("rpc", "grant.create", json.dumps({
            "client": "git", "accounts": ["work"], "methods": ["account.resolve", "token.get"]})))
        self.environment["LANYARD_GRANT_FILE"] = self.file(granted["secret"])
        url = self.issuer + "/keyed/items"
        host = self.issuer.removeprefix("http://")
        told = self.git(host)
        self.assertEqual((told["username"], told["password"]), ("pat", self.secret))
        told = json.loads(self.answer("credential", "docker", "get", input=self.issuer))
        self.assertEqual((told["Username"], told["Secret"]), ("pat", self.secret))
        self.assertEqual(self.answer("credential", "netrc", url),
                         f"machine {host.partition(':')[0]} login pat password {self.secret}\n")
        self.assertEqual(self.answer("credential", "keyring", "--mode", "creds", "get", url), f"pat\n{self.secret}\n")

    def test_mail_programs_get_the_secret_alone(self):
        self.assertEqual(self.answer("credential", "password"), self.secret + "\n")
        self.assertEqual(self.answer("credential", "password", "--user", "bob@globex.example"), self.other + "\n")
        self.assertEqual(self.answer("credential", "password", "--user", "pat"), self.secret + "\n")

    def test_headers_are_those_of_the_placement(self):
        url = self.issuer + "/keyed/items"
        self.assertEqual(json.loads(self.answer("credential", "headers", url, "-u", "work")),
                         {"Authorization": "Bearer " + self.secret})
        self.answer("rpc", "provider.update", '{"provider":"keys","placement":{"in":"basic"}}')
        pair = base64.b64encode(f"pat:{self.secret}".encode()).decode()
        self.assertEqual(json.loads(self.answer("credential", "headers", url, "-u", "work")),
                         {"Authorization": "Basic " + pair})
        self.answer("rpc", "provider.update", '{"provider":"keys","placement":{"in":"query","name":"key"}}')
        self.refused(1, "credential", "headers", url, "-u", "work")
        sent = json.loads(self.answer("request", "GET", url, "-u", "work"))
        self.assertEqual((sent["login"], sent["query"]), ("alice-acme", ["key"]))


class Services(RealProvider):
    """A person with keys of services that the catalogue knows. None of these is asked whose a key is, so that no test
    reaches the network."""

    def file(self, text, name="key"):
        path = os.path.join(self.home, name)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o600)
        return path

    def log_in(self, *words):
        """At a service that tells nobody whose a key is, which is said on stderr."""
        done = self.lanyard(*words)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("was not asked about the key", done.stderr)
        return done.stdout

    def providers(self):
        return json.loads(self.answer("provider", "list", "--json"))["providers"]


class CatalogueTests(Services):

    def test_login_alone_adds_the_service_and_the_account(self):
        said = self.log_in("login", "groq", "--key-file", self.file("key-of-groq\n"))
        self.assertIn("account groq", said)
        provider, = self.providers()
        self.assertEqual((provider["name"], provider["kind"], provider["allowedOrigins"], provider["preset"]),
                         ("groq", "secret", ["https://api.groq.com"], "groq"))
        self.assertEqual(self.answer("token", "groq"), "key-of-groq\n")

    def test_login_at_a_terminal_shows_the_page_and_not_the_key(self):
        screen = self.on_terminal("login", "groq", answers=[("not shown", "key-of-groq\n")])
        self.assertEqual(screen.code, 0, screen.text)
        self.assertIn("https://console.groq.com/keys", screen.text)
        self.assertNotIn("key-of-groq", screen.text)
        self.assertEqual(self.answer("token", "groq"), "key-of-groq\n")

    def test_a_key_has_no_id_token_and_no_check_of_the_provider_is_advised(self):
        self.log_in("login", "groq", "--key-file", self.file("key-of-groq\n"))
        told = self.refused(1, "token", "groq", "--id")
        self.assertIn("has no ID token", told)
        self.assertNotIn("doctor", told)

    def test_a_sign_out_says_that_the_same_key_unseals_and_where_the_key_ends(self):
        self.log_in("login", "groq", "--key-file", self.file("key-of-groq\n"))
        done = self.lanyard("logout", "groq", "--yes")
        self.assertEqual(done.returncode, 0, done)
        told = done.stdout + done.stderr
        self.assertIn("Its data is sealed until the same key is added again.", told)
        self.assertIn("This provider offers no revocation.", told)

    def test_a_key_that_can_not_be_kept_leaves_no_provider(self):
        self.refused(2, "login", "groq", "--key-file", self.file("key\x01of groq"))
        self.assertEqual(self.providers(), [])

    def test_exec_fills_the_variables_of_the_service(self):
        self.log_in("login", "stripe", "--key-file", self.file("key-of-stripe"))
        show = ["--", "sh", "-c", 'printf "%s %s %s %s" "$STRIPE_API_KEY" "$STRIPE_SECRET_KEY" "${LANYARD_TOKEN-no}" "${OWN-no}"']
        self.assertEqual(self.answer("exec", "stripe", *show), "key-of-stripe key-of-stripe no no")
        self.assertEqual(self.answer("exec", "stripe", "--env", "OWN", *show), "key-of-stripe key-of-stripe no key-of-stripe")

    def test_a_customers_host_is_asked_for(self):
        told = self.refused(2, "login", "home-assistant", "--key-file", self.file("key"))
        self.assertIn("lanyard provider add --preset home-assistant --allowed-origin URL", told)
        self.answer("provider", "add", "--preset", "home-assistant", self.issuer + "/lovelace")
        key = json.loads(self.post("/practice/secrets", user="alice@acme"))["secret"]
        self.log_in("login", "home-assistant", "--key-file", self.file(key))
        sent = json.loads(self.answer("request", "GET", self.issuer + "/keyed/items"))
        self.assertEqual(sent["login"], "alice-acme")

    def test_a_customers_host_is_asked_for_at_a_terminal(self):
        screen = self.on_terminal(
            "login", "home-assistant",
            answers=[("such as https://HOST", self.issuer + "\n"), ("not shown", "key-of-the-house\n")])
        self.assertEqual(screen.code, 0, screen.text)
        provider, = self.providers()
        self.assertEqual(provider["allowedOrigins"], [self.issuer])

    def test_tools_get_the_user_name_of_the_service(self):
        self.log_in("login", "pypi", "--key-file", self.file("key-of-pypi"))
        self.assertEqual(self.answer("credential", "netrc", "https://upload.pypi.org/legacy/"),
                         "machine upload.pypi.org login __token__ password key-of-pypi\n")

    def test_a_preset_of_the_other_kind_is_told(self):
        told = self.refused(2, "provider", "add", "--preset", "google", "--kind", "secret",
                            "--allowed-origin", "https://api.example")
        self.assertIn("--preset", told)


class DotenvTests(Services):
    ENV = """\
# keys
GROQ_API_KEY=key-of-groq   # for the tests
export STRIPE_API_KEY='key of stripe'
STRIPE_SECRET_KEY="key of stripe"
DATABASE_URL=postgres://localhost
HASS_TOKEN=key-of-the-house
MISTRAL_API_KEY=${OTHER}
TWILIO_API_SECRET=key-of-twilio
COHERE_API_KEY=
"""

    def entries(self, *words):
        done = self.lanyard("import", "dotenv", self.file(self.ENV, ".env"), "--json", *words)
        self.assertEqual(done.returncode, 0, done)
        return json.loads(done.stdout)

    def test_what_the_catalogue_knows_is_listed(self):
        entries = {entry["name"]: entry for entry in self.entries()["entries"]}
        self.assertEqual({name: (entry["importable"], entry.get("lines")) for name, entry in entries.items()}, {
            "GROQ_API_KEY": ("key", [2]), "STRIPE_API_KEY": ("key", [3, 4]), "HASS_TOKEN": ("none", None),
            "MISTRAL_API_KEY": ("none", None), "TWILIO_API_SECRET": ("none", None)})
        self.assertEqual(entries["STRIPE_API_KEY"]["variables"], ["STRIPE_API_KEY", "STRIPE_SECRET_KEY"])
        self.assertEqual(self.providers(), [])

    def test_keys_become_accounts_and_the_lines_that_can_go_are_told(self):
        path = self.file(self.ENV, ".env")
        done = self.lanyard("import", "dotenv", path, "--yes")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("Line 2 of " + path + " can go: GROQ_API_KEY.", done.stdout)
        self.assertIn("Lines 3, 4 of " + path + " can go: STRIPE_API_KEY, STRIPE_SECRET_KEY.", done.stdout)
        self.assertNotIn("key-of-groq", done.stdout + done.stderr)
        with open(path) as file:
            self.assertEqual(file.read(), self.ENV)
        self.assertEqual((self.answer("token", "groq"), self.answer("token", "stripe")),
                         ("key-of-groq\n", "key of stripe\n"))
        self.assertEqual(self.answer("exec", "groq", "--", "sh", "-c", 'printf %s "$GROQ_API_KEY"'), "key-of-groq")

    def test_a_key_that_needs_a_user_name_is_given_with_it(self):
        entries = {entry["name"]: entry for entry in self.entries()["entries"]}
        command, = advice(entries["TWILIO_API_SECRET"]["advice"][0])
        words = command.replace("NAME", "SK12").split()[1:]
        self.log_in(*words, "--key-file", self.file("key-of-twilio"))
        self.assertEqual(json.loads(self.answer("rpc", "account.get", '{"account":"twilio"}'))["username"], "SK12")

    def test_remove_cuts_out_what_was_taken_and_nothing_else(self):
        path = self.file(self.ENV, ".env")
        done = self.lanyard("import", "dotenv", path, "--yes", "--remove", "--only", "STRIPE_API_KEY")
        self.assertEqual(done.returncode, 0, done)
        with open(path) as file:
            self.assertEqual(file.read(), "".join(
                line for line in self.ENV.splitlines(keepends=True) if "STRIPE" not in line))

    def test_each_is_asked_for(self):
        path = self.file(self.ENV, ".env")
        screen = self.on_terminal("import", "dotenv", path, answers=[("[y/N]", "n\n"), ("[y/N]", "y\n")])
        self.assertEqual(screen.code, 0, screen.text)
        self.assertEqual([account["alias"] for account in json.loads(self.answer("list", "--json"))["accounts"]], ["stripe"])

    def test_a_variable_that_a_provider_of_ones_own_names_is_a_key_of_it(self):
        own = {"name": "own", "kind": "secret", "allowedOrigins": [self.issuer], "environment": ["OWN_KEY", "OWN_KEY_TOO"]}
        self.answer("rpc", "provider.add", json.dumps(own))
        path = self.file("OWN_KEY=key-of-my-own\nA=1\nexport OWN_KEY_TOO='key-of-my-own'\n", ".env")
        listed, = json.loads(self.lanyard("import", "dotenv", path, "--json").stdout)["entries"]
        self.assertEqual((listed["name"], listed["server"], listed["variables"]),
                         ("OWN_KEY", self.issuer, ["OWN_KEY", "OWN_KEY_TOO"]))
        done = self.lanyard("import", "dotenv", path, "--yes")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(self.answer("token", "own"), "key-of-my-own\n")

    def test_a_file_without_keys_is_told(self):
        done = self.lanyard("import", "dotenv", self.file("A=1\n", ".env"))
        self.assertEqual((done.returncode, done.stdout), (0, ""), done)
        self.assertIn(".env", done.stderr)
