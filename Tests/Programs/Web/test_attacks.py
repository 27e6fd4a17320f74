"""What attacks the page of `lanyard ui`: other sites of the browser, other users, programs that guess, and bytes that are no HTTP.
Each attack is refused, and the agent's state is as it was."""

import concurrent.futures
import os
import shutil
import socket
import subprocess
import time
import unittest
import urllib.parse

from web_fixture import FORM, PAGES, PATIENCE_SECONDS, WebFixture

from agent_fixture import as_nobody

EVIL = "http://evil.example"
# What every answer has, also one to bytes that are no request.
PROTECTIVE = (
    "Content-Security-Policy", "Cache-Control", "Referrer-Policy", "X-Content-Type-Options", "X-Frame-Options",
    "Cross-Origin-Opener-Policy", "Cross-Origin-Resource-Policy", "Permissions-Policy")


class Attack(WebFixture):
    """One page with a session, and whether an action went through."""

    def setUp(self):
        super().setUp()
        self.attacked = self.page().open()
        self.token = self.attacked.form_token()

    def lock(self, path="/do/lock", form=None, headers=None, cookie=None, method="POST"):
        """The request of the form that locks the vault, changed by an attack."""
        fields = {"token": self.token} if form is None else form
        if method == "POST":
            return self.attacked.post(path, fields, headers, cookie)
        return self.attacked.ask(method, path, headers=headers)

    def is_locked(self):
        return self.caller.call("agent.status", {})["locked"]

    def assert_nothing_done(self):
        self.assertFalse(self.is_locked(), "the attack locked the vault")


