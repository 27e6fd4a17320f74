"""`lanyard sandbox`: a command that reaches servers through its proxy, and nothing else of this machine (docs/sandbox.md).

Each way out is an attempt of escapes.py. They run in one sandbox; what came of each is a test.
"""

import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
from typing import Any, Dict, List, Optional

from proxy_fixture import LANYARD, PATIENCE_SECONDS, ProxyFixture, Request, Response, certificates, program

ATTEMPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "escapes.py")
SECRET = "a-secret-of-the-environment"
MARK = "lanyard-sandbox-process-outside"


def can_unshare() -> bool:
    """False in a container that may not make user namespaces."""
    return subprocess.run(
        [program("bwrap", "bubblewrap"), "--ro-bind", "/", "/", "--unshare-all", "true"], capture_output=True).returncode == 0


class SandboxFixture(ProxyFixture):
    """`project` is the directory that a sandbox writes to; `place` is the home."""

    def setUp(self) -> None:
        if not can_unshare():
            self.skipTest("NOT TESTED: this machine does not let bwrap make namespaces")
        super().setUp()
        self.project = os.path.realpath(self.directory())

    def answer(self, request: Request) -> Response:
        if request.method == "POST":
            return Response(200, b"written\n")
        return super().answer(request)

    def sandbox(self, *words: str, before: "tuple[str, ...]" = (), status: Optional[int] = 0, input: str = "",
                cwd: Optional[str] = None, **environment: str) -> "subprocess.CompletedProcess[str]":
        self.token("work"), self.token("home")
        end = ["--", *words] if words else []
        ran = subprocess.run(
            [LANYARD, "sandbox", *before, *end], input=input, capture_output=True, text=True, timeout=PATIENCE_SECONDS,
            cwd=cwd or self.project, env=self.environment(**environment))
        shown = ran.stdout + ran.stderr
        if status is not None:
            self.assertEqual(ran.returncode, status, shown)
        for token in self._told:
            self.assertNotIn(token, shown)
        return ran

    def python(self, script: str, *words: str, **options: Any) -> str:
        return self.sandbox("python3", "-c", script, *words, **options).stdout

    def show(self, *words: str, **environment: str) -> Dict[str, Any]:
        shown: Dict[str, Any] = json.loads(self.sandbox(before=("--show", "--json", *words), **environment).stdout)
        return shown


class Escapes(SandboxFixture):
    """The outcomes are those of the first test's sandbox."""

    outcomes: Dict[str, str] = {}

    def setUp(self) -> None:
        if not Escapes.outcomes:
            super().setUp()
            Escapes.outcomes = self.attempt()
        elif not can_unshare():
            self.skipTest("NOT TESTED: this machine does not let bwrap make namespaces")

    def listener(self, family: int, address: Any) -> socket.socket:
        listening = socket.socket(family)
        self.addCleanup(listening.close)
        listening.bind(address)
        listening.listen()
        return listening

    def attempt(self) -> Dict[str, str]:
        home_file = self.write("notes", "private")
        self.write(".ssh/id_ed25519", "private")
        temporary = os.path.join(self.directory(), "file")
        with open(temporary, "w", encoding="utf-8") as file:
            file.write("private")
        os.symlink(home_file, os.path.join(self.project, "link-to-home"))
        abstract = f"lanyard-test-{os.getpid()}"
        self.listener(socket.AF_UNIX, "\0" + abstract)
        port = self.listener(socket.AF_INET, ("0.0.0.0", 0)).getsockname()[1]
        try:
            port6 = self.listener(socket.AF_INET6, ("::1", 0)).getsockname()[1]
        except OSError:
            port6 = port  # A machine without IPv6.
        other = subprocess.Popen(["sleep", "600"], env={"PATH": os.environ["PATH"], "MARK": MARK})
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect(("192.0.2.1", 9))
                address = probe.getsockname()[0]
            except OSError:
                address = "127.0.0.2"
        with open(os.path.join(self.project, "outside"), "w", encoding="utf-8") as file:
            json.dump({
                "agent": self.agent.socket, "abstract": abstract, "port": port, "port6": port6, "address": address,
                "mark": LANYARD + "-agent", "secret": SECRET, "home": self.place, "home_file": home_file, "pid": other.pid,
                "host": socket.gethostname(), "state": self.agent.state, "temporary": temporary}, file)
        shutil.copy(ATTEMPTS, self.project)
        runtime = os.path.join(self.directory(), SECRET)
        os.mkdir(runtime, 0o700)
        inherited = os.open(home_file, os.O_RDONLY)
        self.addCleanup(os.close, inherited)
        ran = subprocess.run(
            [LANYARD, "sandbox", "--", "python3", "escapes.py", "outside"], capture_output=True, text=True,
            timeout=PATIENCE_SECONDS, cwd=self.project, stdin=subprocess.DEVNULL, pass_fds=[inherited],
            env=self.environment(
                API_TOKEN=SECRET, AWS_SECRET_ACCESS_KEY=SECRET, SSH_AUTH_SOCK=self.agent.socket, XDG_RUNTIME_DIR=runtime,
                DBUS_SESSION_BUS_ADDRESS="unix:path=/" + SECRET, LANYARD_GRANT=SECRET, LANYARD_TOKEN_FILE="/" + SECRET))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIsNone(other.poll())
        outcomes: Dict[str, str] = json.loads(ran.stdout)
        return outcomes


