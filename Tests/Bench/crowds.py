"""Many other clients: what they add to another client's latency, and to the agent's memory."""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import subprocess
import time
from typing import Any, Dict, Iterator, List

from harness import Agent, Practice, add_provider, sign_in
from many import PAGES_GIVEN_BACK_SECONDS
from measure import resident_kb
from report import Goal, Row
from servers import compile_program

FLOODING, LINE_BYTES = 58, 1 << 20

FLOOD_BEGINS_SECONDS, ASKED_BESIDE_FLOOD = 0.3, 300

IDLE, IDLE_OF_A_PROCESS = 1_000, 250
"""One process may hold 256 connections (docs/protocol.md, Limits)."""

SUBSCRIBERS, SUBSCRIPTIONS_OF_A_CONNECTION = 58, 16

EVENTS = 600
"""More than a subscriber's inbox of 1 MiB holds, each told to all subscriptions of the connection."""

SETTLED_SECONDS = 5.0

WAITING, WAITS_OF_A_CONNECTION, SIGN_INS = 56, 128, 16

TOKEN = '{"jsonrpc":"2.0","id":%ID%,"method":"token.get","params":{"account":"work"}}\n'


def crowds(bench: Any, agent_program: str, demo: str) -> None:
    program = compile_program("crowd", bench.directory)
    request = os.path.join(bench.directory, "request-beside-crowd")
    with open(request, "w") as file:
        file.write(TOKEN)
    with Practice(demo) as practice:
        # Each with an agent of its own: memory that one crowd left must not count for the next.
        with signed_in(agent_program, practice) as agent:
            beside_idle(bench, program, agent, request)
        with signed_in(agent_program, practice) as agent:
            beside_flood(bench, program, agent)
        with signed_in(agent_program, practice) as agent:
            unread_subscriptions(bench, program, agent)
        with signed_in(agent_program, practice) as agent:
            waits_for_sign_ins(bench, program, agent)


@contextlib.contextmanager
def signed_in(agent_program: str, practice: Practice) -> Iterator[Agent]:
    with Agent(agent_program) as agent:
        with agent.client() as client:
            sign_in(client, add_provider(client, practice.issuer), "alice", "work")
        yield agent


