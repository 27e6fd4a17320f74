"""Fixtures for tests of `lanyard proxy` and `lanyard exec --proxy`: a TLS server whose origin gets tokens of the practice
provider, proxies that end with their test, and raw connections to them."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import urllib.parse
from typing import Any, Dict, List, Optional

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "Desktop"))

from desktop_fixture import (  # noqa: E402
    Desktop, LANYARD, PATIENCE_SECONDS, Request, Response, Server, certificates, program, python_packages)
from agent_fixture import SCOPES, as_nobody  # noqa: E402


class TLSServer:
    """A TLS server on loopback; a subclass has `speak`, which gets each connection on a thread of its own."""

    def __init__(self) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificates().certificate, certificates().key)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.place = f"localhost:{self._listener.getsockname()[1]}"
        self.origin = "https://" + self.place
        threading.Thread(target=self._serve, daemon=True).start()

    def stop(self) -> None:
        self._listener.close()

    def speak(self, connection: ssl.SSLSocket, port: int) -> None:
        """Answers the client at a port, until it returns or the client goes."""
        raise NotImplementedError

    def ended(self) -> None:
        """A connection has ended."""

    def _serve(self) -> None:
        while True:
            try:
                connection, address = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection, address[1]), daemon=True).start()

    def _answer(self, raw: socket.socket, port: int) -> None:
        try:
            with self._context.wrap_socket(raw, server_side=True) as connection:
                self.speak(connection, port)
        except (OSError, EOFError):
            pass
        finally:
            self.ended()


class Proxy:
    """A running `lanyard proxy`, as it announced itself."""

    def __init__(self, process: "subprocess.Popen[str]", announced: Dict[str, Any]) -> None:
        self.process = process
        self.announced = announced
        self.certificate: Optional[str] = announced.get("certificate")
        self.url: str = announced.get("url", "")
        found = urllib.parse.urlsplit(self.url)
        self.port = found.port
        self.secret = found.password or ""

    @property
    def credentials(self) -> str:
        return "Basic " + base64.b64encode(f"lanyard:{self.secret}".encode()).decode()

    def connect(self) -> socket.socket:
        if path := self.announced.get("socket"):
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(path)
        else:
            connection = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_SECONDS)
        connection.settimeout(PATIENCE_SECONDS)
        return connection

    def ask(self, data: bytes) -> bytes:
        """All that comes back for raw bytes until the proxy closes."""
        with self.connect() as connection:
            return exchange(connection, data)

    def tunnel(self, place: str, server_name: Optional[str] = None, credentials: Optional[str] = None,
               trusted: bool = True) -> "ssl.SSLSocket":
        """A TLS connection through a tunnel."""
        host = place.rpartition(":")[0]
        connection = self.connect()
        field = credentials if credentials is not None else self.credentials
        connection.sendall(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\nProxy-Authorization: {field}\r\n\r\n".encode())
        told = b""
        while b"\r\n\r\n" not in told:
            told += connection.recv(1)
        if not told.startswith(b"HTTP/1.1 200"):
            connection.close()
            raise AssertionError(told.decode())
        context = ssl.create_default_context(cafile=self.certificate)
        if not trusted:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        # An end without `close_notify` is an error: the rest is missing.
        return context.wrap_socket(connection, server_hostname=server_name or host, suppress_ragged_eofs=False)

    def ask_in_tunnel(self, place: str, data: bytes, **options: Any) -> bytes:
        with self.tunnel(place, **options) as connection:
            return exchange(connection, data)


def exchange(connection: socket.socket, data: bytes) -> bytes:
    """Sends bytes and reads all that comes back. A connection that is cut off ends the answer."""
    told = b""
    try:
        connection.sendall(data)
        while more := connection.recv(65536):
            told += more
    except (ConnectionError, ssl.SSLError):
        pass
    return told


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0


class ProxyFixture(Desktop):
    """Alice's account `work` and Bob's `home`, and a TLS server whose origin the provider allows."""

    def setUp(self) -> None:
        super().setUp()
        self.api = self.server(self.answer)
        self.allow(self.api.origin)

    def answer(self, request: Request) -> Response:
        """What the server answers; tests that want more define it."""
        if request.token is None:
            return Response(401, b"who are you?\n", [("WWW-Authenticate", "Bearer")])
        return Response(200, b"hello\n", [("Content-Type", "text/plain")])

    def allow(self, *origins: str) -> None:
        self.caller.call(
            "provider.update",
            {"provider": "practice", "allowedOrigins": list(origins), "caFile": certificates().authority})

    def grant(self, client: str, accounts: "tuple[str, ...]" = ("work",), **limits: Any) -> str:
        """Makes a grant for a proxy; returns its id."""
        created = self.caller.call(
            "grant.create",
            {"client": client, "accounts": list(accounts), "methods": ["request.authorize"], **limits})
        identity: str = created["grant"]
        return identity

    def proxy(self, *words: str, account: Optional[str] = "work", **environment: str) -> Proxy:
        """Starts `lanyard proxy`, which ends with the test."""
        named = ["--account", account] if account else []
        process = subprocess.Popen(
            [LANYARD, "proxy", "--json", *named, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, cwd=self.place, env=self.environment(**environment))
        self.addCleanup(self._end, process)
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        if not line:
            self.fail("the proxy did not start: " + process.stderr.read())
        return Proxy(process, json.loads(line))

    def _end(self, process: "subprocess.Popen[str]") -> None:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_SECONDS)
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()

    def through(self, *words: str, before: "tuple[str, ...]" = (), status: Optional[int] = 0,
                **environment: str) -> "subprocess.CompletedProcess[str]":
        """Runs a command by `lanyard exec --proxy`, and asserts that neither its output nor what it was given has a token."""
        self.token("work"), self.token("home")
        return self.tool(LANYARD, "exec", "--proxy", *before, "--", *words, status=status, **environment)

    def audited(self, event: str = "request.authorize") -> List[Dict[str, Any]]:
        entries = self.caller.call("audit.list", {"limit": 200})["entries"]
        return [entry for entry in entries if entry["event"] == event]


__all__ = [
    "LANYARD", "PATIENCE_SECONDS", "Proxy", "ProxyFixture", "SCOPES", "Request", "Response", "Server", "as_nobody", "certificates", "exchange", "program",
    "python_packages", "status",
]
