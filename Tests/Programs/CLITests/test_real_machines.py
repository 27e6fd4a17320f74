"""Machine identities: accounts for which no person signs in."""

import json
import os
import time
import unittest

from machine_server import INSTALLATION, INSTALLATION_TOKEN, JWT_BEARER, TOKEN_EXCHANGE, MachineServer
from test_hints import advice
from test_real import RealPerson, RealProvider

EMAIL = "robot@project.iam.gserviceaccount.com"


class Machines(RealPerson):
    def setUp(self):
        super().setUp()
        self.server = MachineServer(self.home)
        self.addCleanup(self.server.stop)

    def write(self, name, text, mode=0o600):
        path = os.path.join(self.home, name)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def account(self, name):
        return json.loads(self.answer("rpc", "account.get", json.dumps({"account": name})))

    def add_robot(self, *words):
        secret = [] if "--client-key" in words else ["--client-secret-file", self.write("secret", "practice-secret\n")]
        self.answer("provider", "add", "robot", "--grant", "client-credentials", "--issuer", self.server.issuer,
                    "--client-id", "robot", "-s", "read", *secret, *words)


class ClientCredentialsTests(Machines):
    def test_login_asks_nothing_and_each_exchange_is_the_grant(self):
        self.add_robot()
        self.assertIn("account robot", self.answer("login", "robot"))
        self.assertEqual((self.account("robot")["kind"], self.account("robot")["subject"]), ("client", "robot"))
        self.assertEqual(self.answer("token", "robot"), "at-1\n")
        self.assertEqual(self.answer("token", "robot", "-f"), "at-2\n")
        sent = self.server.at("/token")
        self.assertEqual([request["form"] for request in sent],
                         [{"grant_type": "client_credentials", "scope": "read"}] * 2)

    def test_the_secret_goes_into_the_form_where_that_is_chosen(self):
        self.add_robot("--auth-method", "client_secret_post")
        self.answer("login", "robot")
        form = self.server.at("/token")[0]["form"]
        self.assertEqual((form["client_id"], form["client_secret"]), ("robot", "practice-secret"))

    def test_a_key_authenticates_the_client(self):
        self.add_robot("--client-key", self.server.key)
        self.answer("login", "robot", "--alias", "builder")
        claims = self.server.at("/token")[0]["claims"]
        self.assertEqual((claims["iss"], claims["sub"], claims["aud"]), ("robot", "robot", self.server.issuer))
        self.assertEqual(self.answer("token", "builder"), "at-1\n")

    def test_a_refused_client_makes_no_account(self):
        self.add_robot()
        self.server.next = 401, {"error": "invalid_client"}
        self.assertIn("client", self.refused(1, "login", "robot"))
        self.assertEqual(json.loads(self.answer("rpc", "account.list"))["accounts"], [])

    def test_logout_revokes_the_access_token(self):
        self.add_robot()
        self.answer("login", "robot")
        self.answer("logout", "robot")
        self.assertEqual([request["form"]["token"] for request in self.server.at("/revoke")], ["at-1"])
        self.refused(4, "token", "robot")
        self.answer("login", "robot")
        self.assertEqual(self.answer("token", "robot"), "at-2\n")

    def test_a_machine_without_a_proof_is_told_the_options(self):
        told = self.refused(2, "provider", "add", "robot", "--grant", "client-credentials", "--issuer", self.server.issuer,
                            "--client-id", "robot")
        self.assertIn("--client-secret-file or --client-key is missing", told)

    def test_a_machine_without_a_grant_is_told_the_option(self):
        told = self.refused(2, "provider", "add", "robot", "--kind", "client", "--issuer", self.server.issuer,
                            "--client-id", "robot", "--client-secret-file", self.write("secret", "practice-secret\n"))
        self.assertEqual(told, "lanyard: The option --grant is missing. Nothing was changed.\n"
                               "  Expected: client-credentials, jwt-bearer, github-app or token-file.\n")

    def test_a_machine_has_no_id_token_and_the_access_token_is_advised(self):
        self.add_robot()
        self.answer("login", "robot")
        told = self.refused(1, "token", "robot", "--id")
        self.assertIn("This account is a machine: no person signs in, so there is no ID token.", told)
        self.assertEqual(advice(told), ["lanyard credential kubectl --access-token"])
        answer = json.loads(self.answer(*advice(told)[0].split()[1:], "-u", "robot"))
        self.assertEqual(answer["status"]["token"] + "\n", self.answer("token", "robot"))

    def test_options_of_persons_are_refused(self):
        self.add_robot()
        self.assertIn("machine", self.refused(2, "login", "robot", "--device"))
        self.assertEqual(self.server.at("/token"), [])


