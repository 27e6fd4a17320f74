"""Raw bytes at the proxy: wrong secrets, other users, requests that two parsers read in two ways, hosts that do not agree."""

import os
import re
import shlex
import socket
import ssl
import threading
import time
import unittest
from typing import List

from proxy_fixture import Proxy, ProxyFixture, as_nobody, Request, Response, exchange, status
from forms import in_quick_form


@in_quick_form(
    "test_a_wrong_or_missing_secret_is_407_and_nothing_happens", "test_another_user_is_refused",
    "test_another_user_takes_no_place")
class Admission(ProxyFixture):
    def setUp(self) -> None:
        super().setUp()
        self.door = self.proxy()
        self.connect = f"CONNECT {self.api.place} HTTP/1.1\r\nHost: {self.api.place}\r\n"

    def test_a_wrong_or_missing_secret_is_407_and_nothing_happens(self) -> None:
        wrong = self.door.credentials[:-4] + "AAAA"
        for field in ("", f"Proxy-Authorization: {wrong}\r\n", "Proxy-Authorization: Basic\r\n",
                      f"Proxy-Authorization: Bearer {self.door.secret}\r\n",
                      f"Proxy-Authorization: {self.door.credentials}\r\nProxy-Authorization: {wrong}\r\n"):
            for request in (self.connect, "GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: 127.0.0.1:1\r\n"):
                told = self.door.ask((request + field + "Connection: close\r\n\r\n").encode())
                self.assertEqual(status(told), 407, told)
                self.assertIn(b'Proxy-Authenticate: Basic realm="lanyard"', told)
                self.assertNotIn(self.door.secret.encode(), told)
        self.assertEqual(self.api.requests, [])
        self.assertEqual(self.audited(), [])

    def test_a_client_may_come_back_with_the_secret_on_the_same_connection(self) -> None:
        with self.door.connect() as connection:
            connection.sendall((self.connect + "\r\n").encode())
            told = connection.recv(65536)
            self.assertEqual(status(told), 407)
            connection.sendall((self.connect + f"Proxy-Authorization: {self.door.credentials}\r\n\r\n").encode())
            self.assertEqual(status(connection.recv(65536)), 200)

    @unittest.skipIf(os.geteuid() != 0, "NOT TESTED: only root may become another user")
    def test_another_user_is_refused(self) -> None:
        place, request = ("127.0.0.1", self.door.port), (
            self.connect + f"Proxy-Authorization: {self.door.credentials}\r\n\r\n").encode()

        def ask() -> str:
            with socket.create_connection(place, timeout=20) as connection:
                return exchange(connection, request).decode()

        told = as_nobody(ask)
        self.assertEqual(status(told.encode()), 403, told)
        self.assertIn("another user", told)

    @unittest.skipIf(os.geteuid() != 0, "NOT TESTED: only root may become another user")
    def test_another_user_takes_no_place(self) -> None:
        place = ("127.0.0.1", self.door.port)

        def fill() -> str:
            held = [socket.create_connection(place, timeout=20) for _ in range(400)]
            # Closed at once: each is read to its end without a wait for anything of this client.
            began = time.monotonic()
            told = [connection.recv(65536) for connection in held]
            return f"{sum(answer.startswith(b'HTTP/1.1 403') for answer in told)} {time.monotonic() - began < 9}"

        holding = threading.Thread(target=lambda: told.append(as_nobody(fill)))
        told: "list[str]" = []
        holding.start()
        served = [status(self.door.ask_in_tunnel(self.api.place, get(self.api.place))) for _ in range(20)]
        holding.join()
        self.assertEqual((served, told), ([200] * 20, ["400 True"]))

    def test_a_client_that_speaks_tls_to_the_proxy_is_told(self) -> None:
        context = ssl.create_default_context()
        context.check_hostname = False
        with self.door.connect() as connection:
            with self.assertRaises(ssl.SSLError):
                context.wrap_socket(connection)

    def test_a_slow_client_does_not_stop_others(self) -> None:
        idle = [self.door.connect() for _ in range(40)]
        for connection in idle:
            self.addCleanup(connection.close)
            connection.sendall(b"GET http://")
        told = self.door.ask_in_tunnel(self.api.place, get(self.api.place))
        self.assertEqual(status(told), 200)

    def test_more_connections_than_there_is_room_for_are_refused(self) -> None:
        idle = [self.door.connect() for _ in range(260)]
        for connection in idle:
            self.addCleanup(connection.close)
        self.assertEqual(status(exchange(idle[-1], b"")), 503)


