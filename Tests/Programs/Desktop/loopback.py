"""Ports of 127.0.0.1, for servers that are told theirs."""

import contextlib
import socket
from typing import List


def free_port() -> int:
    return free_ports(1)[0]


def free_ports(count: int) -> List[int]:
    """Ports that differ from one another."""
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