# What the kernel says to each attempt. `nothing`: it finds nothing to take.
REFUSED = {
    "agent_socket": ["ENOENT"], "abstract_socket": ["ECONNREFUSED"], "port_of_this_machine": ["ECONNREFUSED"],
    "port_by_an_address_of_this_machine": ["ENETUNREACH", "ECONNREFUSED"],
    "ipv6_loopback": ["ECONNREFUSED", "EADDRNOTAVAIL", "EAFNOSUPPORT"],
    "ipv6_address": ["ENETUNREACH", "EADDRNOTAVAIL", "EAFNOSUPPORT"], "public_address": ["ENETUNREACH"],
    "dns_by_udp": ["ENETUNREACH"], "resolver": ["nothing"], "raw_socket": ["EPERM"], "packet_socket": ["EAFNOSUPPORT"],
    "vsock": ["EAFNOSUPPORT"], "bluetooth_socket": ["EAFNOSUPPORT"], "kernel_crypto_socket": ["EAFNOSUPPORT"],
    "interfaces": ["nothing"], "route_by_netlink": ["EPERM"], "processes_outside": ["nothing"],
    "environment_of_pid_1": ["nothing"], "files_by_pid_1": ["ENOENT", "EACCES", "EPERM"],
    "descriptors_of_pid_1": ["nothing", "EACCES", "EPERM"], "kill_outside": ["ESRCH"], "kill_all": ["nothing"],
    "ptrace_of_a_child": ["EPERM"], "ptrace_of_pid_1": ["EPERM"], "memory_of_a_child": ["EPERM"],
    "writing_to_a_childs_memory": ["EPERM"], "descriptor_of_pid_1": ["EPERM"], "pid_1_without_filter": ["nothing"],
    "setuid_program": ["nothing"], "capabilities": ["nothing"], "mount": ["EPERM"], "remount": ["EPERM"],
    "unmount": ["EPERM"], "pivot_root": ["EPERM"], "chroot": ["EPERM"], "unshare_user": ["EPERM"],
    "unshare_mounts": ["EPERM"], "namespaces_of_pid_1": ["EPERM", "EACCES"], "clone_with_a_namespace": ["EPERM"],
    "clone3_with_a_namespace": ["ENOSYS"], "new_mount_calls": ["EPERM"], "open_tree": ["EPERM"],
    "file_by_handle": ["EPERM"], "handle_of_a_file": ["EPERM"], "keyring": ["EPERM"], "key": ["EPERM"], "bpf": ["EPERM"],
    "perf": ["EPERM"], "userfaultfd": ["EPERM"], "io_uring": ["EPERM"], "kernel_module": ["EPERM"],
    "other_kernel": ["EPERM"], "calls_of_x32": ["EPERM"], "host_name": ["EPERM"], "typing_into_the_terminal": ["EPERM"],
    "selecting_in_the_terminal": ["EPERM"], "inherited_descriptors": ["nothing"], "environment": ["nothing"],
    "names_in_the_environment": ["nothing"], "file_of_the_home": ["ENOENT"], "ssh_keys": ["ENOENT"],
    "content_of_the_home": ["nothing"], "state_directory": ["ENOENT"], "directory_of_the_socket": ["ENOENT"],
    "link_out_of_the_directory": ["ENOENT"], "dots_out_of_the_directory": ["ENOENT"],
    "other_temporary_files": ["ENOENT"], "writing_to_usr": ["EROFS", "EACCES"], "writing_to_etc": ["EROFS", "EACCES"],
    "device_of_memory": ["ENOENT"], "kernel_log": ["ENOENT"], "disks": ["nothing"], "making_a_device": ["EPERM"],
    "sys_tree": ["ENOENT"], "kernel_settings": ["EROFS", "EACCES"], "sysrq": ["EROFS", "EACCES", "ENOENT"],
    "entry_is_read_only": ["EROFS", "EACCES", "ETXTBSY"],
}


