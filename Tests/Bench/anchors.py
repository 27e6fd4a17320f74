"""The rollback anchors that agents leave in the kernel's keyring of the user, which no directory holds (keyctl(2)).

A user may have 200 keys, so tests must leave none.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import sqlite3
from typing import Any

_KEYCTL = {"x86_64": 250, "aarch64": 219}.get(platform.machine())
_USER_KEYRING, _PROCESS_KEYRING = -4, -2
_LINK, _UNLINK, _SEARCH = 8, 9, 10


def forget_anchors(directory: str) -> None:
    """Removes the anchors of every store below the directory: of those that lie there, and of those that have an anchor in a
    file there, whatever a test did with the store."""
    for place, _, files in os.walk(directory):
        if "lanyard.sqlite" in files:
            with contextlib.suppress(sqlite3.Error, ValueError):
                _forget(_identifier(os.path.join(place, "lanyard.sqlite")), place)
        if os.path.basename(place) == "anchors":
            for database in {name.split(".")[0] for name in files}:
                _forget(database, place)


def _identifier(store: str) -> str:
    with contextlib.closing(sqlite3.connect(store)) as connection:
        ((database,),) = connection.execute("SELECT databaseID FROM store").fetchall()
    return str(database.hex())


def _forget(database: str, place: str) -> None:
    if _KEYCTL is None:
        return
    call = ctypes.CDLL(None).syscall
    owner = os.stat(place).st_uid
    if owner == os.geteuid():
        _unlink(call, database)
    elif os.geteuid() == 0:
        # A keyring is a user's own. The child makes system calls alone: other threads of this process may hold locks.
        child = os.fork()
        if child == 0:
            try:
                os.setuid(owner)
                _unlink(call, database)
            finally:
                os._exit(0)
        os.waitpid(child, 0)


def _unlink(call: Any, database: str) -> None:
    call(_KEYCTL, _LINK, _USER_KEYRING, _PROCESS_KEYRING)
    for name in (database, database + ":root"):
        key = call(_KEYCTL, _SEARCH, _USER_KEYRING, b"user", b"lanyard:" + name.encode(), 0)
        if key > 0:
            call(_KEYCTL, _UNLINK, key, _USER_KEYRING)
