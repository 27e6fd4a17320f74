"""WebSockets through the proxy: the handshake gets the token, and messages go both ways until the grant ends."""

from __future__ import annotations

import base64
import hashlib
import os
import socket
import ssl
import struct
import threading
import time
import unittest
from typing import Any, Callable, Dict, List, Optional

from proxy_fixture import PATIENCE_SECONDS, Proxy, ProxyFixture, TLSServer, python_packages, status
from test_raw import get

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def frame(opcode: int, payload: bytes, last: bool = True, mask: bool = False) -> bytes:
    first, key = opcode | (0x80 if last else 0), os.urandom(4) if mask else b""
    flag = 0x80 if mask else 0
    if len(payload) < 126:
        head = struct.pack("!BB", first, flag | len(payload))
    elif len(payload) <= 0xFFFF:
        head = struct.pack("!BBH", first, flag | 126, len(payload))
    else:
        head = struct.pack("!BBQ", first, flag | 127, len(payload))
    return head + key + (bytes(byte ^ key[index % 4] for index, byte in enumerate(payload)) if mask else payload)


class Reader:
    def __init__(self, connection: socket.socket, rest: bytes = b"") -> None:
        self.connection, self.rest = connection, rest

    def take(self, count: int) -> bytes:
        while len(self.rest) < count:
            more = self.connection.recv(65536)
            if not more:
                raise EOFError
            self.rest += more
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    def head(self) -> bytes:
        while b"\r\n\r\n" not in self.rest:
            more = self.connection.recv(65536)
            if not more:
                break
            self.rest += more
        head, _, self.rest = self.rest.partition(b"\r\n\r\n")
        return head + b"\r\n\r\n"

    def frame(self) -> "tuple[int, bytes]":
        first, length = struct.unpack("!BB", self.take(2))
        masked, length = length & 0x80, length & 0x7F
        if length == 126:
            length, = struct.unpack("!H", self.take(2))
        elif length == 127:
            length, = struct.unpack("!Q", self.take(8))
        key = self.take(4) if masked else b"\0\0\0\0"
        return first, bytes(byte ^ key[index % 4] for index, byte in enumerate(self.take(length)))


class Chat(TLSServer):
    """A server of WebSockets: it keeps the heads it got, and sends back each message, or what `reply` makes of it."""

    def __init__(self) -> None:
        self.heads: List[Dict[str, str]] = []
        self.messages: List[bytes] = []
        self.has_ended = threading.Event()
        self.refusal: Optional[bytes] = None
        self.reply: Callable[[Dict[str, str], bytes], bytes] = lambda head, message: frame(1, message)
        super().__init__()

    def speak(self, connection: ssl.SSLSocket, port: int) -> None:
        reader = Reader(connection)
        lines = reader.head().decode().split("\r\n")
        head = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)}
        self.heads.append(head)
        if self.refusal is not None:
            refusal, self.refusal = self.refusal, None
            connection.sendall(refusal)
            return
        accept = base64.b64encode(hashlib.sha1((head["sec-websocket-key"] + GUID).encode()).digest()).decode()
        connection.sendall(
            ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
             f"Sec-WebSocket-Accept: {accept}\r\nSet-Cookie: a=b\r\n\r\n").encode() + frame(1, b"welcome"))
        while True:
            opcode, message = reader.frame()
            if opcode & 0x0F == 8:
                connection.sendall(frame(8, message))
                return
            self.messages.append(message)
            connection.sendall(self.reply(head, message))

    def ended(self) -> None:
        self.has_ended.set()


class PlainChat(Chat):
    """The same without TLS."""

    def __init__(self) -> None:
        super().__init__()
        self.origin = "http://" + self.place

    def _answer(self, raw: Any, port: int) -> None:
        try:
            with raw:
                self.speak(raw, port)
        except (OSError, EOFError):
            pass
        finally:
            self.ended()