@contextlib.contextmanager
def crowd(program: str, agent: Agent, connections: int, *words: str) -> Iterator[None]:
    command = [program, "--socket", agent.socket, "--connections", str(connections), *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            if process.stdout.readline() != b"ready\n":
                raise RuntimeError(f"{' '.join(command)} did not get its connections")
            yield
            if process.poll() is not None:
                raise RuntimeError(f"{' '.join(command)} ended too early")
        finally:
            process.stdin.close()


def beside_idle(bench: Any, program: str, agent: Agent, request: str) -> None:
    alone: List[float] = []
    beside: List[float] = []
    for _ in range(bench.rounds):
        alone.append(p50(bench, agent, request))
        with contextlib.ExitStack() as stack:
            for _ in range(IDLE // IDLE_OF_A_PROCESS):
                stack.enter_context(crowd(program, agent, IDLE_OF_A_PROCESS))
            beside.append(p50(bench, agent, request))
            with agent.client() as client:
                held = client.call("agent.status", {})["connections"]
            if held < IDLE:
                raise RuntimeError(f"the agent held {held} connections of {IDLE}")
        # The agent sees them go before the next round begins.
        time.sleep(0.05)
    scenario = f"beside {IDLE:,} idle connections"
    bench.rows.append(Row(scenario, "lanyard token.get, alone", "µs p50", alone))
    bench.rows.append(Row(scenario, "lanyard token.get", "µs p50", beside, alone, Goal(most=1.2)))


def beside_flood(bench: Any, program: str, agent: Agent) -> None:
    """Nothing is bound to a CPU: the flooding clients, the agent and the measured client share all of them, as they
    would. The measured client asks at random moments: one that asks without pause has most of its answers in the short
    times when the agent has nothing else to do."""
    lines = os.path.join(bench.directory, "long-line")
    with open(lines, "wb") as file:
        file.write(long_line())
    p50s: List[float] = []
    p99s: List[float] = []
    for _ in range(bench.rounds):
        with crowd(program, agent, FLOODING, "--send", lines, "--forever"):
            time.sleep(FLOOD_BEGINS_SECONDS)
            times = asked_at_random(agent, ASKED_BESIDE_FLOOD)
        p50s.append(times[len(times) // 2])
        p99s.append(times[len(times) * 99 // 100])
    scenario = f"beside {FLOODING} clients that send 1 MiB lines"
    bench.rows.append(Row(scenario, "lanyard token.get", "ms p50", p50s, None, Goal(most=3)))
    bench.rows.append(Row(scenario, "lanyard token.get", "ms p99", p99s))


def asked_at_random(agent: Agent, count: int) -> List[float]:
    """Milliseconds for each answer, the shortest first, with pauses of about 2 ms."""
    pauses = random.Random(1)
    times: List[float] = []
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(agent.socket)
        for _ in range(count):
            time.sleep(pauses.uniform(0.001, 0.003))
            begun = time.perf_counter()
            client.sendall(TOKEN.replace("%ID%", "1").encode())
            answer = client.recv(65536)
            times.append((time.perf_counter() - begun) * 1000)
            if b'"result"' not in answer:
                raise RuntimeError(f"no token: {answer!r}")
    return sorted(times)


def long_line() -> bytes:
    """A line of the longest allowed length, whose method may have it, for an account that does not exist."""
    params = {"account": "no-such-account", "method": "POST", "url": "https://resource.example/", "body": ""}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "request.send", "params": params})
    begun, body, ended = line.partition('"body": "')
    return (begun + body + "x" * (LINE_BYTES - len(line) - 2) + ended + "\n").encode()


def unread_subscriptions(bench: Any, program: str, agent: Agent) -> None:
    """Clients that subscribe and never read, while more happens than the agent keeps for them."""
    lines = os.path.join(bench.directory, "subscriptions")
    with open(lines, "w") as file:
        file.writelines(line(number, "event.subscribe") for number in range(SUBSCRIPTIONS_OF_A_CONNECTION))
    with crowd(program, agent, SUBSCRIBERS, "--send", lines, "--unread"):
        with agent.client() as client:
            client.call("account.rename", {"account": "work", "alias": "other"})
            for number in range(EVENTS):
                names = ("work", "other")
                client.call("account.rename", {"account": names[(number + 1) % 2], "alias": names[number % 2]})
        told = settled_mb(agent)
    count = SUBSCRIBERS * SUBSCRIPTIONS_OF_A_CONNECTION
    bench.rows.append(Row(f"{count} unread subscriptions", "lanyard-agent", "MB", [told], None, Goal(most=64)))


def waits_for_sign_ins(bench: Any, program: str, agent: Agent) -> None:
    """Clients that each ask as often as one may, and wait."""
    with agent.client() as client:
        params: Dict[str, Any] = {"provider": "practice", "flow": "browser", "openBrowser": False}
        begun = [client.call("signIn.begin", params)["signIn"] for _ in range(SIGN_INS)]
        lines = os.path.join(bench.directory, "waits")
        with open(lines, "w") as file:
            for number in range(WAITS_OF_A_CONNECTION):
                file.write(line(number, "signIn.wait", signIn=begun[number % len(begun)], timeoutSeconds=600))
        before = resident_kb(agent.pid) / 1024
        with crowd(program, agent, WAITING, "--send", lines, "--unread"):
            told = settled_mb(agent)
        for sign_in_id in begun:
            client.call("signIn.cancel", {"signIn": sign_in_id})
    row = Row(f"{WAITING * WAITS_OF_A_CONNECTION:,} signIn.wait", "lanyard-agent", "MB", [told], None, Goal(most=64))
    row.notes = {"before_mb": before}
    bench.rows.append(row)


def settled_mb(agent: Agent) -> float:
    """Resident memory when it has stopped growing, and what the work needed for a moment is given back."""
    deadline = time.monotonic() + SETTLED_SECONDS
    told = resident_kb(agent.pid) / 1024
    while time.monotonic() < deadline:
        time.sleep(0.5)
        before, told = told, resident_kb(agent.pid) / 1024
        if told - before < 1:
            break
    time.sleep(PAGES_GIVEN_BACK_SECONDS + 1)
    return resident_kb(agent.pid) / 1024


def line(number: int, method: str, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"


def p50(bench: Any, agent: Agent, request: str) -> float:
    run = bench.load.run(agent.socket, request, pid=agent.pid, same_cpu=True)
    bench.errors += run["errors"]
    microseconds: float = run["p50_ns"] / 1000
    return microseconds
