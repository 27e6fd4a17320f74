"""The demo removes its processes and files, also if it is interrupted."""

import os
import random
import signal
import subprocess
import tempfile
import time
import unittest

from agent_fixture import DEMO, PATIENCE_SECONDS, AgentFixture

SECONDS = 60


class Demo(AgentFixture):
    def setUp(self):
        self.place = self.directory()
        self.environment = {**os.environ, "TMPDIR": self.place, "LC_ALL": "C.UTF-8"}

    def start(self, *words):
        demo = subprocess.Popen(
            [DEMO, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=self.environment, text=True, start_new_session=True)
        self.addCleanup(demo.stdout.close)
        self.addCleanup(demo.stderr.close)
        self.addCleanup(demo.kill)
        return demo

    def processes(self):
        """Processes with the test's directory in their environment or arguments."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            for name in ("cmdline", "environ"):
                try:
                    with open(f"/proc/{pid}/{name}", "rb") as file:
                        if self.place.encode() in file.read():
                            found.append(int(pid))
                except OSError:
                    pass
        return found

    def assertNothingLeft(self):
        self.assertEqual(os.listdir(self.place), [])
        self.until(lambda: not self.processes(), "the end of every process of the demo")

    def test_demo_completes_and_shows_no_token(self):
        demo = self.start()
        told, complained = demo.communicate(timeout=SECONDS)
        self.assertEqual((demo.returncode, complained), (0, ""), told)
        self.assertIn("Everything worked as described", told)
        self.assertNotRegex(told, r"[A-Za-z0-9._-]{80,}")
        self.assertNotIn("\x1b", told)
        self.assertNothingLeft()

    def test_demo_interrupted_at_any_moment_leaves_nothing(self):
        seed = time.time_ns() % 1_000_000
        moments = random.Random(seed)
        for how in (signal.SIGINT, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGINT):
            with self.subTest(seed=seed, signal=how.name):
                demo = self.start("run")
                demo.stdout.readline()
                time.sleep(moments.random() * 3)
                # The signal goes to the whole foreground group, as from a terminal.
                os.killpg(demo.pid, how)
                demo.communicate(timeout=PATIENCE_SECONDS)
                self.assertEqual(demo.returncode, 128 + how)
                self.assertNothingLeft()

    def test_demo_with_wrong_arguments_exits_with_usage(self):
        for words in (["run", "--fast"], ["nonsense"]):
            demo = self.start(*words)
            demo.communicate(timeout=PATIENCE_SECONDS)
            self.assertEqual(demo.returncode, 64)
        self.assertNothingLeft()


if __name__ == "__main__":
    unittest.main()