def get(place: str, *fields: str, path: str = "/", method: str = "GET", end: str = "Connection: close\r\n\r\n") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: {place}\r\n{''.join(field + chr(13) + chr(10) for field in fields)}{end}".encode()


@in_quick_form(
    "test_heads_that_are_read_in_two_ways_are_refused", "test_hosts_that_do_not_agree_are_refused",
    "test_the_certificate_is_good_for_no_other_host")
class Smuggling(ProxyFixture):
    """Requests in a tunnel. Whatever is refused, nothing of it reaches the server."""

    def setUp(self) -> None:
        super().setUp()
        self.door = self.proxy()

    def ask(self, data: bytes, **options: object) -> bytes:
        return self.door.ask_in_tunnel(self.api.place, data, **options)

    def test_heads_that_are_read_in_two_ways_are_refused(self) -> None:
        place = self.api.place
        chunked = "Transfer-Encoding: chunked"
        cases = {
            "a length beside a coding": get(place, "Content-Length: 5", chunked, method="POST"),
            "two lengths": get(place, "Content-Length: 5", "Content-Length: 6", method="POST"),
            "twice the same length": get(place, "Content-Length: 5", "Content-Length: 5", method="POST"),
            "a list of lengths": get(place, "Content-Length: 5, 5", method="POST"),
            "a signed length": get(place, "Content-Length: +5", method="POST"),
            "a negative length": get(place, "Content-Length: -1", method="POST"),
            "a hexadecimal length": get(place, "Content-Length: 0x5", method="POST"),
            "two hosts": get(place, f"Host: {place}"),
            "a folded field": get(place, "X-A: b\r\n c"),
            "a blank before the colon": get(place, "Content-Length : 5"),
            "a bare LF": f"GET / HTTP/1.1\nHost: {place}\n\n".encode(),
            "a LF in the head": f"GET / HTTP/1.1\r\nHost: {place}\nX-A: b\r\n\r\n".encode(),
            "a bare CR": f"GET / HTTP/1.1\r\nHost: {place}\r\nX-A: b\rX-C: d\r\n\r\n".encode(),
            "a NUL": f"GET / HTTP/1.1\r\nHost: {place}\r\nX-A: b\0c\r\n\r\n".encode(),
            "two blanks": f"GET  / HTTP/1.1\r\nHost: {place}\r\n\r\n".encode(),
            "no host": b"GET / HTTP/1.1\r\n\r\n",
            "HTTP/0.9": b"GET /\r\n\r\n",
            "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "a coding that is not chunked": get(place, "Transfer-Encoding: gzip, chunked", method="POST"),
            "an obscured coding": get(place, "Transfer-Encoding: \x0bchunked", method="POST"),
            "two codings": get(place, chunked, chunked, method="POST"),
            "chunked in HTTP/1.0": f"POST / HTTP/1.0\r\nHost: {place}\r\n{chunked}\r\n\r\n0\r\n\r\n".encode(),
            "an expectation": get(place, "Expect: 200-ok", "Content-Length: 1", method="POST"),
            "a large head": get(place, "X-A: " + "b" * 70000),
            "many fields": get(place, *["X-A: b"] * 300),
            "a path with a blank": get(place, path="/a b"),
            "a fragment": get(place, path="/a#b"),
            "an upgrade": get(place, "Connection: upgrade", "Upgrade: websocket", end="\r\n"),
            "another method by a field": get(place, "X-HTTP-Method-Override: DELETE", method="POST"),
            "another path by a field": get(place, "X_Original_URL: /admin"),
            "a token in the query": get(place, path="/?a=b&access%5Ftoken=c"),
            "TRACE": get(place, method="TRACE"),
            "CONNECT in a tunnel": get(place, path=place, method="CONNECT"),
            "an asterisk": get(place, path="*", method="OPTIONS"),
        }
        for name, data in cases.items():
            with self.subTest(name):
                told = self.ask(data)
                self.assertIn(status(told), (400, 405, 417, 421, 431, 501, 505), told)
                self.assertIn(b"Lanyard-Refusal: ", told)
        self.assertEqual(self.api.requests, [])

    def test_chunked_bodies_that_are_malformed_are_refused(self) -> None:
        for body in (b"g\r\n", b"-1\r\n", b"0x1\r\na\r\n", b"1\na\r\n", b"1\r\nab\r\n", b"1\r\na\n", b"f" * 17 + b"\r\n",
                     b"1 \x00\r\n", b"1;" + b"x" * 300 + b"\r\n", b"1\r\na\r\n0\r\nX-A b\n\r\n"):
            with self.subTest(body):
                head = get(self.api.place, "Transfer-Encoding: chunked", method="POST")
                told = self.ask(head + body + b"\r\n0\r\n\r\n")
                self.assertNotIn(b" 200 ", told[:15])
        self.assertEqual([request for request in self.api.requests if request.path != "/"], [])

    def test_a_request_behind_a_body_is_a_request_of_its_own(self) -> None:
        smuggled = get(self.api.place, "Authorization: Bearer own", path="/second")
        first = get(self.api.place, f"Content-Length: {len(smuggled)}", method="POST", path="/first", end="\r\n")
        told = self.ask(first + smuggled + get(self.api.place, path="/third"))
        self.assertEqual(told.count(b"HTTP/1.1 200"), 2)
        self.assertEqual([request.path for request in self.api.requests], ["/first", "/third"])
        self.assertEqual(self.api.requests[0].body, smuggled)

    def test_chunked_bodies_arrive_whole(self) -> None:
        head = get(self.api.place, "Transfer-Encoding: chunked", method="POST", path="/c")
        told = self.ask(head + b"5;ext=1\r\nhello\r\n1\r\n!\r\n0\r\nX-Trailer: a\r\n\r\n")
        self.assertEqual(status(told), 200)
        self.assertEqual(self.api.requests[0].body, b"hello!")
        self.assertNotIn("X-Trailer", self.api.requests[0].headers)

    def test_hosts_that_do_not_agree_are_refused(self) -> None:
        for name, data, options in (
                ("another host", get("elsewhere.example"), {}),
                ("another port", get("localhost:1"), {}),
                ("no port", get("localhost"), {}),
                ("a URL of another host", get(self.api.place, path="https://elsewhere.example/"), {}),
                ("another server name", get(self.api.place), {"server_name": "elsewhere.example", "trusted": False}),
        ):
            with self.subTest(name):
                told = self.ask(data, **options)
                self.assertEqual(status(told), 421, told)
        self.assertEqual(self.api.requests, [])

    def test_the_certificate_is_good_for_no_other_host(self) -> None:
        with self.assertRaises(ssl.SSLCertVerificationError):
            self.ask(get(self.api.place), server_name="elsewhere.example")

    def test_dot_segments_are_resolved_before_the_agent_judges(self) -> None:
        self.assertEqual(status(self.ask(get(self.api.place, path="/a/../b/%2e%2e/c?d=..%2f"))), 200)
        self.assertEqual(self.api.requests[0].path, "/c?d=..%2f")

    def test_head_and_statuses_without_a_body_keep_the_connection(self) -> None:
        request = get(self.api.place, method="HEAD", end="\r\n")
        told = self.ask(request + get(self.api.place, path="/204", end="\r\n") + get(self.api.place))
        self.assertEqual(told.count(b"HTTP/1.1 "), 3, told)
        self.assertTrue(told.endswith(b"hello\n"), told)

    def answer(self, request: Request) -> Response:
        if request.path == "/204":
            return Response(204)
        return Response(200, b"hello\n") if request.bearer else Response(401)


