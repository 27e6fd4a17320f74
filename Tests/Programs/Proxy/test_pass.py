"""Programs that pass the proxy to a server without a token (docs/proxy.md, What passes)."""

from __future__ import annotations

import http.server
import socket
import ssl
import subprocess
import sys
import threading
import time
import unittest
from typing import Any, Dict, List

from proxy_fixture import (
    LANYARD, PATIENCE_SECONDS, Proxy, ProxyFixture, Request, Response, certificates, exchange, program, status)
from gate import Gate
from test_raw import get

# Opens a tunnel to the server that its argument names, says a word, hears another, and ends.
SPEAKER = """
import base64, os, socket, sys, urllib.parse
proxy, place = urllib.parse.urlsplit(os.environ["https_proxy"]), sys.argv[1]
secret = base64.b64encode(f"{proxy.username}:{proxy.password}".encode()).decode()
connection = socket.create_connection((proxy.hostname, proxy.port))
connection.sendall(
    f"CONNECT {place} HTTP/1.1\\r\\nHost: {place}\\r\\nProxy-Authorization: Basic {secret}\\r\\n\\r\\n".encode())
told = b""
while b"\\r\\n\\r\\n" not in told:
    told += connection.recv(1)
connection.sendall(b"12345")
print(connection.recv(5).decode())
"""


def patient(condition: Any) -> bool:
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


