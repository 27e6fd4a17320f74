"""Connections of the proxy to servers: each is one account's alone."""

from __future__ import annotations

import socket
import ssl
import threading
import unittest
from typing import Dict, List, Set

from proxy_fixture import ProxyFixture, certificates, status


class KeepingServer:
    """A TLS server that keeps its connections open, and notes which credentials came over each."""

    def __init__(self) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificates().certificate, certificates().key)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.seen: Dict[int, List[str]] = {}
        self.place = f"localhost:{self.listener.getsockname()[1]}"
        self.origin = "https://" + self.place
        threading.Thread(target=self._serve, daemon=True).start()

    def stop(self) -> None:
        self.listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, address = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._speak, args=(connection, address[1]), daemon=True).start()

    def _speak(self, raw: socket.socket, port: int) -> None:
        try:
            with self.context.wrap_socket(raw, server_side=True) as connection:
                head = b""
                while more := connection.recv(65536):
                    head += more
                    if not head.endswith(b"\r\n\r\n"):
                        continue
                    fields = [line for line in head.decode().split("\r\n") if line.lower().startswith("authorization:")]
                    self.seen.setdefault(port, []).extend(fields)
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                    head = b""
        except OSError:
            pass


class Connections(ProxyFixture):
    def test_no_two_accounts_share_a_connection_to_a_server(self) -> None:
        server = KeepingServer()
        self.addCleanup(server.stop)
        self.allow(server.origin)
        proxy = self.proxy(account=None)
        for name in ("work", "home", "work", "home"):
            self.caller.call("account.switch", {"account": name})
            for _ in range(3):
                told = proxy.ask_in_tunnel(
                    server.place, f"GET / HTTP/1.1\r\nHost: {server.place}\r\nConnection: close\r\n\r\n".encode())
                self.assertEqual(status(told), 200, told)
        came: Set[str] = set()
        for fields in server.seen.values():
            self.assertEqual(len(set(fields)), 1, "two accounts' tokens came over one connection")
            came |= set(fields)
        self.assertEqual(came, {f"Authorization: Bearer {self.token(name)}" for name in ("work", "home")})


if __name__ == "__main__":
    unittest.main()
