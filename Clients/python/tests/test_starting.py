"""Starting the agent, as the commands start it: one for many programs, and an explanation if it does not start."""

import asyncio
import gc
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, List
from unittest import mock

from lanyard import AgentNotRunning, AgentStartFailed, AsyncClient, CallTimeout, Client
from lanyard._starting import _KEPT_VARIABLES, _directories_of_programs

from .fake_agent import HELLO, PATIENCE_SECONDS

SOURCES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "src")

PROGRAM = """\
#!{python} -S
# A lanyard-agent that notes that it was started, and then answers each method with what HELLO has.
import json, os, socket, sys, threading
with open({starts!r}, "a") as starts:
    starts.write(json.dumps({{"argv": sys.argv[1:], "environment": dict(os.environ), "directory": os.getcwd(),
                             "session": os.getsid(0), "umask": os.umask(0o077), "pid": os.getpid(),
                             "descriptors": sorted(os.listdir("/proc/self/fd"))}}) + "\\n")
{body}
path = sys.argv[sys.argv.index("--socket") + 1]
if os.path.exists(path):
    os.unlink(path)
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen(64)

def serve(client):
    with client, client.makefile("rwb") as lines:
        for line in lines:
            request = json.loads(line)
            result = dict({hello!r}, subscription="s", epoch="e", sequence=0, gap=False)
            lines.write(json.dumps({{"jsonrpc": "2.0", "id": request["id"], "result": result}}).encode() + b"\\n")
            lines.flush()
            if request["method"] == "agent.shutdown":
                os._exit(0)

threading.Timer({patience}, os._exit, [0]).start()
while True:
    threading.Thread(target=serve, args=[listener.accept()[0]], daemon=True).start()
"""


def connect(*path: str, **options: Any) -> None:
    with Client(*path, **options):
        pass


