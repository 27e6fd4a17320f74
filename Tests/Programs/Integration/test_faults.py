"""Each call on the store that can fail is failed, once and for good, for each reason that a disk gives.

Opening, reading, locking, mapping, writing, truncating, syncing and deleting are counted in an undisturbed run
(faultline.c), and then fail one after another: at a start, and during work. Afterwards everything acknowledged is
there, unreachable data is not called damaged, no account is signed out, and the store is sound.

CI takes some of the points, by a seed that a failure prints; LANYARD_KILLS=all takes all points.
"""

import contextlib
import os
import resource
import signal
import subprocess
import time
import unittest
from typing import List

from deaths import Deaths, Faulty, Point, is_sound
from agent_fixture import LanyardError, PATIENCE_SECONDS, Scene, accepts, add_provider, import_account
from test_disk import SmallDisk

STORE_UNAVAILABLE = 5001
CANNOT_CREATE, STORE_FAILED, ALREADY_RUNNING, VAULT_CLOSED = 73, 74, 75, 76
REASONS = {
    "open": ("EIO", "ENOSPC", "EROFS", "EACCES"), "read": ("EIO",), "pread": ("EIO",), "lock": ("EIO", "EACCES"),
    "map": ("EIO", "EACCES"),
}
WRITING = ("EIO", "ENOSPC", "EROFS")


def failures(calls: List[str]) -> List[Point]:
    return [
        Point(number, once + reason)
        for number, line in enumerate(calls, 1)
        for reason in REASONS.get(line.split(" ")[0], WRITING)
        # For a lock that fails, for any reason, SQLite retries for ten seconds at each call (wal.c).
        for once in (("once",) if line.startswith("lock") else ("", "once"))
    ]


