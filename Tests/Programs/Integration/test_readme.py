"""The commands in README.md, run as written, print what README.md shows."""

import os
import re
import shutil
import signal
import subprocess
import threading
import unittest
import urllib.request

from agent_fixture import BIN, ROOT, AgentFixture

SECONDS = 60
PORT_OF_THE_PAGE = "127.0.0.1:52745"


def tour():
    """The commands of all console blocks, each with the output shown below it."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        blocks = re.findall(r"^```console\n(.*?)^```", file.read(), re.S | re.M)
    steps = []
    for line in "".join(blocks).splitlines():
        if line.startswith("$ "):
            steps.append(([line[2:]], []))
        elif steps[-1][1] == [] and (
            "\n".join(steps[-1][0]).count("'") % 2 == 1 or steps[-1][0][-1].endswith("\\")
        ):
            steps[-1][0].append(line)
        else:
            steps[-1][1].append(line)
    return [("\n".join(command), "\n".join(shown)) for command, shown in steps]


def pattern(shown):
    """A pattern that allows other numbers, ids and home directories, and any text for three dots."""
    text = re.escape(shown.strip())
    text = re.sub(r"acc_[a-z0-9]+", "acc_[a-z0-9]+", text)
    text = text.replace("…", ".*").replace(re.escape("/home/alice/"), r"\S*/")
    # On a fast machine, "a moment ago" is "now".
    text = re.sub(r"\bnow\b|\d+\\ s\\ ago", r"(?:now|\\d+\\ s\\ ago)", text)
    text = re.sub(r"(?<![\w.:/\\])\d+(?=\\ )", r"\\d+", text)
    return re.compile(text.replace("5\\ min", r"\d+\ min"))


@unittest.skipUnless(shutil.which("socat") and shutil.which("curl"), "the tour uses curl and socat")
class Tour(AgentFixture):
    def setUp(self):
        self.place = self.directory()
        self.app = os.path.join(self.place, "home", "src", "app")
        os.makedirs(self.app)
        os.mkdir(os.path.join(self.place, "run"), 0o700)
        self.shell = subprocess.Popen(
            ["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=self.app, text=True,
            encoding="utf-8", start_new_session=True,
            env={
                "HOME": os.path.join(self.place, "home"), "XDG_RUNTIME_DIR": os.path.join(self.place, "run"),
                "PATH": f"{BIN}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8",
            },
        )
        self.addCleanup(self.end)
        # No command of the tour takes long; one that hangs must not hang the tests.
        self.watch = threading.Timer(SECONDS, self.end)
        self.watch.start()
        self.addCleanup(self.watch.cancel)

    def end(self):
        # The agent that a command started has its own session; it is ended by a call.
        subprocess.run(
            [os.path.join(BIN, "lanyard"), "rpc", "agent.shutdown", "--no-start"], capture_output=True,
            env={"XDG_RUNTIME_DIR": os.path.join(self.place, "run"), "PATH": os.environ["PATH"]})
        try:
            os.killpg(self.shell.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.shell.wait()
        for stream in (self.shell.stdin, self.shell.stdout):
            stream.close()

    def type(self, command, waits):
        """Types a command and reads its output; opens the page that a sign-in shows, as a person does."""
        self.shell.stdin.write(command + ("\n" if waits else "\nsleep 0.3\n") + "echo; echo @end\n")
        self.shell.stdin.flush()
        said = []
        for line in self.shell.stdout:
            if line == "@end\n":
                return "".join(said).strip()
            said.append(line)
            page = re.search(r"http://\S+/authorize\S+", line)
            if page:
                opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
                threading.Thread(target=lambda: opener.open(page[0]).read()).start()
        self.fail(f"the shell ended at: {command}\n{''.join(said)}")

    def test_readme_tour_prints_the_shown_output(self):
        issuer = None
        for command, shown in tour():
            command = command.replace("PYTHONPATH=Clients/python/src", f"PYTHONPATH={ROOT}/Clients/python/src")
            if issuer:
                command = command.replace(PORT_OF_THE_PAGE, issuer)
            with self.subTest(command=command):
                said = self.type(command, waits=not command.endswith("&"))
                if issuer is None:
                    issuer = re.search(r"127\.0\.0\.1:\d+", said)[0]
                self.assertRegex(said.replace(issuer, PORT_OF_THE_PAGE), pattern(shown))
        self.type("lanyard rpc agent.shutdown; kill %1", waits=True)


if __name__ == "__main__":
    unittest.main()