class Starting(unittest.TestCase):
    def setUp(self) -> None:
        self.place = tempfile.mkdtemp(prefix="lanyard-")
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        self.starts = os.path.join(self.place, "starts")
        self.socket = os.path.join(self.place, "run", "lanyard", "agent.sock")
        self.state = os.path.join(self.place, "home", ".local", "state", "lanyard")
        for name in ("bin", "run", "home"):
            os.mkdir(os.path.join(self.place, name), 0o700)
        self.write_program()
        environment = {
            "HOME": os.path.join(self.place, "home"),
            "XDG_RUNTIME_DIR": os.path.join(self.place, "run"),
            "PATH": os.path.join(self.place, "bin"),
        }
        patched = mock.patch.dict(os.environ, environment, clear=True)
        patched.start()
        self.addCleanup(patched.stop)
        self.addCleanup(self.end_agents)

    def write_program(self, body: str = "") -> None:
        text = PROGRAM.format(
            python=sys.executable, starts=self.starts, body=body, hello=HELLO, patience=PATIENCE_SECONDS
        )
        path = os.path.join(self.place, "bin", "lanyard-agent")
        with open(path, "w", encoding="utf-8") as program:
            program.write(text)
        os.chmod(path, 0o755)

    def started(self) -> List[Dict[str, Any]]:
        if not os.path.exists(self.starts):
            return []
        with open(self.starts, encoding="utf-8") as starts:
            return [json.loads(line) for line in starts]

    def end_agents(self) -> None:
        if os.path.exists(self.socket):
            with Client(self.socket) as client:
                client.call("agent.shutdown")

    def test_the_first_call_starts_one_and_the_next_client_finds_it(self) -> None:
        for _ in range(2):
            with Client() as client:
                self.assertEqual(client.hello.instance, "instance-1")
        [start] = self.started()
        self.assertEqual(start["argv"], ["--socket", self.socket])

    def test_many_at_once_start_one(self) -> None:
        other = subprocess.Popen(
            [sys.executable, "-c", "import lanyard\nwith lanyard.Client() as client: client.hello"],
            env=dict(os.environ, PYTHONPATH=SOURCES),
        )
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: connect(), range(8)))
        self.assertEqual(other.wait(PATIENCE_SECONDS), 0)
        self.assertEqual(len(self.started()), 1)

    def test_the_agent_is_detached_and_inherits_only_what_it_needs(self) -> None:
        kept = {"LANG": "C.UTF-8", "https_proxy": "http://proxy"}
        with open(os.devnull) as inherited, mock.patch.dict(os.environ, {**kept, "AWS_SECRET_ACCESS_KEY": "x"}):
            os.set_inheritable(inherited.fileno(), True)
            connect()
        [start] = self.started()
        self.assertEqual(start["directory"], "/")
        self.assertNotEqual(start["session"], os.getsid(0))
        self.assertEqual(start["umask"], 0o077)
        # Python adds LC_CTYPE in the C locale by itself; 3 and 4 are the note and the list.
        self.assertEqual(set(start["environment"]) - {"LC_CTYPE"}, {"HOME", "PATH", "XDG_RUNTIME_DIR", *kept})
        self.assertEqual(start["descriptors"], ["0", "1", "2", "3", "4"])

    def test_it_inherits_what_the_commands_hand_on(self) -> None:
        source = os.path.join(SOURCES, "../../../Sources/Programs/CommandSupport/Environment.swift")
        if not os.path.exists(source):
            self.skipTest("the sources of the commands are not here")
        with open(source, encoding="utf-8") as file:
            names = re.findall(r'"(\w+)"', file.read().partition("static var forAgent")[2])
        self.assertGreater(len(names), 20)
        self.assertEqual(sorted(names), sorted(_KEPT_VARIABLES))

    def test_what_it_creates_is_private(self) -> None:
        connect()
        for path in (os.path.dirname(self.socket), self.state):
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o700, path)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.join(self.state, "agent.log")).st_mode), 0o600)

    def test_none_is_started_where_that_is_not_wanted(self) -> None:
        with self.assertRaises(AgentNotRunning):
            connect(start=False)
        with self.assertRaises(AgentNotRunning):
            connect(self.socket)
        with mock.patch.dict(os.environ, {"LANYARD_NO_START": "1"}), self.assertRaises(AgentNotRunning):
            connect(self.socket, start=True)
        self.assertEqual(self.started(), [])
        with mock.patch.dict(os.environ, {"LANYARD_NO_START": "0"}):
            connect(self.socket, start=True)
        self.assertEqual(len(self.started()), 1)

    def test_a_reason_why_it_does_not_start_is_told_and_not_tried_again(self) -> None:
        self.write_program("print('the key is wrong', file=sys.stderr); sys.exit(76)")
        with self.assertRaises(AgentStartFailed) as caught:
            Client().connect(wait_seconds=PATIENCE_SECONDS)
        self.assertIn("can't open its vault (exit 76)", caught.exception.message)
        self.assertIn("it said: the key is wrong", caught.exception.message)
        self.assertIn(os.path.join(self.state, "agent.log"), caught.exception.message)
        self.assertFalse(caught.exception.retryable)
        self.assertEqual(len(self.started()), 1)

    def test_a_missing_program_is_told(self) -> None:
        with mock.patch.dict(os.environ, {"PATH": f"bin:{self.place}"}), self.assertRaises(AgentStartFailed) as caught:
            connect()
        self.assertIn("not in PATH", caught.exception.message)

    def test_a_system_without_glibc_is_told(self) -> None:
        with open(os.path.join(self.place, "bin", "lanyard-agent"), "w", encoding="utf-8") as program:
            program.write("#!/no/such/linker\n")
        with self.assertRaises(AgentStartFailed) as caught:
            connect()
        self.assertIn("lanyard-agent can't be run: it needs glibc", caught.exception.message)
        self.assertIn("Alpine", caught.exception.message)

    def test_an_installed_client_starts_the_agent_that_was_installed_with_it(self) -> None:
        client = os.path.join(self.place, "share", "lanyard", "python")
        shutil.copytree(os.path.join(SOURCES, "lanyard"), os.path.join(client, "lanyard"))
        told = subprocess.run(
            [sys.executable, "-c", "import lanyard\nwith lanyard.Client() as client: print(client.hello.instance)"],
            env=dict(os.environ, PATH="/nowhere", PYTHONPATH=client, PYTHONDONTWRITEBYTECODE="1"),
            stdout=subprocess.PIPE,
            text=True,
        )
        self.assertEqual((told.returncode, told.stdout), (0, "instance-1\n"))
        self.assertEqual(len(self.started()), 1)

    def test_an_agent_that_is_just_ending_is_waited_for(self) -> None:
        self.write_program(f"if len(open({self.starts!r}).readlines()) < 3: sys.exit(75)")
        connect()
        self.assertEqual(len(self.started()), 3)

    def test_a_start_that_takes_too_long_for_the_caller_is_a_timeout(self) -> None:
        gate = os.path.join(self.place, "gate")
        os.mkfifo(gate)
        self.write_program(f"open({gate!r}).read()")
        with self.assertRaises(CallTimeout):
            Client(timeout=0.3).call("agent.status")
        # The agent goes on, and serves the next caller.
        with open(gate, "w"):
            pass
        connect()
        self.assertEqual(len(self.started()), 1)

    def test_an_event_stream_starts_no_agent_after_its_own_went_away(self) -> None:
        with Client() as client, client.events() as events:
            client.call("agent.shutdown")
            self.assertIsNone(events.next(timeout=0.2))
            self.assertEqual(len(self.started()), 1)
            client.call("agent.status")
            self.assertEqual(len(self.started()), 2)

    def test_the_asyncio_client_starts_one(self) -> None:
        async def both() -> None:
            async with AsyncClient() as first, AsyncClient() as second:
                self.assertEqual(first.hello.instance, second.hello.instance)

        asyncio.run(both())
        self.assertEqual(len(self.started()), 1)

    def test_a_cancelled_task_leaves_no_connection_behind(self) -> None:
        gate = os.path.join(self.place, "gate")
        os.mkfifo(gate)
        self.write_program(f"open({gate!r}).read()")

        async def give_up() -> None:
            with self.assertRaises(CallTimeout):
                await AsyncClient(timeout=0.3).call("agent.status")
            with open(gate, "w"):
                pass

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ResourceWarning)
            asyncio.run(give_up())
            gc.collect()
        self.assertEqual([str(warning.message) for warning in caught], [])
        connect()
        self.assertEqual(len(self.started()), 1)


class WhereProgramsAre(unittest.TestCase):
    """The agent that was installed with the client comes before those in PATH."""

    def test_each_way_to_install_has_its_directory(self) -> None:
        for package, programs in (
            ("/usr/local/share/lanyard/python/lanyard", "/usr/local/bin"),
            ("/home/alice/venv/lib/python3.12/site-packages/lanyard", "/home/alice/venv/bin"),
            ("/home/alice/.local/lib/python3.12/site-packages/lanyard", "/home/alice/.local/bin"),
            ("/usr/lib/python3/dist-packages/lanyard", "/usr/bin"),
        ):
            self.assertEqual(_directories_of_programs(package), [programs], package)

    def test_a_source_tree_and_a_copy_have_none(self) -> None:
        for package in ("/home/alice/lanyard/Clients/python/src/lanyard", "/srv/app/vendor/lanyard", "/lanyard"):
            self.assertEqual(_directories_of_programs(package), [], package)


if __name__ == "__main__":
    unittest.main()
