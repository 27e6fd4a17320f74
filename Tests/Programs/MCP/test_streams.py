"""Answers as streams: what comes when, what ends one, and that a broken one is an error and never sent again."""

from __future__ import annotations

import json
import os
import time
import unittest
from typing import Any

from mcp_fixture import LANYARD, LEGACY, RESET, Bridge, Event, MCPFixture, RPCError, Stream, left
from forms import in_quick_form
from mcp_server import MODERN, SUBSCRIPTION_ID, MCPServer

IDLE_SECONDS = 10.5
"""Longer than the usual time limits of HTTP clients."""
SOON_SECONDS = 3.0
idle: "Idle"


def progress(number: int) -> Event:
    return Event({"jsonrpc": "2.0", "method": "notifications/progress",
                  "params": {"progressToken": "p", "progress": number}})


@in_quick_form(
    "test_notifications_arriveBeforeTheirCallEnds_inOrder", "test_aStreamThatIsReset_isAnError_andIsNotSentAgain")
class StreamTests(MCPFixture):
    def test_notifications_arriveBeforeTheirCallEnds_inOrder(self) -> None:
        server = self.server()

        def working(call):
            for number in range(50):
                yield progress(number)
            server.released.wait(20)
            yield Event(call.text("done"))

        server.calls["working"] = working
        bridge = self.bridge(server)
        identity = bridge.send("tools/call", {"name": "working"})
        found = [bridge.next("notifications/progress")["params"]["progress"] for _ in range(50)]
        self.assertEqual(found, list(range(50)))
        self.assertFalse(bridge.answered(identity))
        server.released.set()
        self.assertEqual(bridge.result(identity)["content"][0]["text"], "done")

    def test_aCallWithoutAnAnswer_tellsTheClientThatItWaits(self) -> None:
        server = self.server()

        def silent(call):
            server.released.wait(20)
            return call.text("done")

        server.calls["silent"] = silent
        bridge = self.bridge(server)
        asked = bridge.send("tools/call", {"name": "silent", "_meta": {"progressToken": "p"}})
        other = bridge.send("tools/call", {"name": "silent"})
        told = bridge.next("notifications/progress", 8)["params"]
        self.assertEqual(told["progressToken"], "p")
        self.assertIn("Waiting for the server", told["message"])
        self.assertTrue(0 < told["progress"] < 1)
        server.released.set()
        for identity in (asked, other):
            self.assertEqual(bridge.result(identity)["content"][0]["text"], "done")
        self.assertTrue(bridge.unasked.empty(), "a call without a token, or after its answer")

    def test_aSlowCall_delaysNoOther(self) -> None:
        server = self.server()

        def slow(call):
            server.released.wait(20)
            return call.text("slow")

        server.calls["slow"] = slow
        bridge = self.bridge(server)
        waiting = [bridge.send("tools/call", {"name": "slow"}) for _ in range(16)]
        self.assertEqual(bridge.tool("echo", seconds=SOON_SECONDS), "{}")
        server.released.set()
        for identity in waiting:
            self.assertEqual(bridge.result(identity)["content"][0]["text"], "slow")

    def test_everySpellingOfAStream_isRead(self) -> None:
        server = self.server()

        def spelled(call):
            message = json.dumps(call.text("spelled"), indent=1)
            lines = message.encode().split(b"\n")
            yield b"\xef\xbb\xbf: a comment\r\n\r\n:\r\n"
            yield b"event: message\rid: 7\rretry: nonsense\rdata\r\r"
            yield b"event: ping\ndata: {}\n\nunknown: field\n\n"
            for line in lines:
                for byte in b"data:" + line + b"\r\n":
                    yield bytes([byte])
            yield b"\r\n"

        server.calls["spelled"] = spelled
        bridge = self.bridge(server)
        self.assertEqual(bridge.tool("spelled"), "spelled")
        self.assertEqual(len(bridge.lines), 1)

    def test_anEventOfManyMegabytes_passesWhole(self) -> None:
        server = self.server()
        text = "0123456789abcdef" * (1 << 19)
        server.calls["huge"] = lambda call: iter([progress(1), Event(call.text(text))])
        server.calls["huge_json"] = lambda call: call.text(text)
        bridge = self.bridge(server)
        self.assertEqual(bridge.tool("huge"), text)
        self.assertEqual(bridge.tool("huge_json"), text)

    def broken(self, version: str, *parts: Any) -> RPCError:
        """The error of a call whose stream breaks, after which nothing was sent twice and the next call works."""
        server = self.server()
        server.calls["broken"] = lambda call: Stream(iter(parts))
        bridge = self.bridge(server, version=version)
        if version == LEGACY:
            bridge.initialize()
        error = self.refuses(lambda: bridge.tool("broken"))
        self.assertEqual(len(server.messages("tools/call")), 1)
        self.assertEqual(bridge.tool("echo"), "{}")
        self.assertEqual(len(server.messages("tools/call")), 2)
        return error

    def test_aStreamThatIsReset_isAnError_andIsNotSentAgain(self) -> None:
        self.broken(MODERN, progress(1), RESET)
        self.broken(MODERN, RESET)
        self.broken(MODERN, b"data: {\"jsonrpc\":\"2.0\",\"id\":", RESET)
        self.broken(LEGACY, progress(1), RESET)

    def test_aStreamThatEndsWithoutItsAnswer_isAnError(self) -> None:
        self.broken(MODERN, progress(1))
        self.broken(MODERN)
        self.broken(LEGACY, progress(1))

    def test_anEventId_doesNotResumeAStreamOfTheNewVersion(self) -> None:
        server = self.server()
        server.get_stream = lambda request: iter([])
        server.calls["broken"] = lambda call: iter([Event("", id="1", retry=10)])
        bridge = self.bridge(server)
        self.refuses(lambda: bridge.tool("broken"))
        self.assertEqual(server.requests("/mcp", "GET"), [])

    def test_aStreamOfNonsense_isAnError(self) -> None:
        self.broken(MODERN, Event("no JSON"))
        self.broken(MODERN, Event({"jsonrpc": "2.0"}))

    def test_connectionThatIsResetBeforeAnyAnswer_isAnError_andIsNotSentAgain(self) -> None:
        server = self.server()
        bridge = self.bridge(server)
        bridge.tool("echo")
        # The kept connection dies when the next call was sent on it.
        server.fault("/mcp", RESET)
        self.refuses(lambda: bridge.tool("echo"))
        self.assertEqual(len(server.messages("tools/call")), 2)
        self.assertEqual(bridge.tool("echo"), "{}")

    def test_aKeptConnectionThatTheServerClosed_costsNoCall(self) -> None:
        server = self.server()
        bridge = self.bridge(server)
        for _ in range(5):
            bridge.tool("echo")
            server.drop_connections()
            time.sleep(0.05)
        self.assertEqual(bridge.tool("echo"), "{}")
        self.assertEqual(len(server.messages("tools/call")), 6)


