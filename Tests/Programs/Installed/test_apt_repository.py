"""The apt repository of `make apt-repository`: `make test-deb`, as root for what needs a machine.

A machine gets the repository as a directory, and what it installs comes from there by apt. There are two versions in it,
which differ by their number alone. LANYARD_DEBS is the directory of the packages.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest

from machines import AliceAtPractice, Machine, run
from packages import DEBS, NAMES, field, files_besides_notes, own_version, package, repack

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
MAKE = os.path.join(ROOT, ".packaging", "apt-repository")
FEATURE = os.path.join(ROOT, ".packaging", "container", "devcontainer", "lanyard")
OLDER = "0.9.0-1"
# From `apt-get update` to the first token. The goal for a person; a quiet machine takes a third of it.
FIRST_TOKEN_SECONDS = 60


class Signer:
    """A key of gpg in a directory of its own."""

    def __init__(self, case):
        # gpg's agent has a socket in it, whose path may not be long.
        self.home = tempfile.mkdtemp(prefix="gpg-")
        case.addClassCleanup(shutil.rmtree, self.home, ignore_errors=True)
        self.environment = {"PATH": os.environ["PATH"], "GNUPGHOME": self.home, "APT_KEY": "packages@lanyard.invalid"}
        case.addClassCleanup(subprocess.run, ["gpgconf", "--kill", "all"], env=self.environment)
        run("gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", self.environment["APT_KEY"],
            "ed25519", "sign", "never", env=self.environment)

    def make(self, place, debs, check=True, **more):
        done = subprocess.run([MAKE, place], env={**self.environment, "LANYARD_DEBS": debs, **more},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if check and done.returncode != 0:
            raise AssertionError(done.stdout)
        return done


@unittest.skipUnless(shutil.which("apt-ftparchive") and shutil.which("gpg"), "NOT TESTED: apt-utils or gpg is missing")
class Repository(unittest.TestCase):
    """Its files, with small packages."""

    @classmethod
    def setUpClass(cls):
        cls.signer = Signer(cls)

    def setUp(self):
        self.place = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.place)
        self.pack("1.0.0-1")

    def pack(self, version, text="one"):
        """A package that is called lanyard."""
        tree = f"{self.place}/tree"
        os.makedirs(f"{tree}/DEBIAN", exist_ok=True)
        os.makedirs(f"{self.place}/debs", exist_ok=True)
        with open(f"{tree}/DEBIAN/control", "w") as file:
            file.write(f"Package: lanyard\nVersion: {version}\nArchitecture: amd64\nMaintainer: T <t@lanyard.invalid>\n"
                       f"Description: {text}\n")
        run("dpkg-deb", "--root-owner-group", "--build", tree, f"{self.place}/debs/lanyard_{version}_amd64.deb")

    def make(self, **more):
        return self.signer.make(f"{self.place}/apt", f"{self.place}/debs", **more)

    def versions(self):
        with open(f"{self.place}/apt/dists/stable/main/binary-amd64/Packages") as file:
            return re.findall(r"^Version: (.*)$", file.read(), re.MULTILINE)

    def test_signature_is_of_the_key_that_is_beside_it(self):
        self.make()
        run("gpg", "--dearmor", "--output", f"{self.place}/key.gpg", f"{self.place}/apt/lanyard.asc",
            env=self.signer.environment)
        stable = f"{self.place}/apt/dists/stable"
        run("gpgv", "--keyring", f"{self.place}/key.gpg", f"{stable}/InRelease")
        run("gpgv", "--keyring", f"{self.place}/key.gpg", f"{stable}/Release.gpg", f"{stable}/Release")

    def test_older_version_stays_beside_a_newer_one(self):
        self.make()
        shutil.rmtree(f"{self.place}/debs")
        self.pack("1.1.0-1")
        self.assertIn("2 versions of lanyard", self.make().stdout)
        self.assertEqual(sorted(self.versions()), ["1.0.0-1", "1.1.0-1"])

    def test_version_with_other_bytes_is_refused_and_the_index_stays(self):
        self.make()
        self.pack("1.0.0-1", "another")
        done = self.make(check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("lanyard_1.0.0-1_amd64.deb is there with other bytes", done.stdout)
        self.assertEqual(self.versions(), ["1.0.0-1"])

    def test_without_a_key_nothing_is_written(self):
        for name, words in (("", "APT_KEY names your key"), ("nobody@lanyard.invalid", "gpg has no secret key nobody@")):
            done = self.make(check=False, APT_KEY=name)
            self.assertEqual(done.returncode, 1)
            self.assertIn(words, done.stdout)
            self.assertFalse(os.path.exists(f"{self.place}/apt"))


class Apt(AliceAtPractice, unittest.TestCase):
    """A bare Debian whose apt knows the repository by its key."""

    @classmethod
    def setUpClass(cls):
        if not DEBS:
            raise unittest.SkipTest("NOT TESTED: LANYARD_DEBS names no packages (`make test-deb`)")
        if os.geteuid() != 0:
            raise unittest.SkipTest("NOT TESTED: a machine needs root")
        cls.signer = Signer(cls)
        cls.machine = Machine("apt")
        cls.addClassCleanup(cls.machine.stop)
        cls.repository = f"{cls.machine.root}/repository"
        with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
            for name in NAMES:
                architecture = field(package(name), "Architecture")
                repack(package(name), f"{place}/{name}_{OLDER}_{architecture}.deb", OLDER)
            cls.signer.make(cls.repository, place)
        cls.signer.make(cls.repository, DEBS, APT_ADDRESS="file:/repository")
        os.makedirs(f"{cls.machine.root}/etc/apt/keyrings", exist_ok=True)
        shutil.copy(f"{cls.repository}/lanyard.asc", f"{cls.machine.root}/etc/apt/keyrings/")
        shutil.copy(f"{cls.repository}/lanyard.sources", f"{cls.machine.root}/etc/apt/sources.list.d/")
        cls.machine.start()
        cls.machine.root_does("apt-get --quiet update")
        cls.newer = field(package("lanyard"), "Version")

    def apt(self, *words, check=True):
        return self.machine.root_does(f"apt-get --quiet --yes --no-install-recommends {' '.join(words)}", check=check)

    def install(self, version):
        self.apt("install", "--allow-downgrades", *(f"{name}={version}" for name in NAMES))

    def versions(self):
        """The version of the running agent, and that of the installed programs."""
        agent = re.search(r"running, version ([0-9.]+)", self.machine.alice_does("lanyard status"))[1]
        return agent, self.machine.alice_does("lanyard --version").strip()

    def restarts_with(self, version):
        """As `lanyard doctor` tells a person after an upgrade."""
        self.machine.alice_does("lanyard stop")
        self.assertEqual(self.versions(), (own_version(version),) * 2)

    def aliases(self):
        return re.findall(r'"(?:account|alias)":\s*"([^"]*)"', self.machine.alice_does("lanyard list --json"))

    def test_1_first_token_of_a_bare_machine(self):
        begin = time.monotonic()
        self.apt("update")
        self.apt("install", "lanyard", "lanyard-demo")
        installed = time.monotonic()
        issuer = self.provider()
        self.sign_in(issuer)
        self.token_works(issuer)
        took = time.monotonic() - begin
        print(f"\nfrom `apt-get update` to the first token: {took:.1f} s, of which {installed - begin:.1f} s are apt's")
        self.assertLess(took, FIRST_TOKEN_SECONDS)
        # The newest of the two versions.
        self.assertEqual(self.machine.root_does("dpkg-query --show --showformat '${Version}' lanyard"), self.newer)
        self.clean()

    def clean(self):
        self.machine.alice_does("lanyard stop", check=False)
        self.apt("purge", *NAMES, check=False)
        self.machine.root_does(
            "find /home/alice /run/user/1000 -mindepth 1 -delete; cp -a /etc/skel/. /home/alice; chown -R alice: /home/alice")

    def test_2_whole_life_keeps_the_accounts_and_leaves_nothing_else(self):
        self.addCleanup(self.clean)
        # What the packages depend on is there from the test before, or comes now.
        self.install(OLDER)
        self.apt("purge", *NAMES)
        before = files_besides_notes(self.machine)

        self.install(OLDER)
        issuer = self.provider()
        self.sign_in(issuer)
        self.token_works(issuer)
        accounts = self.aliases()
        self.assertIn("work", accounts)
        self.apt("install", "--only-upgrade", *NAMES)
        self.assertEqual(self.versions(), (own_version(OLDER), own_version(self.newer)))
        self.token_works(issuer)
        self.restarts_with(self.newer)
        self.token_works(issuer)
        self.machine.alice_does("lanyard token work --force")

        # Back to the former version: the store is of the same format.
        self.install(OLDER)
        self.restarts_with(OLDER)
        self.token_works(issuer)
        self.machine.alice_does("lanyard token work --force")
        self.assertEqual(self.aliases(), accounts)

        # One agent of the former version, whose program is gone already, and nobody stops it by hand.
        self.install(self.newer)
        self.assertNotEqual(self.processes(), [])
        self.apt("remove", *NAMES)
        self.assertEqual(self.processes(), [])
        self.apt("purge", *NAMES)
        self.assertEqual(files_besides_notes(self.machine), before)
        self.assertEqual(self.machine.root_does("find /etc /usr /var/lib/systemd -name '*lanyard*' -not -path '*/apt/*'"), "")
        self.install(self.newer)
        self.token_works(issuer)
        self.assertEqual(self.aliases(), accounts)

    def test_3_older_program_says_that_the_store_is_of_a_newer_one(self):
        self.addCleanup(self.clean)
        self.install(OLDER)
        issuer = self.provider()
        self.sign_in(issuer)
        self.machine.alice_does("lanyard stop")
        # What a later migration would leave.
        newer = self.with_store("PRAGMA user_version = {}".format(int(self.with_store("PRAGMA user_version")) + 1))
        self.assertEqual(newer, "")
        done = self.machine.alice_does("lanyard token work", check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("the store in /home/alice/.local/state/lanyard was written by a later version of the agent", told(done))
        self.assertIn("Nothing was changed. Install the later version again.", told(done))
        self.with_store("PRAGMA user_version = {}".format(int(self.with_store("PRAGMA user_version")) - 1))
        self.token_works(issuer)

    def with_store(self, statement):
        """Alice runs a statement on her store, by this machine's Python."""
        program = ("import sqlite3, sys; store = sqlite3.connect(sys.argv[1], isolation_level=None); "
                   "print(*(row[0] for row in store.execute(sys.argv[2])), end='')")
        return run("setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "python3", "-c", program,
                   f"{self.machine.root}/home/alice/.local/state/lanyard/lanyard.sqlite", statement)

    def test_4_changed_byte_is_refused(self):
        self.addCleanup(self.clean)
        stable = f"{self.repository}/dists/stable"
        (deb,) = glob.glob(f"{self.repository}/pool/main/l/lanyard/lanyard_{self.newer}_*.deb")
        for path, at, words in (
            (f"{stable}/InRelease", 80, "signatures were invalid|BADSIG|not signed"),
            (f"{stable}/main/binary-amd64/Packages.xz", 100, "Hash Sum mismatch|unexpected size"),
            (deb, 5_000_000, "Hash Sum mismatch|unexpected size"),
        ):
            with self.subTest(os.path.basename(path)), Changed(path, at):
                self.machine.root_does("rm -rf /var/lib/apt/lists/*repository* /var/cache/apt/archives/*.deb")
                done = self.apt("update", "-o", "APT::Update::Error-Mode=any", check=False)
                if path == deb:
                    self.assertEqual(done.returncode, 0, done.stdout)
                    done = self.apt("install", "lanyard", check=False)
                self.assertNotEqual(done.returncode, 0, done.stdout)
                self.assertRegex(done.stdout, words)
                self.assertNotEqual(self.machine.root_does("command -v lanyard", check=False).returncode, 0)
        self.apt("update")
        self.apt("install", "lanyard")

    def test_5_dev_container_feature_installs_it_from_here(self):
        self.addCleanup(self.clean)
        shutil.copytree(FEATURE, f"{self.machine.root}/tmp/feature", dirs_exist_ok=True)
        # What the tools of dev containers set: the options in capitals, and the user.
        feature = "cd /tmp/feature && env REPOSITORY=file:/repository PYTHON=false _REMOTE_USER=alice VERSION="
        self.machine.root_does("rm /etc/apt/sources.list.d/lanyard.sources /etc/apt/keyrings/lanyard.asc")
        for version in (own_version(OLDER), "latest", "latest"):
            self.machine.root_does(f"{feature}{version} sh ./install.sh")
            there = OLDER if version != "latest" else self.newer
            self.assertEqual(self.machine.root_does("dpkg-query --show --showformat '${Version}' lanyard"), there)
        done = self.machine.root_does(f"{feature}7.7.7 sh ./install.sh", check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("has no lanyard 7.7.7", told(done))
        with open(f"{FEATURE}/devcontainer-feature.json") as file:
            variables = " ".join(f"{name}={value}" for name, value in json.load(file)["containerEnv"].items())
        # Without the socket of the desktop the command says so, and starts no agent in the container.
        done = self.machine.alice_does(f"env {variables} lanyard token work", check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("/run/lanyard/agent.sock", told(done))


def told(done):
    return " ".join(done.stdout.split())


class Changed:
    """A file with a byte that was changed, for a while."""

    def __init__(self, path, at):
        self.path, self.at = path, at

    def flip(self):
        with open(self.path, "r+b") as file:
            file.seek(self.at)
            (byte,) = file.read(1)
            file.seek(self.at)
            file.write(bytes([byte ^ 1]))

    def __enter__(self):
        self.flip()

    def __exit__(self, *_):
        self.flip()


if __name__ == "__main__":
    unittest.main()
