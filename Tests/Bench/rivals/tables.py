#!/usr/bin/env python3
"""Writes the tables of README.md and docs/rivals.md out of docs/rivals.json, which `make bench-rivals` measured: tables.py

With `--check` it writes nothing, and ends with 1 where a table differs.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any, Callable, Dict, List, Tuple

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
FIGURES = "docs/rivals.json"

Found = Dict[str, Any]
Row = Tuple[str, Callable[[Found], str]]


def yes(value: Any) -> str:
    return "yes" if value else "**no**"


def by_command(found: Found) -> str:
    milliseconds = found["cached"]["commandMilliseconds"]
    return "has none" if milliseconds is None else f"{milliseconds:.1f} ms"


def by_connection(found: Found) -> str:
    milliseconds = found["cached"]["connectionMilliseconds"]
    return "has none" if milliseconds is None else f"{milliseconds:.2f} ms"


def memory(found: Found) -> str:
    megabytes = found["cached"]["memoryMB"]
    return "none runs" if megabytes is None else f"{megabytes:.0f} MB"


def status(found: Found) -> str:
    told = found["unreachable"]["exitStatus"]
    return "no command" if told is None else str(told)


def back(found: Found) -> str:
    measured = found["unreachable"]
    if not measured["sessionKept"]:
        return "**no**"
    return "yes, a token at once" if measured["backAfterSeconds"] < 1 else f"yes, a token after {measured['backAfterSeconds']} s"


def revoked(found: Found) -> str:
    measured = found["sign_out"]
    return f"yes, after {measured['afterSeconds']:.0f} s" if measured["revokedLater"] else "**no**"


BURST: List[Row] = [
    ("50 callers at once find the token expired: refreshes", lambda found: str(found["burst"]["refreshes"])),
    ("… of them got a token that works", lambda found: f"{found['burst']['tokens']} of {found['burst']['callers']}"),
    ("… and the session is alive afterwards", lambda found: yes(found["burst"]["sessionAlive"])),
]
KILL: Row = (
    "sessions alive after `kill -9` amid a refresh", lambda found: f"{found['kill']['alive']} of {found['kill']['kills']}")
REVOKED: Row = (
    "signed out without a network: the session is ended at the provider once there is one", revoked)
MEMORY: Row = ("memory of its processes", memory)
SHORT: List[Row] = [("a cached token by a command", by_command), *BURST, KILL, REVOKED, MEMORY]
LONG: List[Row] = [
    ("a cached token by a command", by_command),
    ("a cached token by a program that runs", by_connection),
    *BURST,
    KILL,
    ("the provider drops each connection: exit status of the command", status),
    ("… and the session is kept", back),
    REVOKED,
    MEMORY,
]


def table(figures: Found, rows: List[Row]) -> str:
    """Markdown, a column for each program that was measured."""
    measured: Dict[str, Found] = figures["measured"]
    lines = ["| | " + " | ".join(f"{name} {found['version']}" for name, found in measured.items()) + " |",
             "|---|" + "---|" * len(measured)]
    for title, shown in rows:
        cells = [shown(found) if all_there(shown, found) else "–" for found in measured.values()]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def all_there(shown: Callable[[Found], str], found: Found) -> bool:
    """False for a part that was not measured (`--only`)."""
    try:
        shown(found)
        return True
    except KeyError:
        return False


def filled(text: str, figures: Found) -> str:
    for name, rows in (("short", SHORT), ("long", LONG)):
        text = re.sub(
            rf"(<!-- rivals: {name} -->\n).*?(<!-- rivals: end -->)",
            lambda mark: f"{mark[1]}{table(figures, rows)}\n{mark[2]}", text, flags=re.S)
    return text


def main() -> int:
    with open(os.path.join(ROOT, FIGURES), encoding="utf-8") as file:
        figures = json.load(file)
    differing = []
    for path in ("README.md", "docs/rivals.md"):
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            text = file.read()
        wanted = filled(text, figures)
        if "--check" in sys.argv[1:]:
            if wanted != text or "<!-- rivals: " not in text:
                differing.append(path)
        else:
            with open(os.path.join(ROOT, path), "w", encoding="utf-8") as file:
                file.write(wanted)
    for path in differing:
        print(f"{path}: its table differs from {FIGURES}; `Tests/Bench/rivals/tables.py` writes it")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
