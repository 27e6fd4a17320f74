"""A provider's answer that no sign-in can be made of is told with the member at fault and what stands there."""

import base64
import json
import unittest
import urllib.parse
import urllib.request

from agent_fixture import AgentFixture
from scripted_provider import ScriptedProvider

SIGN_IN_FAILED = 2007


def unsigned(claims):
    """A token in the form of one that is signed."""
    parts = ({"alg": "ES256", "kid": "k"}, claims)
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
    return ".".join([*encoded, "c2ln"])


class ProviderAnswers(AgentFixture):
    def setUp(self):
        super().setUp()
        self.caller = self.client(self.scene())
        self.number = 0

    def sign_in(self, prepare, scopes=("read",)):
        """Adds a provider, and brings its answer back as a browser does."""
        provider = ScriptedProvider()
        self.addCleanup(provider.stop)
        prepare(provider)
        self.number += 1
        name = f"idp{self.number}"
        self.caller.call("provider.add", {
            "name": name, "issuer": provider.issuer, "clientId": "app", "scopes": list(scopes),
            "redirect": {"path": f"/{name}"}})
        begun = self.caller.call("signIn.begin", {"provider": name, "flow": "browser", "openBrowser": False})
        asked = urllib.parse.parse_qs(urllib.parse.urlparse(begun["authorizationUrl"]).query)
        answer = urllib.parse.urlencode({"code": "c", "state": asked["state"][0]})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            opener.open(f"{asked['redirect_uri'][0]}?{answer}", timeout=20).read()
        except urllib.error.HTTPError as page:
            page.read()
        return self.caller.call("signIn.wait", {"signIn": begun["signIn"], "timeoutSeconds": 20})

    def refused_because(self, reason, prepare, *words, scopes=("read",)):
        error = self.refused(SIGN_IN_FAILED, lambda: self.sign_in(prepare, scopes))
        self.assertEqual(error.data["reason"], reason, error)
        for word in words:
            self.assertIn(word, str(error))

    def test_an_answer_as_it_should_be_signs_in(self):
        self.assertEqual(self.sign_in(lambda provider: None)["status"], "completed")

    def test_a_key_set_without_an_address_is_told_with_what_stands_there(self):
        for value, told in (("", '`jwks_uri` is `""`'), ("keys", '`jwks_uri` is `"keys"`'), (7, "`jwks_uri` is a number"),
                            ("http://idp.example/keys", '`jwks_uri` is `"http://idp.example/keys"`'),
                            (None, "names no key set (`jwks_uri`)")):
            def prepare(provider, value=value):
                provider.document = {"jwks_uri": value}
                provider.tokens = {"id_token": unsigned({"iss": provider.issuer, "sub": "alice", "aud": "app"})}

            with self.subTest(value):
                self.refused_because("invalidIdToken", prepare, told, scopes=("openid",))

    def test_an_odd_token_type_is_told_as_it_stands(self):
        for value, told in (("mac", '`token_type` is `"mac"`'), ("", '`token_type` is `""`'), (7, "`token_type` is a number"),
                            (["Bearer"], "`token_type` is a list"), ("DPoP", "`token_type` is `DPoP`, which binds")):
            def prepare(provider, value=value):
                provider.tokens = {"token_type": value}

            with self.subTest(value):
                self.refused_because("invalidTokenResponse", prepare, told)

    def test_userinfo_without_a_person_is_told_by_its_members(self):
        for person, told in (({"sub": "", "id": "5"}, "It has `sub` (empty), `id`."),
                             ({"user": {"id": 5}}, "It has `user` (an object with `id`)."),
                             ({"id": 1.5}, "It has `id` (a number).")):
            def prepare(provider, person=person):
                provider.person = person

            with self.subTest(person):
                self.refused_because("noIdentity", prepare, told)


if __name__ == "__main__":
    unittest.main()
