"""Starting the agent: one for many commands at once, and an explanation if it does not start."""

import os
import shutil
import stat
import tempfile

from person import BINARIES, PATIENCE_SECONDS, PROGRAMS, Person

AGENT = """\
#!/usr/bin/env -S {python} -S
# A lanyard-agent that notes that it was started, takes its time, and then answers agent.status.
import json, os, socket, sys, time
descriptors = sorted(os.listdir("/proc/self/fd"))
with open({starts!r}, "a") as starts:
    starts.write(json.dumps({{"argv": sys.argv[1:], "environment": sorted(os.environ), "pid": os.getpid(),
                             "directory": os.getcwd(), "session": os.getsid(0),
                             "descriptors": descriptors}}) + "\\n")
{body}
path = sys.argv[sys.argv.index("--socket") + 1]
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen(64)
listener.settimeout({patience})
try:
    while True:
        client, _ = listener.accept()
        with client, client.makefile("rwb") as lines:
            request = json.loads(lines.readline())
            lines.write(json.dumps({{"jsonrpc": "2.0", "id": request["id"], "result": {{"pid": os.getpid()}}}}).encode() + b"\\n")
except TimeoutError:
    pass
"""


class StartTests(Person):
    @classmethod
    def setUpClass(cls):
        cls.install = tempfile.mkdtemp(prefix="lanyard-bin-")
        cls.addClassCleanup(shutil.rmtree, cls.install, ignore_errors=True)
        for program in PROGRAMS:
            shutil.copy2(os.path.join(BINARIES, program), cls.install)

    def setUp(self):
        super().setUp()
        self.programs = self.install
        self.environment.pop("LANYARD_NO_START")
        self.starts = os.path.join(self.place, "starts")
        self.state = os.path.join(self.home, ".local", "state", "lanyard")
        self.agent_program = os.path.join(self.install, "lanyard-agent")
        self.write_agent()

    def write_agent(self, body="time.sleep(0.3)", patience=5):
        import sys
        with open(self.agent_program, "w") as program:
            program.write(AGENT.format(python=sys.executable, starts=self.starts, body=body, patience=patience))
        os.chmod(self.agent_program, 0o755)

    def started(self):
        import json
        if not os.path.exists(self.starts):
            return []
        with open(self.starts) as starts:
            return [json.loads(line) for line in starts]

    def test_starts_one_and_speaks_to_it(self):
        self.answer("rpc", "agent.status")
        self.answer("rpc", "agent.status")
        [start] = self.started()
        self.assertEqual(start["argv"], ["--socket", self.socket])

    def test_twenty_at_once_start_one(self):
        processes = [self.start("rpc", "agent.status") for _ in range(20)]
        answers = {process.communicate(timeout=PATIENCE_SECONDS) for process in processes}
        self.assertEqual({process.returncode for process in processes}, {0})
        self.assertEqual(len(answers), 1, answers)
        self.assertEqual(len(self.started()), 1)

    def test_the_agent_is_detached(self):
        secret = {"AWS_SECRET_ACCESS_KEY": "x", "LANYARD_ACCOUNT": "work", "LANG": "C.UTF-8", "https_proxy": "http://p"}
        self.answer("rpc", "agent.status", environment=secret)
        [start] = self.started()
        self.assertEqual(start["directory"], "/")
        # Python adds LC_CTYPE in the C locale by itself.
        self.assertEqual(
            set(start["environment"]) - {"LC_CTYPE"}, {"HOME", "LANG", "PATH", "XDG_RUNTIME_DIR", "https_proxy"})
        self.assertNotEqual(start["session"], os.getsid(0))
        # 3 is the list of descriptors itself.
        self.assertEqual(start["descriptors"], ["0", "1", "2", "3"])

    def test_created_files_are_private_and_the_owners_under_any_umask(self):
        runtime = os.path.dirname(self.socket)
        for mask in (0o022, 0o277, 0o777):
            with self.subTest(umask=oct(mask)):
                for directory in (runtime, self.state):
                    shutil.rmtree(directory, ignore_errors=True)
                process = self.start("rpc", "agent.status", umask=mask)
                process.communicate(timeout=PATIENCE_SECONDS)
                self.assertEqual(process.returncode, 0)
                for path in (runtime, self.state):
                    self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o700, path)
                for path in (os.path.join(runtime, "start.lock"), os.path.join(self.state, "agent.log")):
                    self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600, path)

    def test_a_stale_socket_is_no_agent(self):
        import socket
        os.makedirs(os.path.dirname(self.socket), mode=0o700)
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(self.socket)
        self.write_agent("os.unlink(sys.argv[sys.argv.index('--socket') + 1])")
        self.answer("rpc", "agent.status")

    def test_each_exit_code_of_the_agent_is_explained(self):
        words = {64: "did not accept", 73: "exit 73", 74: "store can't be read", 76: "can't open its vault",
                 1: "ended at once (exit 1)"}
        for code, expected in words.items():
            with self.subTest(code):
                self.write_agent(f"print('reason {code}', file=sys.stderr); sys.exit({code})")
                told = self.refused(3, "rpc", "agent.status")
                self.assertIn(expected, told)
                self.assertIn(f"It said: reason {code}", told)
                self.assertIn(os.path.join(self.state, "agent.log"), told)
                self.assertEqual("`lanyard doctor`" in told, code in (73, 74, 76))

    def test_another_agent_on_the_same_state_is_told(self):
        self.write_agent("sys.exit(75)")
        self.assertIn("Another agent holds this state directory", self.refused(3, "rpc", "agent.status"))

    def test_an_agent_that_is_just_ending_is_waited_for(self):
        self.write_agent(f"if len(open({self.starts!r}).readlines()) < 4: sys.exit(75)")
        self.answer("rpc", "agent.status")
        self.assertEqual(len(self.started()), 4)

    def test_a_signal_is_told(self):
        self.write_agent("os.kill(os.getpid(), 9)")
        self.assertIn("Signal 9", self.refused(3, "rpc", "agent.status"))

    def test_no_program_to_start(self):
        os.unlink(self.agent_program)
        self.assertIn("neither beside this program nor in PATH", self.refused(3, "rpc", "agent.status"))

    def test_a_program_in_path_is_found_a_relative_entry_is_not(self):
        elsewhere = os.path.join(self.place, "bin")
        os.mkdir(elsewhere)
        shutil.move(self.agent_program, elsewhere)
        relative = {"PATH": f".:/usr/bin:/bin"}
        self.refused(3, "rpc", "agent.status", environment=relative, cwd=elsewhere)
        self.answer("rpc", "agent.status", environment={"PATH": f"{elsewhere}:/usr/bin:/bin"})

    def test_token_starts_the_agent_too(self):
        self.assertIn("does not speak its protocol", self.refused(3, "token"))
        self.assertEqual(len(self.started()), 1)

    def test_no_start_starts_no_agent(self):
        self.assertIn("leave out --no-start", self.refused(3, "rpc", "agent.status", "--no-start"))
        told = self.refused(3, "rpc", "agent.status", environment={"LANYARD_NO_START": "1"})
        self.assertIn("unset LANYARD_NO_START", told)
        self.assertEqual(self.started(), [])

    def test_a_directory_that_cannot_be_created_is_explained(self):
        told = self.refused(3, "rpc", "agent.status", environment={"LANYARD_SOCKET": "/proc/nothing/agent.sock"})
        self.assertIn("/proc/nothing", told)

    def test_an_export_as_the_first_command_needs_an_agent_and_no_directory(self):
        shutil.copy2(os.path.join(BINARIES, "lanyard-export"), self.install)
        told = self.refused(3, "export", "otlp", "http://127.0.0.1:9/", "--once", "--no-start")
        self.assertIn("No agent answers", told)

    def test_a_missing_lanyard_cli_is_explained(self):
        self.move_away("lanyard-cli")
        self.assertIn("lanyard-cli", self.refused(1, "list"))

    def test_a_missing_demo_is_told_with_the_package_of_debian_that_has_it(self):
        told = self.refused(1, "demo")
        self.assertIn("lanyard-demo is missing", told)
        self.assertIn("`apt install lanyard-demo`", told)

    def test_a_system_without_glibc_is_told(self):
        # As on Alpine: a program whose dynamic linker is not there.
        self.move_away("lanyard-cli")
        for name, code, words in (("lanyard-cli", 1, ["list"]), ("lanyard-agent", 3, ["token"])):
            program = os.path.join(self.install, name)
            with open(program, "w") as file:
                file.write("#!/no/such/linker\n")
            os.chmod(program, 0o755)
            told = self.refused(code, *words)
            self.assertIn(f"{program} can't be run: it needs glibc", told)
            self.assertIn("Alpine", told)
            self.assertNotIn("No such file", told)

    def move_away(self, name):
        """A program of the installation, until the end of the test."""
        os.rename(os.path.join(self.install, name), os.path.join(self.install, "away"))
        self.addCleanup(os.rename, os.path.join(self.install, "away"), os.path.join(self.install, name))
