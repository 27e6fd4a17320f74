"""The running agent's wall clock is set back and forward (clockshift.c): no offline window becomes longer by it."""

import datetime
import itertools
import os
import shutil
import subprocess
import tempfile
import time
import unittest

from agent_fixture import PATIENCE_SECONDS, AgentFixture, Client, LanyardError, Preloaded, add_provider, import_account, sign_in

DAY = 86_400
WINDOW_SECONDS = 4
SHIFTS = (0, -3 * DAY, 365 * DAY, -119, 10_000 * DAY, -3600, 3600, -7000 * DAY)

POLICY = {
    "name": "default",
    "version": 1,
    "capabilities": {
        "deny": {"kind": "read", "offlineWindowSeconds": WINDOW_SECONDS},
        "shrink": {"kind": "read", "offlineWindowSeconds": WINDOW_SECONDS, "onClockSuspect": "shrink"},
    },
}


def boot_seconds():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Shifted(Preloaded):
    """An agent whose wall clock the test sets."""

    def __init__(self, library):
        super().__init__()
        self.library = library
        self.seen = self.beside_the_socket("seen")

    @property
    def environment(self):
        return {
            **super().environment,
            "LANYARD_CLOCK_SHIFT": self.beside_the_socket("shift"),
            "LANYARD_CLOCK_SEEN": self.seen,
        }

    def set_wall(self, seconds):
        path = self.beside_the_socket("shift")
        with open(path + ".new", "w") as file:
            file.write(str(seconds))
        os.rename(path + ".new", path)


