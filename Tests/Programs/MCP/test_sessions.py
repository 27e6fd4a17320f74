"""Protocol version 2025-11-25: sessions, the stream of a GET, requests of the server, resumption."""

from __future__ import annotations

import unittest

from mcp_fixture import LEGACY, MODERN, Event, MCPFixture, left
from forms import in_quick_form
from mcp_server import PROTOCOL_VERSION

SOON_SECONDS = 3.0


@in_quick_form("test_session_isOnEveryRequest_andEndsWithTheInput")
class SessionTests(MCPFixture):
    def test_session_isOnEveryRequest_andEndsWithTheInput(self) -> None:
        server = self.server()
        bridge = self.bridge(server, version=LEGACY)
        bridge.initialize()
        bridge.tool("echo")
        bridge.call("ping")
        self.assertEqual(bridge.close(), 0)
        (session,) = server.sessions
        posts = server.messages()
        self.assertIsNone(posts[0].header("Mcp-Session-Id"))
        self.assertEqual({request.header("Mcp-Session-Id") for request in posts[1:]}, {session})
        self.assertEqual({request.header("MCP-Protocol-Version") for request in posts[1:]}, {LEGACY})
        self.assertEqual([request.header("Mcp-Session-Id") for request in server.requests("/mcp", "DELETE")], [session])
        self.assertEqual(server.sessions, {session: False})

    def test_serverWithoutSessions_getsNone(self) -> None:
        server = self.server(makes_sessions=False)
        bridge = self.bridge(server, version=LEGACY)
        bridge.initialize()
        self.assertEqual(bridge.tool("echo"), "{}")
        self.assertEqual(bridge.close(), 0)
        self.assertEqual({request.header("Mcp-Session-Id") for request in server.requests("/mcp")}, {None})
        self.assertEqual(server.requests("/mcp", "DELETE"), [])

    def test_versionThatTheServerChose_isTheHeaderOfWhatFollows(self) -> None:
        server = self.server()
        server.methods["initialize"] = lambda call: call.result(
            {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "older", "version": "1"}})
        bridge = self.bridge(server, version=LEGACY)
        self.assertEqual(bridge.initialize()["protocolVersion"], "2025-06-18")
        bridge.tool("echo")
        self.assertEqual({request.header("MCP-Protocol-Version") for request in server.messages()[1:]}, {"2025-06-18"})

    def test_headersOfTheNewVersion_areNotSent(self) -> None:
        server = self.server()
        bridge = self.bridge(server, version=LEGACY)
        bridge.initialize()
        bridge.tool("echo")
        for request in server.messages("tools/call"):
            self.assertNotIn(PROTOCOL_VERSION, str(request.message))
            self.assertNotEqual(request.header("MCP-Protocol-Version"), MODERN)

    def test_endedSession_isAnError_andANewHandshakeWorks(self) -> None:
        server = self.server()
        bridge = self.bridge(server, version=LEGACY)
        bridge.initialize()
        server.sessions = dict.fromkeys(server.sessions, False)
        self.refuses(lambda: bridge.tool("echo"))
        bridge.initialize()
        self.assertEqual(bridge.tool("echo"), "{}")
        self.assertEqual(len(server.sessions), 2)


@in_quick_form("test_requestOfTheServer_isAnsweredByAPost")
class ServerMessageTests(MCPFixture):
    def test_getStream_bringsNotificationsOfTheServer(self) -> None:
        server = self.server()

        def stream(request):
            yield b": hello\n\n"
            server.released.wait(15)
            yield Event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}, id="1")
            left(request, 15)

        server.get_stream = stream
        bridge = self.bridge(server, version=LEGACY)
        bridge.initialize()
        (opened,) = self.until(lambda: server.requests("/mcp", "GET"), "the stream of a GET")
        self.assertEqual(opened.header("Accept"), "text/event-stream")
        self.assertIn(opened.header("Mcp-Session-Id"), server.sessions)
        server.released.set()
        bridge.next("notifications/tools/list_changed")
        self.assertEqual(bridge.tool("echo"), "{}")
        self.assertEqual(bridge.close(), 0)
        self.assertTrue(opened.client_left.wait(SOON_SECONDS))

    def test_serverWithoutGetStream_isNotAskedAgain(self) -> None:
        server = self.server()
        bridge = self.bridge(server, version=LEGACY)
        bridge.initialize()
        for _ in range(3):
            bridge.tool("echo")
        self.assertLessEqual(len(server.requests("/mcp", "GET")), 1)

    def test_requestOfTheServer_isAnsweredByAPost(self) -> None:
        server = self.server()

        def asking(call):
            yield Event({"jsonrpc": "2.0", "id": "roots-1", "method": "roots/list"})
            server.released.wait(15)
            yield Event(call.text("asked"))

        server.calls["asking"] = asking
        bridge = self.bridge(server, version=LEGACY)
        bridge.initialize()
        identity = bridge.send("tools/call", {"name": "asking"})
        self.assertEqual(bridge.next("roots/list")["id"], "roots-1")
        bridge.respond("roots-1", {"roots": []})
        answers = self.until(lambda: [request for request in server.messages() if "result" in (request.message or {})],
                             "the client's answer at the server")
        self.assertEqual(answers[0].message, {"jsonrpc": "2.0", "id": "roots-1", "result": {"roots": []}})
        self.assertIn(answers[0].header("Mcp-Session-Id"), server.sessions)
        server.released.set()
        self.assertEqual(bridge.result(identity)["content"][0]["text"], "asked")
        self.assertEqual(len(bridge.lines), 3)

    def test_brokenStreamWithAnEventId_isResumed_andNothingIsTwice(self) -> None:
        server = self.server()
        calls = []

        def breaking(call):
            calls.append(call)
            yield Event({"jsonrpc": "2.0", "method": "notifications/message", "params": {"n": 1}}, id="one", retry=10)

        def resumed(request):
            if request.header("Last-Event-ID") == "one":
                yield Event({"jsonrpc": "2.0", "method": "notifications/message", "params": {"n": 2}}, id="two")
            elif request.header("Last-Event-ID") == "two":
                yield Event(calls[0].text("at last"), id="three")

        server.calls["breaking"] = breaking
        server.get_stream = resumed
        bridge = self.bridge(server, version=LEGACY)
        bridge.initialize()
        self.assertEqual(bridge.tool("breaking"), "at last")
        self.assertEqual([bridge.next()["params"]["n"] for _ in range(2)], [1, 2])
        self.assertEqual(len(calls), 1)
        self.assertTrue(bridge.unasked.empty())

    def test_streamThatIsNeverResumed_isAnErrorInTheEnd(self) -> None:
        server = self.server()
        server.get_stream = lambda request: iter([Event("", id="again", retry=10)])
        server.calls["breaking"] = lambda call: iter([Event("", id="one", retry=10)])
        bridge = self.bridge(server, version=LEGACY)
        bridge.initialize()
        self.refuses(lambda: bridge.tool("breaking"))
        self.assertLess(len(server.requests("/mcp", "GET")), 50)
        self.assertEqual(len(server.messages("tools/call")), 1)


if __name__ == "__main__":
    unittest.main()
