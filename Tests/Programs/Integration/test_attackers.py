"""Attackers on the same machine: another user, the same user with a debugger, a faulty service manager, and clients
that exhaust resources.
"""

import ctypes
import json
import os
import pwd
import resource
import select
import shutil
import signal
import socket
import stat
import subprocess
import threading
import time
import unittest
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

from agent_fixture import AGENT, DEMO, PATIENCE_SECONDS, STATUS, AgentFixture, LanyardError
from agent_fixture import accepts, add_provider, as_nobody, http_answer, import_account, raw, request

CANNOT_CREATE, ALREADY_RUNNING, VAULT_CLOSED = 73, 75, 76
IS_ROOT = os.geteuid() == 0
LIBC = ctypes.CDLL(None, use_errno=True)
CAN_OVERLAY = IS_ROOT and shutil.which("unshare") is not None and subprocess.run(
    ["unshare", "-m", "mount", "-t", "overlay", "-o", "lowerdir=/usr/lib:/usr/bin", "overlay", "/usr/bin"],
    capture_output=True).returncode == 0
NO_OVERLAY = "NOT TESTED: a browser of one's own needs root, a mount namespace and overlays"


def reached(path):
    """The outcome of a status request at `path`."""
    try:
        answers = raw(path, STATUS, seconds=5)
    except OSError as error:
        return type(error).__name__
    return "answered" if answers and "result" in answers[0] else "closed"


@unittest.skipUnless(IS_ROOT, "NOT TESTED: only root can be another user")
class AnotherUser(AgentFixture):
    def test_private_directory_keeps_another_user_out(self):
        scene = self.scene()
        os.chmod(scene.directory, 0o755)
        self.assertEqual(as_nobody(lambda: reached(scene.socket)), "PermissionError")
        self.assertEqual(reached(scene.socket), "answered")

    def test_agent_refuses_another_user_when_directory_and_socket_are_open(self):
        """The agent asks the kernel for the peer's user at every accept."""
        scene = self.scene()
        for path, mode in ((scene.directory, 0o755), (os.path.dirname(scene.socket), 0o755), (scene.socket, 0o666)):
            os.chmod(path, mode)
        self.assertIn(as_nobody(lambda: reached(scene.socket)), ("closed", "ConnectionResetError", "BrokenPipeError"))
        self.assertEqual(reached(scene.socket), "answered")


