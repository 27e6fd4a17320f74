"""Fixtures for tests of `lanyard mcp`: a real agent, scripted servers, and a client on the bridge's stdin and stdout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List, Optional

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(os.path.dirname(HERE), "Integration"))

from agent_fixture import BIN, PATIENCE_SECONDS, ROOT, AgentFixture, Scene  # noqa: E402
from authorization_server import AuthorizationServer  # noqa: E402
from bridge import Bridge, Ended, RPCError, browse, location  # noqa: E402
from listener import RESET, Event, Listener, Request, Response, Stream, left  # noqa: E402
from mcp_server import LEGACY, MODERN, Call, MCPServer, RPCFailure, tool  # noqa: E402

LANYARD = os.path.join(BIN, "lanyard")
URL = re.compile(r"https?://[^\s\"'<>]+")
MOST_SIGN_INS = 6


class MCPFixture(AgentFixture):
    """Whatever a test starts ends with it, and what a scripted server complained about fails the test."""

    expects_complaints = False
    starts_agent = False
    """Before an open server the bridge needs none."""

    def setUp(self) -> None:
        super().setUp()
        self.bridges: List[Bridge] = []
        self.listeners: List[Listener] = []
        self._scene: Optional[Scene] = None
        self._seen: Dict[int, int] = {}

    def tearDown(self) -> None:
        for bridge in self.bridges:
            self.assertEqual(bridge.problems, [], "stdout holds something else than messages")
        for listener in self.listeners:
            self.assertEqual(listener.errors, [])
            if not self.expects_complaints:
                self.assertEqual(getattr(listener, "complaints", []), [])
        super().tearDown()

    # The parts

    @property
    def agent(self) -> Scene:
        """The agent of this test, with directories of its own."""
        if self._scene is None:
            self._scene = self.scene(start=self.starts_agent)
        return self._scene

    def authorization_server(self, prefix: str = "", **settings: Any) -> AuthorizationServer:
        return self._kept(AuthorizationServer(prefix), settings)

    def server(self, *authorization: AuthorizationServer, path: str = "/mcp", **settings: Any) -> MCPServer:
        return self._kept(MCPServer(*authorization, path=path), settings)

    def _kept(self, listener: Any, settings: Dict[str, Any]) -> Any:
        self.listeners.append(listener)
        self.addCleanup(listener.close)
        for name, value in settings.items():
            assert hasattr(listener, name), name
            setattr(listener, name, value)
        return listener

    def environment(self, **more: str) -> Dict[str, str]:
        """No desktop, so that no browser opens by itself."""
        left_out = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "SSH_CONNECTION", "SSH_TTY", "LANYARD_ACCOUNT")
        found = {name: value for name, value in self.agent.environment.items() if name not in left_out}
        found.update({"LANYARD_NO_START": "1", "no_proxy": "127.0.0.1", **more})
        return found

    def bridge(self, server: Any, *options: str, version: str = MODERN, directory: Optional[str] = None,
               **environment: str) -> Bridge:
        """Starts `lanyard mcp`. A client of the older version makes its handshake itself."""
        url = server if isinstance(server, str) else server.url
        bridge = Bridge(LANYARD, url, options, self.environment(**environment), version, directory)
        self.bridges.append(bridge)
        self.addCleanup(bridge.clean_up)
        return bridge

    def lanyard(self, *words: str, input: str = "", status: Optional[int] = 0,
                **environment: str) -> "subprocess.CompletedProcess[str]":
        ran = subprocess.run([LANYARD, *words], input=input, capture_output=True, text=True, timeout=PATIENCE_SECONDS,
                             env=self.environment(**environment))
        if status is not None:
            self.assertEqual(ran.returncode, status, ran.stdout + ran.stderr)
        return ran

    # The person

    def sign_in_url(self, bridge: Bridge) -> Optional[str]:
        """The next address on the bridge's stderr that a person is to open."""
        text = bridge.errors
        for found in URL.finditer(text, self._seen.get(bridge.pid, 0)):
            ended = found.end() < len(text)
            if "authorize" in found.group() and ended:
                self._seen[bridge.pid] = found.end()
                return found.group()
        return None

    def next_sign_in_url(self, bridge: Bridge) -> str:
        found: str = self.until(lambda: self.sign_in_url(bridge), f"a sign-in address on stderr:\n{bridge.errors}")
        return found

    def signing_in(self, bridge: Bridge, method: str, params: Optional[Dict[str, Any]] = None,
                   most: int = MOST_SIGN_INS) -> Dict[str, Any]:
        """A call by a client whose person signs in wherever the bridge asks for it, and who then tries again.

        Raises:
            RPCError: The call fails without asking for a sign-in, or asks more than `most` times.
        """
        signed_in = 0
        while True:
            identity = bridge.send(method, params)
            deadline = time.monotonic() + PATIENCE_SECONDS
            url = None
            while url is None and not bridge.answered(identity) and time.monotonic() < deadline:
                url = self.sign_in_url(bridge)
                time.sleep(0.002)
            if url is not None and signed_in < most:
                signed_in += 1
                self.assertEqual(browse(url)[0], 200)
            try:
                return bridge.result(identity)
            except RPCError:
                if url is None:
                    # stderr is read by another thread than stdout.
                    deadline = time.monotonic() + 1
                    while (url := self.sign_in_url(bridge)) is None and time.monotonic() < deadline:
                        time.sleep(0.01)
                    if url is not None and signed_in < most:
                        signed_in += 1
                        self.assertEqual(browse(url)[0], 200)
                if url is None or signed_in >= most:
                    raise

    def signed_in(self, server: Any, *options: str, version: str = MODERN, **environment: str) -> Bridge:
        """A bridge whose person has signed in."""
        bridge = self.bridge(server, *options, version=version, **environment)
        if version != MODERN:
            self.signing_in(bridge, "initialize", {
                "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}})
            bridge.notify("notifications/initialized")
        self.signing_in(bridge, "tools/list")
        return bridge

    def refuses(self, call: Callable[[], Any]) -> RPCError:
        """Asserts that the client gets a JSON-RPC error."""
        with self.assertRaises(RPCError) as caught:
            call()
        self.assertTrue(caught.exception.message)
        return caught.exception


__all__ = [
    "Bridge", "Call", "Ended", "Event", "LANYARD", "LEGACY", "MCPFixture", "MODERN", "PATIENCE_SECONDS", "RESET", "ROOT",
    "RPCError", "RPCFailure", "Request", "Response", "Stream", "browse", "left", "location", "tool",
]
