"""The wheel: `make test-wheel`.

`Wheel` looks at its files and installs it on this machine. The others install it in a Debian that has nothing but Python,
as root: by pip alone, by uv and by pipx. LANYARD_WHEEL is the wheel, and LANYARD_WHEEL_MACHINES asks for the machines.
"""

import calendar
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

from machines import LONGEST_UPGRADE_SECONDS, AliceAtPractice, BootedMachine, Machine, run, wait

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
WHEEL = os.environ.get("LANYARD_WHEEL") and os.path.abspath(os.environ["LANYARD_WHEEL"])
MACHINES = os.environ.get("LANYARD_WHEEL_MACHINES")
BUILD = os.path.join(ROOT, ".packaging", "wheel", "build")
PROGRAMS = {"lanyard", "lanyard-agent", "lanyard-demo"}
HELPERS = {
    "bazel-credential-lanyard", "cargo-credential-lanyard", "docker-credential-lanyard", "git-credential-lanyard",
    "terraform-credentials-lanyard",
}
# From the first command to the first token. The goal for a person; a quiet machine takes a tenth of it.
FIRST_TOKEN_SECONDS = 30
# From the README's first command to the sign-in, at most. The rest of it is for reading.
STRANGER_SECONDS = 60
README_PORT = 52745
# What the wheel leaves to the system (docs/packages.md).
FURTHER = ("ca-certificates", "libcurl4", "python3-venv")


@unittest.skipUnless(WHEEL, "NOT TESTED: LANYARD_WHEEL names no wheel (`make test-wheel`)")
class Wheel(unittest.TestCase):
    """On this machine, without root."""

    @classmethod
    def setUpClass(cls):
        with zipfile.ZipFile(WHEEL) as archive:
            cls.members = archive.infolist()
        cls.names = [member.filename for member in cls.members]

    def scripts(self):
        return {name.split("/scripts/")[1] for name in self.names if "/scripts/" in name}

    def test_every_program_that_make_install_installs_is_there(self):
        self.assertEqual(self.scripts(), PROGRAMS | HELPERS)
        with open(os.path.join(ROOT, "Makefile")) as file:
            installed = re.search(r"^PROGRAMS := (.*)$", file.read(), re.MULTILINE)[1].split()
        for name in set(installed) - PROGRAMS:
            self.assertTrue(any(path.endswith(f"/data/libexec/lanyard/{name}") for path in self.names), name)

    def test_manual_pages_completions_and_client_are_there(self):
        for name in (
            "man/man1/lanyard.1", "man/man1/lanyard-demo.1", "bash-completion/completions/lanyard",
            "zsh/site-functions/_lanyard", "fish/vendor_completions.d/lanyard.fish",
        ):
            self.assertTrue(any(path.endswith(f".data/data/share/{name}") for path in self.names), name)
        self.assertTrue({"lanyard/__init__.py", "lanyard/py.typed", "lanyard/auth/keyring.py"} <= set(self.names))

    def test_licenses_of_all_that_comes_along_are_there(self):
        with zipfile.ZipFile(WHEEL) as archive:
            texts = {name.split("/licenses/")[1]: archive.read(name).decode() for name in self.names if "/licenses/" in name}
        self.assertLessEqual(
            {"LICENSE", "lanyard", "libsodium23", "libsqlite3-0", "libssl3"}, {name.removesuffix("t64") for name in texts})
        self.assertIn("Unicode, Inc.", texts["lanyard"])
        named = set(re.findall(r"/usr/share/(common-licenses/[\w.+-]*[\w+])", "".join(texts.values())))
        self.assertLessEqual({"common-licenses/LGPL-2.1", "common-licenses/GPL-3"}, named)
        self.assertLessEqual(named, set(texts))

    def test_modes_and_times_do_not_come_from_the_machine(self):
        self.assertEqual(len({member.date_time for member in self.members}), 1)
        for member in self.members:
            executable = re.search(r"/scripts/|/libexec/", member.filename)
            self.assertEqual(member.external_attr >> 16, 0o100755 if executable else 0o100644, member.filename)

    def test_second_build_has_the_same_bytes(self):
        moment = calendar.timegm((*self.members[0].date_time, 0, 0, 0))
        with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
            environment = {
                "PATH": os.environ["PATH"], "HOME": place, "TZ": "Pacific/Kiritimati", "LC_ALL": "C",
                "SOURCE_DATE_EPOCH": str(moment), "PACK_VERSION": self.version,
                "PACK_LEVEL": os.environ.get("PACK_LEVEL", ""),
            }
            run("sh", "-c", f'umask 077; exec "$0" "{place}/dist"', BUILD, env=environment, cwd=place)
            with open(WHEEL, "rb") as one, open(f"{place}/dist/{os.path.basename(WHEEL)}", "rb") as other:
                self.assertEqual(one.read() == other.read(), True)

    version = property(lambda self: os.path.basename(WHEEL).split("-")[1])

    @unittest.skipUnless(MACHINES, "in `make test-wheel`")
    def test_tag_is_the_one_that_auditwheel_computes(self):
        """auditwheel is what PyPI's own tools ask (`pip install auditwheel`)."""
        with tempfile.TemporaryDirectory() as place:
            run(sys.executable, "-m", "venv", place)
            if subprocess.run([f"{place}/bin/pip", "-q", "install", "auditwheel"], capture_output=True).returncode != 0:
                self.skipTest("NOT TESTED: no package index, so no auditwheel")
            told = " ".join(run(f"{place}/bin/auditwheel", "show", WHEEL).split())
        platform = re.search(r"-(manylinux_\w+)\.whl$", WHEEL)[1]
        self.assertIn(f'This constrains the platform tag to "{platform}"', told)

    def test_programs_find_each_other_and_the_client_its_agent(self):
        with tempfile.TemporaryDirectory() as place:
            run(sys.executable, "-m", "venv", f"{place}/venv")
            run(f"{place}/venv/bin/pip", "--quiet", "install", "--no-index", "--no-deps", WHEEL)
            os.makedirs(f"{place}/runtime", 0o700)
            os.makedirs(f"{place}/bin")
            environment = {"HOME": place, "XDG_RUNTIME_DIR": f"{place}/runtime", "PATH": "/usr/bin:/bin"}
            # As uv and pipx do, a link is what a person has in PATH.
            for name in sorted(PROGRAMS | HELPERS):
                os.symlink(f"{place}/venv/bin/{name}", f"{place}/bin/{name}")
            told = run(f"{place}/bin/lanyard", "status", env=environment)
            self.assertIn("running, version", told)
            run(f"{place}/bin/lanyard", "stop", env=environment)
            for name in sorted(HELPERS):
                told = run(f"{place}/bin/{name}", "--help", env=environment)
                self.assertIn(f"USAGE: lanyard credential {name.split('-')[0]}", told)
            # Without the environment's directory in PATH.
            python = "import lanyard; print(lanyard.Client().agent.status().version, lanyard.__version__)"
            versions = run(f"{place}/venv/bin/python", "-c", python, env=environment).split()
            self.assertEqual(versions, [re.match(r"[0-9.]+[0-9]", self.version.split(".dev")[0])[0]] * 2)
            run(f"{place}/bin/lanyard", "stop", env=environment)


