"""A server of MCP that wants a key: it stands where the provider's placement says, and no sign-in is begun for it."""

from __future__ import annotations

import contextlib
import json
import unittest
import urllib.parse
from typing import Any, Dict

from mcp_fixture import Bridge, MCPFixture, Request, Response

KEY = "sk-key-of-the-account-0123456789"


class KeyTests(MCPFixture):
    starts_agent = True

    def keyed(self, server: Any, placement: Dict[str, Any], **more: str) -> Bridge:
        """A bridge with an account of a key."""
        with contextlib.closing(self.agent.client()) as client:
            client.call("provider.add", {
                "name": "keys", "kind": "secret", "allowedOrigins": [server.origin], "placement": placement})
            client.call("account.add", {"provider": "keys", "secret": KEY, "alias": "key", **more})
        return self.bridge(server.origin + "/mcp", "--account", "key")

    def called(self, placement: Dict[str, Any], path: str = "/mcp", **more: str) -> Request:
        """What the server got of a tool's call."""
        server = self.server(path=path)
        bridge = self.keyed(server, placement, **more)
        self.assertEqual(json.loads(bridge.tool("echo", text="x")), {"text": "x"})
        self.assertNotIn(KEY, b"".join(bridge.lines).decode())
        request: Request = server.ran()[-1]
        return request

    def test_key_standsInItsField(self) -> None:
        request = self.called({"in": "header", "name": "X-Api-Key", "format": "{secret}"})
        self.assertEqual((request.header("X-Api-Key"), request.header("Authorization")), (KEY, None))
        self.assertNotIn(KEY, request.target)

    def test_key_isABearerTokenByDefault(self) -> None:
        self.assertEqual(self.called({"in": "header"}).header("Authorization"), "Bearer " + KEY)

    def test_key_isThePassword(self) -> None:
        request = self.called({"in": "basic"}, username="robot")
        self.assertTrue((request.header("Authorization") or "").startswith("Basic "))

    def test_key_standsInTheQuery(self) -> None:
        request = self.called({"in": "query", "name": "key"})
        self.assertEqual(urllib.parse.urlsplit(request.target).query, "key=" + KEY)
        self.assertIsNone(request.header("Authorization"))

    def test_key_standsBeforeThePath(self) -> None:
        request = self.called({"in": "path", "format": "/bot{secret}"}, path=f"/bot{KEY}/mcp")
        self.assertEqual(request.target, f"/bot{KEY}/mcp")

    def test_keyThatTheServerRefuses_isSentOnce_andNoSignInBegins(self) -> None:
        server = self.server()
        bridge = self.keyed(server, {"in": "header"})
        server.fault("/mcp", Response(401, b"", (("WWW-Authenticate", "Bearer"),)), times=5)
        error = self.refuses(lambda: bridge.tool("echo", text="x"))
        self.assertIn("401", str(error))
        self.assertEqual(len(server.requests("/mcp", "POST")), 1)
        self.assertIsNone(self.sign_in_url(bridge))

    def test_answerThatRepeatsTheKey_isNotPassedOn(self) -> None:
        server = self.server()
        server.calls["back"] = lambda call: call.text(call.request.header("Authorization") or "")
        bridge = self.keyed(server, {"in": "header"})
        self.refuses(lambda: bridge.tool("back"))
        self.assertNotIn(KEY, b"".join(bridge.lines).decode())

    def test_keyOfAnotherServer_isNotSent(self) -> None:
        server, other = self.server(), self.server()
        self.keyed(server, {"in": "header"})
        bridge = self.bridge(other, "--account", "key")
        self.assertIn("is not for", self.refuses(lambda: bridge.tool("echo", text="x")).message)
        self.assertEqual(other.requests(), [])


if __name__ == "__main__":
    unittest.main()