class OtherSites(Attack):
    """Pages of other sites in the browser that has the session."""

    def test_the_form_itself_works(self):
        # Without this, each attack below would be refused for another reason.
        self.assertEqual(self.lock().status, 303)
        self.assertTrue(self.is_locked())

    def test_dns_rebinding(self):
        for host in ("evil.example", f"evil.example:{self.attacked.port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.2:%d",
                     "[::1]:%d", "localhost", "localhost.:%d", "127.1:%d", "0:%d", f"127.0.0.1:0{self.attacked.port}",
                     "127.0.0.1:%d.evil.example", "LOCALHOST:%d"):
            host = host % self.attacked.port if "%d" in host else host
            with self.subTest(host):
                answer = self.attacked.get("/accounts", Host=host)
                self.assertIn(answer.status, (400, 421))
                self.assertNotIn("alice", answer.text)
                self.assertIn(self.lock(headers={"Host": host}).status, (400, 421))
        self.assertIn(self.attacked.raw(b"GET /accounts HTTP/1.0\r\n\r\n").split(b" ")[1], (b"400", b"421"))
        self.assert_nothing_done()

    def test_a_second_host(self):
        told = self.attacked.raw(
            f"GET /accounts HTTP/1.1\r\nHost: {self.attacked.host}\r\nHost: evil.example\r\n\r\n".encode())
        self.assertTrue(told.startswith(b"HTTP/1.1 400"), told)

    def test_an_absolute_address_of_another_host(self):
        for place in ("evil.example", "127.0.0.1", f"127.0.0.1:{self.attacked.port + 1}", f"localhost:{self.attacked.port}"):
            with self.subTest(place):
                self.assertRegex(self.told(f"http://{place}/accounts"), rb"^HTTP/1.1 421")
        self.assertRegex(self.told(f"http://{self.attacked.host}/accounts"), rb"^HTTP/1.1 200")

    def test_a_second_origin(self):
        for first, second in ((f"Origin: {self.attacked.address}", f"Origin: {EVIL}"),
                              ("Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site")):
            with self.subTest(second):
                self.assertRegex(self.told("/accounts", first), rb"^HTTP/1.1 200")
                self.assertRegex(self.told("/accounts", first, second), rb"^HTTP/1.1 400")
                self.assertRegex(self.told("/accounts", second, first), rb"^HTTP/1.1 400")

    def told(self, target, *fields):
        """The answer to a GET of the browser's session, with these fields besides."""
        lines = [f"GET {target} HTTP/1.1", f"Host: {self.attacked.host}", f"Cookie: {self.attacked.cookie}", *fields]
        return self.attacked.raw("".join(f"{line}\r\n" for line in [*lines, ""]).encode())

    def test_a_form_of_another_site(self):
        for origin in (EVIL, "https://127.0.0.1", "http://127.0.0.1", f"https://{self.attacked.host}",
                       f"http://127.0.0.1:{self.attacked.port + 1}", f"{self.attacked.address}.evil.example",
                       f"http://localhost:{self.attacked.port}", "file://", ""):
            with self.subTest(origin):
                site = "cross-site" if origin else ""
                answer = self.lock(headers={"Origin": origin or "x", "Sec-Fetch-Site": site})
                self.assertEqual(answer.status, 403)
        self.assert_nothing_done()

    def test_the_null_origin(self):
        for site in ("cross-site", "same-site", "none", ""):
            with self.subTest(site):
                self.assertEqual(self.lock(headers={"Origin": "null", "Sec-Fetch-Site": site}).status, 403)
        self.assert_nothing_done()

    def test_a_form_of_this_page_says_null_by_its_referrer_policy(self):
        # Fetch Standard: with `Referrer-Policy: no-referrer` a browser sends `Origin: null` with a form to the same origin.
        self.assertEqual(self.lock(headers={"Origin": "null", "Sec-Fetch-Site": "same-origin"}).status, 303)

    def test_another_port_of_this_host_is_another_site_s_page(self):
        # 127.0.0.1:3000 is the same site, and gets the browser's cookies of this host along.
        for dest in ("image", "iframe", "script", "document"):
            with self.subTest(dest):
                answer = self.attacked.get("/accounts", Sec_Fetch_Site="same-site", Sec_Fetch_Dest=dest)
                self.assertEqual(answer.status, 403)
                self.assertNotIn("alice", answer.text)

    def test_a_link_of_another_site(self):
        self.assertEqual(self.attacked.get("/accounts", Sec_Fetch_Site="cross-site").status, 403)
        self.assertEqual(self.attacked.get("/live?page=accounts", Sec_Fetch_Site="cross-site").status, 403)

    def test_a_form_without_its_token(self):
        forms = ({}, {"token": ""}, {"token": self.token[:-1]}, {"token": self.token + "x"}, {"token": self.token.swapcase()},
                 {"Token": self.token})
        for form in forms:
            with self.subTest(form):
                self.assertEqual(self.lock(form=form).status, 403)
        self.assert_nothing_done()

    def test_the_token_of_another_page(self):
        other = self.page().open()
        self.assertEqual(self.lock(form={"token": other.form_token()}).status, 403)
        self.assert_nothing_done()

    def test_a_form_of_another_type(self):
        body = urllib.parse.urlencode({"token": self.token}).encode()
        for kind in ("text/plain", "multipart/form-data; boundary=x", "application/json", ""):
            with self.subTest(kind):
                sent = {"Origin": self.attacked.address, **({"Content-Type": kind} if kind else {})}
                self.assertEqual(self.attacked.ask("POST", "/do/lock", body, sent).status, 415)
        self.assert_nothing_done()

    def test_an_action_by_an_address(self):
        for path in ("/do/lock", f"/do/lock?token={self.token}", "/do/lock?", "/do/"):
            with self.subTest(path):
                self.assertEqual(self.attacked.get(path).status, 405)
        # A form with its fields in the address, too.
        self.assertEqual(self.attacked.post(f"/do/lock?token={self.token}", {}).status, 400)
        self.assert_nothing_done()

    def test_a_websocket(self):
        for origin in (EVIL, self.attacked.address):
            with self.subTest(origin):
                answer = self.attacked.get(
                    "/live?page=accounts", Origin=origin, Upgrade="websocket", Connection="Upgrade",
                    Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==", Sec_WebSocket_Version="13")
                self.assertIn(answer.status, (400, 403))

    def test_a_preflight(self):
        answer = self.attacked.ask(
            "OPTIONS", "/do/lock", headers={"Origin": EVIL, "Access-Control-Request-Method": "POST",
                                            "Access-Control-Request-Private-Network": "true"})
        self.assertIn(answer.status, (403, 405))
        self.assertEqual([name for name, _ in answer.headers if name.lower().startswith("access-control-")], [])

    def test_no_answer_allows_another_site_anything(self):
        for path in ("/", "/open", "/style.css", "/nothing", *(f"/{page}" for page in PAGES)):
            with self.subTest(path):
                answer = self.attacked.get(path)
                policy = answer.header("Content-Security-Policy") or ""
                for rule in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
                             "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"):
                    self.assertIn(rule, policy)
                self.assertNotIn("unsafe", policy)
                self.assertNotIn("*", policy)
                self.assertEqual(answer.header("Cache-Control"), "no-store")
                self.assertEqual(answer.header("Referrer-Policy"), "no-referrer")
                self.assertEqual(answer.header("X-Content-Type-Options"), "nosniff")
                self.assertEqual(answer.header("X-Frame-Options"), "DENY")
                self.assertEqual(answer.header("Cross-Origin-Opener-Policy"), "same-origin")
                self.assertEqual(answer.header("Cross-Origin-Resource-Policy"), "same-origin")
                self.assertIsNone(answer.header("Access-Control-Allow-Origin"))
                self.assertIsNone(answer.header("ETag"))