def _attempt_test(name: str, outcomes: List[str]) -> Any:
    def test(self: Escapes) -> None:
        self.assertIn(self.outcomes.get(name, "not attempted"), outcomes)
    return test


for _name, _outcomes in REFUSED.items():
    setattr(Escapes, "test_" + _name, _attempt_test(_name, _outcomes))


class EveryAttempt(unittest.TestCase):
    def test_every_attempt_has_its_test(self) -> None:
        with open(ATTEMPTS, encoding="utf-8") as file:
            lines = file.read().splitlines()
        helpers = {"call", "checked", "connect", "read", "write", "make", "with_terminal", "with_child", "main"}
        defined = {line[4:line.index("(")] for line in lines if line.startswith("def ")} - helpers
        self.assertEqual(defined, set(REFUSED))
        self.assertGreaterEqual(len(defined), 30)


class InTheSandbox(SandboxFixture):
    """What a command in it does."""

    def test_curl_gets_the_accounts_token_and_never_sees_it(self) -> None:
        told = self.sandbox("sh", "-c", f"curl -sS {self.api.origin}/in; env").stdout
        self.assertTrue(told.startswith("hello\n"), told)
        self.assertEqual(self.api.tokens(), [self.token("work")])

    def test_python_goes_through_the_proxy(self) -> None:
        script = "import sys, urllib.request as r; sys.stdout.write(r.urlopen(sys.argv[1]).read().decode())"
        self.assertEqual(self.python(script, self.api.origin + "/in"), "hello\n")

    def test_a_grant_decides(self) -> None:
        self.grant("reader", agent=True)
        told = self.sandbox(
            "sh", "-c", f"curl -sS {self.api.origin}/in; curl -sS -X POST -d x {self.api.origin}/write",
            before=("--grant", "reader")).stdout
        self.assertIn("hello\n", told)
        self.assertIn("does not cover this request", told)
        self.assertEqual([request.method for request in self.api.requests], ["GET"])

    def test_a_named_account_is_told_and_recorded(self) -> None:
        told = self.sandbox("sh", "-c", "echo $LANYARD_ACCOUNT", before=("-u", "work")).stdout
        self.assertRegex(told, r"^acc_\w+\n$")
        self.assertEqual([entry["facts"]["program"] for entry in self.audited("exec.begin")], ["sh"])

    def test_the_variable_and_then_the_trusted_file_are_preferred(self) -> None:
        def sent(**environment: str) -> List[str]:
            self.api.requests.clear()
            self.sandbox("curl", "-sS", self.api.origin, **environment)
            return self.api.tokens()

        self.assertEqual(sent(LANYARD_ACCOUNT="home"), [self.token("home")])
        with open(os.path.join(self.project, ".lanyard"), "w", encoding="utf-8") as file:
            file.write("home\n")
        self.tool(LANYARD, "trust", self.project)
        self.assertEqual(sent(), [self.token("home")])
        self.assertEqual(sent(LANYARD_ACCOUNT="work"), [self.token("work")])

    def test_a_named_origin_passes_without_a_token(self) -> None:
        other = self.server(lambda request: Response(200, b"other\n"))
        ran = self.sandbox("curl", "-sS", other.origin, before=("--pass", other.origin))
        self.assertEqual((ran.stdout, other.tokens()), ("other\n", []))

    def test_another_origin_is_refused(self) -> None:
        other = self.server(lambda request: Response(200, b"other\n"))
        self.sandbox("curl", "-sS", other.origin, status=56)
        self.assertEqual(other.requests, [])

    def test_without_a_network_there_is_no_proxy(self) -> None:
        told = self.sandbox("sh", "-c", "env; curl -sS http://127.0.0.1:3128/ 2>&1; true", before=("--no-network",)).stdout
        self.assertNotIn("proxy", told.lower().replace("no-network", ""))
        self.assertIn("curl: (7)", told)

    def test_exit_codes_are_the_commands(self) -> None:
        self.sandbox("sh", "-c", "exit 7", before=("--no-network",), status=7)
        self.sandbox("no-such-program", before=("--no-network",), status=127)
        self.sandbox("/etc/passwd", before=("--no-network",), status=126)
        self.sandbox("sh", "-c", "kill -TERM $$", before=("--no-network",), status=128 + signal.SIGTERM)
        self.sandbox("sh", "-c", "exit 7", status=7)

    def test_a_signal_reaches_the_command(self) -> None:
        script = "import os, signal; signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b'term\\n'), os._exit(3)));" \
                 "print('ready', flush=True); signal.pause()"
        with subprocess.Popen(
                [LANYARD, "sandbox", "--", "python3", "-c", script], stdout=subprocess.PIPE, text=True, cwd=self.project,
                env=self.environment()) as process:
            assert process.stdout is not None
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.stdout.read(), "term\n")
            self.assertEqual(process.wait(PATIENCE_SECONDS), 3)

    def test_the_command_ends_with_a_killed_lanyard(self) -> None:
        mark = os.path.join(self.project, "alive")
        script = f"while :; do date > {mark}; sleep 0.1; done"
        process = subprocess.Popen([LANYARD, "sandbox", "--", "sh", "-c", script], cwd=self.project, env=self.environment())
        end = time.monotonic() + PATIENCE_SECONDS
        while not os.path.exists(mark) and time.monotonic() < end:
            time.sleep(0.05)
        process.kill()
        process.wait(PATIENCE_SECONDS)
        time.sleep(0.5)
        os.remove(mark)
        time.sleep(0.5)
        self.assertFalse(os.path.exists(mark))

    def test_input_and_output_are_pipes_as_without(self) -> None:
        ran = self.sandbox("sh", "-c", "cat; echo err >&2", before=("--no-network",), input="in\n")
        self.assertEqual((ran.stdout, ran.stderr), ("in\n", "err\n"))

    def test_the_current_directory_is_written_and_the_rest_is_not_kept(self) -> None:
        self.sandbox("sh", "-c", "echo a > file; echo b > ~/b; echo c > /tmp/c; pwd", before=("--no-network",))
        with open(os.path.join(self.project, "file"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "a\n")
        self.assertFalse(os.path.exists(os.path.join(self.place, "b")))

    def test_named_directories_are_read_and_written(self) -> None:
        read, written = (os.path.join(self.place, name) for name in ("read", "written"))
        for path in (read, written):
            os.mkdir(path)
        self.write("read/file", "content\n")
        ran = self.sandbox(
            "sh", "-c", f"cat {read}/file; echo x > {written}/new; echo x > {read}/new",
            before=("--no-network", "--read", read, "--write", written), status=None)
        self.assertEqual((ran.stdout, os.listdir(read), os.listdir(written)), ("content\n", ["file"], ["new"]))
        self.assertIn("Read-only file system", ran.stderr)

    def test_a_file_may_be_read_alone(self) -> None:
        path = self.write("alone", "content\n")
        self.write("beside", "other\n")
        ran = self.sandbox(
            "sh", "-c", f"cat {path}; ls {self.place}", before=("--no-network", "--read", path))
        self.assertEqual(ran.stdout, "content\nalone\n")

    def test_a_written_directory_within_a_read_one_stays_written(self) -> None:
        inner = os.path.join(self.project, "inner")
        os.mkdir(inner)
        self.sandbox("touch", "a", before=("--no-network", "--read", self.project), cwd=inner)
        self.assertEqual(os.listdir(inner), ["a"])

    def test_variables_by_name_only(self) -> None:
        told = self.sandbox(
            "env", before=("--no-network", "--env", "WANTED"), WANTED="yes", UNWANTED="no", LC_TIME="C").stdout.splitlines()
        self.assertIn("WANTED=yes", told)
        self.assertIn("LC_TIME=C", told)
        self.assertNotIn("UNWANTED=no", told)
        self.sandbox("env", before=("--env", "A=b"), status=2)

    def test_a_key_has_a_placeholder(self) -> None:
        self.key("https://service.example", environment=["SERVICE_API_KEY"])
        words = ("sh", "-c", "echo $SERVICE_API_KEY")
        self.assertRegex(self.sandbox(*words).stdout, r"^lanyard-acc_\w+\n$")
        self.assertEqual(self.sandbox(*words, before=("--no-placeholders",)).stdout, "\n")
        named = self.sandbox(*words, before=("--env", "SERVICE_API_KEY"), SERVICE_API_KEY="own")
        self.assertEqual(named.stdout, "own\n")
        self.assertIn("SERVICE_API_KEY", self.show()["env"])
        self.assertNotIn("SERVICE_API_KEY", self.show("--no-placeholders")["env"])

    def test_no_agent_is_started_within(self) -> None:
        self.assertIn("LANYARD_NO_START=1\n", self.sandbox("env", before=("--no-network",)).stdout)

    def test_a_command_of_lanyard_within_says_where_it_is(self) -> None:
        lanyard = os.path.realpath(LANYARD)
        told = self.sandbox(lanyard, "status", before=("--no-network", "--read", os.path.dirname(lanyard)), status=3).stderr
        self.assertIn("In `lanyard sandbox` there is no agent: its proxy adds tokens to requests.", told)
        self.assertNotIn("A login session", told)


class Refusals(SandboxFixture):
    """What is refused before anything starts."""

    def refused(self, *before: str, cwd: Optional[str] = None, **environment: str) -> str:
        ran = self.sandbox("touch", os.path.join(self.project, "ran"), before=before, status=2, cwd=cwd, **environment)
        self.assertFalse(os.path.exists(os.path.join(self.project, "ran")))
        return ran.stderr

    def test_a_command_is_named_as_advised(self) -> None:
        told = self.sandbox(before=("--no-network",), status=2).stderr
        self.assertIn("`lanyard sandbox -- COMMAND`", told)
        self.sandbox("true", before=("--no-network",))

    def test_the_home_is_no_project(self) -> None:
        told = self.refused(cwd=self.place)
        self.assertIn("your home", told)
        self.assertIn("Start it in a project's directory.", told)
        self.refused(cwd=os.path.dirname(os.path.realpath(self.place)))

    def test_the_home_is_not_shown_by_an_option(self) -> None:
        for option in ("--read", "--write"):
            self.assertIn("your home", self.refused(option, self.place))
            self.assertIn("your home", self.refused(option, "/"))

    def test_a_link_to_the_home_is_the_home(self) -> None:
        os.symlink(self.place, os.path.join(self.project, "link"))
        self.assertIn("your home", self.refused("--read", "link"))

    def test_the_home_of_the_user_database_is_a_home_whatever_the_variable_names(self) -> None:
        home = os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir)
        if home == "/" or not os.access(home, os.X_OK):
            self.skipTest("NOT TESTED: this user has no home")
        self.assertIn("your home", self.refused(cwd=home))
        for option in ("--read", "--write"):
            self.assertIn("your home", self.refused(option, home))
            self.assertIn("your home", self.refused(option, os.path.dirname(home)))

    def test_the_machines_temporary_files_are_not_shown(self) -> None:
        """/tmp holds the home of this test, so that its refusal is another one."""
        told = self.refused(cwd="/var/tmp")
        self.assertIn("The current directory is /var/tmp, and a sandbox has its own.", told)
        self.assertIn("Start it in a project's directory. A directory below /var/tmp may be shown.", told)
        for option in ("--read", "--write"):
            self.assertIn("is /var/tmp, and a sandbox has its own", self.refused(option, "/var/tmp"))
            self.assertIn("holds /var/tmp, and a sandbox has its own", self.refused(option, "/var"))
            self.refused(option, "/tmp")
        below = tempfile.mkdtemp(dir="/var/tmp")
        self.addCleanup(shutil.rmtree, below)
        self.sandbox("touch", "a", before=("--no-network",), cwd=below)
        self.assertEqual(os.listdir(below), ["a"])

    def test_nothing_of_lanyard_is_shown(self) -> None:
        configuration = os.path.join(self.place, ".config", "lanyard")
        os.makedirs(configuration)
        self.assertIn("the agent's socket", self.refused("--read", os.path.dirname(self.agent.socket)))
        self.assertIn("the agent's accounts", self.refused("--read", self.agent.state, LANYARD_STATE_DIR=self.agent.state))
        self.assertIn("Lanyard's configuration", self.refused("--read", configuration))
        # Of an agent that was told another directory than this program.
        os.symlink(self.agent.state, os.path.join(self.project, "accounts"))
        for path in (self.agent.state, os.path.join(self.agent.state, "lanyard.sqlite"), "accounts", "/proc/self/root" + self.agent.state):
            self.assertIn("agent's accounts", self.refused("--read", path))
        self.assertIn("agent's accounts", self.refused("--write", self.agent.state))
        # Of one that does not run.
        other = self.directory()
        self.write(os.path.join(other, "lanyard.sqlite"), "")
        self.assertIn("an agent's accounts", self.refused("--read", other))
        # What only holds it, without a variable that names it: the running agent tells.
        holder = os.path.dirname(os.path.realpath(self.agent.state))
        self.assertIn("the agent's accounts", self.refused("--read", holder))
        self.assertIn("Lanyard's configuration", self.refused("--write", os.path.dirname(configuration)))
        for option in ("--read", "--write"):
            self.assertIn("the administrator's files", self.refused(option, "/etc"))

    def test_no_socket_of_the_session_is_shown(self) -> None:
        """A mount that is only read keeps no program from connecting to a socket."""
        runtime, keys = os.path.realpath(self.directory()), os.path.realpath(self.directory())
        for path in (os.path.join(runtime, "bus"), os.path.join(keys, "agent.1")):
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(path)
        named = {"XDG_RUNTIME_DIR": runtime, "SSH_AUTH_SOCK": os.path.join(keys, "agent.1"),
                 "DBUS_SESSION_BUS_ADDRESS": f"unix:path={runtime}/bus,guid=1"}
        for option in ("--read", "--write"):
            for path in (runtime, keys, "/run"):
                self.assertIn("would show", self.refused(option, path, **named))
        self.assertIn("the sockets of your session", self.refused("--read", os.path.join(runtime, "bus"), **named))
        self.assertIn("the socket of your SSH agent", self.refused("--read", os.path.join(keys, "agent.1"), **named))
        self.assertIn("your message bus", self.refused("--read", runtime, **{**named, "XDG_RUNTIME_DIR": "/nonexistent"}))

    def test_what_is_not_there_is_named(self) -> None:
        self.assertIn("No such file", self.refused("--read", "missing"))
        self.assertIn("is no directory", self.refused("--write", self.write("file", "")))

    def test_processes_of_the_machine_are_not_shown(self) -> None:
        self.assertIn("/proc", self.refused("--read", "/proc"))

    def test_without_a_command_nothing_starts(self) -> None:
        self.sandbox(status=2)

    def test_no_network_and_a_pass_are_a_mistake(self) -> None:
        self.assertIn("--no-network", self.refused("--no-network", "--pass", "https://a.example"))

    def test_missing_bubblewrap_is_named(self) -> None:
        folder = self.directory()
        os.symlink(shutil.which("touch") or "/usr/bin/touch", os.path.join(folder, "touch"))
        told = self.sandbox("touch", "ran", status=1, PATH=folder).stderr
        self.assertIn("bwrap is not installed", told)
        self.assertIn("bubblewrap", told)
        # Also where the directory would be refused.
        self.assertIn("bwrap is not installed", self.sandbox("touch", "ran", status=1, PATH=folder, cwd=self.place).stderr)
        self.assertFalse(os.path.exists(os.path.join(self.project, "ran")))


