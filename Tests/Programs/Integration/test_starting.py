"""Starting: one agent per state, private directories, live sockets respected, nothing left open."""

import os
import pwd
import resource
import shutil
import signal
import socket
import stat
import subprocess
import unittest

from agent_fixture import AGENT, PATIENCE_SECONDS, STATUS, AgentFixture, Scene, accepts, raw, request

CANNOT_CREATE, STORE_FAILED, ALREADY_RUNNING, VAULT_CLOSED, USAGE = 73, 74, 75, 76, 64


class SingleInstance(AgentFixture):
    def test_second_agent_names_the_process_that_holds_the_state(self):
        first = self.scene()
        elsewhere = os.path.join(first.directory, "run2", "agent.sock")
        for options in (["--socket", elsewhere], ["--stdio"]):
            second = first.once(*options, "--state-dir", first.state)
            self.assertEqual((second.returncode, second.stdout), (ALREADY_RUNNING, b""))
            self.assertIn(str(first.pid).encode(), second.stderr)
        self.assertEqual(raw(first.socket, STATUS)[0]["id"], 1)

    def test_one_of_ten_agents_started_at_once_runs(self):
        scene = self.scene(start=False)
        environment = scene.environment
        starts = [
            subprocess.Popen(
                scene.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                env=environment)
            for _ in range(10)
        ]
        for start in starts:
            self.addCleanup(start.stderr.close)
            self.addCleanup(start.wait)
            self.addCleanup(start.kill)
        self.until(lambda: sum(start.poll() is not None for start in starts) == 9, "nine of ten end")
        ended = [start.returncode for start in starts if start.returncode is not None]
        self.assertEqual(ended, [ALREADY_RUNNING] * 9)
        self.until(lambda: accepts(scene.socket), "a socket")
        self.assertIn("result", raw(scene.socket, STATUS)[0])

    def test_second_state_at_the_same_socket_is_refused(self):
        first = self.scene()
        second = first.once("--socket", first.socket, "--state-dir", os.path.join(first.directory, "state2"))
        self.assertEqual(second.returncode, ALREADY_RUNNING)
        self.assertIn("result", raw(first.socket, STATUS)[0])

    def test_state_is_free_at_once_after_an_end(self):
        scene = self.scene()
        for how in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL, signal.SIGINT):
            scene.end(how)
            scene.start()
        self.assertIn("result", raw(scene.socket, STATUS)[0])


    def test_agent_starts_after_one_that_waits_for_an_exchange(self):
        provider, scene, _ = self.alice()
        provider.fault("none", delayMilliseconds=12_000)
        before = provider.asked()
        with socket.socket(socket.AF_UNIX) as refreshing:
            refreshing.connect(scene.socket)
            refreshing.sendall(request("token.refresh", {"account": "alice"}))
            self.until(lambda: provider.asked() > before, "an exchange on its way")
            first = scene.process
            first.send_signal(signal.SIGTERM)
            self.until(lambda: not os.path.lexists(scene.socket), "an end of the service")
        ending = f"the agent with process id {first.pid} is ending: it waits for exchanges on their way."
        checked = scene.once("--check")
        self.assertEqual(checked.returncode, ALREADY_RUNNING)
        self.assertIn(ending, checked.stderr.decode())
        scene.start()
        self.assertEqual(first.wait(PATIENCE_SECONDS), 0)
        self.assertIn(f"{ending} This one starts after it.", scene.log())


class Sockets(AgentFixture):
    def test_agent_whose_socket_is_removed_ends(self):
        scene = self.scene()
        shutil.rmtree(os.path.dirname(scene.socket))
        os.mkdir(os.path.dirname(scene.socket), 0o700)
        self.assertEqual(scene.process.wait(PATIENCE_SECONDS), 0)
        scene.start()
        self.assertIn("result", raw(scene.socket, STATUS)[0])

    def test_agent_whose_socket_is_replaced_ends_and_leaves_the_other(self):
        scene = self.scene()
        os.unlink(scene.socket)
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(scene.socket)
            other.listen()
            self.assertEqual(scene.process.wait(PATIENCE_SECONDS), 0)
            self.assertTrue(accepts(scene.socket))

    def test_stale_socket_is_taken_over(self):
        scene = self.scene()
        scene.kill()
        self.assertTrue(stat.S_ISSOCK(os.lstat(scene.socket).st_mode))
        scene.start()
        self.assertIn("result", raw(scene.socket, STATUS)[0])

    def test_live_socket_of_another_program_is_not_taken_over(self):
        scene = self.scene(start=False)
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(scene.socket)
            other.listen()
            ended = scene.run()
            self.assertEqual(ended.returncode, ALREADY_RUNNING)
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(scene.socket)

    def test_plain_file_at_the_socket_path_is_refused_and_kept(self):
        scene = self.scene(start=False)
        with open(scene.socket, "w") as file:
            file.write("mine")
        self.assertEqual(scene.run().returncode, CANNOT_CREATE)
        with open(scene.socket) as file:
            self.assertEqual(file.read(), "mine")

    def test_symlink_at_the_socket_path_is_refused(self):
        scene = self.scene(start=False)
        os.symlink(os.path.join(scene.directory, "elsewhere.sock"), scene.socket)
        self.assertEqual(scene.run().returncode, CANNOT_CREATE)
        self.assertTrue(os.path.islink(scene.socket))

    def test_ended_agent_leaves_no_socket(self):
        scene = self.scene()
        scene.end(signal.SIGTERM)
        self.assertFalse(os.path.lexists(scene.socket))

    def test_agent_opens_no_abstract_socket(self):
        scene = self.scene()
        with open("/proc/net/unix") as table:
            self.assertFalse([line for line in table if "@" in line and scene.directory in line])


