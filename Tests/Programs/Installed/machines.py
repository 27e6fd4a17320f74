"""Machines for what is installed: root file systems with a bare Debian in them, and a person, alice.

`Machine` is entered by chroot; `BootedMachine` is booted by systemd-nspawn, so that a real systemd runs the units of a
person. Both need root.
"""

import glob
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.request

# Machines are some hundred megabytes, so the first one is kept here and copied.
PLACE = os.environ.get("LANYARD_MACHINES", "/var/tmp/lanyard-packages")
SUITE = os.environ.get("LANYARD_SUITE", "bookworm")
PATIENCE_SECONDS = 30
# `WatchedFile.longestUpgrade`.
LONGEST_UPGRADE_SECONDS = 30


def run(*words, **more):
    """Runs a program of this machine that must succeed, and returns what it printed."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(words)}: {done.returncode}\n{done.stdout}")
    return done.stdout


class Machine:
    """A root file system of its own, entered through a process that holds its namespaces."""

    def __init__(self, kind, *further, suite=SUITE, path="/usr/bin:/bin"):
        """`path` is where alice looks for programs."""
        self.root = os.path.join(PLACE, f"{kind}-{os.getpid()}")
        self.path = path
        run("cp", "-a", base(*further, suite=suite), self.root)
        self.holder = None

    def hold(self, *words):
        self.holder = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait(self.children, "the machine has its first process")

    def children(self):
        with open(f"/proc/{self.holder.pid}/task/{self.holder.pid}/children") as file:
            return file.read().split()

    @property
    def leader(self):
        """The first process of the machine. Before it systemd-nspawn has a child that ends soon."""
        return (self.children() or ["0"])[-1]

    def start(self):
        # The leader reaps the processes whose parents have ended.
        self.hold(
            "unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c",
            f"mount --rbind /dev {self.root}/dev && mount -t proc proc {self.root}/proc && "
            f"exec chroot {self.root} bash -c 'touch /run/ready; sleep infinity & wait'")
        wait(lambda: os.path.exists(f"{self.root}/run/ready"), "the machine is ready")
        self.root_does("install -d -m 700 -o alice -g alice /run/user/1000")

    def enter(self, words, script, check):
        done = subprocess.run(
            ["nsenter", "--target", self.leader, *words, "sh", "-c", script], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        if check and done.returncode != 0:
            raise AssertionError(f"{script}: {done.returncode}\n{done.stdout}")
        return done.stdout if check else done

    namespaces = ("--mount", "--pid", "--root", "--wd")

    def root_does(self, script, check=True):
        environment = [
            "HOME=/root", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive",
        ]
        return self.enter([*self.namespaces, "env", "-i", *environment], script, check)

    def alice_command(self):
        return [
            *self.namespaces, "setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "env", "-i",
            "HOME=/home/alice", "USER=alice", "LOGNAME=alice", f"PATH={self.path}", "LC_ALL=C.UTF-8",
            "XDG_RUNTIME_DIR=/run/user/1000",
        ]

    def alice_does(self, script, check=True):
        return self.enter(self.alice_command(), f"cd && {script}", check)

    def alice_starts(self, *words):
        return subprocess.Popen(
            ["nsenter", "--target", self.leader, *self.alice_command(), *words], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def stop(self):
        if self.holder is not None:
            self.holder.send_signal(signal.SIGTERM)
            try:
                self.holder.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                self.holder.kill()
                self.holder.wait()
        run("rm", "-rf", "--one-file-system", self.root)


class BootedMachine(Machine):
    """A machine with systemd, and a lingering session of alice."""

    namespaces = ("--mount", "--uts", "--ipc", "--pid", "--cgroup", "--root", "--wd")

    def __init__(self, *further, **more):
        super().__init__("session", "systemd-sysv", "libpam-systemd", "dbus-user-session", *further, **more)

    def start(self):
        self.hold(
            "systemd-nspawn", "--quiet", "--register=no", "--keep-unit", f"--directory={self.root}", "--boot",
            f"--machine=lanyard-{os.getpid()}", "--console=pipe")
        wait(lambda: self.root_does("systemctl is-system-running", check=False).stdout.strip() in
             ("running", "degraded"), "the machine has booted")
        self.log_in()

    def log_in(self):
        self.root_does("loginctl enable-linger alice; systemctl start user@1000.service")
        wait(lambda: self.alice_does("systemctl --user is-system-running", check=False).stdout.strip() in
             ("running", "degraded"), "alice has a session")

    def log_out(self):
        self.root_does("systemctl stop user@1000.service")


def wait(condition, what):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"in vain: {what}")
        time.sleep(0.02)
    return found


def base(*further, suite=SUITE):
    """A machine with the packages `further`, and a person. It is made once."""
    place = os.path.join(PLACE, "-".join(["base", suite, *further]))
    if os.path.exists(place + ".done"):
        return place
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(PLACE, exist_ok=True)
    if further:
        run("cp", "-a", base(suite=suite), place)
    else:
        run("debootstrap", "--variant=minbase", suite, place)
        # The machine finds packages where this one does.
        shutil.copy("/etc/resolv.conf", f"{place}/etc/resolv.conf")
        for name in glob.glob("/etc/apt/apt.conf.d/*"):
            with open(name) as file:
                if file.read().startswith("Acquire"):
                    shutil.copy(name, f"{place}/etc/apt/apt.conf.d/")
        run("chroot", place, "useradd", "--create-home", "--shell=/bin/bash", "--uid=1000", "alice")
    run("chroot", place, "sh", "-c",
        "apt-get --quiet update && apt-get --quiet install --yes --no-install-recommends init-system-helpers "
        + " ".join(further), env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"})
    with open(place + ".done", "w"):
        return place


class AliceAtPractice:
    """For a `TestCase` with a `machine`: alice signs in at a practice provider of hers."""

    def provider(self, *options):
        """It runs from a copy: one whose program is removed ends."""
        self.machine.alice_does("cp --dereference --remove-destination $(command -v lanyard-demo) practice")
        return self.serves("/home/alice/practice", "provider", "--auto-approve", "alice", *options)

    def serves(self, *words):
        """Starts a program that serves, and returns the first line that it prints."""
        process = self.machine.alice_starts(*words)
        self.addCleanup(process.wait)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.terminate)
        return process.stdout.readline().strip()

    def everything_serves(self):
        """What serves beside the agent, until it is ended. The collector of the export is not there, so it tries again."""
        self.machine.alice_does(
            "mkdir -p -m 700 figures && lanyard provider update practice --allowed-origin https://api.example")
        for words in (
            ("lanyard", "proxy", "--account", "work"), ("lanyard", "ui", "--no-browser"),
            ("lanyard", "export", "syslog", "--socket", "/home/alice/no-collector"), ("lanyard-demo", "provider"),
            ("lanyard", "metrics", "--listen", "/home/alice/figures/socket"),
        ):
            self.assertNotEqual(self.serves(*words), "", words)
        names = {"lanyard-agent", "lanyard-proxy", "lanyard-web", "lanyard-export", "lanyard-demo", "lanyard-cli"}
        wait(lambda: names <= set(self.processes()), f"{names} run")

    def processes(self):
        """The names of Lanyard's processes on the machine."""
        found = self.machine.root_does("cat /proc/[0-9]*/comm 2> /dev/null || true").split()
        return [name for name in found if name.startswith("lanyard")]

    def everything_ends(self, seconds=LONGEST_UPGRADE_SECONDS + 30):
        """A process whose program is gone waits for the length of an upgrade, and ends."""
        deadline = time.monotonic() + seconds
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.5)
        self.assertEqual(self.processes(), [])
        self.assertEqual(self.machine.root_does("find /run/user /tmp -name start.lock -o -name agent.sock"), "")

    def sign_in(self, issuer):
        """Alice signs in by a page, in a browser of hers: the agent answers no other user.

        The browser is this machine's Python: a bare one has none.
        """
        self.machine.alice_does(
            f"lanyard provider add practice --issuer {issuer} --client-id lanyard-demo --tenant-claim tid")
        process = self.machine.alice_starts(
            "timeout", str(PATIENCE_SECONDS), "lanyard", "login", "practice", "--alias", "work", "--no-browser")
        said = ""
        for line in process.stdout:
            said += line
            if page := re.search(r"http://\S+/authorize\S+", line):
                self.browse(page[0])
        process.stdout.close()
        self.assertEqual(process.wait(), 0, said)
        self.assertIn("Signed in: Alice Archer <alice@acme.example> at practice", said)

    def browse(self, page):
        """Opens a page as alice does."""
        program = f"import urllib.request; urllib.request.urlopen('{page}', timeout=20).read()"
        run("setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "python3", "-c", program)

    def token_works(self, issuer):
        token = self.machine.alice_does("lanyard token work").strip()
        request = urllib.request.Request(f"{issuer}/protected", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            self.assertEqual(answer.status, 200)
