"""The demo removes its processes and files, also if it is interrupted."""

import glob
import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from agent_fixture import DEMO, PATIENCE_SECONDS, ROOT, AgentFixture

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
        # What the demo explains and has checked; commands and listings stand as they are typed.
        told_by_the_demo = [line for line in told.splitlines() if re.match(r"   (?:\S|  \S)", line) and not re.match(r"   [$│]", line)]
        self.assertEqual([line for line in told_by_the_demo if len(line) > 80 and "  " not in line.strip()], [])
        self.assertNothingLeft()

    def test_a_word_that_is_not_known_is_a_mistake_in_the_command(self):
        for words in (["--bogus\x1b[31m"], ["run", "--bogus\x1b[31m"], ["provider", "--bogus\x1b[31m"]):
            with self.subTest(words):
                demo = self.start(*words)
                told, complained = demo.communicate(timeout=SECONDS)
                self.assertEqual((demo.returncode, told), (2, ""))
                self.assertTrue(complained.startswith("lanyard: "), complained)
                self.assertIn("--bogus\\u{1B}[31m", complained)
                self.assertNotIn("\x1b", complained)
        demo = self.start("--json")
        error = json.loads(demo.communicate(timeout=SECONDS)[1])["error"]
        self.assertEqual((demo.returncode, error["name"], error["exit"]), (2, "usage", 2))

    def test_lines_that_are_lost_are_told(self):
        with open("/dev/full", "w") as full:
            for words in (["--help"], ["provider"]):
                done = subprocess.run(
                    [DEMO, *words], stdout=full, stderr=subprocess.PIPE, env=self.environment, text=True, timeout=SECONDS)
                self.assertEqual(done.returncode, 1)
                self.assertIn("The answer could not be written: No space left on device", done.stderr)

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

    def test_demo_takes_its_anchors_out_of_the_keyring(self):
        demo, _ = self.begun()
        (anchors,) = glob.glob(f"{self.place}/lanyard-demo-*/home/.config/lanyard/anchors")
        keys = {f"lanyard:{name.replace('.', ':')}" for name in os.listdir(anchors)}
        if not keys & self.keys():
            self.skipTest("NOT TESTED: no keyring of the user here, or it is full")
        demo.terminate()
        demo.communicate(timeout=PATIENCE_SECONDS)
        # The kernel collects what is unlinked a little later.
        self.until(lambda: not keys & self.keys(), "the end of the demo's keys")

    def keys(self):
        """The names of this user's keys in the kernel's keyring."""
        with open("/proc/keys") as file:
            return {line.split()[8].rstrip(":") for line in file if " user " in line}

    def begun(self):
        """A demo that has come to its fifth part, and what it told."""
        demo = self.start()
        told = []
        for line in demo.stdout:
            told.append(line)
            if line.startswith("5. "):
                break
        return demo, "".join(told)

    def beginning(self):
        """What the demo tells up to the fifth part. It is ended there."""
        demo, told = self.begun()
        demo.terminate()
        demo.communicate(timeout=PATIENCE_SECONDS)
        return told

    def test_demo_without_python_says_what_is_missing(self):
        tools = os.path.join(self.place, "tools")
        os.mkdir(tools)
        for tool in ("cat", "ls", "seq", "sh", "sort", "uniq"):
            os.symlink(shutil.which(tool), os.path.join(tools, tool))
        self.environment["PATH"] = tools
        told = self.beginning()
        self.assertIn("There is no python3 in PATH; Debian's package is python3.", " ".join(told.split()))
        self.assertIn("The provider got one exchange, for home.", " ".join(told.split()))

    def test_demo_with_a_python_that_can_not_import_the_client_says_so(self):
        tools = os.path.join(self.place, "tools")
        os.mkdir(tools)
        with open(os.path.join(tools, "python3"), "w") as program:
            program.write("#!/bin/sh\necho 'ImportError: too old' >&2\nexit 1\n")
        os.chmod(os.path.join(tools, "python3"), 0o755)
        self.environment["PATH"] = f"{tools}:{self.environment['PATH']}"
        told = self.beginning()
        self.assertIn("can't import the client: ImportError: too old.", " ".join(told.split()))
        self.assertIn("The provider got one exchange, for home.", " ".join(told.split()))

    @unittest.skipUnless(os.geteuid() == 0, "mounts a folder read-only, which takes root")
    def test_make_demo_in_a_folder_that_can_not_be_written_runs_what_is_built(self):
        folder = os.path.join(self.place, "lanyard")
        os.makedirs(os.path.join(folder, ".build", "demo", "debug"))
        shutil.copy(os.path.join(ROOT, "Makefile"), folder)
        command = f"mount --bind {folder} {folder} && mount -o remount,bind,ro {folder} && make -C {folder} demo"

        def make():
            return subprocess.run(
                ["unshare", "--mount", "sh", "-c", command], cwd="/", capture_output=True, text=True,
                env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})

        done = make()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"{folder} can not be written, so nothing can be built there.", done.stderr)
        program = os.path.join(folder, ".build", "demo", "debug", "lanyard-demo")
        with open(program, "w") as file:
            file.write("#!/bin/sh\necho shown\n")
        os.chmod(program, 0o755)
        done = make()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("shown\n", done.stdout)
        self.assertIn("runs as it was built before", done.stderr)

    def test_demo_with_wrong_arguments_exits_with_usage(self):
        for words in (["run", "--fast"], ["nonsense"]):
            demo = self.start(*words)
            demo.communicate(timeout=PATIENCE_SECONDS)
            self.assertEqual(demo.returncode, 2)
        self.assertNothingLeft()


if __name__ == "__main__":
    unittest.main()