@in_quick_form("test_cancelled_closesThatStreamAlone")
class CancellationTests(MCPFixture):
    def hanging(self) -> "tuple[MCPServer, Bridge]":
        server = self.server()

        def hanging(call):
            yield progress(1)
            if not left(call.request, 15):
                yield Event(call.text("nobody cancelled"))

        server.calls["hanging"] = hanging
        return server, self.bridge(server)

    def test_cancelled_closesThatStreamAlone(self) -> None:
        server, bridge = self.hanging()
        first = bridge.send("tools/call", {"name": "hanging"}, identity="first")
        second = bridge.send("tools/call", {"name": "hanging"}, identity="second")
        bridge.next("notifications/progress")
        bridge.next("notifications/progress")
        bridge.notify("notifications/cancelled", {"requestId": first, "reason": "the person changed their mind"})
        requests = {request.message["id"]: request for request in server.messages("tools/call")}
        self.assertTrue(requests["first"].client_left.wait(SOON_SECONDS))
        self.assertFalse(requests["second"].client_left.is_set())
        self.assertEqual(bridge.tool("echo"), "{}")
        self.assertFalse(bridge.answered(first), "a cancelled request gets no answer")
        self.assertFalse(bridge.answered(second))
        self.assertEqual(server.messages("notifications/cancelled"), [])
        bridge.notify("notifications/cancelled", {"requestId": second})
        self.assertTrue(requests["second"].client_left.wait(SOON_SECONDS))

    def test_cancelled_beforeAnyAnswer_closesTheConnection(self) -> None:
        server = self.server()

        def silent(call):
            left(call.request, 15)
            return call.text("too late")

        server.calls["silent"] = silent
        bridge = self.bridge(server)
        identity = bridge.send("tools/call", {"name": "silent"})
        request = self.until(lambda: server.messages("tools/call"), "the call at the server")[0]
        bridge.notify("notifications/cancelled", {"requestId": identity})
        self.assertTrue(request.client_left.wait(SOON_SECONDS))
        self.assertEqual(bridge.tool("echo"), "{}")
        self.assertFalse(bridge.answered(identity))

    def test_cancelled_inTheOlderVersion_isToldToTheServer(self) -> None:
        server = self.server()

        def silent(call):
            server.released.wait(15)
            return call.text("stopped")

        server.calls["silent"] = silent
        server.methods["notifications/cancelled"] = lambda call: server.released.set()
        bridge = self.bridge(server, version=LEGACY)
        bridge.initialize()
        identity = bridge.send("tools/call", {"name": "silent"})
        self.until(lambda: server.messages("tools/call"), "the call at the server")
        bridge.notify("notifications/cancelled", {"requestId": identity})
        self.until(lambda: server.messages("notifications/cancelled"), "the cancellation at the server")
        self.assertEqual(server.messages("notifications/cancelled")[0].message["params"]["requestId"], identity)
        self.assertEqual(bridge.tool("echo"), "{}")

    def test_cancelled_ofAnUnknownRequest_isIgnored(self) -> None:
        server, bridge = self.hanging()
        bridge.notify("notifications/cancelled", {"requestId": "never sent"})
        bridge.notify("notifications/cancelled", {})
        self.assertEqual(bridge.tool("echo"), "{}")

    def test_endOfInput_letsCallsEnd_andThenTheProgram(self) -> None:
        server = self.server()

        def slow(call):
            yield progress(1)
            server.released.wait(15)
            yield Event(call.text("done"))

        server.calls["slow"] = slow
        bridge = self.bridge(server)
        identity = bridge.send("tools/call", {"name": "slow"})
        bridge.next("notifications/progress")
        bridge.process.stdin.close()
        time.sleep(0.2)
        self.assertIsNone(bridge.process.poll())
        server.released.set()
        self.assertEqual(bridge.result(identity)["content"][0]["text"], "done")
        self.assertEqual(bridge.close(SOON_SECONDS), 0)

    def test_termination_closesOpenStreams_atOnce(self) -> None:
        server, bridge = self.hanging()
        bridge.send("tools/call", {"name": "hanging"})
        bridge.next("notifications/progress")
        bridge.process.terminate()
        bridge.process.wait(SOON_SECONDS)
        self.assertTrue(server.messages("tools/call")[0].client_left.wait(SOON_SECONDS))


