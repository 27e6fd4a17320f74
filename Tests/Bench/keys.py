"""Accounts that hold a key beside OpenID accounts: a cached token, and the memory of ten thousand."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import socket
import time
from typing import Any, Dict, List

from harness import Agent, Practice, add_provider, sign_in
from many import IN_FLIGHT, PAGES_GIVEN_BACK_SECONDS, ROLES, import_accounts
from measure import own_kb
from report import Goal, Row

OPENID, KEY = "an OpenID account", "an account with a key"

REQUEST = '{"jsonrpc":"2.0","id":%%ID%%,"method":"token.get","params":{"account":"%s"}}\n'

LENGTH = 900
"""The bytes of a key, as long as an access token: what is compared is what the agent keeps beside it."""


def keys(bench: Any, agent_program: str, demo: str) -> None:
    cached_token(bench, agent_program, demo)
    memory_of_many(bench, agent_program, demo)


def cached_token(bench: Any, agent_program: str, demo: str) -> None:
    with contextlib.ExitStack() as stack:
        practice = stack.enter_context(Practice(demo))
        agent = stack.enter_context(Agent(agent_program))
        with agent.client() as client:
            sign_in(client, add_provider(client, practice.issuer), "alice", "work")
            length = len(client.call("token.get", {"account": "work"})["accessToken"])
            add_keys_provider(client)
            client.call("account.add", {"provider": "keys", "secret": key(length), "alias": "key"})
        requests = {OPENID: "work", KEY: "key"}
        runs: Dict[str, List[Dict[str, Any]]] = {name: [] for name in requests}
        for name, account in requests.items():
            with open(os.path.join(bench.directory, f"request-{account}"), "w") as file:
                file.write(REQUEST % account)
        # The first round warms up.
        for number in range(1 + bench.rounds):
            for name, account in requests.items():
                path = os.path.join(bench.directory, f"request-{account}")
                run = bench.load.run(agent.socket, path, pid=agent.pid, same_cpu=True)
                bench.errors += run["errors"]
                if number:
                    runs[name].append(run)
    for member, unit in (("p50_ns", "µs p50"), ("cpu_ns", "µs server CPU")):
        reference = [run[member] / 1000 for run in runs[OPENID]]
        scenario = f"token.get, {length} bytes cached"
        bench.rows.append(Row(scenario, OPENID, unit, reference))
        mine = [run[member] / 1000 for run in runs[KEY]]
        bench.rows.append(Row(scenario, KEY, unit, mine, reference, Goal(most=1.05) if member == "p50_ns" else None))


def memory_of_many(bench: Any, agent_program: str, demo: str) -> None:
    count = 1_000 if bench.options.quick else 10_000
    people = os.path.join(bench.directory, "people-beside-keys.json")
    with open(people, "w") as file:
        json.dump({"users": [{"name": f"person-{number:05d}", "roles": ROLES} for number in range(count)]}, file)
    options = ["--users", people, "--algorithm", "EdDSA", "--access-token-lifetime", "36000"]
    with contextlib.ExitStack() as stack:
        practice = stack.enter_context(Practice(demo, "person-00000", options))
        agents = {name: stack.enter_context(Agent(agent_program)) for name in (OPENID, KEY)}
        tokens = [entry["refresh_token"] for entry in practice.control("sign-in", {"everybody": True})["sign_ins"]]
        import_accounts(agents[OPENID], practice.issuer, tokens[:count])
        bench.errors += add_keys(agents[KEY], count)
        compare(bench, agents, f"own memory of {count:,} accounts, every token cached")
        for agent in agents.values():
            agent.end(signal.SIGTERM)
            agent.start()
        time.sleep(PAGES_GIVEN_BACK_SECONDS)
        compare(bench, agents, f"own memory of {count:,} accounts, after a start")


def compare(bench: Any, agents: Dict[str, Agent], scenario: str) -> None:
    megabytes = {name: [own_kb(agent.pid) / 1024] for name, agent in agents.items()}
    bench.rows.append(Row(scenario, OPENID, "MB", megabytes[OPENID]))
    bench.rows.append(Row(scenario, KEY, "MB", megabytes[KEY], megabytes[OPENID], Goal(most=1.0)))


def key(length: int = LENGTH) -> str:
    return secrets.token_urlsafe(length)[:length]


def add_keys_provider(client: Any) -> None:
    # Without `whoami` no server is asked.
    client.call("provider.add", {"name": "keys", "kind": "secret", "allowedOrigins": ["https://api.example"]})


def add_keys(agent: Agent, count: int) -> int:
    """Adds accounts, several at a time; returns how many requests failed."""
    with agent.client() as client:
        add_keys_provider(client)
    errors = 0
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(agent.socket)
        answers = connection.makefile("rb")
        for number in range(count + IN_FLIGHT):
            if number >= IN_FLIGHT:
                errors += "error" in json.loads(answers.readline())
            if number < count:
                params = {"provider": "keys", "secret": key()}
                line = {"jsonrpc": "2.0", "id": number, "method": "account.add", "params": params}
                connection.sendall(json.dumps(line).encode() + b"\n")
    return errors
