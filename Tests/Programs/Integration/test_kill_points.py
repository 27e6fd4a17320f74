"""kill -9 at every write of a refresh and of an import, and a disk that is full or broken from any of them on.

The agent runs with a preloaded library (faultline.c) that counts its writes. An undisturbed refresh shows which call is
which: a count is claimed with the first synchronised write to the database's log, the intent is durable with the second,
the raw answer with the third, the new grant with the fourth. The writes between the intent and the arrival of the
request at the provider are the mark that the request may leave.

CI takes some of the points, by a seed that a failure prints; LANYARD_KILLS=all takes all points.
"""

import contextlib
import threading
import time
import unittest
from typing import List

from deaths import Deaths, Faulty, Point, is_sound, kills
from agent_fixture import LanyardError, PATIENCE_SECONDS, add_provider, import_account

STORE_UNAVAILABLE = 5001
REAUTHENTICATE = 2004
SIGN_IN_FAILED = 2007
RULES = {
    "strict": {"reuse": "strict", "onUnknownOutcome": "reauthenticate"},
    "grace": {"reuse": "grace", "graceSeconds": 60},
    "none": {"reuse": "none"},
}
LOG = "lanyard.sqlite-wal"


class Writes:
    """The write calls of an undisturbed refresh, one a line."""

    def __init__(self, lines: List[str], before_sending: int) -> None:
        self.calls = lines
        synchronised = [number for number, line in enumerate(lines, 1) if line.endswith(f"fdatasync {LOG}")]
        log = [line for line in lines if line.endswith(LOG)]
        # A log that was emptied gets its head first.
        if log[0].endswith(f"pwrite {LOG}") and log[1].endswith(f"fdatasync {LOG}"):
            del synchronised[0]
        # The claim of a count, the intent, the answer, the grant.
        assert len(synchronised) == 4, lines
        # A kill leaves written data durable; only a power loss could take it away.
        self.intent_written, self.answer_written, self.grant_written = (number - 1 for number in synchronised[1:])
        self.intent_durable = synchronised[1]
        self.marked = before_sending
        assert self.intent_durable < self.marked < self.answer_written, (lines, before_sending)
        # The mark is not synchronised: it costs a few writes.
        assert all("pwrite" in line and line.endswith(LOG) for line in lines[self.intent_durable:self.marked]), lines
        anchors = [number for number, line in enumerate(lines, 1) if "anchor" in line]
        assert not [number for number in anchors if self.intent_written <= number < self.answer_written], lines

    def failures(self) -> List[Point]:
        """An anchor that can't be written stops nothing: it only confirms what the store says."""
        return [Point(number, how) for number, line in enumerate(self.calls, 1) if "anchor" not in line
                for how in ("ENOSPC", "EIO")]

    def leaves_outcome_unknown(self, point: Point) -> bool:
        """The mark is written and the answer is not: it is unknown whether the request left, and what it did."""
        return self.marked <= point.done < self.answer_written


