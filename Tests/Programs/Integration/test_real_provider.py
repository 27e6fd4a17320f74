"""The agent with a provider written by others. Tests/Programs/RealProvider/observed.md records its answers, and the
agent's reaction: a new version that behaves otherwise fails here. LANYARD_UPDATE_OBSERVED=1 rewrites the file."""

import os
import unittest
from concurrent.futures import ThreadPoolExecutor

from agent_fixture import AgentFixture, LanyardError
from real_provider import FOLDER, PASSWORD, Browser, Form, RealProvider

REAUTHENTICATE, SIGN_IN_FAILED = 2004, 2007
OFFLINE, UNAVAILABLE, MISCONFIGURED = 3001, 3002, 3003

OBSERVED = os.path.join(FOLDER, "observed.md")
UPDATE = os.environ.get("LANYARD_UPDATE_OBSERVED") == "1"
HEAD = """# What django-oauth-toolkit 3.4.1 answers, and what the agent makes of it

Written by `LANYARD_UPDATE_OBSERVED=1 make test-real`; `Tests/Programs/Integration/test_real_provider.py` compares.

| case | the provider | the agent |
|---|---|---|
"""

provider = None
rows = {}


def setUpModule():
    global provider
    provider = RealProvider()


def tearDownModule():
    if provider is not None:
        provider.stop()
    table = HEAD + "".join(rows[case] for case in sorted(rows))
    print(table)
    if UPDATE:
        with open(OBSERVED, "w") as file:
            file.write(table)


class Real(AgentFixture):
    client_id = "public"
    reuse = {"reuse": "strict", "onUnknownOutcome": "reauthenticate"}

    def setUp(self):
        provider.wire.join()
        provider.control("change", refuses_disabled=False, REFRESH_TOKEN_GRACE_PERIOD_SECONDS=0,
                         ACCESS_TOKEN_EXPIRE_SECONDS=300)
        self.person = self._testMethodName[5:35]
        provider.control("person", name=self.person, password=PASSWORD, first="Ada", last="Byron",
                         email="ada@example.org")
        self.agent = self.scene()
        self.caller = self.client(self.agent)

    def observe(self, case, answered, made):
        row = f"| {case} | {answered} | {made} |\n"
        rows[case] = row
        if not UPDATE:
            with open(OBSERVED) as file:
                self.assertIn(row, file.readlines(), f"not as in {OBSERVED}")

    def answered(self, path="token/"):
        return provider.wire.last(f"/o/{path}").shape

    def add(self, name="real", **members):
        return self.caller.call("provider.add", {
            "name": name, "issuer": provider.issuer, "clientId": self.client_id,
            "scopes": ["openid", "profile", "email", "offline_access"], "redirect": {"path": "/callback"},
            "refresh": self.reuse, **members})

    def imported(self, token=None):
        """Imports an account, whose grant the agent owns from here."""
        token = token or provider.sign_in(self.person, self.client_id)
        account = self.caller.call("signIn.import", {"provider": "real", "refreshToken": token, "alias": "ada"})
        return account["account"]

    def refresh(self):
        return self.caller.call("token.refresh", {"account": "ada"})

    def fails(self, code):
        """The failure of `token.refresh`, as code, name and reason."""
        error = self.refused(code, self.refresh)
        reason = error.data.get("reason")
        return f"{error.code} {error.data['name']}" + (f" `{reason}`" if reason else "")

    def alive(self):
        return provider.control("tokens", name=self.person)


class Metadata(Real):
    def test_both_metadata_documents_are_joined(self):
        before = len(provider.wire.answers)
        self.add()
        asked = sorted({answer.path for answer in provider.wire.answers[before:]} - {"/o/.well-known/jwks.json"})
        self.assertEqual(asked, [
            "/.well-known/oauth-authorization-server/o", "/o/.well-known/openid-configuration"])
        only = [set(provider.wire.last(path).members) for path in asked]
        self.assertFalse("device_authorization_endpoint" in only[0] | only[1])
        missing = {"revocation_endpoint", "introspection_endpoint"}
        self.assertLessEqual(missing, only[0])
        self.assertFalse(missing & only[1])
        self.observe("discovery", "revocation and introspection only by RFC 8414, no device endpoint at all", "joined")

    def test_issuer_under_another_name_is_refused(self):
        error = self.refused(MISCONFIGURED, lambda: self.add(
            issuer=provider.issuer.replace("127.0.0.1", "localhost")))
        self.observe("issuer by another name", "200, issuer differs", f"{error.code} {error.data['name']}")

    def test_address_without_metadata_is_refused(self):
        error = self.refused(MISCONFIGURED, lambda: self.add(issuer=provider.wire.origin + "/none"))
        self.observe("no metadata", "404", f"{error.code} {error.data['name']}")


