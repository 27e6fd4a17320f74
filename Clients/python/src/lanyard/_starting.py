"""Starts the agent as the commands do: one agent for any number of programs that find none (docs/protocol.md, Programs).

The program that takes the lock beside the socket starts the agent and holds the lock until the agent answers. Other
programs, commands among them, wait for the lock or for an answer.
"""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import threading
import time
from typing import Callable, Dict, List, Optional

from ._errors import AgentStartFailed

PATIENCE_SECONDS = 10.0
"""A start takes milliseconds; a slow disk or a key derivation may take seconds."""

PAUSE_SECONDS = 0.004

HANDOVER_SECONDS = 4.0
"""The time that another agent may hold the state: it may not listen yet."""

HANDOVER_PAUSE_SECONDS = 0.03

LARGEST_LOG_BYTES = 1 << 20
"""A larger log is renamed to `agent.log.old` when the next agent starts."""

_LOG_LINES = 3
_LOG_TAIL_BYTES = 2_000

_KEPT_VARIABLES = (
    "ALL_PROXY CURL_CA_BUNDLE DBUS_SESSION_BUS_ADDRESS DISPLAY HOME HTTPS_PROXY LANG LANYARD_STATE_DIR LC_ALL LC_CTYPE "
    "NO_PROXY PATH SSL_CERT_DIR SSL_CERT_FILE WAYLAND_DISPLAY XAUTHORITY XDG_CONFIG_HOME XDG_RUNTIME_DIR "
    "XDG_STATE_HOME all_proxy http_proxy https_proxy no_proxy"
).split()
"""The environment of a new agent, the same that a command gives it. The agent outlives this program."""

_USUAL_PATH = "/usr/local/bin:/usr/bin:/bin"

_ENDS = {
    64: "the agent did not accept its options or its configuration file (exit 64)",
    73: "a directory of the agent can't be created, or others may write to it (exit 73)",
    74: "the agent's store can't be read or written (exit 74); nothing was lost",
    75: "another agent holds this state directory (exit 75)",
    76: "the agent can't open its vault (exit 76): the key is wrong, or the store is damaged, old, foreign, or gone",
}
_ALREADY_RUNNING = 75

Connect = Callable[[], Optional[socket.socket]]
"""Connects to the socket; None if no process listens there."""

Pause = Callable[[float], bool]
"""Waits for some seconds. True once the caller wants no connection any more."""


def starting_is_forbidden() -> bool:
    """True if `LANYARD_NO_START` is set to anything but `0`."""
    return os.environ.get("LANYARD_NO_START", "") not in ("", "0")


def agent_program() -> Optional[str]:
    """The path of `lanyard-agent`: beside an installed Lanyard that this module belongs to, else in `PATH`.

    Skips relative entries of `PATH`: the choice must not depend on the working directory.
    """
    places = _directories_of_programs(os.path.dirname(os.path.abspath(__file__)))
    places += [place for place in (os.environ.get("PATH") or _USUAL_PATH).split(":") if place.startswith("/")]
    for place in places:
        program = os.path.join(place, "lanyard-agent")
        if os.path.isfile(program) and os.access(program, os.X_OK):
            return program
    return None


def _directories_of_programs(package: str) -> List[str]:
    """Where the programs are that were installed with the directory `package`, by `make install` or as a wheel."""
    installed = os.sep + os.path.join("share", "lanyard", "python", "lanyard")
    if package.endswith(installed):
        return [os.path.join(package[: -len(installed)], "bin")]
    # PREFIX/lib/python3.12/site-packages/lanyard, of an environment or a user; Debian's name differs.
    parts = package.split(os.sep)
    if parts[-2:-1] in (["site-packages"], ["dist-packages"]) and len(parts) > 5:
        return [os.sep.join([*parts[:-4], "bin"])]
    return []


def start_agent(path: str, connect: Connect, pause: Pause) -> Optional[socket.socket]:
    """Starts an agent at the socket `path`, or waits for the one that another program starts, and connects to it.

    Returns None once `pause` has given up; a started agent goes on. Raises `AgentStartFailed`.
    """
    began = time.monotonic()
    lock = _open_lock(os.path.dirname(path))
    try:
        while not _take(lock):
            connection = connect()
            if connection is not None or pause(PAUSE_SECONDS):
                return connection
            if time.monotonic() - began > PATIENCE_SECONDS:
                raise _failure(f"another program has been starting the agent for {PATIENCE_SECONDS:.0f} s")
        connection = connect()
        while connection is None and not pause(0):
            connection = _Launch(path, began).first_connection(connect, pause)
        return connection
    finally:
        os.close(lock)


