#!/usr/bin/env python3
"""Measures `lanyard mcp` beside bridges that others wrote: mcp.py --bin DIRECTORY [--quick] [--json FILE]

One server, `mcp_server.c`, which answers at once, so that what is measured is the way there. The same Python loop makes the
same calls of one tool: directly over a kept connection, and through each bridge over its pipes. Rounds are interleaved, and a
ratio is the median of the ratios of the rounds. `lanyard mcp` runs twice: before the open server as the others do, and before
one that wants a token, with a real agent and a person who signed in.

Memory is that of all processes of a bridge after its calls. The start goes from before `fork` to the answer of `initialize`.
The rivals are those of Tests/Programs/MCP/requirements-rivals.txt; one that is not installed is left out.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path[:0] = [os.path.join(ROOT, "Clients", "python", "src"), os.path.join(ROOT, "Tests", "Programs", "MCP")]

from authorization_server import AuthorizationServer  # noqa: E402
from bridge import Bridge, browse  # noqa: E402
from harness import Agent  # noqa: E402
from mcp_server import MODERN, PROTOCOL_VERSION  # noqa: E402

RIVALS = os.path.join(ROOT, ".build", "mcp-rivals", "bin")
MOST_RATIO = 1.3
MOST_MB = 20.0

INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
META = {PROTOCOL_VERSION: MODERN, "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}}


def tool_call(identity: int, modern: bool) -> bytes:
    params: Dict[str, Any] = {"name": "add", "arguments": {"a": 5, "b": 3}}
    if modern:
        params["_meta"] = META
    return json.dumps({"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": params}).encode()


class Subject:
    """Something that answers a tool call."""

    name = ""
    modern = True

    def __init__(self) -> None:
        self.rounds: List[List[float]] = []
        """Nanoseconds of each call."""
        self.start_seconds: List[float] = []
        self.rss_mb: Optional[float] = None
        self.pss_mb: Optional[float] = None
        self.failed: Optional[str] = None

    def one(self, identity: int) -> None:
        raise NotImplementedError

    def round(self, calls: int, first: int) -> None:
        clock = time.perf_counter_ns
        found = []
        for identity in range(first, first + calls):
            began = clock()
            self.one(identity)
            found.append(clock() - began)
        self.rounds.append(found)

    @property
    def p50_us(self) -> float:
        return statistics.median(each for found in self.rounds for each in found) / 1000

    @property
    def p99_us(self) -> float:
        everything = sorted(each for found in self.rounds for each in found)
        return everything[int(len(everything) * 0.99)] / 1000

    def ratio(self, reference: "Subject") -> float:
        return statistics.median(
            statistics.median(mine) / statistics.median(other) for mine, other in zip(self.rounds, reference.rounds))

    def stop(self) -> None:
        pass


class Direct(Subject):
    """Python's own HTTP client over a kept connection."""

    name = "direct, http.client"

    def __init__(self, port: int) -> None:
        super().__init__()
        self._connection = http.client.HTTPConnection("127.0.0.1", port)
        self._connection.connect()
        self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._headers = {
            "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "add"}

    def one(self, identity: int) -> None:
        self._connection.request("POST", "/mcp", tool_call(identity, True), self._headers)
        answer = json.loads(self._connection.getresponse().read())
        assert answer["id"] == identity, answer


class Bare(Subject):
    """The least that Python can do: one prepared write on a socket, one read."""

    name = "direct, bare socket"

    def __init__(self, port: int) -> None:
        super().__init__()
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def one(self, identity: int) -> None:
        body = tool_call(identity, True)
        self._socket.sendall(
            b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"
            b"Mcp-Name: add\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        answer = b""
        while b"}" not in answer[-1:]:
            answer += self._socket.recv(65536)
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["id"] == identity


class Piped(Subject):
    """A bridge: lines on its stdin and stdout."""

    def __init__(self, name: str, command: Sequence[str], environment: Dict[str, str], modern: bool, log: str) -> None:
        super().__init__()
        self.name, self.modern = name, modern
        self._command, self._environment, self._log = list(command), environment, log
        self._process = self._started()

    def _started(self) -> "subprocess.Popen[bytes]":
        """Starts it, and notes how long its first answer takes."""
        began = time.monotonic()
        with open(self._log, "ab") as log:
            process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                                       env=self._environment, bufsize=0)
        assert process.stdin is not None and process.stdout is not None
        reader = os.fdopen(os.dup(process.stdout.fileno()), "rb")
        process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        line = reader.readline()
        self.start_seconds.append(time.monotonic() - began)
        if b'"result"' not in line:
            with open(self._log, encoding="utf-8", errors="replace") as told:
                raise RuntimeError(f"{self.name} answers {line!r}; its stderr ends:\n{told.read()[-2000:]}")
        process.stdin.write(json.dumps(INITIALIZED).encode() + b"\n")
        self._reader = reader
        return process

    def restart(self) -> None:
        self.stop()
        self._process = self._started()

    def one(self, identity: int) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(tool_call(identity, self.modern) + b"\n")
        answer = json.loads(self._reader.readline())
        assert answer["id"] == identity and "result" in answer, answer

    def measure_memory(self) -> None:
        """The sum over the process and its children."""
        rss = pss = 0
        for pid in family(self._process.pid):
            with open(f"/proc/{pid}/smaps_rollup") as file:
                fields = {line.split(":")[0]: int(line.split()[1]) for line in file if line.endswith("kB\n")}
            rss += fields["Rss"]
            pss += fields["Pss"]
        self.rss_mb, self.pss_mb = rss / 1024, pss / 1024

    def stop(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.close()
        self._process.stdout.close()


def family(pid: int) -> List[int]:
    found = [pid]
    for parent in found:
        for task in os.listdir(f"/proc/{parent}/task"):
            with open(f"/proc/{parent}/task/{task}/children") as file:
                found += [int(child) for child in file.read().split()]
    return found


@contextlib.contextmanager
def served(program: str, *words: str) -> Iterator[int]:
    """`mcp_server`, and its port."""
    process = subprocess.Popen([program, *words], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def sign_in(lanyard: str, url: str, environment: Dict[str, str]) -> None:
    """Signs a person in by the bridge itself, as they would."""
    bridge = Bridge(lanyard, url, [], environment)
    try:
        identity = bridge.send("tools/list")
        address = bridge.wait_for_error(r"https?://\S*authorize\S*(?=\s)")
        assert browse(address.group())[0] == 200
        bridge.answer(identity)
        bridge.call("tools/list")
        bridge.close()
    finally:
        bridge.clean_up()


def measure(subjects: List[Subject], rounds: int, calls: int) -> None:
    for subject in subjects:
        subject.round(calls // 4, 1)
        subject.rounds.clear()
    first = 100_000
    for _ in range(rounds):
        for subject in subjects:
            subject.round(calls, first)
        first += calls
    for subject in subjects:
        if isinstance(subject, Piped):
            subject.measure_memory()


def restarts(subjects: List[Subject], times: int) -> None:
    for _ in range(times):
        for subject in subjects:
            if isinstance(subject, Piped):
                subject.restart()


def table(subjects: List[Subject], direct: Subject) -> str:
    lines = ["| | p50 µs | p99 µs | ratio to direct | memory, RSS MB | PSS MB | start ms |", "|---|---|---|---|---|---|---|"]
    for subject in subjects:
        memory = "" if subject.rss_mb is None else f"{subject.rss_mb:.1f}"
        shared = "" if subject.pss_mb is None else f"{subject.pss_mb:.1f}"
        start = f"{statistics.median(subject.start_seconds) * 1000:.0f}" if subject.start_seconds else ""
        lines.append(f"| {subject.name} | {subject.p50_us:.0f} | {subject.p99_us:.0f} | {subject.ratio(direct):.2f} "
                     f"| {memory} | {shared} | {start} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=os.path.join(ROOT, ".build", "release"), help="where the programs are")
    parser.add_argument("--quick", action="store_true", help="few rounds")
    parser.add_argument("--json", help="where to write the figures")
    options = parser.parse_args()
    rounds, calls, starts = (4, 200, 3) if options.quick else (15, 400, 9)
    lanyard = os.path.join(os.path.abspath(options.bin), "lanyard")
    with contextlib.ExitStack() as ends:
        place = ends.enter_context(tempfile.TemporaryDirectory(prefix="lanyard-bench-"))
        program, log = os.path.join(place, "mcp_server"), os.path.join(place, "log")
        subprocess.run(["cc", "-O2", "-pthread", "-o", program, os.path.join(ROOT, "Tests/Bench/mcp_server.c")], check=True)
        authorization = AuthorizationServer()
        ends.callback(authorization.close)
        metadata = os.path.join(place, "metadata")
        with open(metadata, "w", encoding="utf-8") as file:
            file.write('{"resource":"%s/mcp","authorization_servers":["' + authorization.issuer + '"]}')
        port = ends.enter_context(served(program))
        protected = ends.enter_context(served(program, metadata))
        agent = ends.enter_context(Agent(os.path.join(os.path.abspath(options.bin), "lanyard-agent")))
        own = {name: value for name, value in agent.environment.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
        url, protected_url = f"http://127.0.0.1:{port}/mcp", f"http://127.0.0.1:{protected}/mcp"
        direct = Direct(port)
        subjects: List[Subject] = [Bare(port), direct]
        makers: List[Callable[[], Subject]] = [
            lambda: Piped("lanyard mcp, open server", [lanyard, "mcp", url], own, True, log)]

        def signed_in() -> Subject:
            sign_in(lanyard, protected_url, own)
            return Piped("lanyard mcp, with a token", [lanyard, "mcp", protected_url], own, True, log)

        makers.append(signed_in)
        rivals = {"mcp-stdio": [url], "mcp-proxy": ["--transport", "streamablehttp", url]}
        for name, words in rivals.items():
            path = os.path.join(RIVALS, name)
            if os.path.exists(path):
                makers.append(lambda name=name, path=path, words=words: Piped(name, [path, *words], own, False, log))
            else:
                print(f"{name} is not installed (Tests/Programs/MCP/install rivals)", file=sys.stderr)
        for maker in makers:
            try:
                subjects.append(maker())
                ends.callback(subjects[-1].stop)
            except Exception as error:
                print(f"left out: {error}", file=sys.stderr)
        measure(subjects, rounds, calls)
        restarts(subjects, starts)
        print(f"\n{rounds} rounds of {calls} calls, one after the other, beside {os.cpu_count()} processors\n")
        print(table(subjects, direct))
        for subject in subjects:
            if subject.name.startswith("lanyard"):
                ratio, memory = subject.ratio(direct), subject.rss_mb or 0
                print(f"\n{subject.name}: {ratio:.2f} of direct (goal: under {MOST_RATIO}) "
                      f"{'met' if ratio < MOST_RATIO else 'NOT MET'}; "
                      f"{memory:.1f} MB (goal: under {MOST_MB:.0f}) {'met' if memory < MOST_MB else 'NOT MET'}")
        if options.json:
            with open(options.json, "w", encoding="utf-8") as file:
                json.dump([{"name": subject.name, "p50_us": subject.p50_us, "p99_us": subject.p99_us,
                            "ratio": subject.ratio(direct), "rss_mb": subject.rss_mb, "pss_mb": subject.pss_mb,
                            "start_seconds": subject.start_seconds} for subject in subjects], file, indent=1)


if __name__ == "__main__":
    main()