class Faults(Deaths):
    @contextlib.contextmanager
    def alice(self):
        """Signed in, with stored data; the agent is down, and its calls are counted after the next start."""
        provider = self.provider("--rotation", "strict")
        scene = Faulty(all_calls=True)
        try:
            scene.start()
            with scene.client(timeout=PATIENCE_SECONDS) as client:
                add_provider(client, provider, refresh={"reuse": "none"})
                import_account(client, provider, "alice", alias="alice")
                self.put(client, "before")
            scene.end()
            yield provider, scene
        finally:
            scene.__exit__()
            provider.stop()

    def put(self, client, value):
        client.call("secret.put", {"account": "alice", "name": "draft", "value": value})

    def kept(self, client):
        return client.call("secret.get", {"account": "alice", "name": "draft"})["value"]

    def sound_after(self, provider, scene, acknowledged):
        """Without faults, after a kill: everything answered is there."""
        if scene.process.poll() is None:
            scene.kill()
        self.assertTrue(is_sound(scene.state))
        scene.watched = False
        scene.start()
        with scene.client(timeout=PATIENCE_SECONDS) as client:
            self.assertIn(self.kept(client), acknowledged)
            self.assertTrue(client.call("token.refresh", {"account": "alice"})["accessToken"])
            self.assertTrue(client.call("audit.verify")["intact"])
        self.assertEqual(provider.ended(), {})
        self.assertEqual([asked for asked in provider.refreshes() if asked.get("error")], [])
        scene.kill()
        self.assertTrue(is_sound(scene.state))

    # At a start

    def starts(self, point):
        with self.alice() as (provider, scene):
            with contextlib.suppress(FileNotFoundError):
                os.remove(scene.count)
            scene.arm(point)
            scene.start(wait=False)
            self.until(lambda: scene.process.poll() is not None or accepts(scene.socket), "a start or an end")
            calls = scene.counted() if os.path.exists(scene.count) else []
            if scene.process.poll() is not None:
                # A lock that fails with EACCES is one that another process holds (fcntl(2)).
                self.assertIn(
                    scene.process.returncode, (CANNOT_CREATE, STORE_FAILED, ALREADY_RUNNING, VAULT_CLOSED),
                    scene.log()[-300:])
                self.assertRegex(scene.log().strip().splitlines()[-1], r"^lanyard-agent: .+\.$")
            else:
                with scene.client(timeout=PATIENCE_SECONDS) as client:
                    try:
                        self.assertEqual(self.kept(client), "before")
                    except LanyardError as error:
                        self.assertEqual(error.code, STORE_UNAVAILABLE, error)
            scene.disarm()
            self.sound_after(provider, scene, ("before",))
            return calls

    def test_start_with_any_failing_call_loses_nothing(self):
        calls = self.starts(Point(0, "count"))
        self.assertLess({"open", "pread", "lock", "map", "pwrite"}, {line.split(" ")[0] for line in calls})
        points = self.some(failures(calls))
        for point in points:
            with self.subTest(point=point, call=calls[point.number - 1], seed=self.seed):
                self.starts(point)
        self.tell(f"a start: {len(calls)} calls, {len(points)} failures")

    # During work

    def works(self, point):
        with self.alice() as (provider, scene):
            with contextlib.suppress(FileNotFoundError):
                os.remove(scene.count)
            scene.start()
            acknowledged = {"before"}
            with scene.client(timeout=PATIENCE_SECONDS) as client:
                cached = client.call("token.get", {"account": "alice"})
                scene.arm(point)
                for number in range(3):
                    value = f"draft {number}"
                    for name, call in (
                        ("put", lambda: self.put(client, value)), ("kept", lambda: self.kept(client)),
                        ("refresh", lambda: client.call("token.refresh", {"account": "alice"})),
                        ("erase", lambda: client.call("secret.remove", {"account": "alice", "name": f"none {number}"})),
                    ):
                        try:
                            answer = call()
                        except LanyardError as error:
                            if name == "erase" and error.code != STORE_UNAVAILABLE:
                                continue
                            self.assertEqual(error.code, STORE_UNAVAILABLE, f"{name}: {error}")
                            # The write may or may not have landed.
                            if name == "put":
                                acknowledged.add(value)
                            continue
                        if name == "put":
                            acknowledged = {value}
                        elif name == "kept":
                            self.assertIn(answer, acknowledged)
                            acknowledged = {answer}
                    # Cached tokens are served, no matter which call fails.
                    self.assertTrue(client.call("token.get", {"account": "alice"})["accessToken"])
                calls = scene.counted()
                scene.disarm()
                self.until(lambda: self.recovered(client), "the store works again")
                self.put(client, "after")
                self.assertNotEqual(
                    client.call("token.get", {"account": "alice"})["fingerprint"], cached["fingerprint"])
            self.sound_after(provider, scene, ("after",))
            return calls

    def recovered(self, client):
        try:
            return client.call("token.refresh", {"account": "alice"})["accessToken"]
        except LanyardError as error:
            self.assertEqual(error.code, STORE_UNAVAILABLE, error)

    def test_work_with_any_failing_call_loses_nothing(self):
        calls = self.works(Point(0, "count"))
        self.assertLess({"pwrite", "fdatasync"}, {line.split(" ")[0] for line in calls})
        points = self.some(failures(calls))
        for point in points:
            with self.subTest(point=point, call=calls[point.number - 1], seed=self.seed):
                self.works(point)
        self.tell(f"work: {len(calls)} calls, {len(points)} failures")

    # Limits and mounts

    def test_file_size_limit_does_not_kill_the_agent(self):
        """RLIMIT_FSIZE sends a signal (setrlimit(2)), which must not end the agent."""
        for limit in (0, 4 << 10, 64 << 10, 200 << 10):
            with self.subTest(limit=limit), self.alice() as (provider, scene):
                scene.watched = False
                with open(os.path.join(scene.directory, "agent.log"), "rb+") as log:
                    log.truncate(0)
                scene.process = subprocess.Popen(
                    scene.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                    env=scene.environment,
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
                self.until(
                    lambda: scene.process.poll() is not None or accepts(scene.socket), "a start or an end")
                acknowledged = {"before"}
                if scene.process.poll() is not None:
                    self.assertIn(scene.process.returncode, (CANNOT_CREATE, STORE_FAILED))
                else:
                    with scene.client(timeout=PATIENCE_SECONDS) as client:
                        for number in range(20):
                            value = f"{number} " + "x" * 20_000
                            try:
                                self.put(client, value)
                                acknowledged = {value}
                            except LanyardError as error:
                                self.assertEqual(error.code, STORE_UNAVAILABLE, error)
                                acknowledged.add(value)
                        with contextlib.suppress(LanyardError):
                            client.call("token.refresh", {"account": "alice"})
                        self.assertFalse(client.call("agent.status")["locked"])
                    self.assertIsNone(scene.process.poll(), "it died of the limit")
                self.sound_after(provider, scene, acknowledged)

    @unittest.skipUnless(os.geteuid() == 0, "NOT TESTED: only root can mount")
    def test_read_only_file_system_keeps_cached_tokens_available(self):
        provider = self.provider()
        scene = Scene()
        self.addCleanup(scene.__exit__)
        os.mkdir(scene.state, 0o700)
        disk = SmallDisk(scene.state)
        self.addCleanup(disk.unmount)
        scene.start()
        with scene.client(timeout=PATIENCE_SECONDS) as client:
            add_provider(client, provider)
            import_account(client, provider, "alice", alias="alice")
            self.put(client, "before")
        scene.end()
        subprocess.run(["mount", "-o", "remount,ro", scene.state], check=True)
        ended = scene.run()
        self.assertIn(ended.returncode, (CANNOT_CREATE, STORE_FAILED), ended.stderr)
        subprocess.run(["mount", "-o", "remount,rw", scene.state], check=True)
        scene.start()
        with scene.client(timeout=PATIENCE_SECONDS) as client:
            self.assertEqual(self.kept(client), "before")
        scene.end()


if __name__ == "__main__":
    unittest.main()
