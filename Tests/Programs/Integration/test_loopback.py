"""This machine by its plain names alone: what another spelling of a loopback address gets without TLS, or past a rule."""

import unittest

from agent_fixture import SCOPES, LanyardError, SharedAgentFixture, add_provider, import_account

INVALID, NOT_ALLOWED = -32602, 6001

# Addresses that some reader of URLs takes for this machine, and another does not.
OTHER_SPELLINGS = (
    "0.0.0.0", "0", "0.1.2.3", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "127.0.0.01", "127.0.0.1.",
    "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[0:0:0:0:0:ffff:7f00:1]", "[::ffff:0.0.0.0]", "[::1%25lo]",
    "localhost.", "LOCALHOST.", "%6cocalhost", "127.0.0.1%2e", "\u2460\u2461\u2466.0.0.1", "127\u30020\u30020\u30021", "loc\u00e4lhost")
OTHER_HOSTS = ("localhost.example", "127.0.0.1.example", "127.example", "128.0.0.1", "[::2]", "idp.example", "localhost@evil.example")
THIS_MACHINE = ("127.0.0.1", "127.255.3.4", "localhost", "LocalHost", "[::1]", "[0:0:0:0:0:0:0:1]")


class Loopback(SharedAgentFixture):
    def add(self, **members):
        self.caller.call("provider.add", {"name": "other", "clientId": "app", "scopes": SCOPES, **members})
        self.caller.call("provider.remove", {"provider": "other"})

    def test_another_spelling_of_this_machine_is_no_server(self):
        for host in OTHER_SPELLINGS:
            for scheme in ("http", "https"):
                origin = f"{scheme}://{host}:8080"
                with self.subTest(origin):
                    self.refused(INVALID, lambda: self.add(issuer=origin))
                    self.refused(INVALID, lambda: self.add(issuer=self.idp.issuer, allowedOrigins=[origin]))
                    self.refused(INVALID, lambda: self.add(
                        issuer="https://idp.example", endpoints={"authorization": origin + "/a", "token": origin + "/t"}))
                    self.refused(INVALID, lambda: self.caller.call("request.pass", {"origin": origin, "passOrigins": [origin]}))

    def test_plain_http_is_for_this_machine_alone(self):
        for host in OTHER_HOSTS:
            with self.subTest(host):
                self.refused(INVALID, lambda: self.add(issuer=f"http://{host}"))
                self.refused(INVALID, lambda: self.add(issuer=self.idp.issuer, allowedOrigins=[f"http://{host}"]))
        for host in THIS_MACHINE:
            self.add(issuer=self.idp.issuer, allowedOrigins=[f"http://{host}:9"])

    def test_no_request_goes_to_another_spelling(self):
        add_provider(self.caller, self.idp)
        import_account(self.caller, self.idp, "alice", alias="work")
        self.addCleanup(self.caller.call, "account.signOut", {"account": "work", "mode": "hard"})
        port = self.idp.issuer.rpartition(":")[2]
        self.caller.call("provider.update", {"provider": "practice", "allowedOrigins": [f"http://127.0.0.1:{port}"]})
        for host in (*OTHER_SPELLINGS, *OTHER_HOSTS, "localhost", "[::1]", "127.0.0.2"):
            with self.subTest(host):
                for method in ("request.send", "request.authorize"):
                    with self.assertRaises(LanyardError) as caught:
                        self.caller.call(method, {"account": "work", "method": "GET", "url": f"http://{host}:{port}/userinfo"})
                    self.assertIn(caught.exception.code, (INVALID, NOT_ALLOWED))
        self.assertEqual(self.idp.asked("/userinfo"), 0)


if __name__ == "__main__":
    unittest.main()
