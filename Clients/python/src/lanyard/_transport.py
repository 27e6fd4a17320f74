"""Finds the agent's socket, connects to it, and spawns agents."""

from __future__ import annotations

import errno
import os
import socket
import stat
import struct
import subprocess
import sys
from typing import IO, Mapping, Optional, Sequence, Tuple, Union

from ._errors import AgentNotRunning, UntrustedAgent
from ._starting import PAUSE_SECONDS, Pause, start_agent, starting_is_forbidden

SocketPath = Union[str, "os.PathLike[str]"]
Stderr = Union[None, int, IO[bytes]]

RUNTIME_DIRECTORIES = "/run/user"
TEMPORARY_DIRECTORY = "/tmp"

_NO_AGENT = (FileNotFoundError, ConnectionRefusedError, NotADirectoryError)
"""The errors that say that no process listens, so that an agent may be started."""


def default_socket_path() -> str:
    """Finds the socket of this user's agent as the commands do.

    It is `$LANYARD_SOCKET`, else `$XDG_RUNTIME_DIR/lanyard/agent.sock`, else `/run/user/UID/lanyard/agent.sock` if
    `/run/user/UID` belongs to this user, else `/tmp/lanyard-UID/agent.sock`.

    Returns:
        The path of the socket, whether an agent listens there or not.

    Raises:
        AgentNotRunning: `LANYARD_SOCKET` is a relative path, or `/tmp/lanyard-UID` is not this user's alone.
    """
    explicit = os.environ.get("LANYARD_SOCKET")
    if explicit:
        if not explicit.startswith("/"):
            raise AgentNotRunning("LANYARD_SOCKET must be an absolute path")
        return explicit
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    # A relative one is to be ignored (XDG Base Directory Specification).
    session: Optional[str] = runtime if runtime.startswith("/") else _usual_runtime_directory()
    directory = _temporary_directory() if session is None else os.path.join(session, "lanyard")
    return os.path.join(directory, "agent.sock")


def _usual_runtime_directory() -> Optional[str]:
    """`/run/user/UID` of this user, where a login session has made it."""
    user = os.geteuid()
    usual = os.path.join(RUNTIME_DIRECTORIES, str(user))
    try:
        return usual if os.lstat(usual).st_uid == user else None
    except OSError:
        return None


def _temporary_directory() -> str:
    """`/tmp/lanyard-UID`. Everyone can make files in `/tmp`, so one that stands there must be this user's alone."""
    user = os.geteuid()
    directory = os.path.join(TEMPORARY_DIRECTORY, f"lanyard-{user}")
    try:
        status = os.lstat(directory)
    except FileNotFoundError:
        return directory
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != user or status.st_mode & 0o077:
        raise AgentNotRunning(
            f"the agent's socket has no directory: XDG_RUNTIME_DIR is not set, and {directory} is not a directory that "
            "only this user can use"
        )
    return directory


def dial(path: SocketPath) -> Optional[socket.socket]:
    """Tries once to connect. Returns a non-blocking socket, or None while the agent's queue is full."""
    try:
        return _connect(path)
    except BlockingIOError:
        return None
    except OSError as error:
        raise _not_running(path, error) from None


def dial_or_start(path: SocketPath, pause: Pause) -> Optional[socket.socket]:
    """As `dial`, and where no process listens, starts the agent; None also where `pause` gave up."""

    def connect() -> Optional[socket.socket]:
        while True:
            try:
                return _connect(path)
            except BlockingIOError:
                if pause(PAUSE_SECONDS):
                    return None
            except _NO_AGENT:
                return None
            except OSError as error:
                raise _not_running(path, error) from None

    try:
        return _connect(path)
    except BlockingIOError:
        return None
    except _NO_AGENT:
        return start_agent(os.path.abspath(os.fspath(path)), connect, pause)
    except OSError as error:
        raise _not_running(path, error) from None


def _connect(path: SocketPath) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        connection.connect(os.fspath(path))
        _check_peer(connection)
        return connection
    except BaseException:
        connection.close()
        raise


def _not_running(path: SocketPath, error: OSError) -> AgentNotRunning:
    return AgentNotRunning(f"no agent answers at {os.fspath(path)}: {_why(error)}")


def may_start(start: Optional[bool], socket_path: Optional[SocketPath]) -> bool:
    """True if a client may start an agent: told so, or by itself at the socket that it found."""
    wanted = socket_path is None if start is None else start
    return wanted and not starting_is_forbidden()


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
    if uid != os.geteuid():
        raise UntrustedAgent("the agent's socket belongs to another user")
