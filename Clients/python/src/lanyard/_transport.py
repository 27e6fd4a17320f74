"""Finds the agent's socket, connects to it, and spawns agents."""

from __future__ import annotations

import errno
import os
import socket
import struct
import subprocess
import sys
from typing import IO, Mapping, Optional, Sequence, Tuple, Union

from ._errors import AgentNotRunning, UntrustedAgent

SocketPath = Union[str, "os.PathLike[str]"]
Stderr = Union[None, int, IO[bytes]]


def default_socket_path() -> str:
    """`$LANYARD_SOCKET`, else `$XDG_RUNTIME_DIR/lanyard/agent.sock`."""
    explicit = os.environ.get("LANYARD_SOCKET")
    if explicit:
        return explicit
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        return os.path.join(runtime, "lanyard", "agent.sock")
    raise AgentNotRunning("neither LANYARD_SOCKET nor XDG_RUNTIME_DIR is set, so the agent's socket is unknown")


def dial(path: SocketPath) -> Optional[socket.socket]:
    """Tries once to connect. Returns a non-blocking socket, or None while the agent's queue is full."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        connection.connect(os.fspath(path))
        _check_peer(connection)
        return connection
    except BlockingIOError:
        connection.close()
        return None
    except OSError as error:
        connection.close()
        raise AgentNotRunning(f"no agent answers at {os.fspath(path)}: {_why(error)}") from None
    except BaseException:
        connection.close()
        raise


def spawn(
    command: Sequence[str], env: Optional[Mapping[str, str]], stderr: Stderr
) -> Tuple[socket.socket, "subprocess.Popen[bytes]"]:
    """Starts an agent for this client alone. Its stdin and stdout are one end of a socket pair."""
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            process = subprocess.Popen(command, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=stderr, env=env)
        except OSError as error:
            ours.close()
            raise AgentNotRunning(f"cannot start {command[0]}: {_why(error)}") from None
    ours.setblocking(False)
    return ours, process


def reap(process: "subprocess.Popen[bytes]", seconds: float) -> None:
    """Waits for an agent whose input has ended. After `seconds` it sends SIGTERM, then SIGKILL."""
    for end in (None, process.terminate, process.kill):
        if end is not None:
            end()
        try:
            process.wait(seconds)
            return
        except subprocess.TimeoutExpired:
            continue


def _why(error: OSError) -> str:
    # A path that is too long for a socket address gives no errno.
    return errno.errorcode.get(error.errno, "") if error.errno else str(error)


def _check_peer(connection: socket.socket) -> None:
    # Secrets go over this socket. In a directory that others can write, another user may have bound it.
    if not sys.platform.startswith("linux"):
        return
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    uid = struct.unpack("3i", credentials)[1]
    if uid not in (os.geteuid(), 0):
        raise UntrustedAgent("the agent's socket belongs to another user")
