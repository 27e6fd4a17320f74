"""`request.send` to a local nginx beside bare libcurl with a kept connection and beside a C program that does nothing else
for its client, and queued operations beside curl."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import time
from typing import Any, Dict, Iterator, List, Optional

from harness import Agent, Practice, add_provider, sign_in
from measure import bind
from report import Goal, Row
from servers import START_SECONDS, Server, compile_program

BODY = '{"id":17}'

CONFIGURATION = """\
daemon off;
master_process off;
pid %(directory)s/nginx.pid;
error_log %(directory)s/nginx.log;
events { worker_connections 256; }
http {
  access_log off;
  client_body_temp_path %(directory)s/t1; proxy_temp_path %(directory)s/t2; fastcgi_temp_path %(directory)s/t3;
  uwsgi_temp_path %(directory)s/t4; scgi_temp_path %(directory)s/t5;
  keepalive_requests 100000000;
  %(server)s
}
"""

ORIGIN = """\
  server {
    listen 127.0.0.1:%(port)d;
    location / { default_type application/json; return 200 '%(body)s'; }
  }
"""

PASSES_ON = """\
  upstream origin { server %(origin)s; keepalive 8; }
  server {
    listen 127.0.0.1:%(port)d;
    location / { proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }
"""


def resources(bench: Any, agent_program: str, demo: str) -> None:
    """One request after the other, everything on one CPU, in turns."""
    program = nginx_program()
    if program is None:
        return
    bare = compile_program("bare", bench.directory, "-lcurl")
    relay = compile_program("relay", bench.directory, "-lcurl")
    with nginx(program, bench.directory) as (url, server), Practice(demo) as practice, Agent(agent_program) as agent:
        with agent.client() as client:
            sign_in(client, add_provider(client, practice.issuer, allowedOrigins=[url]), "alice", "work")
            token = client.call("token.get", {"account": "work"})["accessToken"]
        request = os.path.join(bench.directory, "request-resource")
        with open(request, "w") as file:
            file.write('{"jsonrpc":"2.0","id":%ID%,"method":"request.send","params":{"account":"work","method":"GET",')
            file.write(f'"url":"{url}/orders/17"}}}}\n')
        cpu = sorted(os.sched_getaffinity(0))[0]
        bind(server, {cpu})
        sent = [f"{url}/orders/17", f"Authorization: Bearer {token}"]
        path = os.path.join(bench.directory, "relay.sock")
        served: Dict[str, Any] = {"C relay": Server([relay, path, *sent], path), "lanyard request.send": agent}
        runs: Dict[str, List[Dict[str, Any]]] = {"bare libcurl": [], **{name: [] for name in served}}
        served["C relay"].start()
        try:
            for _ in range(bench.rounds):
                arguments = [*sent, str(bench.load.seconds), str(bench.load.seconds / 4), str(cpu)]
                output = subprocess.run([bare, *arguments], check=True, stdout=subprocess.PIPE).stdout
                runs["bare libcurl"].append(json.loads(output))
                for name, other in served.items():
                    runs[name].append(bench.load.run(other.socket, request, pid=other.pid, same_cpu=True))
        finally:
            served["C relay"].stop()
        scenario = "a request to nginx, one CPU"
        for member, unit, goal in [("p50_ns", "µs p50", Goal(most=1.5)), ("cpu_ns", "µs client CPU", None)]:
            reference = [run[member] / 1000 for run in runs["bare libcurl"]]
            for name, of_one in runs.items():
                row = Row(scenario, name, unit, [run[member] / 1000 for run in of_one])
                row.reference = reference if name != "bare libcurl" else None
                row.goal = goal if name == "lanyard request.send" else None
                bench.rows.append(row)
        bench.errors += sum(run["errors"] for of_one in runs.values() for run in of_one)
        drain(bench, agent, url, token)


def drain(bench: Any, agent: Agent, url: str, token: str) -> None:
    """Operations that waited for the network, and the same requests by one curl process after the other."""
    count = 100 if bench.options.quick else 500
    curl = shutil.which("curl")
    if curl is None:
        return
    policy = {"name": "default", "version": 1, "capabilities": {"note": {"kind": "write", "offlineWindowSeconds": 86400}}}
    times: Dict[str, List[float]] = {"curl": [], "lanyard operations": []}
    with agent.client() as client:
        client.call("policy.set", {"name": "default", "policy": policy})
        for _ in range(3):
            client.call("connectivity.report", {"online": False})
            request = {"method": "POST", "url": f"{url}/notes", "body": BODY}
            for _ in range(count):
                client.call("operation.enqueue", {"account": "work", "capability": "note", "request": request})
            begun = time.monotonic()
            client.call("connectivity.report", {"online": True})
            while client.call("agent.status")["pendingOperations"]:
                time.sleep(0.01)
            times["lanyard operations"].append((time.monotonic() - begun) * 1000 / count)
            arguments = [curl, "-s", "-o", os.devnull, "-H", f"Authorization: Bearer {token}", "-d", BODY, f"{url}/notes"]
            begun = time.monotonic()
            for _ in range(count):
                subprocess.run(arguments, check=True)
            times["curl"].append((time.monotonic() - begun) * 1000 / count)
    for name, values in times.items():
        row = Row(f"{count} queued writes to nginx", name, "ms each", values)
        if name != "curl":
            row.reference, row.goal = times["curl"], Goal(most=1.0)
        bench.rows.append(row)


def nginx_program() -> Optional[str]:
    return shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


@contextlib.contextmanager
def nginx(program: str, directory: str, origin: Optional[str] = None) -> Iterator[Any]:
    """Its own origin, and the process. With `origin`, it passes each request on to there, over connections that are kept."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
    configuration = os.path.join(directory, "nginx.conf")
    with open(configuration, "w") as file:
        place = None if origin is None else origin.partition("://")[2]
        server = (PASSES_ON if place else ORIGIN) % {"port": port, "body": BODY, "origin": place}
        file.write(CONFIGURATION % {"directory": directory, "server": server})
    process = subprocess.Popen([program, "-c", configuration, "-p", directory], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        yield f"http://127.0.0.1:{port}", process.pid
    finally:
        process.terminate()
        process.wait()
