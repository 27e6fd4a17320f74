"""ID tokens that a provider gets wrong or lies with, at the running agent (OpenID Connect Core 3.1.3.7, 5.3.2, 12.2)."""

import base64
import contextlib
import json
import unittest
import urllib.error
import urllib.request

from agent_fixture import AgentFixture, LanyardError, add_provider, import_account
from harness import browse

REAUTHENTICATE, MISCONFIGURED, SIGN_IN_FAILED = 2004, 3003, 2007


def claims(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


class IDTokens(AgentFixture):
    def setUp(self):
        super().setUp()
        self.idp, self.scene_, self.caller = self.alice()

    def refresh(self):
        return self.caller.call("token.refresh", {"account": "alice"})

    def identity(self, account="alice", **members):
        return self.caller.call("identity.get", {"account": account, **members})["idToken"]

    def is_given_out(self, changes, signature="good"):
        """Whether the ID token of a refresh reaches programs. The session goes on whatever is wrong with its form."""
        self.idp.fault("changeIDToken", json=changes, signature=signature)
        self.assertEqual(self.refresh()["source"], "refreshed")
        try:
            given = claims(self.caller.call("identity.get", {"account": "alice", "minimumLifetimeSeconds": 1})["idToken"])
        except LanyardError as error:
            self.assertEqual((error.code, error.data["reason"]), (MISCONFIGURED, "invalidIdToken"), changes)
            return False
        return all(given.get(name) == value for name, value in changes.items())

    def test_audience_that_is_not_this_client_s_alone_is_not_given_out(self):
        own = claims(self.identity())["aud"]
        self.assertTrue(self.is_given_out({"aud": [own]}))
        for changes in ({"aud": [own, "another"]}, {"aud": ["another", own]}, {"aud": "another"}, {"aud": []}, {"aud": None},
                        {"aud": [own, "another"], "azp": own}, {"aud": own, "azp": "another"}, {"azp": "another"},
                        {"aud": own.upper()}, {"aud": own + "\u0301"}, {"aud": [own, own + " "]}):
            with self.subTest(changes):
                self.assertFalse(self.is_given_out(changes))

    def test_refreshed_token_of_another_sign_in_is_not_given_out(self):
        for changes in ({"iat": None}, {"exp": None}, {"exp": 1}, {"nonce": 5}):
            with self.subTest(changes):
                self.assertFalse(self.is_given_out(changes))

    def test_nonce_of_another_sign_in_is_not_given_out(self):
        begun = self.caller.call("signIn.begin", {"provider": "practice", "flow": "browser", "openBrowser": False})
        browse(begun["authorizationUrl"], {"login_hint": "bob"})
        account = self.caller.call("signIn.wait", {"signIn": begun["signIn"], "timeoutSeconds": 20})["account"]
        nonce = claims(self.identity(account))["nonce"]
        for told, is_given in ((nonce, True), ("another", False), ("", False), (nonce + "\u0301", False), (None, True)):
            self.idp.fault("changeIDToken", json={"nonce": told, "marked": str(told)})
            self.caller.call("token.refresh", {"account": account})
            with self.subTest(told):
                # The one before it, which was good, may still be served.
                marked = claims(self.identity(account, minimumLifetimeSeconds=1))["marked"]
                self.assertEqual(marked, str(told if is_given else nonce))

    def test_flawed_token_signs_nobody_in(self):
        own = claims(self.identity())["aud"]
        for changes, signature in (
                ({"aud": [own, "another"], "azp": own}, "good"), ({"aud": [own, "another"]}, "good"), ({"aud": "another"}, "good"),
                ({"azp": "another"}, "good"), ({"aud": None}, "good"), ({"aud": []}, "good"), ({"aud": [own, 5]}, "good"),
                ({"aud": own + "\u0301"}, "good"), ({"nonce": None}, "good"), ({"nonce": "another"}, "good"), ({"nonce": ""}, "good"),
                ({"iss": "https://evil.example"}, "good"), ({"iss": self.idp.issuer + "/"}, "good"), ({"iss": None}, "good"),
                ({"sub": None}, "good"), ({"sub": ""}, "good"), ({"sub": "x" * 256}, "good"), ({"exp": 1}, "good"),
                ({"exp": None}, "good"), ({"exp": "soon"}, "good"), ({"iat": None}, "good"), ({"nbf": 4102444800}, "good"),
                ({}, "broken"), ({}, "unsigned"), ({}, "impostor"), ({}, "unknownKey")):
            with self.subTest(changes, signature=signature):
                before = len(self.caller.call("account.list")["accounts"])
                self.idp.fault("changeIDToken", json=changes, signature=signature)
                begun = self.caller.call("signIn.begin", {"provider": "practice", "flow": "browser", "openBrowser": False})
                with contextlib.suppress(urllib.error.HTTPError):
                    browse(begun["authorizationUrl"], {"login_hint": "bob"})
                error = self.refused(SIGN_IN_FAILED, lambda: self.caller.call(
                    "signIn.wait", {"signIn": begun["signIn"], "timeoutSeconds": 20}))
                self.assertEqual(error.data["reason"], "invalidIdToken")
                self.assertEqual(len(self.caller.call("account.list")["accounts"]), before)

    def test_algorithm_that_the_metadata_does_not_list_signs_nobody_in(self):
        """A key without `alg` of its own proves no token under another algorithm than the provider announces."""
        for number, (listed, names, is_taken) in enumerate((
                (["RS256"], ("alg",), True), (["RS384"], ("alg",), False), (["none", "HS256"], ("alg",), False),
                (["rs256"], ("alg",), False), (["RS384"], (), True))):
            with self.subTest(listed=listed, without=names):
                idp = self.provider()
                with urllib.request.urlopen(idp.issuer + "/jwks") as answer:
                    own = [{name: value for name, value in key.items() if name not in names}
                           for key in json.load(answer)["keys"]]
                idp.fault("changeAnswer", path="/jwks", json={"keys": own}, count=100)
                idp.fault("changeAnswer", path="/.well-known/openid-configuration", count=100,
                          json={"id_token_signing_alg_values_supported": listed})
                name = f"idp{number}"
                add_provider(self.caller, idp, name=name)
                begun = self.caller.call("signIn.begin", {"provider": name, "flow": "browser", "openBrowser": False})
                with contextlib.suppress(urllib.error.HTTPError):
                    browse(begun["authorizationUrl"], {"login_hint": "alice"})
                wait = {"signIn": begun["signIn"], "timeoutSeconds": 20}
                if is_taken:
                    self.assertEqual(self.caller.call("signIn.wait", wait)["status"], "completed")
                else:
                    error = self.refused(SIGN_IN_FAILED, lambda: self.caller.call("signIn.wait", wait))
                    self.assertEqual(error.data["reason"], "invalidIdToken")

    def test_signature_that_no_present_key_proves_is_not_given_out(self):
        for signature in ("broken", "unsigned", "impostor", "unknownKey"):
            with self.subTest(signature):
                self.assertFalse(self.is_given_out({"marked": True}, signature))
        self.assertTrue(self.is_given_out({"marked": True}))

    def test_another_person_ends_the_session_however_malformed_the_token_is(self):
        """Whose it is, before whether it is well formed: the access token beside it is that person's."""
        for number, (changes, signature) in enumerate((
                ({}, "good"), ({}, "broken"), ({}, "unsigned"), ({"exp": "soon"}, "good"), ({"aud": 5}, "good"),
                ({"aud": "another", "iat": None}, "unknownKey"), ({"exp": 1}, "good"), ({"nonce": "another"}, "good"))):
            with self.subTest(changes, signature=signature):
                name = f"alice{number}"
                account = import_account(self.caller, self.idp, "bob", alias=name)
                before = self.caller.call("token.get", {"account": account})["accessToken"]
                self.idp.fault("changeIDToken", json={"sub": "mallory", **changes}, signature=signature)
                error = self.refused(REAUTHENTICATE, lambda: self.caller.call("token.refresh", {"account": account}))
                self.assertEqual(error.data["reason"], "subjectChanged")
                error = self.refused(REAUTHENTICATE, lambda: self.caller.call("token.get", {"account": account}))
                self.assertNotIn(before, str(error))
                self.caller.call("account.signOut", {"account": account, "mode": "hard"})
                self.caller.call("account.forget", {"account": account})

    def test_a_withdrawn_key_s_token_is_served_no_more(self):
        before = self.identity()
        self.idp.post("keys", keepOld=False)
        import_account(self.caller, self.idp, "bob", alias="bob")
        self.assertNotEqual(self.identity("bob"), before)
        self.assertNotEqual(self.identity(), before)


class Userinfo(AgentFixture):
    def test_userinfo_of_no_person_or_another_replaces_no_rights(self):
        idp = self.provider()
        client = self.client(self.scene())
        add_provider(client, idp, authorization={"rolesClaim": "roles"})
        account = import_account(client, idp, "alice", alias="alice")
        before = client.call("snapshot.get", {"account": account})["roles"]
        for person in ({"sub": None}, {"sub": ""}, {"sub": "mallory"}, {"sub": 5}, {"sub": ["alice"]}):
            with self.subTest(person):
                idp.fault("changeIDToken", json={"roles": None})
                idp.fault("changeAnswer", path="/userinfo", json={**person, "roles": ["administrator"]})
                try:
                    client.call("snapshot.refresh", {"account": account})
                except LanyardError as error:
                    self.assertIn(error.code, (3002, 3003))
                idp.clear_faults()
                self.assertNotIn("administrator", client.call("snapshot.get", {"account": account})["roles"])
        client.call("snapshot.refresh", {"account": account})
        self.assertEqual(client.call("snapshot.get", {"account": account})["roles"], before)


if __name__ == "__main__":
    unittest.main()