class Story(AliceAtPractice):
    """Alice on a bare Debian with Python, pip and the wheel."""

    suite = None

    @classmethod
    def setUpClass(cls):
        if not WHEEL or not MACHINES:
            raise unittest.SkipTest("NOT TESTED: no machines without LANYARD_WHEEL_MACHINES (`make test-wheel`)")
        if os.geteuid() != 0:
            raise unittest.SkipTest("NOT TESTED: a machine needs root")
        cls.machine = Machine(
            f"wheel-{cls.suite}", *FURTHER, suite=cls.suite, path="/home/alice/.local/bin:/home/alice/lanyard/bin:/usr/bin:/bin")
        cls.addClassCleanup(cls.machine.stop)
        os.mkdir(f"{cls.machine.root}/wheels")
        shutil.copy(WHEEL, f"{cls.machine.root}/wheels")
        cls.machine.start()

    def setUp(self):
        self.addCleanup(self.clean)

    def clean(self):
        self.machine.alice_does("lanyard stop", check=False)
        self.machine.root_does(
            "find /home/alice /run/user/1000 -mindepth 1 -delete; cp -a /etc/skel/. /home/alice; chown -R alice: /home/alice",
            check=False)

    def install(self):
        self.machine.alice_does(
            "python3 -m venv lanyard && lanyard/bin/pip --quiet install --no-index --no-deps /wheels/lanyard-*.whl")

    def test_first_token_by_pip_alone(self):
        began = time.monotonic()
        self.install()
        issuer = self.provider()
        self.sign_in(issuer)
        self.token_works(issuer)
        seconds = time.monotonic() - began
        print(f"{self.suite}: from pip to the first token {seconds:.1f} s", file=sys.stderr)
        self.assertLess(seconds, FIRST_TOKEN_SECONDS)

    def test_stranger_is_signed_in_by_the_words_of_the_readme(self):
        with open(os.path.join(ROOT, "README.md")) as file:
            readme = file.read()
        install = re.search(r"^uv tool install \./lanyard-\*\.whl", readme, re.MULTILINE)[0]
        # curl and the Python of a checkout are not there.
        tour = re.findall(r"^\$ (lanyard(?:-demo)? .*)$", readme.split("## Five minutes")[1].split("```")[1], re.MULTILINE)
        tour = [words.replace("--auto-approve alice &", f"--auto-approve alice --port {README_PORT} & sleep 2") for words in tour]
        self.assertIn(f"http://127.0.0.1:{README_PORT}", " ".join(tour))
        self.bring("uv")
        began = time.monotonic()
        process = self.machine.alice_starts(
            "bash", "-c", "\n".join(["set -e; cd; PATH=~/tools/bin:$PATH; cp /wheels/*.whl .", install, *tour, "kill %1"]))
        said = ""
        for line in process.stdout:
            said += line
            if page := re.search(r"http://\S+/authorize\S+", line):
                self.browse(page[0])
            if "Signed in: Alice Archer" in line:
                seconds = time.monotonic() - began
        process.stdout.close()
        self.assertEqual(process.wait(), 0, said)
        self.assertRegex(said, r"(?s)Signed in: Alice Archer.*\n\* +work +Alice Archer.* active.*Signed out: work", said)
        print(f"{self.suite}: from `uv tool install` to the sign-in {seconds:.1f} s", file=sys.stderr)
        self.assertLess(seconds, STRANGER_SECONDS)

    def test_accounts_survive_a_kill_a_removal_and_a_second_installation(self):
        self.install()
        issuer = self.provider()
        self.sign_in(issuer)
        self.machine.root_does("kill -KILL $(grep -lx lanyard-agent /proc/[0-9]*/comm | cut -d/ -f3)")
        self.token_works(issuer)
        self.everything_serves()
        self.machine.alice_does("lanyard/bin/pip --quiet uninstall --yes lanyard")
        self.everything_ends()
        # pip keeps the directory of a directory that it removes, empty.
        emptied = "'(' -path './lanyard/share/*' -type d -empty ')'"
        left = self.machine.alice_does(f"find . -name '*lanyard*' -not -path './.local/state/lanyard/*' -not {emptied}").split()
        # The environment that pip worked in, and what is alice's.
        self.assertEqual(sorted(left), ["./.config/lanyard", "./.local/state/lanyard", "./lanyard"])
        self.install()
        self.token_works(issuer)

    def test_demo_runs(self):
        self.install()
        self.assertNotIn("Python client is neither installed", self.machine.alice_does("lanyard demo < /dev/null"))

    def test_programs_that_open_the_system_s_libcurl_bring_no_openssl(self):
        self.install()
        for name in ("bin/lanyard-agent", "libexec/lanyard/lanyard-proxy", "libexec/lanyard/lanyard-mcp"):
            loaded = self.machine.root_does(f"ldd /home/alice/lanyard/{name}")
            self.assertNotRegex(loaded, "libssl|libcrypto", name)

    def take_away(self, library):
        """Returns the command that puts it back, which may run twice."""
        self.machine.root_does(f"for file in /usr/lib/*/{library}; do mv $file $file.away; done")
        back = f"for file in /usr/lib/*/{library}.away; do [ ! -e $file ] || mv $file ${{file%.away}}; done"
        self.addCleanup(self.machine.root_does, back)
        return back

    def test_missing_openssl_is_told_by_the_doctor(self):
        self.install()
        self.take_away("libssl.so.3")
        said = self.machine.alice_does("lanyard doctor", check=False).stdout
        self.assertIn("libssl.so.3 is missing on this machine. On Debian, `apt install libssl3` brings it", " ".join(said.split()))

    def test_missing_libcurl_is_told_with_the_package_that_has_it(self):
        self.install()
        back = self.take_away("libcurl.so.4")
        issuer = self.provider()
        told = self.machine.alice_does(f"lanyard provider add practice --issuer {issuer} --client-id lanyard-demo", check=False)
        self.assertNotEqual(told.returncode, 0)
        for said in (told.stdout, self.machine.alice_does("lanyard doctor", check=False).stdout):
            said = " ".join(said.split())
            self.assertIn("libcurl.so.4 (7.80 or later) is missing", said)
            self.assertIn("apt install libcurl4", said)
            self.assertNotIn("Check the address", said)
        # Once it is installed, the agent that runs takes it.
        self.machine.root_does(back)
        self.sign_in(issuer)

    def test_uv_tool_installs_it(self):
        self.bring("uv")
        self.machine.alice_does("tools/bin/uv tool install --quiet --no-index --find-links /wheels --prerelease allow lanyard")
        self.machine_has_everything()
        self.machine.alice_does("tools/bin/uv tool uninstall --quiet lanyard")
        self.everything_ends()
        self.nothing_is_left()

    def test_pipx_installs_it(self):
        self.bring("pipx")
        self.machine.alice_does("tools/bin/pipx install --pip-args='--no-index --no-deps' /wheels/lanyard-*.whl")
        self.machine_has_everything()
        pages = self.machine.alice_does("ls .local/share/man/man1").split()
        self.assertIn("lanyard-login.1", pages)
        self.machine.alice_does("tools/bin/pipx uninstall lanyard")
        self.everything_ends()
        self.nothing_is_left()

    def bring(self, tool):
        """Installs a tool from the package index of this machine."""
        place = f"{self.machine.root}/tools"
        os.makedirs(place, exist_ok=True)
        version = self.machine.root_does("python3 -c 'import sys; print(\"%d.%d\" % sys.version_info[:2])'").strip()
        words = [
            sys.executable, "-m", "pip", "--quiet", "download", "--dest", place, "--only-binary", ":all:",
            "--python-version", version,
        ]
        # pipx has its own pip, of the newest version.
        if subprocess.run([*words, tool, "pip"], capture_output=True).returncode != 0:
            self.skipTest(f"NOT TESTED: no package index, so no {tool}")
        self.machine.alice_does(
            f"python3 -m venv tools && tools/bin/pip --quiet install --no-index --find-links /tools {tool} && "
            "mkdir -p .config/pip && printf '[global]\\nno-index = true\\nfind-links = /tools\\n' > .config/pip/pip.conf")

    def machine_has_everything(self):
        for name in sorted(PROGRAMS | HELPERS):
            self.machine.alice_does(f"test -L .local/bin/{name}")
        issuer = self.provider()
        self.sign_in(issuer)
        self.token_works(issuer)
        said = self.machine.alice_does("printf 'protocol=https\\nhost=nowhere.example\\n\\n' | git-credential-lanyard get")
        self.assertNotIn("missing", said)

    def nothing_is_left(self):
        self.assertEqual(self.processes(), [])
        self.assertEqual(glob.glob(f"{self.machine.root}/home/alice/.local/bin/*lanyard*"), [])


