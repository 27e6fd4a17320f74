"""The references of every figure: a C echo server as the limit, and ssh-agent."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from typing import List, Optional

START_SECONDS = 10.0


class Server:
    """A program that serves a unix socket until it is ended."""

    def __init__(self, command: List[str], socket_path: str) -> None:
        self.command = command
        self.socket = socket_path
        self._process: "Optional[subprocess.Popen[bytes]]" = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        if os.path.exists(self.socket):
            os.unlink(self.socket)
        self._process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        wait_until_it_accepts(self.socket)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None


def wait_until_it_accepts(path: str) -> socket.socket:
    """Connects as soon as a server listens, trying five times a millisecond."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path)
            return connection
        except OSError:
            connection.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.0002)


def compile_program(name: str, directory: str, *libraries: str) -> str:
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.c")
    program = os.path.join(directory, name)
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang") or "cc"
    subprocess.run([compiler, "-O2", "-Wall", "-Wextra", "-o", program, source, *libraries], check=True)
    return program


def echo(directory: str, answer_bytes: Optional[int] = None) -> Server:
    """With `answer_bytes`, each line gets an answer of this length instead of itself."""
    path = os.path.join(directory, "echo.sock" if answer_bytes is None else "canned.sock")
    words = [] if answer_bytes is None else [str(answer_bytes)]
    return Server([compile_program("echo", directory), path, *words], path)


def calls(directory: str, answer_bytes: int) -> Server:
    """What makes the agent's calls for a connection, and does nothing else."""
    path = os.path.join(directory, "calls.sock")
    return Server([compile_program("calls", directory), path, str(answer_bytes)], path)


def ssh_agent(directory: str) -> Optional[Server]:
    """None where OpenSSH is not installed."""
    program = shutil.which("ssh-agent")
    path = os.path.join(directory, "ssh.sock")
    return None if program is None else Server([program, "-D", "-a", path], path)
