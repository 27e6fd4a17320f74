"""The Debian packages in a Debian that has nothing else: `make test-deb`, as root.

`Plain` enters its machine by chroot; `Session` boots it, so that a real systemd runs the units of a person. LANYARD_DEBS is
the directory of the packages.
"""

import glob
import os
import re
import shutil
import tempfile
import unittest
import urllib.request

from machines import PATIENCE_SECONDS, AliceAtPractice, BootedMachine, Machine, run, wait
from packages import DEBS, NAMES, field, files_besides_notes, own_version, package, repack

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BUILD = os.path.join(ROOT, ".packaging", "debian", "build")
HELPERS = ("bazel-credential", "cargo-credential", "docker-credential", "git-credential", "terraform-credentials")



@unittest.skipUnless(DEBS, "NOT TESTED: LANYARD_DEBS names no packages (`make test-deb`)")
class Packages(unittest.TestCase):
    """The files of the packages, without a machine."""

    def test_lintian_has_neither_errors_nor_warnings(self):
        (changes,) = glob.glob(os.path.join(DEBS, "*.changes"))
        run("lintian", "--allow-root", "--fail-on", "error,warning", changes)

    def test_overrides_of_lintian_are_used_and_have_a_reason(self):
        (changes,) = glob.glob(os.path.join(DEBS, "*.changes"))
        told = run("lintian", "--allow-root", "--show-overrides", "--info", changes)
        self.assertNotIn("unused-override", told)
        for path in glob.glob(os.path.join(ROOT, ".packaging", "debian", "*.lintian-overrides")):
            with open(path) as file:
                self.assertTrue(file.readline().startswith("# "), path)

    def test_second_build_has_the_same_bytes(self):
        with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
            # Another directory, umask, time zone, language and home.
            with open(glob.glob(os.path.join(DEBS, "*.buildinfo"))[0]) as file:
                epoch = re.search(r'SOURCE_DATE_EPOCH="([0-9]+)"', file.read())[1]
            environment = {
                "SOURCE_DATE_EPOCH": epoch, "PATH": os.environ["PATH"], "HOME": place, "TZ": "Pacific/Kiritimati",
                "LC_ALL": "C",
                "DEB_VERSION": field(package("lanyard"), "Version"), "PACK_LEVEL": os.environ.get("PACK_LEVEL", ""),
            }
            run("sh", "-c", f'umask 077; exec "$0" "{place}/packages"', BUILD, env=environment, cwd=place)
            for name in NAMES:
                with open(package(name), "rb") as one, open(
                        os.path.join(place, "packages", os.path.basename(package(name))), "rb") as other:
                    self.assertEqual(one.read() == other.read(), True, name)

    def test_libraries_that_are_opened_late_are_named(self):
        depends = field(package("lanyard"), "Depends")
        for name in ("libcurl4 (>= 7.80)", "libssl3", "libsodium23", "libsqlite3-0", "libc6"):
            self.assertIn(name, depends)
        self.assertEqual(field(package("lanyard"), "Recommends"), "libqrencode4, libsystemd0")

    def test_demo_wants_the_agent_of_its_own_version(self):
        version = field(package("lanyard-demo"), "Version")
        self.assertIn(f"lanyard (= {version})", field(package("lanyard-demo"), "Depends"))

    def test_version_before_a_release_is_older_than_the_release(self):
        version = field(package("lanyard"), "Version")
        if "~" not in version:
            self.skipTest("NOT TESTED: this is a release")
        run("dpkg", "--compare-versions", version, "lt", own_version(version) + "-1")

    def test_every_program_has_a_manual_page(self):
        for name in ("lanyard", "lanyard-demo"):
            paths = re.findall(r"\./(usr/\S+)", run("dpkg-deb", "--contents", package(name)))
            for path in paths:
                if path.startswith("usr/bin/") and path != "usr/bin/":
                    self.assertIn(f"usr/share/man/man1/{os.path.basename(path)}.1.gz", paths)


