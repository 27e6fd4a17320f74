"""A scripted HTTP server on loopback: it logs every request whole, answers by a function, streams events, and fails on demand.

Nothing here is shared with the programs under test: it is Python's own `http.server`.
"""

from __future__ import annotations

import http.client
import http.server
import json
import select
import socket
import struct
import sys
import threading
import time
import urllib.parse
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple, Union

PATIENCE_SECONDS = 60.0
"""The limit for waits that take milliseconds when the test passes."""


class Request:
    """A request as it came."""

    def __init__(self, method: str, target: str, headers: http.client.HTTPMessage, body: bytes) -> None:
        self.at = time.monotonic()
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        place = urllib.parse.urlsplit(target)
        self.path = place.path
        self.query = dict(urllib.parse.parse_qsl(place.query, keep_blank_values=True))
        self.status: Optional[int] = None
        """The status that was sent back; None while it is not decided."""
        self.connection: Optional[socket.socket] = None
        self.client_left = threading.Event()
        """Set when a stream noticed that the client closed its end."""

    def header(self, name: str) -> Optional[str]:
        return self.headers.get(name)

    @property
    def form(self) -> Dict[str, str]:
        return dict(urllib.parse.parse_qsl(self.body.decode("latin-1"), keep_blank_values=True))

    @property
    def message(self) -> Any:
        """The body as JSON; None where it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    @property
    def token(self) -> Optional[str]:
        scheme, _, rest = (self.header("Authorization") or "").partition(" ")
        return rest if scheme in ("Bearer", "DPoP") else None

    def __repr__(self) -> str:
        return f"{self.method} {self.target} {self.status} {self.body[:200]!r}"


class Response(NamedTuple):
    status: int
    body: bytes = b""
    headers: "Tuple[Tuple[str, str], ...]" = ()

    @classmethod
    def json(cls, value: Any, status: int = 200, *headers: "Tuple[str, str]") -> "Response":
        return cls(status, json.dumps(value).encode(), (("Content-Type", "application/json"), *headers))


class Event(NamedTuple):
    """One event of a stream; `data` is a JSON value, or text as it is."""

    data: Any
    id: Optional[str] = None
    retry: Optional[int] = None
    name: Optional[str] = None

    def encoded(self) -> bytes:
        lines = []
        if self.name is not None:
            lines.append(f"event: {self.name}")
        if self.id is not None:
            lines.append(f"id: {self.id}")
        if self.retry is not None:
            lines.append(f"retry: {self.retry}")
        text = self.data if isinstance(self.data, str) else json.dumps(self.data)
        lines += [f"data: {line}" for line in text.split("\n")]
        return ("\n".join(lines) + "\n\n").encode()


class Reset:
    """In a stream or in place of an answer: the connection is reset."""


RESET = Reset()
Part = Union[Event, bytes, Reset]


class Stream(NamedTuple):
    """An answer of `text/event-stream`, chunked; bytes are written as they are. Without `RESET` it ends cleanly."""

    parts: "Iterator[Part]"
    headers: "Tuple[Tuple[str, str], ...]" = ()


Answer = Union[Response, Stream, Reset]


class Fault(NamedTuple):
    """What happens to a request instead of its answer, `times` times (-1: always). A number delays the proper answer."""

    path: str
    effect: "Union[Response, Reset, float, Callable[[Request], Optional[Answer]]]"
    times: int
    method: Optional[str] = None


class Listener:
    """A server on a port of its own. `answer` makes the answer to a request, in the thread of its connection."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._log: List[Request] = []
        self._faults: List[Fault] = []
        self._connections: "set[socket.socket]" = set()
        self.accepted = 0
        """The number of connections that were accepted."""
        self.errors: List[str] = []
        self.stopping = threading.Event()
        listener = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            timeout = 120

            def handle_one_request(self) -> None:
                try:
                    super().handle_one_request()
                except (OSError, ValueError):
                    self.close_connection = True

            def __getattr__(self, name: str) -> Any:
                if name.startswith("do_"):
                    return lambda: listener._serve(self)
                raise AttributeError(name)

            def log_message(self, *_: Any) -> None:
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 256

            def get_request(self) -> Any:
                connection, address = super().get_request()
                with listener.lock:
                    listener.accepted += 1
                    listener._connections.add(connection)
                return connection, address

            def shutdown_request(self, request: Any) -> None:
                with listener.lock:
                    listener._connections.discard(request)
                super().shutdown_request(request)

            def handle_error(self, *_: Any) -> None:
                listener.errors.append(repr(sys.exc_info()[1]))

        self._handler = Handler
        self._server_class = Server
        self._server: Optional[Server] = Server(("127.0.0.1", 0), Handler)
        self.port: int = self._server.server_port
        self.origin = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    # Coming and going

    def close(self) -> None:
        """Stops listening and drops every connection, as a server that died."""
        self.stopping.set()
        if self._server is None:
            return
        self._server.shutdown()
        self._server.server_close()
        self._server = None
        self.drop_connections()

    def reopen(self) -> None:
        """Listens again at the same port."""
        self.stopping.clear()
        self._server_class.allow_reuse_address = True
        self._server = self._server_class(("127.0.0.1", self.port), self._handler)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def drop_connections(self) -> None:
        with self.lock:
            connections = list(self._connections)
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    # The log

    def requests(self, path: Optional[str] = None, method: Optional[str] = None) -> List[Request]:
        with self.lock:
            return [request for request in self._log
                    if (path is None or request.path == path) and (method is None or request.method == method)]

    def asked(self, path: str, method: Optional[str] = None) -> int:
        return len(self.requests(path, method))

    def received(self) -> bytes:
        """All that came, as bytes."""
        return b"\n".join(
            f"{request.method} {request.target}\n{request.headers}".encode("utf-8", "replace") + request.body
            for request in self.requests())

    def forget_requests(self) -> None:
        with self.lock:
            self._log.clear()

    # Faults

    def fault(self, path: str, effect: Any, times: int = 1, method: Optional[str] = None) -> None:
        with self.lock:
            self._faults.append(Fault(path, effect, times, method))

    def clear_faults(self) -> None:
        with self.lock:
            self._faults.clear()

    def _take_fault(self, request: Request) -> Optional[Fault]:
        with self.lock:
            for index, fault in enumerate(self._faults):
                if fault.path == request.path and fault.method in (None, request.method):
                    if fault.times > 0:
                        self._faults[index] = fault._replace(times=fault.times - 1)
                        if fault.times == 1:
                            del self._faults[index]
                    return fault
        return None

    # Answering

    def answer(self, request: Request) -> Answer:
        raise NotImplementedError

    def _serve(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        request = Request(handler.command, handler.path, handler.headers, _body(handler))
        request.connection = handler.connection
        with self.lock:
            self._log.append(request)
        answer: Optional[Answer] = None
        if (fault := self._take_fault(request)) is not None:
            if isinstance(fault.effect, (int, float)):
                self.stopping.wait(fault.effect)
            elif callable(fault.effect):
                answer = fault.effect(request)
            else:
                answer = fault.effect
        if answer is None:
            try:
                answer = self.answer(request)
            except Exception as error:  # A mistake in a test's own function must be seen.
                self.errors.append(f"{request!r}: {error!r}")
                answer = Response(500, repr(error).encode())
        if isinstance(answer, Response):
            request.status = answer.status
            self._respond(handler, answer)
        elif isinstance(answer, Stream):
            request.status = 200
            self._stream(handler, request, answer)
        else:
            _reset(handler)

    def _respond(self, handler: http.server.BaseHTTPRequestHandler, answer: Response) -> None:
        handler.send_response_only(answer.status)
        for name, value in answer.headers:
            handler.send_header(name, value)
        if answer.status not in (204, 304):
            handler.send_header("Content-Length", str(len(answer.body)))
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(answer.body)

    def _stream(self, handler: http.server.BaseHTTPRequestHandler, request: Request, answer: Stream) -> None:
        handler.send_response_only(200)
        for name, value in (("Content-Type", "text/event-stream"), ("Cache-Control", "no-cache"), *answer.headers):
            handler.send_header(name, value)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        try:
            for part in answer.parts:
                if isinstance(part, Reset):
                    _reset(handler)
                    return
                raw = part.encoded() if isinstance(part, Event) else part
                if raw:
                    handler.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))
                    handler.wfile.flush()
            handler.wfile.write(b"0\r\n\r\n")
        except OSError:
            request.client_left.set()
            handler.close_connection = True


def left(request: Request, seconds: float) -> bool:
    """Waits until the client closes its connection; returns whether it did."""
    assert request.connection is not None
    deadline = time.monotonic() + seconds
    while (rest := deadline - time.monotonic()) > 0:
        try:
            ready, _, _ = select.select([request.connection], [], [], min(rest, 0.05))
            if ready and not request.connection.recv(1, socket.MSG_PEEK):
                request.client_left.set()
                return True
        except (OSError, ValueError):
            request.client_left.set()
            return True
        if ready:
            time.sleep(0.01)
    return False


def _reset(handler: http.server.BaseHTTPRequestHandler) -> None:
    """Ends the connection by a reset, not by an orderly close."""
    handler.close_connection = True
    try:
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.connection.close()
    except OSError:
        pass


def _body(handler: http.server.BaseHTTPRequestHandler) -> bytes:
    if handler.headers.get("Transfer-Encoding", "").lower() != "chunked":
        return handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
    body = b""
    while size := int(handler.rfile.readline().split(b";")[0], 16):
        body += handler.rfile.read(size)
        handler.rfile.readline()
    while handler.rfile.readline().strip():
        pass
    return body
