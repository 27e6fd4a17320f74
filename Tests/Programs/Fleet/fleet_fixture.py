"""What the tests of an organisation's parts share."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "Integration"))


def real(name: str, package: str) -> str:
    """The path of a program from a Debian package; the test is skipped without it, unless LANYARD_REQUIRE_REAL=1."""
    found = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if found is None and os.environ.get("LANYARD_REQUIRE_REAL") == "1":
        raise RuntimeError(f"{name} is missing here (Debian: {package})")
    if found is None:
        raise unittest.SkipTest(f"NOT TESTED: {name} is missing here (Debian: {package})")
    return found


def free_port() -> int:
    """A port of loopback that nothing used a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
