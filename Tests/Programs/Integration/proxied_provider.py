"""A provider that is reached through a proxy alone: its name leads nowhere, and the proxy's tunnels end at it."""

from __future__ import annotations

import base64
import contextlib
import os
import socket
import subprocess
import threading
from typing import List, Optional

from scripted_provider import Answer, Form, ScriptedProvider

PATIENCE_SECONDS = 60.0
HOST = "idp.example"


class ProxiedProvider(ScriptedProvider):
    """Plain OAuth over TLS: a refresh token `rt-alice` or `rt-alice-1` is Alice's, and each use brings another one."""

    def __init__(self, directory: str) -> None:
        self.certificate, key = (os.path.join(directory, f"{HOST}.{kind}") for kind in ("pem", "key"))
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}", "-keyout", key, "-out", self.certificate],
            check=True, capture_output=True)
        super().__init__(issuer=f"https://{HOST}", key=(self.certificate, key))

    def userinfo(self, authorization: str) -> Answer:
        return 200, {"sub": authorization.split("-")[1]}

    def token(self, form: Form) -> Answer:
        token = form.get("refresh_token", [""])[0]
        if not token:
            return 400, {"error": "invalid_grant"}
        _, person, *use = token.split("-")
        uses = int(use[0]) if use else 0
        return 200, {
            "access_token": f"at-{person}-{uses}", "token_type": "Bearer", "expires_in": 300,
            "refresh_token": f"rt-{person}-{uses + 1}"}


class Proxy:
    """An HTTP proxy whose tunnels all end at one port of this machine."""

    def __init__(self, port: int) -> None:
        self.target = port
        # The answer to CONNECT instead of a tunnel; empty: the connection is closed without one.
        self.answer: Optional[bytes] = None
        # `NAME:PASSWORD` that it wants.
        self.credentials: Optional[str] = None
        self.asked: List[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.url = f"http://{self.address}"
        threading.Thread(target=self._accept, daemon=True).start()

    @staticmethod
    def refusing(status: int, reason: str = "No") -> bytes:
        return f"HTTP/1.1 {status} {reason}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()

    def stop(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            connection.settimeout(PATIENCE_SECONDS)
            head = b""
            while b"\r\n\r\n" not in head:
                more = connection.recv(4096)
                if not more:
                    return
                head += more
            self.asked.append(head.split(b"\r\n")[0].decode())
            answer = self.answer
            if self.credentials is not None:
                wanted = b"Basic " + base64.b64encode(self.credentials.encode())
                if b"proxy-authorization: " + wanted.lower() not in head.lower():
                    answer = self.refusing(407)
            if answer is not None:
                return connection.sendall(answer)
            with socket.create_connection(("127.0.0.1", self.target), PATIENCE_SECONDS) as server:
                connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                back = threading.Thread(target=self._copy, args=(server, connection), daemon=True)
                back.start()
                self._copy(connection, server)
                back.join(PATIENCE_SECONDS)

    @staticmethod
    def _copy(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while more := source.recv(65536):
                target.sendall(more)
            target.shutdown(socket.SHUT_WR)
