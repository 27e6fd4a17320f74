"""The rollback anchors that agents leave in the kernel's keyring of the user, which no directory holds (keyctl(2)).

A user may have 200 keys, so tests must leave none.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import sqlite3

_KEYCTL = {"x86_64": 250, "aarch64": 219}.get(platform.machine())
_USER_KEYRING, _PROCESS_KEYRING = -4, -2
_LINK, _UNLINK, _SEARCH = 8, 9, 10


def forget_anchors(directory: str) -> None:
    """Removes the anchors of every store below the directory."""
    for place, _, files in os.walk(directory):
        if "lanyard.sqlite" in files:
            with contextlib.suppress(sqlite3.Error, ValueError):
                _forget(os.path.join(place, "lanyard.sqlite"))


def _forget(store: str) -> None:
    if _KEYCTL is None:
        return
    with contextlib.closing(sqlite3.connect(store)) as connection:
        ((database,),) = connection.execute("SELECT databaseID FROM store").fetchall()
    call = ctypes.CDLL(None).syscall
    call(_KEYCTL, _LINK, _USER_KEYRING, _PROCESS_KEYRING)
    for name in (database.hex(), database.hex() + ":root"):
        key = call(_KEYCTL, _SEARCH, _USER_KEYRING, b"user", b"lanyard:" + name.encode(), 0)
        if key > 0:
            call(_KEYCTL, _UNLINK, key, _USER_KEYRING)
