"""The real redirect listener of a sign-in: it accepts one answer, by GET, from a browser on this machine."""

import http.client
import socket
import unittest
import urllib.parse

from agent_fixture import AgentFixture, PATIENCE_SECONDS, add_provider

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

    def is_closed(self):
        with socket.socket() as probe:
            return probe.connect_ex((self.place.hostname, self.place.port)) != 0

    def test_wrong_answer_closes_the_listener(self):
        sign_in, answer = self.begin(), self.answer()
        page = self.ask("GET", answer.replace("state=", "state=x"))
        self.assertEqual(page.status, 400)
        self.assertIn("You are not signed in", page.text)
        error = self.refused(FAILED, lambda: self.agent.call("signIn.wait", {"signIn": sign_in}))
        self.assertEqual(error.reason, "stateMismatch")
        self.until(self.is_closed, "the port is free")
        self.assertEqual(self.agent.call("account.list")["accounts"], [])

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
