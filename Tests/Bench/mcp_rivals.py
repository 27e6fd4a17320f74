#!/usr/bin/env python3
"""Asks other bridges what the tests of Tests/Programs/MCP ask `lanyard mcp`: mcp_rivals.py [--bin DIRECTORY]

Prints a table of what was observed, with the scripted servers of those tests. `mcp-stdio` signs in by itself; `mcp-proxy` has no
sign-in by discovery and gets its token in the environment. The rivals are those of requirements-rivals.txt there.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import stat
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, Dict, Iterator, List, Optional

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path[:0] = [os.path.join(ROOT, "Clients", "python", "src"), os.path.join(ROOT, "Tests", "Programs", "MCP")]

from authorization_server import AuthorizationServer  # noqa: E402
from bridge import Bridge, Ended, RPCError, browse  # noqa: E402
from harness import Agent  # noqa: E402
from listener import RESET, Event, Response  # noqa: E402
from mcp_server import LEGACY, MCPServer  # noqa: E402

RIVALS = os.path.join(ROOT, ".build", "mcp-rivals", "bin")
TIRED_SECONDS = 20.0
"""How long a client waits for an answer here."""
CLIENTS = 20

BROWSER = """#!{python}
import sys, urllib.request
urllib.request.build_opener(urllib.request.ProxyHandler({{}})).open(sys.argv[1], timeout=20).read()
"""


class Candidate:
    """A bridge, in a home of its own."""

    name = ""
    signs_in = True

    def __init__(self) -> None:
        self.ends = contextlib.ExitStack()
        self.home = self.ends.enter_context(tempfile.TemporaryDirectory(prefix="lanyard-rival-"))
        self.person_signs_in = True

    def command(self, url: str) -> List[str]:
        raise NotImplementedError

    def environment(self) -> Dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
        return {**kept, "HOME": self.home, "XDG_CONFIG_HOME": f"{self.home}/.config", "XDG_CACHE_HOME": f"{self.home}/.cache",
                "XDG_DATA_HOME": f"{self.home}/.local/share", "XDG_STATE_HOME": f"{self.home}/.local/state"}

    def start(self, url: str) -> Bridge:
        bridge = Bridge("", url, [], self.environment(), LEGACY, command=self.command(url))
        self.ends.callback(bridge.clean_up)
        return bridge

    def signed_in(self, authorization: AuthorizationServer, server: MCPServer) -> Bridge:
        """A bridge whose handshake is done, by whatever sign-in it takes."""
        bridge = self.start(server.url)
        bridge.call("initialize", INITIALIZE, TIRED_SECONDS)
        bridge.notify("notifications/initialized")
        return bridge

    def close(self) -> None:
        self.ends.close()


INITIALIZE = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class Lanyard(Candidate):
    name = "lanyard mcp"

    def __init__(self, programs: str) -> None:
        super().__init__()
        self.program = os.path.join(programs, "lanyard")
        self.agent = self.ends.enter_context(Agent(os.path.join(programs, "lanyard-agent")))
        self.home = self.agent.directory

    def environment(self) -> Dict[str, str]:
        return {name: value for name, value in self.agent.environment.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}

    def command(self, url: str) -> List[str]:
        return [self.program, "mcp", url]

    def signed_in(self, authorization: AuthorizationServer, server: MCPServer) -> Bridge:
        bridge = self.start(server.url)
        identity = bridge.send("initialize", INITIALIZE)
        bridge.answer(identity, TIRED_SECONDS)
        browse(bridge.wait_for_error(r"https?://\S*authorize\S*(?=\s)").group())
        bridge.call("initialize", INITIALIZE, TIRED_SECONDS)
        bridge.notify("notifications/initialized")
        return bridge


class Stdio(Candidate):
    name = "mcp-stdio"

    def __init__(self) -> None:
        super().__init__()
        self.browser = os.path.join(self.home, "browser")
        with open(self.browser, "w", encoding="utf-8") as file:
            file.write(BROWSER.format(python=sys.executable))
        os.chmod(self.browser, 0o755)

    def environment(self) -> Dict[str, str]:
        return {**super().environment(), "BROWSER": f"{self.browser} %s &" if self.person_signs_in else "/bin/true"}

    def command(self, url: str) -> List[str]:
        return [os.path.join(RIVALS, "mcp-stdio"), "--oauth", url]


class Proxy(Candidate):
    name = "mcp-proxy"
    signs_in = False

    def __init__(self) -> None:
        super().__init__()
        self.token = ""

    def environment(self) -> Dict[str, str]:
        return {**super().environment(), **({"API_ACCESS_TOKEN": self.token} if self.token else {})}

    def command(self, url: str) -> List[str]:
        return [os.path.join(RIVALS, "mcp-proxy"), "--transport", "streamablehttp", url]

    def signed_in(self, authorization: AuthorizationServer, server: MCPServer) -> Bridge:
        authorization.register("by-hand")
        refresh = authorization.sign_in("alice", "by-hand", server.url)
        import json
        import urllib.parse
        import urllib.request

        form = urllib.parse.urlencode({"grant_type": "refresh_token", "refresh_token": refresh, "client_id": "by-hand",
                                       "resource": server.url}).encode()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{authorization.origin}/token", form) as answer:
            self.token = json.load(answer)["access_token"]
        return super().signed_in(authorization, server)


# The questions. Each returns what a table says; an exception is told as it is.


@contextlib.contextmanager
def scene(**settings: Any) -> "Iterator[tuple[AuthorizationServer, MCPServer]]":
    authorization = AuthorizationServer()
    server = MCPServer(authorization)
    try:
        for name, value in settings.items():
            setattr(authorization if hasattr(authorization, name) else server, name, value)
        yield authorization, server
    finally:
        server.close()
        authorization.close()


def attempt(bridge: Bridge, method: str, params: Any, seconds: float = TIRED_SECONDS) -> str:
    try:
        bridge.call(method, params, seconds)
        return "a result"
    except RPCError:
        return "an error"
    except Ended:
        return "the program ended"
    except AssertionError:
        return f"no answer in {seconds:.0f} s"


def tokens_on_disk(candidate: Candidate) -> str:
    with scene() as (authorization, server):
        candidate.signed_in(authorization, server)
        found = []
        for folder, _, names in os.walk(candidate.home):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.isfile(path):
                    with open(path, "rb") as file:
                        text = file.read()
                    if any(secret.encode() in text for secret in authorization.secrets()):
                        mode = stat.S_IMODE(os.stat(path).st_mode)
                        found.append(f"in clear in ~/{os.path.relpath(path, candidate.home)} ({mode:o})")
        return "; ".join(found) or "none in clear"


def token_in_process(candidate: Candidate) -> str:
    with scene() as (authorization, server):
        bridge = candidate.signed_in(authorization, server)
        found = []
        for name in ("environ", "cmdline"):
            with open(f"/proc/{bridge.pid}/{name}", "rb") as file:
                text = file.read()
            if any(secret.encode() in text for secret in authorization.secrets()):
                found.append(f"in /proc/PID/{name}")
        return "; ".join(found) or "none"


def twenty_at_expiry(candidate: Candidate) -> str:
    with scene() as (authorization, server):
        bridges = [candidate.signed_in(authorization, server)]
        for _ in range(CLIENTS - 1):
            bridge = candidate.start(server.url)
            bridge.send("initialize", INITIALIZE, identity="start")
            bridges.append(bridge)
        for bridge in bridges[1:]:
            bridge.result("start", 60)
            bridge.notify("notifications/initialized")
        before = authorization.exchanges
        pages = len(authorization.authorizations())
        authorization.expire_access_tokens()
        waiting = [(bridge, bridge.send("tools/call", {"name": "who", "arguments": {}})) for bridge in bridges]
        worked = 0
        for bridge, identity in waiting:
            try:
                worked += "result" in bridge.answer(identity, 60)
            except (Ended, AssertionError):
                pass
        ended = sum(1 for grant in authorization.grants if grant.ended)
        told = f"{authorization.exchanges - before} exchanges, {worked} of {CLIENTS} calls worked"
        again = len(authorization.authorizations()) - pages
        return told + (f", {again} more sign-ins" if again else "") + (f", {ended} grants ended by reuse" if ended else "")


def broken_stream(candidate: Candidate) -> str:
    with scene() as (authorization, server):
        server.calls["broken"] = lambda call: iter([Event({
            "jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}), RESET])
        bridge = candidate.signed_in(authorization, server)
        answer = attempt(bridge, "tools/call", {"name": "broken", "arguments": {}})
        sent = len([1 for request in server.messages("tools/call")])
        return f"{answer}, sent {sent} time{'s' if sent > 1 else ''}"


def reset_before_answer(candidate: Candidate) -> str:
    with scene() as (authorization, server):
        bridge = candidate.signed_in(authorization, server)
        attempt(bridge, "tools/call", {"name": "who", "arguments": {}})
        before = len(server.messages("tools/call"))
        server.fault("/mcp", RESET, method="POST")
        answer = attempt(bridge, "tools/call", {"name": "who", "arguments": {}})
        sent = len(server.messages("tools/call")) - before
        return f"{answer}, sent {sent} time{'s' if sent != 1 else ''}"


def nobody_signs_in(candidate: Candidate) -> str:
    with scene() as (authorization, server):
        candidate.person_signs_in = False
        bridge = candidate.start(server.url)
        began = time.monotonic()
        told = attempt(bridge, "initialize", INITIALIZE)
        return f"{told} after {time.monotonic() - began:.1f} s" if "no answer" not in told else told


def refuses(reached: Callable[[AuthorizationServer], int], **settings: Any) -> Callable[[Candidate], str]:
    def ask(candidate: Candidate) -> str:
        given = dict(settings)
        with scene() as (authorization, server):
            for name, value in given.items():
                value = value(authorization) if name == "claimed_issuer" else value
                setattr(server if name == "claimed_resource" else authorization, name, value)
            bridge = candidate.start(server.url)
            bridge.send("initialize", INITIALIZE, identity="start")
            if isinstance(candidate, Lanyard):
                with contextlib.suppress(AssertionError):
                    browse(bridge.wait_for_error(r"https?://\S*authorize\S*(?=\s)", 4).group())
            with contextlib.suppress(Ended, AssertionError):
                bridge.answer("start", 8)
            return "goes on" if reached(authorization) else "refused"

    return ask


def redirect(candidate: Candidate) -> str:
    with scene() as (authorization, server):
        elsewhere = MCPServer()
        try:
            bridge = candidate.signed_in(authorization, server)
            server.fault("/mcp", Response(307, b"", (("Location", elsewhere.url.replace("127.0.0.1", "localhost")),)),
                         method="POST")
            attempt(bridge, "tools/call", {"name": "who", "arguments": {}}, 8)
            got = elsewhere.requests("/mcp", "POST")
            if any(request.token for request in got):
                return "followed, with the token"
            return "followed, the call without its token" if got else "not followed"
        finally:
            elsewhere.close()


def echo(candidate: Candidate) -> str:
    with scene() as (authorization, server):
        server.calls["echo"] = lambda call: call.text(call.request.header("Authorization") or "")
        bridge = candidate.signed_in(authorization, server)
        attempt(bridge, "tools/call", {"name": "echo", "arguments": {}})
        out = b"".join(bridge.lines)
        return "the client gets it" if any(secret.encode() in out for secret in authorization.secrets()) else "withheld"


QUESTIONS: Dict[str, "tuple[bool, Callable[[Candidate], str]]"] = {
    "tokens on disk after a sign-in": (True, tokens_on_disk),
    "a token in the process's environment or arguments": (False, token_in_process),
    "20 clients at once whose token was refused": (True, twenty_at_expiry),
    "a stream that is reset amid a call": (False, broken_stream),
    "a connection that is reset before the answer": (False, reset_before_answer),
    "nobody signs in": (True, nobody_signs_in),
    "`iss` of another issuer in the redirect": (True, refuses(
        lambda server: server.exchanges, advertises_iss=True, sends_iss=lambda: "https://evil.example")),
    "metadata of another issuer": (True, refuses(
        lambda server: len(server.authorizations()), claimed_issuer=lambda server: "https://attacker.example")),
    "a server that offers no PKCE": (True, refuses(lambda server: len(server.authorizations()), pkce=None)),
    "metadata of another resource": (True, refuses(
        lambda server: len(server.authorizations()), claimed_resource="https://evil.example/mcp")),
    "a redirect of a call to another host": (False, redirect),
    "a server that tells the token back": (False, echo),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=os.path.join(ROOT, ".build", "release"), help="where the programs are")
    parser.add_argument("--only", help="candidates whose name has this in it")
    options = parser.parse_args()
    makers: Dict[str, Callable[[], Candidate]] = {
        "lanyard mcp": lambda: Lanyard(os.path.abspath(options.bin)), "mcp-stdio": Stdio, "mcp-proxy": Proxy}
    makers = {name: maker for name, maker in makers.items() if options.only is None or options.only in name}
    versions = subprocess.run([os.path.join(RIVALS, "pip"), "freeze"], capture_output=True, text=True).stdout
    print(" ".join(line for line in versions.split() if line.startswith(("mcp-stdio", "mcp-proxy"))))
    print("| |" + "|".join(makers) + "|\n" + "|---" * (len(makers) + 1) + "|")
    for question, (needs_sign_in, ask) in QUESTIONS.items():
        cells = []
        for make in makers.values():
            candidate: Optional[Candidate] = None
            try:
                candidate = make()
                cells.append("has no sign-in" if needs_sign_in and not candidate.signs_in else ask(candidate))
            except Exception as error:
                cells.append(f"({type(error).__name__}: {str(error).splitlines()[0][:80] if str(error) else ''})")
            finally:
                if candidate is not None:
                    candidate.close()
        print(f"| {question} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
