"""Decisions with the audit log on: beside a cached token, how many a second, and what a long log costs the start."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import statistics
import time
from typing import Any, Dict, List

from harness import Agent, Practice, add_provider, sign_in
from many import cold_start, line
from report import Goal, Row

CAPABILITIES = 1_000

IN_FLIGHT = [(1, 1), (4, 4), (16, 8)]
"""Connections, and how deep each: 1, 16 and 128 decisions at once."""

USED = 40
"""The capabilities that are asked for, the first ones. Every second one writes."""

WRITES, PAGE_BYTES, COMMIT_BYTES = 100, 4 << 10, 12 << 10
"""The goal is beside one page. A commit of a decision has three, with their headers: that is a note in the figures."""

ENTRY_BYTES, RING = 400, 1_000
"""What an entry of the audit log is for SQLite, and how many a table keeps here."""

LOG = 100_000
"""The length of the log in entries."""

TOKEN = '{"jsonrpc":"2.0","id":%ID%,"method":"token.get","params":{"account":"work"}}\n'
DECISION = (
    '{"jsonrpc":"2.0","id":%ID%,"method":"authorization.check","params":{"account":"work","capability":"%NAME%"}}\n'
)


def policy() -> Dict[str, Any]:
    """A policy of a thousand capabilities, each with its own conditions."""
    capabilities = {
        name: {"kind": "write" if number % 2 else "read", "offlineWindowSeconds": 172800}
        for number, name in enumerate(names())
    }
    return {"name": "default", "version": 1, "capabilities": capabilities}


def names() -> List[str]:
    return [f"order.action{number:04d}" for number in range(CAPABILITIES)]


def decisions(bench: Any, agent_program: str, demo: str) -> None:
    texts = {
        "request-token": TOKEN,
        "request-decision": DECISION,
        "writes": "\n".join(names()[1:USED:2]) + "\n",
        "reads": "\n".join(names()[:USED:2]) + "\n",
    }
    files = {name: os.path.join(bench.directory, name) for name in texts}
    for name, path in files.items():
        with open(path, "w") as file:
            file.write(texts[name])
    with Practice(demo) as practice, Agent(agent_program) as agent, Agent(agent_program) as other:
        for each in (agent, other):
            with each.client() as client:
                sign_in(client, add_provider(client, practice.issuer), "alice", "work")
                client.call("policy.set", {"name": "default", "policy": policy()})
                effect = client.call("authorization.check", {"account": "work", "capability": names()[0]})["effect"]
            assert effect == "allow", effect
        beside_a_token(bench, agent, files)
        at_once(bench, agent, files)
        lengthen(agent)
        for each in (agent, other):
            each.end(signal.SIGTERM)
        starts(bench, other, agent)


def beside_a_token(bench: Any, agent: Agent, files: Dict[str, str]) -> None:
    """One at a time. A token comes from memory, and so does a repeated decision about a capability that reads. One about
    a capability that writes is on the disk before it is told, so that what it costs is what the disk takes for one
    durable write, and a little."""
    token: List[float] = []
    repeated: List[float] = []
    decision: List[float] = []
    disk: List[float] = []
    commit: List[float] = []
    database: List[float] = []
    for _ in range(bench.rounds):
        token.append(run(bench, agent, files["request-token"], None)["p50_ns"] / 1000)
        repeated.append(run(bench, agent, files["request-decision"], files["reads"])["p50_ns"] / 1000)
        disk.append(durable_write(agent.directory, PAGE_BYTES))
        commit.append(durable_write(agent.directory, COMMIT_BYTES))
        database.append(durable_entry(agent.directory))
        decision.append(run(bench, agent, files["request-decision"], files["writes"])["p50_ns"] / 1000)
    scenario = f"a decision, {CAPABILITIES:,} capabilities"
    bench.rows.append(Row(scenario, "token.get, cached", "µs p50", token))
    bench.rows.append(Row(scenario, "authorization.check, repeated", "µs p50", repeated, token, Goal(most=1.5)))
    written = Row(scenario, "4 KB written and synced", "µs p50", disk, token)
    written.notes = {"12_kb_us": commit}
    bench.rows.append(written)
    bench.rows.append(Row(scenario, "an entry by SQLite alone", "µs p50", database, disk))
    bench.rows.append(Row(scenario, "authorization.check, durable", "µs p50", decision, token))
    bench.rows.append(Row(scenario, "the same, beside the disk", "µs p50", decision, disk, Goal(most=2.5)))


def durable_write(directory: str, size: int) -> float:
    """Microseconds for a durable write of this many bytes in a preallocated file."""
    times: List[float] = []
    with open(os.path.join(directory, "durable"), "wb", buffering=0) as file:
        file.write(bytes(WRITES * size))
        os.fsync(file.fileno())
        for number in range(WRITES):
            begun = time.perf_counter_ns()
            os.pwrite(file.fileno(), b"x" * size, number * size)
            os.fdatasync(file.fileno())
            times.append((time.perf_counter_ns() - begun) / 1000)
    return statistics.median(times)


def durable_entry(directory: str) -> float:
    """Microseconds for what the store must do at least: a transaction that puts an entry in the place of the oldest one and
    counts it, on the disk when it returns."""
    times: List[float] = []
    with contextlib.closing(sqlite3.connect(os.path.join(directory, "entries.db"), isolation_level=None)) as connection:
        for pragma in ("journal_mode = WAL", "synchronous = FULL"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("CREATE TABLE IF NOT EXISTS entry (place INTEGER PRIMARY KEY, value BLOB)")
        connection.execute("CREATE TABLE IF NOT EXISTS head (name TEXT PRIMARY KEY, value BLOB)")
        connection.executemany("INSERT OR REPLACE INTO entry VALUES (?, ?)", [(n, bytes(ENTRY_BYTES)) for n in range(RING)])
        for number in range(WRITES):
            begun = time.perf_counter_ns()
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT OR REPLACE INTO entry VALUES (?, ?)", (number, os.urandom(ENTRY_BYTES)))
            connection.execute("INSERT OR REPLACE INTO head VALUES ('head', ?)", (os.urandom(64),))
            connection.execute("COMMIT")
            times.append((time.perf_counter_ns() - begun) / 1000)
    return statistics.median(times)


def at_once(bench: Any, agent: Agent, files: Dict[str, str]) -> None:
    rates: Dict[int, List[float]] = {}
    for _ in range(bench.rounds):
        for connections, depth in IN_FLIGHT:
            rate = run(bench, agent, files["request-decision"], files["writes"], connections, depth)["rate"]
            rates.setdefault(connections * depth, []).append(rate)
    one_by_one = next(iter(rates.values()))
    for count, values in rates.items():
        goal = {16: Goal(least=2), 128: Goal(least=3)}.get(count)
        bench.rows.append(
            Row("decisions at once", f"{count} in flight", "/s", values, one_by_one if goal else None, goal)
        )


def run(
    bench: Any, agent: Agent, request: str, names: "str | None", connections: int = 1, depth: int = 1
) -> Dict[str, Any]:
    done: Dict[str, Any] = bench.load.run(
        agent.socket,
        request,
        pid=agent.pid,
        same_cpu=connections == 1,
        names=names,
        connections=connections,
        depth=depth,
    )
    bench.errors += done["errors"]
    return done


def lengthen(agent: Agent) -> None:
    """Fills the log, so that it has begun to drop its oldest entries. Each client has entries of its own."""
    for number in range(LOG // CAPABILITIES + 1):
        with agent.client() as client:
            client.call("agent.hello", {"client": {"name": f"client {number}", "version": "1"}})
            for first in range(0, CAPABILITIES, 100):
                client.call("authorization.checkMany", {"account": "work", "capabilities": names()[first:first + 100]})
    with agent.client() as client:
        verified = client.call("audit.verify", {})
    assert verified["intact"] and verified["entries"] > 0.9 * LOG, verified


def starts(bench: Any, short: Agent, long: Agent) -> None:
    question = line("account.get", account="work")
    times: Dict[Agent, List[float]] = {short: [], long: []}
    for _ in range(5 if bench.options.quick else 11):
        for agent, of_agent in times.items():
            of_agent.append(cold_start(agent, question))
    added = [more - less for more, less in zip(times[long], times[short])]
    scenario = "exec to an account, by its log"
    bench.rows.append(Row(scenario, "a few entries", "ms", times[short]))
    bench.rows.append(Row(scenario, f"{LOG:,} entries", "ms", times[long]))
    bench.rows.append(Row(scenario, "what they add", "ms", added, None, Goal(most=5)))
