"""lanyard_curl: the token goes to the named origins, unseen, and a refusal is answered once."""

from __future__ import annotations

import os
import unittest
from typing import Any, Dict, Mapping, Tuple

from fake_agent import Peer

from .shell import SHELLS, Request, Server, ShellTest, secret


class CurlTest(ShellTest):
    def setUp(self) -> None:
        super().setUp()
        self.kind = "Bearer"
        self.agent.on("token.get", lambda request, peer: {**secret(1), "tokenType": self.kind})
        self.agent.on("token.reject", lambda request, peer: {**secret(2), "tokenType": self.kind})
        self.agent.on("token.proof", self.prove)

    def prove(self, request: Dict[str, Any], peer: Peer) -> Dict[str, Any]:
        return {"proof": f"proof-{len(self.agent.requests('token.proof'))}", "thumbprint": "t", "account": "acc_alice"}

    def server(self, *answers: Tuple[int, Mapping[str, str], str]) -> Server:
        rest = list(answers) or [(200, {}, "fine")]

        def answer(request: Request) -> Tuple[int, Mapping[str, str], str]:
            return rest.pop(0) if len(rest) > 1 else rest[0]

        server = Server(answer)
        self.addCleanup(server.__exit__)
        return server


REFUSED = (401, {"WWW-Authenticate": 'Bearer error="invalid_token", error_description="a \\"b\\""'}, "refused")


class Sent(CurlTest):
    def test_token_is_sent_and_the_body_printed(self) -> None:
        for shell in SHELLS:
            with self.subTest(shell=shell):
                server = self.server()
                script = f'set -euo pipefail -C; lanyard_curl work {server.origin} -- "{server.origin}/me?a=[1-2]&b={{x,y}}"; echo " $LANYARD_HTTP_STATUS"'
                ran = self.run_in(shell, script)
                self.assertEqual((ran.status, ran.out), (0, "fine 200\n"), ran.err)
                self.assertEqual([request.path for request in server.requests], ["/me?a=[1-2]&b={x,y}"])
                self.assertEqual(server.requests[0].header("authorization"), "Bearer secret-1")

    def test_nothing_shows_the_token(self) -> None:
        for shell in SHELLS:
            with self.subTest(shell=shell):
                server = self.server(REFUSED, (200, {}, "fine"))
                script = f"set -x; set -a; export __lanyard_token=x; lanyard_curl -v body work {server.origin} -- {server.origin}/me; echo \"$body\""
                ran = self.run_in(shell, script)
                self.assertEqual((ran.status, ran.out), (0, "fine\n"), ran.err)
                self.assertNotIn("secret-", ran.err + self.seen())
        self.assertEqual(sorted(os.listdir(self.place)), ["bin", "watched"])

    def test_user_configuration_of_curl_is_not_read(self) -> None:
        other = self.server()
        with open(os.path.join(self.place, ".curlrc"), "w", encoding="utf-8") as file:
            file.write(f'url = "{other.origin}"\nlocation-trusted\nverbose\n')
        server = self.server((302, {"Location": other.origin}, "moved"))
        self.prints(f"lanyard_curl work {server.origin} -- {server.origin} && echo \" $LANYARD_HTTP_STATUS\"", "moved 302\n")
        self.assertEqual(other.requests, [])

    def test_proxy_gets_nothing_unencrypted(self) -> None:
        proxy, server = self.server(), self.server()
        self.prints(f"lanyard_curl work {server.origin} -- {server.origin}", "fine", http_proxy=proxy.origin, all_proxy=proxy.origin)
        self.assertEqual(proxy.requests, [])

    def test_options_of_curl(self) -> None:
        server = self.server()
        script = f"""lanyard_curl -s a -s b --aud https://api.example work {server.origin} -- \\
            -X PUT -H 'Content-Type: text/plain' --data-binary @body -w '%{{http_code}}' -o out -sS {server.origin}/x && cat out"""
        with open(os.path.join(self.place, "body"), "w", encoding="utf-8") as file:
            file.write("of a file")
        self.prints(script, "200fine")
        request = server.requests[0]
        self.assertEqual((request.method, request.body, request.header("content-type")), ("PUT", "of a file", "text/plain"))
        params = self.agent.requests("token.get")[0]["params"]
        self.assertEqual((params["scopes"], params["resource"]), (["a", "b"], "https://api.example"))

    def test_status_of_curl(self) -> None:
        server = self.server((404, {}, "nothing"))
        script = f"lanyard_curl work {server.origin} -- -f {server.origin} 2>/dev/null; echo \"$? $LANYARD_ERROR_NAME $LANYARD_HTTP_STATUS $LANYARD_CURL_EXIT\""
        self.prints(script, "1 requestFailed 404 22\n")
        script = "lanyard_curl work http://127.0.0.1:1 -- http://127.0.0.1:1/ 2>/dev/null; echo \"$? $LANYARD_ERROR_NAME $LANYARD_ERROR_RETRYABLE $LANYARD_CURL_EXIT\""
        self.prints(script, "1 requestFailed true 7\n")


