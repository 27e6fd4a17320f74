"""The agent confines itself: from inside its process, foreign files, other programs and dangerous system calls are out of
reach, and the broker does for it what it needs.
"""

import contextlib
import ctypes
import errno
import json
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

from agent_fixture import PATIENCE_SECONDS, AgentFixture, raw, request

IS_ROOT = os.geteuid() == 0
LIBC = ctypes.CDLL(None, use_errno=True)
HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "..", "..", "..", "Sources", "Foreign", "CConfinement")
MACHINE = platform.machine()

# Numbers of calls, on x86-64 and on 64-bit ARM.
CALLS = {
    "execve": (59, 221), "execveat": (322, 281), "ptrace": (101, 117), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "userfaultfd": (323, 282), "bpf": (321, 280), "perf_event_open": (298, 241),
    "mount": (165, 40), "umount2": (166, 39), "setns": (308, 268), "unshare": (272, 97), "chroot": (161, 51),
    "open_by_handle_at": (304, 265), "init_module": (175, 105), "kexec_load": (246, 104), "personality": (135, 92),
    "setuid": (105, 146), "setgroups": (116, 159), "capset": (126, 91), "request_key": (249, 218), "reboot": (169, 142),
    "clock_settime": (227, 112), "mknodat": (259, 33), "syslog": (103, 116), "tkill": (200, 130),
}
NUMBER = {name: numbers[0 if MACHINE == "x86_64" else 1] for name, numbers in CALLS.items()}
CLONE, KILL, KEYCTL, MPROTECT, MMAP, GETPID = (56, 62, 250, 10, 9, 39) if MACHINE == "x86_64" else (220, 129, 219, 226, 222, 172)
MEMFD_CREATE, PRLIMIT64, FCNTL = (319, 302, 72) if MACHINE == "x86_64" else (279, 261, 25)
F_SETOWN = 8
SOCKET, PRCTL, IOCTL, CLONE3, TGKILL = (41, 157, 16, 435, 234) if MACHINE == "x86_64" else (198, 167, 29, 435, 131)


def landlock_version():
    return max(0, LIBC.syscall(444, None, ctypes.c_size_t(0), 1))


def status_of(pid, name):
    with open(f"/proc/{pid}/status") as file:
        return re.search(rf"^{name}:\s*(.*)$", file.read(), re.M).group(1)