class WebSockets(ProxyFixture):
    def setUp(self) -> None:
        super().setUp()
        self.chat = Chat()
        self.addCleanup(self.chat.stop)
        self.allow(self.api.origin, self.chat.origin)

    def policy(self, **capabilities: "dict[str, Any]") -> None:
        for capability in capabilities.values():
            capability["requests"] = [
                {"origin": self.chat.origin, "methods": capability.pop("methods"), "path": capability.pop("path")}]
            capability["offlineWindowSeconds"] = 3600
        self.version = getattr(self, "version", 0) + 1
        self.caller.call("policy.set", {
            "name": "default", "policy": {"name": "default", "version": self.version, "capabilities": capabilities}})

    def open(self, proxy: Proxy, *fields: str) -> "tuple[Reader, bytes]":
        connection = proxy.tunnel(self.chat.place)
        self.addCleanup(connection.close)
        extra = "".join(field + "\r\n" for field in fields)
        connection.sendall(
            (f"GET /chat?room=1 HTTP/1.1\r\nHost: {self.chat.place}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
             f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n{extra}\r\n").encode())
        reader = Reader(connection)
        return reader, reader.head()

    def test_the_handshake_gets_the_token_and_messages_go_both_ways(self) -> None:
        reader, head = self.open(
            self.proxy(), "Authorization: Bearer own", "Cookie: c=d", "Sec-WebSocket-Extensions: permessage-deflate",
            "Origin: https://app.example")
        self.assertEqual(status(head), 101, head)
        self.assertNotIn(b"Set-Cookie", head)
        self.assertEqual(reader.frame(), (0x81, b"welcome"))
        for message in (b"hello", b"", b"x" * 70_000, b"\n".join([b"y" * 1000] * 200)):
            reader.connection.sendall(frame(1, message, mask=True))
            kind, told = reader.frame()
            while not kind & 0x80:
                kind, more = reader.frame()
                told += more
            self.assertEqual(told, message)
        reader.connection.sendall(frame(8, struct.pack("!H", 1000), mask=True))
        self.assertEqual(reader.frame(), (0x88, struct.pack("!H", 1000)))
        self.assertTrue(self.chat.has_ended.wait(PATIENCE_SECONDS))
        head_told = self.chat.heads[0]
        self.assertEqual(head_told["authorization"], "Bearer " + self.token("work"))
        self.assertEqual(head_told["host"], self.chat.place)
        self.assertNotIn("cookie", head_told)
        self.assertNotIn("sec-websocket-extensions", head_told)
        entry = self.audited()[-1]
        self.assertEqual((entry["facts"]["method"], entry["facts"]["origin"]), ("WEBSOCKET", self.chat.origin))

    def test_a_protocol_that_holds_a_credential_is_left_out(self) -> None:
        own = ["openai-insecure-api-key.canary", "base64url.bearer.authorization.k8s.io.canary", "access_token.canary",
               "jwt.canary", "x-api-key-canary", "eyJhbGciOiJub25lIn0.canary.", "canary" * 20]
        _, head = self.open(self.proxy(), "Sec-WebSocket-Protocol: " + ", ".join(["realtime", *own]))
        self.assertEqual(status(head), 101, head)
        self.assertEqual(self.chat.heads[0]["sec-websocket-protocol"], "realtime")
        self.assertNotIn("canary", str(self.chat.heads))

    def test_a_placeholder_is_left_out_of_the_handshake(self) -> None:
        placeholder = "lanyard-" + self.alice
        _, head = self.open(
            self.proxy(), f"Sec-WebSocket-Protocol: realtime, key.{placeholder}, {placeholder}", f"X-Session: {placeholder}")
        self.assertEqual(status(head), 101, head)
        self.assertEqual(self.chat.heads[0]["sec-websocket-protocol"], "realtime")
        self.assertNotIn(placeholder, str(self.chat.heads))

    def test_a_message_that_repeats_the_token_is_cut_off(self) -> None:
        for cut in (lambda text: frame(1, text), lambda text: frame(1, text[:25], last=False) + frame(0, text[25:])):
            self.chat.reply = lambda head, message: cut(head["authorization"].encode())
            reader, head = self.open(self.proxy())
            self.assertEqual(status(head), 101, head)
            self.assertEqual(reader.frame(), (0x81, b"welcome"))
            reader.connection.sendall(frame(1, b"who am I?", mask=True))
            with self.assertRaises((EOFError, OSError)):
                reader.frame()
            self.assertNotIn(self.token("work").encode(), reader.rest)

    def test_a_refused_token_is_replaced_once(self) -> None:
        self.chat.refusal = b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\n\r\n"
        reader, head = self.open(self.proxy())
        self.assertEqual(status(head), 101, head)
        tokens = [head["authorization"] for head in self.chat.heads]
        self.assertEqual(len(set(tokens)), 2, "the second handshake had the refused token")

    def test_a_refused_handshake_is_told(self) -> None:
        self.chat.refusal = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\n\r\nno\n"
        reader, head = self.open(self.proxy())
        self.assertEqual(status(head), 403, head)
        self.assertIn(b"Lanyard-Refusal: webSocketRefused", head)

    def test_the_connection_ends_with_the_grant_and_with_the_account(self) -> None:
        identity = self.grant("ci")
        reader, head = self.open(self.proxy("--grant", "ci", account=None))
        self.assertEqual((status(head), reader.frame()[1]), (101, b"welcome"))
        self.caller.call("grant.revoke", {"grant": identity})
        began = time.monotonic()
        with self.assertRaises((EOFError, OSError)):
            reader.frame()
        self.assertLess(time.monotonic() - began, 10)
        self.assertTrue(self.chat.has_ended.wait(PATIENCE_SECONDS))

    def test_the_grant_and_the_policy_decide_about_the_handshake(self) -> None:
        self.grant("ci", origins=[self.api.origin])
        proxy = self.proxy("--grant", "ci", account=None)
        with self.assertRaises(AssertionError) as told:
            proxy.tunnel(self.chat.place)
        self.assertIn("403", str(told.exception))
        self.assertEqual(self.chat.heads, [])

    def is_refused(self, proxy: Proxy) -> str:
        heads = len(self.chat.heads)
        reader, head = self.open(proxy)
        self.assertEqual(status(head), 403, head)
        self.assertEqual(len(self.chat.heads), heads, "the handshake reached the server")
        entry = self.audited()[-1]
        self.assertEqual(entry["facts"]["method"], "WEBSOCKET")
        self.assertIn(entry["outcome"], ("notPermitted", "deny"))
        return (head + reader.rest).decode()

    def test_an_ai_agents_grant_opens_no_websocket_that_no_rule_names(self) -> None:
        """Its handshake is a GET, and what follows can be anything."""
        self.grant("assistant", agent=True)
        proxy = self.proxy("--grant", "assistant", account=None)
        self.assertIn("WebSocket", self.is_refused(proxy))
        # Nor does a rule about reads give it one, whatever it covers.
        self.policy(read={"kind": "read", "methods": ["GET", "HEAD", "OPTIONS"], "path": "/*"})
        self.assertIn("notPermitted", self.is_refused(proxy))
        # A handshake with a word of its own is no plain GET: without one of its fields it is none, and is not sent either.
        for fields in ("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n",
                       "Upgrade: WebSocket, h2c\r\nConnection: keep-alive, Upgrade\r\n", "Upgrade: websocket\r\n"):
            answer = proxy.ask_in_tunnel(
                self.chat.place, f"GET /chat HTTP/1.1\r\nHost: {self.chat.place}\r\n{fields}\r\n".encode())
            self.assertEqual(status(answer), 501, answer)
        self.assertEqual(self.chat.heads, [])

    def test_a_rule_that_names_websockets_gives_an_ai_agent_one(self) -> None:
        self.grant("assistant", agent=True)
        proxy = self.proxy("--grant", "assistant", account=None)
        self.policy(chat={"kind": "write", "methods": ["WEBSOCKET"], "path": "/chat"})
        reader, head = self.open(proxy)
        self.assertEqual((status(head), reader.frame()[1]), (101, b"welcome"))
        self.assertEqual(self.chat.heads[0]["authorization"], "Bearer " + self.token("work"))
        # The name is no method on the wire.
        answer = proxy.ask_in_tunnel(
            self.chat.place, f"WEBSOCKET /chat HTTP/1.1\r\nHost: {self.chat.place}\r\n\r\n".encode())
        self.assertEqual(status(answer), 405, answer)
        # A rule about the handshake binds it, too.
        self.policy(chat={"kind": "write", "methods": ["WEBSOCKET"], "path": "/chat"},
                    admin={"kind": "read", "methods": ["GET"], "path": "/*", "requires": {"rolesAll": ["nobody"]}})
        self.assertIn("denied", self.is_refused(proxy))

    def test_a_websocket_waits_for_the_person_s_step_up(self) -> None:
        self.policy(chat={"kind": "write", "methods": ["WEBSOCKET"], "path": "/chat",
                          "stepUp": {"method": "pin", "maxAgeSeconds": 60}})
        self.assertIn("lanyard step-up", self.is_refused(self.proxy()))

    def test_websocket_client_passes(self) -> None:
        python = os.path.join(python_packages(), "python")
        told = self.through(
            python, "-c", f"""
import os, websocket
from urllib.parse import urlsplit
proxy = urlsplit(os.environ["https_proxy"])
chat = websocket.create_connection(
    "wss://{self.chat.place}/chat", http_proxy_host=proxy.hostname, http_proxy_port=proxy.port, proxy_type="http",
    http_proxy_auth=(proxy.username, proxy.password), sslopt={{"ca_certs": os.environ["SSL_CERT_FILE"]}}, timeout=30)
print(chat.recv())
chat.send("hello")
print(chat.recv())
chat.close()
""")
        self.assertEqual(told.stdout, "welcome\nhello\n")


class WithoutTLS(ProxyFixture):
    """RFC 6455 section 4.1: a client asks its proxy for a tunnel for `ws`, too."""

    def setUp(self) -> None:
        super().setUp()
        self.chat = PlainChat()
        self.addCleanup(self.chat.stop)
        self.allow(self.chat.origin)
        self.door = self.proxy()

    def open(self, place: str) -> "tuple[Reader, bytes]":
        connection = self.door.connect()
        self.addCleanup(connection.close)
        connection.sendall(
            f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\nProxy-Authorization: {self.door.credentials}\r\n\r\n".encode())
        reader = Reader(connection)
        return reader, reader.head()

    def test_a_websocket_in_a_tunnel_gets_the_token(self) -> None:
        reader, head = self.open(self.chat.place)
        self.assertEqual(status(head), 200, head)
        reader.connection.sendall(get(
            self.chat.place, "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Authorization: Bearer own", end="\r\n"))
        head = reader.head()
        self.assertEqual(status(head), 101, head)
        self.assertEqual(reader.frame(), (0x81, b"welcome"))
        reader.connection.sendall(frame(1, b"hello", mask=True))
        self.assertEqual(reader.frame(), (0x81, b"hello"))
        self.assertEqual(self.chat.heads[0]["authorization"], "Bearer " + self.token("work"))
        facts = self.audited()[-1]["facts"]
        self.assertEqual((facts["method"], facts["origin"]), ("WEBSOCKET", self.chat.origin))

    def test_a_request_in_a_tunnel_gets_the_token_and_has_its_host(self) -> None:
        self.chat.refusal = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nyes\n"
        reader, head = self.open(self.chat.place)
        self.assertEqual(status(head), 200, head)
        reader.connection.sendall(get(self.chat.place))
        self.assertEqual(status(reader.head()), 200)
        self.assertEqual([head["authorization"] for head in self.chat.heads], ["Bearer " + self.token("work")])
        reader, _ = self.open(self.chat.place)
        reader.connection.sendall(get("elsewhere.example"))
        self.assertEqual(status(reader.head()), 421)
        self.assertEqual(len(self.chat.heads), 1)

    def test_another_port_is_refused(self) -> None:
        _, head = self.open("localhost:1")
        self.assertEqual(status(head), 403, head)


if __name__ == "__main__":
    unittest.main()
