"""A request through `lanyard proxy` beside the same one without it, beside nginx, which decides nothing and only passes it on, and
with `--before` beside that of an older build."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import statistics
import threading
import time
from typing import Any, Dict, Iterator, List, Optional

from harness import Agent, Practice, add_provider
from report import Goal, Row
from resources import nginx, nginx_program
from watched import Proxy

PROGRAMS = ("lanyard", "lanyard-agent")
"""What the folder of an older build must have, beside what they start."""

DIRECT, PASSED_ON, NOW, BEFORE = "direct", "nginx between", "lanyard proxy", "lanyard proxy before"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
PATIENCE_SECONDS = 60.0


def proxied(bench: Any, agent_program: str, demo: str) -> None:
    if not bench.options.cli:
        return
    builds = {NOW: (os.path.abspath(bench.options.cli), agent_program)}
    if bench.options.before:
        lanyard, agent = (os.path.join(os.path.abspath(bench.options.before), name) for name in PROGRAMS)
        builds[BEFORE] = (lanyard, agent)
    count = 200 if bench.options.quick else 1_000
    with contextlib.ExitStack() as stack:
        origin = stack.enter_context(server())
        practice = stack.enter_context(Practice(demo, "alice", ["--access-token-lifetime", "36000"]))
        ways: Dict[str, Optional[Proxy]] = {DIRECT: None}
        places = {DIRECT: origin}
        if program_of_nginx := nginx_program():
            places[PASSED_ON], _ = stack.enter_context(nginx(program_of_nginx, bench.directory, origin))
            ways[PASSED_ON] = None
        for name, (lanyard, program) in builds.items():
            agent = stack.enter_context(Agent(program))
            token = practice.control("sign-in", {"user": "alice"})["refresh_token"]
            with agent.client() as client:
                provider = add_provider(client, practice.issuer, allowedOrigins=[origin])
                client.call("signIn.import", {"provider": provider, "refreshToken": token, "alias": "work"})
            ways[name] = stack.enter_context(Proxy(lanyard, agent, "work", ["work"]))
        times: Dict[str, List[float]] = {name: [] for name in ways}
        # The first round warms up.
        for number in range(1 + bench.rounds):
            for name, proxy in ways.items():
                took = median_us(places.get(name, origin), proxy, count)
                if number:
                    times[name].append(took)
    scenario = "a request of a kept connection"
    bench.rows.append(Row(scenario, DIRECT, "µs p50", times[DIRECT]))
    for name in (PASSED_ON, NOW):
        if name in times:
            goal = Goal(most=1.5) if name == NOW else None
            bench.rows.append(Row(scenario, name, "µs p50", times[name], times[DIRECT], goal))
    if BEFORE in times:
        bench.rows.append(Row(scenario, BEFORE, "µs p50", times[BEFORE], times[DIRECT]))
        bench.rows.append(Row("a proxied request, now and before", NOW, "µs p50", times[NOW], times[BEFORE], Goal(most=1.3)))


def median_us(origin: str, proxy: Optional[Proxy], count: int) -> float:
    """The median of the times from a request to the end of its answer, in microseconds."""
    place = origin.removeprefix("http://")
    host, port = ("127.0.0.1", proxy.port) if proxy else (place.partition(":")[0], int(place.partition(":")[2]))
    fields = f"Proxy-Authorization: Basic {proxy.credentials}\r\n" if proxy else ""
    target = f"{origin}/items" if proxy else "/items"
    request = f"GET {target} HTTP/1.1\r\nHost: {place}\r\n{fields}\r\n".encode()
    times = []
    with socket.create_connection((host, port), timeout=PATIENCE_SECONDS) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(count):
            begun = time.monotonic_ns()
            connection.sendall(request)
            told = b""
            while not told.endswith(b"\r\n\r\n{}"):
                more = connection.recv(65536)
                if not more:
                    raise RuntimeError(told.decode(errors="replace"))
                told += more
            times.append((time.monotonic_ns() - begun) / 1000)
            if not told.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(told.decode(errors="replace"))
    return statistics.median(times)


@contextlib.contextmanager
def server() -> Iterator[str]:
    """A server in a process of its own, so that it waits for no other thread of the bench; yields its origin."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        child = os.fork()
        if child == 0:
            try:
                serve(listener)
            finally:
                os._exit(0)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def serve(listener: socket.socket) -> None:
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


def answer(connection: socket.socket) -> None:
    with connection, contextlib.suppress(OSError):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        asked = b""
        while more := connection.recv(65536):
            asked += more
            while b"\r\n\r\n" in asked:
                asked = asked.partition(b"\r\n\r\n")[2]
                connection.sendall(ANSWER)
