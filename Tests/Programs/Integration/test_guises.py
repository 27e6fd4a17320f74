"""Every server of `Tests/Providers`: an agent signs people in at the practice provider in its guise, refreshes, is refused in
its words and signs out. What has to come of it stands in the file, as `expected`."""

import contextlib
import json
import os
import shutil
import subprocess
import unittest

from agent_fixture import AgentFixture, BIN, DEMO, LanyardError, PATIENCE_SECONDS, Provider, ROOT, Scene
from harness import SIGN_IN_SECONDS, browse

FOLDER = os.path.join(ROOT, "Tests", "Providers")
# Without a `Retry-After` (RFC 6585 section 4).
PAUSE_MS = 60_000
SLACK_SECONDS = 20
"""Between an answer of the provider and what the agent tells of it."""
RATE_LIMITED = {"code": 3002}
MISCONFIGURED = {"code": 3003}


def guises():
    """The files by their names."""
    for file in sorted(os.listdir(FOLDER)):
        if file.endswith(".json"):
            with open(os.path.join(FOLDER, file), encoding="utf-8") as opened:
                yield file[: -len(".json")], json.load(opened)


class Guise(Provider):
    """The practice provider in a guise."""

    def __init__(self, name):
        super().__init__("--as", name)
        # Some issuers end with a slash, and the paths of scripts begin with one.
        self.identifier, self.issuer = self.issuer, self.issuer.rstrip("/")
        self.origin = "/".join(self.issuer.split("/")[:3])