class PracticeTests(RealProvider):
    def test_a_resource_is_read_by_the_client_itself(self):
        path = os.path.join(self.home, "secret")
        with open(path, "w") as file:
            file.write("practice-secret\n")
        self.answer("provider", "add", "robot", "--grant", "client-credentials", "--issuer", self.issuer,
                    "--client-id", "confidential", "--client-secret-file", path, "-s", "mail", "--allowed-origin",
                    self.issuer)
        self.answer("login", "robot")
        answer = self.answer("request", "GET", self.issuer + "/protected/things/7", "-u", "robot")
        self.assertEqual(json.loads(answer)["sub"], "confidential")


class ServiceAccountTests(Machines):
    def file(self, **members):
        with open(self.server.key) as file:
            key = file.read()
        return self.write("account.json", json.dumps({
            "type": "service_account", "project_id": "project", "private_key_id": "1", "private_key": key,
            "client_email": EMAIL, "client_id": "1", "token_uri": self.server.issuer + "/token", **members}))

    def test_the_file_becomes_an_account_and_can_go(self):
        path = self.file()
        done = self.lanyard("import", "google-service-account", path, "--yes")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn(f"{path} is not needed any more", done.stdout)
        claims, form = (self.server.at("/token")[0][name] for name in ("claims", "form"))
        self.assertEqual((claims["iss"], claims["aud"], claims["scope"], claims["exp"] - claims["iat"]), (
            EMAIL, self.server.issuer + "/token", "https://www.googleapis.com/auth/cloud-platform", 300))
        # Google takes `sub` for a user on whose behalf the machine asks.
        self.assertNotIn("sub", claims)
        self.assertEqual(set(form), {"grant_type", "assertion"})
        self.assertEqual(form["grant_type"], JWT_BEARER)
        self.assertEqual(self.answer("token", "robot"), "at-1\n")
        os.remove(path)
        self.assertEqual(self.answer("token", "robot", "-f"), "at-2\n")

    def test_remove_deletes_the_file_once_it_is_taken_over(self):
        path = self.file()
        done = self.lanyard("import", "google-service-account", path, "--yes", "--remove")
        self.assertEqual((done.returncode, os.path.exists(path)), (0, False), done)

    def test_a_refused_key_leaves_no_provider_and_the_file(self):
        path = self.file()
        self.server.next = 400, {"error": "invalid_grant"}
        done = self.lanyard("import", "google-service-account", path, "--yes", "--remove")
        self.assertEqual((done.returncode, os.path.exists(path)), (1, True), done)
        self.assertEqual(json.loads(self.answer("rpc", "provider.list"))["providers"], [])

    def test_another_file_is_not_understood(self):
        path = self.file(type="authorized_user")
        self.assertIn("service_account", self.refused(1, "import", "google-service-account", path, "--yes"))


class AppTests(Machines):
    def setUp(self):
        super().setUp()
        self.answer("provider", "add", "deploy", "--grant", "github-app", "--app-id", "12345", "--installation",
                    "67890", "--client-key", self.server.key, "--token-url", self.server.issuer + INSTALLATION,
                    "--allowed-origin", self.server.issuer)

    def test_the_installation_is_asked_with_the_apps_assertion(self):
        self.answer("login", "deploy")
        self.assertEqual(self.answer("token", "deploy"), "at-1\n")
        request = self.server.at(INSTALLATION)[0]
        claims, fields = request["claims"], request["fields"]
        self.assertEqual((claims["iss"], claims["exp"] - claims["iat"]), ("12345", 600))
        self.assertLessEqual(claims["iat"], time.time() - 30)
        self.assertEqual(set(claims), {"iss", "iat", "exp"})
        self.assertEqual((fields["Accept"], fields["X-GitHub-Api-Version"]),
                         ("application/vnd.github+json", "2022-11-28"))

    def test_a_wrong_clock_is_learned_from_the_refusal(self):
        for day in (1, -2):
            with self.subTest(day=day):
                self.server.ahead = day * 86400
                before = len(self.server.requests)
                self.answer("login", "deploy")
                self.assertEqual(len(self.server.requests), before + 2)
        self.server.ahead = 5 * 86400
        self.assertEqual(self.answer("token", "deploy", "-f"), "at-3\n")

    def test_a_refusal_at_the_right_time_is_asked_once(self):
        self.server.next = 401, {"message": "A JSON web token could not be decoded"}
        self.refused(1, "login", "deploy")
        self.assertEqual(len(self.server.requests), 1)

    def test_git_gets_the_user_name_of_installations(self):
        self.answer("login", "deploy")
        asked = f"protocol=http\nhost={self.server.issuer.removeprefix('http://')}\n\n"
        told = dict(line.split("=", 1) for line in self.answer("credential", "git", "get", input=asked).splitlines())
        self.assertEqual((told["username"], told["password"]), ("x-access-token", "at-1"))

    def test_an_unknown_installation_is_told(self):
        self.server.next = 404, {"message": "Not Found"}
        self.assertIn("installation", self.refused(4, "login", "deploy"))

    def test_only_a_suspended_installation_is_told_as_one(self):
        self.server.next = 403, {"message": "This installation has been suspended"}
        self.assertIn("is suspended", self.refused(4, "login", "deploy"))
        self.server.next = 403, {"message": "Resource not accessible by integration"}
        self.assertNotIn("suspended", self.refused(1, "login", "deploy"))
        self.server.next = 403, {"message": "API rate limit exceeded for installation ID 67890."}
        self.assertNotIn("suspended", self.refused(5, "login", "deploy"))

    def test_logout_ends_the_token(self):
        self.answer("login", "deploy")
        self.answer("logout", "deploy")
        self.assertEqual([request["fields"]["Authorization"] for request in self.server.at(INSTALLATION_TOKEN)],
                         ["Bearer at-1"])

    def test_a_token_that_can_not_be_ended_now_waits(self):
        self.answer("login", "deploy")
        self.server.next = 502, {}
        self.answer("logout", "deploy")
        [waiting] = json.loads(self.answer("revocations", "--json"))["revocations"]
        self.assertEqual((waiting["accountLabel"], waiting["attempts"]), ("deploy", 1))
        self.answer("revocations", "send")
        self.assertEqual(len(self.server.at(INSTALLATION_TOKEN)), 2)
        self.assertEqual(json.loads(self.answer("revocations", "--json")), {"revocations": []})


