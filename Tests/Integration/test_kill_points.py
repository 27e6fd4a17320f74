"""kill -9 at every write of a refresh, and a disk that is full or broken from any of them on.

The agent runs with a library preloaded (faultline.c) that counts what it writes. Which call is which is read off a
refresh that nothing disturbs: the intent is durable with the first synchronised write to the log of the database, the
raw answer with the second, the new grant with the third.

CI takes some of the points, by a seed that is told on failure; LANYARD_KILLS=all takes all of them.
"""

import contextlib
import os
import random
import shutil
import sqlite3
import subprocess
import tempfile
import time
import unittest
from typing import List, NamedTuple

from house import House, LanyardError, PATIENCE_SECONDS, Scene, add_provider, import_account

ALL = os.environ.get("LANYARD_KILLS") == "all"
SAMPLE = 30
STORE_UNAVAILABLE = 5001
REAUTHENTICATE = 2004
RULES = {
    "strict": {"reuse": "strict"},
    "grace": {"reuse": "grace", "graceSeconds": 60},
    "none": {"reuse": "none"},
}
LOG = "lanyard.sqlite-wal"


class Point(NamedTuple):
    """Something that happens at the nth call that writes."""

    number: int
    how: str

    @property
    def done(self) -> int:
        """The calls that came to their end before it."""
        return self.number if self.how == "after" else self.number - 1


class Writes:
    """What an undisturbed refresh writes, one call a line."""

    def __init__(self, lines: List[str]) -> None:
        self.calls = lines
        synchronised = [number for number, line in enumerate(lines, 1) if line.endswith(f"fdatasync {LOG}")]
        assert len(synchronised) == 3, lines
        # As far as a kill goes, what was written is durable; only the power can take it away again.
        self.intent_written, self.answer_written, self.grant_written = (number - 1 for number in synchronised)
        self.intent_durable = synchronised[0]

    def kills(self) -> List[Point]:
        return [
            Point(number, how)
            for number, line in enumerate(self.calls, 1)
            for how in (("before", "torn", "after") if "write" in line else ("before", "after"))
        ]

    def failures(self) -> List[Point]:
        return [Point(number, how) for number in range(1, len(self.calls) + 1) for how in ("ENOSPC", "EIO")]

    def leaves_doubt(self, point: Point) -> bool:
        """The intent is on the disk and the answer is not: nobody knows what the provider did, nor whether the request
        left at all."""
        return self.intent_written <= point.done < self.answer_written


class Faulty(Scene):
    """An agent whose writes are counted, as long as it is `watched`."""

    library = ""

    def __init__(self) -> None:
        super().__init__()
        self.watched = True
        self.plan = os.path.join(self.directory, "plan")
        self.count = os.path.join(self.directory, "count")

    @property
    def environment(self):
        environment = super().environment
        if not self.watched:
            return environment
        return {
            **environment,
            "LD_PRELOAD": self.library,
            "LANYARD_FAULT_UNDER": f"{self.state}:{os.path.join(self.directory, 'home')}",
            "LANYARD_FAULT_PLAN": self.plan,
            "LANYARD_FAULT_COUNT": self.count,
        }

    def arm(self, point: Point) -> None:
        with open(self.plan + ".new", "w") as plan:
            plan.write(f"{point.number} {point.how}")
        os.rename(self.plan + ".new", self.plan)

    def disarm(self) -> None:
        os.remove(self.plan)

    def counted(self) -> List[str]:
        with open(self.count) as count:
            return [line.split(" ", 1)[1] for line in count.read().splitlines()]


def is_sound(state: str) -> bool:
    """What the store says of itself, asked of a copy: looking must not mend it."""
    with tempfile.TemporaryDirectory() as copy:
        for name in os.listdir(state):
            if name.startswith("lanyard.sqlite"):
                shutil.copy(os.path.join(state, name), copy)
        with contextlib.closing(sqlite3.connect(os.path.join(copy, "lanyard.sqlite"))) as store:
            return store.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


class KillPoints(House):
    @classmethod
    def setUpClass(cls):
        cls.libraries = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.libraries.cleanup)
        Faulty.library = os.path.join(cls.libraries.name, "faultline.so")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "faultline.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-o", Faulty.library, source, "-ldl"], check=True)

    def setUp(self):
        self.seed = int(os.environ.get("LANYARD_SEED", time.time_ns() % 1_000_000))
        self.chance = random.Random(self.seed)

    def some(self, points: List[Point], number: int = SAMPLE) -> List[Point]:
        return points if ALL or len(points) <= number else sorted(self.chance.sample(points, number))

    def tell(self, figures: str) -> None:
        if ALL:
            print(f"\n{figures}", end=" ", flush=True)

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
        points = self.some(writes.kills())
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
