"""The real redirect listener of a sign-in: it accepts one answer, by GET, from a browser on this machine."""

import http.client
import os
import socket
import unittest
import urllib.parse

from agent_fixture import AgentFixture, PATIENCE_SECONDS, add_provider, as_nobody, http_answer

FAILED = 2007


class RedirectTests(AgentFixture):
    def setUp(self):
        self.idp = self.provider("--auto-approve", "alice")
        self.agent = self.client(self.scene())

    def begin(self, **redirect):
        add_provider(self.agent, self.idp, **({"redirect": redirect} if redirect else {}))
        begun = self.agent.call("signIn.begin", {"provider": "practice", "flow": "browser"})
        self.page = begun["authorizationUrl"]
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.page).query)
        self.place = urllib.parse.urlsplit(query["redirect_uri"][0])
        return begun["signIn"]

    def answer(self):
        """The redirect that the provider sends to the browser."""
        asked = urllib.parse.urlsplit(self.page)
        connection = http.client.HTTPConnection(asked.netloc, timeout=PATIENCE_SECONDS)
        connection.request("GET", f"{asked.path}?{asked.query}")
        location = connection.getresponse().getheader("Location")
        connection.close()
        left = urllib.parse.urlsplit(location)
        return f"{left.path}?{left.query}"

    def ask(self, method, target, **headers):
        connection = http.client.HTTPConnection(self.place.hostname, self.place.port, timeout=PATIENCE_SECONDS)
        self.addCleanup(connection.close)
        connection.request(method, target, headers=headers)
        answer = connection.getresponse()
        answer.text = answer.read().decode()
        for name, _ in answer.getheaders():
            self.assertFalse(name.lower().startswith("access-control-"), "no other site may read this")
        return answer

    def test_listener_accepts_only_a_local_get_request(self):
        sign_in, answer = self.begin(), self.answer()
        self.assertEqual(self.place.hostname, "127.0.0.1")
        origin = {"Origin": "https://evil.example"}
        self.assertEqual(self.ask("POST", answer, **origin).status, 405)
        self.assertEqual(self.ask("OPTIONS", answer, **origin, **{"Access-Control-Request-Method": "GET"}).status, 405)
        self.assertEqual(self.ask("GET", "/favicon.ico").status, 404)
        self.assertEqual(self.ask("GET", answer, Host="evil.example").status, 421)
        # None of these was the answer: that comes now, and then the listener closes.
        page = self.ask("GET", answer, **origin)
        self.assertEqual(page.status, 200, page.text)
        self.assertIn("You are signed in", page.text)
        self.assertEqual(page.getheader("Cache-Control"), "no-store")
        self.assertEqual(self.agent.call("signIn.wait", {"signIn": sign_in})["status"], "completed")
        self.until(self.is_closed, "the port is free")

    def test_cookies_of_other_programs_of_this_machine_are_no_obstacle(self):
        """A browser sends its cookies for a host to each of its ports."""
        sign_in, answer = self.begin(), self.answer()
        page = self.ask("GET", answer, Cookie="a=" + 20_000 * "b")
        self.assertEqual(page.status, 200, page.text)
        self.assertEqual(self.agent.call("signIn.wait", {"signIn": sign_in})["status"], "completed")

    def test_the_caller_hears_of_what_was_refused(self):
        sign_in, answer = self.begin(), self.answer()
        pending = lambda: self.agent.call("signIn.wait", {"signIn": sign_in, "timeoutSeconds": 0})  # noqa: E731
        self.assertEqual(pending(), {"signIn": sign_in, "status": "pending"})
        self.assertEqual(self.ask("GET", "/favicon.ico").status, 404)
        for count, (reason, status, target, headers) in enumerate((
                ("tooLarge", 431, answer, {"Cookie": "a=" + 70_000 * "b"}), ("anotherMethod", 405, answer, {}),
                ("anotherPath", 404, answer.replace("/callback", "/elsewhere"), {}),
                ("malformed", 421, answer, {"Host": "evil.example"}),
                ("foreignState", 400, answer.replace("state=", "state=x"), {}),
                ("malformed", 400, answer + "&code=another", {}), ("malformed", 400, answer + "&iss=%FF", {})), start=1):
            with self.subTest(reason):
                method = "POST" if status == 405 else "GET"
                self.assertEqual(self.ask(method, target, **headers).status, status)
                self.until(lambda: pending().get("refused") == count, f"the refusal {reason} is told")
                self.assertEqual(pending()["refusedBecause"], reason)
        self.assertEqual(self.ask("GET", answer).status, 200)
        self.assertEqual(self.agent.call("signIn.wait", {"signIn": sign_in})["status"], "completed")

    def test_foreign_parameters_are_not_judged(self):
        sign_in, answer = self.begin(), self.answer()
        page = self.ask("GET", answer + "&session=1&session=2&who=%FF&%FE=1")
        self.assertEqual(page.status, 200, page.text)
        self.assertEqual(self.agent.call("signIn.wait", {"signIn": sign_in})["status"], "completed")

    def is_closed(self):
        with socket.socket() as probe:
            return probe.connect_ex((self.place.hostname, self.place.port)) != 0

    def test_foreign_answer_changes_nothing(self):
        sign_in, answer = self.begin(), self.answer()
        for forged in (answer.replace("state=", "state=x"), self.place.path, f"{self.place.path}?code=a&code=b"):
            page = self.ask("GET", forged)
            self.assertEqual(page.status, 400)
            self.assertIn("This answer belongs to no sign\u2011in", page.text)
        self.assertEqual(self.agent.call("signIn.wait", {"signIn": sign_in, "timeoutSeconds": 0})["status"], "pending")
        self.assertFalse(self.is_closed(), "the port is held until the sign-in ends")
        self.assertEqual(self.ask("GET", answer).status, 200)
        self.assertEqual(self.agent.call("signIn.wait", {"signIn": sign_in})["status"], "completed")

    @unittest.skipUnless(os.geteuid() == 0, "only root can be another user")
    def test_answer_of_another_user_is_refused(self):
        """The user `nobody` sends a valid answer: a code of its own, with the `state` that it read in an argument."""
        sign_in, answer = self.begin(), self.answer()
        told = as_nobody(lambda: http_answer(self.place.hostname, self.place.port, answer))
        self.assertIn(told[:12], ("HTTP/1.1 403", ""))
        for _ in range(20):
            self.assertEqual(as_nobody(lambda: self.closed_at_once(answer)), "")
        self.assertEqual(self.agent.call("signIn.wait", {"signIn": sign_in, "timeoutSeconds": 0})["status"], "pending")
        self.assertEqual(self.agent.call("account.list")["accounts"], [])
        self.assertEqual(self.idp.asked("/token"), 0)
        self.assertEqual(self.ask("GET", answer).status, 200)
        self.assertEqual(self.agent.call("signIn.wait", {"signIn": sign_in})["status"], "completed")

    def closed_at_once(self, target):
        """A request by a process that then closes its socket: the kernel gives such a socket to root."""
        with socket.socket() as connection:
            connection.connect((self.place.hostname, self.place.port))
            connection.sendall(f"GET {target} HTTP/1.1\r\nHost: {self.place.netloc}\r\n\r\n".encode())
        return ""

    def test_dual_stack_browser_is_admitted(self):
        """A browser's socket of IPv6 that connects to 127.0.0.1."""
        sign_in, answer = self.begin(), self.answer()
        with socket.socket(socket.AF_INET6) as browser:
            try:
                browser.connect((f"::ffff:{self.place.hostname}", self.place.port))
            except OSError:
                self.skipTest("this machine has no IPv6")
            browser.sendall(f"GET {answer} HTTP/1.1\r\nHost: {self.place.netloc}\r\n\r\n".encode())
            self.assertIn("200 OK", browser.makefile().read())
        self.assertEqual(self.agent.call("signIn.wait", {"signIn": sign_in})["status"], "completed")

    def test_cancelled_sign_in_closes_the_listener(self):
        sign_in = self.begin()
        self.agent.call("signIn.cancel", {"signIn": sign_in})
        self.until(self.is_closed, "the port is free")

    def test_two_sign_ins_share_a_fixed_port(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        first = self.begin(host="127.0.0.1", port=port, path="/callback")
        late = self.answer()
        second = self.agent.call("signIn.begin", {"provider": "practice", "flow": "browser"})
        self.page = second["authorizationUrl"]
        page = self.ask("GET", self.answer())
        self.assertEqual(page.status, 200, page.text)
        self.assertEqual(self.agent.call("signIn.wait", {"signIn": second["signIn"]})["status"], "completed")
        self.assertFalse(self.is_closed(), "the other sign-in still waits")
        page = self.ask("GET", late)
        self.assertEqual(page.status, 200, page.text)
        self.assertEqual(self.agent.call("signIn.wait", {"signIn": first})["status"], "completed")
        self.until(self.is_closed, "the port is free")

    def test_busy_redirect_port_is_reported(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            add_provider(self.agent, self.idp, redirect={"host": "127.0.0.1", "port": port, "path": "/callback"})
            begin = lambda: self.agent.call("signIn.begin", {"provider": "practice", "flow": "browser"})  # noqa: E731
            error = self.refused(FAILED, begin)
            self.assertEqual(error.reason, "portBusy")
            self.assertIn(str(port), str(error))


if __name__ == "__main__":
    unittest.main()
