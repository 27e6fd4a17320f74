"""The programs that are compared, each with a home of its own, driven as a person and a program would drive it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from harness import Agent, add_provider, sign_in

HERE = os.path.dirname(os.path.abspath(__file__))
CLIENT, SECRET = "rivals", "practice-secret"
PATIENCE_SECONDS = 120


class Answer(NamedTuple):
    """What a caller got: a token, or what it was told."""

    ok: bool
    told: str
    seconds: float
    status: Optional[int] = None


def run(words: Sequence[str], environment: Dict[str, str], **more: Any) -> Answer:
    began = time.perf_counter()
    done = subprocess.run(
        words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        timeout=PATIENCE_SECONDS, **more)
    seconds = time.perf_counter() - began
    return Answer(done.returncode == 0, (done.stdout if done.returncode == 0 else done.stderr).strip(), seconds, done.returncode)


class Subject:
    """One program, signed in at a practice provider as alice."""

    name = ""
    version = ""
    missing: Optional[str] = None
    """Why it is not measured here."""

    def start(self, issuer: str) -> None:
        raise NotImplementedError

    def restart(self) -> None:
        raise NotImplementedError

    def kill_amid_a_refresh(self, seconds: float) -> None:
        """A caller asks for a token that must be refreshed; all processes are killed so many seconds later."""
        raise NotImplementedError

    def token(self) -> Answer:
        """By the command, or by a program where there is no command."""
        raise NotImplementedError

    def together(self, callers: int) -> List[Answer]:
        with ThreadPoolExecutor(callers) as pool:
            return [told.result() for told in [pool.submit(self.token) for _ in range(callers)]]

    def by_command(self, count: int) -> Optional[List[float]]:
        """Seconds of each call by a command that is started for it; nothing where there is no command."""
        return [self.token().seconds for _ in range(count)]

    def by_connection(self, count: int) -> List[float]:
        """Seconds of each call by a program that runs."""
        raise NotImplementedError

    def sign_out(self) -> Answer:
        raise NotImplementedError

    def pids(self) -> List[int]:
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError


class Lanyard(Subject):
    name = "Lanyard"

    def __init__(self, programs: str) -> None:
        self.programs = programs
        self.version = run([f"{programs}/lanyard", "--version"], dict(os.environ)).told.split()[-1]

    def start(self, issuer: str) -> None:
        self.agent = Agent(f"{self.programs}/lanyard-agent")
        self.agent.start()
        self.client = self.agent.client()
        sign_in(self.client, add_provider(self.client, issuer), "alice", alias="work")

    def restart(self) -> None:
        self.agent.start()
        self.client = self.agent.client()

    def kill_amid_a_refresh(self, seconds: float) -> None:
        caller = subprocess.Popen(
            [f"{self.programs}/lanyard", "token", "work", "--no-start"], env=self.agent.environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(seconds)
        self.agent.end(signal.SIGKILL)
        caller.wait()

    def token(self) -> Answer:
        return run([f"{self.programs}/lanyard", "token", "work"], self.agent.environment)

    def by_connection(self, count: int) -> List[float]:
        found = []
        for _ in range(count):
            began = time.perf_counter()
            self.client.call("token.get", {"account": "work"})
            found.append(time.perf_counter() - began)
        return found

    def sign_out(self) -> Answer:
        return run([f"{self.programs}/lanyard", "logout", "work"], self.agent.environment)

    def pids(self) -> List[int]:
        return [self.agent.pid, *children(self.agent.pid)]

    def stop(self) -> None:
        self.client.close()
        self.agent.__exit__()


class OIDCAgent(Subject):
    """oidc-agent of Debian, with an account configuration by oidc-gen."""

    name = "oidc-agent"

    def __init__(self) -> None:
        if not shutil.which("oidc-agent") or not shutil.which("oidc-gen"):
            self.missing = "oidc-agent is not installed (Debian: oidc-agent-cli)"
            return
        self.version = run(["oidc-agent", "--version"], dict(os.environ)).told.split()[-1]

    def start(self, issuer: str) -> None:
        self.place = tempfile.mkdtemp(prefix="oidc-agent-")
        self.issuer = issuer
        os.makedirs(f"{self.place}/.config/oidc-agent", 0o700)
        with open(f"{self.place}/password", "w", encoding="utf-8") as file:
            file.write("correct horse\n")
        self.environment = {"HOME": self.place, "PATH": os.environ["PATH"], "TMPDIR": self.place, "LC_ALL": "C.UTF-8"}
        self.launch()
        made = run(
            ["oidc-gen", "work", f"--iss={issuer}/", f"--client-id={CLIENT}", f"--client-secret={SECRET}",
             f"--rt={self.refresh_token()}", "--flow=refresh", "--scope=openid offline_access",
             f"--pw-file={self.place}/password", "--prompt=none"], self.environment)
        if not made.ok:
            raise RuntimeError(f"oidc-gen: {made.told}")
        run(["oidc-add", "--remove", "work"], self.environment)
        self.load()

    def refresh_token(self) -> str:
        from practice import control

        token: str = control(self.issuer, "sign-in", user="alice", client_id=CLIENT)["refresh_token"]
        return token

    def launch(self) -> None:
        # With the password it can write a rotated refresh token down. A sign-in anew would wait for a browser.
        told = run(["oidc-agent", "--pw-store", "--no-autoreauthenticate"], self.environment).told
        self.environment["OIDC_SOCK"] = re.search("OIDC_SOCK=([^;]+);", told)[1]  # type: ignore[index]
        self.pid = int(re.search("OIDCD_PID=([0-9]+);", told)[1])  # type: ignore[index]

    def restart(self) -> None:
        self.launch()
        self.load()

    def load(self) -> None:
        run(["oidc-add", f"--pw-file={self.place}/password", "--pw-store", "work"], self.environment)

    def kill_amid_a_refresh(self, seconds: float) -> None:
        pids = self.pids()
        caller = subprocess.Popen(
            ["oidc-token", "work"], env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(seconds)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        caller.wait()

    def token(self) -> Answer:
        return run(["oidc-token", "work"], self.environment)

    def by_connection(self, count: int) -> List[float]:
        # Its library connects for each call. A process of its own, since the library ends with its caller's trouble.
        program = (
            "import ctypes, json, sys, time\n"
            "library = ctypes.CDLL('liboidc-agent.so.4')\n"
            "library.getAccessToken.restype = ctypes.c_char_p\n"
            "library.getAccessToken.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_char_p, ctypes.c_char_p]\n"
            "found = []\n"
            "for _ in range(int(sys.argv[1])):\n"
            "    began = time.perf_counter()\n"
            "    token = library.getAccessToken(b'work', 0, None, b'bench')\n"
            "    found.append(time.perf_counter() - began)\n"
            "    assert token, 'no token'\n"
            "print(json.dumps(found))\n")
        told = run([sys.executable, "-c", program, str(count)], self.environment)
        if not told.ok:
            raise RuntimeError(told.told)
        found: List[float] = json.loads(told.told)
        return found

    def sign_out(self) -> Answer:
        return run(
            ["oidc-gen", "-d", "work", f"--pw-file={self.place}/password", "--prompt=none", "--confirm-yes"], self.environment)

    def pids(self) -> List[int]:
        return [self.pid, *children(self.pid)]

    def stop(self) -> None:
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.place, ignore_errors=True)


class Authsome(Subject):
    """authsome of PyPI, by its own client of its daemon: it has no command that prints a token."""

    name = "authsome"

    def __init__(self, python: Sequence[str]) -> None:
        self.python = list(python)
        told = run([*self.python, "-c", "import authsome; print(authsome.__version__)"], dict(os.environ)) if python else None
        if told is None or not told.ok:
            self.missing = "authsome needs Python 3.13 or later: give --authsome"
        else:
            self.version = told.told
        self.homes = 0

    def start(self, issuer: str) -> None:
        from practice import metadata

        self.homes += 1
        # In the root file system of its Python, which may be another one.
        home = f"/tmp/lanyard-rivals-{os.getpid()}-{self.homes}"
        with open(os.path.join(HERE, "authsome_driver.py"), encoding="utf-8") as file:
            source = file.read()
        self.driver = subprocess.Popen(
            [*self.python, "-c", source, home, str(free_port())], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)
        told = self.do("start", issuer=issuer, client_id=CLIENT, client_secret=SECRET, endpoints=metadata(issuer))
        if told["status"] != "completed":
            raise RuntimeError(f"authsome: {told}")
        self.pid = told["pid"]

    def do(self, what: str, **order: Any) -> Dict[str, Any]:
        assert self.driver.stdin and self.driver.stdout
        self.driver.stdin.write(json.dumps({"do": what, **order}) + "\n")
        self.driver.stdin.flush()
        answer: Dict[str, Any] = json.loads(self.driver.stdout.readline())
        return answer

    def restart(self) -> None:
        self.pid = self.do("restart")["pid"]

    def kill_amid_a_refresh(self, seconds: float) -> None:
        self.do("kill_in", seconds=seconds)

    def together(self, callers: int) -> List[Answer]:
        return [Answer(*answer) for answer in self.do("token", callers=callers)["answers"]]

    def token(self) -> Answer:
        return self.together(1)[0]

    def by_command(self, count: int) -> Optional[List[float]]:
        return None

    def by_connection(self, count: int) -> List[float]:
        return [answer[2] for answer in self.do("token", callers=1, repeats=count)["answers"]]

    def sign_out(self) -> Answer:
        told = self.do("sign_out")
        return Answer(told["ok"], told.get("told", ""), 0)

    def pids(self) -> List[int]:
        return [self.pid, *children(self.pid)]

    def stop(self) -> None:
        assert self.driver.stdin and self.driver.stdout
        self.driver.stdin.close()
        self.driver.wait(PATIENCE_SECONDS)
        self.driver.stdout.close()


class GitCredentialManager(Subject):
    """Its row is of what it says of itself: no registry that this project builds from has it."""

    name = "Git Credential Manager"
    missing = "a .NET program, in neither Debian nor PyPI"


def children(pid: int) -> List[int]:
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            own = [int(child) for child in file.read().split()]
        return own + [below for child in own for below in children(child)]
    return []


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
