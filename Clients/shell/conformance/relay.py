"""One connection to the agent for several commands, one after the other.

Each call of the functions is a process of its own with a connection of its own. The cases expect that calls of one
client come on one connection, after one `agent.hello`. So the relay keeps the connection to the agent open, and passes
it from command to command. It changes no byte, and looks into none.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import threading
from typing import Callable, List, Optional


class Upstream:
    """A connection to the agent, used by one command at a time."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.command: Optional[socket.socket] = None
        self.gone = False

    def drop(self) -> None:
        self.gone = True
        for end in (self.connection, self.command):
            try:
                if end is not None:
                    end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    @property
    def ended(self) -> bool:
        """True if the agent has closed it; what it said before that is still there."""
        return self.gone or _is_at_end(self.connection)


def dial(path: str) -> Optional[Upstream]:
    """None where no process of this user listens."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(path)
        _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    except OSError:
        connection.close()
        return None
    if uid != os.geteuid():
        connection.close()
        return None
    return Upstream(connection)


class Relay:
    """Listens at `path`; `upstream` gives the connection for each command, or None."""

    def __init__(self, path: str, upstream: Callable[[socket.socket], Optional[Upstream]]) -> None:
        self._upstream = upstream
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                command, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(command,), daemon=True).start()

    def _serve(self, command: socket.socket) -> None:
        with command:
            upstream = self._upstream(command)
            if upstream is not None:
                carry(command, upstream)


def carry(command: socket.socket, upstream: Upstream) -> None:
    """Passes bytes in both directions, until the command or the agent has ended."""
    try:
        while not upstream.gone:
            ready, _, _ = select.select([command, upstream.connection], [], [])
            if command in ready:
                data = command.recv(1 << 16)
                if not data:
                    break
                upstream.connection.sendall(data)
            elif upstream.connection in ready:
                data = upstream.connection.recv(1 << 16)
                if not data:
                    upstream.gone = True
                    break
                command.sendall(data)
    except OSError:
        upstream.gone = True
    finally:
        if upstream.command is command:
            upstream.command = None


class Pool:
    """The connections of one client."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: List[Upstream] = []

    def take(self, command: socket.socket) -> Optional[Upstream]:
        """A connection that no command uses, for this one."""
        with self._lock:
            self._all = [upstream for upstream in self._all if not upstream.ended]
            for upstream in self._all:
                if upstream.command is None or _is_at_end(upstream.command):
                    upstream.command = command
                    return upstream
        return None

    def add(self, upstream: Upstream) -> None:
        with self._lock:
            self._all.append(upstream)

    @property
    def stands(self) -> bool:
        """True if there is a connection that the agent has not closed."""
        with self._lock:
            return any(not upstream.ended for upstream in self._all)

    def drop(self) -> None:
        """Ends all connections."""
        with self._lock:
            for upstream in self._all:
                upstream.drop()
            self._all.clear()


def _is_at_end(connection: socket.socket) -> bool:
    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
