"""The programs as `make install` leaves them: how they are linked, and what their systemd unit takes away."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
PREFIX = os.environ.get("LANYARD_INSTALLED", os.path.join(ROOT, ".build", "installed"))
PROGRAMS = [
    "bin/lanyard", "bin/lanyard-agent", "bin/lanyard-demo", "libexec/lanyard/lanyard-cli", "libexec/lanyard/lanyard-mcp",
    "libexec/lanyard/lanyard-proxy", "libexec/lanyard/lanyard-export", "libexec/lanyard/lanyard-web",
]
ANALYZER = shutil.which("systemd-analyze")

WITNESSING = r"""
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void loaded(void) { close(open(WITNESS, O_WRONLY | O_CREAT, 0600)); }
"""


def readelf(what, program):
    done = subprocess.run(
        ["readelf", "--wide", what, os.path.join(PREFIX, program)], capture_output=True, check=True, text=True)
    return done.stdout


class Installing(unittest.TestCase):
    """`sudo make install` after `make release`: root needs no toolchain."""

    def install(self, place, **variables):
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "SUDO_USER": "pat"}
        words = [f"{name}={value}" for name, value in {"DESTDIR": place, "PREFIX": "/usr", **variables}.items()]
        return subprocess.run(
            ["make", "-C", ROOT, "install", "SWIFT=no-such-swift", *words], env=environment, capture_output=True,
            text=True)

    def test_what_is_built_is_installed_without_a_toolchain(self):
        with tempfile.TemporaryDirectory() as place:
            done = self.install(place)
            self.assertEqual(done.returncode, 0, done.stderr)
            for program in PROGRAMS:
                self.assertTrue(os.access(os.path.join(place, "usr", program), os.X_OK), program)

    def test_what_is_not_built_is_named_with_the_command(self):
        with tempfile.TemporaryDirectory() as place:
            done = self.install(place, RELEASE=place + "/none")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("lanyard is not built yet. As yourself: make release", done.stderr)
            self.assertEqual(os.listdir(place), [])


class Linking(unittest.TestCase):
    def test_programs_are_position_independent(self):
        for program in PROGRAMS:
            with self.subTest(program):
                self.assertRegex(readelf("--file-header", program), r"Type:\s+DYN")

    def test_symbols_are_bound_at_the_start_and_then_read_only(self):
        for program in PROGRAMS:
            with self.subTest(program):
                self.assertIn("GNU_RELRO", readelf("--program-headers", program))
                self.assertRegex(readelf("--dynamic", program), r"BIND_NOW|Flags: NOW")

    def test_no_directory_beside_a_program_is_searched_for_libraries(self):
        for program in PROGRAMS:
            with self.subTest(program):
                self.assertNotRegex(readelf("--dynamic", program), "RPATH|RUNPATH")

    def test_lanyard_needs_no_library(self):
        self.assertNotIn("INTERP", readelf("--program-headers", "bin/lanyard"))
        self.assertNotIn("NEEDED", readelf("--dynamic", "bin/lanyard"))

    def test_installed_agent_has_no_way_to_keep_a_preloaded_library(self):
        with tempfile.TemporaryDirectory() as place:
            witness, library = os.path.join(place, "witness"), os.path.join(place, "planted.so")
            subprocess.run(
                ["cc", "-shared", "-fPIC", f'-DWITNESS="{witness}"', "-x", "c", "-o", library, "-"],
                input=WITNESSING.encode(), check=True)
            subprocess.run(
                [os.path.join(PREFIX, "bin", "lanyard-agent"), "--version"], check=True, stdout=subprocess.DEVNULL,
                env={"LD_PRELOAD": library})
            self.assertFalse(os.path.exists(witness))


@unittest.skipUnless(ANALYZER, "NOT TESTED: systemd-analyze is not installed")
class Unit(unittest.TestCase):
    """The exposure by systemd-analyze(1), from 0 (best) to 10."""

    def exposure(self, *drop_ins):
        with tempfile.TemporaryDirectory() as place:
            for name in ("lanyard.service", "lanyard.socket"):
                shutil.copy(os.path.join(PREFIX, "share", "systemd", "user", name), place)
            # Offline, no drop-in is read: its lines go to the end of [Service].
            path = os.path.join(place, "lanyard.service")
            with open(path) as file:
                service, install = file.read().split("[Install]")
            for drop_in in drop_ins:
                with open(os.path.join(PREFIX, "share", "lanyard", "systemd", drop_in)) as file:
                    service += file.read().split("[Service]")[1]
            with open(path, "w") as file:
                file.write(f"{service}\n[Install]{install}")
            done = subprocess.run(
                [ANALYZER, "--user", "--offline=yes", "--no-pager", "security", path], capture_output=True, text=True,
                env={**os.environ, "XDG_RUNTIME_DIR": place, "LC_ALL": "C.UTF-8"})
            figure = re.search(r"exposure level for lanyard.service: ([0-9.]+)", done.stdout)
            if figure is None:
                self.skipTest(f"NOT TESTED: {done.stderr.strip()}")
            return float(figure.group(1))

    def test_exposure_of_the_unit(self):
        # Without privileges no capability can be taken away, which is 3.4 of it.
        self.assertLess(self.exposure(), 5.5)
        self.assertLess(self.exposure("sandbox.conf"), 2.1)

    def test_unit_has_no_option_that_needs_a_capability(self):
        # systemd.exec(5): each changes the bounding set, which ends the start of a person's service with status 218.
        with open(os.path.join(PREFIX, "share", "systemd", "user", "lanyard.service")) as file:
            options = set(re.findall(r"^([A-Za-z]+)=", file.read(), re.MULTILINE))
        self.assertEqual(
            options & {
                "AmbientCapabilities", "CapabilityBoundingSet", "PrivateDevices", "ProtectClock", "ProtectKernelLogs",
                "ProtectKernelModules",
            },
            set())


if __name__ == "__main__":
    unittest.main()