class Directories(AgentFixture):
    def place(self, scene, kind):
        return scene.state if kind == "state" else os.path.dirname(scene.socket)

    def test_directories_open_to_others_are_refused(self):
        for kind in ("state", "socket"):
            for mode in (0o750, 0o701, 0o770, 0o777, 0o1777):
                with self.subTest(directory=kind, mode=oct(mode)):
                    scene = self.scene(start=False)
                    os.makedirs(self.place(scene, kind), exist_ok=True)
                    os.chmod(self.place(scene, kind), mode)
                    ended = scene.run()
                    self.assertEqual(ended.returncode, CANNOT_CREATE)
                    self.assertIn(b"0700", ended.stderr)

    def test_symlinked_directories_are_refused(self):
        for kind in ("state", "socket"):
            with self.subTest(directory=kind):
                scene = self.scene(start=False)
                real = os.path.join(scene.directory, "real")
                os.mkdir(real, 0o700)
                shutil.rmtree(self.place(scene, kind), ignore_errors=True)
                os.symlink(real, self.place(scene, kind))
                self.assertEqual(scene.run().returncode, CANNOT_CREATE)
                self.assertEqual(os.listdir(real), [])

    @unittest.skipUnless(os.geteuid() == 0, "only root can give a directory away")
    def test_directories_of_another_user_are_refused(self):
        nobody = pwd.getpwnam("nobody").pw_uid
        for kind in ("state", "socket"):
            with self.subTest(directory=kind):
                scene = self.scene(start=False)
                os.makedirs(self.place(scene, kind), 0o700, exist_ok=True)
                os.chown(self.place(scene, kind), nobody, -1)
                self.assertEqual(scene.run().returncode, CANNOT_CREATE)

    def test_file_in_place_of_a_directory_is_refused(self):
        scene = self.scene(start=False)
        with open(scene.state, "w"):
            pass
        self.assertEqual(scene.run().returncode, CANNOT_CREATE)

    def test_files_are_private_under_any_umask(self):
        for mask in (0o000, 0o022, 0o777):
            with self.subTest(umask=oct(mask)):
                scene = self.scene(start=False)
                process = subprocess.Popen(
                    scene.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                    env=scene.environment, umask=mask)
                scene.process = process
                self.until(lambda: accepts(scene.socket) or process.poll() is not None, "a socket")
                self.assertIsNone(process.poll())
                raw(scene.socket, STATUS)
                for top in (scene.state, os.path.dirname(scene.socket)):
                    for directory, _, files in os.walk(top):
                        self.assertEqual(stat.S_IMODE(os.lstat(directory).st_mode), 0o700, directory)
                        for name in files:
                            path = os.path.join(directory, name)
                            self.assertEqual(stat.S_IMODE(os.lstat(path).st_mode), 0o600, path)

    def test_too_few_descriptors_are_told(self):
        for limit, starts in ((12, False), (16, False), (27, False), (28, True), (56, True)):
            with self.subTest(limit=limit):
                scene = self.scene(start=False)
                process = subprocess.Popen(
                    scene.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                    env=scene.environment,
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
                self.addCleanup(process.stderr.close)
                scene.process = process
                self.until(lambda: accepts(scene.socket) or process.poll() is not None, "a socket or an end")
                if starts:
                    self.assertIsNone(process.poll())
                    self.assertIn("result", raw(scene.socket, STATUS)[0])
                else:
                    self.assertEqual(process.wait(), 73)
                    self.assertIn(f"may open only {limit} files (`ulimit -n`)".encode(), process.stderr.read())

    def test_socket_path_over_the_limit_is_reachable(self):
        scene = self.scene(start=False)
        directory = os.path.join(scene.directory, "d" * 90, "e" * 90)
        os.makedirs(directory, 0o700)
        os.chmod(directory, 0o700)
        scene.socket = os.path.join(directory, "agent.sock")
        process = subprocess.Popen(
            scene.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env=scene.environment)
        self.addCleanup(process.stderr.close)
        scene.process = process
        self.until(lambda: os.path.exists(scene.socket) or process.poll() is not None, "a socket")
        # Reached through the directory's descriptor, as any program can that knows the path.
        descriptor = os.open(directory, os.O_PATH)
        self.addCleanup(os.close, descriptor)
        self.assertIn("result", raw(f"/proc/self/fd/{descriptor}/agent.sock", STATUS)[0])


class Arguments(AgentFixture):
    def test_wrong_arguments_exit_with_usage_and_start_nothing(self):
        scene = self.scene(start=False)
        for options in (
            ["--nonsense"], ["surplus"], ["--socket"], ["--state-dir"], ["--stdio", "--socket", scene.socket],
            ["--protection", "hope"], ["--log-level", "loud"], ["--socket", "relative.sock"],
        ):
            with self.subTest(options=options):
                ended = scene.once("--state-dir", scene.state, *options)
                self.assertEqual((ended.returncode, ended.stdout), (USAGE, b""), ended.stderr)
                self.assertIn(b"lanyard-agent:", ended.stderr)

    def test_help_and_version_go_to_stdout(self):
        scene = self.scene(start=False)
        self.assertIn(b"--state-dir", scene.once("--help").stdout)
        self.assertRegex(scene.once("--version").stdout, rb"\d+\.\d+\.\d+")
        self.assertFalse(os.path.exists(scene.state))


class StandardDescriptors(AgentFixture):
    """Descriptors 0 to 2 that are closed at the start: the next file that is opened would get their number."""

    def started(self, scene, closed, options, **more):
        redirections = " ".join({0: "<&-", 1: ">&-", 2: "2>&-"}[number] for number in closed)
        return subprocess.Popen(
            ["/bin/sh", "-c", f'exec "$0" "$@" {redirections}', AGENT, *options],
            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, **more},
            env=scene.environment)

    def test_stdio_agent_without_standard_descriptors_exits_with_usage(self):
        for closed in ((0, 1), (0,), (1,), (0, 1, 2)):
            with self.subTest(closed=closed):
                scene = self.scene(start=False)
                process = self.started(scene, closed, ["--stdio", "--state-dir", scene.state])
                _, told = process.communicate(timeout=PATIENCE_SECONDS)
                self.assertEqual(process.returncode, USAGE)
                self.assertEqual(b"--stdio needs" in told, 2 not in closed, told)
                self.assertFalse(os.path.exists(scene.state))

    @unittest.skipUnless(os.geteuid() == 0, "NOT TESTED: only root may read the agent's files in /proc")
    def test_no_file_of_the_agent_takes_the_number_of_a_standard_descriptor(self):
        scene = self.scene(start=False)
        scene.process = self.started(scene, (0, 1, 2), scene.command[1:])
        self.addCleanup(scene.process.stderr.close)
        self.until(lambda: accepts(scene.socket) or scene.process.poll() is not None, "a socket")
        self.assertIn("result", raw(scene.socket, STATUS)[0])
        found = [os.readlink(f"/proc/{scene.pid}/fd/{number}") for number in range(3)]
        self.assertEqual(found, ["/dev/null"] * 3)
        with open(os.path.join(scene.state, "lock")) as file:
            self.assertEqual(file.read().split()[:1], [str(scene.pid)])


