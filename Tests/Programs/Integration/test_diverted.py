"""A provider that is changed under its accounts: what it issued goes to no other place."""

import http.server
import subprocess
import threading
import urllib.parse

from agent_fixture import PATIENCE_SECONDS, AgentFixture, Client, LanyardError, add_provider

SECRET = "practice-secret"
NOT_PERMITTED, INTERACTION_REQUIRED, INVALID_PARAMS = 1007, 2005, -32602


class Collector(http.server.ThreadingHTTPServer):
    """A server of an attacker: it keeps every request, and refuses it."""

    def __init__(self):
        collected = self.collected = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                collected.append((self.path, str(self.headers), body.decode()))
                self.send_response(400)
                self.end_headers()
                self.wfile.write(b'{"error":"invalid_grant"}')

            do_GET = do_POST

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class DivertedProvider(AgentFixture):
    """alice and bob at one provider, and a server of an attacker."""

    def setUp(self):
        self.practice = self.provider("--access-token-lifetime", "2")
        self.agent = self.scene()
        self.owner = self.client(self.agent)
        add_provider(self.owner, self.practice, clientId="confidential", clientSecret=SECRET)
        for person in ("alice", "bob"):
            issued = self.practice.post("sign-in", user=person, client_id="confidential")
            self.owner.call(
                "signIn.import",
                {"provider": "practice", "refreshToken": issued["refresh_token"], "alias": person})
        self.evil = Collector()
        self.addCleanup(self.evil.server_close)
        self.addCleanup(self.evil.shutdown)

    def with_grant(self, *accounts):
        methods = ["provider.update", "provider.remove", "provider.get", "token.*", "snapshot.*", "account.*"]
        made = self.owner.call(
            "grant.create", {"client": "test", "accounts": list(accounts), "methods": methods})
        client = Client(self.agent.socket, timeout=PATIENCE_SECONDS, grant=made["secret"])
        self.addCleanup(client.close)
        return client

    def divert(self, client, **members):
        return client.call("provider.update", {"provider": "practice", **members})["provider"]

    def state(self, account):
        return self.owner.call("session.get", {"account": account})["state"]

    def use(self, client):
        """Everything that a program could have sent by."""
        for account in ("alice", "bob"):
            for method, params in (
                ("token.refresh", {}),
                ("token.get", {"minimumLifetimeSeconds": 1}),
                ("token.get", {"resource": "https://api.example"}),
                ("snapshot.refresh", {}),
            ):
                try:
                    client.call(method, {"account": account, **params})
                except LanyardError as error:
                    self.assertIn(error.code, (INTERACTION_REQUIRED, NOT_PERMITTED))

    def test_grant_for_one_account_changes_no_provider_of_another(self):
        bobs = self.with_grant("bob")
        self.refused(NOT_PERMITTED, lambda: self.divert(bobs, endpoints={"token": self.evil.address + "/token"}))
        self.refused(INVALID_PARAMS, lambda: bobs.call("provider.remove", {"provider": "practice"}))
        self.assertEqual(self.state("alice"), "active")
        self.use(self.owner)
        self.assertEqual(self.evil.collected, [])

    def test_grant_for_all_accounts_directs_no_token_elsewhere(self):
        both = self.with_grant("alice", "bob")
        for members in (
            {"endpoints": {"userinfo": self.evil.address + "/userinfo"}},
            {"endpoints": {"revocation": self.evil.address + "/revoke"}},
            {"endpoints": {"introspection": self.evil.address + "/introspect"}},
            {"endpoints": {"pushedAuthorizationRequest": self.evil.address + "/par"}},
            {"endpoints": {"deviceAuthorization": self.evil.address + "/device"}},
            {"endpoints": {"jwks": self.evil.address + "/jwks"}},
            {"endpoints": {"endSession": self.evil.address + "/logout"}},
            {"authorization": {"entitlementsUrl": self.evil.address + "/entitlements"}},
            {"proxy": self.evil.address},
            {"caFile": "/etc/ssl/certs/ca-certificates.crt"},
            {"allowedOrigins": [self.evil.address]},
        ):
            with self.subTest(members):
                self.refused(NOT_PERMITTED, lambda: self.divert(both, **members))
        self.divert(both, endpoints={"token": self.evil.address + "/token"})
        self.use(both)
        self.assertEqual([request for request in self.evil.collected if "refresh_token=" in request[2]], [])
        self.assertEqual(self.state("alice"), "interactionRequired")

    def test_changed_endpoint_issuer_or_client_receives_nothing_old(self):
        for members in (
            {"endpoints": {"token": self.evil.address + "/token"}},
            {"endpoints": {"token": self.evil.address + "/token", "revocation": self.evil.address + "/revoke"}},
            {"clientId": "another"},
        ):
            with self.subTest(members):
                before = self.practice.asked()
                told = self.divert(self.owner, **members)
                self.assertFalse(told["clientSecretSet"])
                for account in ("alice", "bob"):
                    self.assertEqual(self.state(account), "interactionRequired")
                self.use(self.owner)
                self.refused(
                    INTERACTION_REQUIRED, lambda: self.owner.call("token.refresh", {"account": "alice"}))
                self.assertEqual(self.evil.collected, [])
                self.assertEqual(self.practice.asked(), before)
                # The same after the agent died.
                self.agent.kill()
                self.agent.start()
                self.owner = self.client(self.agent)
                self.assertEqual(self.state("alice"), "interactionRequired")
                self.use(self.owner)
                self.assertEqual(self.evil.collected, [])
                told = self.divert(self.owner, endpoints={}, clientId="confidential")
                self.assertTrue(told["clientSecretSet"])
                self.assertEqual(self.state("alice"), "active")
                self.owner.call("token.refresh", {"account": "alice"})

    def test_new_key_does_not_take_the_old_secret_along(self):
        key = subprocess.run(
            ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"], check=True,
            capture_output=True, text=True).stdout
        changed = {"endpoints": {"token": self.evil.address + "/token"}, "clientKey": key}
        self.refused(
            INVALID_PARAMS, lambda: self.divert(self.owner, tokenEndpointAuthMethod="client_secret_basic", **changed))
        told = self.divert(self.owner, **changed)
        self.assertEqual((told["clientSecretSet"], told["clientKeySet"]), (False, True))
        begun = self.owner.call("signIn.begin", {"provider": "practice", "flow": "paste"})
        self.answer(begun)
        self.assertEqual(len(self.evil.collected), 1)
        self.assertNotIn(SECRET, str(self.evil.collected))
        self.assertNotIn("Authorization", self.evil.collected[0][1])

    def answer(self, begun):
        """The browser comes back with a code, which the agent sends to the token endpoint."""
        state = urllib.parse.parse_qs(urllib.parse.urlsplit(begun["authorizationUrl"]).query)["state"][0]
        with self.assertRaises(LanyardError):
            self.owner.call(
                "signIn.complete",
                {"signIn": begun["signIn"],
                 "redirectUrl": f"http://127.0.0.1/callback?code=abc&state={state}&iss={self.practice.issuer}"})

    def test_sign_out_revokes_where_the_token_was_issued(self):
        self.divert(
            self.owner,
            endpoints={
                "token": self.evil.address + "/token", "revocation": self.evil.address + "/revoke",
                "endSession": self.evil.address + "/logout"})
        told = self.owner.call("account.signOut", {"account": "alice", "mode": "hard"})
        self.assertEqual(told["revocation"], "confirmed")
        self.assertTrue(told["endSessionUrl"].startswith(self.practice.issuer), told["endSessionUrl"])
        self.assertEqual(self.evil.collected, [])
        self.assertEqual(self.practice.asked("/revoke"), 1)

    def test_new_sign_in_gives_the_new_endpoint_no_old_secret(self):
        self.divert(self.owner, endpoints={"token": self.evil.address + "/token"})
        begun = self.owner.call("signIn.begin", {"provider": "practice", "flow": "paste"})
        self.answer(begun)
        self.assertEqual(len(self.evil.collected), 1)
        self.assertNotIn(SECRET, str(self.evil.collected))
        self.assertNotIn("Authorization", self.evil.collected[0][1])


if __name__ == "__main__":
    import unittest

    unittest.main()