class UnprivilegedAgent(AgentFixture):
    """An agent, a provider and an attacker that all run as the user `nobody`."""

    def setUp(self):
        self.nobody = pwd.getpwnam("nobody")
        self.agent = self.scene(start=False)
        environment = self.agent.environment
        for top, directories, files in os.walk(self.agent.directory):
            for path in [top, *(os.path.join(top, name) for name in directories + files)]:
                os.chown(path, self.nobody.pw_uid, self.nobody.pw_gid)
        # The user may not enter the home directory that this build lies in.
        self.programs = self.directory()
        os.chmod(self.programs, 0o755)
        self.agent.process = self.started(self.agent.command, environment)
        self.plain = self.started([DEMO, "provider"], environment)
        self.until(lambda: accepts(self.agent.socket), "a socket")

    def started(self, command, environment):
        program = shutil.copy(command[0], self.programs)
        process = subprocess.Popen(
            [program, *command[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment,
            user=self.nobody.pw_uid, group=self.nobody.pw_gid, extra_groups=[])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process


@unittest.skipUnless(IS_ROOT, "NOT TESTED: the two users of this test are root's to make")
class SameUser(UnprivilegedAgent):
    ATTACH, SEIZE, DETACH = 16, 0x4206, 17
    PIDFD_OPEN, PIDFD_GETFD, VM_READ = 434, 438, {"x86_64": 310, "aarch64": 270}.get(os.uname().machine, 310)

    def attempts(self, pid):
        """Tries each way into another process of the same user; the outcome is 0, an errno's name or an exception's."""
        def call(number, *arguments):
            ctypes.set_errno(0)
            result = LIBC.syscall(number, *arguments)
            return 0 if result >= 0 else os.strerror(ctypes.get_errno())

        def traced(how):
            ctypes.set_errno(0)
            if LIBC.ptrace(how, pid, 0, 0) != 0:
                return os.strerror(ctypes.get_errno())
            os.kill(pid, signal.SIGSTOP)
            os.waitpid(pid, 0x40000000)  # __WALL
            LIBC.ptrace(self.DETACH, pid, 0, 0)
            os.kill(pid, signal.SIGCONT)
            return 0

        def opened(name):
            try:
                if name == "fd":
                    return 0 if os.listdir(f"/proc/{pid}/fd") else "empty"
                with open(f"/proc/{pid}/{name}", "rb") as file:
                    return 0 if file.read(1) or name == "mem" else "empty"
            except OSError as error:
                return 0 if name == "mem" and error.errno == 5 else type(error).__name__

        local, remote = ctypes.create_string_buffer(64), ctypes.create_string_buffer(64)
        vector = (ctypes.c_void_p * 2)(ctypes.addressof(local), 64)
        other = (ctypes.c_void_p * 2)(0x1000, 64)
        pidfd = LIBC.syscall(self.PIDFD_OPEN, pid, 0)
        return {
            "attach": traced(self.ATTACH), "mem": opened("mem"), "environ": opened("environ"), "maps": opened("maps"),
            "fd": opened("fd"), "stack": opened("auxv"),
            "read memory": call(self.VM_READ, pid, ctypes.byref(vector), 1, ctypes.byref(other), 1, 0),
            "take a descriptor": call(self.PIDFD_GETFD, pidfd, 0, 0),
        }

    def test_debugger_of_the_same_user_gets_nothing(self):
        control = as_nobody(lambda: self.attempts(self.plain.pid))
        self.assertIsInstance(control, dict, control)
        # An unprotected program is open to its own user; otherwise this test would prove nothing.
        for name in ("environ", "maps", "fd"):
            self.assertEqual(control[name], 0, control)
        told = as_nobody(lambda: self.attempts(self.agent.pid))
        self.assertIsInstance(told, dict, told)
        self.assertTrue(all(told.values()), told)
        for name in ("mem", "environ", "maps", "fd", "stack"):
            self.assertEqual(told[name], "PermissionError", name)
        # The same user still gets answers at the socket.
        self.assertEqual(as_nobody(lambda: reached(self.agent.socket)), "answered")

    def test_root_at_the_socket_is_refused_as_another_user(self):
        self.assertIn(reached(self.agent.socket), ("closed", "ConnectionResetError", "BrokenPipeError"))

    def test_agent_killed_by_a_fatal_signal_leaves_no_core(self):
        for how in (signal.SIGSEGV, signal.SIGABRT):
            scene = self.scene(start=False)
            process = subprocess.Popen(
                scene.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env=scene.environment, cwd=scene.directory,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2))
            scene.process = process
            self.until(lambda: accepts(scene.socket), "a socket")
            process.send_signal(how)
            ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            with self.subTest(how=how):
                self.assertEqual((ended.si_status, ended.si_code), (how, os.CLD_KILLED), "it left a core")


@unittest.skipUnless(IS_ROOT, "NOT TESTED: root locks memory without limit, and only root can become another user")
class LockedMemory(AgentFixture):
    """An agent of the user `nobody`, under a limit of locked memory."""

    def started(self, limit, *options):
        nobody = pwd.getpwnam("nobody")
        scene = self.scene(start=False)
        environment = scene.environment
        for top, directories, files in os.walk(scene.directory):
            for path in [top, *(os.path.join(top, name) for name in directories + files)]:
                os.chown(path, nobody.pw_uid, nobody.pw_gid)
        scene.process = subprocess.Popen(
            ["prlimit", f"--memlock={limit}", "setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}",
             "--clear-groups", "--bounding-set=-all", *scene.command, *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
        self.addCleanup(scene.process.stderr.close)
        return scene

    def asked(self, scene, method, **params):
        self.until(lambda: accepts(scene.socket) or scene.process.poll() is not None, "a socket")
        (answer,) = as_nobody(lambda: raw(scene.socket, request(method, params)))
        return answer["result"]

    def memory_findings(self, scene):
        found = self.asked(scene, "agent.diagnose")["findings"]
        return [finding for finding in found if finding["check"] == "memory"]

    def test_unlocked_memory_is_told(self):
        for limit in ("0:0", "65536:65536"):
            with self.subTest(limit=limit):
                scene = self.started(limit)
                self.assertIs(self.asked(scene, "agent.status")["memoryLocked"], False)
                (finding,) = self.memory_findings(scene)
                self.assertEqual(finding["severity"], "problem")
                self.assertEqual(scene.end(signal.SIGTERM), 0)
                told = scene.process.stderr.read().decode().splitlines()
                self.assertEqual(len([line for line in told if "ulimit -l" in line]), 1, told)

    def test_required_locked_memory_is_not_waived(self):
        for limit in ("0:0", "65536:65536"):
            with self.subTest(limit=limit):
                scene = self.started(limit, "--require-locked-memory")
                _, told = scene.process.communicate(timeout=PATIENCE_SECONDS)
                self.assertEqual(scene.process.returncode, VAULT_CLOSED)
                self.assertIn(b"--require-locked-memory", told)
                self.assertFalse(os.path.exists(scene.state))

    def test_memory_is_locked_under_a_common_limit(self):
        """A soft limit is raised to the hard one."""
        for limit in ("8388608:8388608", "0:8388608"):
            with self.subTest(limit=limit):
                scene = self.started(limit, "--require-locked-memory")
                self.assertIs(self.asked(scene, "agent.status")["memoryLocked"], True)
                self.assertEqual(self.memory_findings(scene), [])
                with open(f"/proc/{scene.pid}/status") as file:
                    locked = int(file.read().split("VmLck:")[1].split()[0])
                self.assertGreater(locked, 0)
                scene.process.terminate()
                self.assertNotIn(b"ulimit", scene.process.stderr.read())

    def test_limit_that_is_reached_later_is_told(self):
        scene = self.started("1100000:1100000")
        self.assertIs(self.asked(scene, "agent.status")["memoryLocked"], True)
        # A secret that is larger than what is left, even if no account takes it.
        large = {"account": "nobody", "name": "large", "value": "x" * 1_040_000}
        as_nobody(lambda: raw(scene.socket, request("secret.put", large)))
        self.assertIs(self.asked(scene, "agent.status")["memoryLocked"], False)
        self.assertEqual(len(self.memory_findings(scene)), 1)


class InstanceLock(AgentFixture):
    def second(self, first, state=None):
        elsewhere = os.path.join(first.directory, "run2", "agent.sock")
        return first.once("--socket", elsewhere, "--state-dir", state or first.state)

    def test_removed_lock_file_admits_no_second_agent(self):
        first = self.scene()
        client = self.client(first)
        add_provider(client, self.provider())
        lock = os.path.join(first.state, "lock")
        for change in (os.remove, lambda path: open(path, "w").close(), lambda path: os.rename(path, path + ".away")):
            with self.subTest(change=change):
                change(lock)
                ended = self.second(first)
                self.assertEqual(ended.returncode, ALREADY_RUNNING, ended.stderr)
                # The first agent works on, and its writes are stored.
                client.call("provider.update", {"provider": "practice", "scopes": ["openid"]})
                if os.path.exists(lock):
                    os.chmod(lock, 0o600)
        first.end()
        first.start()
        self.assertEqual(client.call("provider.get", {"provider": "practice"})["provider"]["scopes"], ["openid"])

    def test_removed_lock_file_admits_none_of_ten_agents(self):
        first = self.scene()
        os.remove(os.path.join(first.state, "lock"))
        with ThreadPoolExecutor(10) as pool:
            ended = list(pool.map(lambda number: first.once(
                "--socket", os.path.join(first.directory, f"run{number}", "agent.sock"), "--state-dir", first.state
            ).returncode, range(10)))
        self.assertEqual(ended, [ALREADY_RUNNING] * 10)
        self.assertEqual(reached(first.socket), "answered")


class Privileges(AgentFixture):
    SHOWING = """#!/bin/sh
    grep NoNewPrivs: /proc/self/status > "$0.new"
    mv "$0.new" "$0.seen"
    """

    def test_agent_gains_no_privileges_by_a_program_that_it_starts(self):
        program = os.path.join(self.directory(), "pinentry")
        with open(program, "w") as file:
            file.write(self.SHOWING)
        os.chmod(program, stat.S_IRWXU)
        scene = self.scene("--pinentry", program)
        for task in os.listdir(f"/proc/{scene.pid}/task"):
            with open(f"/proc/{scene.pid}/task/{task}/status") as file:
                self.assertIn("NoNewPrivs:\t1\n", file.read(), task)
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(scene.socket)
            asking.sendall(request("agent.unlock", {"prompt": "pinentry"}))
            asking.sendall(request("agent.addKeySlot", {"protection": "passphrase", "prompt": "pinentry"}, 2))
            self.until(lambda: os.path.exists(program + ".seen"), "the program ran")
        with open(program + ".seen") as file:
            self.assertEqual(file.read(), "NoNewPrivs:\t1\n")


class InheritedSockets(AgentFixture):
    """Sockets that a service manager passes, or claims to pass (sd_listen_fds(3))."""

    def started(self, scene, variables, descriptor=None):
        script = " ".join(f"{name}={value}" for name, value in variables.items()) + ' exec "$0" "$@"'

        def prepare():
            if descriptor is not None:
                os.dup2(descriptor.fileno(), 3, inheritable=True)
            else:
                os.closerange(3, 10)

        scene.process = subprocess.Popen(
            ["/bin/sh", "-c", script, *scene.command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env=scene.environment, close_fds=False, preexec_fn=prepare)
        return scene.process

    def test_sockets_meant_for_another_process_are_ignored(self):
        for variables in ({"LISTEN_PID": "1", "LISTEN_FDS": "1"}, {"LISTEN_PID": "$$"}, {"LISTEN_FDS": "1"},
                          {"LISTEN_PID": "$$", "LISTEN_FDS": "0"}, {"LISTEN_PID": "$$", "LISTEN_FDS": "-1"},
                          {"LISTEN_PID": "$$", "LISTEN_FDS": "one"}, {"LISTEN_PID": "$$", "LISTEN_FDS": "9" * 30}, {"LISTEN_PID": "$$x", "LISTEN_FDS": "1"},
                          {"LISTEN_PID": "", "LISTEN_FDS": ""}):
            with self.subTest(variables=variables):
                scene = self.scene(start=False)
                with socket.socket(socket.AF_UNIX) as theirs:
                    theirs.bind(os.path.join(scene.directory, "theirs"))
                    theirs.listen()
                    self.started(scene, variables, theirs)
                    self.until(lambda: accepts(scene.socket), "a socket of its own")
                    self.assertEqual(reached(scene.socket), "answered")

    def test_inherited_descriptor_that_is_no_listening_stream_is_refused(self):
        kinds = {
            "a datagram socket": lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM),
            "a sequenced one": lambda: socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET),
            "one that does not listen": lambda: socket.socket(socket.AF_UNIX),
            "half of a pair": lambda: socket.socketpair()[0],
            "a TCP socket": lambda: socket.create_server(("127.0.0.1", 0)),
            "a file": lambda: open(os.devnull, "rb"),
        }
        for name, make in kinds.items():
            with self.subTest(name):
                scene = self.scene(start=False)
                with make() as handed:
                    process = self.started(scene, {"LISTEN_PID": "$$", "LISTEN_FDS": "1"}, handed)
                    self.assertEqual(process.wait(PATIENCE_SECONDS), CANNOT_CREATE)
                    self.assertFalse(os.path.exists(scene.socket))

    def test_inherited_descriptor_numbers_that_are_closed_are_refused(self):
        for count in ("1", "2", "1000000"):
            with self.subTest(count=count):
                scene = self.scene(start=False)
                process = self.started(scene, {"LISTEN_PID": "$$", "LISTEN_FDS": count})
                self.assertEqual(process.wait(PATIENCE_SECONDS), CANNOT_CREATE)


class GreedyClients(AgentFixture):
    def signed_in(self, scene):
        self.idp = self.provider()
        client = self.client(scene)
        client.connect(wait_seconds=PATIENCE_SECONDS)
        add_provider(client, self.idp)
        import_account(client, self.idp, "alice", alias="alice")
        return client

    def connected(self, scene):
        connection = socket.socket(socket.AF_UNIX)
        self.addCleanup(connection.close)
        connection.connect(scene.socket)
        connection.settimeout(PATIENCE_SECONDS)
        return connection

    def test_exchange_without_free_descriptors_keeps_the_account_signed_in(self):
        for limit in (29, 30, 31, 32, 36):
            with self.subTest(limit=limit):
                scene = self.scene(start=False)
                scene.process = subprocess.Popen(
                    scene.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                    env=scene.environment, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
                client = self.signed_in(scene)
                held = [self.connected(scene) for _ in range(60)]
                self.assertEqual(client.call("token.get", {"account": "alice"})["source"], "cache")
                try:
                    client.call("token.refresh", {"account": "alice"})
                except LanyardError as error:
                    # The missing descriptor may have been for the network or for the disk.
                    self.assertIn(error.code, (3001, 3002, 5001), error)
                self.assertIn(
                    client.call("account.get", {"account": "alice"})["state"], ("active", "offlineStale"))
                self.assertEqual(client.call("token.get", {"account": "alice"})["source"], "cache")
                for connection in held:
                    connection.close()
                self.until(lambda: self.refreshed(client), "an exchange")
                self.assertEqual(self.idp.ended(), {})
                scene.kill()
                os.remove(scene.socket)
                scene.start()
                self.assertTrue(client.call("token.get", {"account": "alice"})["accessToken"])

    def refreshed(self, client):
        try:
            return client.call("token.refresh", {"account": "alice"})["accessToken"]
        except LanyardError as error:
            self.assertIn(error.code, (3001, 3002, 5001), error)

    def test_sixty_slow_clients_delay_no_other_client(self):
        scene = self.scene()
        client = self.signed_in(scene)
        slow = [self.connected(scene) for _ in range(60)]
        stop = threading.Event()

        def drip():
            for byte in STATUS:
                for connection in slow:
                    try:
                        connection.send(bytes([byte]))
                    except OSError:
                        pass
                if stop.wait(1):
                    return

        dripping = threading.Thread(target=drip)
        dripping.start()
        try:
            until = time.monotonic() + 3
            slowest = 0.0
            while time.monotonic() < until:
                began = time.monotonic()
                client.call("token.get", {"account": "alice"})
                slowest = max(slowest, time.monotonic() - began)
            self.assertLess(slowest, 0.5)
            # Ten seconds from the first byte of a line to its end.
            self.until(lambda: self.is_closed(slow[0]), "the slow one is let go")
        finally:
            stop.set()
            dripping.join()
        self.assertEqual(reached(scene.socket), "answered")

    def is_closed(self, connection):
        connection.settimeout(0.01)
        try:
            return connection.recv(65536) == b""
        except socket.timeout:
            return False
        except OSError:
            return True

    def test_requests_on_all_connections_are_all_answered(self):
        scene = self.scene()
        client = self.signed_in(scene)
        self.idp.fault("none", delayMilliseconds=1500)
        lines = b"".join(request("token.refresh", {"account": "alice"}, number) for number in range(129))
        held = [self.connected(scene) for _ in range(63)]
        before = self.idp.asked()

        def ask(connection):
            connection.sendall(lines)
            with connection.makefile("rb") as reader:
                return [json.loads(reader.readline()) for _ in range(129)]

        with ThreadPoolExecutor(len(held)) as pool:
            answered = list(pool.map(ask, held))
        for answers in answered:
            self.assertEqual(sorted(answer["id"] for answer in answers), list(range(129)))
            self.assertEqual([answer for answer in answers if "error" in answer], [])
        # Forced refreshes: a few exchanges serve eight thousand requests.
        self.assertLess(self.idp.asked() - before, 70)
        self.assertEqual(client.call("token.get", {"account": "alice"})["source"], "cache")
        self.assertEqual(self.idp.ended(), {})


HANGING = r"""#!/bin/sh
tr '\0' '\n' < /proc/$$/environ > "$0.environ"
ls -l /proc/$$/fd > "$0.fd"
echo "OK"
touch "$0.there"
exec sleep 600
"""


SHUTTING_DOWN = r"""#!/usr/bin/python3
import json, os, socket, sys
seen = {}
for name in os.listdir("/proc/self/fd"):
    try:
        seen[name] = os.readlink("/proc/self/fd/" + name)
    except FileNotFoundError:
        continue  # the directory itself
for name in seen:
    if int(name) > 2 and seen[name].startswith("socket:"):
        try:
            socket.socket(fileno=os.dup(int(name))).shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
with open(sys.argv[0] + ".new", "w") as file:
    json.dump(seen, file)
os.rename(sys.argv[0] + ".new", sys.argv[0] + ".seen")
print("ERR 83886179 cancelled", flush=True)
"""


class ChildProcesses(AgentFixture):
    PLANTED = {"CANARY_OF_THE_AGENT": "planted-7Qz", "AWS_SECRET_ACCESS_KEY": "planted-7Qz", "LD_PRELOAD_": "planted-7Qz",
               "BASH_ENV": "/planted-7Qz", "PYTHONPATH": "/planted-7Qz", "LISTEN_FDS": "planted-7Qz", "DISPLAY": ":77"}

    def program(self, text=HANGING):
        path = os.path.join(self.directory(), "program")
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, stat.S_IRWXU)
        return path

    def started(self, command, scene):
        scene.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**scene.environment, **self.PLANTED})
        client = self.client(scene)
        client.connect(wait_seconds=PATIENCE_SECONDS)
        idp = self.provider()
        add_provider(client, idp)
        return client, idp

    def looked_at(self, program, scene, inputs):
        """Asserts that the environment is minimal, and that no file of the agent is open."""
        self.until(lambda: os.path.exists(program + ".there"), "the child runs")
        with open(program + ".environ") as file:
            environment = file.read()
        self.assertNotIn("planted-7Qz", environment)
        self.assertIn("DISPLAY=:77", environment)
        names = {line.split("=", 1)[0] for line in environment.splitlines() if line}
        self.assertFalse(names & {"LANYARD_SOCKET", "LANYARD_STATE_DIR", "LISTEN_PID", "LISTEN_FDS"}, names)
        with open(program + ".fd") as file:
            files = [line.split(" -> ", 1)[1].strip() for line in file if " -> " in line]
        for path in files:
            self.assertNotIn(scene.state, path)
            self.assertNotIn(".sqlite", path)
        return files

    def ended(self, pids):
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def test_pinentry_gets_a_minimal_environment_and_no_descriptors(self):
        program = self.program()
        scene = self.scene("--pinentry", program, start=False)
        client, idp = self.started(scene.command, scene)
        import_account(client, idp, "alice", alias="alice")
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(scene.socket)
            asking.sendall(request("stepUp.enroll", {"account": "alice", "prompt": "pinentry"}))
            self.looked_at(program, scene, 3)

    def seen_during_an_exchange(self, scene, client, idp, program, start):
        """The child's descriptors, while an exchange was in flight that the child tried to break."""
        import_account(client, idp, "alice", alias="alice")
        idp.fault("none", delayMilliseconds=4000)
        before = idp.asked()
        with socket.socket(socket.AF_UNIX) as refreshing:
            refreshing.connect(scene.socket)
            refreshing.settimeout(PATIENCE_SECONDS)
            refreshing.sendall(request("token.refresh", {"account": "alice"}))
            self.until(lambda: idp.asked() > before, "an exchange in flight")
            start()
            self.until(lambda: os.path.exists(program + ".seen"), "the child has tried")
            early = select.select([refreshing], [], [], 0)[0] and refreshing.recv(65536)
            self.assertFalse(early, "the exchange ended before the child's attack")
            with refreshing.makefile("rb") as reader:
                answer = json.loads(reader.readline())
        self.assertIn("accessToken", answer.get("result", {}), answer)
        with open(program + ".seen") as file:
            return json.load(file)

    def test_pinentry_can_not_break_an_exchange_in_flight(self):
        program = self.program(SHUTTING_DOWN)
        scene = self.scene("--pinentry", program, start=False)
        client, idp = self.started(scene.command, scene)
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(scene.socket)
            seen = self.seen_during_an_exchange(
                scene, client, idp, program,
                lambda: asking.sendall(request("stepUp.enroll", {"account": "alice", "prompt": "pinentry"})))
        self.assertEqual(sorted(seen), ["0", "1", "2"], seen)

    def browser(self, text):
        """A scene whose agent finds a program of this test at /usr/bin/xdg-open; the second is where it writes."""
        place = self.directory()
        os.chmod(place, 0o755)
        told = os.path.join(self.directory(), "browser")
        program = os.path.join(place, "xdg-open")
        with open(program, "w") as file:
            file.write(text.replace("sys.argv[0]", repr(told)).replace("$0", told))
        os.chmod(program, 0o755)
        # Laid over /usr/bin for this agent only; nothing is written there.
        script = 'mount -t overlay -o lowerdir="$0":/usr/bin overlay /usr/bin && exec "$@"'
        return self.scene(start=False), told, ["unshare", "-m", "sh", "-c", script, place]

    @unittest.skipUnless(CAN_OVERLAY, NO_OVERLAY)
    def test_browser_can_not_break_an_exchange_in_flight(self):
        scene, told, overlaid = self.browser(SHUTTING_DOWN)
        client, idp = self.started([*overlaid, *scene.command], scene)
        seen = self.seen_during_an_exchange(
            scene, client, idp, told,
            lambda: client.call("signIn.begin", {"provider": "practice", "flow": "browser", "openBrowser": True}))
        self.assertEqual(sorted(seen), ["0", "1", "2"], seen)

    @unittest.skipUnless(CAN_OVERLAY, NO_OVERLAY)
    def test_browser_gets_a_minimal_environment_and_no_descriptors(self):
        scene, told, overlaid = self.browser(HANGING)
        client, _ = self.started([*overlaid, *scene.command], scene)
        begun = client.call("signIn.begin", {"provider": "practice", "flow": "browser", "openBrowser": True})
        self.looked_at(told, scene, 3)
        client.call("signIn.cancel", {"signIn": begun["signIn"]})

    @unittest.skipUnless(CAN_OVERLAY, NO_OVERLAY)
    def test_browser_s_arguments_tell_other_users_nothing(self):
        """Every user of the machine can read them; with the authorization request another user could sign in."""
        scene, told, overlaid = self.browser("#!/bin/sh\necho \"$@\" > $0.new && mv $0.new $0\n")
        client, idp = self.started([*overlaid, *scene.command], scene)
        begun = client.call("signIn.begin", {"provider": "practice", "flow": "browser", "openBrowser": True})
        self.until(lambda: os.path.exists(told), "a browser")
        with open(told) as file:
            (address,) = file.read().split()
        self.assertNotIn("state", address)
        status, location = as_nobody(lambda: self.location(address))
        self.assertIn(status, ([], ["403"]))
        self.assertEqual(location, [], "another user gets nothing, and takes nothing")
        self.assertEqual(self.location(address), (["303"], [begun["authorizationUrl"]]))
        self.assertEqual(self.location(address)[1], [], "it is good for one browser")

    def location(self, address):
        """The status and the Location that a user gets there."""
        place = urllib.parse.urlsplit(address)
        head = http_answer(place.hostname, place.port, place.path).split("\r\n")
        location = [line.partition(": ")[2] for line in head if line.startswith("Location: ")]
        return head[0].split(" ")[1:2], location


if __name__ == "__main__":
    unittest.main()