class PassingThrough(ProxyFixture):
    """`other` is a TLS server of no account, `plain` one of plain HTTP."""

    def setUp(self) -> None:
        super().setUp()
        self.other = self.server(lambda request: Response(200, b"other\n", [("Set-Cookie", "c=d")]))

    def passed(self, count: int = 1) -> List[Dict[str, Any]]:
        self.assertTrue(patient(lambda: len(self.audited("request.pass")) >= count), self.audited("request.pass"))
        return self.audited("request.pass")

    def open(self, proxy: Proxy, place: str) -> "tuple[socket.socket, bytes]":
        connection = proxy.connect()
        connection.sendall(
            f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\nProxy-Authorization: {proxy.credentials}\r\n\r\n".encode())
        told = b""
        while b"\r\n\r\n" not in told:
            more = connection.recv(1)
            if not more:
                break
            told += more
        self.addCleanup(connection.close)
        return connection, told

    def tls(self, connection: socket.socket) -> "ssl.SSLSocket":
        """The program trusts the server's own authority, not the proxy's: the proxy does not open the connection."""
        context = ssl.create_default_context(cafile=certificates().authority)
        return context.wrap_socket(connection, server_hostname="localhost", suppress_ragged_eofs=False)

    def test_a_named_origin_passes_with_the_programs_own_credentials(self) -> None:
        proxy = self.proxy("--pass", self.other.origin)
        self.assertEqual(proxy.announced["passOrigins"], [self.other.origin])
        connection, told = self.open(proxy, self.other.place)
        self.assertTrue(told.startswith(b"HTTP/1.1 200"), told)
        with self.tls(connection) as inner:
            answer = exchange(inner, get(self.other.place, "Authorization: Bearer own", "Cookie: a=b", "Connection: close"))
        self.assertEqual(status(answer), 200)
        self.assertIn(b"Set-Cookie: c=d", answer)
        self.assertEqual([request.headers.get("Authorization") for request in self.other.requests], ["Bearer own"])
        entry = self.passed()[0]
        self.assertEqual((entry["outcome"], entry["facts"]["origin"]), ("ok", self.other.origin))
        self.assertGreater(entry["facts"]["bytes"], len(answer))
        self.assertNotIn("account", entry)

    def test_the_accounts_own_origin_still_gets_the_token(self) -> None:
        proxy = self.proxy("--pass", self.other.origin)
        self.assertEqual(status(proxy.ask_in_tunnel(self.api.place, get(self.api.place, "Connection: close"))), 200)
        self.assertEqual(self.api.tokens(), [self.token("work")])
        self.assertEqual(self.other.requests, [])

    def test_nothing_passes_by_default(self) -> None:
        proxy = self.proxy()
        _, told = self.open(proxy, self.other.place)
        self.assertTrue(told.startswith(b"HTTP/1.1 403"), told)
        self.assertEqual(self.audited("request.pass"), [])

    def test_everything_public_excludes_this_machine_and_what_an_account_serves(self) -> None:
        self.allow(self.api.origin, "https://served.example", "https://8.8.8.8")
        self.grant("ci", ("home",), passOrigins=["*"])
        for words, account in ((("--pass", "*"), "work"), (("--grant", "ci"), None)):
            proxy = self.proxy(*words, account=account)
            self.assertEqual(proxy.announced["passOrigins"], ["*"])
            for place in (self.other.place, "127.0.0.1:1", "[::1]:1", "10.0.0.1:443", "192.168.1.1:443", "169.254.169.254:80",
                          "localhost:1"):
                _, told = self.open(proxy, place)
                self.assertTrue(told.startswith(b"HTTP/1.1 403"), (place, told))
        # Of an account, of the grant or not.
        proxy = self.proxy("--allow", self.api.origin, "--pass", "*")
        for place in ("served.example:443", "8.8.8.8:443", "[::ffff:8.8.8.8]:443"):
            _, told = self.open(proxy, place)
            self.assertTrue(told.startswith(b"HTTP/1.1 403"), told)
            self.assertIn(b"originNotAllowed", told)
        refused = [entry for entry in self.audited("request.pass") if entry["facts"]["origin"] == "https://served.example"]
        self.assertEqual([entry["outcome"] for entry in refused], ["originNotAllowed"])

    def name_of_this_machine(self) -> str:
        name = socket.gethostname()
        with open("/etc/hosts", encoding="utf-8") as known:
            local = [line.split() for line in known if line.startswith(("127.", "::1"))]
        names = [word for words in local for word in words[1:] if "." in word or word == name]
        names = [word for word in names if not word.startswith("localhost")]
        if not names:
            self.skipTest("no name but localhost leads to this machine")
        return names[0]

    def test_a_name_that_leads_to_this_machine_is_not_connected_to(self) -> None:
        proxy = self.proxy("--pass", "*")
        _, told = self.open(proxy, f"{self.name_of_this_machine()}:{self.other.place.rpartition(':')[2]}")
        self.assertTrue(told.startswith(b"HTTP/1.1 403"), told)
        self.assertIn(b"addressNotPublic", told)

    def test_a_name_that_leads_to_this_machine_is_not_asked_of_another_proxy(self) -> None:
        gate = Gate()
        self.addCleanup(gate.close)
        proxy = self.proxy("--pass", "*", https_proxy=gate.address)
        name = self.name_of_this_machine()
        _, told = self.open(proxy, f"{name}:443")
        self.assertTrue(told.startswith(b"HTTP/1.1 403"), told)
        self.assertIn(b"addressNotPublic", told)
        plain = proxy.ask((f"GET http://{name}/ HTTP/1.1\r\nHost: {name}\r\n"
                           f"Proxy-Authorization: {proxy.credentials}\r\n\r\n").encode())
        self.assertIn(b"addressNotPublic", plain)
        self.assertEqual(gate.asked, [])
        # A name that this machine does not know is the other proxy's to judge.
        _, told = self.open(proxy, "far.invalid:443")
        self.assertTrue(told.startswith(b"HTTP/1.1 502"), told)
        self.assertEqual(gate.asked, ["CONNECT far.invalid:443 HTTP/1.1"])

    def test_a_grant_lets_pass_what_it_names_and_no_other(self) -> None:
        identity = self.grant("ci", passOrigins=[self.other.origin])
        proxy = self.proxy("--grant", "ci", account=None)
        connection, told = self.open(proxy, self.other.place)
        self.assertTrue(told.startswith(b"HTTP/1.1 200"), told)
        with self.tls(connection) as inner:
            self.assertEqual(status(exchange(inner, get(self.other.place, "Connection: close"))), 200)
        facts = self.passed()[0]["facts"]
        self.assertEqual((facts["grant"], facts["grantee"]), (identity, "ci"))
        refused = subprocess.run(
            [LANYARD, "proxy", "--grant", "ci", "--pass", "https://elsewhere.example"], env=self.environment(),
            capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        self.assertEqual(refused.returncode, 6, refused.stderr)
        self.assertIn("lets no program pass to https://elsewhere.example", refused.stderr)
        everything = self.lanyard("proxy", "--grant", "ci", "--pass", "*", status=6).stderr
        self.assertIn("--pass '*'` makes a grant", everything)
        # As advised.
        self.assertIn("`lanyard grant create NAME --can requests --pass https://elsewhere.example`", refused.stderr)
        self.tool(LANYARD, "grant", "create", "far", "--can", "requests", "--pass", "https://elsewhere.example")
        self.proxy("--grant", "far", "--pass", "https://elsewhere.example", account=None)

    def test_a_connection_ends_with_the_grant(self) -> None:
        identity = self.grant("ci", passOrigins=[self.other.origin])
        proxy = self.proxy("--grant", "ci", account=None)
        connection, told = self.open(proxy, self.other.place)
        self.assertTrue(told.startswith(b"HTTP/1.1 200"), told)
        inner = self.tls(connection)
        self.caller.call("grant.revoke", {"grant": identity})
        with self.assertRaises((ConnectionError, ssl.SSLError, AssertionError)):
            self.assertNotEqual(inner.recv(1), b"")
        _, told = self.open(proxy, self.other.place)
        self.assertTrue(told.startswith(b"HTTP/1.1 403"), told)

    def test_a_half_that_ends_leaves_the_other(self) -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        place = f"localhost:{listener.getsockname()[1]}"

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                told = b""
                while more := connection.recv(65536):
                    told += more
                connection.sendall(b"got %d" % len(told))

        thread = threading.Thread(target=serve)
        thread.start()
        connection, told = self.open(self.proxy("--pass", f"https://{place}"), place)
        self.assertTrue(told.startswith(b"HTTP/1.1 200"), told)
        connection.sendall(b"x" * 3_000_000)
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as answer:
            self.assertEqual(answer.read(), b"got 3000000")
        thread.join()
        facts = self.passed()[0]["facts"]
        self.assertEqual((facts["bytes"], facts["sentBytes"]), (3_000_011, 3_000_000))

    def staying(self) -> str:
        """The place of a server that answers the first bytes of a connection, and never ends one."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def serve() -> None:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            self.addCleanup(connection.close)
            connection.recv(65536)
            connection.sendall(b"hello")

        threading.Thread(target=serve, daemon=True).start()
        return f"localhost:{listener.getsockname()[1]}"

    def test_what_passes_at_the_end_of_the_proxy_is_in_the_audit_log(self) -> None:
        place = self.staying()
        proxy = self.proxy("--pass", f"https://{place}")
        connection, told = self.open(proxy, place)
        self.assertTrue(told.startswith(b"HTTP/1.1 200"), told)
        connection.sendall(b"12345")
        self.assertEqual(connection.recv(5), b"hello")
        proxy.process.terminate()
        proxy.process.wait(PATIENCE_SECONDS)
        entry, = self.passed()
        self.assertEqual((entry["outcome"], entry["facts"]["bytes"], entry["facts"]["sentBytes"]), ("ok", 10, 5))

    def test_what_passes_at_the_end_of_the_command_is_in_the_audit_log(self) -> None:
        place = self.staying()
        told = self.through(sys.executable, "-c", SPEAKER, place, before=("--pass", f"https://{place}"))
        self.assertEqual(told.stdout, "hello\n")
        entry, = self.passed()
        self.assertEqual((entry["outcome"], entry["facts"]["bytes"], entry["facts"]["sentBytes"]), ("ok", 10, 5))

    def plain(self) -> "tuple[str, List[http.server.BaseHTTPRequestHandler]]":
        """The origin of a server of plain HTTP that answers with what it got, and what it got."""
        seen: List[http.server.BaseHTTPRequestHandler] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                seen.append(self)
                if self.headers.get("Transfer-Encoding") == "chunked":
                    body = b""
                    while size := int(self.rfile.readline(), 16):
                        body += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                else:
                    body = self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words: Any) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://localhost:{server.server_address[1]}", seen

    def test_plain_requests_pass_by_their_url_and_host_is_replaced(self) -> None:
        origin, seen = self.plain()
        proxy = self.proxy("--pass", origin)
        head = (f"POST {origin}/a?b HTTP/1.1\r\nHost: elsewhere.example\r\nCookie: c=d\r\n"
                f"Proxy-Authorization: {proxy.credentials}\r\n")
        told = proxy.ask((head + "Content-Length: 5\r\n\r\nhello").encode())
        self.assertTrue(told.endswith(b"\r\n\r\nhello"), told)
        told = proxy.ask((head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n").encode())
        self.assertTrue(told.endswith(b"\r\n\r\nabcde"), told)
        self.assertEqual([request.path for request in seen], ["/a?b"] * 2)
        self.assertEqual({request.headers["Host"] for request in seen}, {origin[len("http://"):]})
        self.assertEqual({request.headers["Cookie"] for request in seen}, {"c=d"})
        self.assertEqual({request.headers["Proxy-Authorization"] for request in seen}, {None})
        # Not by CONNECT.
        _, answer = self.open(proxy, origin[len("http://"):])
        self.assertTrue(answer.startswith(b"HTTP/1.1 403"), answer)
        # What follows on the connection is no second request to the server.
        two = (head + "Content-Length: 1\r\n\r\nx" + head + "Content-Length: 1\r\n\r\ny").encode()
        self.assertEqual(proxy.ask(two).count(b"HTTP/1.1 200"), 1)
        self.assertEqual(len(seen), 3)

    def keeping(self, answer: bytes, then: bytes = b"") -> "tuple[str, List[bytes]]":
        """The origin of a server of plain HTTP that keeps each connection open, gives the same answer to each head, then `then`
        to what follows it; and what it got."""
        seen: List[bytes] = []
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def serve(connection: socket.socket) -> None:
            got = b""
            with connection:
                while more := connection.recv(65536):
                    got += more
                    while b"\r\n\r\n" in got:
                        head, _, got = got.partition(b"\r\n\r\n")
                        seen.append(head)
                        connection.sendall(answer)
                    if got and then:
                        seen.append(got)
                        connection.sendall(then)
                        return

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        return f"http://localhost:{listener.getsockname()[1]}", seen

    def test_what_follows_a_request_never_reaches_its_server(self) -> None:
        """curl offers HTTP/2 by `Upgrade: h2c`, and uses the connection again unless it is told that it ends."""
        one, seen_by_one = self.keeping(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\none\n")
        other, seen_by_other = self.keeping(b"HTTP/1.1 200 OK\r\nKeep-Alive: 5\r\nContent-Length: 6\r\n\r\nother\n")
        proxy = self.proxy("--pass", one, "--pass", other)
        curl = program("curl", "curl")
        for version in ("--http2", "--http1.1"):
            words = ["--silent", "--show-error", "--max-time", str(PATIENCE_SECONDS), "--proxy", proxy.url, version]
            told = self.tool(
                curl, *words, one + "/a", "--next", *words, "--header", "Authorization: Bearer own", other + "/b")
            self.assertEqual(told.stdout, "one\nother\n")
        self.assertEqual([head.split(b" ")[1] for head in seen_by_one + seen_by_other], [b"/a", b"/a", b"/b", b"/b"])
        for head in seen_by_one:
            self.assertNotIn(b"own", head)
        for head in seen_by_one + seen_by_other:
            self.assertNotIn(b"h2c", head)
            self.assertNotIn(b"Proxy-Authorization", head)

    def test_no_other_upgrade_than_to_a_websocket_passes(self) -> None:
        origin, seen = self.keeping(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: tcp\r\nConnection: Upgrade\r\n\r\n")
        proxy = self.proxy("--pass", origin)
        head = f"GET {origin}/ HTTP/1.1\r\nHost: x\r\nProxy-Authorization: {proxy.credentials}\r\n"
        for fields in ("Connection: Upgrade\r\nUpgrade: tcp\r\n", "Connection: Upgrade\r\nUpgrade: websocket\r\n"):
            told = proxy.ask((head + fields + "\r\n").encode())
            self.assertEqual(status(told), 501, told)
        self.assertEqual(seen, [])
        # A server that changes the protocol unasked.
        self.assertEqual(status(proxy.ask((head + "\r\n").encode())), 502)

    def test_a_websocket_passes_once_the_server_opens_it(self) -> None:
        opened = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
        refused = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"
        for count, (answer, sent) in enumerate(((opened, [b"message"]), (refused, [])), start=1):
            origin, seen = self.keeping(answer, then=b"reply")
            proxy = self.proxy("--pass", origin)
            handshake = (
                f"GET {origin}/ HTTP/1.1\r\nHost: x\r\nProxy-Authorization: {proxy.credentials}\r\nConnection: Upgrade\r\n"
                "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n").encode()
            # What a client sends too early might be for another server.
            early = proxy.ask(handshake + b"message")
            self.assertEqual((status(early), seen), (400, []), early)
            with proxy.connect() as connection:
                connection.sendall(handshake)
                told = b""
                while not told.endswith((b"\r\n\r\n", b"\r\n\r\nno")):
                    told += connection.recv(1)
                self.assertEqual(status(told), status(answer), told)
                self.assertEqual(b"Connection: close" in told, not sent)
                connection.sendall(b"message")
                if sent:
                    with connection.makefile("rb") as rest:
                        self.assertEqual(rest.read(), b"reply")
            self.passed(count)
            self.assertEqual(seen[1:], sent)

    def test_a_request_of_http_10_passes_as_one(self) -> None:
        origin, seen = self.keeping(b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok")
        proxy = self.proxy("--pass", origin)
        with proxy.connect() as connection:
            connection.sendall(f"GET {origin}/x HTTP/1.0\r\nProxy-Authorization: {proxy.credentials}\r\n\r\n".encode())
            told = b""
            while not told.endswith(b"ok"):
                told += connection.recv(1)
        self.assertEqual(told, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        self.assertEqual(seen[0].split(b"\r\n")[0], b"GET /x HTTP/1.0")

    def test_absolute_form_decides_over_host(self) -> None:
        """Also for a server whose origin gets tokens: Node's `http.request` names the proxy in Host."""
        origin, seen = self.plain()
        self.allow(self.api.origin, origin)
        proxy = self.proxy()
        told = proxy.ask((f"POST {origin}/ HTTP/1.1\r\nHost: 127.0.0.1:{proxy.port}\r\nConnection: close\r\n"
                          f"Content-Length: 0\r\nProxy-Authorization: {proxy.credentials}\r\n\r\n").encode())
        self.assertEqual(status(told), 200, told)
        self.assertEqual(seen[0].headers["Host"], origin[len("http://"):])
        self.assertTrue((seen[0].headers["Authorization"] or "").startswith("Bearer "))

    def test_programs_trust_the_systems_authorities_too(self) -> None:
        proxy = self.proxy("--pass", self.other.origin, SSL_CERT_FILE=certificates().authority)
        assert proxy.certificate is not None
        with open(proxy.certificate, encoding="utf-8") as file, open(certificates().authority, encoding="utf-8") as own:
            text = file.read()
            self.assertIn(own.read().strip(), text)
        self.assertGreater(text.count("BEGIN CERTIFICATE"), 1)
        told = self.through(
            "curl", "--silent", "--show-error", self.other.origin + "/", before=("--pass", self.other.origin),
            SSL_CERT_FILE=certificates().authority)
        self.assertEqual(told.stdout, "other\n")

    def test_an_origin_of_the_account_is_not_passed_as_well(self) -> None:
        refused = subprocess.run(
            [LANYARD, "proxy", "--account", "work", "--pass", self.api.origin], env=self.environment(), capture_output=True,
            text=True, timeout=PATIENCE_SECONDS)
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn(f"Leave out --pass {self.api.origin}", refused.stderr)
        refused = subprocess.run(
            [LANYARD, "proxy", "--pass", "pypi.org"], env=self.environment(), capture_output=True, text=True,
            timeout=PATIENCE_SECONDS)
        self.assertEqual(refused.returncode, 2, refused.stderr)


if __name__ == "__main__":
    unittest.main()