class SignIn(Real):
    def begin(self, **members):
        return self.caller.call("signIn.begin", {
            "provider": "real", "flow": "browser", "alias": "ada", "openBrowser": False, **members})

    def wait(self, begun):
        return self.caller.call("signIn.wait", {"signIn": begun["signIn"], "timeoutSeconds": 15})

    def test_sign_in_on_the_providers_pages_completes(self):
        self.add()
        begun = self.begin()
        Browser().visit(begun["authorizationUrl"], self.person)
        self.assertEqual(self.wait(begun)["status"], "completed")
        code = self.answered()
        account = self.caller.call("account.get", {"account": "ada"})
        self.assertEqual((account["displayName"], account["email"]), ("Ada Byron", "ada@example.org"))
        token = self.caller.call("token.get", {"account": "ada"})
        self.assertTrue(token["accessToken"])
        before = provider.wire.refresh_token
        self.assertNotEqual(self.refresh()["accessToken"], token["accessToken"])
        self.assertNotEqual(provider.wire.refresh_token, before)
        self.observe("code exchange", code, "signed in")
        self.observe("refresh", self.answered(), "rotated")

    def test_refused_consent_fails_the_sign_in(self):
        self.add()
        begun = self.begin()
        Browser().visit(begun["authorizationUrl"], self.person, agrees=False)
        error = self.refused(SIGN_IN_FAILED, lambda: self.wait(begun))
        self.observe("consent refused", "redirect `access_denied`",
                     f"{error.code} {error.data['name']} `{error.data['reason']}`")

    def test_confidential_client_signs_in_and_refreshes(self):
        self.client_id = "confidential"
        self.add(clientSecret=provider.secret)
        begun = self.begin()
        Browser().visit(begun["authorizationUrl"], self.person)
        self.assertEqual(self.wait(begun)["status"], "completed")
        self.assertTrue(self.refresh()["accessToken"])

    def test_rotated_signing_keys_are_fetched(self):
        self.add()
        self.imported()
        provider.control("rotate_key", keep=False)
        before = provider.wire.asked("/o/.well-known/jwks.json")
        self.assertTrue(self.refresh()["accessToken"])
        begun = self.begin(account="ada")
        Browser().visit(begun["authorizationUrl"], self.person)
        self.assertEqual(self.wait(begun)["status"], "completed")
        self.assertGreater(provider.wire.asked("/o/.well-known/jwks.json"), before)
        self.observe("another signing key", self.answered(), "accepted: the keys are read again")


class Refreshing(Real):
    def setUp(self):
        super().setUp()
        self.add()

    def test_spent_token_used_again_ends_the_family(self):
        token = provider.sign_in(self.person)
        self.imported(token)
        self.assertTrue(self.refresh()["accessToken"])
        answer, _ = provider.refresh(token)
        self.observe("reuse of a spent refresh token", answer.shape, f"then {self.fails(REAUTHENTICATE)}")

    def test_token_spent_by_a_thief_requires_a_sign_in(self):
        self.imported()
        self.assertEqual(provider.refresh(provider.wire.refresh_token)[0].status, 200)
        told = self.fails(REAUTHENTICATE)
        self.observe("its own token spent by another", self.answered(), told)
        self.assertEqual(self.alive()["refresh"], 0, "the family ends, the thief's successor too")

    def test_lost_answer_of_a_strict_server_is_not_retried(self):
        self.imported()
        provider.wire.swallow("/o/token/")
        self.refused_any()
        self.assertEqual(provider.wire.last("/o/token/").status, 200)
        before = provider.wire.asked("/o/token/")
        told = self.fails(REAUTHENTICATE)
        self.assertEqual(provider.wire.asked("/o/token/"), before, "a strict server is never asked again")
        self.observe("lost answer, strict", "200, dropped on its way", told)

    def refused_any(self):
        try:
            self.refresh()
        except LanyardError:
            pass

    def test_four_concurrent_refreshes_outside_the_agent_race(self):
        token = provider.sign_in(self.person)
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda _: provider.refresh(token), range(4)))
        # A race inside the provider: mostly four times 200 with one successor; also seen were 400 invalid_grant, 500,
        # two
        # successors, and none. So the answers are printed, and only the invariant part is compared.
        print(sorted(answer.shape.split(" access_token")[0] for answer, _ in answers),
              len({body["refresh_token"] for _, body in answers if "refresh_token" in body}), "successors")
        self.assertLessEqual({(answer.status, answer.error) for answer, _ in answers},
                             {(200, None), (400, "invalid_grant"), (500, None)})
        self.observe("four refreshes at once", "a race: 200, 400 invalid_grant, 500; none, one and two successors were seen",
                     "(not by the agent)")

    def test_disabled_person_is_refreshed_until_refused(self):
        self.imported()
        provider.control("disable", name=self.person)
        self.assertTrue(self.refresh()["accessToken"])
        self.observe("disabled person", self.answered(), "rotated")
        provider.control("change", refuses_disabled=True)
        told = self.fails(REAUTHENTICATE)
        self.observe("disabled person, refused", self.answered(), told)

    def test_deleted_person_requires_a_sign_in(self):
        self.imported()
        provider.control("delete", name=self.person)
        told = self.fails(REAUTHENTICATE)
        self.observe("deleted person", self.answered(), told)

    def test_ungranted_resource_gets_a_separate_token(self):
        self.imported()
        token = self.caller.call("token.get", {"account": "ada", "resource": "https://elsewhere.example/"})
        self.assertNotIn("resource", token, "the server ignored it: neither its answer nor its opaque token shows it")
        usual = self.caller.call("token.get", {"account": "ada"})
        self.assertNotIn("resource", usual)
        self.assertNotEqual(usual["accessToken"], token["accessToken"])
        self.observe("resource not granted", self.answered(), "a token, kept apart")
        self.assertTrue(self.refresh()["accessToken"])


