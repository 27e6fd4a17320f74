"""`lanyard service`: units of an installation that brought none to systemd. The manager of a real session is in
Tests/Programs/Installed; here a script takes its place and writes down what it is asked."""

import json
import os
import shutil
import unittest

from person import BINARIES, Person

ROOT = os.path.join(os.path.dirname(__file__), "..", "..", "..")
REMOVAL = ["lanyard-removed.path", "lanyard-removed.service"]
UNITS = [*REMOVAL, "lanyard.service", "lanyard.socket"]


class ServiceTests(Person):
    def setUp(self):
        super().setUp()
        self.prefix = os.path.join(self.home, "installed")
        self.bin = os.path.join(self.prefix, "bin")
        os.makedirs(self.bin)
        for program in ("lanyard", "lanyard-cli", "lanyard-agent"):
            shutil.copy2(os.path.join(BINARIES, program), self.bin)
        self.programs = self.bin
        self.asked = os.path.join(self.home, "asked")
        self.known = os.path.join(self.home, "known")
        self.script("systemctl", f'echo "$@" >> {self.asked}; [ "$2" != cat ] || [ -e {self.known} ]')
        self.units = os.path.join(self.home, ".config", "systemd", "user")

    def script(self, name, text):
        path = os.path.join(self.bin, name)
        with open(path, "w") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod(path, 0o755)

    def lay_templates(self):
        shared = os.path.join(self.prefix, "share", "lanyard", "systemd")
        os.makedirs(shared)
        for unit in UNITS:
            shutil.copy2(os.path.join(ROOT, ".packaging", "systemd", f"{unit}.in"), shared)

    def service(self, *words, code=0):
        done = self.lanyard("service", *words, environment={"PATH": f"{self.bin}:/usr/bin:/bin"})
        self.assertEqual(done.returncode, code, done)
        return done

    def calls(self):
        if not os.path.exists(self.asked):
            return []
        with open(self.asked) as file:
            told = file.read().splitlines()
        os.remove(self.asked)
        return told

    def test_units_are_written_where_systemd_has_none_and_removed_again(self):
        self.lay_templates()
        told = json.loads(self.service("install", "--json").stdout)
        self.assertEqual(told, {"unit": "lanyard.socket", "directory": self.units})
        self.assertEqual(self.calls(), [
            "--user cat -- lanyard.socket", "--user daemon-reload",
            "--user enable --now lanyard.socket " + " ".join(REMOVAL)])
        self.assertEqual(sorted(os.listdir(self.units)), UNITS)
        for unit in UNITS:
            with open(os.path.join(self.units, unit)) as file:
                text = file.read()
            self.assertNotIn("@bin@", text)
            self.assertIn(os.path.realpath(self.bin), text)
            mark = text.splitlines()[0]
        # The unit that removes the others leaves those of the person's own, too: it looks for the same line.
        with open(os.path.join(self.units, "lanyard-removed.service")) as file:
            self.assertIn(f'grep -lsx "{mark}"', file.read())
        # Once more: the same, and no second copy.
        self.service("install")
        self.assertEqual(sorted(os.listdir(self.units)), UNITS)
        self.calls()
        open(self.known, "w").close()
        self.assertIn("Commands start one", self.service("uninstall").stdout)
        self.assertEqual(self.calls(), [
            "--user cat -- lanyard.socket",
            "--user disable --now lanyard.socket lanyard.service " + " ".join(REMOVAL), "--user daemon-reload"])
        self.assertEqual(os.listdir(self.units), [])

    def test_units_of_the_machine_are_enabled_as_they_are(self):
        open(self.known, "w").close()
        self.service("install")
        self.assertEqual(self.calls(), ["--user cat -- lanyard.socket", "--user enable --now lanyard.socket"])
        self.assertFalse(os.path.exists(self.units))

    def test_a_unit_of_the_person_s_own_stays(self):
        self.lay_templates()
        os.makedirs(self.units)
        own = os.path.join(self.units, "lanyard.service")
        with open(own, "w") as file:
            file.write("[Service]\n")
        self.assertIn("is not by this command. Nothing was changed.", self.service("install", code=1).stderr)
        self.assertEqual(os.listdir(self.units), ["lanyard.service"])
        os.remove(own)
        self.service("install")
        self.assertEqual(sorted(os.listdir(self.units)), UNITS)

    def test_without_units_or_systemd_nothing_is_changed(self):
        self.assertIn("Nothing was changed.", self.service("install", code=1).stderr)
        self.assertFalse(os.path.exists(self.units))
        os.remove(os.path.join(self.bin, "systemctl"))
        if shutil.which("systemctl", path="/usr/bin:/bin") is None:
            self.assertIn("There is no systemd here.", self.service("install", code=1).stderr)

    def test_a_refusal_of_systemd_is_told(self):
        self.lay_templates()
        self.script("systemctl", 'echo "Failed to connect to bus: No medium found" >&2; exit 1')
        told = self.service("install", code=1).stderr
        self.assertIn("Failed to connect to bus: No medium found", told)
        self.assertIn("systemd needs a session of yours", told)


if __name__ == "__main__":
    unittest.main()
