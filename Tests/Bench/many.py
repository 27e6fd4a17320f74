"""Ten thousand accounts beside ten: a random one's cached token, memory, and the start."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import time
from typing import Any, Callable, Dict, List

from harness import Agent, Practice, add_provider
from measure import resident_kb
from report import Goal, Row
from servers import wait_until_it_accepts

FEW = 10

REQUEST = '{"jsonrpc":"2.0","id":%ID%,"method":"token.get","params":{"account":"%NAME%"}}\n'

IN_FLIGHT = 16

ROLES = ["technician", "dispatcher", "auditor", "supervisor", "trainee", "approver", "storekeeper", "driver"]
"""Enough scopes for an access token of a realistic 900 bytes."""

PAGES_GIVEN_BACK_SECONDS = 4.0
"""After this time a started agent has released the resources of its start."""


def many_accounts(bench: Any, agent_program: str, demo: str) -> None:
    count = 1_000 if bench.options.quick else 10_000
    people = os.path.join(bench.directory, "people.json")
    with open(people, "w") as file:
        json.dump({"users": [{"name": f"person-{number:05d}", "roles": ROLES} for number in range(count)]}, file)
    # Ed25519: this many RSA signatures would take the provider a minute.
    options = ["--users", people, "--algorithm", "EdDSA", "--access-token-lifetime", "36000"]
    with contextlib.ExitStack() as stack:
        practice = stack.enter_context(Practice(demo, "person-00000", options))
        few = stack.enter_context(Agent(agent_program))
        many = stack.enter_context(Agent(agent_program))
        accounts = {}
        for agent, number in ((few, FEW), (many, count)):
            tokens = [entry["refresh_token"] for entry in practice.control("sign-in", {"everybody": True})["sign_ins"]]
            begun = time.monotonic()
            accounts[agent] = import_accounts(agent, practice.issuer, tokens[:number])
            took = time.monotonic() - begun
        # The goal is for 10,000; fewer have their share of it.
        scenario = f"sign-in (import) of {count:,} accounts"
        bench.rows.append(Row(scenario, "all", "s", [took], None, Goal(most=12 * count / 10_000)))
        bench.rows.append(Row(scenario, "an account", "ms", [took * 1000 / count]))
        random_account(bench, few, many, accounts, count)
        memory(bench, "every token cached", few, many, count, Goal(most=40) if count == 10_000 else None)
        for agent in (few, many):
            agent.end(signal.SIGTERM)
        starts(bench, few, many, accounts, count)
        for agent in (few, many):
            agent.start()
        time.sleep(PAGES_GIVEN_BACK_SECONDS)
        memory(bench, "after a start", few, many, count, Goal(most=32))


def import_accounts(agent: Agent, issuer: str, refresh_tokens: List[str]) -> List[str]:
    """Hands the refresh tokens over, several at a time, and returns the ids of the accounts."""
    with agent.client() as client:
        provider = add_provider(client, issuer)
    ids: List[str] = []
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(agent.socket)
        answers = connection.makefile("rb")
        waiting = list(enumerate(refresh_tokens))[::-1]

        def ask() -> None:
            number, token = waiting.pop()
            params = {"provider": provider, "refreshToken": token}
            line = {"jsonrpc": "2.0", "id": number, "method": "signIn.import", "params": params}
            connection.sendall(json.dumps(line).encode() + b"\n")

        for _ in range(min(IN_FLIGHT, len(waiting))):
            ask()
        while len(ids) < len(refresh_tokens):
            answer = json.loads(answers.readline())
            ids.append(answer["result"]["account"])
            if waiting:
                ask()
    return ids


def random_account(bench: Any, few: Agent, many: Agent, accounts: Dict[Agent, List[str]], count: int) -> None:
    request = os.path.join(bench.directory, "request-random")
    with open(request, "w") as file:
        file.write(REQUEST)
    runs: Dict[Agent, List[Dict[str, Any]]] = {few: [], many: []}
    # In random order, which the load generator reads in turn: what is measured is the agent's memory.
    names = {agent: os.path.join(bench.directory, f"names-{len(ids)}") for agent, ids in accounts.items()}
    for agent, path in names.items():
        with open(path, "w") as file:
            file.write("\n".join(random.Random(1).sample(accounts[agent], len(accounts[agent]))) + "\n")
    for _ in range(bench.rounds):
        for agent, of_agent in runs.items():
            of_agent.append(bench.load.run(agent.socket, request, pid=agent.pid, same_cpu=True, names=names[agent]))
    bench.errors += sum(run["errors"] for of_agent in runs.values() for run in of_agent)
    for member, unit, goal in (("p50_ns", "µs p50", 1.15), ("p99_ns", "µs p99", 1.5)):
        reference = [run[member] / 1000 for run in runs[few]]
        scenario = "a random account, its token cached"
        bench.rows.append(Row(scenario, f"{FEW} accounts", unit, reference))
        mine = [run[member] / 1000 for run in runs[many]]
        bench.rows.append(Row(scenario, f"{count:,} accounts", unit, mine, reference, Goal(most=goal)))


def memory(bench: Any, when: str, few: Agent, many: Agent, count: int, goal: "Goal | None") -> None:
    kilobytes = {agent: resident_kb(agent.pid) for agent in (few, many)}
    scenario = f"memory, {when}"
    bench.rows.append(Row(scenario, f"{FEW} accounts", "MB", [kilobytes[few] / 1024]))
    bench.rows.append(Row(scenario, f"{count:,} accounts", "MB", [kilobytes[many] / 1024], None, goal))
    an_account = (kilobytes[many] - kilobytes[few]) / (count - FEW)
    bench.rows.append(Row(scenario, "an account", "KB", [an_account]))


def starts(bench: Any, few: Agent, many: Agent, accounts: Dict[Agent, List[str]], count: int) -> None:
    """Time to the first answer, to the first answer that needs all accounts loaded, and to the first token. An agent
    that starts has no access tokens, so the token is refreshed: on both sides, since what counts is the difference."""
    questions: Dict[str, Callable[[Agent], str]] = {
        "first answer": lambda agent: line("agent.hello", client={"name": "bench", "version": "1"}),
        "an account": lambda agent: line("account.get", account=accounts[agent][-1]),
        "first token": lambda agent: line("token.get", account=accounts[agent][-1]),
    }
    for name, question in questions.items():
        times: Dict[Agent, List[float]] = {few: [], many: []}
        for _ in range(3 if bench.options.quick else 7):
            for agent, of_agent in times.items():
                of_agent.append(cold_start(agent, question(agent)))
        scenario = f"exec to {name}"
        added = [more - less for more, less in zip(times[many], times[few])]
        bench.rows.append(Row(scenario, f"{FEW} accounts", "ms", times[few]))
        bench.rows.append(Row(scenario, f"{count:,} accounts", "ms", times[many]))
        bench.rows.append(Row(scenario, "what they add", "ms", added, None, Goal(most=50 * count / 10_000)))


def line(method: str, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n"


def cold_start(agent: Agent, request: str) -> float:
    """Milliseconds from before `fork` to the answer."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(agent.socket)
    begun = time.monotonic()
    agent.start(wait=False)
    with wait_until_it_accepts(agent.socket) as client:
        client.sendall(request.encode())
        answer = client.recv(65536)
    took = (time.monotonic() - begun) * 1000
    agent.end(signal.SIGTERM)
    if b'"result"' not in answer:
        raise RuntimeError(f"no answer to {request}: {answer!r}")
    return took