class Sessions(WebFixture):
    """The address, its code, and the cookie."""

    def test_nothing_without_a_session(self):
        page = self.page()
        for path in ("/", "/live?page=accounts", "/nothing", *(f"/{name}" for name in PAGES)):
            with self.subTest(path):
                answer = page.get(path)
                self.assertEqual(answer.status, 401)
                self.assertNotIn("alice", answer.text)
                self.assertIn("lanyard ui", answer.text)
        self.assertEqual(page.post("/do/lock", {"token": ""}).status, 401)

    def test_the_code_opens_once(self):
        page = self.page()
        first = page.redeem()
        self.assertEqual(first.status, 303)
        self.assertEqual(first.header("Location"), "/accounts")
        cookie = first.header("Set-Cookie")
        self.assertRegex(cookie, rf"^lanyard-{page.port}=[\w-]{{32}}; ")
        self.assertEqual(set(cookie.split("; ")[1:]), {"Path=/", "HttpOnly", "SameSite=Strict"})
        second = page.redeem()
        self.assertEqual(second.status, 403)
        self.assertIsNone(second.header("Set-Cookie"))
        self.assertIn("lanyard ui", second.text)

    def test_many_at_once_open_one_session(self):
        page = self.page()
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            told = list(pool.map(lambda _: page.redeem().status, range(32)))
        self.assertEqual(told.count(303), 1)

    def test_the_code_late(self):
        page = self.page("--code-seconds", "0")
        answer = page.redeem()
        self.assertEqual(answer.status, 403)
        self.assertIsNone(answer.header("Set-Cookie"))

    def test_ten_wrong_codes_close_it(self):
        page = self.page()
        for number in range(10):
            self.assertEqual(page.redeem(f"{number}" * 32).status, 403)
        self.assertEqual(page.redeem().status, 403)

    def test_nine_do_not(self):
        page = self.page()
        for wrong in ("", "x", page.code[:-1], page.code + "x", page.code.swapcase(), *(["y" * 32] * 4)):
            self.assertEqual(page.redeem(wrong).status, 403)
        self.assertEqual(page.redeem().status, 303)

    def test_guesses_of_another_site_do_not_count(self):
        page = self.page()
        for _ in range(12):
            self.assertEqual(page.redeem("x", {"Origin": EVIL, "Sec-Fetch-Site": "cross-site"}).status, 403)
        self.assertEqual(page.redeem().status, 303)

    def test_the_code_in_an_address_opens_nothing(self):
        page = self.page()
        self.assertIsNone(page.get(f"/open?code={page.code}").header("Set-Cookie"))
        self.assertEqual(page.redeem().status, 303)

    def test_the_cookie_of_another_page(self):
        one, other = self.page().open(), self.page().open()
        value = other.cookie.partition("=")[2]
        for cookie in (other.cookie, f"lanyard-{one.port}={value}", f"lanyard-{one.port}=", f"lanyard-{one.port}", "a=b",
                       f"x{one.cookie}", one.cookie[:-1], one.cookie + "x"):
            with self.subTest(cookie):
                self.assertEqual(one.ask("GET", "/accounts", cookie=cookie).status, 401)
        # A program at this host can set one of the same name, and the right one counts all the same.
        self.assertEqual(one.ask("GET", "/accounts", cookie=f"lanyard-{one.port}=x; {one.cookie}").status, 200)

    def test_codes_differ(self):
        self.assertNotEqual(self.page().code, self.page().code)

    def test_the_session_ends_with_the_program(self):
        page = self.page().open()
        page.process.terminate()
        self.assertEqual(self.ended(page)[0], 0)
        again = self.page("--port", str(page.port))
        self.assertEqual(again.ask("GET", "/accounts", cookie=page.cookie).status, 401)


