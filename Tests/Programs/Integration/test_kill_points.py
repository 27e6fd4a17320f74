"""kill -9 at every write of a refresh, and a disk that is full or broken from any of them on.

The agent runs with a library preloaded (faultline.c) that counts what it writes. Which call is which is read off a
refresh that nothing disturbs: the intent is durable with the first synchronised write to the log of the database, the
raw answer with the second, the new grant with the third.

CI takes some of the points, by a seed that is told on failure; LANYARD_KILLS=all takes all of them.
"""

import contextlib
import time
import unittest
from typing import List

from deaths import Deaths, Faulty, Point, is_sound, kills
from agent_fixture import LanyardError, PATIENCE_SECONDS, add_provider, import_account

STORE_UNAVAILABLE = 5001
REAUTHENTICATE = 2004
RULES = {
    "strict": {"reuse": "strict"},
    "grace": {"reuse": "grace", "graceSeconds": 60},
    "none": {"reuse": "none"},
}
LOG = "lanyard.sqlite-wal"


class Writes:
    """What an undisturbed refresh writes, one call a line."""

    def __init__(self, lines: List[str]) -> None:
        self.calls = lines
        synchronised = [number for number, line in enumerate(lines, 1) if line.endswith(f"fdatasync {LOG}")]
        assert len(synchronised) == 3, lines
        # As far as a kill goes, what was written is durable; only the power can take it away again.
        self.intent_written, self.answer_written, self.grant_written = (number - 1 for number in synchronised)
        self.intent_durable = synchronised[0]

    def failures(self) -> List[Point]:
        """An anchor that can't be written stops nothing: it is a witness, and not the store."""
        return [Point(number, how) for number, line in enumerate(self.calls, 1) if "anchor" not in line
                for how in ("ENOSPC", "EIO")]

    def leaves_doubt(self, point: Point) -> bool:
        """The intent is on the disk and the answer is not: nobody knows what the provider did, nor whether the request
        left at all."""
        return self.intent_written <= point.done < self.answer_written


class KillPoints(Deaths):
    @contextlib.contextmanager
    def alice(self, rule):
        """A provider of its own, since it is asked what it saw, and an agent that alice is signed in to."""
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
            return Writes(scene.counted())

    # The provider's own word on what it was asked.

    def exchanges(self, provider):
        return provider.asked() - 1  # the first was the import's

    def unharmed(self, provider):
        self.assertEqual(provider.ended(), {})
        self.assertEqual([asked for asked in provider.refreshes() if asked.get("error")], [])

    # Kills

    def kill(self, rule, writes, point):
        with self.alice(rule) as (provider, scene, client):
            scene.arm(point)
            with self.assertRaises(Exception):
                client.call("token.refresh", {"account": "alice"})
            scene.process.wait(PATIENCE_SECONDS)
            self.assertEqual(scene.counted(), writes.calls[: point.number])
            # Nothing leaves before the intent is durable; then it leaves once.
            self.assertEqual(self.exchanges(provider), 1 if point.number > writes.intent_durable else 0)
            self.assertTrue(is_sound(scene.state))
            scene.watched = False
            scene.start()
            with scene.client(timeout=PATIENCE_SECONDS) as client:
                if rule == "strict" and writes.leaves_doubt(point):
                    self.ended_in_doubt(provider, client)
                else:
                    self.lives_on(rule, provider, client, writes, point)
                self.unharmed(provider)
            scene.kill()
            self.assertTrue(is_sound(scene.state))

    def ended_in_doubt(self, provider, client):
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
        # An answer that waits on the disk is gone on with. Without one, or when it has become a grant and its access
        # token was in memory only, one more request is what it takes.
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
                  f"{sum(writes.leaves_doubt(point) for point in points)} in doubt")

    def test_a_strict_provider_never_sees_a_token_twice_and_no_more_is_lost_than_must_be(self):
        self.kills("strict")

    def test_with_grace_nothing_is_lost_wherever_it_dies(self):
        self.kills("grace")

    def test_without_rotation_nothing_is_lost_wherever_it_dies(self):
        self.kills("none")

    # Disks

    def fail(self, writes, point):
        with self.alice("strict") as (provider, scene, client):
            cached = client.call("token.get", {"account": "alice"})
            scene.arm(point)
            error = self.refused(STORE_UNAVAILABLE, lambda: client.call("token.refresh", {"account": "alice"}))
            sent = 1 if point.number > writes.intent_durable else 0
            self.assertEqual(self.exchanges(provider), sent)
            # What is in memory is served, and nothing more is begun.
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
            # The answer that came was kept in memory, and is what is written now: no second request.
            self.assertEqual(self.exchanges(provider), 1)
            self.assertNotEqual(renewed["fingerprint"], cached["fingerprint"])

            scene.kill()
            self.assertTrue(is_sound(scene.state))
            scene.watched = False
            scene.start()
            with scene.client(timeout=PATIENCE_SECONDS) as client:
                self.assertTrue(client.call("token.refresh", {"account": "alice"})["accessToken"])
            self.unharmed(provider)

    def test_a_disk_that_fails_at_any_write_loses_nothing(self):
        writes = self.writes("strict")
        points = self.some(writes.failures(), 12)
        for point in points:
            with self.subTest(point=point, seed=self.seed):
                self.fail(writes, point)
        self.tell(f"{len(points)} failures of the disk")


if __name__ == "__main__":
    unittest.main()
