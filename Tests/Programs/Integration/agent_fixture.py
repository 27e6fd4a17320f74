"""Fixtures for tests of the running programs: agents with their own directories, a provider with scripted faults."""

from __future__ import annotations

import functools
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Callable, Dict, List, Optional

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
sys.path[:0] = [
    os.path.join(ROOT, "Clients", "python", "src"), os.path.join(ROOT, "Tests", "Bench"), os.path.join(ROOT, "Tests", "Programs")]

from anchors import forget_anchors  # noqa: E402
from harness import SCOPES, Agent, Practice  # noqa: E402
from lanyard import Client, ConnectionLost, LanyardError  # noqa: E402

# A shell that starts a test run in the background ignores SIGINT, and every child would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

BIN = os.path.abspath(os.environ.get("LANYARD_BIN", os.path.join(ROOT, ".build", "debug")))
AGENT = os.path.join(BIN, "lanyard-agent")
DEMO = os.path.join(BIN, "lanyard-demo")

PATIENCE_SECONDS = 60.0
"""The limit for waits that take milliseconds when the test passes."""


class Provider(Practice):
    """The practice provider and its control interface."""

    def __init__(self, *options: str) -> None:
        super().__init__(DEMO, options=options)
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def _ask(self, request: Any) -> Any:
        with self._opener.open(request, timeout=PATIENCE_SECONDS) as answer:
            return json.load(answer)

    def post(self, path: str, /, **body: Any) -> Any:
        return self._ask(
            urllib.request.Request(
                f"{self.issuer}/practice/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
            )
        )

    def get(self, path: str) -> Any:
        return self._ask(f"{self.issuer}/practice/{path}")

    def fault(self, effect: str, path: str = "/token", **members: Any) -> None:
        self.post("faults", path=path, effect=effect, **members)

    def clear_faults(self) -> None:
        self._ask(urllib.request.Request(f"{self.issuer}/practice/faults", method="DELETE"))

    def asked(self, path: str = "/token") -> int:
        """The number of requests to a path since the start."""
        count: int = self.get("requests")["counts"].get(path, 0)
        return count

    def stop(self) -> None:
        super().stop()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def refreshes(self) -> List[Dict[str, Any]]:
        """The refresh token exchanges among the latest requests (the provider keeps some thousands), oldest first."""
        asked = self.get("requests")["requests"]
        return [request for request in asked if request.get("grant_type") == "refresh_token"]

    def ended(self) -> Dict[str, str]:
        """The ended grants, each with its reason."""
        return {grant["id"]: grant["ended"] for grant in self.get("grants")["grants"] if grant["ended"]}

    def refresh_token(self, person: str) -> str:
        """A refresh token, as from a sign-in just now."""
        token: str = self.post("sign-in", user=person)["refresh_token"]
        return token


class Scene(Agent):
    """An agent that a test can start, kill and start again; its directories are removed with the test."""

    def __init__(self, *options: str) -> None:
        super().__init__(AGENT, options)

    def once(self, *options: str, input: bytes = b"", **more: Any) -> "subprocess.CompletedProcess[bytes]":
        """Runs the program with only these options, until it ends by itself."""
        return subprocess.run(
            [AGENT, *options], input=input, capture_output=True, env=self.environment, timeout=PATIENCE_SECONDS, **more
        )

    def run(self, **more: Any) -> "subprocess.CompletedProcess[bytes]":
        """Runs the program with this scene's options, and expects it to end by itself."""
        return self.once(*self.command[1:], **more)

    def kill(self) -> None:
        self.end(signal.SIGKILL)

    def forget_keyring(self) -> None:
        """Removes this state's anchors from the kernel's keyring."""
        forget_anchors(self.state)


class Preloaded(Scene):
    """An agent into which the dynamic linker loads a library first, at its command line's word: the agent removes
    `LD_PRELOAD` (Sources/Foreign/CStart). What the library reads and writes lies beside the socket, where a confined agent
    may do both."""

    library = ""

    @property
    def command(self) -> List[str]:
        command = super().command
        return [loader(command[0]), "--preload", self.library, *command] if self.library else command

    def beside_the_socket(self, name: str) -> str:
        return os.path.join(os.path.dirname(self.socket), name)


@functools.lru_cache(maxsize=None)
def loader(program: str) -> str:
    """The dynamic linker that a program names."""
    with open(program, "rb") as file:
        named = re.search(rb"\0(/lib[^\0]*/ld-[^\0]+)\0", file.read(1 << 16))
    assert named, f"{program} names no dynamic linker"
    return named.group(1).decode()