@unittest.skipUnless(shutil.which("cc"), "NOT RUN: no C compiler here, so no clock can be shifted")
class WallClockChanges(AgentFixture):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.library = os.path.join(directory.name, "clockshift.so")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "clockshift.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-o", cls.library, source], check=True)

    def setUp(self):
        self.idp = self.provider()
        self.agent = Shifted(self.library)
        self.addCleanup(self.agent.__exit__)
        self.agent.start()
        self.assertTrue(os.path.exists(self.agent.seen), "the agent looks at another clock")
        self.caller = self.client(self.agent)
        add_provider(self.caller, self.idp)
        import_account(self.caller, self.idp, "alice", alias="work")
        self.caller.call("policy.set", {"name": "default", "policy": POLICY})

    def go_offline(self):
        """Refreshes once, and takes the provider away; returns the boot clock before and after."""
        before = boot_seconds()
        self.caller.call("token.refresh", {"account": "work"})
        after = boot_seconds()
        self.caller.call("connectivity.report", {"online": False})
        # After a denial the agent asks the provider, also if a client reported that it is offline.
        self.endpoints("http://127.0.0.1:9")
        return before, after

    def endpoints(self, base):
        self.caller.call("provider.update", {
            "provider": "practice", "endpoints": {
                "token": f"{base}/token", "introspection": f"{base}/introspect", "userinfo": f"{base}/userinfo"}})

    def decide(self):
        decisions = self.caller.call(
            "authorization.checkMany", {"account": "work", "capabilities": ["deny", "shrink"]})["decisions"]
        suspect = decisions[0]["time"]["clock"] == "suspect"
        # Exactly while the clock is suspect.
        self.assertEqual("clockSuspect" in [failed["reason"] for failed in decisions[0]["failed"]], suspect)
        self.assertEqual(self.caller.call("session.get", {"account": "work"})["clock"], decisions[0]["time"]["clock"])
        return decisions[1]["effect"] == "allow", suspect

    def test_clock_changes_lengthen_no_offline_window(self):
        before, after = self.go_offline()
        allowed = 0
        for shift in itertools.cycle(SHIFTS):
            self.agent.set_wall(shift)
            asked = boot_seconds()
            is_allowed, is_suspect = self.decide()
            answered = boot_seconds()
            if is_allowed:
                allowed += 1
                # Policies count whole seconds.
                self.assertLess(asked - after, WINDOW_SECONDS + 1, f"by a shift of {shift} s")
            else:
                self.assertGreater(answered - before, WINDOW_SECONDS, f"by a shift of {shift} s")
            self.assertEqual(is_suspect, shift < -120)
            if asked - after > WINDOW_SECONDS + 2:
                break
        self.assertGreater(allowed, len(SHIFTS))
        # The window stays over, with any clock at the next start.
        for shift in (-3 * DAY, -int(time.time() - 86_400)):
            self.agent.kill()
            self.agent.set_wall(shift)
            self.agent.start()
            self.caller = self.client(self.agent)
            self.assertEqual(self.decide(), (False, True))
        # Until the provider answers again, also with a clock that stays behind.
        self.agent.set_wall(-3 * DAY)
        self.endpoints(self.idp.issuer)
        self.caller.call("connectivity.report", {"online": True})
        self.refresh()
        self.assertEqual(self.decide(), (True, False))

    def refresh(self):
        """Refreshes, after an exchange with the address that was not there has ended."""
        deadline = boot_seconds() + PATIENCE_SECONDS
        while True:
            try:
                return self.caller.call("token.refresh", {"account": "work"})
            except LanyardError as error:
                self.assertEqual(error.code, 3001)
                self.assertLess(boot_seconds(), deadline)
                time.sleep(0.2)

    def test_clock_that_jumps_ahead_gives_no_revocation_up(self):
        self.idp.fault("answer", "/revoke", status=503, json={}, count=2)
        told = self.caller.call("account.signOut", {"account": "work", "mode": "soft"})
        self.assertEqual(told["revocation"], "queued")
        # The provider that told the time is gone, so that the wall clock alone is left.
        self.caller.call("account.forget", {"account": "work"})
        self.caller.call("provider.remove", {"provider": "practice"})
        self.agent.set_wall(40 * DAY)
        self.until(lambda: self.caller.call("revocation.retry")["revocations"] == [], "the revocation")
        self.assertEqual(list(self.idp.ended().values()), ["revoked"])

    def test_clock_change_is_reported_once_to_subscribers(self):
        # Without the provider: its answer would end the suspicion.
        self.go_offline()
        with self.caller.events(types=["clock.suspect"]) as events:
            self.agent.set_wall(-3 * DAY)
            self.decide()
            self.decide()
            told = events.next(PATIENCE_SECONDS)
            self.assertEqual((told.type, told.data["clock"]), ("clock.suspect", "suspect"))
            self.assertAlmostEqual(told.data["behindSeconds"], 3 * DAY, delta=2)
            self.agent.set_wall(0)
            self.decide()
            self.assertEqual(events.next(PATIENCE_SECONDS).data["clock"], "trusted")

    def test_machine_behind_its_provider_decides_once_the_provider_told_the_time(self):
        for behind in (121, 600, 400 * DAY):
            with self.subTest(behind=behind):
                self.agent.end()
                self.agent.set_wall(-behind)
                self.agent.start()
                self.caller = self.client(self.agent)
                self.caller.call("token.refresh", {"account": "work"})
                for _ in range(3):
                    decisions = self.caller.call(
                        "authorization.checkMany", {"account": "work", "capabilities": ["deny", "shrink"]})["decisions"]
                    self.assertEqual([decision["effect"] for decision in decisions], ["allow", "allow"], decisions)
                    self.assertEqual(decisions[0]["time"]["clock"], "trusted")
                    time.sleep(0.5)
                session = self.caller.call("session.get", {"account": "work"})
                self.assertEqual(session["clock"], "trusted")
                self.assertNotIn("clockBehindSeconds", session)
                self.assertAlmostEqual(session["serverTimeOffsetMs"], behind * 1000, delta=2000)

    def test_machine_ahead_of_its_provider_is_told(self):
        self.agent.end()
        self.agent.set_wall(10 * DAY)
        self.agent.start()
        self.caller = self.client(self.agent)
        self.caller.call("token.refresh", {"account": "work"})
        (told,) = [finding for finding in self.caller.call("agent.diagnose")["findings"] if finding["check"] == "clock"]
        self.assertEqual(told["severity"], "notice")
        self.assertIn("10 days ahead of the provider practice", told["message"])

    def test_suspect_clock_is_told_with_its_distance_and_the_provider_ends_it(self):
        self.caller.call("token.refresh", {"account": "work"})
        # The denied decision has the provider tell the time, after a while here.
        self.idp.fault("none", delayMilliseconds=3000, count=1)
        self.agent.set_wall(-600)
        denied = self.caller.call("authorization.check", {"account": "work", "capability": "deny"})
        self.assertEqual((denied["reason"], denied["remedies"]), ("clockSuspect", ["connect"]))
        (failed,) = [failed for failed in denied["failed"] if failed["reason"] == "clockSuspect"]
        self.assertAlmostEqual(failed["facts"]["behindSeconds"], 600, delta=2)
        self.assertAlmostEqual(
            self.caller.call("session.get", {"account": "work"})["clockBehindSeconds"], 600, delta=2)
        findings = self.caller.call("agent.diagnose")["findings"]
        (told,) = [finding for finding in findings if finding["check"] == "clock"]
        self.assertEqual(told["severity"], "problem")
        self.assertIn("10 minutes behind", told["message"])
        # The remedy works.
        self.until(lambda: self.caller.call(
            "authorization.check",
            {"account": "work", "capability": "deny", "waitSeconds": 10})["effect"] == "allow", "the provider's time")
        self.assertEqual(self.caller.call("session.get", {"account": "work"})["clock"], "trusted")

    def test_clock_that_was_ahead_once_is_accepted_at_a_provider_that_tells_no_time(self):
        mute = self.provider()
        mute.post("options", sendsDate=False)
        add_provider(self.caller, mute, name="mute")
        for alias, person in (("home", "bob"), ("other", "alice")):
            self.caller.call(
                "signIn.import", {"provider": "mute", "refreshToken": mute.refresh_token(person), "alias": alias})
        self.agent.set_wall(40 * DAY)
        self.check("home")
        self.agent.set_wall(0)
        self.caller.call("connectivity.report", {"online": True})
        self.caller.call("token.refresh", {"account": "home"})
        for _ in range(2):
            decision = self.check("home")
            self.assertEqual((decision["effect"], decision["time"]["clock"]), ("allow", "trusted"), decision)
            session = self.caller.call("session.get", {"account": "home"})
            self.assertEqual(session["clock"], "trusted")
            end = datetime.datetime.fromisoformat(session["lastOnlineAuthAt"].replace("Z", "+00:00")).timestamp()
            self.assertLess(abs(end - time.time()), DAY)
            # The other account was not confirmed since.
            self.assertEqual(self.caller.call("session.get", {"account": "other"})["clock"], "suspect")
            self.agent.end()
            self.agent.start()
            self.caller = self.client(self.agent)
            self.caller.call("token.refresh", {"account": "home"})

    def check(self, account):
        return self.caller.call("authorization.check", {"account": account, "capability": "deny"})

    def test_key_lives_by_the_machines_clock_at_a_provider_that_tells_no_time(self):
        self.caller.call("provider.add", {
            "name": "keys", "kind": "secret", "allowedOrigins": [self.idp.issuer]})
        def end(days):
            return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() + days * DAY))
        self.caller.call("account.add", {"provider": "keys", "secret": "k1", "alias": "key", "expiresAt": end(30)})
        self.agent.set_wall(40 * DAY)
        self.caller.call("session.get", {"account": "key"})
        self.agent.set_wall(0)
        self.agent.end()
        self.agent.start()
        self.caller = self.client(self.agent)
        self.assertEqual(self.caller.call("token.get", {"account": "key"})["accessToken"], "k1")
        self.caller.call("account.replace", {"account": "key", "secret": "k2", "expiresAt": end(20)})
        self.assertEqual(self.caller.call("session.get", {"account": "key"})["clock"], "trusted")
        self.assertLess(self.caller.call("token.get", {"account": "key"})["expiresInSeconds"], 21 * DAY)

    def test_clock_set_back_revives_no_grant_and_allows_no_first_pin(self):
        secret = self.caller.call("grant.create", {
            "client": "tool", "accounts": ["work"], "methods": ["session.get"], "expiresInSeconds": 3600})["secret"]

        def is_refused():
            try:
                with Client(self.agent.socket, timeout=PATIENCE_SECONDS, grant=secret) as program:
                    program.call("session.get", {"account": "work"})
                return False
            except LanyardError as error:
                self.assertEqual(error.code, 1007)
                return True

        def enroll():
            return self.caller.call("stepUp.enroll", {"account": "work", "pin": "482913"})

        self.assertFalse(is_refused())
        self.agent.set_wall(7200)
        self.assertTrue(is_refused())
        with self.assertRaises(LanyardError) as refused:
            enroll()
        self.assertEqual(refused.exception.code, 4002)
        for _ in range(2):
            self.agent.set_wall(60)
            self.assertTrue(is_refused())
            with self.assertRaises(LanyardError) as refused:
                enroll()
            self.assertEqual(refused.exception.code, 4002)
            self.agent.end()
            self.agent.start()
            self.caller = self.client(self.agent)
        # A grant and a sign-in of now count by the clock as it is.
        secret = self.caller.call("grant.create", {
            "client": "tool", "accounts": ["work"], "methods": ["session.get"], "expiresInSeconds": 3600})["secret"]
        self.assertFalse(is_refused())
        sign_in(self.caller, "alice")
        enroll()

    def test_clock_changes_do_not_change_a_tokens_lifetime(self):
        token = self.caller.call("token.get", {"account": "work"})
        for shift in SHIFTS:
            self.agent.set_wall(shift)
            now = self.caller.call("token.get", {"account": "work"})
            self.assertEqual(now["fingerprint"], token["fingerprint"])
            self.assertLessEqual(now["expiresInSeconds"], token["expiresInSeconds"])
            self.assertGreater(now["expiresInSeconds"], token["expiresInSeconds"] - 30)


if __name__ == "__main__":
    unittest.main()
