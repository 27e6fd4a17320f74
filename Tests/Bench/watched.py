"""What it costs `lanyard proxy` to look for the tokens of thirty accounts in what a server answers, beside the same transfers
with no token to look for: a large binary body, and a stream of events."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import random
import secrets
import signal
import socket
import subprocess
import threading
import time
import urllib.parse
from typing import Any, Dict, List

from harness import Agent, Practice, add_provider
from measure import processor_seconds
from report import Goal, Row

ACCOUNTS = 30
TOKEN_BYTES = 2048
UNWATCHED_TOKEN = "short77"
"""A token of fewer than eight bytes is not looked for: it occurs in texts by chance."""

PIECE = random.Random(7).randbytes(16 << 10)
EVENT = b'data: {"id":17,"text":"nothing that a token could begin with, or so it seems"}\n\n'
PATIENCE_SECONDS = 120

KINDS = {"binary body, 16 KiB pieces": ("/binary", PIECE), "stream of events": ("/events", EVENT)}


def watched(bench: Any, agent_program: str, demo: str) -> None:
    if not bench.options.cli:
        return
    sizes = {"/binary": (5 << 20) if bench.options.quick else (50 << 20), "/events": (1 << 20) if bench.options.quick else (8 << 20)}
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(Server(sizes))
        people = os.path.join(bench.directory, "watched-people.json")
        with open(people, "w") as file:
            json.dump({"users": [{"name": f"person-{number:02d}"} for number in range(ACCOUNTS + 1)]}, file)
        practice = stack.enter_context(Practice(
            demo, "person-00", ["--users", people, "--opaque", "--access-token-lifetime", "36000"]))
        agent = stack.enter_context(Agent(agent_program))
        sign_in_all(agent, practice, server.origin)
        names = {"no token": "short", f"{ACCOUNTS} tokens of {TOKEN_BYTES} bytes": "person-00"}
        grants = {"short": ["short"], "person-00": [f"person-{number:02d}" for number in range(ACCOUNTS)]}
        proxies = {
            subject: stack.enter_context(Proxy(bench.options.cli, agent, name, grants[name])) for subject, name in names.items()}
        for kind, (path, _) in KINDS.items():
            seconds: Dict[str, List[float]] = {subject: [] for subject in names}
            cpu: Dict[str, List[float]] = {subject: [] for subject in names}
            for _ in range(1 + bench.rounds):
                for subject, proxy in proxies.items():
                    begun, used = time.monotonic(), proxy.cpu_seconds
                    count = proxy.read(server.origin + path)
                    seconds[subject].append(time.monotonic() - begun)
                    cpu[subject].append(proxy.cpu_seconds - used)
                    bench.errors += count != server.bytes_of(path)
            for unit, figures in (("ms", seconds), ("ms proxy CPU", cpu)):
                reference = [figure * 1000 for figure in figures["no token"][1:]]
                for subject in names:
                    row = Row(f"lanyard proxy: {kind}", subject, unit, [figure * 1000 for figure in figures[subject][1:]])
                    if subject != "no token":
                        row.reference = reference
                        row.goal = Goal(most=2) if unit == "ms" else None
                    bench.rows.append(row)


def sign_in_all(agent: Agent, practice: Practice, origin: str) -> None:
    """Alice and twenty-nine others with long tokens, and one with a token that is not looked for."""
    entries = practice.control("sign-in", {"everybody": True})["sign_ins"]
    with agent.client() as client:
        provider = add_provider(client, practice.issuer, allowedOrigins=[origin])
        for number, entry in enumerate(entries[:ACCOUNTS + 1]):
            token = secrets.token_urlsafe(TOKEN_BYTES)[:TOKEN_BYTES] if number < ACCOUNTS else UNWATCHED_TOKEN
            name = f"person-{number:02d}" if number < ACCOUNTS else "short"
            client.call("signIn.import", {"provider": provider, "refreshToken": entry["refresh_token"], "alias": name})
            # An ID token would be one for the access token of before.
            changes = {"access_token": token, "id_token": None}
            practice.control("faults", {"path": "/token", "effect": "changeAnswer", "json": changes, "count": 1})
            found = client.call("token.refresh", {"account": name})["accessToken"]
            assert found == token, (name, len(found))


class Proxy:
    """`lanyard proxy` for one account under a grant of several, all of whose tokens it looks for."""

    def __init__(self, lanyard: str, agent: Agent, account: str, accounts: List[str]) -> None:
        with agent.client() as client:
            grant = client.call(
                "grant.create", {"client": f"bench-{account}", "accounts": accounts, "methods": ["request.authorize"]})["grant"]
        self._process = subprocess.Popen(
            [lanyard, "proxy", "--json", "--grant", grant, "--account", account], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=agent.environment)
        assert self._process.stdout is not None
        announced = json.loads(self._process.stdout.readline())
        found = urllib.parse.urlsplit(announced["url"])
        self.port = found.port
        self.credentials = base64.b64encode(f"{found.username}:{found.password}".encode()).decode()

    @property
    def cpu_seconds(self) -> float:
        return processor_seconds(self._process.pid)

    def read(self, url: str) -> int:
        """How many bytes of a body come."""
        host = urllib.parse.urlsplit(url).netloc
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_SECONDS) as connection:
            connection.sendall(
                f"GET {url} HTTP/1.1\r\nHost: {host}\r\nProxy-Authorization: Basic {self.credentials}\r\n"
                "Connection: close\r\n\r\n".encode())
            buffer = bytearray(1 << 16)
            told = b""
            while b"\r\n\r\n" not in told:
                more = connection.recv(4096)
                if not more:
                    raise RuntimeError(told.decode(errors="replace"))
                told += more
            head, _, body = told.partition(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(told.decode(errors="replace"))
            count = len(body)
            while more := connection.recv_into(buffer):
                count += more
            return count

    def __enter__(self) -> "Proxy":
        return self

    def __exit__(self, *_: Any) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(PATIENCE_SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()


class Server:
    """Sends a body in many pieces, as fast as they are taken."""

    def __init__(self, sizes: Dict[str, int]) -> None:
        self._pieces = {path: piece for path, piece in KINDS.values()}
        self._counts = {path: size // len(self._pieces[path]) for path, size in sizes.items()}
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.origin = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def bytes_of(self, path: str) -> int:
        return self._counts[path] * len(self._pieces[path])

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            asked = b""
            while b"\r\n\r\n" not in asked:
                asked += connection.recv(65536)
            path = asked.split(b" ", 2)[1].decode()
            kind = "text/event-stream" if path == "/events" else "application/octet-stream"
            connection.sendall(
                f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {self.bytes_of(path)}\r\n\r\n".encode())
            piece = self._pieces[path]
            for _ in range(self._counts[path]):
                connection.sendall(piece)

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: Any) -> None:
        self._listener.close()