class AgentFixture(unittest.TestCase):
    """Tests whose agents end with them."""

    def scene(self, *options: str, start: bool = True) -> Scene:
        scene = Scene(*options)
        self.addCleanup(scene.__exit__)
        if start:
            scene.start()
        return scene

    def provider(self, *options: str) -> Provider:
        provider = Provider(*options)
        self.addCleanup(provider.stop)
        return provider

    def client(self, scene: Scene) -> Client:
        client = scene.client(timeout=PATIENCE_SECONDS)
        self.addCleanup(client.close)
        return client

    def alice(self, *options: str) -> tuple[Provider, Scene, Client]:
        """A provider with these options, and an agent at which Alice is signed in."""
        provider = self.provider(*options)
        scene = self.scene()
        client = self.client(scene)
        add_provider(client, provider)
        import_account(client, provider, "alice", alias="alice")
        return provider, scene, client

    def directory(self) -> str:
        directory = tempfile.mkdtemp(prefix="lanyard-integration-")
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        return directory

    def refused(self, code: int, call: Callable[[], Any]) -> LanyardError:
        """Asserts that the call fails with this error code."""
        with self.assertRaises(LanyardError) as caught:
            call()
        self.assertEqual(caught.exception.code, code, caught.exception)
        return caught.exception

    def until(self, condition: Callable[[], Any], what: str) -> Any:
        """Polls a condition that has no event."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            if found := condition():
                return found
            if time.monotonic() > deadline:
                self.fail(f"in vain: {what}")
            time.sleep(0.005)


class SharedAgentFixture(AgentFixture):
    """Tests of a class that share an agent and a provider, `agent` and `idp`; each leaves both as they were. A test that
    kills, locks, signs out or restarts, or that reads what others wrote, takes a class with agents of its own."""

    idp: Provider
    agent: Scene
    caller: Client

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.idp = Provider()
        cls.addClassCleanup(cls.idp.stop)
        cls.agent = Scene()
        cls.addClassCleanup(cls.agent.__exit__)
        cls.agent.start()
        cls.caller = cls.agent.client(timeout=PATIENCE_SECONDS)
        cls.addClassCleanup(cls.caller.close)

    def tearDown(self) -> None:
        self.assertIsNone(self.agent.process.poll() if self.agent.process else None, "the agent of the other tests ended")
        super().tearDown()


def accepts(path: str) -> bool:
    """True if a server accepts connections at a socket. A socket has its name a moment before that."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
    return True


def as_nobody(work: Callable[[], Any]) -> Any:
    """Runs `work` in a child process as the user `nobody`, and returns its result."""
    nobody = pwd.getpwnam("nobody")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            os.setgroups([])
            os.setgid(nobody.pw_gid)
            os.setuid(nobody.pw_uid)
            os.write(writing, json.dumps(work()).encode())
        except BaseException as error:
            os.write(writing, json.dumps(f"failed: {error!r}").encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return json.loads(told)


def http_answer(host: str, port: int, target: str) -> str:
    """The whole answer to a GET; empty if the connection is refused or reset. Imports nothing, so that `as_nobody` can call it."""
    with socket.socket() as connection:
        connection.settimeout(PATIENCE_SECONDS)
        told = b""
        try:
            connection.connect((host, port))
            connection.sendall(f"GET {target} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
            while more := connection.recv(65536):
                told += more
        except ConnectionError:
            pass
        return told.decode()


def add_provider(client: Client, provider: Provider, **members: Any) -> None:
    client.call(
        "provider.add",
        {"name": "practice", "issuer": provider.issuer, "clientId": "lanyard-demo", "scopes": SCOPES, **members},
    )


def import_account(client: Client, provider: Provider, person: str, alias: str = "") -> str:
    """Signs a person in without a page; returns the account's id."""
    params = {"provider": "practice", "refreshToken": provider.refresh_token(person)}
    imported = client.call("signIn.import", {**params, "alias": alias} if alias else params)
    account: str = imported["account"]
    return account


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def answer_of_provider(url: str, person: str) -> str:
    """Signs a person in on the page; returns the redirect without following it."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirect)
    url += "&" + urllib.parse.urlencode({"login_hint": person})
    try:
        with opener.open(url, timeout=PATIENCE_SECONDS) as page:
            raise AssertionError(f"no redirect: {page.read()[:200]!r}")
    except urllib.error.HTTPError as redirect:
        with redirect:
            return urllib.parse.urljoin(url, redirect.headers["Location"])


def sign_in(client: Client, person: str, **members: Any) -> str:
    """Signs a person in on the provider's page, as only the person can; returns the account's id."""
    begun = client.call("signIn.begin", {"provider": "practice", "flow": "paste", **members})
    back = answer_of_provider(begun["authorizationUrl"], person)
    account: str = client.call("signIn.complete", {"signIn": begun["signIn"], "redirectUrl": back})["account"]
    return account


def raw(socket_path: str, data: bytes, lines: int = 1, seconds: float = PATIENCE_SECONDS) -> List[Any]:
    """Sends bytes and reads the given number of lines; fewer if the agent closes."""
    import socket

    with socket.socket(socket.AF_UNIX) as connection:
        # Connecting may have to wait for a place; with a timeout set, Python would not wait.
        connection.connect(socket_path)
        connection.settimeout(seconds)
        connection.sendall(data)
        with connection.makefile("rb") as reader:
            read = [reader.readline() for _ in range(lines)]
            return [json.loads(line) for line in read if line]


def request(method: str, params: Optional[Dict[str, Any]] = None, identity: int = 1) -> bytes:
    message: Dict[str, Any] = {"jsonrpc": "2.0", "id": identity, "method": method}
    if params is not None:
        message["params"] = params
    return json.dumps(message).encode() + b"\n"


STATUS = request("agent.status")

__all__ = [
    "AGENT", "BIN", "Client", "ConnectionLost", "DEMO", "AgentFixture", "LanyardError", "PATIENCE_SECONDS", "Preloaded", "Provider", "ROOT",
    "STATUS", "Scene", "SharedAgentFixture", "add_provider", "import_account", "raw", "request",
]
