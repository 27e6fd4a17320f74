"""What the proxy refuses, in the words that the program gets, and what the audit log tells."""

import json
import os
import subprocess
import time
import unittest
from typing import List

from proxy_fixture import LANYARD, PATIENCE_SECONDS, ProxyFixture, Request, Response, status
from agent_fixture import Client, LanyardError, import_account
from test_raw import get
from forms import in_quick_form


@in_quick_form(
    "test_another_origin_is_refused_with_a_sentence", "test_an_ai_agents_grant_reads_only",
    "test_an_ai_agents_get_has_no_body",
    "test_the_grant_decides_over_which_account")
class Refusals(ProxyFixture):
    def refusal(self, told: bytes, expected: int, name: str) -> str:
        self.assertEqual(status(told), expected, told)
        self.assertIn(f"Lanyard-Refusal: {name}\r\n".encode(), told)
        return told.partition(b"\r\n\r\n")[2].decode()

    def test_another_origin_is_refused_with_a_sentence(self) -> None:
        proxy = self.proxy()
        field = f"Proxy-Authorization: {proxy.credentials}\r\n"
        for request in (f"CONNECT elsewhere.example:443 HTTP/1.1\r\nHost: elsewhere.example:443\r\n{field}\r\n",
                        f"GET http://127.0.0.1:9/ HTTP/1.1\r\nHost: 127.0.0.1:9\r\nConnection: close\r\n{field}\r\n",
                        f"GET http://elsewhere.example/ HTTP/1.1\r\nHost: elsewhere.example\r\nConnection: close\r\n{field}\r\n"):
            sentence = self.refusal(proxy.ask(request.encode()), 403, "originNotAllowed")
            self.assertIn("is not among the origins of this proxy: " + self.api.origin, sentence)
            self.assertIn("`lanyard provider update NAME --allowed-origin ORIGIN`", sentence)
        accepting = f"GET http://127.0.0.1:9/ HTTP/1.1\r\nHost: 127.0.0.1:9\r\nAccept: application/json\r\n{field}Connection: close\r\n\r\n"
        told = json.loads(self.refusal(proxy.ask(accepting.encode()), 403, "originNotAllowed"))
        self.assertEqual(told["error"]["name"], "originNotAllowed")

    def test_a_refused_origin_is_in_the_audit_log(self) -> None:
        self.allow(self.api.origin, "https://narrowed.example")
        identity = self.grant("ci")
        proxy = self.proxy("--grant", "ci", "--allow", self.api.origin, account=None)
        field = f"Proxy-Authorization: {proxy.credentials}\r\nConnection: close\r\n"
        for place in ("elsewhere.example:443", "narrowed.example:443"):
            told = proxy.ask(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{field}\r\n".encode())
            self.refusal(told, 403, "originNotAllowed")
        told = proxy.ask(f"PUT http://127.0.0.1:9/?q=1 HTTP/1.1\r\nHost: 127.0.0.1:9\r\nContent-Length: 0\r\n{field}\r\n".encode())
        self.refusal(told, 403, "originNotAllowed")
        self.assertEqual(
            [(entry["outcome"], entry["account"], entry["facts"]) for entry in self.audited()],
            [("originNotAllowed", self.alice, {"origin": origin, "method": method, "grant": identity, "grantee": "ci"})
             for method, origin in (("CONNECT", "https://elsewhere.example"), ("CONNECT", "https://narrowed.example"),
                                    ("PUT", "http://127.0.0.1:9"))])

    def test_an_ai_agents_grant_reads_only(self) -> None:
        self.grant("assistant", agent=True)
        proxy = self.proxy("--grant", "assistant", account=None)
        self.assertEqual(status(proxy.ask_in_tunnel(self.api.place, get(self.api.place, path="/read"))), 200)
        told = proxy.ask_in_tunnel(self.api.place, get(self.api.place, "Content-Length: 1", method="POST") + b"x")
        self.assertIn("GET and HEAD", self.refusal(told, 403, "notPermitted"))
        self.assertEqual([request.method for request in self.api.requests], ["GET"])
        read, written = self.audited()[-2:]
        for entry, method in ((read, "GET"), (written, "POST")):
            self.assertEqual(entry["account"], self.alice)
            told_of = json.dumps(entry)
            for word in (self.api.origin, method, "assistant"):
                self.assertIn(word, told_of)

    def test_an_ai_agents_get_has_no_body(self) -> None:
        """Only the server knows whether it changes something."""
        self.grant("assistant", agent=True)
        self.grant("ci")
        request = get(self.api.place, "Content-Length: 1", path="/search") + b"x"
        told = self.proxy("--grant", "assistant", account=None).ask_in_tunnel(self.api.place, request)
        self.assertIn("without a body", self.refusal(told, 403, "notPermitted"))
        self.assertEqual(self.api.requests, [])
        self.assertEqual(status(self.proxy("--grant", "ci", account=None).ask_in_tunnel(self.api.place, request)), 200)

    def test_the_grant_decides_over_which_account(self) -> None:
        self.caller.call("account.switch", {"account": "home"})
        self.grant("ci")
        proxy = self.proxy("--grant", "ci", account=None)
        self.assertEqual(proxy.announced["accounts"], [self.alice])
        self.assertEqual(status(proxy.ask_in_tunnel(self.api.place, get(self.api.place))), 200)
        self.assertEqual(self.api.tokens(), [self.token("work")])

    def test_a_rule_is_advised_for_https_alone(self) -> None:
        self.allow(self.api.origin, "http://127.0.0.1:9")
        # The active account is none of this proxy's.
        import_account(self.caller, self.idp, "alice@globex", alias="third")
        self.caller.call("account.switch", {"account": "third"})
        self.grant("ci", ("work", "home"))
        proxy = self.proxy("--grant", "ci", account=None)
        field = f"Proxy-Authorization: {proxy.credentials}\r\nConnection: close\r\n"
        sentence = self.refusal(
            proxy.ask(f"GET http://127.0.0.1:9/ HTTP/1.1\r\nHost: 127.0.0.1:9\r\n{field}\r\n".encode()), 403, "accountAmbiguous")
        self.assertNotIn("lanyard rule add", sentence)
        sentence = self.refusal(proxy.ask_in_tunnel(self.api.place, get(self.api.place)), 403, "accountAmbiguous")
        self.assertIn(f"`lanyard rule add {self.api.origin} ACCOUNT`", sentence)

    def test_a_grant_of_other_origins_has_none_here(self) -> None:
        self.allow(self.api.origin, "https://other.example")
        self.grant("ci", origins=["https://other.example"])
        proxy = self.proxy("--grant", "ci", account=None)
        self.assertEqual(proxy.announced["origins"], ["https://other.example"])
        with self.assertRaisesRegex(AssertionError, "originNotAllowed"):
            proxy.tunnel(self.api.place)

    def test_a_revoked_grant_ends_the_requests(self) -> None:
        identity = self.grant("ci")
        proxy = self.proxy("--grant", "ci", account=None)
        self.assertEqual(status(proxy.ask_in_tunnel(self.api.place, get(self.api.place))), 200)
        self.caller.call("grant.revoke", {"grant": identity})
        self.assertEqual(status(proxy.ask_in_tunnel(self.api.place, get(self.api.place))), 403)
        self.assertEqual(len(self.api.requests), 1)

    def test_two_accounts_that_fit_are_told_apart_by_the_active_one(self) -> None:
        self.caller.call("account.switch", {"account": "home"})
        proxy = self.proxy(account=None)
        self.assertEqual(status(proxy.ask_in_tunnel(self.api.place, get(self.api.place))), 200)
        self.assertEqual(self.api.tokens(), [self.token("home")])

    def test_a_budget_that_is_used_up_is_429(self) -> None:
        self.policy({"orders.read": {
            "kind": "read", "requests": [{"origin": self.api.origin, "methods": ["GET"], "path": "/orders/*"}], "budget": {"perHour": 2}}})
        proxy = self.proxy()
        answers = [proxy.ask_in_tunnel(self.api.place, get(self.api.place, path="/orders/1")) for _ in range(3)]
        self.assertEqual([status(told) for told in answers], [200, 200, 429])
        self.assertRegex(answers[2], rb"Retry-After: [1-9][0-9]*\r\n")
        self.assertIn("budget", self.refusal(answers[2], 429, "budgetExceeded"))
        self.assertEqual(len(self.api.requests), 2)

    def test_a_step_up_names_its_command(self) -> None:
        self.policy({"orders.write": {
            "kind": "write", "requests": [{"origin": self.api.origin, "methods": ["POST"], "path": "/orders/*"}],
            "stepUp": {"method": "pin", "maxAgeSeconds": 60}}})
        proxy = self.proxy()
        told = proxy.ask_in_tunnel(
            self.api.place, get(self.api.place, "Content-Length: 1", method="POST", path="/orders/1") + b"x")
        self.assertIn("lanyard step-up", self.refusal(told, 403, "stepUpRequired"))
        self.assertEqual(self.api.requests, [])

    def policy(self, capabilities: "dict[str, dict[str, object]]") -> None:
        for capability in capabilities.values():
            capability["offlineWindowSeconds"] = 3600
        self.caller.call("policy.set", {
            "name": "default", "policy": {"name": "default", "version": 1, "capabilities": capabilities}})

    def test_a_person_who_is_signed_out_is_told_to_sign_in(self) -> None:
        proxy = self.proxy()
        self.sign_out()
        told = proxy.ask_in_tunnel(self.api.place, get(self.api.place))
        self.assertEqual(status(told), 403, told)
        self.assertIn(b"lanyard login", told)

    def test_a_locked_vault_is_503(self) -> None:
        proxy = self.proxy()
        self.caller.call("agent.lock")
        told = proxy.ask_in_tunnel(self.api.place, get(self.api.place))
        self.assertEqual(status(told), 503, told)
        self.assertIn(b"lanyard unlock", told)

    def test_a_server_that_is_down_is_502(self) -> None:
        self.allow("https://localhost:1")
        proxy = self.proxy()
        told = proxy.ask_in_tunnel("localhost:1", get("localhost:1"))
        self.assertIn("could not be reached", self.refusal(told, 502, "notSent"))


@in_quick_form("test_without_a_grant_the_person_is_told_so")
class Starting(ProxyFixture):
    def refused(self, *words: str, exit_code: int) -> str:
        return self.lanyard("proxy", *words, status=exit_code).stderr

    def test_without_origins_nothing_is_started(self) -> None:
        self.allow()
        self.assertIn("provider update", self.refused(exit_code=1))

    def test_names_that_are_not_known_are_mistakes(self) -> None:
        self.assertIn("no grant ci", self.refused("--grant", "ci", exit_code=2))
        self.refused("--account", "nobody", exit_code=1)
        self.refused("--port", "x", exit_code=2)
        self.refused("--socket", "a", "--port", "1", exit_code=2)

    def test_without_a_grant_the_person_is_told_so(self) -> None:
        process = subprocess.Popen(
            [LANYARD, "proxy"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment())
        assert process.stdout is not None and process.stderr is not None
        self.assertRegex(process.stdout.readline(), r"^https_proxy=http://lanyard:[A-Za-z0-9_-]{43}@127\.0\.0\.1:[0-9]+$")
        self.assertRegex(process.stdout.readline(), r"^SSL_CERT_FILE=/.*\.pem$")
        told = ""
        while "Ctrl-C" not in told:
            told += process.stderr.readline()
        self.assertIn("Without --grant", told)
        self._end(process)

    def test_a_proxy_whose_announcement_is_lost_does_not_serve(self) -> None:
        for words in ([], ["--json"]):
            for place in (">&-", ">/dev/full"):
                with self.subTest(words + [place]):
                    done = subprocess.run(
                        ["sh", "-c", f'exec "$@" {place}', "sh", LANYARD, "proxy", *words], env=self.environment(),
                        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
                    self.assertEqual(done.returncode, 1, done)
                    self.assertIn("The answer could not be written", done.stderr)

    def test_a_socket_wants_a_directory_of_the_persons_alone(self) -> None:
        folder = self.directory()
        self.assertIn(f"`mkdir -p -m 700 {folder}/none`", self.refused("--socket", folder + "/none/proxy.sock", exit_code=1))
        self.assertIn(f"`mkdir -p -m 700 '{folder}/a b'`", self.refused("--socket", folder + "/a b/proxy.sock", exit_code=1))
        os.chmod(folder, 0o755)
        told = self.refused("--socket", folder + "/proxy.sock", exit_code=2)
        self.assertIn("Choose a directory of your own", told)
        self.assertNotIn("chmod", told)
        own = folder + "/lanyard"
        os.mkdir(own, 0o755)
        self.assertIn(f"`chmod 700 {own}`", self.refused("--socket", own + "/proxy.sock", exit_code=2))
        os.chmod(folder, 0o700)
        proxy = self.proxy("--socket", folder + "/proxy.sock")
        self.assertEqual(os.stat(folder + "/proxy.sock").st_mode & 0o777, 0o600)
        proxy.process.kill()
        proxy.process.wait()
        # What a killed proxy leaves is taken over, its certificate is removed.
        again = self.proxy("--socket", folder + "/proxy.sock")
        self.assertFalse(os.path.exists(str(proxy.certificate)))
        told = again.ask(f"CONNECT {self.api.place} HTTP/1.1\r\nHost: {self.api.place}\r\n\r\nx".encode())
        self.assertIn(status(told), (200, 400))
        again.process.terminate()
        again.process.wait()
        self.assertFalse(os.path.exists(folder + "/proxy.sock"))


@in_quick_form(
    "test_a_server_that_repeats_the_token_is_not_passed_on",
    "test_an_earlier_token_and_that_of_another_account_are_not_passed_on", "test_a_401_gets_one_new_token_and_one_more_sending")
class Tokens(ProxyFixture):
    """The token, and what a server does with it."""

    def setUp(self) -> None:
        super().setUp()
        self.refused_once = ""
        self.earlier: List[str] = []

    def answer(self, request: Request) -> Response:
        token = request.bearer or ""
        if request.path == "/echo":
            return Response(200, f"you said {token}".encode())
        if request.path == "/part":
            asked = request.headers.get("Range")
            first, last = (int(number) for number in asked.partition("=")[2].split("-")) if asked else (0, 10_000)
            return Response(206 if asked else 200, token.encode()[first:last + 1])
        if request.path == "/earlier":
            return Response(200, json.dumps(self.earlier).encode())
        if request.path == "/earlier-wide":
            return Response(200, json.dumps(self.earlier).encode("utf-16"), [("Content-Type", "text/plain; charset=utf-16")])
        self.earlier.append(token)
        if request.path == "/echo-head":
            return Response(200, b"", [("X-Echo", f"Bearer {token}")])
        if request.path == "/large-echo":
            return Response(200, b"x" * 100_000 + token.encode() + b"y" * 100_000)
        if request.path == "/cookie":
            return Response(200, b"hello\n", [("Set-Cookie", "session=1"), ("Location", "/"), ("X-Kept", "1")])
        if request.path == "/compressed":
            return Response(200, b"\x1f\x8b", [("Content-Encoding", "gzip")])
        if token == self.refused_once:
            return Response(401, b"expired\n", [("WWW-Authenticate", 'Bearer error="invalid_token"')])
        return Response(200, b"hello\n")

    def test_a_server_that_repeats_the_token_is_not_passed_on(self) -> None:
        proxy = self.proxy()
        token = self.token("work").encode()
        for path in ("/echo", "/echo-head"):
            told = proxy.ask_in_tunnel(self.api.place, get(self.api.place, path=path))
            self.assertEqual(status(told), 502, told)
            self.assertNotIn(token, told)
            self.assertIn(b"Lanyard-Refusal: tokenInResponse", told)
        told = proxy.ask_in_tunnel(self.api.place, get(self.api.place, path="/large-echo"))
        self.assertEqual(status(told), 200)
        self.assertNotIn(token[:32], told)
        self.assertLess(len(told), 110_000)
        told = proxy.ask_in_tunnel(self.api.place, get(self.api.place, path="/compressed"))
        self.assertEqual(status(told), 502)

    def test_an_earlier_token_and_that_of_another_account_are_not_passed_on(self) -> None:
        self.grant("ci", accounts=("work", "home"))
        proxy = self.proxy("--grant", "ci")
        limited = self.limited()
        self.assertEqual(status(proxy.ask_in_tunnel(self.api.place, get(self.api.place))), 200)
        self.caller.call("token.refresh", {"account": "work"})
        self.assertNotEqual(self.earlier, [self.token("work")])
        for earlier in (self.earlier, [self.token("home")]):
            self.earlier = earlier
            for path in ("/earlier", "/earlier-wide"):
                with self.subTest(path):
                    told = proxy.ask_in_tunnel(self.api.place, get(self.api.place, "Accept-Charset: utf-16", path=path))
                    self.assertEqual(status(told), 502, told)
                    self.assertIn(b"Lanyard-Refusal: tokenInResponse", told)
                    with self.assertRaises(LanyardError) as caught:
                        limited.call("request.send", {"account": "work", "method": "GET", "url": self.api.origin + path})
                    self.assertEqual(caught.exception.data["reason"], "tokenRepeated")
        self.assertNotIn("Accept-Charset", str([request.headers for request in self.api.requests]))

    def limited(self) -> Client:
        """A client that may send requests for both accounts, and get no token."""
        created = self.caller.call(
            "grant.create", {"client": "bot", "accounts": ["work", "home"], "methods": ["request.send"]})
        client = Client(self.agent.socket, timeout=PATIENCE_SECONDS, grant=created["secret"])
        self.addCleanup(client.close)
        return client

    def test_a_program_that_asks_for_parts_gets_the_token_in_none(self) -> None:
        told = self.proxy().ask_in_tunnel(self.api.place, get(self.api.place, "Range: bytes=9-20", path="/part"))
        self.assertEqual(status(told), 502, told)
        self.assertIn(b"Lanyard-Refusal: tokenInResponse", told)
        self.assertNotIn("Range", self.api.requests[0].headers)

    def test_head_with_a_body_is_refused(self) -> None:
        proxy = self.proxy()
        for field, body in (("Content-Length: 1", b"x"), ("Transfer-Encoding: chunked", b"1\r\nx\r\n0\r\n\r\n")):
            told = proxy.ask_in_tunnel(self.api.place, get(self.api.place, field, method="HEAD") + body)
            self.assertEqual(status(told), 400, told)
        self.assertEqual(self.api.requests, [])

    def test_cookies_stay_behind_and_redirects_go_on(self) -> None:
        told = self.proxy().ask_in_tunnel(self.api.place, get(self.api.place, path="/cookie"))
        self.assertNotIn(b"session=1", told)
        self.assertIn(b"X-Kept: 1", told)
        self.assertIn(b"Location: /", told)
        self.assertEqual(len(self.api.requests), 1)

    def test_a_401_gets_one_new_token_and_one_more_sending(self) -> None:
        proxy = self.proxy()
        self.refused_once = self.token("work")
        before = self.exchanges()
        told = proxy.ask_in_tunnel(self.api.place, get(self.api.place, "Content-Length: 4", method="POST") + b"body")
        self.assertEqual(status(told), 200, told)
        self.assertEqual([request.body for request in self.api.requests], [b"body", b"body"])
        first, second = self.api.tokens()
        self.assertEqual((first, second), (self.refused_once, self.token("work")))
        self.assertEqual(self.exchanges(), before + 1)

    def test_the_repeat_after_a_401_takes_no_use_of_a_budget(self) -> None:
        self.caller.call("policy.set", {"name": "default", "policy": {"name": "default", "version": 1, "capabilities": {
            "orders.read": {
                "kind": "read", "offlineWindowSeconds": 3600, "budget": {"perHour": 2},
                "requests": [{"origin": self.api.origin, "methods": ["GET"], "path": "/*"}]}}}})
        proxy = self.proxy()
        self.refused_once = self.token("work")
        told = [status(proxy.ask_in_tunnel(self.api.place, get(self.api.place))) for _ in range(3)]
        self.assertEqual(told, [200, 200, 429])
        self.assertEqual(len(self.api.requests), 3)

    def test_a_large_body_is_sent_once_and_the_next_request_has_a_new_token(self) -> None:
        proxy = self.proxy()
        self.refused_once = self.token("work")
        body = b"x" * 100_000
        told = proxy.ask_in_tunnel(
            self.api.place, get(self.api.place, f"Content-Length: {len(body)}", method="POST") + body)
        self.assertEqual(status(told), 401, told)
        self.assertIn(b"expired", told)
        self.assertEqual(len(self.api.requests), 1)
        self.assertEqual(status(proxy.ask_in_tunnel(self.api.place, get(self.api.place))), 200)
        self.assertEqual(self.api.tokens(), [self.refused_once, self.token("work")])


if __name__ == "__main__":
    unittest.main()