class TokenFileTests(Machines):
    def setUp(self):
        super().setUp()
        self.path = self.write("subject", "first.subject.token\n")
        self.answer("provider", "add", "pod", "--grant", "token-file", "--token-file", self.path, "--token-url",
                    self.server.issuer + "/token", "--authorization-parameter", "audience=cloud")

    def test_the_file_is_read_anew_for_each_exchange(self):
        self.answer("login", "pod")
        self.write("subject", "second.subject.token\n")
        self.assertEqual(self.answer("token", "pod", "-f"), "at-2\n")
        forms = [request["form"] for request in self.server.at("/token")]
        self.assertEqual([form["subject_token"] for form in forms], ["first.subject.token", "second.subject.token"])
        self.assertEqual(forms[0], {
            "grant_type": TOKEN_EXCHANGE, "subject_token": "first.subject.token", "audience": "cloud",
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt"})

    def test_a_link_is_followed_as_platforms_make_one(self):
        os.rename(self.path, self.path + "-1")
        os.symlink(self.path + "-1", self.path)
        self.answer("login", "pod")

    def told(self, status, *words):
        """Logging in fails, and the message names the file."""
        message = self.refused(status, "login", "pod")
        for word in (self.path, "Nothing was kept", *words):
            self.assertIn(word, message)
        self.assertEqual(self.server.at("/token"), [])

    def test_a_file_that_others_write_is_refused(self):
        os.chmod(self.path, 0o666)
        self.told(1, "chmod go-w")

    @unittest.skipIf(os.geteuid() != 0, "only root can give a file away")
    def test_a_file_of_another_user_is_refused(self):
        os.chown(self.path, 12345, 12345)
        self.told(1, "another user")

    def test_a_file_without_a_token_is_not_read(self):
        self.write("subject", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
        self.told(1, "no token in it")

    def test_a_token_need_not_be_a_jwt(self):
        self.write("subject", "opaque-subject_token+/~==\n")
        self.answer("login", "pod")
        self.assertEqual(self.server.at("/token")[0]["form"]["subject_token"], "opaque-subject_token+/~==")

    def test_a_large_file_is_told_as_one(self):
        self.write("subject", "a.b." + "c" * (64 << 10))
        self.told(1, "larger than 64 KiB")

    def test_an_empty_file_may_be_filled(self):
        self.write("subject", "\n")
        self.told(5, "is empty")
        self.write("subject", "late.subject.token")
        self.answer("login", "pod")

    def test_an_account_whose_file_is_gone_says_so(self):
        self.answer("login", "pod")
        os.remove(self.path)
        message = self.refused(5, "token", "pod", "-f")
        for word in (self.path, "is missing", "Nothing was deleted"):
            self.assertIn(word, message)

    def test_a_missing_file_may_come(self):
        os.remove(self.path)
        self.told(5, "is missing")
        self.write("subject", "late.subject.token")
        self.answer("login", "pod")


if __name__ == "__main__":
    unittest.main()