class OtherUsers(WebFixture):
    @unittest.skipIf(os.geteuid() != 0, "NOT TESTED: only root may become another user")
    def test_connections_of_another_user(self):
        page = self.page().open()
        curl = shutil.which("curl")
        self.assertIsNotNone(curl, "curl is missing here (Debian: curl)")
        code = page.code

        def ask():
            told = []
            for words in (["--cookie", page.cookie, f"{page.address}/accounts"],
                          ["--data", f"code={code}", f"{page.address}/open"]):
                done = subprocess.run(
                    [curl, "--silent", "--include", "--noproxy", "*", "--write-out", "%{http_code}", *words], capture_output=True,
                    text=True)
                told.append(done.stdout)
            return told

        for answer in as_nobody(ask):
            self.assertTrue(answer.endswith("403") or answer.endswith("000"), answer)
            self.assertNotIn("alice", answer)
            for name in PROTECTIVE if answer.endswith("403") else ():
                self.assertIn(f"\n{name}: ", answer)
        self.assertEqual(page.get("/accounts").status, 200)

    def test_it_listens_at_127_0_0_1_alone(self):
        page = self.page()
        with open(f"/proc/{page.pid}/net/tcp6") as file:
            self.assertNotIn(f":{page.port:04X} ", file.read())
        with open(f"/proc/{page.pid}/net/tcp") as file:
            listening = [row.split()[1] for row in file if row.split()[3:4] == ["0A"]]
        self.assertEqual([place for place in listening if place.endswith(f":{page.port:04X}")], [f"0100007F:{page.port:04X}"])
        for family, address in ((socket.AF_INET6, "::1"), (socket.AF_INET, "127.0.0.2")):
            with socket.socket(family) as connection, self.assertRaises(OSError):
                connection.connect((address, page.port))