class GuiseTests(AgentFixture):
    """One agent for all; each test leaves it without providers and accounts."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.agent = Scene()
        cls.addClassCleanup(cls.agent.__exit__)
        cls.agent.start()
        cls.caller = cls.agent.client(timeout=PATIENCE_SECONDS)
        cls.addClassCleanup(cls.caller.close)

    def rehearse(self, name, file):
        idp = self.guise(name)
        expected = file["expected"]
        self.caller.call("provider.add", {"name": name, **idp.get("provider")})
        self.addCleanup(self.forget, name)
        self.check_trial(name)
        alice = self.sign_in(idp, name, "alice")
        self.check_person(alice, name, idp, expected)
        self.check_token(alice, expected)
        if expected.get("refresh") == "none":
            self.check_no_refresh(alice)
        else:
            self.check_refresh(idp, alice, expected)
            self.check_refusals(idp, name, expected)
        self.check_sign_out(idp, alice, file)

    def guise(self, name):
        idp = Guise(name)
        self.addCleanup(idp.stop)
        return idp

    def forget(self, name):
        for account in self.caller.call("account.list", {})["accounts"]:
            if account["state"] != "signedOut":
                self.caller.call("account.signOut", {"account": account["id"], "mode": "hard"})
            with contextlib.suppress(LanyardError):
                self.caller.call("account.forget", {"account": account["id"]})
        self.caller.call("provider.remove", {"provider": name})

    def sign_in(self, idp, name, person):
        # A pushed request does not read what the browser's address says.
        idp.post("options", autoApprove=person)
        begun = self.caller.call("signIn.begin", {"provider": name, "flow": "browser", "openBrowser": False})
        browse(begun["authorizationUrl"], {"login_hint": person})
        ended = self.caller.call("signIn.wait", {"signIn": begun["signIn"], "timeoutSeconds": SIGN_IN_SECONDS})
        self.assertEqual(ended["status"], "completed", ended)
        return ended["account"]

    # What the agent makes of the answers

    def check_trial(self, name):
        """A token that was never issued is refused, and the client with it nowhere."""
        findings = self.caller.call("provider.test", {"provider": name})["findings"]
        told = [finding for finding in findings if finding["check"] == "tokenEndpoint"]
        self.assertEqual([finding["severity"] for finding in told], ["ok"], told)

    def check_person(self, account, name, idp, expected):
        told = self.caller.call("account.get", {"account": account})
        self.assertEqual((told["provider"], told["state"], told["issuer"]), (name, "active", told["issuer"]))
        subject = expected["subject"]
        if subject is None:
            # The server does not say who it is.
            self.assertTrue(told["subject"])
        else:
            self.assertEqual(told["subject"], subject.replace("{origin}", idp.origin))
        self.assertEqual(told.get("displayName"), expected["name"])
        self.assertEqual(told.get("email"), expected["email"])
        self.assertEqual(told.get("tenant"), expected.get("tenant"))

    def check_token(self, account, expected):
        token = self.caller.call("token.get", {"account": account})
        self.assertEqual(set(token["scopes"]), set(expected["scopes"]))
        self.assertAlmostEqual(token["expiresInSeconds"], expected["expiresIn"], delta=SLACK_SECONDS)

    def check_refresh(self, idp, account, expected):
        before = self.caller.call("token.get", {"account": account})
        # Twice: the second uses what the first brought, or did not bring.
        for _ in range(2):
            asked = idp.asked("/token")
            after = self.caller.call("token.refresh", {"account": account})
            self.assertEqual((after["source"], idp.asked("/token")), ("refreshed", asked + 1))
            self.assertNotEqual(after["accessToken"], before["accessToken"])
            before = after
        self.check_token(account, expected)

    def check_no_refresh(self, account):
        """A refresh that can't be had fails alone."""
        refused = self.refused(3003, lambda: self.caller.call("token.refresh", {"account": account}))
        self.assertTrue(refused.reason)
        self.assertTrue(self.caller.call("token.get", {"account": account})["accessToken"])

    def check_refusals(self, idp, name, expected):
        bob, carol = (self.sign_in(idp, name, person) for person in ("bob", "carol"))

        idp.fault("refusal", refusal="rateLimit")
        pause = self.refusal(bob, RATE_LIMITED)
        self.assertAlmostEqual(pause["retryAfterMs"], expected.get("retryAfterMs", PAUSE_MS), delta=SLACK_SECONDS * 1000)
        self.assertEqual(self.state(bob), "active")

        idp.post("users", user="carol", disabled=True)
        # Where the server has no word for it, the refresh token is a dead one.
        disabled = expected.get("disabledPerson", expected["deadToken"])
        self.refusal(carol, disabled)
        self.assertNotEqual(self.state(carol), "active")
        idp.post("users", user="carol", disabled=False)

        # The wrong secret is no fault of the session.
        other = self.sign_in(idp, name, "alice@globex")
        idp.fault("refusal", refusal="badClient")
        self.refusal(other, expected.get("badClient", MISCONFIGURED))
        self.assertEqual(self.state(other), "active")

        # Whoever signs in again is the same account.
        again = self.sign_in(idp, name, "carol")
        if expected["subject"] is not None:
            self.assertEqual(again, carol)
        self.assertEqual(self.state(again), "active")
        idp.post("revoke", user="carol")
        self.refusal(again, expected["deadToken"])
        self.assertEqual(self.state(again), "reauthenticationRequired")

    def refusal(self, account, wanted):
        """The data of the error of a refresh."""
        refused = self.refused(wanted["code"], lambda: self.caller.call("token.refresh", {"account": account}))
        if "reason" in wanted:
            self.assertEqual(refused.reason, wanted["reason"])
        return refused.data

    def state(self, account):
        return self.caller.call("account.get", {"account": account})["state"]

    def check_sign_out(self, idp, account, file):
        expected = file["expected"]
        told = self.caller.call("account.signOut", {"account": account, "mode": "soft"})
        can_revoke = "revocation" in file["endpoints"]
        nothing = "notNeeded" if expected.get("refresh") == "none" else "unsupported"
        self.assertEqual(told["revocation"], "confirmed" if can_revoke else nothing)
        self.assertEqual(idp.asked("/revoke") > 0, can_revoke)
        self.assertEqual(self.state(account), "signedOut")
        if can_revoke and file["behaviour"].get("revocationReach") != "token":
            grants = [grant for grant in idp.get("grants")["grants"] if grant["user"] == "alice@acme"]
            self.assertEqual([grant["ended"] for grant in grants], ["revoked"])


def rehearsal(name, file):
    def test(self):
        self.rehearse(name, file)

    test.__name__ = f"test_{name.replace('-', '_')}"
    test.__doc__ = file["title"]
    return test


class HintTests(AgentFixture):
    @unittest.skipUnless(shutil.which("curl"), "the line uses curl")
    def test_the_line_that_the_provider_prints_adds_it(self):
        scene = self.scene()
        process = subprocess.Popen(
            [DEMO, "provider", "--as", "keycloak"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.terminate)
        issuer = process.stdout.readline().strip()
        line = next(line for line in process.stderr if line.startswith("add it:"))
        environment = {**scene.environment, "PATH": f"{BIN}:{os.environ['PATH']}", "NO_PROXY": "127.0.0.1", "LANYARD_NO_START": "1"}
        added = subprocess.run(
            ["sh", "-c", line.removeprefix("add it:")], env=environment, capture_output=True, text=True,
            timeout=PATIENCE_SECONDS)
        self.assertEqual(added.returncode, 0, added.stderr)
        provider = self.client(scene).call("provider.get", {"provider": "keycloak"})["provider"]
        self.assertEqual((provider["issuer"], provider["preset"]), (issuer, "keycloak"))


for guise, contents in guises():
    rehearsed = rehearsal(guise, contents)
    setattr(GuiseTests, rehearsed.__name__, rehearsed)


if __name__ == "__main__":
    unittest.main()