class Grace(Real):
    reuse = {"reuse": "grace", "graceSeconds": 30}

    def test_lost_answer_within_the_grace_is_replayed(self):
        provider.control("change", REFRESH_TOKEN_GRACE_PERIOD_SECONDS=30)
        self.add()
        self.imported()
        provider.wire.swallow("/o/token/")
        Refreshing.refused_any(self)
        before = provider.wire.asked("/o/token/")
        self.assertTrue(self.until(self.try_refresh, "the replay"))
        self.assertEqual(provider.wire.asked("/o/token/") - before, 1)
        self.observe("lost answer, grace", self.answered(), "one replay, then goes on")
        self.assertTrue(self.refresh()["accessToken"])

    def try_refresh(self):
        try:
            return self.refresh()["accessToken"]
        except LanyardError as error:
            self.assertIn(error.code, (OFFLINE, UNAVAILABLE), error)
            return None


class Clients(Real):
    def test_unknown_client_is_a_configuration_error(self):
        self.client_id = "nobody"
        self.add()
        token = provider.sign_in(self.person, "public")
        error = self.refused(MISCONFIGURED, lambda: self.imported(token))
        self.observe("unknown client", self.answered(), f"{error.code} {error.data['name']}")

    def test_wrong_client_secret_is_a_configuration_error(self):
        self.client_id = "confidential"
        self.add(clientSecret="wrong")
        token = provider.sign_in(self.person, "confidential")
        before = provider.wire.asked("/o/token/")
        error = self.refused(MISCONFIGURED, lambda: self.imported(token))
        self.assertEqual(provider.wire.asked("/o/token/") - before, 1, "no other credentials are tried")
        self.observe("wrong client secret", self.answered(), f"{error.code} {error.data['name']}")
        answer, _ = provider.refresh(token, client_id="confidential", client_secret=provider.secret)
        self.observe("the refresh token after a wrong secret", answer.shape, "(not by the agent)")


class SignOut(Real):
    def setUp(self):
        super().setUp()
        self.add()
        self.imported()
        self.assertGreater(self.alive()["refresh"], 0)

    def sign_out(self, mode):
        return self.caller.call("account.signOut", {"account": "ada", "mode": mode})

    def test_hard_sign_out_revokes_the_token(self):
        done = self.sign_out("hard")
        self.assertEqual((done["data"], done["revocation"]), ("erased", "confirmed"))
        self.assertEqual(self.alive()["refresh"], 0)
        self.observe("revocation", self.answered("revoke_token/"), "`confirmed`")

    def test_offline_sign_out_is_revoked_on_reconnect(self):
        provider.wire.cut()
        self.caller.call("connectivity.report", {"online": False})
        self.assertEqual(self.sign_out("offline")["revocation"], "queued")
        self.assertGreater(self.alive()["refresh"], 0)
        provider.wire.join()
        self.caller.call("connectivity.report", {"online": True})
        self.until(lambda: self.alive()["refresh"] == 0, "the revocation")
        self.until(lambda: not self.caller.call("revocation.list", {})["revocations"], "an empty outbox")


class Device(Real):
    client_id = "device"

    def test_device_code_entered_on_the_page_signs_in(self):
        self.add(endpoints={"deviceAuthorization": f"{provider.issuer}/device-authorization/"})
        begun = self.caller.call("signIn.begin", {"provider": "real", "flow": "device", "alias": "ada"})
        browser = Browser()
        where, page = browser.open(begun["verificationUri"])
        form = Form(page).fields
        where, page = browser.open(where, {**form, "username": self.person, "password": PASSWORD})
        where, page = browser.open(where, {**Form(page).fields, "user_code": begun["userCode"]})
        browser.open(where, {**Form(page).fields, "action": "accept"})
        done = self.caller.call("signIn.wait", {"signIn": begun["signIn"], "timeoutSeconds": 15})
        self.assertEqual(done["status"], "completed")
        self.observe("device code exchange", self.answered(), "signed in")


if __name__ == "__main__":
    unittest.main()
