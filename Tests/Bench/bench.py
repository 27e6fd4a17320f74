#!/usr/bin/env python3
"""Lanyard beside the C echo server and ssh-agent, in one run.

    bench.py [--agent lanyard-agent --demo lanyard-demo] [--cli lanyard] [--quick] [--only PART] [--before FOLDER]
             [--json FILE]

Everything that is compared is interleaved (A B C A B C …) and medians are told, because the machine is never quiet;
trust the ratios. Without --agent only the references are measured. Exits 1 if an answer was an error, else 0, whether
the goals are met or not; --strict makes unmet goals exit 2.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import signal
import socket
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Optional

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Clients", "python", "src"))

from bursts import bursts
from crowds import crowds
from decisions import decisions
from harness import Agent, Practice, add_provider, sign_in
from isolation import isolation
from keys import keys
from many import many_accounts
from measure import Load, resident_kb, wake_ups
from proxied import proxied
from report import Goal, Row, table
from resources import resources
from servers import calls, compile_program, echo, ssh_agent
from watched import watched
from whole_processes import clients, cold_starts

ECHO, CANNED, CALLS, SSH = "C echo", "C canned", "C, the agent's calls", "ssh-agent list"
HELLO, TOKEN = "lanyard agent.hello", "lanyard token.get"

REQUESTS = {
    HELLO: '{"jsonrpc":"2.0","id":%ID%,"method":"agent.hello","params":{"client":{"name":"bench","version":"1"}}}\n',
    TOKEN: '{"jsonrpc":"2.0","id":%ID%,"method":"token.get","params":{"account":"work"}}\n',
}

SENT_AND_NEVER_READ_BYTES = 8 << 20
AS_LONG_ANSWERS = "16 connections"
"""The workload in which `token.get` is also compared with a C server whose answers are as long as its own."""


@dataclass
class Subject:
    """One server under one kind of request."""

    name: str
    socket: str
    pid: int
    request: Optional[str]
    one_line: bool = False
    """It answers one line of a connection at a time, so it takes part where each request has a connection of its own."""


@dataclass
class Workload:
    name: str
    options: Dict[str, Any]
    figures: "Dict[str, tuple[str, float, Optional[Goal]]]"
    """Member of the load's answer: (unit, by what it is multiplied, goal of `token.get` against C echo)."""


WORKLOADS = [
    Workload(
        "one connection, one CPU",
        {"same_cpu": True},
        {"p50_ns": ("µs p50", 1e-3, Goal(most=1.35)), "cpu_ns": ("µs server CPU", 1e-3, Goal(most=1.6))},
    ),
    Workload(AS_LONG_ANSWERS, {"same_cpu": False, "connections": 16}, {"rate": ("/s", 1, Goal(least=0.85))}),
    Workload("1 connection, 16 deep", {"same_cpu": False, "depth": 16}, {"rate": ("/s", 1, Goal(least=0.85))}),
    Workload(
        "16 connections, 16 deep",
        {"same_cpu": False, "connections": 16, "depth": 16},
        {"rate": ("/s", 1, Goal(least=0.4))},
    ),
    Workload("a connection a request", {"same_cpu": True, "fresh": True}, {"p50_ns": ("µs p50", 1e-3, Goal(most=1.3))}),
    Workload(
        "a connection a request, 16 at once",
        {"same_cpu": False, "connections": 16, "fresh": True},
        {"rate": ("/s", 1, Goal(least=0.8))},
    ),
]


