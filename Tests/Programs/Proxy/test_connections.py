"""Connections of the proxy to servers: each is one account's alone."""

from __future__ import annotations

import ssl
import unittest
from typing import Dict, List, Set

from proxy_fixture import ProxyFixture, TLSServer, status


class KeepingServer(TLSServer):
    """Keeps its connections open, and notes which credentials came over each."""

    def __init__(self) -> None:
        self.seen: Dict[int, List[str]] = {}
        super().__init__()

    def speak(self, connection: ssl.SSLSocket, port: int) -> None:
        head = b""
        while more := connection.recv(65536):
            head += more
            if not head.endswith(b"\r\n\r\n"):
                continue
            fields = [line for line in head.decode().split("\r\n") if line.lower().startswith("authorization:")]
            self.seen.setdefault(port, []).extend(fields)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            head = b""


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