@in_quick_form("test_serverThatDies_endsTheSubscriptionByAnError")
class SubscriptionTests(MCPFixture):
    """The bridge of `setUpModule` idles while the other tests of this file run."""

    @staticmethod
    def listening(server: MCPServer) -> Any:
        def listen(call):
            told = {"_meta": {SUBSCRIPTION_ID: call.id}}
            yield Event({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": told})
            while not server.released.wait(0.05):
                if left(call.request, 0.01):
                    return
            yield Event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": told})
            if call.params.get("ends"):
                yield Event(call.result({"resultType": "complete", **told}))
            else:
                left(call.request, 15)
        return listen

    def test_streamThatIdles_pastTheTimeLimitsOfOthers_staysOpen(self) -> None:
        server, bridge, identity = idle.server, idle.bridge, idle.identity
        bridge.next("notifications/subscriptions/acknowledged")
        self.assertEqual(bridge.tool("echo"), "{}")
        time.sleep(max(0, idle.since + IDLE_SECONDS - time.monotonic()))
        server.released.set()
        changed = bridge.next("notifications/tools/list_changed")
        self.assertEqual(changed["params"]["_meta"][SUBSCRIPTION_ID], identity)
        self.assertFalse(bridge.answered(identity))
        self.assertEqual(len(server.messages("subscriptions/listen")), 1)
        self.assertEqual(server.complaints + bridge.problems, [])

    def test_endThatTheServerTells_isTheAnswer(self) -> None:
        server = self.server()
        server.methods["subscriptions/listen"] = self.listening(server)
        bridge = self.bridge(server)
        identity = bridge.send("subscriptions/listen", {"notifications": {}, "ends": True})
        bridge.next("notifications/subscriptions/acknowledged")
        server.released.set()
        self.assertEqual(bridge.result(identity)["_meta"], {SUBSCRIPTION_ID: identity})

    def test_serverThatDies_endsTheSubscriptionByAnError(self) -> None:
        server = self.server()
        server.methods["subscriptions/listen"] = self.listening(server)
        bridge = self.bridge(server)
        identity = bridge.send("subscriptions/listen", {"notifications": {}})
        bridge.next("notifications/subscriptions/acknowledged")
        server.close()
        self.refuses(lambda: bridge.result(identity))
        server.reopen()
        self.assertEqual(bridge.tool("echo"), "{}")
        self.assertEqual(len(server.messages("subscriptions/listen")), 1)

    def test_endOfInput_endsTheSubscription_andTheProgram(self) -> None:
        server = self.server()
        server.methods["subscriptions/listen"] = self.listening(server)
        bridge = self.bridge(server)
        bridge.send("subscriptions/listen", {"notifications": {}})
        bridge.next("notifications/subscriptions/acknowledged")
        self.assertEqual(bridge.close(SOON_SECONDS), 0)
        self.assertTrue(server.messages("subscriptions/listen")[0].client_left.wait(SOON_SECONDS))

    def test_cancelled_endsTheSubscription(self) -> None:
        server = self.server()
        server.methods["subscriptions/listen"] = self.listening(server)
        bridge = self.bridge(server)
        identity = bridge.send("subscriptions/listen", {"notifications": {}})
        bridge.next("notifications/subscriptions/acknowledged")
        bridge.notify("notifications/cancelled", {"requestId": identity})
        self.assertTrue(server.messages("subscriptions/listen")[0].client_left.wait(SOON_SECONDS))


class Idle:
    """A subscription on which nothing comes for a while."""

    def __init__(self) -> None:
        self.server = MCPServer()
        self.server.methods["subscriptions/listen"] = SubscriptionTests.listening(self.server)
        self.bridge = Bridge(LANYARD, self.server.url, [], {**os.environ, "LANYARD_NO_START": "1"})
        self.identity = self.bridge.send("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        self.since = time.monotonic()


def setUpModule() -> None:  # noqa: N802
    global idle
    idle = Idle()


def tearDownModule() -> None:  # noqa: N802
    idle.bridge.clean_up()
    idle.server.close()


if __name__ == "__main__":
    unittest.main()