class Story(AliceAtPractice, unittest.TestCase):
    """Alice with a practice provider on a machine. Each test begins with a machine without packages."""

    kind = Machine

    @classmethod
    def setUpClass(cls):
        if not DEBS:
            raise unittest.SkipTest("NOT TESTED: LANYARD_DEBS names no packages (`make test-deb`)")
        if os.geteuid() != 0:
            raise unittest.SkipTest("NOT TESTED: a machine needs root")
        cls.machine = cls.kind(*(() if cls.kind is BootedMachine else ("plain",)))
        cls.addClassCleanup(cls.machine.stop)
        run("sh", "-c", f"mkdir {cls.machine.root}/packages && cp {DEBS}/*.deb {cls.machine.root}/packages")
        os.mkdir(f"{cls.machine.root}/older")
        for name in NAMES:
            repack(package(name), f"{cls.machine.root}/older/{name}_0.9.0-1.deb", "0.9.0-1")
        cls.machine.start()
        cls.machine.root_does("apt-get --quiet update")
        # What the packages depend on stays, so that a comparison of files sees the packages alone.
        cls.install()
        cls.machine.root_does("apt-get --quiet purge --yes lanyard lanyard-demo python3-lanyard")

    @classmethod
    def install(cls, directory="/packages", names=NAMES):
        paths = " ".join(f"{directory}/{name}_*.deb" for name in names)
        return cls.machine.root_does(f"apt-get --quiet install --yes --no-install-recommends --allow-downgrades {paths}")

    def setUp(self):
        self.addCleanup(self.clean)

    def clean(self):
        self.machine.alice_does("lanyard stop", check=False)
        self.machine.root_does("dpkg --purge lanyard-demo python3-lanyard lanyard")
        self.machine.root_does(
            "find /home/alice /run/user/1000/lanyard -mindepth 1 -delete; cp -a /etc/skel/. /home/alice; "
            "chown -R alice: /home/alice",
            check=False)

    def versions(self):
        """The version of the running agent, and that of the installed programs."""
        agent = re.search(r"running, version ([0-9.]+)", self.machine.alice_does("lanyard status"))[1]
        return agent, self.machine.alice_does("lanyard --version").strip()

    new = property(lambda self: own_version(field(package("lanyard"), "Version")))


class Plain(Story):
    """Without a service manager: commands start the agent."""

    def test_programs_run_once_they_are_installed(self):
        self.install()
        self.assertEqual(self.versions(), (self.new, self.new))
        self.assertIn("(lanyard) v" + self.new, self.machine.alice_does("docker-credential-lanyard version"))
        for helper in HELPERS:
            self.assertEqual(self.machine.alice_does(f"readlink /usr/bin/{helper}-lanyard").strip(), "lanyard")

    def test_demo_runs(self):
        self.install()
        self.machine.alice_does("lanyard demo < /dev/null")

    def test_first_sign_in_of_an_ordinary_user(self):
        self.install()
        issuer = self.provider()
        self.sign_in(issuer)
        self.token_works(issuer)
        python = "import lanyard; print(lanyard.Client().token.get(account='work').token_type)"
        self.assertEqual(self.machine.alice_does(f'python3 -c "{python}"').strip(), "Bearer")

    def test_upgrade_with_a_running_agent_keeps_accounts_and_is_told(self):
        self.install("/older")
        issuer = self.provider()
        self.sign_in(issuer)
        before = self.machine.alice_does("lanyard list --json")
        self.install()
        # The old agent goes on, and serves the new command line.
        self.assertEqual(self.versions(), ("0.9.0", self.new))
        self.token_works(issuer)
        told = self.machine.alice_does("lanyard doctor", check=False).stdout
        self.assertIn(f"The agent has version 0.9.0, this program {self.new}.", told)
        self.assertIn("`lanyard stop` ends it; the next command starts this version.", " ".join(told.split()))
        self.machine.alice_does("lanyard stop")
        self.assertEqual(self.versions(), (self.new, self.new))
        self.token_works(issuer)
        self.assertIn("work", accounts(before))
        self.assertEqual(accounts(self.machine.alice_does("lanyard list --json")), accounts(before))

    def test_refresh_in_flight_survives_the_end_of_the_old_agent(self):
        self.install("/older")
        issuer = self.provider("--rotation", "strict")
        self.sign_in(issuer)
        self.install()
        post(issuer, "faults", '{"path":"/token","effect":"none","delayMilliseconds":1500}')
        asked = counts(issuer)
        renewal = self.machine.alice_starts("lanyard", "token", "work", "--force")
        self.addCleanup(renewal.stdout.close)
        wait(lambda: counts(issuer) > asked, "the refresh token is on its way")
        self.assertIsNone(renewal.poll())
        self.machine.alice_does("lanyard stop")
        renewal.wait()
        self.assertEqual(self.versions(), (self.new, self.new))
        # With strict rotation a second use of the old refresh token would end the session.
        self.machine.alice_does("lanyard token work --force")
        self.token_works(issuer)

    def test_remove_and_purge_keep_what_is_alices_and_nothing_else(self):
        before = self.files()
        self.install()
        issuer = self.provider()
        self.sign_in(issuer)
        self.everything_serves()
        self.machine.root_does("apt-get --quiet remove --yes lanyard lanyard-demo python3-lanyard")
        self.everything_ends(seconds=0)
        self.assertEqual(self.machine.root_does("find /run/user /tmp -name '*lanyard*'"), "")
        self.assertNotEqual(self.machine.alice_does("command -v lanyard", check=False).returncode, 0)
        state = self.alices()
        self.assertIn("/home/alice/.local/state/lanyard", state)
        self.machine.root_does("apt-get --quiet purge --yes lanyard lanyard-demo python3-lanyard")
        self.assertEqual(self.files(), before)
        self.assertEqual(self.alices(), state)
        self.install()
        self.token_works(issuer)

    def files(self):
        return files_besides_notes(self.machine)

    def alices(self):
        found = self.machine.root_does("find /home/alice/.local /home/alice/.config -printf '%p %s %T@\\n' | sort")
        return found


