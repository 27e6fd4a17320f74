"""`lanyard import oidc-agent`, with account configurations that the real oidc-agent wrote."""

import json
import os
import random
import re
import signal
import socket
import subprocess
import unittest
import urllib.request

from import_fixture import Import
from person import PATIENCE_SECONDS

PASSWORD = "correct horse"


class OIDCAgentTests(Import):
    def setUp(self):
        super().setUp()
        self.assertTrue(os.path.exists("/usr/bin/oidc-gen"), "oidc-agent-cli is not installed: .ci/packages tests")
        self.secrets.append(PASSWORD)
        os.makedirs(os.path.join(self.home, ".config", "oidc-agent"), mode=0o700)
        self.password = self.write("password", PASSWORD + "\n")

    def start_agent(self):
        told = self.run_program("oidc-agent", environment={"TMPDIR": self.place}).decode()
        self.socket_of_oidc_agent = re.search("OIDC_SOCK=([^;]+);", told)[1]
        self.addCleanup(os.kill, int(re.search("OIDCD_PID=([0-9]+);", told)[1]), signal.SIGTERM)

    def generate(self, name, *options, user="alice", client="confidential", secret="practice-secret", encryption=None):
        """An account configuration by oidc-gen, which uses the refresh token and stores its successor. The client has a
        secret: without one oidc-agent authenticates with an empty password, which the provider rightly refuses."""
        if not hasattr(self, "socket_of_oidc_agent"):
            self.start_agent()
        self.run_program(
            "oidc-gen", name, f"--iss={self.issuer}/", f"--client-id={client}", f"--client-secret={secret}",
            f"--rt={self.token_of(user, client, secret)}", "--flow=refresh", "--scope=openid offline_access",
            encryption or f"--pw-file={self.password}", "--prompt=none", *options, stdin=subprocess.DEVNULL,
            environment={"OIDC_SOCK": self.socket_of_oidc_agent})
        self.secrets.append(self.stored(name, encryption)["refresh_token"])

    def stored(self, name, encryption=None):
        return json.loads(self.run_program(
            "oidc-gen", f"--print={name}", *([] if encryption else [f"--pw-file={self.password}"])))

    def free_port(self):
        """oidc-gen refuses the ports of the kernel's own choice."""
        for port in random.sample(range(20000, 32768), 100):
            with socket.socket() as listener:
                try:
                    listener.bind(("127.0.0.1", port))
                except OSError:
                    continue
                return port
        self.fail("no port is free")

    def page(self, process):
        told = []
        for line in process.stdout:
            told.append(line)
            if found := re.search(r"http://\S+/authorize\S+", line):
                return found[0]
        self.fail(f"no address was shown, but: {told}")

    def path(self, name):
        return os.path.join(self.home, ".config", "oidc-agent", name)

    def test_accounts_are_listed_and_nothing_is_changed(self):
        self.generate("work")
        self.generate("home", user="bob")
        before = self.read(self.path("work"))
        done = self.lanyard("import", "oidc-agent", "--pw-file", self.password)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(done.stderr, "Nothing was taken over. --yes takes over all that it can; --only NAME chooses.\n")
        rows = {line.split()[0]: re.split("  +", line) for line in done.stdout.splitlines()}
        self.assertEqual(rows["work"], ["work", self.issuer + "/", "-", "confidential", "openid offline_access", "yes"])
        self.assertEqual(rows["home"], ["home", self.issuer + "/", "-", "confidential", "openid offline_access", "yes"])
        self.assertEqual(self.read(self.path("work")), before)
        self.assertEqual((self.accounts(), self.providers()), ([], []))

    def test_accounts_are_taken_over_and_stay_the_others_until_removed(self):
        self.generate("work")
        self.generate("home", user="bob")
        results = self.taken("oidc-agent", "--pw-file", "-", input=PASSWORD + "\n")
        self.assertEqual([result["providerAdded"] for result in results], [True, False])
        self.assertEqual(sorted((result["name"], result["alias"], result["removed"]) for result in results),
                         [("home", "home", False), ("work", "work", False)])
        self.assertEqual({account["alias"]: account["subject"] for account in self.accounts()},
                         {"home": "bob-globex", "work": "alice-acme"})
        self.assertEqual(sorted((provider["issuer"], provider["clientId"], provider["clientSecretSet"])
                                for provider in self.providers()),
                         [(self.issuer, "confidential", True)])
        self.refreshes("work")
        self.refreshes("home")
        self.assertEqual(sorted(os.listdir(self.path("."))), ["home", "issuer.config", "work"])

    def test_an_account_with_a_client_that_oidc_agent_registered(self):
        """As a person makes one: oidc-gen registers a client and sends the person to the provider's page."""
        self.start_agent()
        self.post("/practice/options", registration="open", autoApprove="alice")
        generator = subprocess.Popen(
            ["oidc-gen", "work", f"--iss={self.issuer}/", f"--pw-file={self.password}", "--flow=code",
             "--scope=openid offline_access", "--no-url-call", "--prompt=none", f"--port={self.free_port()}"],
            env=self.settings({"OIDC_SOCK": self.socket_of_oidc_agent}), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(generator.stdout.close)
        self.addCleanup(generator.kill)
        with urllib.request.urlopen(self.page(generator), timeout=PATIENCE_SECONDS) as page:
            page.read()
        self.assertEqual(generator.wait(PATIENCE_SECONDS), 0)
        stored = self.stored("work")
        self.secrets += [stored["refresh_token"], stored["client_secret"], stored["registration_access_token"]]
        result, = self.taken("oidc-agent", "--pw-file", self.password, "--remove")
        self.assertEqual((result["alias"], result["removed"]), ("work", True))
        provider, = self.providers()
        self.assertEqual((provider["clientId"], provider["clientSecretSet"], provider["tokenEndpointAuthMethod"]),
                         (stored["client_id"], True, "client_secret_basic"))
        self.refreshes("work")

    def test_a_provider_with_issuer_and_client_is_used_again(self):
        self.answer("provider", "add", "idp", "--issuer", self.issuer, "--client-id", "confidential",
                    "--client-secret-file", "-", "-s", "openid", "-s", "offline_access", input="practice-secret\n")
        self.generate("work")
        log = self.watch("oidc-gen")
        result, = self.taken("oidc-agent", "--pw-file", self.password)
        self.assertEqual((result["provider"], result["providerAdded"]), ("idp", False))
        self.show_watched(log, "oidc-gen --accounts", f"oidc-gen --print={self.path('work')} --pw-file=/dev/stdin")
        self.assertEqual(len(self.providers()), 1)

    def test_removing_ends_no_session_at_the_provider(self):
        self.generate("work")
        self.generate("home", user="bob")
        done = self.lanyard("import", "oidc-agent", "--only", "work", "--yes", "--remove", "--pw-file", self.password)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(done.stdout.splitlines()[-1],
                         f"Removed work from oidc-agent: {self.path('work')} is deleted.")
        self.assertIn("`lanyard token work` prints what `oidc-token` printed.", done.stderr)
        self.assertEqual(sorted(os.listdir(self.path("."))), ["home", "issuer.config"])
        # oidc-gen --delete would have revoked the token, and the agent's with it.
        self.assertEqual(self.requests("/revoke"), [])
        self.refreshes("work")

    def test_a_refused_token_keeps_everything_as_it_was(self):
        self.generate("work")
        self.post("/practice/revoke", user="alice")
        before = self.read(self.path("work"))
        done = self.lanyard("import", "oidc-agent", "--yes", "--remove", "--pw-file", self.password)
        self.assertEqual(done.returncode, 4, done)
        self.assertIn("work was not taken over: ", done.stderr)
        self.assertIn("The store of oidc-agent was not changed.", done.stderr)
        self.assertEqual((self.accounts(), self.providers()), ([], []))
        self.assertEqual(self.read(self.path("work")), before)

    def test_one_refused_token_of_two_does_not_stop_the_other(self):
        self.generate("first")
        self.post("/practice/revoke", user="alice")
        self.generate("second", user="bob")
        first, second = sorted(self.taken("oidc-agent", "--pw-file", self.password, code=1), key=lambda one: one["name"])
        self.assertEqual(first["failure"]["error"]["exit"], 4)
        self.assertEqual(second["alias"], "second")
        self.assertEqual([account["alias"] for account in self.accounts()], ["second"])

    def test_a_wrong_password_and_none(self):
        self.generate("work")
        wrong = self.write("wrong", "staple\n")
        self.assertEqual(self.listed("oidc-agent", "--pw-file", wrong)["work"]["reason"],
                         "the password does not open it")
        self.assertEqual(self.listed("oidc-agent")["work"]["reason"],
                         "its encryption password is needed: --pw-file FILE")
        self.assertEqual(self.taken_nothing("oidc-agent", "--only", "work"), 1)

    def taken_nothing(self, *words):
        done = self.lanyard("import", *words, "--yes")
        self.assertEqual(self.accounts(), [])
        return done.returncode

    def test_an_account_that_is_encrypted_for_a_key_needs_no_password(self):
        self.make_key()
        self.generate("work", encryption="--pw-gpg=alice@acme.example")
        self.assertIn(b"BEGIN PGP MESSAGE", self.read(self.path("work")))
        result, = self.taken("oidc-agent")
        self.assertEqual(result["alias"], "work")

    def test_a_terminal_asks_for_the_password_and_for_each_account(self):
        self.generate("home", user="bob")
        self.generate("work")
        screen = self.on_terminal("import", "oidc-agent", size=(24, 140), answers=[
            ("(not shown): ", PASSWORD + "\n"), ("Take over home", "n\n"), ("Take over work", "y\n")])
        self.assertEqual(screen.code, 0, screen.text)
        self.assertIn("Took over work: alice-acme at ", screen.text)
        self.assertEqual([account["alias"] for account in self.accounts()], ["work"])

    def test_a_file_elsewhere(self):
        self.generate("work")
        elsewhere = os.path.join(self.work, "backup")
        os.rename(self.path("work"), elsewhere)
        self.assertEqual(list(self.listed("oidc-agent", "backup", "--pw-file", self.password)), ["work"])
        broken = self.write("broken", "no account configuration\n")
        self.assertEqual(self.listed("oidc-agent", broken, "--pw-file", self.password)["broken"]["importable"], "none")
        self.assertIn("There is no file", self.refused(2, "import", "oidc-agent", "/nowhere", "--pw-file", self.password))

    def test_without_oidc_gen_it_says_what_to_install(self):
        told = self.refused(1, "import", "oidc-agent", environment={"PATH": self.work})
        self.assertIn("oidc-gen is not installed", told)
        self.assertIn("apt install oidc-agent-cli", told)

    def test_no_accounts(self):
        done = self.lanyard("import", "oidc-agent", "--yes")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", "oidc-agent has no accounts here.\n"))


if __name__ == "__main__":
    unittest.main()
