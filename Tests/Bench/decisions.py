"""Decisions with the audit log on: beside a cached token, how many a second, and what a long log costs the start."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import Any, Dict, List

from harness import Agent, Practice, add_provider, sign_in
from many import cold_start, line
from report import Goal, Row

CAPABILITIES = 1_000

IN_FLIGHT = [(1, 1), (4, 4), (16, 8)]
"""Connections, and how deep each: 1, 16 and 128 decisions at once."""

LOG = 100_000
"""As long as the log becomes."""

TOKEN = '{"jsonrpc":"2.0","id":%ID%,"method":"token.get","params":{"account":"work"}}\n'
DECISION = (
    '{"jsonrpc":"2.0","id":%ID%,"method":"authorization.check","params":{"account":"work","capability":"%NAME%"}}\n'
)


def policy() -> Dict[str, Any]:
    """A thousand capabilities of a trade, each with conditions of its own."""
    capabilities = {
        name: {"kind": "write" if number % 2 else "read", "offlineWindowSeconds": 172800}
        for number, name in enumerate(names())
    }
    return {"name": "default", "version": 1, "capabilities": capabilities}


def names() -> List[str]:
    return [f"order.action{number:04d}" for number in range(CAPABILITIES)]


def decisions(bench: Any, agent_program: str, demo: str) -> None:
    files = {name: os.path.join(bench.directory, name) for name in ("request-token", "request-decision", "capabilities")}
    for (name, path), text in zip(files.items(), (TOKEN, DECISION, "\n".join(names()) + "\n")):
        with open(path, "w") as file:
            file.write(text)
    with Practice(demo) as practice, Agent(agent_program) as agent:
        with agent.client() as client:
            sign_in(client, add_provider(client, practice.issuer), "alice", "work")
            client.call("policy.set", {"name": "default", "policy": policy()})
            effect = client.call("authorization.check", {"account": "work", "capability": names()[0]})["effect"]
        assert effect == "allow", effect
        few = start_times(bench, agent)
        agent.start()
        beside_a_token(bench, agent, files)
        at_once(bench, agent, files)
        lengthen(agent)
        agent.end(signal.SIGTERM)
        many = start_times(bench, agent)
        added = [more - less for more, less in zip(many, few)]
        bench.rows.append(Row("exec to an account", "a short audit log", "ms", few))
        bench.rows.append(Row("exec to an account", f"{LOG:,} entries", "ms", many))
        bench.rows.append(Row("exec to an account", "what they add", "ms", added, None, Goal(most=5)))
        agent.start()


def beside_a_token(bench: Any, agent: Agent, files: Dict[str, str]) -> None:
    """One at a time: a decision is on the disk before it is answered, a token comes from memory."""
    token: List[float] = []
    decision: List[float] = []
    for _ in range(bench.rounds):
        token.append(run(bench, agent, files["request-token"], None)["p50_ns"] / 1000)
        decision.append(run(bench, agent, files["request-decision"], files["capabilities"])["p50_ns"] / 1000)
    scenario = f"a decision, {CAPABILITIES:,} capabilities"
    bench.rows.append(Row(scenario, "token.get, cached", "µs p50", token))
    bench.rows.append(Row(scenario, "authorization.check", "µs p50", decision, token, Goal(most=40)))


def at_once(bench: Any, agent: Agent, files: Dict[str, str]) -> None:
    rates: Dict[int, List[float]] = {}
    for _ in range(bench.rounds):
        for connections, depth in IN_FLIGHT:
            rate = run(bench, agent, files["request-decision"], files["capabilities"], connections, depth)["rate"]
            rates.setdefault(connections * depth, []).append(rate)
    one_by_one = next(iter(rates.values()))
    for count, values in rates.items():
        goal = {16: Goal(least=2), 128: Goal(least=3)}.get(count)
        bench.rows.append(
            Row("decisions at once", f"{count} in flight", "/s", values, one_by_one if goal else None, goal))


def run(
    bench: Any, agent: Agent, request: str, names: "str | None", connections: int = 1, depth: int = 1
) -> Dict[str, Any]:
    done: Dict[str, Any] = bench.load.run(
        agent.socket, request, pid=agent.pid, same_cpu=connections == 1, names=names, connections=connections,
        depth=depth)
    bench.errors += done["errors"]
    return done


def lengthen(agent: Agent) -> None:
    """Fills the log, so that it has begun to drop its oldest entries."""
    with agent.client() as client:
        for _ in range(LOG // 100 + 1):
            client.call("authorization.checkMany", {"account": "work", "capabilities": names()[:100]})
        verified = client.call("audit.verify", {})
    assert verified["intact"] and verified["entries"] > 0.9 * LOG, verified


def start_times(bench: Any, agent: Agent) -> List[float]:
    with contextlib.suppress(ProcessLookupError):
        if agent.process is not None and agent.process.poll() is None:
            agent.end(signal.SIGTERM)
    question = line("account.get", account="work")
    return [cold_start(agent, question) for _ in range(5 if bench.options.quick else 11)]
