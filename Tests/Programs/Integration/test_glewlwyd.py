"""Tokens that are bound to a key (docs/dpop.md), PKCE, rotation and revocation with Glewlwyd, a provider that is not ours."""

import base64
import json
import os
import shutil
import socket
import subprocess
import unittest
import urllib.parse

import test_clock
from agent_fixture import AgentFixture, LanyardError
from glewlwyd_provider import CLIENT, NONCE_USES, SCOPES, SECRET, Browser, Glewlwyd

REAUTHENTICATE, UNAVAILABLE = 2004, 3002

provider = None
redirect = {}


def setUpModule():
    global provider
    if shutil.which("glewlwyd") is None:
        raise unittest.SkipTest("NOT TESTED: Glewlwyd is not installed (Debian's package glewlwyd)")
    provider = Glewlwyd()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        redirect.update(port=probe.getsockname()[1], path="/callback")
    # Glewlwyd compares the port, too.
    provider.register(f"http://127.0.0.1:{redirect['port']}{redirect['path']}")


def tearDownModule():
    if provider is not None:
        provider.stop()


def claims(token):
    """What is in a JWT."""
    return json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))


class Realm(AgentFixture):
    realm = "plain"
    dpop = "required"

    def setUp(self):
        self.issuer = provider.issuer(self.realm)
        self.userinfo = self.issuer + "/userinfo"
        self.agent = self.agent_to_ask()
        self.caller = self.client(self.agent)
        # A revocation at Glewlwyd ends one token.
        self.caller.call("provider.add", {
            "name": "glewlwyd", "issuer": self.issuer, "clientId": CLIENT, "clientSecret": SECRET, "scopes": SCOPES,
            "redirect": redirect, "dpop": self.dpop, "refresh": {"reuse": "strict"}, "revocationScope": "token",
            "allowedOrigins": [provider.origin]})

    def agent_to_ask(self):
        return self.scene()

    def begin(self, **members):
        return self.caller.call("signIn.begin", {"provider": "glewlwyd", "flow": "paste", **members})

    def complete(self, begun, url):
        return self.caller.call("signIn.complete", {"signIn": begun["signIn"], "redirectUrl": url})

    def signed_in(self, **members):
        """Signs the person in, whose browser brings the session cookie."""
        begun = self.begin(**(members or {"alias": "ada"}))
        done = self.complete(begun, provider.redirected(begun["authorizationUrl"]))
        self.assertEqual(done["status"], "completed")

    def token(self):
        return self.caller.call("token.get", {"account": "ada"})

    def refresh(self):
        return self.caller.call("token.refresh", {"account": "ada"})

    def key(self):
        return self.caller.call("session.get", {"account": "ada"})["deviceKeyId"]

    def is_bound(self):
        """Asserts that the token at hand is bound to the account's key."""
        token = self.token()
        self.assertEqual(token["tokenType"], "DPoP")
        self.assertEqual(claims(token["accessToken"])["cnf"], {"jkt": self.key()})

    def good(self):
        """How many of the person's refresh tokens Glewlwyd takes."""
        return provider.refresh_tokens(self.realm).count(True)

    def proof(self, token, method="GET", **members):
        return self.caller.call("token.proof", {
            "account": "ada", "method": method, "url": self.userinfo, "fingerprint": token["fingerprint"], **members})["proof"]

    def ask(self, token, proof=None, scheme="DPoP"):
        """A program's own request for userinfo."""
        headers = {"Authorization": f"{scheme} {token['accessToken']}", **({"DPoP": proof} if proof else {})}
        return Browser().ask("GET", self.userinfo, headers=headers)

    def nonce(self, token):
        """The nonce that Glewlwyd demands, as a member of `token.proof`."""
        if self.realm == "plain":
            return {}
        status, headers, _ = self.ask(token, self.proof(token))
        self.assertEqual(status, 401)
        self.assertIn('error="use_dpop_nonce"', headers["WWW-Authenticate"])
        return {"nonce": headers["DPoP-Nonce"]}


