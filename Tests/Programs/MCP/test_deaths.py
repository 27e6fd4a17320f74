"""Kills amid a stream, servers and providers that die, and tokens that are never taken: an error in time, nothing sent twice, and
the next call works."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import unittest

from bridge import RPCError
from mcp_fixture import LANYARD, MODERN, RESET, Ended, Event, MCPFixture, Response, left
from test_authorization import AuthorizationFixture
from forms import in_quick_form

SOON_SECONDS = 8.0
"""The longest time until an error, where no network has to be waited for."""

REPLAY_SECONDS = 40
"""The last replay comes 15 to 30 s after the answer was lost."""


@in_quick_form(
    "test_killOfTheAgentAmidAStream_endsNothing_andTheNextCallWorks",
    "test_killOfTheAgentDuringARefresh_isNoSecondExchange_ofTheSameToken")
class KillTests(AuthorizationFixture):
    def streaming(self):
        """A signed-in bridge amid the stream of a call, and the request at the server."""
        authorization, server = self.protected()

        def hanging(call):
            yield Event({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}})
            if not server.released.wait(15) or call.request.client_left.is_set():
                return
            yield Event(call.text("survived"))

        server.calls["hanging"] = hanging
        bridge = self.signed_in(server)
        identity = bridge.send("tools/call", {"name": "hanging"})
        bridge.next("notifications/progress")
        return authorization, server, bridge, identity

    def test_killOfTheBridgeAmidAStream_endsItsOutput_andANewOneWorks(self) -> None:
        authorization, server, bridge, identity = self.streaming()
        bridge.kill()
        with self.assertRaises(Ended):
            bridge.result(identity)
        (request,) = server.messages("tools/call")
        self.assertTrue(left(request, 5), "the stream is still open at the server")
        server.released.set()
        self.assertEqual(self.bridge(server).tool("who"), "alice")
        self.assertEqual(len(server.messages("tools/call")), 2)
        self.assertEqual(authorization.exchanges, 1)

    def test_killOfTheAgentAmidAStream_endsNothing_andTheNextCallWorks(self) -> None:
        authorization, server, bridge, identity = self.streaming()
        self.agent.kill()
        server.released.set()
        self.assertEqual(bridge.result(identity)["content"][0]["text"], "survived")
        self.agent.start()
        self.assertEqual(bridge.tool("who"), "alice")
        self.assertEqual(len(server.messages("tools/call")), 2)
        self.assertEqual(len(authorization.authorizations()), 1)
        self.assertEqual({grant.ended for grant in authorization.grants}, {None})

    def test_callWhileTheAgentIsDead_isAnError_andNothingIsSent(self) -> None:
        authorization, server, bridge, identity = self.streaming()
        self.agent.kill()
        began = time.monotonic()
        try:
            bridge.tool("who")
        except Exception as error:
            self.assertIn("agent", str(error))
        self.assertLess(time.monotonic() - began, SOON_SECONDS)
        server.released.set()
        bridge.result(identity)
        self.agent.start()
        self.assertEqual(bridge.tool("who"), "alice")

    def test_terminationOfTheBridge_isCleanAndSilent(self) -> None:
        authorization, server, bridge, identity = self.streaming()
        bridge.process.send_signal(signal.SIGTERM)
        self.assertIsNotNone(bridge.process.wait(SOON_SECONDS))
        (request,) = server.messages("tools/call")
        self.assertTrue(left(request, 5))

    def test_killOfTheAgentDuringARefresh_isNoSecondExchange_ofTheSameToken(self) -> None:
        authorization, server = self.protected()
        bridge = self.signed_in(server)
        authorization.expire_access_tokens()
        authorization.fault("/token", 2.0)
        identity = bridge.send("tools/call", {"name": "who"})
        self.until(lambda: authorization.refreshes, "the refresh")
        self.agent.kill()
        self.refuses(lambda: bridge.result(identity))
        self.agent.start()
        sent = [form["refresh_token"] for form in authorization.exchanges_of("refresh_token")]
        self.assertEqual(len(sent), len(set(sent)))
        # The outcome of the exchange is unknown: the last replay comes 15 to 30 s later. Then a person signs in again, or a
        # new exchange worked.
        began = time.monotonic()
        while True:
            try:
                answer = self.signing_in(bridge, "tools/call", {"name": "who"})
                break
            except RPCError as error:
                self.assertIn("No answer came to the last refresh", error.message)
                self.assertLess(time.monotonic() - began, REPLAY_SECONDS)
                time.sleep(1)
        self.assertEqual(answer["content"][0]["text"], "alice")
        self.assertEqual(len(server.ran("tools/call")), 1)


@in_quick_form("test_serverThatIsNotThere_isAnError_soon")
class DeadServerTests(MCPFixture):
    def test_serverThatIsNotThere_isAnError_soon(self) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            bridge = self.bridge(f"http://127.0.0.1:{unused.getsockname()[1]}/mcp")
            began = time.monotonic()
            error = self.refuses(lambda: bridge.call("tools/list"))
        self.assertLess(time.monotonic() - began, SOON_SECONDS)
        self.assertIn("connection", error.message)
        self.assertEqual(bridge.close(), 0)

    def test_hostWithoutAnAddress_isAnError_soon(self) -> None:
        bridge = self.bridge("https://mcp.invalid/mcp")
        began = time.monotonic()
        error = self.refuses(lambda: bridge.call("tools/list"))
        self.assertLess(time.monotonic() - began, 15)
        self.assertIn("name", error.message)

    def test_plainHTTP_toAnotherMachine_isRefused(self) -> None:
        bridge = self.bridge("http://192.0.2.1/mcp")
        bridge.process.stdin.close()
        self.assertNotEqual(bridge.process.wait(SOON_SECONDS), 0)
        self.assertIn("https", bridge.errors)

    def test_everyStrangeAnswer_isAnError_andTheNextCallWorks(self) -> None:
        server = self.server()
        bridge = self.bridge(server)
        json_type = (("Content-Type", "application/json"),)
        strange = {
            "500 with a page": Response(500, b"<html>sorry</html>", (("Content-Type", "text/html"),)),
            "502 without a body": Response(502), "404": Response(404), "405": Response(405), "410": Response(410),
            "429": Response(429, b"", (("Retry-After", "1"),)), "200 with a page": Response(200, b"<html>", (("Content-Type", "text/html"),)),
            "200 without a body": Response(200), "200 with half a message": Response(200, b'{"jsonrpc":', json_type),
            "202 for a request": Response(202), "204": Response(204), "a list": Response(200, b"[]", json_type),
            "another id": Response(200, b'{"jsonrpc":"2.0","id":"other","result":{}}', json_type),
            "a reset": RESET, "403": Response(403), "400": Response(400),
        }
        for name, answer in strange.items():
            with self.subTest(name):
                server.fault("/mcp", answer)
                identity = f"call: {name}"
                bridge.send("tools/call", {"name": "echo"}, identity=identity)
                self.refuses(lambda: bridge.result(identity))
        self.assertEqual(bridge.tool("echo"), "{}")
        self.assertEqual(len(server.messages()), len(strange) + 1, "something was sent twice")

    def test_errorOfTheServer_withAStatus_passesWhole(self) -> None:
        server = self.server()
        bridge = self.bridge(server)
        for status, code in ((400, -32602), (404, -32601), (500, -32603), (200, 7)):
            with self.subTest(status):
                error = {"code": code, "message": "the server's own words", "data": {"kept": [1, 2]}}
                server.fault("/mcp", lambda request: Response.json(
                    {"jsonrpc": "2.0", "id": request.message["id"], "error": error}, status))
                found = self.refuses(lambda: bridge.tool("echo"))
                self.assertEqual((found.code, found.message, found.data), (code, error["message"], error["data"]))


@in_quick_form("test_callAfterARefusal_isSentOnceMore_andRunsOnce")
class DeadProviderTests(AuthorizationFixture):
    def test_deadProvider_costsNothing_whileTheTokenIsGood(self) -> None:
        authorization, server = self.protected()
        bridge = self.signed_in(server)
        authorization.close()
        self.assertEqual(bridge.tool("who"), "alice")

    def test_deadProvider_andARefusedToken_isAnError_soon_andComesBack(self) -> None:
        authorization, server = self.protected()
        bridge = self.signed_in(server)
        authorization.expire_access_tokens()
        authorization.close()
        began = time.monotonic()
        self.refuses(lambda: bridge.tool("who"))
        self.assertLess(time.monotonic() - began, SOON_SECONDS)
        authorization.reopen()
        # The agent pauses after a failure.
        deadline = time.monotonic() + 15
        while True:
            try:
                self.assertEqual(bridge.tool("who"), "alice")
                break
            except Exception:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.3)
        self.assertEqual(len(authorization.authorizations()), 1)

    def test_deadProvider_atASignIn_isAnError_soon(self) -> None:
        authorization, server = self.protected()
        authorization.close()
        bridge = self.bridge(server)
        began = time.monotonic()
        self.refuses(lambda: bridge.call("tools/list"))
        self.assertLess(time.monotonic() - began, SOON_SECONDS)

    def test_tokenThatIsNeverTaken_endsInAnError(self) -> None:
        authorization, server = self.protected()
        bridge = self.signed_in(server)
        server.accepts = lambda token: False
        for _ in range(3):
            before = len(server.messages("tools/call"))
            self.refuses(lambda: bridge.tool("who"))
            self.assertLessEqual(len(server.messages("tools/call")) - before, 3)
        self.assertLessEqual(authorization.refreshes, 3)
        server.accepts = lambda token: True
        self.assertEqual(self.signing_in(bridge, "tools/call", {"name": "who"})["content"][0]["text"], "alice")

    def test_callAfterARefusal_isSentOnceMore_andRunsOnce(self) -> None:
        authorization, server = self.protected()
        ran = []
        server.calls["write"] = lambda call: (ran.append(call), call.text("written"))[1]
        bridge = self.signed_in(server)
        authorization.expire_access_tokens()
        self.assertEqual(bridge.tool("write"), "written")
        self.assertEqual(len(ran), 1)
        self.assertEqual(len(server.messages("tools/call")), 2)


class OtherUserTests(AuthorizationFixture):
    @unittest.skipUnless(os.geteuid() == 0, "NOT TESTED: only root can be another user")
    def test_bridgeOfAnotherUser_getsNoToken(self) -> None:
        nobody = {"user": "nobody", "group": "nogroup", "extra_groups": [], "cwd": "/"}
        try:
            subprocess.run([LANYARD, "--version"], check=True, capture_output=True, **nobody)
        except PermissionError:
            self.skipTest(f"NOT TESTED: another user can't reach {LANYARD}")
        authorization, server = self.protected()
        self.signed_in(server)
        server.forget_requests()
        message = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{' \
            b'"io.modelcontextprotocol/protocolVersion":"%s"}}}\n' % MODERN.encode()
        ran = subprocess.run(
            [LANYARD, "mcp", server.url], input=message, capture_output=True, timeout=20, **nobody,
            env={**self.environment(), "HOME": "/nonexistent", "XDG_CONFIG_HOME": "/nonexistent"})
        self.assertNotIn(b'"result"', ran.stdout)
        self.assertEqual([request for request in server.requests() if request.token], [])


if __name__ == "__main__":
    unittest.main()
