"""One account's dead provider, beside another account's cached token, whose answers must not be slower for it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from typing import Any, Dict, Iterator, List

from harness import Agent, Practice, add_provider, sign_in
from report import Goal, Row

CALLERS = 32
"""Callers that wait for A, one connection each: half of the connection limit."""

REQUEST = '{"jsonrpc":"2.0","id":%ID%,"method":"token.get","params":{"account":"b"}}\n'


def isolation(bench: Any, agent_program: str, demo: str) -> None:
    """p99 of B's cached token while A's provider hangs and A's callers wait, against B's alone."""
    seconds = 3 if bench.options.quick else 10
    rounds = 1 if bench.options.quick else 3
    pairs = int((seconds - 1) / (bench.load.seconds * 1.25 + 0.05))
    request = os.path.join(bench.directory, "request-b")
    with open(request, "w") as file:
        file.write(REQUEST)
    with Practice(demo) as hanging, Practice(demo) as other, Agent(agent_program) as agent:
        with agent.client() as client:
            sign_in(client, add_provider(client, hanging.issuer, "a"), "alice", "a")
            sign_in(client, add_provider(client, other.issuer, "b"), "bob", "b")
        alone: List[Dict[str, Any]] = []
        beside: List[Dict[str, Any]] = []
        for _ in range(rounds):
            alone += [bench.load.run(agent.socket, request, pid=agent.pid, same_cpu=True) for _ in range(pairs)]
            with callers_of_a_dead_provider(hanging, agent, seconds):
                beside += [bench.load.run(agent.socket, request, pid=agent.pid, same_cpu=True) for _ in range(pairs)]
    bench.errors += sum(run["errors"] for run in alone + beside)
    for member, name in (("p50_ns", "µs p50"), ("p99_ns", "µs p99")):
        mine = [run[member] / 1000 for run in beside]
        row = Row(f"beside a provider that hangs {seconds} s", "lanyard token.get", name, mine)
        row.reference = [run[member] / 1000 for run in alone]
        row.goal = Goal(most=1.2)
        bench.rows.append(row)


@contextlib.contextmanager
def callers_of_a_dead_provider(practice: Practice, agent: Agent, seconds: int) -> Iterator[None]:
    """Forces an exchange of A that hangs, with all callers that ask meanwhile; ends when all are answered."""
    fault = {"path": "/token", "effect": "none", "delayMilliseconds": seconds * 1000, "count": 1}
    practice.control("faults", fault)
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(CALLERS)]
        begun = time.monotonic()
        for client in clients:
            client.connect(agent.socket)
            client.sendall(b'{"jsonrpc":"2.0","id":1,"method":"token.refresh","params":{"account":"a"}}\n')
        answers: List[bytes] = []
        readers = [threading.Thread(target=lambda c=client: answers.append(c.recv(65536))) for client in clients]
        for reader in readers:
            reader.start()
        time.sleep(0.2)
        yield
        waited_on = len(answers)
        for reader in readers:
            reader.join()
        took = time.monotonic() - begun
    failed = [answer for answer in answers if "result" not in json.loads(answer)]
    if waited_on or failed or took < seconds:
        raise RuntimeError(f"A's callers did not wait for the provider: {waited_on} early, {failed[:1]}, {took:.1f} s")
