"""Many requests in one write, and in one batch: all are answered, and as fast as one after the other."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any, Dict, List

from harness import Agent, Practice, add_provider, sign_in
from measure import bind
from report import Goal, Row
from servers import compile_program

REQUESTS = 10_000

BATCH = 700
"""Requests of a cached token that a line of 64 KiB holds."""

TURNS = 10
"""One batch takes a millisecond: each measurement is of this many batches."""


def bursts(bench: Any, agent_program: str, demo: str) -> None:
    program = compile_program("burst", bench.directory)
    with Practice(demo) as practice, Agent(agent_program) as agent:
        with agent.client() as client:
            sign_in(client, add_provider(client, practice.issuer), "alice", "work")
        cpus = sorted(os.sched_getaffinity(0))
        bind(agent.pid, {cpus[0]})
        in_one_write(bench, program, agent, cpus[-1])
        batches(bench, program, agent, cpus[-1])


def in_one_write(bench: Any, program: str, agent: Agent, cpu: int) -> None:
    """A method that no cache answers."""
    lines = os.path.join(bench.directory, "burst-lines")
    with open(lines, "w") as file:
        file.writelines(json.dumps(message(number, "agent.status")) + "\n" for number in range(REQUESTS))
    one_by_one: List[float] = []
    at_once: List[float] = []
    for _ in range(1 if bench.options.quick else 3):
        one_by_one.append(run(bench, program, agent, cpu, lines, REQUESTS, "--one-by-one") * 1000)
        at_once.append(run(bench, program, agent, cpu, lines, REQUESTS) * 1000)
    scenario = f"{REQUESTS:,} agent.status"
    bench.rows.append(Row(scenario, "one after the other", "ms", one_by_one))
    bench.rows.append(Row(scenario, "in one write", "ms", at_once, one_by_one, Goal(most=2)))


def batches(bench: Any, program: str, agent: Agent, cpu: int) -> None:
    """The same requests as single lines, pipelined, and as batches."""
    single = os.path.join(bench.directory, "single-lines")
    batched = os.path.join(bench.directory, "batches")
    with open(single, "w") as one, open(batched, "w") as other:
        for turn in range(TURNS):
            requests = [message(turn * BATCH + number, "token.get", account="work") for number in range(BATCH)]
            one.writelines(compact(request) + "\n" for request in requests)
            other.write(compact(requests) + "\n")
    rates: Dict[str, List[float]] = {single: [], batched: []}
    for _ in range(bench.rounds):
        for path, values in rates.items():
            values.append(BATCH * TURNS / run(bench, program, agent, cpu, path, BATCH * TURNS))
    scenario = f"{BATCH} cached tokens"
    bench.rows.append(Row(scenario, "single lines in one write", "/s", rates[single]))
    bench.rows.append(Row(scenario, "a batch", "/s", rates[batched], rates[single], Goal(least=1)))


def message(number: int, method: str, **params: Any) -> Dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def run(bench: Any, program: str, agent: Agent, cpu: int, lines: str, answers: int, *words: str) -> float:
    """Seconds until all is answered; an error counts as one of the bench."""
    command = [program, "--socket", agent.socket, "--send", lines, "--answers", str(answers), "--cpu", str(cpu), *words]
    told = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    bench.errors += told["errors"]
    seconds: float = told["seconds"]
    return seconds