class Shown(SandboxFixture):
    def test_show_tells_what_would_be_allowed_and_starts_nothing(self) -> None:
        other = "https://other.example"
        shown = self.show("--pass", other, "--env", "WANTED", WANTED="yes", API_TOKEN="no")
        self.assertEqual(shown["write"], [self.project])
        self.assertIn("/usr", shown["read"])
        self.assertEqual((shown["origins"], shown["passOrigins"]), ([self.api.origin], [other]))
        self.assertIn("WANTED", shown["env"])
        self.assertIn("https_proxy", shown["env"])
        self.assertNotIn("API_TOKEN", shown["env"])

    def test_show_in_words_fits_a_terminal(self) -> None:
        told = self.sandbox(before=("--show", "--profile", "python")).stdout
        self.assertIn("https://pypi.org", told)
        self.assertIn(self.project, told)
        self.assertEqual([line for line in told.splitlines() if len(line) > 100 and "/" not in line], [])

    def test_show_needs_no_bubblewrap_and_no_network(self) -> None:
        shown = self.show("--no-network")
        self.assertEqual((shown["network"], shown["origins"]), (False, []))
        self.assertNotIn("https_proxy", shown["env"])


class Profiles(SandboxFixture):
    def profile(self, name: str, value: Any) -> None:
        self.write(f".config/lanyard/sandbox/{name}.json", value)

    def test_every_built_in_profile_is_understood(self) -> None:
        for name in ("claude", "codex", "gemini", "node", "python"):
            shown = self.show("--profile", name)
            self.assertTrue(shown["passOrigins"], name)
            self.assertTrue(all(origin.startswith("https://") for origin in shown["passOrigins"]), name)
            self.assertTrue(shown["keep"], name)

    def test_kept_directories_are_there_in_the_next_run(self) -> None:
        self.profile("tool", {"keep": ["~/.cache/tool"], "set": {"TOOL_HOME": "~/.cache/tool"}})
        words = ("sh", "-c", "cat $TOOL_HOME/file 2> /dev/null; echo kept > ~/.cache/tool/file")
        before = ("--no-network", "--profile", "tool")
        self.assertEqual(self.sandbox(*words, before=before).stdout, "")
        self.assertEqual(self.sandbox(*words, before=before).stdout, "kept\n")
        stored = os.path.join(self.place, ".cache", "lanyard", "sandbox", "tool", ".cache", "tool")
        self.assertEqual((os.listdir(stored), os.stat(stored).st_mode & 0o777), (["file"], 0o700))

    def test_a_persons_own_profile_wins(self) -> None:
        self.profile("python", {"pass": ["https://index.example"]})
        self.assertEqual(self.show("--profile", "python")["passOrigins"], ["https://index.example"])

    def test_an_origin_of_an_account_gets_its_token_and_does_not_pass(self) -> None:
        self.profile("tool", {"pass": [self.api.origin, "https://index.example"]})
        shown = self.show("--profile", "tool")
        self.assertEqual((shown["origins"], shown["passOrigins"]), ([self.api.origin], ["https://index.example"]))

    def test_a_grant_narrows_a_profile(self) -> None:
        self.profile("tool", {"pass": ["https://a.example", "https://b.example"]})
        self.grant("narrow", passOrigins=["https://a.example"])
        ran = self.sandbox(before=("--show", "--json", "--grant", "narrow", "--profile", "tool"))
        self.assertEqual(json.loads(ran.stdout)["passOrigins"], ["https://a.example"])
        self.assertIn("https://b.example", ran.stderr)
        self.assertIn("`lanyard help grant create`", ran.stderr)
        self.assertEqual(ran.stderr.count("https://b.example"), 1)

    def test_mistakes_in_a_profile_are_told(self) -> None:
        for value, told in (
                ("{", "no JSON"), ([], "no JSON object"), ({"passes": []}, "passes is no member of a profile: those are env, keep, pass, read, set, write"), ({"pass": "x"}, "no list"),
                ({"keep": ["/etc"]}, "below the home"), ({"keep": ["~/../x"]}, "below the home"), ({"read": ["x"]}, "begins with"),
                ({"env": ["A=b"]}, "no name of a variable"), ({"set": {"A": 1}}, "no variable with a text")):
            self.profile("bad", value)
            ran = self.sandbox("true", before=("--no-network", "--profile", "bad"), status=1)
            self.assertIn(told, ran.stderr)

    def test_a_profile_that_others_can_write_is_not_used(self) -> None:
        self.profile("open", {})
        os.chmod(os.path.join(self.place, ".config/lanyard/sandbox/open.json"), 0o666)
        self.assertIn("other users can write it", self.sandbox("true", before=("--profile", "open"), status=1).stderr)

    def test_a_profile_shows_no_home(self) -> None:
        self.profile("wide", {"read": ["~/."]})
        self.assertIn("your home", self.sandbox("true", before=("--profile", "wide"), status=2).stderr)

    def test_an_unknown_profile_is_named_with_those_that_are_there(self) -> None:
        told = self.sandbox("true", before=("--profile", "pyton"), status=2).stderr
        self.assertIn("Did you mean python?", told)
        self.sandbox("true", before=("--profile", "../x"), status=2)


if __name__ == "__main__":
    unittest.main()