class Refused(CurlTest):
    def test_refused_token_is_reported_and_the_request_sent_again(self) -> None:
        for shell in SHELLS:
            with self.subTest(shell=shell):
                server = self.server(REFUSED, (200, {}, "fine"))
                ran = self.run_in(shell, f"lanyard_curl work {server.origin} -- --json '{{}}' {server.origin}/orders")
                self.assertEqual((ran.status, ran.out), (0, "fine"), ran.err)
                self.assertEqual([request.body for request in server.requests], ["{}", "{}"])
                self.assertEqual([request.method for request in server.requests], ["POST", "POST"])
                self.assertEqual(server.requests[1].header("authorization"), "Bearer secret-2")
                params = self.agent.requests("token.reject")[-1]["params"]
                self.assertEqual(params, {"account": "work", "fingerprint": "f1", "challenge": REFUSED[1]["WWW-Authenticate"]})

    def test_second_refusal_is_the_answer(self) -> None:
        for shell in SHELLS:
            with self.subTest(shell=shell):
                server = self.server(REFUSED)
                ran = self.run_in(shell, f'lanyard_curl work {server.origin} -- {server.origin}; echo " $? $LANYARD_HTTP_STATUS"')
                self.assertEqual((ran.out, len(server.requests)), ("refused 0 401\n", 2), ran.err)

    def test_pipe_is_sent_once(self) -> None:
        for shell in SHELLS:
            with self.subTest(shell=shell):
                server = self.server(REFUSED, (200, {}, "fine"))
                ran = self.run_in(shell, f"lanyard_curl work {server.origin} -- -d @<(printf body) {server.origin}")
                self.assertEqual((ran.out, [request.body for request in server.requests]), ("refused", ["body"]), ran.err)
        self.assertEqual(len(self.agent.requests("token.reject")), len(SHELLS))

    def test_bound_token_goes_with_proofs(self) -> None:
        self.kind = "DPoP"
        wanted = {"WWW-Authenticate": 'DPoP error="use_dpop_nonce"', "DPoP-Nonce": "nonce-1"}
        for shell in SHELLS:
            with self.subTest(shell=shell):
                server = self.server((401, wanted, ""), (200, {}, "fine"))
                ran = self.run_in(shell, f"lanyard_curl work {server.origin} -- -d x {server.origin}/me")
                self.assertEqual((ran.status, ran.out), (0, "fine"), ran.err)
                self.assertEqual([request.header("authorization") for request in server.requests], ["DPoP secret-1"] * 2)
                first, second = [request["params"] for request in self.agent.requests("token.proof")[-2:]]
                url = server.origin + "/me"
                self.assertEqual(first, {"account": "work", "method": "POST", "url": url, "fingerprint": "f1"})
                self.assertEqual(second["nonce"], "nonce-1")
        self.assertNotIn("proof-", self.seen())

    def test_nonce_is_tried_once(self) -> None:
        self.kind = "DPoP"
        wanted = {"WWW-Authenticate": 'DPoP error="use_dpop_nonce"', "DPoP-Nonce": "nonce-1"}
        server = self.server((401, wanted, "again"))
        self.prints(f"lanyard_curl work {server.origin} -- {server.origin}", "again")
        self.assertEqual((len(server.requests), self.agent.requests("token.reject")), (4, []))


