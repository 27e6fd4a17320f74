"""A scripted agent on a real unix socket, in threads of the test's own process.

It answers `agent.hello`, `event.subscribe` and `event.unsubscribe` by itself; everything else is what a test says:

    with FakeAgent() as agent:
        agent.on("token.get", lambda request, peer: {"accessToken": "at-1", ...})
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import tempfile
import threading
import time
from typing import Any, Callable, Dict, List, Optional

PATIENCE_SECONDS = 10.0

HELLO = {
    "agent": {"name": "fake-agent", "version": "0"},
    "protocol": "1",
    "instance": "instance-1",
    "schemaDigest": "digest",
    "features": [],
    "limits": {
        "lineBytes": 65536,
        "bodyLineBytes": 1048576,
        "nesting": 64,
        "requestsInFlight": 128,
        "connections": 1024,
        "lineSeconds": 10,
        "eventBacklogBytes": 1048576,
    },
}

TOKEN = {
    "accessToken": "secret-access-token",
    "tokenType": "Bearer",
    "expiresAt": "2030-01-01T00:05:00.000Z",
    "expiresInSeconds": 300,
    "account": "acc_alice",
    "issuer": "https://idp.example",
    "scopes": ["openid"],
    "source": "cache",
    "fingerprint": "f1",
    "generation": 1,
}


class Fault(Exception):
    """Raised by a handler to answer an error."""

    def __init__(self, code: int, name: str, **data: Any) -> None:
        super().__init__(name)
        self.error = {"code": code, "message": f"about {name}", "data": {"name": name, "retryable": False, **data}}


Handler = Callable[[Dict[str, Any], "Peer"], Optional[Dict[str, Any]]]


class Peer:
    """One client of the fake agent."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self.subscription = ""

    def raw(self, data: bytes) -> None:
        with self._lock:
            try:
                self._connection.sendall(data)
            except OSError:
                pass

    def drip(self, data: bytes, size: int = 1) -> None:
        """Sends the bytes a few at a time, each with a call of its own."""
        for start in range(0, len(data), size):
            self.raw(data[start : start + size])

    def send(self, message: Any) -> None:
        self.raw(line(message))

    def answer(self, request: Dict[str, Any], result: Dict[str, Any]) -> None:
        self.send({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def fail(self, request: Dict[str, Any], fault: Fault) -> None:
        self.send({"jsonrpc": "2.0", "id": request["id"], "error": fault.error})

    def event(self, sequence: int, kind: str = "token.refreshed", epoch: str = "epoch-1", **data: Any) -> None:
        params = {"subscription": self.subscription, "epoch": epoch, "sequence": sequence, "type": kind}
        params.update({"at": "2030-01-01T00:00:00.000Z", "data": data})
        self.send({"jsonrpc": "2.0", "method": "event", "params": params})

    def close(self) -> None:
        try:
            self._connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class FakeAgent:
    def __init__(self) -> None:
        self._directory = tempfile.mkdtemp(prefix="lanyard-")
        self.path = os.path.join(self._directory, "agent.sock")
        self._handlers: Dict[str, Handler] = {}
        self._changed = threading.Condition()
        self.received: List[Dict[str, Any]] = []
        self.peers: List[Peer] = []
        self._threads: List[threading.Thread] = []
        self._listener: Optional[socket.socket] = None
        self.on("agent.hello", lambda request, peer: HELLO)
        self.on("event.subscribe", self._subscribe)
        self.on("event.unsubscribe", lambda request, peer: {})

    def on(self, method: str, handler: Handler) -> None:
        """The handler's result is the answer; None is no answer, until the handler's peer sends one."""
        self._handlers[method] = handler

    def start(self) -> None:
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(self.path)
        self._listener.listen(64)
        self._run(self._accept, self._listener)

    def die(self) -> None:
        """As a process that is killed: every connection ends, and the socket file stays."""
        listener, self._listener = self._listener, None
        if listener is not None:
            # Closing alone would not wake a thread in accept().
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for peer in self.peers:
            peer.close()
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)
        self._threads.clear()
        self.peers.clear()

    def restart(self) -> None:
        os.unlink(self.path)
        self.start()

    def requests(self, method: str) -> List[Dict[str, Any]]:
        with self._changed:
            return [request for request in self.received if request.get("method") == method]

    def wait_for(self, method: str, count: int = 1) -> Dict[str, Any]:
        """Waits until that many requests of the method have come, and returns the latest."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        with self._changed:
            while True:
                found = [request for request in self.received if request.get("method") == method]
                if len(found) >= count:
                    return found[count - 1]
                if not self._changed.wait(deadline - time.monotonic()):
                    raise AssertionError(f"{method} came {len(found)} times, not {count}")

    def __enter__(self) -> "FakeAgent":
        self.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.die()
        shutil.rmtree(self._directory)

    def _run(self, body: Callable[[socket.socket], None], connection: socket.socket) -> None:
        thread = threading.Thread(target=body, args=(connection,), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            self._run(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        peer = Peer(connection)
        self.peers.append(peer)
        with connection, connection.makefile("rb") as lines:
            try:
                for text in lines:
                    self._take(json.loads(text), peer)
            except (OSError, ValueError):
                pass

    def _take(self, request: Dict[str, Any], peer: Peer) -> None:
        with self._changed:
            self.received.append(request)
            self._changed.notify_all()
        handler = self._handlers.get(request["method"])
        if "id" not in request:
            if handler is not None:
                handler(request, peer)
            return
        try:
            if handler is None:
                raise Fault(-32601, "methodNotFound")
            result = handler(request, peer)
        except Fault as fault:
            peer.fail(request, fault)
            return
        if result is not None:
            peer.answer(request, result)

    def _subscribe(self, request: Dict[str, Any], peer: Peer) -> Dict[str, Any]:
        peer.subscription = f"sub-{len(self.requests('event.subscribe'))}"
        return {"subscription": peer.subscription, "epoch": "epoch-1", "sequence": 0, "gap": False}


def line(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"
