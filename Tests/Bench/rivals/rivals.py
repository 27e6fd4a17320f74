#!/usr/bin/env python3
"""Measures Lanyard beside oidc-agent and authsome: rivals.py --bin DIRECTORY [--authsome 'COMMAND…'] [--json FILE]

One practice provider on loopback that rotates refresh tokens strictly, and each program with a home of its own, signed in as
the same person. What is measured stands beside each part below; a program that is not installed is left out, with why.
COMMAND is a Python that has authsome, which needs 3.13 or later: `make bench-rivals` installs it where there is one. For
another machine: `chroot DIRECTORY /opt/authsome/bin/python`. Git Credential Manager is in neither Debian nor PyPI, and is not
measured. docs/rivals.md says what the rows mean; `tables.py` writes the figures there.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import random
import shlex
import statistics
import sys
import time
from typing import Any, Callable, Dict, List

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
sys.path[:0] = [HERE, os.path.dirname(HERE), os.path.join(ROOT, "Clients", "python", "src")]

import tables  # noqa: E402
from practice import Provider  # noqa: E402
from subjects import Answer, Authsome, GitCredentialManager, Lanyard, OIDCAgent, Subject  # noqa: E402

CALLERS = 50
CACHED_CALLS = 200
LONG_SECONDS, SHORT_SECONDS = 3600, 2
REVOKED_LATER_SECONDS = 90
BACK_SECONDS = 60


class Bench:
    def __init__(self, demo: str, kills: int, seed: int) -> None:
        self.demo, self.kills, self.random = demo, kills, random.Random(seed)

    def signed_in(self, subject: Subject, provider: Provider, lifetime: int) -> None:
        provider.lifetime(lifetime)
        subject.start(provider.issuer)

    def expired(self, subject: Subject, provider: Provider) -> None:
        """Signs in, and waits until the access token has expired. The next one lives long."""
        self.signed_in(subject, provider, SHORT_SECONDS)
        provider.lifetime(LONG_SECONDS)
        time.sleep(SHORT_SECONDS + 0.5)

    def alive(self, subject: Subject, provider: Provider) -> bool:
        """True if the program gives a token that the resource takes, within a minute: it may wait before it asks again,
        where no answer came to a request. The provider must not have ended the session afterwards, either."""
        began = time.monotonic()
        while not provider.ended() and time.monotonic() - began < BACK_SECONDS:
            answer = subject.token()
            if answer.ok and provider.accepts(answer.told.split()[-1]):
                return provider.ended() is None
            time.sleep(0.5)
        return False

    def cached(self, subject: Subject, provider: Provider) -> Dict[str, Any]:
        """A token that is there already: by a command of its own, and by a program that runs. Then the memory, as Pss of
        all its processes."""
        self.signed_in(subject, provider, LONG_SECONDS)
        subject.token()
        command = subject.by_command(CACHED_CALLS)
        connection = subject.by_connection(CACHED_CALLS)
        memory = sum(pss_kb(pid) for pid in subject.pids())
        return {
            "commandMilliseconds": None if command is None else milliseconds(command),
            "connectionMilliseconds": milliseconds(connection),
            "memoryMB": round(memory / 1024, 1),
        }

    def burst(self, subject: Subject, provider: Provider) -> Dict[str, Any]:
        """Fifty callers at once, whose access token has expired."""
        self.expired(subject, provider)
        before = provider.refreshes()
        began = time.perf_counter()
        answers = subject.together(CALLERS)
        seconds = time.perf_counter() - began
        return {
            "callers": CALLERS, "refreshes": provider.refreshes() - before,
            "tokens": sum(answer.ok and provider.accepts(answer.told.split()[-1]) for answer in answers),
            "seconds": round(seconds, 2), "sessionAlive": self.alive(subject, provider),
        }

    def kill(self, subject: Subject, provider: Provider) -> Dict[str, Any]:
        """kill -9 at random moments of a refresh, between its begin and a little after its usual end."""
        self.expired(subject, provider)
        usual = subject.token().seconds
        subject.stop()
        kept = 0
        reasons: List[str] = []
        for _ in range(self.kills):
            self.expired(subject, provider)
            subject.kill_amid_a_refresh(self.random.uniform(0, 1.5 * usual))
            subject.restart()
            if self.alive(subject, provider):
                kept += 1
            else:
                reasons.append(provider.ended() or "the program gave none")
            subject.stop()
        return {"kills": self.kills, "alive": kept, "withinMilliseconds": round(1500 * usual, 1), "lost": sorted(reasons)}

    def unreachable(self, subject: Subject, provider: Provider) -> Dict[str, Any]:
        """A token is wanted while the provider closes every connection, and again once it is back."""
        self.expired(subject, provider)
        provider.unreachable("/token", "/.well-known/openid-configuration", "/jwks")
        answer: Answer = subject.token()
        provider.reachable()
        later, waited = subject.token(), 0.0
        began = time.monotonic()
        while not later.ok and (waited := time.monotonic() - began) < BACK_SECONDS:
            time.sleep(0.5)
            later = subject.token()
        return {
            "exitStatus": answer.status, "told": "" if answer.ok else answer.told.splitlines()[0][:160],
            "seconds": round(answer.seconds, 2), "sessionKept": later.ok, "backAfterSeconds": round(waited),
        }

    def sign_out(self, subject: Subject, provider: Provider) -> Dict[str, Any]:
        """A sign-out while the provider can't be reached: is the session ended there later?"""
        self.signed_in(subject, provider, LONG_SECONDS)
        provider.unreachable("/revoke", "/token", "/.well-known/openid-configuration", "/jwks")
        answer = subject.sign_out()
        provider.reachable()
        began = time.monotonic()
        while not provider.ended() and time.monotonic() - began < REVOKED_LATER_SECONDS:
            time.sleep(0.5)
        revoked = provider.ended() is not None
        return {
            "exitStatus": answer.status, "told": (answer.told.splitlines() or [""])[0][:160], "revokedLater": revoked,
            "afterSeconds": round(time.monotonic() - began, 1) if revoked else None,
        }

    PARTS = ("cached", "burst", "kill", "unreachable", "sign_out")

    def measure(self, subject: Subject, parts: List[str]) -> Dict[str, Any]:
        found: Dict[str, Any] = {"version": subject.version}
        for part in parts:
            print(f"{subject.name}: {part} …", file=sys.stderr, flush=True)
            with Provider(self.demo) as provider:
                measured: Callable[[Subject, Provider], Dict[str, Any]] = getattr(self, part)
                try:
                    found[part] = measured(subject, provider)
                finally:
                    if part != "kill":
                        subject.stop()
            print(f"  {json.dumps(found[part])}", file=sys.stderr, flush=True)
        return found