@in_quick_form(
    "test_only_plain_fields_go_on", "test_parameters_that_turn_a_request_into_another_are_refused",
    "test_a_form_is_one_for_every_reader_of_its_fields", "test_a_large_form_never_arrives_whole",
    "test_the_person_allows_a_field")
class Names(ProxyFixture):
    """The one rule for names in a request, at the proxy."""

    def ask(self, proxy: Proxy, data: bytes) -> bytes:
        return proxy.ask_in_tunnel(self.api.place, data)

    def test_only_plain_fields_go_on(self) -> None:
        proxy = self.proxy()
        plain = {"Accept": "text/plain", "X-GitHub-Api-Version": "1", "X-Request-Id": "2", "X-Note": "3"}
        left_out = [
            "X-MS-Client-Principal", "X-MS-TOKEN-AAD-ACCESS-TOKEN", "X-Amzn-Oidc-Identity", "x_amzn_oidc_data",
            "Cf-Access-Jwt-Assertion", "Cf-Access-Client-Secret", "X-Forwarded-Client-Cert", "X-SSL-Client-Cert",
            "Client-Cert", "X-Auth-Request-Email", "Tailscale-User-Login", "Remote-Groups", "X-Vendor-Thing", "X.Api.Key",
        ]
        fields = [f"{name}: {value}" for name, value in plain.items()] + [f"{name}: canary" for name in left_out]
        self.assertEqual(status(self.ask(proxy, get(self.api.place, *fields))), 200)
        received = self.api.requests[0].headers
        self.assertEqual({name: received[name] for name in plain}, plain)
        self.assertNotIn("canary", str(received))

    def test_fields_that_name_another_person_or_method_are_refused(self) -> None:
        proxy = self.proxy()
        for field in ("Dropbox-API-Select-User", "X-Switch-User", "X-On-Behalf-Of", "X-RestLi-Method", "X-Forwarded-Path"):
            told = self.ask(proxy, get(self.api.place, f"{field}: x"))
            self.assertEqual(status(told), 400, told)
            self.assertIn(b"Lanyard-Refusal: overrideRefused", told)
        self.assertEqual(self.api.requests, [])

    def test_parameters_that_turn_a_request_into_another_are_refused(self) -> None:
        proxy = self.proxy()
        for name in ("token", "api_token", "jwt", "doAs", "_switch_user", "%2561ccess_token", "_method", "%24httpMethod"):
            with self.subTest(name):
                told = self.ask(proxy, get(self.api.place, path=f"/?a=b&{name}=c"))
                self.assertEqual(status(told), 400, told)
                body = f"a=b&{name}=c".encode()
                for kind in ("Content-Type: application/x-www-form-urlencoded", "X-Note: no type"):
                    head = get(self.api.place, kind, f"Content-Length: {len(body)}", method="POST")
                    told = self.ask(proxy, head + body)
                    self.assertEqual(status(told), 400, told)
                part = f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\nc\r\n--b--\r\n'.encode()
                head = get(self.api.place, "Content-Type: multipart/form-data; boundary=b",
                           f"Content-Length: {len(part)}", method="POST")
                self.assertEqual(status(self.ask(proxy, head + part)), 400)
                self.assertEqual(status(self.ask(proxy, get(self.api.place, path=f"/a;{name}=c/d"))), 400)
        self.assertEqual(self.api.requests, [])

    def test_a_form_is_one_for_every_reader_of_its_fields(self) -> None:
        proxy = self.proxy()
        body = b"a=b&_method=DELETE"
        for fields in (["Content-Type: application/json", "Connection: content-type"],
                       ["Content-Type: application/json", "Content_Type: application/x-www-form-urlencoded"],
                       ["Content-Type: application/x-www-form-urlencoded", "Content_Type: application/json"],
                       ["Content.Type: application/x-www-form-urlencoded"]):
            with self.subTest(fields):
                head = get(self.api.place, *fields, f"Content-Length: {len(body)}", method="POST")
                self.assertEqual(status(self.ask(proxy, head + body)), 400)
        self.assertEqual(self.api.requests, [])

    def test_a_large_form_never_arrives_whole(self) -> None:
        proxy = self.proxy()
        body = b"a=" + b"x" * 200_000 + b"&_method=DELETE"
        for framing, data in ((f"Content-Length: {len(body)}", body),
                              ("Transfer-Encoding: chunked", b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))):
            head = get(self.api.place, "Content-Type: application/x-www-form-urlencoded", framing, method="POST")
            self.assertEqual(status(self.ask(proxy, head + data)), 400)
        self.assertEqual([request.method for request in self.api.requests if len(request.body) >= 200_000], [])
        plain = b"a=" + b"x" * 200_000
        head = get(self.api.place, "Content-Type: application/x-www-form-urlencoded", f"Content-Length: {len(plain)}",
                   method="POST")
        self.assertEqual(status(self.ask(proxy, head + plain)), 200)

    def test_the_person_allows_a_field(self) -> None:
        self.lanyard("provider", "update", "practice", "--allowed-field", "X-Vendor-Thing", "--allowed-field", "token")
        told = self.ask(self.proxy(), get(self.api.place, "x-vendor-thing: kept", "X-Other-Vendor: gone", path="/?token=1"))
        self.assertEqual(status(told), 200)
        self.assertIn("kept", str(self.api.requests[0].headers))
        self.assertNotIn("gone", str(self.api.requests[0].headers))

    def test_a_field_that_is_left_out_is_told_once(self) -> None:
        proxy = self.proxy()
        for _ in range(3):
            self.ask(proxy, get(self.api.place, "X-Vendor-Thing: x"))
        proxy.process.terminate()
        assert proxy.process.stderr is not None
        told = proxy.process.stderr.read()
        self.assertEqual(told.count("x-vendor-thing was left out"), 1, told)
        self.assertIn(
            "`lanyard provider update practice --allowed-field x-vendor-thing` allows it; then start the proxy again.", told)

    def told_by(self, *fields: str) -> List[str]:
        """What the proxy tells of requests with these fields, one after another, as commands that a person pastes."""
        proxy = self.proxy()
        for field in fields:
            self.assertEqual(status(self.ask(proxy, get(self.api.place, field))), 200)
        proxy.process.terminate()
        assert proxy.process.stderr is not None
        self.told = proxy.process.stderr.read().replace("\n", " ")
        return re.findall("`(lanyard provider update .*?)` allows it", self.told)

    def test_the_command_keeps_what_was_allowed_and_works_after_a_new_start(self) -> None:
        self.lanyard("provider", "update", "practice", "--allowed-field", "X-Known")
        commands = self.told_by("x-a: 1", "x-b: 2")
        self.assertEqual(len(commands), 2, self.told)
        for command in commands:
            self.lanyard(*shlex.split(command)[1:])
        told = self.ask(self.proxy(), get(self.api.place, "x-a: kept1", "x-b: kept2", "x-known: kept3"))
        self.assertEqual(status(told), 200)
        for value in ("kept1", "kept2", "kept3"):
            self.assertIn(value, str(self.api.requests[-1].headers))

    def test_a_name_that_a_shell_would_run_is_one_word_of_the_command(self) -> None:
        name = "x&touch|y$z'"
        command, = self.told_by(f"{name}: 1")
        self.assertEqual(shlex.split(command), ["lanyard", "provider", "update", "practice", "--allowed-field", name])

    def test_no_command_is_told_for_a_name_that_is_cut(self) -> None:
        self.assertEqual(self.told_by(f"x-{'long' * 20}: 1"), [])
        self.assertIn("was left out", self.told)

    def test_fields_silence_no_refusal(self) -> None:
        proxy = self.proxy()
        self.ask(proxy, get(self.api.place, *(f"x-vendor-{number}: 1" for number in range(30))))
        self.assertEqual(status(self.ask(proxy, get(self.api.place, path="/?access_token=1"))), 400)
        proxy.process.terminate()
        assert proxy.process.stderr is not None
        told = proxy.process.stderr.read()
        self.assertEqual(told.count("was left out"), 20, told)
        self.assertIn("access_token", told)


if __name__ == "__main__":
    unittest.main()
