"""Runs the commands of a document as a person types them, and compares what they print with what the document shows."""

import os
import re
import signal
import subprocess
import threading
import urllib.request

from agent_fixture import BIN, ROOT, AgentFixture

SECONDS = 60
PORT_OF_THE_PAGE = "127.0.0.1:52745"


def steps(document):
    """The commands of all console blocks, each with the output shown below it."""
    with open(os.path.join(ROOT, document), encoding="utf-8") as file:
        blocks = re.findall(r"^```console\n(.*?)^```", file.read(), re.S | re.M)
    found = []
    for line in "".join(blocks).splitlines():
        if line.startswith("$ "):
            found.append(([line[2:]], []))
        elif found[-1][1] == [] and (
            "\n".join(found[-1][0]).count("'") % 2 == 1 or found[-1][0][-1].endswith("\\")
        ):
            found[-1][0].append(line)
        else:
            found[-1][1].append(line)
    return [("\n".join(command), "\n".join(shown)) for command, shown in found]


def pattern(shown):
    """A pattern that allows other numbers, ids and home directories, and any text for three dots."""
    text = re.escape(shown.strip())
    text = re.sub(r"(acc|op)_[a-z0-9]+", r"\1_[a-z0-9]+", text)
    # Three dots alone on a line stand for any lines.
    text = re.sub(r"(?m)^…$", r"(?s:.*)", text)
    text = text.replace("…", ".*").replace(re.escape("/home/alice/"), r"\S*/").replace("/run/user/1000/", r"\S*/")
    text = re.sub(r"\d{4}\\-\d\d\\-\d\d\\ \d\d:\d\d:\d\d", lambda _: r"\d{4}-\d\d-\d\d\ \d\d:\d\d:\d\d", text)
    # On a fast machine, "a moment ago" is "now".
    text = re.sub(r"\bnow\b|\d+\\ s\\ ago", r"(?:now|\\d+\\ s\\ ago)", text)
    text = re.sub(r"\d\d:\d\d(?=\\ )", r"\\d\\d:\\d\\d", text)
    text = re.sub(r"(?<![\w.:/\\])\d+(?=\\ )", r"\\d+", text)
    return re.compile(text.replace("5\\ min", r"\d+\ min"))


class Tour(AgentFixture):
    """A shell in a home directory of its own. `issuer` is where the practice provider listens, once it does."""

    def setUp(self):
        self.issuer = None
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

    def type(self, command, person="alice"):
        """Types a command and returns its output. Opens the page that a sign-in shows, as the person does there.

        The provider's address takes the place of the document's, and the other way round in the output.
        """
        if self.issuer is not None:
            return self.exchange(command.replace(PORT_OF_THE_PAGE, self.issuer), person).replace(
                self.issuer, PORT_OF_THE_PAGE)
        told = self.exchange(command, person)
        # The provider says in the background where it listens.
        while (found := re.search(r"127\.0\.0\.1:\d+", told)) is None:
            told += self.exchange("sleep 0.1", person)
        self.issuer = found[0]
        return told.replace(self.issuer, PORT_OF_THE_PAGE)

    def exchange(self, command, person):
        """Types a command and reads until it has ended. The watch ends the shell if that takes too long."""
        self.shell.stdin.write(f"{command}\necho; echo @end\n")
        self.shell.stdin.flush()
        said = []
        for line in self.shell.stdout:
            if line == "@end\n":
                return "".join(said).strip()
            said.append(line)
            page = re.search(r"http://\S+/authorize\S+", line)
            if page:
                opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
                threading.Thread(target=lambda: opener.open(f"{page[0]}&login_hint={person}").read()).start()
        self.fail(f"the shell ended at: {command}\n{''.join(said)}")
