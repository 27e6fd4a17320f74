"""Figures of a process, and of the load generator."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import time
from typing import Any, Dict, List, Mapping, Optional


class Load:
    """The load generator, with the settings that all runs of one bench share."""

    def __init__(self, program: str, seconds: float) -> None:
        self._program = program
        self.seconds = seconds

    def run(
        self,
        socket: str,
        request: Optional[str],
        *,
        pid: int,
        same_cpu: bool,
        connections: int = 1,
        depth: int = 1,
        fresh: bool = False,
        names: Optional[str] = None,
    ) -> Dict[str, Any]:
        """One run, with the server's CPU time a request in it. `request` is a file; None asks ssh-agent's list.
        `names` is a file, too: its lines stand in the requests in turn.

        Client and server on one CPU show latency without the wake-up of an idle one; on two, the rate that the server
        can keep up.
        """
        cpus = sorted(os.sched_getaffinity(0))
        bind(pid, {cpus[0]})
        command = [self._program, "--socket", socket, "--seconds", str(self.seconds)]
        command += ["--warmup", str(self.seconds / 4), "--cpu", str(cpus[0] if same_cpu else cpus[-1])]
        command += ["--connections", str(connections), "--depth", str(depth)]
        command += ["--ssh"] if request is None else ["--request", request]
        command += ["--fresh"] if fresh else []
        command += [] if names is None else ["--names", names]
        before = cpu_ns(pid)
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
        took = cpu_ns(pid) - before
        bind(pid, set(cpus))
        result: Dict[str, Any] = json.loads(output)
        # The warm-up is in the CPU time and not in the requests: a fifth of the whole run.
        result["cpu_ns"] = took / (result["requests"] * 1.25)
        return result


def bind(pid: int, cpus: "set[int]") -> None:
    """Binds every thread of a process to these CPUs."""
    for task in tasks(pid):
        try:
            os.sched_setaffinity(task, cpus)
        except ProcessLookupError:
            pass


def tasks(pid: int) -> List[int]:
    return sorted(int(name) for name in os.listdir(f"/proc/{pid}/task"))


def cpu_ns(pid: int) -> int:
    """Time on a CPU of all threads that live now (Documentation/scheduler/sched-stats.rst of Linux)."""
    total = 0
    for task in tasks(pid):
        with open(f"/proc/{pid}/task/{task}/schedstat") as file:
            total += int(file.read().split()[0])
    return total


def status(path: str) -> Mapping[str, str]:
    with open(path) as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def resident_kb(pid: int) -> int:
    return int(status(f"/proc/{pid}/status")["VmRSS"].split()[0])


def own_kb(pid: int) -> int:
    """Without the pages of the program and its libraries, which the agent gives back after a start and after transfers."""
    return int(status(f"/proc/{pid}/status")["RssAnon"].split()[0])


def wake_ups(pid: int) -> int:
    """The number of times that a thread of the process was put on a CPU after a wait."""
    return sum(int(status(f"/proc/{pid}/task/{task}/status")["voluntary_ctxt_switches"]) for task in tasks(pid))


def processor_seconds(pid: int) -> float:
    """Of a process, with its threads that have ended; the kernel counts it in hundredths (proc_pid_stat(5))."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def time_process(command: List[str], environment: Mapping[str, str]) -> "tuple[float, int]":
    """Milliseconds from before the process is made until it has ended, and its exit code."""
    quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    begun = time.monotonic()
    pid = os.posix_spawn(command[0], command, environment, file_actions=quiet)
    _, ended = os.waitpid(pid, 0)
    return (time.monotonic() - begun) * 1000, os.waitstatus_to_exitcode(ended)


def time_to_first_instruction(command: List[str], environment: Mapping[str, str]) -> "tuple[float, int]":
    """Milliseconds from before the process is made until `first.c` runs, which the command ends in, and its exit code."""
    read, write = os.pipe()
    quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 2)]
    begun = time.monotonic_ns()
    pid = os.posix_spawn(command[0], command, environment, file_actions=[*quiet, (os.POSIX_SPAWN_DUP2, write, 1)])
    os.close(write)
    with open(read, "rb") as file:
        told = file.read()
    _, ended = os.waitpid(pid, 0)
    ran = struct.unpack("=q", told)[0] if told else begun
    return (ran - begun) / 1e6, os.waitstatus_to_exitcode(ended)
