"""Mix-up (RFC 9700 section 4.4): a malicious server has the browser sent on to another server with its own sign-in's state,
and would be sent that server's code and the verifier."""

import http.client
import unittest
import urllib.parse

from agent_fixture import AgentFixture, PATIENCE_SECONDS
from lanyard import LanyardError


def parts(address):
    asked = urllib.parse.urlsplit(address)
    return asked, dict(urllib.parse.parse_qsl(asked.query))


class TwoServersTests(AgentFixture):
    def setUp(self):
        self.honest, self.evil = self.silent("alice"), self.silent("bob", "--registration", "open")
        self.agent = self.client(self.scene())
        self.add("honest", self.honest, clientId="lanyard-demo")

    def silent(self, person, *options):
        """A server that does not announce `iss`."""
        idp = self.provider("--auto-approve", person, *options)
        idp.post("options", announcesIssuer=False)
        return idp

    def add(self, name, idp, **members):
        return self.agent.call("provider.add", {"name": name, "issuer": idp.issuer, **members})["provider"]

    def begin(self, name, flow="browser"):
        begun = self.agent.call("signIn.begin", {"provider": name, "flow": flow})
        return begun["signIn"], begun["authorizationUrl"]

    def get(self, address):
        asked = urllib.parse.urlsplit(address)
        connection = http.client.HTTPConnection(asked.hostname, asked.port, timeout=PATIENCE_SECONDS)
        self.addCleanup(connection.close)
        connection.request("GET", f"{asked.path}?{asked.query}")
        answer = connection.getresponse()
        answer.read()
        return answer

    def honest_answer(self, page, **changes):
        """The honest server's answer to the malicious one's request, as it sends the browser back; None if it refuses."""
        _, request = parts(page)
        request.update(client_id="lanyard-demo", **changes)
        answer = self.get(f"{self.honest.issuer}/authorize?{urllib.parse.urlencode(request)}")
        location = answer.getheader("Location")
        if not location:
            return None
        left, members = parts(location)
        members.pop("iss", None)
        return urllib.parse.urlunsplit(left._replace(query=urllib.parse.urlencode(members)))

    def test_two_servers_on_one_path_begin_no_sign_in(self):
        self.begin("honest")
        self.add("evil", self.evil, clientId="lanyard-demo")
        for name in ("evil", "honest"):
            for flow in ("browser", "paste"):
                with self.assertRaises(LanyardError) as caught:
                    self.begin(name, flow)
                self.assertEqual((caught.exception.code, caught.exception.reason), (3003, "redirectShared"))
        self.assertIn("lanyard provider update honest --redirect 127.0.0.1:0/callback-honest", str(caught.exception))
        self.agent.call("provider.update", {"provider": "evil", "redirect": {"path": "/callback-evil"}})
        self.begin("honest")

    def test_registered_client_with_a_chosen_path_is_added_again_without_it(self):
        self.add("evil", self.evil, redirect={"path": "/callback"})
        with self.assertRaises(LanyardError) as caught:
            self.begin("evil")
        self.assertEqual(caught.exception.reason, "redirectShared")
        self.assertIn("`lanyard provider remove evil` and add it again without `--redirect`", str(caught.exception))
        self.agent.call("provider.remove", {"provider": "evil"})
        self.add("evil", self.evil)
        self.begin("evil")

    def test_mixed_up_answer_reaches_no_other_server(self):
        evil = self.add("evil", self.evil)
        self.assertEqual(evil["redirect"]["path"], "/callback-evil")
        for flow in ("browser", "paste"):
            with self.subTest(flow):
                asked = self.evil.asked("/token")
                sign_in, page = self.begin("evil", flow)
                own = parts(page)[1]["redirect_uri"]
                self.assertIsNone(self.honest_answer(page), "this path is not the honest client's")
                answer = self.honest_answer(page, redirect_uri=own.replace("/callback-evil", "/callback"))
                if flow == "browser":
                    self.assertEqual(self.get(answer).status, 404)
                query = urllib.parse.urlsplit(answer).query
                code = urllib.parse.parse_qs(query)["code"][0]
                for pasted, reason in ((answer, "redirectMismatch"), (query, "malformedAnswer"), (code, "malformedAnswer")):
                    with self.assertRaises(LanyardError) as caught:
                        self.agent.call("signIn.complete", {"signIn": sign_in, "redirectUrl": pasted})
                    self.assertEqual(caught.exception.reason, reason)
                self.assertEqual(self.evil.asked("/token"), asked)
                # The right one may still come.
                location = self.get(page).getheader("Location")
                told = self.agent.call("signIn.complete", {"signIn": sign_in, "redirectUrl": location})
                self.assertEqual(told["status"], "completed")


if __name__ == "__main__":
    unittest.main()