class _Launch:
    """One process of the agent, from its start until it answers."""

    def __init__(self, path: str, began: float) -> None:
        program = agent_program()
        if program is None:
            raise _failure("the program lanyard-agent is not installed beside this client, and not in PATH")
        self._began = began
        self._log = _Log()
        try:
            self._process = subprocess.Popen(
                [program, "--socket", path],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL if self._log.descriptor < 0 else self._log.descriptor,
                cwd="/",
                env={name: os.environ[name] for name in _KEPT_VARIABLES if os.environ.get(name)},
                start_new_session=True,
                umask=0o077,
            )
        except OSError as error:
            self._log.close()
            raise _failure(f"{program} can't be run: {_why_not_run(program, error)}") from None

    def first_connection(self, connect: Connect, pause: Pause) -> Optional[socket.socket]:
        """Connects to the new agent, or to one that another program started. None if a second launch may succeed."""
        try:
            while True:
                connection = connect()
                if connection is not None:
                    return connection
                status = self._process.poll()
                seconds = time.monotonic() - self._began
                if status == _ALREADY_RUNNING and seconds < HANDOVER_SECONDS:
                    return None if pause(HANDOVER_PAUSE_SECONDS) else connect()
                if status is not None:
                    raise _failure(_why_ended(status) + self._log.told())
                if seconds > PATIENCE_SECONDS:
                    raise _failure(f"a new agent did not answer within {PATIENCE_SECONDS:.0f} s{self._log.told()}")
                if pause(PAUSE_SECONDS):
                    return None
        finally:
            self._log.close()
            self._let_go()

    def _let_go(self) -> None:
        # The agent is a child of this program. A thread that waits leaves no zombie when the agent ends first.
        if self._process.returncode is None:
            threading.Thread(target=self._process.wait, name="lanyard-agent", daemon=True).start()


class _Log:
    """`agent.log` in the state directory: the stderr of an agent that a program started. Only this user can read it."""

    def __init__(self) -> None:
        self.descriptor = -1
        self._began_at = 0
        directory = _state_directory()
        if directory is None:
            return
        self._path = os.path.join(directory, "agent.log")
        try:
            _make_directories(directory)
            _set_aside(self._path)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
            self.descriptor = os.open(self._path, flags, 0o600)
            self._began_at = os.fstat(self.descriptor).st_size
        except OSError:
            pass

    def told(self) -> str:
        """The last lines that the agent wrote since its start, and the path of the log; empty if there are none."""
        if self.descriptor < 0:
            return ""
        size = os.fstat(self.descriptor).st_size
        if size <= self._began_at:
            return ""
        tail = os.pread(self.descriptor, _LOG_TAIL_BYTES, max(self._began_at, size - _LOG_TAIL_BYTES))
        lines: List[str] = [line for line in tail.decode(errors="replace").split("\n") if line]
        return f"; it said: {' '.join(lines[-_LOG_LINES:])} (more in {self._path})"

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def _state_directory() -> Optional[str]:
    """`$LANYARD_STATE_DIR`, else `$XDG_STATE_HOME/lanyard`, else `~/.local/state/lanyard`."""
    environment: Dict[str, str] = {name: value for name, value in os.environ.items() if value}
    if "LANYARD_STATE_DIR" in environment:
        return environment["LANYARD_STATE_DIR"]
    if "XDG_STATE_HOME" in environment:
        return os.path.join(environment["XDG_STATE_HOME"], "lanyard")
    return os.path.join(environment["HOME"], ".local", "state", "lanyard") if "HOME" in environment else None


def _make_directories(path: str) -> None:
    """Makes the directory and those above it, each for this user alone."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    if above and above != path:
        _make_directories(above)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass


def _set_aside(log: str) -> None:
    try:
        if os.lstat(log).st_size > LARGEST_LOG_BYTES:
            os.rename(log, log + ".old")
    except FileNotFoundError:
        pass


def _open_lock(directory: str) -> int:
    try:
        try:
            os.mkdir(directory, 0o700)
        except FileExistsError:
            pass
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        return os.open(os.path.join(directory, "start.lock"), flags, 0o600)
    except OSError as error:
        raise _failure(f"the directory {directory} for its socket can't be written: {error.strerror}") from None


def _take(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _why_not_run(program: str, error: OSError) -> str:
    # The file is there, but the dynamic linker of glibc that it names is not.
    if isinstance(error, FileNotFoundError) and os.path.exists(program):
        return (
            "it needs glibc, which is not here, or not in its usual place; systems with musl, as Alpine, are not "
            "supported yet"
        )
    return error.strerror or str(error)


def _why_ended(status: int) -> str:
    if status < 0:
        return f"signal {-status} ended the agent at once"
    return _ENDS.get(status, f"the agent ended at once (exit {status})")


def _failure(reason: str) -> AgentStartFailed:
    return AgentStartFailed(f"no agent runs, and none could be started: {reason}")