class Session(Story):
    """Under systemd: its socket starts the agent."""

    kind = BootedMachine

    @classmethod
    def setUpClass(cls):
        if not shutil.which("systemd-nspawn"):
            raise unittest.SkipTest("NOT TESTED: systemd-nspawn is not installed")
        super().setUpClass()

    def setUp(self):
        super().setUp()
        # A session knows the units that were there when it began.
        self.machine.log_out()
        self.addCleanup(self.machine.log_in)

    def begin(self, directory="/packages"):
        self.install(directory)
        self.machine.log_in()

    def active(self, unit):
        return self.machine.alice_does(f"systemctl --user is-active {unit}", check=False).stdout.strip()

    # Connects and says nothing more: this client starts no agent.
    call = "import lanyard; print(lanyard.Client(start=False).agent.status().version)"

    def call_version(self):
        return self.machine.alice_does(f'python3 -c "{self.call}"').strip()

    def test_first_client_starts_the_agent_of_the_unit(self):
        self.begin()
        self.assertEqual(self.active("lanyard.socket"), "active")
        self.assertEqual(self.active("lanyard.service"), "inactive")
        self.assertEqual(self.call_version(), self.new)
        self.assertEqual(self.active("lanyard.service"), "active")

    def test_agent_starts_where_user_namespaces_are_refused(self):
        drop_in = "/etc/systemd/system/user@.service.d/refused.conf"
        self.machine.root_does(
            f"mkdir -p {os.path.dirname(drop_in)} && printf '[Service]\\nRestrictNamespaces=~user\\n' > {drop_in} && "
            "systemctl daemon-reload")
        self.addCleanup(self.machine.root_does, f"rm {drop_in} && systemctl daemon-reload")
        self.begin()
        self.assertEqual(self.call_version(), self.new)
        self.assertEqual(self.active("lanyard.service"), "active")
        process = self.machine.alice_does("systemctl --user show --property=MainPID --value lanyard.service").strip()
        namespaces = self.machine.root_does(f"readlink /proc/1/ns/user /proc/{process}/ns/user").split()
        self.assertEqual(namespaces[0], namespaces[1])

    def test_upgrade_leaves_the_agent_and_its_socket_starts_the_next(self):
        self.begin("/older")
        issuer = self.provider()
        self.sign_in(issuer)
        self.assertEqual(self.active("lanyard.service"), "active")
        self.install()
        self.assertEqual(self.versions(), ("0.9.0", self.new))
        self.token_works(issuer)
        self.machine.alice_does("lanyard stop")
        self.assertEqual(self.active("lanyard.socket"), "active")
        self.assertEqual(self.call_version(), self.new)
        self.assertEqual(self.active("lanyard.service"), "active")
        self.token_works(issuer)

    def test_unit_restarts_the_agent_without_a_loss(self):
        self.begin()
        issuer = self.provider()
        self.sign_in(issuer)
        self.machine.alice_does("systemctl --user restart lanyard.service")
        self.token_works(issuer)
        process = self.machine.alice_does("systemctl --user show --property=MainPID --value lanyard.service").strip()
        self.machine.alice_does(f"kill -KILL {process}")
        self.token_works(issuer)

    def test_socket_takes_over_from_an_agent_that_a_command_started(self):
        self.begin()
        self.machine.alice_does("systemctl --user stop lanyard.socket lanyard.service")
        issuer = self.provider()
        self.sign_in(issuer)
        self.assertEqual(self.active("lanyard.service"), "inactive")
        self.machine.alice_does("systemctl --user start lanyard.socket")
        self.token_works(issuer)
        self.assertEqual(self.active("lanyard.service"), "active")

    def test_agent_runs_with_the_sandbox(self):
        self.begin()
        self.machine.alice_does(
            "mkdir -p ~/.config/systemd/user/lanyard.service.d && "
            "cp /usr/share/lanyard/systemd/sandbox.conf ~/.config/systemd/user/lanyard.service.d && "
            "systemctl --user daemon-reload")
        issuer = self.provider()
        self.sign_in(issuer)
        self.token_works(issuer)
        process = self.machine.alice_does("systemctl --user show --property=MainPID --value lanyard.service").strip()
        status = self.machine.root_does(f"cat /proc/{process}/status")
        self.assertRegex(status, r"CapBnd:\s+0{16}\n")
        self.assertRegex(status, r"NoNewPrivs:\s+1\n")
        # The home is read-only but for the agent's own directories.
        mounts = self.machine.root_does(f"cat /proc/{process}/mountinfo")
        for line in mounts.splitlines():
            place, options = line.split()[4:6]
            if place.startswith("/home"):
                writable = place.endswith(("/.config/lanyard", "/.local/state/lanyard"))
                self.assertEqual(options.split(",")[0], "rw" if writable else "ro", line)

    def test_a_unit_gets_its_token_and_no_other_one(self):
        self.begin()
        self.sign_in(self.provider())
        self.machine.alice_does(
            "systemctl --user start lanyard-credential.socket && lanyard account set work --unit backup.service && "
            "mkdir -p ~/.config/systemd/user && for name in backup other; do printf '%s\\n' '[Service]' Type=oneshot "
            "LoadCredential=token:%t/lanyard/credential.sock "
            "'ExecStart=/bin/sh -c \"cp $$CREDENTIALS_DIRECTORY/token %t/%N\"' > ~/.config/systemd/user/$name.service; done && "
            "systemctl --user daemon-reload")
        self.machine.alice_does("systemctl --user start backup.service")
        told = self.machine.alice_does("cat $XDG_RUNTIME_DIR/backup")
        self.assertEqual(told, self.machine.alice_does("lanyard token work").strip())
        self.machine.alice_does("systemctl --user start other.service", check=False)
        self.assertEqual(self.machine.alice_does("cat $XDG_RUNTIME_DIR/other", check=False).stdout.strip("\n")[:2], "")

    def test_removal_ends_the_agent_and_purge_its_links(self):
        self.begin()
        self.assertEqual(self.call_version(), self.new)
        self.machine.root_does("apt-get --quiet remove --yes lanyard lanyard-demo")
        self.assertNotEqual(self.active("lanyard.service"), "active")
        self.assertNotEqual(self.active("lanyard.socket"), "active")
        self.machine.root_does("apt-get --quiet purge --yes lanyard")
        self.assertEqual(self.machine.root_does("find /etc /var/lib/systemd -name '*lanyard*'"), "")

    def test_socket_that_the_administrator_disabled_stays_disabled_after_an_upgrade(self):
        self.begin("/older")
        self.machine.root_does("systemctl --global disable lanyard.socket")
        self.install()
        told = self.machine.root_does("systemctl --global is-enabled lanyard.socket", check=False).stdout
        self.assertEqual(told.strip(), "disabled")


def accounts(text):
    """The ids and aliases in what `lanyard list --json` prints."""
    return sorted(re.findall(r'"(?:account|alias)":\s*"([^"]*)"', text))


def post(issuer, what, body):
    request = urllib.request.Request(
        f"{issuer}/practice/{what}", body.encode(), {"Content-Type": "application/json"})
    urllib.request.urlopen(request, timeout=PATIENCE_SECONDS).read()


def counts(issuer):
    """How many requests the token endpoint has got."""
    with urllib.request.urlopen(f"{issuer}/practice/requests", timeout=PATIENCE_SECONDS) as answer:
        return int((re.search(r'"/token":\s*([0-9]+)', answer.read().decode()) or [0, 0])[1])


del Story

if __name__ == "__main__":
    unittest.main()