def brokers_of(agent):
    """The broker's process, a child of the agent."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if status_of(pid, "Name") == "lanyard-broker" and int(status_of(pid, "PPid")) == agent:
                found.append(int(pid))
    return found


class RunningAgent(AgentFixture):
    def test_every_thread_is_confined(self):
        scene = self.scene()
        for task in os.listdir(f"/proc/{scene.pid}/task"):
            self.assertEqual(status_of(f"{scene.pid}/task/{task}", "Seccomp"), "2", task)
            self.assertEqual(status_of(f"{scene.pid}/task/{task}", "NoNewPrivs"), "1", task)

    def test_status_and_diagnosis_tell_the_confinement(self):
        scene = self.scene()
        expected = "landlock" if landlock_version() > 0 else "seccomp"
        status = raw(scene.socket, request("agent.status"))[0]["result"]
        self.assertEqual(status["confinement"], expected)
        findings = raw(scene.socket, request("agent.diagnose"))[0]["result"]["findings"]
        severity = [finding["severity"] for finding in findings if finding["check"] == "confinement"]
        self.assertEqual(severity, ["ok" if expected == "landlock" else "notice"])
        with open(os.path.join(scene.directory, "agent.log")) as log:
            self.assertEqual("less confined" in log.read(), expected != "landlock")

    @unittest.skipIf(os.geteuid() != 0, "NOT TESTED: only root may look into the broker, which lets no other process do so")
    def test_broker_has_no_file_and_no_argument_of_the_agent(self):
        scene = self.scene()
        (broker,) = brokers_of(scene.pid)
        self.assertEqual(sorted(os.listdir(f"/proc/{broker}/fd")), ["0", "1", "2", "3"])
        with open(f"/proc/{broker}/cmdline", "rb") as file:
            self.assertEqual(file.read().strip(b"\0"), b"lanyard-broker")
        self.assertEqual({os.readlink(f"/proc/{broker}/fd/{number}") for number in "012"}, {"/dev/null"})

    def test_broker_ends_with_a_killed_agent(self):
        scene = self.scene()
        (broker,) = brokers_of(scene.pid)
        scene.kill()
        self.until(lambda: not os.path.exists(f"/proc/{broker}"), "no broker")

    def test_broker_outlives_signals_of_the_terminal_and_of_the_service_manager(self):
        scene = self.scene()
        (broker,) = brokers_of(scene.pid)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(broker, number)
        path = os.path.join(scene.directory, "backup")
        self.assertIn("result", self.backup(scene, path))

    def test_agent_without_its_broker_says_so_and_goes_on(self):
        scene = self.scene()
        (broker,) = brokers_of(scene.pid)
        os.kill(broker, signal.SIGKILL)
        self.until(lambda: status_of(broker, "State").startswith("Z"), "a dead broker")
        path = os.path.join(scene.directory, "backup")
        self.assertEqual(self.backup(scene, path)["error"]["data"]["reason"], "closed")
        self.assertFalse(os.path.exists(path))
        answer = raw(scene.socket, request("account.resolve", {"workingDirectory": "/"}))[0]
        self.assertIn("error", answer, "no other account is taken instead")
        self.assertIn("result", raw(scene.socket, request("agent.status"))[0])
        findings = raw(scene.socket, request("agent.diagnose"))[0]["result"]["findings"]
        self.assertTrue(any("broker" in finding["message"] for finding in findings), findings)
        with open(os.path.join(scene.directory, "agent.log")) as log:
            self.assertEqual(log.read().count("the broker of this agent has ended"), 1)

    def backup(self, scene, path):
        return raw(scene.socket, request("agent.backup", {"path": path, "passphrase": "not-a-real-passphrase"}))[0]


@unittest.skipUnless(IS_ROOT and shutil.which("gdb"), "NOT TESTED: only root with gdb gets into the agent")
@unittest.skipUnless(MACHINE in ("x86_64", "aarch64"), "NOT TESTED: unknown numbers of calls")
class FromInside(AgentFixture):
    """An attacker who controls the agent: calls are made by its own main thread."""

    def setUp(self):
        self.scene_ = self.scene()

    def results(self, calls):
        """The errno of each call, 0 if it succeeded."""
        script = []
        for call in calls:
            script += ["-ex", f"print (long)syscall({call})", "-ex", "print *(int*)__errno_location()"]
        script[0:0] = ["-ex", "set language c", "-ex", "set confirm off", "-ex", "set debuginfod enabled off"]
        done = subprocess.run(
            ["gdb", "-q", "-nx", "-batch", "-p", str(self.scene_.pid), *script], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=PATIENCE_SECONDS * 2)
        values = [int(value) for value in re.findall(r"^\$\d+ = (-?\d+)", done.stdout, re.M)]
        if len(values) != 2 * len(calls):
            self.fail(f"gdb: {done.stdout[-2000:]} {done.stderr[-2000:]}")
        return [0 if values[2 * index] >= 0 else values[2 * index + 1] for index in range(len(calls))]

    def openat(self, path, flags):
        return f'{257 if MACHINE == "x86_64" else 56}, -100, "{path}", {flags}, 0600'

    def test_dangerous_calls_are_refused(self):
        calls = [f'{NUMBER["execve"]}, "/bin/true", 0, 0', f'{NUMBER["ptrace"]}, 0, 0, 0, 0',
                 f'{NUMBER["io_uring_setup"]}, 1, 0', f'{NUMBER["unshare"]}, 0x10000000', f"{CLONE}, 17, 0, 0, 0, 0",
                 f"{KILL}, 1, 0", f"{PRCTL}, 4, 1"]
        self.assertEqual(self.results(calls), [errno.EPERM] * len(calls))
        self.assertEqual(self.results([f"{SOCKET}, 17, 3, 0"]), [errno.EAFNOSUPPORT])

    @unittest.skipUnless(landlock_version() > 0, "NOT TESTED: no Landlock here")
    def test_foreign_files_are_out_of_reach(self):
        foreign = os.path.join(self.directory(), "foreign")
        with open(foreign, "w") as file:
            file.write("of the person")
        home = os.path.expanduser("~")
        calls = [self.openat(foreign, os.O_RDONLY), self.openat(foreign, os.O_WRONLY),
                 self.openat(foreign + ".new", os.O_CREAT | os.O_WRONLY), self.openat(home, os.O_RDONLY),
                 self.openat("/etc/lanyard-was-here", os.O_CREAT | os.O_WRONLY)]
        self.assertEqual(self.results(calls), [errno.EACCES] * len(calls))
        own = [self.openat(os.path.join(self.scene_.state, "lanyard.sqlite"), os.O_RDWR),
               self.openat("/etc/passwd", os.O_RDONLY)]
        self.assertEqual(self.results(own), [0, 0])

    def test_agent_serves_after_the_attack(self):
        self.results([f'{NUMBER["execve"]}, "/bin/true", 0, 0'])
        self.assertIn("result", raw(self.scene_.socket, request("agent.status"))[0])


@unittest.skipUnless(shutil.which("cc"), "NOT TESTED: no C compiler here")
@unittest.skipUnless(MACHINE in ("x86_64", "aarch64"), "NOT TESTED: unknown numbers of calls")
class TheFilter(unittest.TestCase):
    """The agent's own C module in a process of the test, call by call."""

    OLD = "long old_getpid(void) { long r; __asm__ volatile(\"int $0x80\" : \"=a\"(r) : \"a\"(20)); return r; }\n"

    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.place)
        cls.library = os.path.join(cls.place, "confinement.so")
        extra = os.path.join(cls.place, "old.c")
        with open(extra, "w") as file:
            file.write(cls.OLD if MACHINE == "x86_64" else "\n")
        sources = [os.path.join(SOURCES, name) for name in os.listdir(SOURCES) if name.endswith(".c")]
        subprocess.run(
            ["cc", "-std=gnu11", "-shared", "-fPIC", "-Wall", "-Werror", "-I", os.path.join(SOURCES, "include"), "-o",
             cls.library, *sources, extra], check=True)

    def inside(self, work, confine=True):
        """What `work` returns in a confined child; negative, the signal that ended it."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            with contextlib.suppress(BaseException):
                library = ctypes.CDLL(self.library)
                LIBC.prctl(38, 1, 0, 0, 0)
                result = library.lanyard_filter_install() if confine else 0
                os.write(writing, json.dumps(work(library) if result == 0 else f"no filter: {result}").encode())
                status = 0
            os._exit(status)
        os.close(writing)
        with open(reading, "rb") as pipe:
            answer = pipe.read()
        _, status = os.waitpid(child, 0)
        return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else json.loads(answer)

    @staticmethod
    def error(*arguments):
        ctypes.set_errno(0)
        result = LIBC.syscall(*(ctypes.c_long(argument) for argument in arguments))
        return ctypes.get_errno() if result < 0 else 0

    def test_refused_calls(self):
        answers = self.inside(lambda _: {name: self.error(number, 0, 0, 0, 0, 0) for name, number in NUMBER.items()})
        self.assertEqual({name for name, code in answers.items() if code != errno.EPERM}, set(), answers)

    def test_threads_start_and_processes_do_not(self):
        def work(_):
            import threading
            ran = []
            thread = threading.Thread(target=lambda: ran.append(True))
            thread.start()
            thread.join()
            return [ran, self.error(CLONE, signal.SIGCHLD, 0, 0, 0, 0), self.error(CLONE3, 0, 0)]

        self.assertEqual(self.inside(work), [[True], errno.EPERM, errno.ENOSYS])

    def test_socket_families(self):
        families = {socket.AF_UNIX: 0, socket.AF_INET: 0, socket.AF_NETLINK: 0, 17: errno.EAFNOSUPPORT,
                    38: errno.EAFNOSUPPORT, 40: errno.EAFNOSUPPORT}
        kinds = {socket.AF_NETLINK: 3}
        answers = self.inside(lambda _: [self.error(SOCKET, family, kinds.get(family, 1), 0) for family in families])
        self.assertEqual(answers, list(families.values()))

    def test_written_memory_is_not_executed(self):
        page, private, write, execute = 4096, 0x22, 2, 4
        answers = self.inside(lambda _: [
            self.error(MMAP, 0, page, 1 | write, private, -1, 0), self.error(MMAP, 0, page, write | execute, private, -1, 0),
            self.error(MMAP, 0, page, 1 | execute, private, -1, 0), self.error(MPROTECT, 0, 0, execute),
            self.error(MPROTECT, 0, 0, 1), self.error(MEMFD_CREATE, 0, 0)])
        self.assertEqual(answers, [0, errno.EPERM, 0, errno.EPERM, 0, errno.EPERM])

    def test_libraries_are_opened_after_the_filter(self):
        self.assertTrue(self.inside(lambda _: ctypes.CDLL("libm.so.6").cos is not None))

    def test_signals_reach_this_process_only(self):
        answers = self.inside(lambda _: [
            self.error(KILL, os.getpid(), 0), self.error(KILL, os.getppid(), 0), self.error(KILL, -1, 0),
            self.error(TGKILL, os.getppid(), os.getppid(), 0), self.error(PRLIMIT64, os.getppid(), 0, 0, 0),
            self.error(PRLIMIT64, 0, 0, 0, 0), self.error(FCNTL, 0, F_SETOWN, os.getppid())])
        self.assertEqual(answers, [0] + 4 * [errno.EPERM] + [0, errno.EPERM])

    def test_keyring_calls_of_the_anchor_only(self):
        # 11 reads a key; 0 names a keyring, 22 changes this process's rights.
        answers = self.inside(lambda _: [self.error(KEYCTL, number, 0, 0, 0, 0) for number in (0, 22, 11)])
        self.assertEqual(answers[:2], [errno.EPERM, errno.EPERM])
        self.assertNotEqual(answers[2], errno.EPERM)

    def test_typing_into_a_terminal_is_refused(self):
        master, slave = os.openpty()
        answers = self.inside(lambda _: [self.error(IOCTL, slave, 0x5412, 0), self.error(IOCTL, slave, 0x5401, 0)])
        self.assertEqual(answers, [errno.EPERM, errno.EFAULT])
        os.close(master)
        os.close(slave)

    def test_unknown_calls_are_unknown(self):
        self.assertEqual(self.inside(lambda _: [self.error(468, 0), self.error(1000, 0)]), [errno.ENOSYS] * 2)

    @unittest.skipUnless(MACHINE == "x86_64", "NOT TESTED: other machines have no x32 calls")
    def test_x32_calls_are_refused(self):
        self.assertEqual(self.inside(lambda _: self.error(0x40000000 | GETPID)), errno.EPERM)

    @unittest.skipUnless(MACHINE == "x86_64", "NOT TESTED: other machines have no calls of 32 bits here")
    def test_call_of_another_architecture_ends_the_process(self):
        if self.inside(lambda library: library.old_getpid() > 0, confine=False) is not True:
            self.skipTest("NOT TESTED: this kernel has no calls of 32 bits")
        self.assertEqual(self.inside(lambda library: library.old_getpid()), -signal.SIGSYS)


if __name__ == "__main__":
    unittest.main()
