"""Programs from `exec` to their end or their first answer, beside a C program that does only what must be done."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from typing import Any, Callable, Dict, List, Optional

from harness import Agent
from measure import time_process, time_to_first_instruction
from report import Goal, Row
from servers import Server, compile_program, wait_until_it_accepts

HELLO = b'{"jsonrpc":"2.0","id":1,"method":"agent.hello","params":{"client":{"name":"bench","version":"1"}}}\n'

BYTES_OF_HELLO = 1400

SSH_LIST = b"\0\0\0\1\x0b"
"""SSH_AGENTC_REQUEST_IDENTITIES."""


def clients(bench: Any, agent: Agent, ssh: Optional[Server]) -> None:
    """`lanyard token` beside a C client of the same agent, and beside `ssh-add -l`; the first instruction of a command under
    `lanyard exec` beside that under `env`."""
    add = shutil.which("ssh-add")
    environment = {**agent.environment, **({"SSH_AUTH_SOCK": ssh.socket} if ssh else {})}
    ours, executed = "lanyard token", "lanyard exec"
    program, first = os.path.abspath(bench.options.cli), compile_program("first", bench.directory, "-static")
    commands = {
        "C client": [compile_program("client", bench.directory), agent.socket, "work"],
        ours: [program, "token", "work"],
        "env": [shutil.which("env") or "env", "TOKEN=none", first],
        executed: [program, "exec", "work", "--", first],
    }
    if ssh and add:
        commands["ssh-add -l"] = [add, "-l"]
    times: Dict[str, List[float]] = {name: [] for name in commands}
    for _ in range(50 if bench.options.quick else 200):
        for name, command in commands.items():
            timed = time_to_first_instruction if command[-1] == first else time_process
            took, code = timed(command, environment)
            times[name].append(took)
            # `ssh-add -l` exits 1 when there is no identity.
            bench.errors += name != "ssh-add -l" and code != 0
    for name, values in times.items():
        if name not in (ours, executed):
            bench.rows.append(Row("a whole process", name, "ms p50", values))
    pairs = ((ours, "C client", 1.15), (ours, "ssh-add -l", 0.4), (executed, "env", 1.5))
    for mine, name, most in pairs:
        if name in times:
            row = Row("a whole process", f"{mine} / {name}", "ms p50", times[mine], times[name], Goal(most=most))
            bench.rows.append(row)


def cold_starts(bench: Any, agent: Agent, ssh: Optional[Server], limit: Server) -> None:
    """From before `fork` to the last byte of the first answer. `limit` answers a line as it came."""
    own_limit = Server([*limit.command[:-1], limit.socket + "2"], limit.socket + "2")
    starts: Dict[str, Callable[[], float]] = {"C echo": lambda: cold_server(own_limit, HELLO)}
    if ssh:
        own = Server([*ssh.command[:-1], ssh.socket + "2"], ssh.socket + "2")
        starts["ssh-agent"] = lambda: cold_server(own, SSH_LIST)
    least = Server([compile_program("start", bench.directory, "-lsqlite3", "-lsodium"), limit.socket + "3"], limit.socket + "3")
    least.command += [copy_of_store(agent, bench.directory), str(BYTES_OF_HELLO)]
    starts["C, what a start must do"] = lambda: cold_server(least, HELLO)
    starts["lanyard-agent"] = lambda: cold_agent(agent)
    times: Dict[str, List[float]] = {name: [] for name in starts}
    for _ in range(5 if bench.options.quick else 11):
        for name, start in starts.items():
            times[name].append(start())
    for name, values in times.items():
        ours = name == "lanyard-agent"
        row = Row("exec to first answer, 10 accounts", name, "ms", values)
        row.reference = times.get("ssh-agent") if name != "ssh-agent" else None
        row.goal = Goal(most=1.5) if ours and row.reference else None
        bench.rows.append(row)


def copy_of_store(agent: Agent, directory: str) -> str:
    """Of an agent that has ended."""
    place = os.path.join(directory, "copied store")
    shutil.copytree(agent.state, place)
    return os.path.join(place, "lanyard.sqlite")


def cold_server(server: Server, request: bytes) -> float:
    begun = time.monotonic()
    server.start()
    with wait_until_it_accepts(server.socket) as client:
        client.sendall(request)
        client.recv(65536)
    took = (time.monotonic() - begun) * 1000
    server.stop()
    return took


def cold_agent(agent: Agent) -> float:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(agent.socket)
    begun = time.monotonic()
    agent.start(wait=False)
    with wait_until_it_accepts(agent.socket) as client:
        client.sendall(HELLO)
        client.recv(65536)
    took = (time.monotonic() - begun) * 1000
    agent.end(signal.SIGTERM)
    return took
