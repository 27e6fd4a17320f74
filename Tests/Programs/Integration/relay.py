"""A relay in front of the practice provider: it sees which requests arrived, delays them, and speaks TLS if asked to."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import ssl
import subprocess
import threading
import time
import urllib.parse
from typing import Any, Dict, List, Optional

PATIENCE_SECONDS = 60.0
HEADERS_PASSED_ON = ("accept", "authorization", "content-type")


class Refresh:
    """A refresh that arrived whole."""

    def __init__(self, token: str, person: Optional[str], is_spent: bool) -> None:
        self.token = token
        self.person = person
        self.is_spent = is_spent


class Relay:
    """Its issuer is its own address, so ID tokens, which name the provider's, are left out of the answers."""

    def __init__(self, provider: str, directory: str, tls: bool = False) -> None:
        self.provider = provider
        self.refreshes: List[Refresh] = []
        # Seconds before the TLS handshake, before the provider sees a refresh, and before its answer is passed on.
        self.delay_of_handshake = self.delay_of_request = self.delay_of_answer = 0.0
        self._persons: Dict[str, Optional[str]] = {}
        self._spent: set[str] = set()
        self._lock = threading.Lock()
        self._open = 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        port = self._listener.getsockname()[1]
        self.is_tls = tls
        self._tls: Optional[ssl.SSLContext] = None
        self.issuer = f"http://127.0.0.1:{port}"
        if tls:
            self.certificate = os.path.join(directory, "relay.pem")
            self._tls = self._context(os.path.join(directory, "relay.key"))
            self.issuer = f"https://localhost:{port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _context(self, key: str) -> ssl.SSLContext:
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out",
             self.certificate], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)
        return context

    def issued(self, token: str, person: str) -> None:
        """Remembers whose refresh token this is; those that replace it are the same person's."""
        with self._lock:
            self._persons[token] = person

    def arrived(self, since: int = 0) -> List[Refresh]:
        with self._lock:
            return self.refreshes[since:]

    def settle(self) -> None:
        """Waits until every connection has ended: no request is on its way to the provider."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            with self._lock:
                if self._open == 0:
                    return
            if time.monotonic() > deadline:
                raise AssertionError("a connection of the relay does not end")
            time.sleep(0.003)

    def stop(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with self._lock:
                    self._open += 1
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            connection.settimeout(PATIENCE_SECONDS)
            if self._tls is not None:
                time.sleep(self.delay_of_handshake)
                connection = self._tls.wrap_socket(connection, server_side=True)
            with connection.makefile("rb") as reader:
                self._answer(connection, reader)
        except (OSError, ValueError):
            pass  # the agent was killed
        finally:
            connection.close()
            with self._lock:
                self._open -= 1

    def _answer(self, connection: socket.socket, reader: Any) -> None:
        method, path, _ = reader.readline().decode().split(" ")
        headers: Dict[str, str] = {}
        while line := reader.readline().decode().strip():
            name, value = line.split(":", 1)
            headers[name.lower()] = value.strip()
        length = int(headers.get("content-length", 0))
        body = reader.read(length)
        if len(body) < length:
            return
        form = urllib.parse.parse_qs(body.decode()) if path == "/token" else {}
        refresh = self._note(form["refresh_token"][0]) if "refresh_token" in form else None
        if refresh is not None:
            time.sleep(self.delay_of_request)
        status, kind, answer = self._passed_on(method, path, headers, body)
        if refresh is not None and status == 200:
            self._note_successor(refresh, json.loads(answer).get("refresh_token"))
            time.sleep(self.delay_of_answer)
        head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(answer)}\r\nConnection: close\r\n\r\n"
        connection.sendall(head.encode() + answer)

    def _note(self, token: str) -> Refresh:
        with self._lock:
            refresh = Refresh(token, self._persons.get(token), token in self._spent)
            self.refreshes.append(refresh)
            return refresh

    def _note_successor(self, refresh: Refresh, successor: Optional[str]) -> None:
        if successor is None or successor == refresh.token:
            return
        with self._lock:
            self._spent.add(refresh.token)
            self._persons[successor] = refresh.person

    def _passed_on(self, method: str, path: str, headers: Dict[str, str], body: bytes) -> Any:
        upstream = http.client.HTTPConnection(
            urllib.parse.urlsplit(self.provider).netloc, timeout=PATIENCE_SECONDS)
        with contextlib.closing(upstream):
            upstream.request(
                method, path, body or None, {name: value for name, value in headers.items() if name in HEADERS_PASSED_ON})
            response = upstream.getresponse()
            answer = response.read().replace(self.provider.encode(), self.issuer.encode())
        if path == "/token" and response.status == 200:
            members = json.loads(answer)
            members.pop("id_token", None)
            answer = json.dumps(members).encode()
        return response.status, response.getheader("Content-Type", "application/json"), answer