class Plain(Realm):
    def test_sign_in_brings_tokens_that_are_bound_to_the_accounts_key(self):
        self.signed_in()
        self.is_bound()
        self.assertEqual(provider.introspect(self.realm, self.token()["accessToken"])["cnf"], {"jkt": self.key()})
        account = self.caller.call("account.get", {"account": "ada"})
        self.assertEqual((account["displayName"], account["email"]), ("Ada Byron", "ada@example.org"))

    def test_refreshes_with_a_proof_rotate(self):
        self.signed_in()
        key, good, issued = self.key(), self.good(), len(provider.refresh_tokens(self.realm))
        served = {self.token()["accessToken"]}
        for number in range(1, 2 * NONCE_USES + 2):
            served.add(self.refresh()["accessToken"])
            self.is_bound()
            self.assertEqual(len(provider.refresh_tokens(self.realm)), issued + number)
            self.assertEqual(self.good(), good, "the new refresh token is good, the spent one is not")
        self.assertEqual(len(served), 2 * NONCE_USES + 2)
        self.assertEqual(self.key(), key)

    def test_userinfo_serves_a_programs_proof_once(self):
        self.signed_in()
        token = self.token()
        proof = self.proof(token, **self.nonce(token))
        status, _, told = self.ask(token, proof)
        self.assertEqual(status, 200, provider.log())
        self.assertEqual(json.loads(told)["sub"], claims(token["accessToken"])["sub"])
        self.assertEqual(self.ask(token, proof)[0], 401, "the same proof again")
        self.assertEqual(self.ask(token, self.proof(token, **self.nonce(token)))[0], 200, "another proof")

    def test_userinfo_refuses_a_token_without_the_proof_for_it(self):
        self.signed_in()
        token = self.token()
        nonce = self.nonce(token)
        for_another_method = self.proof(token, method="POST", **nonce)
        self.refresh()
        for_another_token = self.proof(self.token(), **nonce)
        for refused in [
                self.ask(token), self.ask(token, scheme="Bearer"), self.ask(token, for_another_method),
                self.ask(token, for_another_token)]:
            self.assertEqual(refused[0], 401, refused)

    def test_requests_that_the_agent_sends_are_served(self):
        self.signed_in()
        for method in ["GET", "POST"] * NONCE_USES:
            answer = self.caller.call("request.send", {"account": "ada", "method": method, "url": self.userinfo})
            self.assertEqual((answer["status"], answer["refreshed"]), (200, False), provider.log())

    def test_hard_sign_out_revokes(self):
        good = self.good()
        self.signed_in()
        token = self.refresh()["accessToken"]
        self.assertEqual(self.good(), good + 1)
        self.assertTrue(provider.introspect(self.realm, token)["active"])
        done = self.caller.call("account.signOut", {"account": "ada", "mode": "hard"})
        self.assertEqual((done["data"], done["revocation"]), ("erased", "confirmed"))
        self.assertEqual(self.good(), good)
        # The access token's revocation may follow the answer (docs/sign-out.md#outbox).
        self.until(lambda: not provider.introspect(self.realm, token)["active"], "the access token is revoked")


class Nonces(Plain):
    """A server that demands a nonce in each proof, and changes it after some."""

    realm = "nonces"


class Automatic(Realm):
    dpop = "auto"

    def test_metadata_that_offers_it_has_tokens_bound(self):
        self.signed_in()
        self.is_bound()


class Codes(Realm):
    def test_code_needs_its_verifier(self):
        begun = self.begin(alias="ada")
        page = begun["authorizationUrl"]
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(page).query))
        self.assertEqual(asked["code_challenge_method"], "S256")
        self.assertIn("error=invalid_request", provider.redirected(page.replace("code_challenge=", "x=")))
        url = provider.redirected(page)
        answer = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
        self.assertEqual(answer["iss"], self.issuer)
        status, told = provider.token_request(
            self.realm, grant_type="authorization_code", code=answer["code"], redirect_uri=asked["redirect_uri"],
            code_verifier="x" * 43)
        self.assertEqual((status, told), (403, {"error": "invalid_code"}))
        self.assertEqual(self.complete(begun, url)["status"], "completed")
        self.is_bound()


class Revoked(Realm):
    def test_token_that_the_person_revoked_requires_a_sign_in_which_has_another_key(self):
        self.signed_in()
        key = self.key()
        provider.revoke_all(self.realm)

        def refused():
            try:
                self.refresh()
            except LanyardError as error:
                return error if error.code != UNAVAILABLE else None
            return self.fail("refreshed by a token that was revoked")

        # Glewlwyd answers 400 without a body, which the agent takes for the end the third time (docs/tokens.md#failures).
        error = self.until(refused, "the agent gives the token up")
        self.assertEqual((error.code, error.data["reason"]), (REAUTHENTICATE, "unexplainedRefusal"))
        self.signed_in(account="ada")
        self.assertNotEqual(self.key(), key)
        self.refresh()
        self.is_bound()


@unittest.skipUnless(shutil.which("cc"), "NOT TESTED: no C compiler here, so no clock can be shifted")
class WrongClock(Realm):
    """The machine's clock is an hour slow. Glewlwyd takes proofs of the last minute."""

    def agent_to_ask(self):
        library = os.path.join(self.directory(), "clockshift.so")
        source = os.path.join(os.path.dirname(os.path.abspath(test_clock.__file__)), "clockshift.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
        agent = test_clock.Shifted(library)
        self.addCleanup(agent.__exit__)
        agent.set_wall(-3600)
        agent.start()
        self.assertTrue(os.path.exists(agent.seen), "the agent looks at another clock")
        return agent

    def test_proofs_have_the_providers_time(self):
        begun = self.begin(alias="ada")
        url = provider.redirected(begun["authorizationUrl"])
        # Glewlwyd refuses the first proof with 403, not 400. The agent takes the time from that answer, and asks again.
        self.assertEqual(self.complete(begun, url)["status"], "completed")
        self.refresh()
        self.is_bound()
        token = self.token()
        self.assertEqual(self.ask(token, self.proof(token))[0], 200, provider.log())


if __name__ == "__main__":
    unittest.main()
