"""`lanyard mcp` between programs that others wrote: the servers of the PyPI packages `mcp` and `fastmcp` behind their own
authorization routes, and the stdio client of `mcp`."""

from __future__ import annotations

import functools
import json
import os
import socket
import subprocess
import time
import unittest
import urllib.request
from typing import Dict

from mcp_fixture import HERE, LANYARD, LEGACY, MODERN, ROOT, Bridge
from test_authorization import AuthorizationFixture
from forms import in_quick_form

VENV = os.path.join(ROOT, ".build", "mcp")
START_SECONDS = 30.0


@functools.lru_cache(maxsize=None)
def python() -> str:
    """The Python that has the packages, which are installed once (see `install`)."""
    done = subprocess.run([os.path.join(HERE, "install")])
    if done.returncode != 0:
        if os.environ.get("LANYARD_REQUIRE_REAL") == "1":
            raise RuntimeError(f"the MCP packages can't be installed ({done.returncode})")
        raise unittest.SkipTest("NOT TESTED: the MCP packages can't be installed here")
    return os.path.join(VENV, "bin", "python")


class RealServer:
    def __init__(self, kind: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.origin = f"http://127.0.0.1:{port}"
        self.url = f"{self.origin}/mcp"
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self.process = subprocess.Popen(
            [python(), os.path.join(HERE, "real_server.py"), kind, str(port)], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self.counts()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    assert self.process.stderr is not None
                    self.process.kill()
                    raise RuntimeError(self.process.stderr.read().decode()) from None
                time.sleep(0.05)

    def counts(self) -> Dict[str, int]:
        with self._opener.open(f"{self.origin}/test/counts", timeout=5) as answer:
            found: Dict[str, int] = json.load(answer)
            return found

    def expire(self) -> None:
        """Ends every access token."""
        self._opener.open(urllib.request.Request(f"{self.origin}/test/expire", method="POST"), timeout=5).close()

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()


@in_quick_form()
class RealFixture(AuthorizationFixture):
    """The servers start once, side by side."""

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.servers = {kind: RealServer(kind) for kind in ("mcp", "fastmcp")}
        for server in cls.servers.values():
            cls.addClassCleanup(server.stop)
        for server in cls.servers.values():
            server.wait()

    def whole(self, kind: str) -> Bridge:
        """Signs in at the server by the bridge; the real client calls in each mode, and again when its token has ended."""
        server = self.servers[kind]
        bridge = self.signed_in(server.url)
        ran = subprocess.run(
            [python(), os.path.join(HERE, "real_client.py"), server.origin, LANYARD, "mcp", server.url],
            capture_output=True, timeout=60, env=self.environment())
        self.assertEqual(ran.returncode, 0, ran.stderr.decode())
        found = [json.loads(line) for line in ran.stdout.splitlines()]
        self.assertEqual([seen["version"] for seen in found], [LEGACY, MODERN, MODERN, MODERN])
        for seen in found:
            with self.subTest(seen["mode"]):
                self.assertEqual(seen["tools"], ["add", "person"])
                self.assertEqual(seen["added"], "8")
                self.assertEqual(seen["many"], list(range(1, 21)))
        self.assertEqual(bridge.tool("add", a=1, b=2), "3")
        self.assertEqual(server.counts()["clients"], 1)
        return bridge


class RealServerTests(RealFixture):
    def test_serverOfThePackageMCP_withItsClient_andASignOut(self) -> None:
        bridge = self.whole("mcp")
        self.assertEqual(bridge.tool("person"), "alice")
        counts = self.servers["mcp"].counts()
        self.assertEqual(counts, {"registrations": 1, "codes": 1, "refreshes": 1, "clients": 1})
        (account,) = self.client(self.agent).call("account.list")["accounts"]
        told = self.client(self.agent).call("account.signOut", {"account": account["id"], "mode": "soft"})
        self.assertEqual(told["revocation"], "confirmed")
        self.refuses(lambda: bridge.tool("person"))

    def test_serverOfFastMCP_withTheClientOfThePackageMCP(self) -> None:
        self.whole("fastmcp")


if __name__ == "__main__":
    unittest.main()
