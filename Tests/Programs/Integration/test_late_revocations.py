"""A revocation that waits ends no login that comes to live meanwhile, in whichever way it comes."""

import os
import unittest

from agent_fixture import AgentFixture, LanyardError, add_provider, import_account
from scripted_provider import ScriptedProvider

PASSPHRASE = "not-a-real-passphrase-of-a-backup"


class OneTokenServer(ScriptedProvider):
    """Gives each person one refresh token, which it never rotates, and knows which tokens are revoked."""

    def __init__(self):
        super().__init__()
        self.document = {
            "revocation_endpoint": self.issuer + "/revocation", "device_authorization_endpoint": self.issuer + "/device"}
        self.who = "alice"
        self.revoked = []

    def userinfo(self, authorization):
        return 200, {"sub": authorization.split("-")[-1]}

    def token(self, form):
        if "token" in form:
            self.revoked += form["token"]
            return 200, {}
        if "grant_type" not in form:
            return 200, {
                "device_code": "D", "user_code": "U", "verification_uri": self.issuer + "/v", "expires_in": 300,
                "interval": 1}
        if form["grant_type"] == ["refresh_token"]:
            (token,) = form["refresh_token"]
            if token in self.revoked:
                return 400, {"error": "invalid_grant"}
            person, answer = token.split("-")[-1], {}
        else:
            # It gives the same one again at each sign-in.
            person, answer = self.who, {"refresh_token": "rt-" + self.who}
        return 200, {"access_token": "at-" + person, "token_type": "Bearer", "expires_in": 300, **answer}


class LateRevocations(AgentFixture):
    def setUp(self):
        self.agent = self.scene()
        self.caller = self.client(self.agent)
        self.server = OneTokenServer()
        self.addCleanup(self.server.stop)

    def add(self, name="idp", **members):
        self.caller.call("provider.add", {
            "name": name, "issuer": self.server.issuer, "clientId": "c", "scopes": ["openid"],
            "refresh": {"reuse": "none"}, **members})

    def take_over(self, token, alias="work", provider="idp"):
        return self.caller.call("signIn.import", {"provider": provider, "refreshToken": token, "alias": alias})

    def sign_in(self, **wishes):
        begun = self.caller.call("signIn.begin", {"provider": "idp", "flow": "device", **wishes})
        return self.caller.call("signIn.wait", {"signIn": begun["signIn"], "timeoutSeconds": 30})

    def leave(self, account="work"):
        told = self.caller.call("account.signOut", {"account": account, "mode": "offline"})
        self.assertEqual(told["revocation"], "queued")

    def lives(self, *accounts):
        """Also after a start and a change of the network, when all that waits is sent."""
        self.until(lambda: self.caller.call("revocation.list")["revocations"] == [], "the revocations")
        self.agent.end()
        self.agent.start()
        self.caller = self.client(self.agent)
        self.caller.call("connectivity.report", {"online": True})
        for account in accounts:
            self.assertTrue(self.caller.call("token.refresh", {"account": account})["accessToken"])

    def test_token_that_is_imported_again(self):
        self.add()
        self.take_over("rt-alice")
        self.leave()
        self.take_over("rt-alice")
        self.lives("work")
        self.assertEqual(self.server.revoked, [])
        audit = [entry for entry in self.caller.call("audit.list")["entries"] if "revocation" in entry["event"]]
        self.assertEqual([entry["event"] for entry in audit], ["revocation.abandoned"])

    def test_token_that_the_server_gives_again(self):
        self.add()
        self.sign_in(alias="work")
        self.leave()
        self.sign_in()
        self.lives("work")
        self.assertEqual(self.server.revoked, [])

    def test_token_of_the_wrong_person_which_that_persons_account_uses(self):
        self.add()
        self.sign_in(alias="work")
        self.server.who = "bob"
        self.sign_in(alias="home")
        with self.assertRaises(LanyardError):
            self.sign_in(account="work")
        self.lives("work", "home")
        self.assertEqual(self.server.revoked, [])

    def test_provider_that_is_added_again_under_another_name(self):
        self.add(revocationScope="grant")
        self.take_over("old-alice")
        self.leave()
        self.caller.call("account.forget", {"account": "work"})
        self.caller.call("provider.remove", {"provider": "idp"})
        self.add("other", revocationScope="grant")
        self.take_over("new-alice", "again", "other")
        self.lives("again")
        self.assertEqual(self.server.revoked, [])

    def test_second_provider_of_the_same_client(self):
        self.add(revocationScope="grant")
        self.add("other", revocationScope="grant")
        self.take_over("old-alice")
        self.leave()
        self.take_over("new-alice", "again", "other")
        self.lives("again")
        self.assertEqual(self.server.revoked, [])

    def test_sign_out_of_a_token_that_another_account_uses(self):
        self.add()
        self.add("other")
        self.take_over("rt-alice")
        self.take_over("rt-alice", "again", "other")
        told = self.caller.call("account.signOut", {"account": "work", "mode": "soft"})
        self.assertEqual(told["revocation"], "notNeeded")
        self.lives("again")
        told = self.caller.call("account.signOut", {"account": "again", "mode": "soft"})
        self.assertEqual((told["revocation"], self.server.revoked), ("confirmed", ["rt-alice"]))

    def test_revocation_of_another_person_is_sent_all_the_same(self):
        self.add()
        self.take_over("rt-alice")
        self.take_over("rt-bob", "home")
        self.leave("home")
        self.leave("work")
        self.take_over("rt-alice")
        self.caller.call("connectivity.report", {"online": True})
        self.lives("work")
        self.assertEqual(self.server.revoked, ["rt-bob"])

    def test_account_that_is_restored(self):
        practice = self.provider("--rotation", "strict")
        add_provider(self.caller, practice)
        import_account(self.caller, practice, "alice", alias="work")
        path = os.path.join(self.directory(), "lanyard.backup")
        self.caller.call("agent.backup", {"path": path, "passphrase": PASSPHRASE, "includeRefreshTokens": True})
        self.leave()
        self.caller.call("account.forget", {"account": "work"})
        self.caller.call("agent.restore", {"path": path, "passphrase": PASSPHRASE})
        self.caller.call("token.refresh", {"account": "work"})
        self.lives("work")
        self.assertEqual(practice.ended(), {})


if __name__ == "__main__":
    unittest.main()
