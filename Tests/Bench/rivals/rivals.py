#!/usr/bin/env python3
"""Measures Lanyard beside oidc-agent, authsome and Git Credential Manager:

    rivals.py --bin DIRECTORY [--authsome 'COMMAND…'] [--git-credential-manager PROGRAM] [--json FILE]

One practice provider on loopback that rotates refresh tokens strictly, and each program with a home of its own, signed in as
the same person. What is measured stands beside each part below; a program that is not installed is left out, with why.
COMMAND is a Python that has authsome, which needs 3.13 or later: `make bench-rivals` installs it where there is one. For
another machine: `chroot DIRECTORY /opt/authsome/bin/python`. docs/rivals.md says what the rows mean; `tables.py` writes the
figures there.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import platform
import random
import shlex
import statistics
import sys
import time
from typing import Any, Callable, Dict, List, Optional

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
sys.path[:0] = [HERE, os.path.dirname(HERE), os.path.join(ROOT, "Clients", "python", "src")]

import tables  # noqa: E402
from practice import Provider  # noqa: E402
from subjects import Answer, Authsome, GitCredentialManager, Lanyard, OIDCAgent, Subject  # noqa: E402

CALLERS = 50
ROUNDS, CALLS_OF_A_ROUND = 20, 20
LONG_SECONDS, SHORT_SECONDS = 3600, 2
REVOKED_LATER_SECONDS = 90
BACK_SECONDS = 60


class Bench:
    def __init__(self, demo: str, kills: int, seed: int) -> None:
        self.demo, self.kills, self.random = demo, kills, random.Random(seed)

    def signed_in(self, subject: Subject, provider: Provider, lifetime: int) -> None:
        provider.mark()
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

    def cached(self, subjects: List[Subject]) -> Dict[str, Dict[str, Any]]:
        """A token that is there already: by a command of its own, and by a program that runs. All programs are there at
        once, and their rounds are interleaved. Then the memory, as Rss of all processes."""
        found: Dict[str, Dict[str, Any]] = {}
        commands: Dict[str, List[float]] = {subject.name: [] for subject in subjects}
        connections: Dict[str, List[float]] = {subject.name: [] for subject in subjects}

        def milliseconds(rounds: List[float]) -> Optional[float]:
            # The round that other work disturbed least.
            return round(1000 * min(rounds), 3) if rounds else None

        with contextlib.ExitStack() as stack:
            for subject in subjects:
                self.signed_in(subject, stack.enter_context(Provider(self.demo)), LONG_SECONDS)
                stack.callback(subject.stop)
                subject.token()
            for _ in range(ROUNDS):
                for subject in subjects:
                    if calls := subject.by_command(CALLS_OF_A_ROUND):
                        commands[subject.name].append(statistics.median(calls))
                    if calls := subject.by_connection(CALLS_OF_A_ROUND):
                        connections[subject.name].append(statistics.median(calls))
            for subject in subjects:
                pids = subject.pids()
                found[subject.name] = {
                    "commandMilliseconds": milliseconds(commands[subject.name]),
                    "connectionMilliseconds": milliseconds(connections[subject.name]),
                    "memoryMB": round(sum(rss_kb(pid) for pid in pids) / 1024, 1) if pids else None,
                }
        return found

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
        """kill -9 at random moments after a caller asked for a token that must be refreshed: half of them in the first
        tenth of a second, in which the refresh is, and half in the rest of the second."""
        kept = 0
        lost: List[str] = []
        for number in range(self.kills):
            early = number % 2 == 0
            seconds = self.random.uniform(0, 0.1) if early else self.random.uniform(0.1, 1)
            self.expired(subject, provider)
            try:
                subject.kill_amid_a_refresh(seconds)
                subject.restart()
                if self.alive(subject, provider):
                    kept += 1
                else:
                    lost.append(f"after {1000 * seconds:.0f} ms: {provider.ended() or 'it gave no token'}")
            finally:
                subject.stop()
        return {"kills": self.kills, "alive": kept, "lost": lost}

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
        for part in (part for part in parts if part != "cached"):
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


def rss_kb(pid: int) -> int:
    """Pss would depend on who else runs the same program."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--authsome", default="")
    parser.add_argument("--git-credential-manager", default="")
    parser.add_argument("--json", help="where the figures go; with --only or --subject the others of it stay")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=Bench.PARTS)
    parser.add_argument("--subject", action="append", help="the name of one, in small letters; default: all")
    options = parser.parse_args()
    bench = Bench(f"{options.bin}/lanyard-demo", options.kills, options.seed)
    subjects: List[Subject] = [
        Lanyard(options.bin), OIDCAgent(), Authsome(shlex.split(options.authsome)),
        GitCredentialManager(options.git_credential_manager),
    ]
    wanted = [subject for subject in subjects if not options.subject or subject.name.lower() in options.subject]
    left_out = {subject.name: subject.missing for subject in wanted if subject.missing}
    here = [subject for subject in wanted if not subject.missing]
    parts = options.only or list(Bench.PARTS)
    results = {subject.name: bench.measure(subject, parts) for subject in here}
    if "cached" in parts:
        for name, found in bench.cached(here).items():
            results[name]["cached"] = found
            print(f"{name}: {json.dumps(found)}", file=sys.stderr, flush=True)
    if (options.only or options.subject) and options.json and os.path.exists(options.json):
        # What is not measured again stays.
        with open(options.json, encoding="utf-8") as file:
            before = json.load(file)["measured"]
        results = {name: {**before.get(name, {}), **results.get(name, {})} for name in {**before, **results}}
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