class Ending(AgentFixture):
    def test_signalled_agent_exits_with_0(self):
        scene = self.scene()
        for how in (signal.SIGTERM, signal.SIGINT):
            self.assertEqual(scene.end(how), 0)
            scene.start()

    def test_agent_ended_by_a_call_exits_with_0(self):
        scene = self.scene()
        self.client(scene).call("agent.shutdown")
        self.assertEqual(scene.process.wait(PATIENCE_SECONDS), 0)

    def test_running_agent_writes_nothing_to_stdout(self):
        scene = self.scene(start=False)
        process = subprocess.Popen(
            scene.command + ["--log-level", "trace"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=scene.environment)
        scene.process = process
        self.until(lambda: accepts(scene.socket), "a socket")
        raw(scene.socket, STATUS + b"nonsense\n", 2)
        process.terminate()
        self.assertEqual(process.communicate(timeout=PATIENCE_SECONDS)[0], b"")


class Activation(AgentFixture):
    """Socket activation, by the protocol of sd_listen_fds(3)."""

    def start_with(self, scene: Scene, listener: socket.socket) -> subprocess.Popen:
        # The variable must hold the child's own id, so a shell sets it before it becomes the agent.
        script = 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" "$@"'
        return subprocess.Popen(
            ["/bin/sh", "-c", script, *scene.command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env=scene.environment, pass_fds=(3,),
            preexec_fn=lambda: os.dup2(listener.fileno(), 3, inheritable=True))

    def test_activated_socket_is_served_and_kept(self):
        scene = self.scene(start=False)
        path = os.path.join(scene.directory, "run", "activated.sock")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            scene.process = self.start_with(scene, listener)
            self.assertIn("result", raw(path, STATUS)[0])
            self.assertFalse(os.path.exists(scene.socket))
            self.assertEqual(scene.end(signal.SIGTERM), 0)
            self.assertTrue(os.path.exists(path))

    def test_activated_tcp_socket_is_refused(self):
        scene = self.scene(start=False)
        with socket.socket(socket.AF_INET) as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            scene.process = self.start_with(scene, listener)
            self.assertEqual(scene.process.wait(PATIENCE_SECONDS), CANNOT_CREATE)


if __name__ == "__main__":
    unittest.main()
