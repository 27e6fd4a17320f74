"""No token where a client, another program or a reader of logs could find it."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import unittest
import urllib.parse
from typing import List

from mcp_fixture import Bridge, Event, Response
from gate import Gate
from test_authorization import AuthorizationFixture


class SecrecyTests(AuthorizationFixture):
    def spellings(self, secret: str) -> List[bytes]:
        raw = secret.encode()
        return [raw, base64.b64encode(raw), raw.hex().encode(), "".join(f"\\u{ord(each):04x}" for each in secret).encode()]

    def assertTold(self, secrets: List[str], where: str, text: bytes) -> None:  # noqa: N802
        """Asserts that none of the secrets is in a text."""
        for secret in secrets:
            for spelling in self.spellings(secret):
                self.assertNotIn(spelling, text, f"{where} holds a secret")

    def outside(self, bridge: Bridge) -> bytes:
        """All that the kernel shows of the process, but for its memory: to root its environment and descriptors, too."""
        found = b""
        is_root = os.geteuid() == 0
        for name in ("cmdline", "comm", "status", *(["environ"] if is_root else [])):
            with open(f"/proc/{bridge.pid}/{name}", "rb") as file:
                found += file.read() + b"\n"
        if not is_root:
            return found
        folder = f"/proc/{bridge.pid}/fd"
        for descriptor in os.listdir(folder):
            try:
                found += os.readlink(os.path.join(folder, descriptor)).encode() + b"\n"
            except OSError:
                pass
        return found

    def test_noSecret_isInTheProcess_itsOutput_orTheLogs(self) -> None:
        authorization, server = self.protected(auth_methods=["client_secret_post"])
        bridge = self.signed_in(server)
        bridge.tool("who")
        authorization.expire_access_tokens()
        bridge.tool("who")
        server.fault("/mcp", Response(500, b"sorry"))
        self.refuses(lambda: bridge.tool("who"))
        outside = self.outside(bridge)
        self.assertEqual(bridge.close(), 0)
        secrets = authorization.secrets()
        self.assertGreaterEqual(len(secrets), 5)
        self.assertTold(secrets, "/proc", outside)
        self.assertTold(secrets, "stderr", bridge.errors.encode())
        self.assertTold(secrets, "stdout", b"".join(bridge.lines))
        self.assertTold(secrets, "the agent's log", self.agent.log().encode())
        for folder, _, names in os.walk(self.agent.directory):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.isfile(path):
                    with open(path, "rb") as file:
                        self.assertTold(secrets, path, file.read())

    def test_serverThatTellsTheTokenBack_doesNotTellTheClient(self) -> None:
        authorization, server = self.protected()
        header = lambda call: call.request.header("Authorization") or ""  # noqa: E731
        server.calls["json"] = lambda call: call.text(f"You sent {header(call)}.")
        server.calls["stream"] = lambda call: iter([
            Event({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": header(call)}}),
            Event(call.text(header(call)))])
        server.calls["torn"] = lambda call: (bytes([byte]) for byte in Event(call.text(header(call))).encoded())

        def escaped(call):
            spelled = "".join(f"\\u{ord(each):04x}" for each in header(call))
            return Response(200, b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%s"}]}}' % (
                call.id, spelled.encode()), (("Content-Type", "application/json"),))

        server.calls["escaped"] = escaped
        server.calls["error"] = lambda call: Response.json(
            {"jsonrpc": "2.0", "id": call.id, "error": {"code": 1, "message": header(call)}}, 400)
        server.calls["page"] = lambda call: Response(500, header(call).encode())
        server.calls["challenge"] = lambda call: Response(
            403, b"", (("WWW-Authenticate", f'Bearer error="{call.request.token}"'),))
        bridge = self.signed_in(server)
        for name in ("json", "stream", "torn", "escaped", "error", "page", "challenge"):
            with self.subTest(name):
                bridge.answer(bridge.send("tools/call", {"name": name}))
        secrets = authorization.secrets()
        self.assertTold(secrets, "stdout", b"".join(bridge.lines))
        self.assertTold(secrets, "stderr", bridge.errors.encode())
        self.assertEqual(bridge.tool("who"), "alice")

    def test_token_isInTheHeaderAlone(self) -> None:
        authorization, server = self.protected()
        bridge = self.signed_in(server)
        bridge.tool("echo", text="x")
        for request in server.requests():
            self.assertTold(authorization.secrets(), "a request's target or body", request.target.encode() + request.body)

    def test_credentialOfTheClientsEnvironment_isNotSent(self) -> None:
        authorization, server = self.protected()
        self.signed_in(server)
        netrc = os.path.join(self.agent.environment["HOME"], ".netrc")
        with open(netrc, "w", encoding="utf-8") as file:
            file.write("machine 127.0.0.1 login someone password not-to-be-sent\n")
        os.chmod(netrc, 0o600)
        bridge = self.bridge(server, NETRC=netrc)
        self.assertEqual(bridge.tool("who"), "alice")
        self.assertNotIn(b"not-to-be-sent", server.received())
        self.assertNotIn(b"Cookie", server.received())

    def test_serverThatThePinsRefuse_getsNoToken(self) -> None:
        """As `request.send`: plain HTTP proves no key, so that no pin matches."""
        _, server = self.protected()
        bridge = self.signed_in(server)
        self.assertEqual(bridge.tool("who"), "alice")
        host = urllib.parse.urlsplit(server.url).hostname
        pins = ["sha256/" + letter * 42 + "A=" for letter in "BC"]
        with contextlib.closing(self.agent.client()) as client:
            provider = client.call("provider.list")["providers"][0]["name"]
            client.call("provider.update", {"provider": provider, "pins": {host: pins}})
            count = len(server.requests())
            error = self.refuses(lambda: bridge.tool("who"))
            self.assertIn("no pinned key is the server's", error.message)
            self.assertEqual(len(server.requests()), count)
            client.call("provider.update", {"provider": provider, "pins": {}})
        self.assertEqual(bridge.tool("who"), "alice")

    def test_enforcedProxy_isTakenForRequestsWithoutAToken(self) -> None:
        """A server that needs no token gets what the client tells it, and is asked for its metadata."""
        system = os.path.join(os.path.realpath(self.directory()), "system")
        os.mkdir(system, 0o755)
        door, other = Gate(), Gate()
        self.addCleanup(door.close)
        self.addCleanup(other.close)
        path = os.path.join(system, "agent.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"enforced": {"proxy": door.address}}, file)
        os.chmod(path, 0o644)
        self._scene = self.scene("--system-directory", system)
        bridge = self.bridge(
            "https://far.invalid/mcp", "--proxy", other.address, NO_PROXY="*", no_proxy="*", https_proxy=other.address)
        self.refuses(lambda: bridge.call("tools/list"))
        self.assertEqual((set(door.asked), other.asked), ({"CONNECT far.invalid:443 HTTP/1.1"}, []))

    @unittest.skipIf(os.geteuid() != 0, "NOT TESTED: only root may read the bridge's environment")
    def test_variablesThatLibrariesObey_areRemoved(self) -> None:
        bridge = self.bridge(self.server(), SSLKEYLOGFILE="/planted", OPENSSL_CONF="/planted")
        self.assertIn("hello", bridge.tool("echo", text="hello"))
        with open(f"/proc/{bridge.pid}/environ", "rb") as file:
            self.assertNotIn(b"planted", file.read())

    def test_cookies_areNotKept(self) -> None:
        server = self.server()
        bridge = self.bridge(server)
        server.fault("/mcp", lambda request: Response.json(
            {"jsonrpc": "2.0", "id": request.message["id"], "result": {}}, 200, ("Set-Cookie", "a=b; Path=/")))
        bridge.call("tools/list")
        bridge.tool("echo")
        self.assertEqual([request.header("Cookie") for request in server.requests()], [None, None])


if __name__ == "__main__":
    unittest.main()