class Bytes(Attack):
    """Requests that are no requests, or that two readers would read differently."""

    def status_of(self, text):
        told = self.attacked.raw(text if isinstance(text, bytes) else text.encode())
        return int(told.split(b" ", 2)[1]) if told.startswith(b"HTTP/1.1 ") else 0, told

    def head(self, first, *fields):
        lines = [first, f"Host: {self.attacked.host}", f"Cookie: {self.attacked.cookie}", *fields]
        return "\r\n".join(lines) + "\r\n\r\n"

    def test_two_lengths(self):
        body = f"token={self.token}"
        for fields in ((f"Content-Length: {len(body)}", "Content-Length: 0"), ("Content-Length: 5, 5",),
                       ("Content-Length: +5",), ("Content-Length: 0x5",), ("Content-Length: -1",),
                       (f"Content-Length: {len(body)}", "Transfer-Encoding: chunked"), ("Content-Length : 5",),
                       ("Transfer-Encoding: chunked",), ("Transfer-Encoding: xchunked",)):
            with self.subTest(fields):
                status, told = self.status_of(
                    self.head("POST /do/lock HTTP/1.1", f"Content-Type: {FORM}", *fields) + body)
                self.assertIn(status, (400, 411))
                self.assertEqual(told.count(b"HTTP/1.1"), 1)
        self.assert_nothing_done()

    def test_a_second_request_behind_the_first(self):
        body = f"token={self.token}"
        second = self.head("POST /do/lock HTTP/1.1", f"Content-Type: {FORM}", f"Content-Length: {len(body)}") + body
        for first in (self.head("GET /style.css HTTP/1.1"), self.head("GET /style.css HTTP/1.1", "Content-Length: 0")):
            _, told = self.status_of(first + second)
            self.assertEqual(told.count(b"HTTP/1.1 "), 1)
        self.assert_nothing_done()

    def test_a_get_with_a_body(self):
        self.assertEqual(self.status_of(self.head("GET /accounts HTTP/1.1", "Content-Length: 5") + "hello")[0], 400)

    def test_lines_that_are_none(self):
        for text in (b"GET /accounts HTTP/1.1\nHost: x\n\n", b"GET  /accounts HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00" * 40,
                     b"GET /accounts HTTP/2.0\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                     f"GET /accounts HTTP/1.1\r\nHost: {self.attacked.host}\r\n folded\r\n\r\n".encode()):
            with self.subTest(text[:40]):
                status, told = self.status_of(text + b"\r\n\r\n")
                self.assertIn(status, (400, 421, 505))
                self.assertNotIn(b"alice", told)

    def test_text_browsers_speak_http_1_0(self):
        # lynx, with `Host`.
        self.assertEqual(self.status_of(self.head("GET /accounts HTTP/1.0"))[0], 200)

    def test_an_answer_to_what_is_no_request_is_protected_as_a_page(self):
        refused = {
            421: "GET /accounts HTTP/1.1\r\nHost: evil.example\r\n\r\n",
            400: self.head("GET  /accounts HTTP/1.1"),
            411: self.head("POST /do/lock HTTP/1.1", "Transfer-Encoding: chunked"),
            413: self.head("POST /do/lock HTTP/1.1", "Content-Length: 100000000"),
            431: self.head("GET /accounts HTTP/1.1", "X: " + "y" * 70_000),
            505: self.head("GET /accounts HTTP/2.0"),
        }
        page = self.attacked.get("/style.css")
        for expected, text in refused.items():
            with self.subTest(expected):
                status, told = self.status_of(text)
                self.assertEqual(status, expected)
                for name in PROTECTIVE:
                    self.assertIn(f"\r\n{name}: {page.header(name)}\r\n".encode(), told)

    def test_a_huge_head(self):
        for fields in ([f"X-{number}: y" for number in range(200)], ["X: " + "y" * 70_000]):
            self.assertEqual(self.status_of(self.head("GET /accounts HTTP/1.1", *fields))[0], 431)
        self.assertEqual(self.status_of(self.head("GET /accounts?" + "x" * 70_000 + " HTTP/1.1"))[0], 431)

    def test_a_huge_body(self):
        head = self.head("POST /do/lock HTTP/1.1", f"Content-Type: {FORM}", "Content-Length: 100000000")
        self.assertEqual(self.status_of(head)[0], 413)

    def test_many_fields(self):
        form = {f"f{number}": "x" for number in range(100)}
        self.assertEqual(self.lock(form={**form, "token": self.token}).status, 400)
        self.assert_nothing_done()

    def test_slow_heads_hold_nobody_up(self):
        slow = [socket.create_connection(("127.0.0.1", self.attacked.port)) for _ in range(40)]
        try:
            for connection in slow:
                connection.sendall(b"GET /accounts HTTP/1.1\r\nHost: ")
            began = time.monotonic()
            self.assertEqual(self.attacked.get("/accounts").status, 200)
            self.assertLess(time.monotonic() - began, 2)
            # One of them goes on byte by byte, and is ended all the same.
            slow[0].settimeout(PATIENCE_SECONDS)
            told = b""
            while not told:
                try:
                    slow[0].sendall(b"x")
                    slow[0].settimeout(1)
                    told = slow[0].recv(100)
                except TimeoutError:
                    continue
                except ConnectionError:
                    break
                self.assertLess(time.monotonic() - began, PATIENCE_SECONDS)
            self.assertTrue(not told or told.startswith(b"HTTP/1.1 408"), told)
        finally:
            for connection in slow:
                connection.close()

    def test_too_many_connections_end_nothing(self):
        held = [socket.create_connection(("127.0.0.1", self.attacked.port)) for _ in range(80)]
        try:
            told = self.attacked.raw(self.head("GET /accounts HTTP/1.1").encode())
            self.assertRegex(told, rb"^(HTTP/1.1 503|$)")
            for name in PROTECTIVE if told else ():
                self.assertIn(f"\r\n{name}: ".encode(), told)
        finally:
            for connection in held:
                connection.close()
        self.until(lambda: self.attacked.get("/accounts").status == 200, "the page answers again")

    def test_other_methods(self):
        for method in ("HEAD", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "OPTIONS", "get", "PROPFIND"):
            with self.subTest(method):
                status, told = self.status_of(self.head(f"{method} /accounts HTTP/1.1"))
                self.assertEqual(status, 405)
                self.assertIn(b"Allow: GET, POST\r\n", told)
                self.assertNotIn(self.attacked.cookie.encode(), told)

    def test_paths_out_of_the_page(self):
        for path in ("/../../etc/passwd", "/..%2f..%2fetc%2fpasswd", "/%2e%2e/%2e%2e/etc/passwd", "/style.css/../accounts",
                     "//evil.example/", "/style.css%00", "/do/../do/lock", "/accounts/", "/ACCOUNTS", "/.git/config", "/etc/passwd",
                     "/\\evil.example", "/accounts%2f", "/;/accounts"):
            with self.subTest(path):
                answer = self.attacked.get(path)
                self.assertIn(answer.status, (404, 405))
                self.assertNotIn("root:", answer.text)
                self.assertIsNone(answer.header("Location"))
                self.assertIn(self.attacked.post(path, {"token": self.token}).status, (404, 405))

    def test_line_ends_in_an_address(self):
        for path in ("/accounts?x=%0d%0aSet-Cookie:%20a=b", "/accounts?%0d%0aLocation:x=1", "/accounts?x=%00", "/accounts?x=%7f",
                     "/accounts?x=%", "/accounts?x=%zz", "/accounts?x=%ff%fe", "/accounts?done=%0a1"):
            with self.subTest(path):
                answer = self.attacked.get(path)
                self.assertEqual(answer.status, 400)
                self.assertIsNone(answer.header("Set-Cookie"))
                self.assertIsNone(answer.header("Location"))

    def test_an_address_makes_a_page_say_nothing(self):
        said = "Your-session-ended-call-0900"
        for name in ("done", "notice", "error", "message", "token"):
            with self.subTest(name):
                self.assertNotIn(f">{said}", self.attacked.get(f"/accounts?{name}={said}").text)

    def test_markup_in_an_address_stays_text(self):
        for page in PAGES:
            for name in ("q", "account", "client", "provider", "verdict", "page", "capability", "since", "sort"):
                with self.subTest(f"{page} {name}"):
                    words = urllib.parse.quote("\"'><script>alert(1)</script><img src=x onerror=alert(2)>")
                    text = self.attacked.get(f"/{page}?{name}={words}").text
                    self.assertNotIn("<script>", text)
                    self.assertNotIn("<img src=x", text)


class HostileNames(WebFixture):
    """What programs and providers choose is text in a page, wherever it stands."""

    NAME = "<b>bold</b>\"'><script src=//evil.example></script>"

    def test_the_name_of_a_program(self):
        self.caller.call("grant.create", {"client": self.NAME, "accounts": ["alice"], "methods": ["token.get"]})
        page = self.page().open()
        for name in PAGES:
            with self.subTest(name):
                text = page.get(f"/{name}").text
                self.assertNotIn("<b>bold", text)
                self.assertNotIn("<script src=//", text)
        self.assertIn("&lt;b&gt;bold", page.get("/programs").text)

    def test_a_capability_and_an_origin(self):
        self.caller.call("authorization.check", {"account": "alice", "capability": "a.b"})
        page = self.page().open()
        self.assertEqual(page.get("/activity").status, 200)


if __name__ == "__main__":
    unittest.main()
