"""Drives `lanyard mcp` as an MCP client does: messages on stdin and stdout, one a line; and a person who signs in."""

from __future__ import annotations

import itertools
import json
import os
import queue
import re
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from listener import PATIENCE_SECONDS
from mcp_server import CLIENT_CAPABILITIES, CLIENT_INFO, LEGACY, MODERN, PROTOCOL_VERSION

CLIENT = {"name": "lanyard-tests", "version": "1"}


class RPCError(Exception):
    """A JSON-RPC error that the client got."""

    def __init__(self, error: Dict[str, Any]) -> None:
        super().__init__(json.dumps(error))
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


class Ended(Exception):
    """The bridge's stdout ended before the answer came."""


class Bridge:
    """One `lanyard mcp URL`, and the client above it; or another bridge, by its own `command`."""

    def __init__(self, program: str, url: str, options: Sequence[str], environment: Mapping[str, str],
                 version: str = MODERN, directory: Optional[str] = None, command: Optional[Sequence[str]] = None) -> None:
        self.url = url
        self.version = version
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            command or [program, "mcp", url, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=dict(environment), cwd=directory)
        self.lines: List[bytes] = []
        """All that came on stdout."""
        self.unasked: "queue.Queue[Dict[str, Any]]" = queue.Queue()
        """Notifications and requests of the server, in their order."""
        self.problems: List[str] = []
        """Lines of stdout that are no message."""
        self._answers: Dict[str, Dict[str, Any]] = {}
        self._errors = bytearray()
        self._arrived = threading.Condition()
        self._ended = False
        self._ids = itertools.count(1)
        self._threads = [threading.Thread(target=self._read, daemon=True),
                         threading.Thread(target=self._read_errors, daemon=True)]
        for thread in self._threads:
            thread.start()

    @property
    def pid(self) -> int:
        return self.process.pid

    # What comes

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            try:
                message = json.loads(line)
                assert isinstance(message, dict) and message["jsonrpc"] == "2.0" and line.endswith(b"\n")
            except (ValueError, KeyError, AssertionError):
                self.problems.append(line[:400].decode("utf-8", "replace"))
                continue
            if "method" in message:
                self.unasked.put(message)
                continue
            with self._arrived:
                key = json.dumps(message.get("id"))
                if key in self._answers:
                    self.problems.append(f"a second answer to {key}")
                self._answers[key] = message
                self._arrived.notify_all()
        with self._arrived:
            self._ended = True
            self._arrived.notify_all()

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        while more := os.read(self.process.stderr.fileno(), 65536):
            with self._arrived:
                self._errors += more
                self._arrived.notify_all()

    @property
    def errors(self) -> str:
        """All that came on stderr."""
        with self._arrived:
            return self._errors.decode("utf-8", "replace")

    def wait_for_error(self, pattern: str, seconds: float = PATIENCE_SECONDS) -> "re.Match[str]":
        """Waits until stderr has a match."""
        deadline = time.monotonic() + seconds
        with self._arrived:
            while (found := re.search(pattern, self._errors.decode("utf-8", "replace"))) is None:
                if not self._arrived.wait(max(0, deadline - time.monotonic())):
                    raise AssertionError(f"stderr has nothing like {pattern!r}:\n{self.errors}")
            return found

    def answered(self, identity: Any) -> bool:
        with self._arrived:
            return json.dumps(identity) in self._answers

    def answer(self, identity: Any, seconds: float = PATIENCE_SECONDS) -> Dict[str, Any]:
        """The whole message that answers a request."""
        deadline = time.monotonic() + seconds
        key = json.dumps(identity)
        with self._arrived:
            while key not in self._answers:
                if self._ended:
                    raise Ended(f"no answer to {key}; stderr:\n{self._errors.decode('utf-8', 'replace')}")
                rest = deadline - time.monotonic()
                if rest <= 0:
                    raise AssertionError(
                        f"no answer to {key} in {seconds} s; stderr:\n{self._errors.decode('utf-8', 'replace')}")
                self._arrived.wait(rest)
            return self._answers[key]

    def result(self, identity: Any, seconds: float = PATIENCE_SECONDS) -> Dict[str, Any]:
        message = self.answer(identity, seconds)
        if "error" in message:
            raise RPCError(message["error"])
        found: Dict[str, Any] = message["result"]
        return found

    def next(self, method: Optional[str] = None, seconds: float = PATIENCE_SECONDS) -> Dict[str, Any]:
        """The next notification or request of the server."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                found = self.unasked.get(timeout=max(0.001, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no {method or 'message'} came in {seconds} s; stderr:\n{self.errors}") from None
            if method is None or found["method"] == method:
                return found

    # What goes

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def params(self, params: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
        """Parameters as the client's version wants them."""
        if self.version != MODERN:
            return dict(params or {})
        meta = {PROTOCOL_VERSION: MODERN, CLIENT_INFO: CLIENT, CLIENT_CAPABILITIES: {}}
        given = dict(params or {})
        return {**given, "_meta": {**meta, **given.get("_meta", {})}}

    def send(self, method: str, params: Optional[Dict[str, Any]] = None, identity: Any = None) -> Any:
        """Sends a request and returns its id."""
        if identity is None:
            identity = next(self._ids)
        message = {"jsonrpc": "2.0", "id": identity, "method": method, "params": self.params(params)}
        self.write(json.dumps(message).encode() + b"\n")
        return identity

    def notify(self, method: str, params: Optional[Dict[str, Any]] = None) -> None:
        message: Dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None or self.version == MODERN:
            message["params"] = self.params(params)
        self.write(json.dumps(message).encode() + b"\n")

    def respond(self, identity: Any, result: Dict[str, Any]) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", "id": identity, "result": result}).encode() + b"\n")

    def call(self, method: str, params: Optional[Dict[str, Any]] = None,
             seconds: float = PATIENCE_SECONDS) -> Dict[str, Any]:
        return self.result(self.send(method, params), seconds)

    def tool(self, name: str, seconds: float = PATIENCE_SECONDS, **arguments: Any) -> str:
        """The text of a tool's result."""
        found = self.call("tools/call", {"name": name, "arguments": arguments}, seconds)
        text: str = found["content"][0]["text"]
        return text

    def initialize(self) -> Dict[str, Any]:
        """The handshake of the older version."""
        found = self.call(
            "initialize", {"protocolVersion": LEGACY, "capabilities": {"roots": {}}, "clientInfo": CLIENT})
        self.notify("notifications/initialized")
        return found

    # The end

    def close(self, seconds: float = PATIENCE_SECONDS) -> int:
        """Ends stdin as a client that is done, and returns the exit status."""
        if self.process.stdin is not None and not self.process.stdin.closed:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
        status = self.process.wait(seconds)
        for thread in self._threads:
            thread.join(seconds)
        return status

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def clean_up(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    pass


class Page(urllib.request.HTTPRedirectHandler):
    """Follows redirects, and remembers the addresses."""

    def __init__(self) -> None:
        self.addresses: List[str] = []

    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: str) -> Any:
        self.addresses.append(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def browse(url: str) -> "tuple[int, str]":
    """Opens an address as a person's browser does, to the last page: its status and its text."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), Page())
    try:
        with opener.open(url, timeout=PATIENCE_SECONDS) as page:
            return page.status, page.read().decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode("utf-8", "replace")


class _Stop(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def location(url: str) -> str:
    """Opens an authorization URL in a browser elsewhere; returns the address at which that browser then fails."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Stop())
    try:
        with opener.open(url, timeout=PATIENCE_SECONDS) as page:
            raise AssertionError(f"no redirect: {page.status}")
    except urllib.error.HTTPError as error:
        with error:
            found: Union[str, None] = error.headers.get("Location")
    assert found is not None
    return found