class Session(AliceAtPractice, unittest.TestCase):
    """Under a real systemd."""

    @classmethod
    def setUpClass(cls):
        if not WHEEL or not MACHINES:
            raise unittest.SkipTest("NOT TESTED: no machines without LANYARD_WHEEL_MACHINES (`make test-wheel`)")
        if os.geteuid() != 0 or not shutil.which("systemd-nspawn"):
            raise unittest.SkipTest("NOT TESTED: a machine needs root and systemd-nspawn")
        cls.machine = BootedMachine(*FURTHER, path="/home/alice/.local/bin:/home/alice/lanyard/bin:/usr/bin:/bin")
        cls.addClassCleanup(cls.machine.stop)
        os.mkdir(f"{cls.machine.root}/wheels")
        shutil.copy(WHEEL, f"{cls.machine.root}/wheels")
        cls.machine.start()

    def test_units_go_with_the_programs(self):
        install = "python3 -m venv lanyard && lanyard/bin/pip --quiet install --no-index --no-deps /wheels/lanyard-*.whl"
        units = "find .config/systemd .local/share/systemd -name '*lanyard*' 2> /dev/null || true"
        self.machine.alice_does(f"{install} && lanyard service install")
        self.machine.alice_does("lanyard status && systemctl --user is-active lanyard.socket lanyard.service")
        self.assertNotEqual(self.machine.alice_does(units), "")
        # An upgrade keeps them.
        self.machine.alice_does(f"lanyard/bin/pip --quiet uninstall --yes lanyard && {install}")
        time.sleep(LONGEST_UPGRADE_SECONDS + 5)
        self.machine.alice_does("lanyard status && systemctl --user is-active lanyard.socket lanyard-removed.path")
        self.machine.alice_does("lanyard/bin/pip --quiet uninstall --yes lanyard")
        self.everything_ends()
        wait(lambda: self.machine.alice_does(units) == "", "the units are gone")
        self.assertNotIn("lanyard", self.machine.alice_does("systemctl --user list-units --all --plain --no-legend"))


class Bookworm(Story, unittest.TestCase):
    """Debian 12."""

    suite = "bookworm"


class Trixie(Story, unittest.TestCase):
    """Debian 13."""

    suite = "trixie"


if __name__ == "__main__":
    unittest.main()