class KillPoints(Deaths):
    @contextlib.contextmanager
    def alice(self, rule):
        """A separate provider, whose request log is checked, and an agent that alice is signed in to."""
        provider = self.provider("--rotation", rule)
        scene = Faulty()
        try:
            scene.start()
            with scene.client(timeout=PATIENCE_SECONDS) as client:
                add_provider(client, provider, refresh=RULES[rule])
                import_account(client, provider, "alice", alias="alice")
                yield provider, scene, client
        finally:
            scene.__exit__()
            provider.stop()

    def writes(self, rule) -> Writes:
        with self.alice(rule) as (_, scene, client):
            scene.arm(Point(0, "count"))
            client.call("token.refresh", {"account": "alice"})
            scene.disarm()
            return Writes(scene.counted(), self.writes_before_sending(rule))

    def writes_before_sending(self, rule) -> int:
        """The writes of a refresh until its request has arrived: the provider does not answer, so no others follow."""
        with self.alice(rule) as (provider, scene, client):
            provider.fault("hangBeforeProcessing")
            scene.arm(Point(0, "count"))
            caller = threading.Thread(target=self.ask_until_the_end, args=(client,))
            caller.start()
            self.until(lambda: self.exchanges(provider), "the request's arrival")
            writes = len(scene.counted())
            scene.kill()
            caller.join()
            return writes

    def ask_until_the_end(self, client):
        with contextlib.suppress(LanyardError, OSError):
            client.call("token.refresh", {"account": "alice"})

    # The provider's own request log.

    def exchanges(self, provider):
        return provider.asked() - 1  # the first was the import's

    def unharmed(self, provider, ends=()):
        """No spent token was sent, and no grant ended for a reason other than those in `ends`."""
        self.assertEqual(sorted(set(provider.ended().values()) - set(ends)), [])
        self.assertEqual([asked for asked in provider.refreshes() if asked.get("error")], [])

    # Kills

    def kill(self, rule, writes, point):
        with self.alice(rule) as (provider, scene, client):
            scene.arm(point)
            with self.assertRaises(Exception):
                client.call("token.refresh", {"account": "alice"})
            scene.process.wait(PATIENCE_SECONDS)
            self.assertEqual(scene.counted(), writes.calls[: point.number])
            # No request leaves before the mark is written; then one does.
            self.assertEqual(self.exchanges(provider), 1 if point.number > writes.marked else 0)
            self.assertTrue(is_sound(scene.state))
            scene.watched = False
            scene.start()
            with scene.client(timeout=PATIENCE_SECONDS) as client:
                if rule == "strict" and writes.leaves_outcome_unknown(point):
                    self.ended_with_unknown_outcome(provider, client)
                    # The sign-in after it revokes the token of the replaced grant.
                    self.unharmed(provider, ends=("revoked",))
                else:
                    self.lives_on(rule, provider, client, writes, point)
                    self.unharmed(provider)
            scene.kill()
            self.assertTrue(is_sound(scene.state))

    def ended_with_unknown_outcome(self, provider, client):
        before = provider.asked()
        for _ in range(3):
            error = self.refused(REAUTHENTICATE, lambda: client.call("token.get", {"account": "alice"}))
            self.assertEqual(error.reason, "outcomeUnknown")
        session = client.call("session.get", {"account": "alice"})
        self.assertEqual((session["state"], session["freshness"]), ("reauthenticationRequired", "none"))
        self.assertEqual(provider.asked(), before)
        import_account(client, provider, "alice")
        self.assertTrue(client.call("token.get", {"account": "alice"})["accessToken"])

    def lives_on(self, rule, provider, client, writes, point):
        before = provider.asked()
        self.assertTrue(client.call("token.get", {"account": "alice"})["accessToken"])
        # An answer stored on the disk is resumed. Without one, or when it has become a grant and its access token was
        # in memory
        # only, one more request is needed.
        waits = writes.answer_written <= point.done < writes.grant_written
        self.assertEqual(provider.asked() - before, 0 if waits else 1)
        self.assertTrue(client.call("token.refresh", {"account": "alice"})["accessToken"])

    def kills(self, rule):
        writes = self.writes(rule)
        points = self.some(kills(writes.calls))
        for point in points:
            with self.subTest(rule=rule, point=point, seed=self.seed):
                self.kill(rule, writes, point)
        self.tell(f"{rule}: {len(writes.calls)} writes, {len(points)} kills, "
                  f"{sum(writes.leaves_outcome_unknown(point) for point in points)} in doubt")

    def test_kill_at_any_write_sends_no_token_twice_to_a_strict_provider(self):
        self.kills("strict")

    def test_kill_at_any_write_loses_nothing_at_a_provider_with_grace(self):
        self.kills("grace")

    def test_kill_at_any_write_loses_nothing_without_rotation(self):
        self.kills("none")

    # Disks

    def refuse(self, writes, point):
        with self.alice("strict") as (provider, scene, client):
            cached = client.call("token.get", {"account": "alice"})
            scene.arm(point)
            error = self.refused(STORE_UNAVAILABLE, lambda: client.call("token.refresh", {"account": "alice"}))
            sent = 1 if point.number > writes.marked else 0
            self.assertEqual(self.exchanges(provider), sent)
            # Cached tokens are served, and no exchange begins.
            again = client.call("token.get", {"account": "alice"})
            self.assertEqual(again["fingerprint"], cached["fingerprint"])
            self.assertEqual(self.exchanges(provider), sent)

            scene.disarm()
            deadline = time.monotonic() + (error.retry_after_ms or 0) / 1000 + PATIENCE_SECONDS
            while True:
                try:
                    renewed = client.call("token.refresh", {"account": "alice"})
                    break
                except LanyardError as error:
                    self.assertEqual(error.code, STORE_UNAVAILABLE)
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.02)
            # The answer was kept in memory, and is stored now: no second request.
            self.assertEqual(self.exchanges(provider), 1)
            self.assertNotEqual(renewed["fingerprint"], cached["fingerprint"])

            scene.kill()
            self.assertTrue(is_sound(scene.state))
            scene.watched = False
            scene.start()
            with scene.client(timeout=PATIENCE_SECONDS) as client:
                self.assertTrue(client.call("token.refresh", {"account": "alice"})["accessToken"])
            self.unharmed(provider)

    def test_disk_failing_at_any_write_loses_nothing(self):
        writes = self.writes("strict")
        points = self.some(writes.failures())
        for point in points:
            with self.subTest(point=point, seed=self.seed):
                self.refuse(writes, point)
        self.tell(f"{len(points)} failures of the disk")