class Bench:
    def __init__(self, options: argparse.Namespace, directory: str) -> None:
        self.options = options
        self.rounds = 3 if options.quick else 5
        self.directory = directory
        self.load = Load(compile_program("load", directory), 0.15 if options.quick else 0.4)
        self.rows: List[Row] = []
        self.errors = 0

    # Round trips

    def round_trips(self, subjects: List[Subject]) -> None:
        for workload in WORKLOADS:
            of_this = [subject for subject in subjects if workload.options.get("fresh") or not subject.one_line]
            runs: Dict[str, List[Dict[str, Any]]] = {subject.name: [] for subject in of_this}
            for _ in range(self.rounds):
                for subject in of_this:
                    run = self.load.run(subject.socket, subject.request, pid=subject.pid, **workload.options)
                    self.errors += run["errors"]
                    runs[subject.name].append(run)
            for member, (unit, factor, goal) in workload.figures.items():
                reference = [run[member] * factor for run in runs[ECHO]]
                for name, of_subject in runs.items():
                    values = [run[member] * factor for run in of_subject]
                    row = Row(workload.name, name, unit, values)
                    row.reference = None if name == ECHO else reference
                    row.goal = goal if name == TOKEN else None
                    row.notes = {"p99_us": [run["p99_ns"] / 1000 for run in of_subject]}
                    self.rows.append(row)
                if workload.name == AS_LONG_ANSWERS:
                    tokens, canned = ([run[member] * factor for run in runs[name]] for name in (TOKEN, CANNED))
                    self.rows.append(Row(f"{workload.name}, answers as long", TOKEN, unit, tokens, canned, Goal(least=1)))

    def memory(self, subjects: List[Subject]) -> None:
        told = set()
        for subject in subjects:
            if subject.pid not in told:
                told.add(subject.pid)
                ours = subject.name in (HELLO, TOKEN)
                row = Row(
                    "memory after that",
                    "lanyard-agent" if ours else subject.name,
                    "MB",
                    [resident_kb(subject.pid) / 1024],
                )
                row.goal = Goal(most=8) if ours else None
                self.rows.append(row)

    # Bad company

    def bad_clients(self, token: Subject) -> None:
        for name, misbehave in [
            ("beside half a request", half_a_request),
            ("beside 8 MB sent, never reading", never_reading),
            ]:
            alone: List[float] = []
            beside: List[float] = []
            before = resident_kb(token.pid)
            most = before
            for _ in range(self.rounds):
                alone.append(self._p50(token))
                with misbehave(token):
                    beside.append(self._p50(token))
                    most = max(most, resident_kb(token.pid))
            self.rows.append(Row(name, TOKEN, "µs p50", beside, alone, Goal(most=1.3)))
            self.rows.append(Row(name, "lanyard-agent", "MB growth", [(most - before) / 1024], None, Goal(most=4)))

    def _p50(self, subject: Subject) -> float:
        run = self.load.run(subject.socket, subject.request, pid=subject.pid, same_cpu=True)
        self.errors += run["errors"]
        p50: float = run["p50_ns"] / 1000
        return p50

    def idle(self, pid: int) -> None:
        """No connection, no timer due: nothing has a reason to wake."""
        seconds = 3.0 if self.options.quick else 10.0
        time.sleep(0.5)
        before = wake_ups(pid)
        time.sleep(seconds)
        a_minute = (wake_ups(pid) - before) * 60 / seconds
        self.rows.append(Row("idle", "lanyard-agent", "wake-ups a minute", [a_minute], None, Goal(most=0)))


@contextlib.contextmanager
def half_a_request(subject: Subject) -> Iterator[None]:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(subject.socket)
        client.sendall(REQUESTS[TOKEN].encode()[:40])
        yield


