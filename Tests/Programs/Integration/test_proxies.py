"""A proxy that makes no connection is named, and what it wants: by the agent's errors and by the commands."""

import os
import socket
import subprocess
import threading
import unittest

from agent_fixture import BIN, PATIENCE_SECONDS, AgentFixture
from proxied_provider import HOST, Proxy, ProxiedProvider

OFFLINE = 3001
LANYARD = os.path.join(BIN, "lanyard")
PASSWORD = "correct-horse"


class Proxies(AgentFixture):
    def setUp(self):
        super().setUp()
        self.idp = ProxiedProvider(self.directory())
        self.addCleanup(self.idp.stop)
        self.proxy = Proxy(self.idp.port)
        self.addCleanup(self.proxy.stop)

    def add(self, client, **members):
        settings = {
            "name": "idp", "issuer": self.idp.issuer, "clientId": "app", "scopes": ["read"],
            "caFile": self.idp.certificate, "proxy": self.proxy.url, "allowedOrigins": [self.idp.issuer], **members}
        client.call("provider.add", {name: value for name, value in settings.items() if value is not None})

    def account(self, client, person):
        return client.call("signIn.import", {
            "provider": "idp", "refreshToken": f"rt-{person}", "alias": person})["account"]

    def offline(self, reason, call, *words):
        error = self.refused(OFFLINE, call)
        self.assertEqual(error.data["reason"], reason, error)
        for word in (*words, self.proxy.url):
            self.assertIn(word, str(error))
        return error

    def test_a_tunnel_leads_to_the_provider(self):
        client = self.client(self.scene())
        self.add(client)
        account = self.account(client, "alice")
        self.assertEqual(client.call("token.refresh", {"account": account})["accessToken"], "at-alice-1")
        self.assertEqual(set(self.proxy.asked), {f"CONNECT {HOST}:443 HTTP/1.1"})

    def test_a_refresh_tells_what_the_proxy_did(self):
        cases = {
            "alice": (Proxy.refusing(407), "proxyAuthenticationRequired", "wants credentials", "https_proxy"),
            "bob": (Proxy.refusing(502), "proxyRefused", "status 502"),
            "carol": (Proxy.refusing(403), "proxyRefused", "status 403"),
            "dave": (b"", "proxyUnreachable", "makes no connection"),
            "erin": (b"SSH-2.0-OpenSSH_9.2\r\n", "proxyUnreachable", "makes no connection"),
        }
        client = self.client(self.scene())
        self.add(client)
        accounts = {person: self.account(client, person) for person in cases}
        for person, (answer, reason, *words) in cases.items():
            with self.subTest(answer):
                self.proxy.answer = answer
                self.offline(
                    reason, lambda: client.call("token.refresh", {"account": accounts[person]}), "session is kept", *words)
                self.assertEqual(client.call("account.get", {"account": accounts[person]})["state"], "offlineStale")
        self.proxy.answer = None
        session = client.call("session.get", {"account": accounts["alice"]})
        self.assertEqual(session["refresh"]["lastError"]["reason"], "proxyAuthenticationRequired")

    def test_a_proxy_that_can_not_be_reached_is_named(self):
        client = self.client(self.scene())
        self.add(client)
        account = self.account(client, "alice")
        self.proxy.stop()
        self.offline(
            "proxyUnreachable", lambda: client.call("token.refresh", {"account": account}), "refuses connections")

    def test_a_proxy_whose_name_is_unknown_is_named(self):
        client = self.client(self.scene())
        error = self.refused(OFFLINE, lambda: self.add(client, proxy="http://proxy.invalid:3128"))
        self.assertEqual(error.data["reason"], "proxyUnreachable")
        self.assertIn("The name of the proxy http://proxy.invalid:3128 was not found.", str(error))

    def test_a_socks_proxy_that_wants_credentials_is_named(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        url = f"socks5h://127.0.0.1:{listener.getsockname()[1]}"
        def refuse():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(64)
                    connection.sendall(b"\x05\xff")  # RFC 1928, section 3: no acceptable methods

        threading.Thread(target=refuse, daemon=True).start()
        client = self.client(self.scene())
        error = self.refused(OFFLINE, lambda: self.add(client, proxy=url))
        self.assertEqual(error.data["reason"], "proxyAuthenticationRequired")
        self.assertIn(f"The proxy {url} wants credentials.", str(error))

    def test_documents_requests_and_trials_name_the_proxy(self):
        client = self.client(self.scene())
        self.proxy.answer = Proxy.refusing(407)
        self.offline("proxyAuthenticationRequired", lambda: self.add(client), "wants credentials")
        self.proxy.answer = None
        self.add(client)
        account = self.account(client, "alice")
        self.proxy.answer = Proxy.refusing(407)
        error = self.offline(
            "proxyAuthenticationRequired", lambda: client.call(
                "request.send", {"account": account, "method": "GET", "url": f"{self.idp.issuer}/userinfo"}),
            "not sent")
        self.assertEqual(error.data["outcome"], "notSent")
        findings = client.call("provider.test", {"provider": "idp"})["findings"]
        told = [finding["message"] for finding in findings if finding["severity"] == "problem"]
        self.assertTrue(told)
        self.assertTrue(any(f"The proxy {self.proxy.url} wants credentials." in message for message in told), told)
        diagnosis = client.call("agent.diagnose", {"askProviders": True})["findings"]
        reach = next(finding for finding in diagnosis if finding["check"] == "providerReach")
        self.assertIn(f"The proxy {self.proxy.url} wants credentials.", reach["message"])

    def test_credentials_go_into_the_environment_and_are_shown_nowhere(self):
        self.proxy.credentials = f"alice:{PASSWORD}"
        for password in (PASSWORD, "wrong-" + PASSWORD):
            with self.subTest(password):
                scene = self.scene(start=False)
                os.environ["https_proxy"] = f"http://alice:{password}@{self.proxy.address}"
                try:
                    scene.start()
                finally:
                    del os.environ["https_proxy"]
                client = self.client(scene)
                if password == PASSWORD:
                    self.add(client, proxy=None)
                    self.account(client, "alice")
                    continue
                error = self.offline(
                    "proxyAuthenticationRequired", lambda: self.add(client, proxy=None), "does not take the credentials")
                self.assertNotIn(password, f"{error} {error.data}")

    def test_commands_name_the_proxy_and_what_it_wants(self):
        scene = self.scene()
        client = self.client(scene)
        self.add(client)
        self.account(client, "alice")
        self.proxy.answer = Proxy.refusing(407)
        for words in (
            ["token", "alice", "-f"], ["login", "idp", "--no-browser"],
            ["provider", "add", "https://other.example", "--client-id", "app", "--proxy", self.proxy.url],
        ):
            with self.subTest(words):
                done = subprocess.run(
                    [LANYARD, *words], env=scene.environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS,
                    stdin=subprocess.DEVNULL)
                self.assertEqual(done.returncode, 5, done.stderr)
                self.assertIn(f"The proxy {self.proxy.url} wants credentials.", done.stderr)

    def test_a_program_without_a_token_is_told_of_the_proxy(self):
        scene = self.scene()
        client = self.client(scene)
        self.add(client)
        self.account(client, "alice")
        command = [LANYARD, "exec", "alice", "--proxy", "--", "curl", "-sS", "-m", "20", f"{self.idp.issuer}/userinfo"]
        for answer, told in (
            (None, '"alice"'), (Proxy.refusing(407), f"The proxy {self.proxy.url} wants credentials."),
            (Proxy.refusing(502), f"The proxy {self.proxy.url} makes no connection to the server: it answers with status 502."),
        ):
            with self.subTest(told):
                self.proxy.answer = answer
                done = subprocess.run(
                    command, env=scene.environment, capture_output=True, text=True, timeout=2 * PATIENCE_SECONDS)
                self.assertIn(told, done.stdout, done.stderr)


if __name__ == "__main__":
    unittest.main()
