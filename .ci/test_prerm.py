#!/usr/bin/env python3
"""What `lanyard.prerm` ends and removes, below a directory that stands for the root: nothing of this machine is touched."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PRERM = os.path.join(ROOT, ".packaging", "debian", "lanyard.prerm")
# Another person than root.
NOBODY = 65534


class Prerm(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.place)
        os.chmod(self.place, 0o755)
        with open(PRERM, encoding="utf-8") as file:
            self.functions = file.read().split("# No agent may run on")[0]
        directories = ("/usr/", "/run/user/", "/tmp/")
        self.functions = re.sub("|".join(directories), lambda found: self.place + found[0], self.functions)
        for directory in directories:
            os.makedirs(self.place + directory)

    def does(self, function):
        return subprocess.run(["sh", "-c", f"{self.functions}\n{function}"], capture_output=True, text=True, check=True).stdout

    def start(self, path, *words, called="program"):
        """Starts a program of this name that waits, and returns its process id. `called` is what its command line begins with."""
        program = f"{self.place}/usr/{path}"
        os.makedirs(os.path.dirname(program), exist_ok=True)
        if not os.path.exists(program):
            shutil.copy(os.path.realpath("/bin/sh"), program)
        process = subprocess.Popen(
            [called, "-c", "echo up; read line", "program", *words], executable=program, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.assertEqual(process.stdout.readline(), "up\n")
        return process.pid

    def test_what_serves_is_found_also_after_an_upgrade_and_what_a_person_waits_for_is_not(self):
        serving = {
            self.start("bin/lanyard-agent"), self.start("bin/lanyard-demo"), self.start("libexec/lanyard/lanyard-web"),
            self.start("libexec/lanyard/lanyard-proxy", "--grant", "ci"), self.start("libexec/lanyard/lanyard-export"),
            self.start("libexec/lanyard/lanyard-cli", called="lanyard metrics --listen /run/figures"),
        }
        self.start("libexec/lanyard/lanyard-cli", called="lanyard metrics")
        self.start("libexec/lanyard/lanyard-cli", called="lanyard exec -- exporter metrics --listen /run/figures")
        self.start("bin/lanyard", "exec")
        self.start("libexec/lanyard/lanyard-cli", "exec")
        self.start("libexec/lanyard/lanyard-proxy", "--parent", "3")
        self.start("bin/lanyard-elsewhere")
        os.unlink(f"{self.place}/usr/bin/lanyard-agent")
        self.assertEqual({int(word) for word in self.does("serving").split()}, serving)

    @unittest.skipUnless(os.geteuid() == 0, "NOT TESTED: files of another person need root")
    def test_locks_and_empty_directories_go_and_nothing_behind_a_link(self):
        own = [f"/run/user/{NOBODY}/lanyard", f"/run/user/{NOBODY}/lanyard-proxy", f"/tmp/lanyard-{NOBODY}"]
        kept = [f"/tmp/lanyard-{NOBODY}-exec", f"/tmp/lanyard-{NOBODY + 1}", "/tmp/elsewhere"]
        for directory in own + kept:
            os.makedirs(self.place + directory)
            os.chown(self.place + directory, NOBODY, NOBODY)
        os.chown(f"{self.place}/run/user/{NOBODY}", NOBODY, NOBODY)
        os.chmod(f"{self.place}/tmp", 0o1777)
        for path in (f"{own[0]}/start.lock", f"{own[2]}/start.lock", f"{kept[0]}/token"):
            with open(self.place + path, "w", encoding="utf-8"):
                os.chown(self.place + path, NOBODY, NOBODY)
        # root's, behind a link of a person.
        os.mkdir(f"{self.place}/root", 0o700)
        with open(f"{self.place}/root/start.lock", "w", encoding="utf-8"):
            pass
        link = f"{self.place}/tmp/lanyard-{NOBODY}-link"
        os.symlink("../root", link)
        os.lchown(link, NOBODY, NOBODY)
        self.does("remove_directories")
        self.assertEqual([path for path in own if os.path.exists(self.place + path)], [])
        self.assertEqual([path for path in kept if not os.path.exists(self.place + path)], [])
        self.assertTrue(os.path.exists(f"{self.place}/root/start.lock"))


if __name__ == "__main__":
    unittest.main()
