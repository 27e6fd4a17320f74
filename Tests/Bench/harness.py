"""A real agent with a real provider, for measurements and for tests: started, signed in, and taken down again.

Uses the Python client, which must be importable (`PYTHONPATH=Clients/python/src`). It speaks raw methods only, so it
needs only the names of the contract.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import urllib.parse
import urllib.request
from typing import Any, Dict, List, Mapping, Optional, Sequence

from anchors import forget_anchors
from lanyard import Client

START_SECONDS = 60.0
SIGN_IN_SECONDS = 30

SCOPES = ["openid", "profile", "email", "offline_access"]


class Practice:
    """`lanyard-demo provider`: an OpenID provider on loopback that signs a person in without asking."""

    def __init__(self, demo: str, person: str = "alice", options: Sequence[str] = ()) -> None:
        self._process = subprocess.Popen(
            [demo, "provider", "--auto-approve", person, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        first_line = self._process.stdout.readline()
        issuer = re.search(r"https?://\S+", first_line)
        if issuer is None:
            self.stop()
            raise RuntimeError("the practice provider did not print its issuer")
        self.issuer = issuer.group()
        # Its further output must not fill the pipe.
        threading.Thread(target=self._process.stdout.read, daemon=True).start()

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()

    def control(self, command: str, body: Mapping[str, Any]) -> Any:
        """Sends a control command to the provider (`lanyard-demo provider --help`)."""
        request = urllib.request.Request(
            f"{self.issuer}/practice/{command}", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
            return json.load(answer)

    def __enter__(self) -> "Practice":
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()


class Agent:
    """`lanyard-agent` on a socket and a state directory of its own."""

    def __init__(self, program: str, options: Sequence[str] = ()) -> None:
        self.program = program
        self._options = list(options)
        self.directory = tempfile.mkdtemp(prefix="lanyard-agent-")
        self.socket = os.path.join(self.directory, "run", "agent.sock")
        self.state = os.path.join(self.directory, "state")
        self.process: "Optional[subprocess.Popen[bytes]]" = None
        os.mkdir(os.path.dirname(self.socket), 0o700)

    @property
    def command(self) -> List[str]:
        return [self.program, "--socket", self.socket, "--state-dir", self.state, *self._options]

    @property
    def environment(self) -> Dict[str, str]:
        """Isolates the agent from the person's own agent and configuration."""
        home = os.path.join(self.directory, "home")
        own = {
            "HOME": home,
            "LANYARD_SOCKET": self.socket,
            "LANYARD_STATE_DIR": self.state,
            "XDG_CONFIG_HOME": os.path.join(home, ".config"),
            "XDG_RUNTIME_DIR": os.path.join(self.directory, "run"),
            "XDG_STATE_HOME": os.path.join(home, ".local", "state"),
        }
        os.makedirs(home, 0o700, exist_ok=True)
        return {**os.environ, **own}

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self, wait: bool = True) -> None:
        with open(os.path.join(self.directory, "agent.log"), "ab") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment
            )
        if wait:
            with contextlib.closing(Client(self.socket)) as client:
                client.connect(wait_seconds=START_SECONDS)

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Ends it by a signal and returns its exit code."""
        assert self.process is not None
        self.process.send_signal(how)
        return self.process.wait(START_SECONDS)

    def log(self) -> str:
        with open(os.path.join(self.directory, "agent.log"), errors="replace") as log:
            return log.read()

    def client(self, **options: Any) -> Client:
        return Client(self.socket, **options)

    def __enter__(self) -> "Agent":
        self.start()
        return self

    def __exit__(self, *_: Any) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        forget_anchors(self.directory)
        shutil.rmtree(self.directory, ignore_errors=True)


def add_provider(client: Client, issuer: str, name: str = "practice", **members: Any) -> str:
    client.call(
        "provider.add", {"name": name, "issuer": issuer, "clientId": "lanyard-demo", "scopes": SCOPES, **members}
    )
    return name


def sign_in(client: Client, provider: str, person: str, alias: Optional[str] = None) -> str:
    """Signs a person in as a browser would, and returns the id of the account."""
    params: Dict[str, Any] = {"provider": provider, "flow": "browser", "openBrowser": False}
    begun = client.call("signIn.begin", params if alias is None else {**params, "alias": alias})
    browse(begun["authorizationUrl"], {"login_hint": person})
    ended = client.call("signIn.wait", {"signIn": begun["signIn"], "timeoutSeconds": SIGN_IN_SECONDS})
    if ended["status"] != "completed":
        raise RuntimeError("the sign-in did not complete")
    account: str = ended["account"]
    return account


def browse(url: str, more: Mapping[str, str]) -> bytes:
    """Follows the redirects of the provider to the agent's loopback listener, and reads the page there."""
    joined = f"{url}&{urllib.parse.urlencode(more)}"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(joined, timeout=SIGN_IN_SECONDS) as page:
        text: bytes = page.read()
        return text