class Kept(CurlTest):
    def test_other_origins_get_nothing(self) -> None:
        server = self.server()
        port = server.origin.rsplit(":", 1)[1]
        for url in (
            f"http://127.0.0.2:{port}/", f"http://127.0.0.1@127.0.0.1:{port}/", f"http://127.0.0.1:{port}@evil.example/",
            f"https://127.0.0.1:{port}/", "http://127.0.0.1/", f"http://127.0.0.1:0{port}/", "file:///etc/passwd", "127.0.0.1",
            f"http://127.0.0.1\\\\@127.0.0.1:{port}/", f"http://localhost:{port}/", "", f"http://127.1:{port}/",
        ):
            with self.subTest(url=url):
                self.prints(f"lanyard_curl work {server.origin} -- '{url}' 2>/dev/null; echo \"$? $LANYARD_ERROR_NAME\"", "2 originRefused\n")
        self.assertEqual((server.requests, self.agent.requests("token.get")), ([], []))

    def test_unencrypted_origins_are_refused(self) -> None:
        for origin in ("http://api.example", "http://192.0.2.1", "http://localhost.example", "http://127.0.0.1.example", "http://127.999.0.1"):
            with self.subTest(origin=origin):
                self.prints(f"lanyard_curl work {origin} -- {origin}/x 2>/dev/null; echo \"$? $LANYARD_ERROR_NAME\"", "2 originRefused\n")

    def test_options_that_lead_elsewhere_are_refused(self) -> None:
        server = self.server()
        for option in (
            "-L", "--location-trusted", "-x http://127.0.0.1:1", "--next", "-v", "--trace-ascii -", "-k", "-K file", "--resolve a:1:b",
            "--connect-to ::a:1", "http://evil.example", "--url http://evil.example", "-H 'Authorization: Basic x'",
            "-H 'authorization : x'", "-H 'Host: evil.example'", "-H @file", "-d @-", "-T -", "-T .", "-F 'a=@-'", "-u a:b", "-XPOST",
            "--data-urlencode a@-", "--json @-", "--unix-socket x", "--doh-url https://x", "-H ' Host: evil.example'",
            "-H $'X: a\nHost: evil.example'", "-X $'GET / HTTP/1.1\r\nHost: evil.example\r\nX:'",
        ):
            with self.subTest(option=option):
                self.prints(f"lanyard_curl work {server.origin} -- {option} {server.origin} 2>/dev/null; echo \"$? $LANYARD_ERROR_NAME\"", "2 usage\n")
        self.assertEqual((server.requests, self.agent.requests("token.get")), ([], []))

    def test_case_is_told_apart_where_bash_would_not(self) -> None:
        server = self.server()
        # -R takes no value, as -r does: what stands behind it would be an option that was not checked.
        script = f"shopt -s nocasematch; lanyard_curl work {server.origin} -- -R --location-trusted {server.origin}; echo $?"
        ran = self.run_in("bash", script)
        self.assertEqual((ran.out, server.requests, self.agent.requests("token.get")), ("2\n", [], []), ran.err)

    def test_origins_must_be_named(self) -> None:
        for arguments in ("work -- https://a.example", "-- https://a.example", "work https://a.example", "", "work https://a.example/x -- https://a.example/x"):
            with self.subTest(arguments=arguments):
                self.prints(f"lanyard_curl {arguments} 2>/dev/null; echo \"$? $LANYARD_ERROR_NAME\"", "2 usage\n")


if __name__ == "__main__":
    unittest.main()
