"""Servers and clients that mean harm, or do not do their part: no token goes astray, and the bridge comes to an end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import unittest
from typing import List, Optional, Sequence

from bridge import Bridge
from mcp_fixture import LANYARD, LEGACY, MODERN, PATIENCE_SECONDS, Call, Event, Request, Response, Stream
from mcp_server import PROTOCOL_VERSION, MCPServer
from test_authorization import AuthorizationFixture
from forms import in_quick_form

JSON = (("Content-Type", "application/json"),)


@in_quick_form("test_accountOfAnotherPathOfTheOrigin_isNotSent")
class OtherResourceTests(AuthorizationFixture):
    def tokens_of_another_path(self, server: MCPServer, *options: str, **environment: str) -> List[Optional[str]]:
        """The `Authorization` fields that a server at another path of the same origin gets, which takes none."""
        got: List[Optional[str]] = []

        def refused(request: Request) -> Response:
            got.append(request.header("Authorization"))
            return Response(401, b"", (("WWW-Authenticate", "Bearer"),))

        server.clear_faults()
        server.fault("/other", refused, -1)
        self.refuses(lambda: self.bridge(f"{server.origin}/other", *options, **environment).call("tools/list"))
        return got

    def test_accountOfAnotherPathOfTheOrigin_isNotSent(self) -> None:
        _, server = self.protected()
        self.signed_in(server)
        account = self.client(self.agent).call("account.list")["accounts"][0]
        self.assertEqual(self.tokens_of_another_path(server), [None])
        self.assertEqual(self.tokens_of_another_path(server, LANYARD_ACCOUNT=account["id"]), [None])
        self.assertEqual(self.tokens_of_another_path(server, "--name", account["provider"]), [None])
        self.assertEqual(self.tokens_of_another_path(server, "--account", account["id"]), [])

    def test_serverBelowAnotherResource_isSignedInToForItsOwn(self) -> None:
        authorization, server = self.protected()
        server.metadata_path = "/.well-known/oauth-protected-resource"
        server.tells_metadata = False
        server.claimed_resource = server.origin
        self.signed_in(server)
        own = f"{server.origin}/below/mcp"
        taken: List[str] = []

        def below(request: Request) -> Optional[Response]:
            token = authorization.token(request.token)
            if token is None or token.grant.resource != own:
                return Response(401, b"", (("WWW-Authenticate", f'Bearer resource_metadata="{server.origin}/below"'),))
            taken.append(token.value)
            return Response.json({"jsonrpc": "2.0", "id": request.message["id"], "result": {}})

        server.fault("/below/mcp", below, -1)
        server.fault("/below", Response.json({"resource": own, "authorization_servers": [authorization.issuer]}), -1)
        for _ in range(2):
            self.signing_in(self.bridge(own), "tools/list", most=2)
        self.assertEqual(len(taken), 2)
        self.assertEqual([asked["resource"] for asked in authorization.authorizations()], [server.origin, own])
        self.assertEqual(self.bridge(server).tool("who"), "alice")

    def test_resourceThatBeginsAsAnother_isRefused(self) -> None:
        for claim in ("/other/../mcp", "/other/%2e%2E/mcp", "/./mcp"):
            with self.subTest(claim):
                _, server = self.protected()
                server.claimed_resource = server.origin + claim
                self.assertEqual(self.refuses_to_sign_in(server).data["name"], "noAuthorizationServer")


@in_quick_form()
class SlownessTests(AuthorizationFixture):
    def test_metadataThatComesByteByByte_isGivenUp(self) -> None:
        _, server = self.protected()

        def dripping(request: Request) -> Stream:
            return Stream(iter(lambda: server.released.wait(0.2) and b"" or b" ", b""))

        server.fault("/.well-known/oauth-protected-resource/mcp", dripping, -1)
        started = time.monotonic()
        error = self.refuses(lambda: self.bridge(server).call("tools/list"))
        self.assertEqual(error.data["name"], "noAuthorizationServer")
        self.assertLess(time.monotonic() - started, 15)

    def test_serverThatDemandsNoWait_isNotAskedWithoutOne(self) -> None:
        server = self.server()
        server.get_stream = lambda request: iter([Event("", id="again", retry=0)])
        self.bridge(server, version=LEGACY).initialize()
        self.until(lambda: server.requests("/mcp", "GET"), "a stream")
        time.sleep(1)
        self.assertLess(len(server.requests("/mcp", "GET")), 25)


    def test_serverThatAnswersNoRequest_isToldWhatIsCancelled(self) -> None:
        server = self.server()

        def hanging(call: Call) -> Response:
            server.released.wait(PATIENCE_SECONDS)
            return Response(202)

        server.calls["hang"] = hanging
        bridge = self.bridge(server, version=LEGACY)
        bridge.initialize()
        waiting = [bridge.send("tools/call", {"name": "hang"}) for _ in range(256)]
        self.until(lambda: len(server.messages("tools/call")) == len(waiting), "all requests")
        bridge.notify("notifications/cancelled", {"requestId": waiting[0]})
        self.until(lambda: server.messages("notifications/cancelled"), "the cancellation")
        server.released.set()


@in_quick_form("test_challengeWithTheToken_isNotShown")
class AnswerTests(AuthorizationFixture):
    def test_answerThatRepeatsItsId_isNoAnswerToAnotherRequest(self) -> None:
        server = self.server()
        server.methods["twofold"] = lambda call: Response(
            200, b'{"jsonrpc":"2.0","id":%d,"id":99,"result":{}}' % call.id, JSON)
        error = self.refuses(lambda: self.bridge(server).call("twofold"))
        self.assertEqual(error.data["name"], "malformed")


    def test_challengeWithTheToken_isNotShown(self) -> None:
        authorization, server = self.protected()
        bridge = self.signed_in(server)
        server.calls["scoped"] = lambda call: Response(403, b"", ((
            "WWW-Authenticate", f'Bearer error="insufficient_scope", scope="{call.request.token}"'),))
        self.refuses(lambda: bridge.tool("scoped"))
        authorization.end_grants()
        server.accepts = lambda token: False
        server.scopes_supported = list(authorization.access_tokens)
        self.refuses(lambda: bridge.tool("who"))
        self.assertEqual(bridge.close(), 0)
        for secret in authorization.secrets():
            self.assertNotIn(secret, bridge.errors)
            self.assertNotIn(secret.encode(), b"".join(bridge.lines))

    def test_scopesThatAreNone_areLeftOut(self) -> None:
        authorization, server = self.protected()
        server.scopes_supported = ["read", "a b", 'c"d', "é", ""]
        self.signed_in(server)
        self.assertEqual([asked["scope"] for asked in authorization.authorizations()], ["read"])


@in_quick_form()
class EndTests(AuthorizationFixture):
    def assertEnds(self, process: "subprocess.Popen[bytes]") -> None:  # noqa: N802
        process.terminate()
        self.assertEqual(process.wait(10), 0)

    def program(self, server: MCPServer, closed: Sequence[int] = ()) -> "subprocess.Popen[bytes]":
        """The bridge with nothing that reads its output, and without these descriptors."""
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            [LANYARD, "mcp", server.url], stdin=pipe, stdout=pipe, stderr=pipe, env=self.environment(),
            preexec_fn=lambda: [os.close(each) for each in closed])
        self.addCleanup(self.end, process)
        return process

    def end(self, process: "subprocess.Popen[bytes]") -> None:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    pass

    def test_clientThatDoesNotRead_andASignal_endTheBridge(self) -> None:
        process = self.program(self.server())
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(b"no message\n" * 3_000)
        process.stdin.flush()
        self.assertTrue(process.stdout.read(1))
        self.assertEnds(process)

    def test_agentThatDoesNotAnswer_andASignal_endTheBridge(self) -> None:
        _, server = self.protected()
        bridge = self.signed_in(server, version=LEGACY)
        agent = self.agent.pid
        os.kill(agent, signal.SIGSTOP)
        self.addCleanup(os.kill, agent, signal.SIGCONT)
        bridge.send("tools/call", {"name": "who"})
        self.assertEnds(bridge.process)

    def test_closedDescriptors_areNotReplacedByOthers(self) -> None:
        server = self.server()
        for closed in ((2,), (1, 2), (0, 1, 2)):
            with self.subTest(closed):
                process = self.program(server, closed)
                if 0 not in closed:
                    assert process.stdin is not None and process.stdout is not None
                    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list",
                               "params": {"_meta": {PROTOCOL_VERSION: MODERN}}}
                    process.stdin.write(json.dumps(message).encode() + b"\n")
                    process.stdin.flush()
                    self.until(lambda: "lanyard-mcp" in os.readlink(f"/proc/{process.pid}/exe"), "the bridge")
                    self.until(lambda: server.messages("tools/list"), "the request")
                    for each in closed:
                        self.assertEqual(os.readlink(f"/proc/{process.pid}/fd/{each}"), "/dev/null")
                    server.forget_requests()
                    process.stdin.close()
                self.assertEqual(process.wait(PATIENCE_SECONDS), 0)


if __name__ == "__main__":
    unittest.main()