class KilledImports(Deaths):
    """The synchronised commits of an import are the request before it leaves, the raw answer, and then the account."""

    @contextlib.contextmanager
    def alice(self):
        """A strict provider, an agent that alice is signed in to, and a token of bob's to import."""
        provider = self.provider("--rotation", "strict")
        scene = Faulty()
        try:
            scene.start()
            with scene.client(timeout=PATIENCE_SECONDS) as client:
                add_provider(client, provider, refresh=RULES["strict"])
                # The first account's commit is one of its own kind: it is checkpointed at once.
                import_account(client, provider, "alice", alias="alice")
                question = {"provider": "practice", "refreshToken": provider.refresh_token("bob"), "alias": "bob"}
                yield provider, scene, client, question
        finally:
            scene.__exit__()
            provider.stop()

    def calls(self) -> List[str]:
        with self.alice() as (_, scene, client, question):
            scene.arm(Point(0, "count"))
            client.call("signIn.import", question)
            scene.disarm()
            return scene.counted()

    def bob(self, client):
        return [account for account in client.call("account.list")["accounts"] if account.get("alias") == "bob"]

    def kill(self, calls, answer_written, point):
        with self.alice() as (provider, scene, client, question):
            asked = provider.asked()
            scene.arm(point)
            with self.assertRaises(Exception):
                client.call("signIn.import", question)
            scene.process.wait(PATIENCE_SECONDS)
            self.assertTrue(is_sound(scene.state))
            sent = provider.asked() - asked
            scene.watched = False
            scene.start()
            with scene.client(timeout=PATIENCE_SECONDS) as client:
                if point.done >= answer_written:
                    # What the provider issued last lives on, and nothing is sent for it.
                    self.assertEqual(sent, 1)
                    self.until(lambda: self.bob(client), "the account")
                    self.assertEqual(provider.asked() - asked, 1)
                    self.lives(client)
                elif sent:
                    # The answer is lost: the token is not sent again, so that no reuse is seen.
                    self.refused(SIGN_IN_FAILED, lambda: client.call("signIn.import", question))
                    self.assertEqual(self.bob(client), [])
                    self.assertEqual(provider.asked() - asked, 1)
                else:
                    self.begins_again(provider, client, question)
            self.assertEqual(sorted(set(provider.ended().values())), [])
            self.assertEqual([asked for asked in provider.refreshes() if asked.get("error")], [])
            scene.kill()
            self.assertTrue(is_sound(scene.state))
            return bool(sent)

    def begins_again(self, provider, client, question):
        """Nothing was sent. After the mark the agent can't know that, and asks for another token."""
        try:
            client.call("signIn.import", question)
        except LanyardError as error:
            self.assertEqual(error.code, SIGN_IN_FAILED)
            import_account(client, provider, "bob", alias="bob")
        self.lives(client)

    def lives(self, client):
        self.assertTrue(client.call("token.get", {"account": "bob"})["accessToken"])
        self.assertTrue(client.call("token.refresh", {"account": "bob"})["accessToken"])

    def test_kill_at_any_write_of_an_import_loses_no_stored_answer(self):
        calls = self.calls()
        synchronised = [number for number, line in enumerate(calls, 1) if line.endswith(f"fdatasync {LOG}")]
        log = [line for line in calls if line.endswith(LOG)]
        if log[0].endswith(f"pwrite {LOG}") and log[1].endswith(f"fdatasync {LOG}"):
            del synchronised[0]  # a log that was emptied gets its head first
        self.assertGreaterEqual(len(synchronised), 3, calls)
        # A kill leaves written data durable; only a power loss could take it away.
        answer_written = synchronised[1] - 1
        points = self.some(kills(calls))
        sent = 0
        for point in points:
            with self.subTest(point=point, seed=self.seed):
                sent += self.kill(calls, answer_written, point)
        self.tell(f"import: {len(calls)} writes, {len(points)} kills, {sent} after the sending")

    def test_kill_while_userinfo_is_silent_leaves_the_account(self):
        with self.alice() as (provider, scene, client, question):
            asked = provider.asked()
            questions = provider.asked("/userinfo")
            provider.fault("changeAnswer", json={"id_token": None})
            provider.fault("hangBeforeProcessing", "/userinfo")
            caller = threading.Thread(target=self.ask_until_the_end, args=(client, question))
            caller.start()
            self.until(lambda: provider.asked("/userinfo") > questions, "the question to userinfo")
            scene.kill()
            caller.join()
            provider.clear_faults()
            scene.watched = False
            scene.start()
            with scene.client(timeout=PATIENCE_SECONDS) as client:
                [account] = self.until(lambda: self.bob(client), "the account")
                self.assertEqual(provider.asked() - asked, 1)
                # The same import answers the account, and sends nothing.
                self.assertEqual(client.call("signIn.import", question)["account"], account["id"])
                self.assertEqual(provider.asked() - asked, 1)
                self.assertEqual(client.call("revocation.list")["revocations"], [])
                self.lives(client)
            self.assertEqual(provider.ended(), {})

    def ask_until_the_end(self, client, question):
        with contextlib.suppress(LanyardError, OSError):
            client.call("signIn.import", question)


if __name__ == "__main__":
    unittest.main()