def milliseconds(seconds: List[float]) -> float:
    return round(1000 * statistics.median(seconds), 3)


def pss_kb(pid: int) -> int:
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pss:"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--authsome", default="")
    parser.add_argument("--json")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=Bench.PARTS)
    parser.add_argument("--subject", action="append", help="lanyard, oidc-agent, authsome; default: all")
    options = parser.parse_args()
    bench = Bench(f"{options.bin}/lanyard-demo", options.kills, options.seed)
    subjects: List[Subject] = [
        Lanyard(options.bin), OIDCAgent(), Authsome(shlex.split(options.authsome)), GitCredentialManager()]
    results: Dict[str, Dict[str, Any]] = {}
    left_out: Dict[str, str] = {}
    for subject in subjects:
        if options.subject and subject.name.lower() not in options.subject:
            continue
        if subject.missing:
            left_out[subject.name] = subject.missing
            continue
        results[subject.name] = bench.measure(subject, options.only or list(Bench.PARTS))
    figures = {
        "command": "make bench-rivals", "date": datetime.date.today().isoformat(),
        "machine": f"{os.cpu_count()} CPUs, {platform.system()} {platform.machine()}", "seed": options.seed,
        "measured": results, "notMeasured": left_out,
    }
    print(tables.table(figures, tables.LONG))
    for name, why in left_out.items():
        print(f"{name}: not measured here: {why}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=2)
            file.write("\n")


if __name__ == "__main__":
    main()