@contextlib.contextmanager
def never_reading(subject: Subject) -> Iterator[None]:
    """As much as the agent takes of 8 MB, and goes on trying."""
    done = threading.Event()

    def send() -> None:
        line = b'{"jsonrpc":"2.0","id":"%d","method":"token.get","params":{"account":"work"}}\n'
        lines = b"".join(line % number for number in range(SENT_AND_NEVER_READ_BYTES // len(line)))
        client.settimeout(0.01)
        rest = memoryview(lines)
        while rest and not done.is_set():
            try:
                rest = rest[client.send(rest) :]
            except socket.timeout:
                continue
            except OSError:
                return

    with socket.socket(socket.AF_UNIX) as client:
        client.connect(subject.socket)
        sender = threading.Thread(target=send)
        sender.start()
        time.sleep(0.05)
        try:
            yield
        finally:
            done.set()
            sender.join()


def length_of_answer(agent: Agent) -> int:
    """The bytes of the answer to a request of the load generator."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(agent.socket)
        client.sendall(REQUESTS[TOKEN].replace("%ID%", "1000000000").encode())
        with client.makefile("rb") as answers:
            return len(answers.readline())


PARTS: Dict[str, Callable[["Bench", str, str], None]] = {
    "resources": resources,
    "isolation": isolation,
    "decisions": decisions,
    "crowds": crowds,
    "bursts": bursts,
    "many": many_accounts,
    "keys": keys,
    "watched": watched,
    "proxied": proxied,
}
"""With agents of their own."""

NEIGHBOURS = ["round-trips", "processes"]
"""Beside the C echo server and ssh-agent, with one agent."""


def run(options: argparse.Namespace, directory: str) -> Bench:
    bench = Bench(options, directory)
    if options.only in (None, *NEIGHBOURS):
        with contextlib.ExitStack() as stack:
            beside_neighbours(bench, stack)
    if options.agent:
        for name, part in PARTS.items():
            if options.only in (None, name):
                part(bench, os.path.abspath(options.agent), os.path.abspath(options.demo))
    return bench


def beside_neighbours(bench: Bench, stack: contextlib.ExitStack) -> None:
    options, directory = bench.options, bench.directory
    files = {name: os.path.join(directory, f"request-{number}") for number, name in enumerate(REQUESTS)}
    for name, path in files.items():
        with open(path, "w") as file:
            file.write(REQUESTS[name])
    limit = echo(directory)
    limit.start()
    stack.callback(limit.stop)
    subjects = [Subject(ECHO, limit.socket, limit.pid, files[TOKEN])]
    ssh = ssh_agent(directory)
    if ssh:
        ssh.start()
        stack.callback(ssh.stop)
        subjects.append(Subject(SSH, ssh.socket, ssh.pid, None))
    if not options.agent:
        bench.round_trips(subjects)
        bench.memory(subjects)
        return

    practice = stack.enter_context(Practice(os.path.abspath(options.demo)))
    agent = stack.enter_context(Agent(os.path.abspath(options.agent)))
    with agent.client() as client:
        account = sign_in(client, add_provider(client, practice.issuer), "alice", "work")
        token = client.call("token.get", {"account": account})["accessToken"]
    print(f"one account, an access token of {len(token)} bytes", file=sys.stderr)
    if options.only in (None, "round-trips"):
        length = length_of_answer(agent)
        for server, name in ((echo(directory, length), CANNED), (calls(directory, length), CALLS)):
            server.start()
            stack.callback(server.stop)
            subjects.insert(1, Subject(name, server.socket, server.pid, files[TOKEN], one_line=name == CALLS))
        subjects += [Subject(name, agent.socket, agent.pid, files[name]) for name in (HELLO, TOKEN)]
        bench.round_trips(subjects)
        bench.memory(subjects)
        bench.bad_clients(subjects[-1])
        bench.idle(agent.pid)
    if options.only in (None, "processes"):
        if options.cli:
            clients(bench, agent, ssh)
        with agent.client() as client:
            # Ten accounts in all: the goal for the cold start is told for so many.
            for number in range(3):
                other = stack.enter_context(Practice(os.path.abspath(options.demo)))
                provider = add_provider(client, other.issuer, f"practice-{number}")
                for person in ("alice", "bob", "carol"):
                    sign_in(client, provider, person)
        agent.end(signal.SIGTERM)
        cold_starts(bench, agent, ssh, limit)


def main() -> int:
    parser = argparse.ArgumentParser(description="Lanyard beside the C echo server and ssh-agent.")
    parser.add_argument("--agent", help="the program lanyard-agent")
    parser.add_argument("--demo", help="the program lanyard-demo, which brings the provider")
    parser.add_argument("--cli", help="the program lanyard")
    parser.add_argument("--json", help="write all figures to this file")
    parser.add_argument("--only", choices=[*NEIGHBOURS, *PARTS], help="only this part")
    parser.add_argument("--before", metavar="FOLDER", help="with the programs of an older build, whose proxy is compared")
    parser.add_argument("--quick", action="store_true", help="under 90 s instead of under 7 minutes")
    parser.add_argument("--strict", action="store_true", help="exit 2 if a goal is not met")
    options = parser.parse_args()
    if bool(options.agent) != bool(options.demo):
        parser.error("--agent and --demo go together")
    if options.only and not options.agent:
        parser.error("--only needs --agent and --demo")
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lanyard-bench-") as directory:
        bench = run(options, directory)
    print(table(bench.rows))
    print(f"{time.monotonic() - begun:.0f} s", file=sys.stderr)
    if options.json:
        with open(options.json, "w") as file:
            machine = {"machine": platform.platform(), "cpus": os.cpu_count(), "errors": bench.errors}
            json.dump({**machine, "rows": [row.json() for row in bench.rows]}, file, indent=2)
    if bench.errors:
        print(f"{bench.errors} answers were errors: the figures above are of no use", file=sys.stderr)
        return 1
    return 2 if options.strict and any(row.met is False for row in bench.rows) else 0


if __name__ == "__main__":
    sys.exit(main())
