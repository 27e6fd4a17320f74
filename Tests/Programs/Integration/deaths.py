"""Agents with a preloaded library (faultline.c) that counts write calls, and kills the agent or fails a call."""

import contextlib
import os
import random
import re
import shutil
import sqlite3
import subprocess
import tempfile
import time
from typing import Any, List, NamedTuple

from agent_fixture import AgentFixture, Preloaded

ALL = os.environ.get("LANYARD_KILLS") == "all"
# The points move with each run; `make nightly` takes all.
SAMPLE = 8


class Point(NamedTuple):
    """A fault at the nth write call."""

    number: int
    how: str

    @property
    def done(self) -> int:
        """The number of calls completed before the fault."""
        return self.number if self.how == "after" else self.number - 1


def kills(calls: List[str]) -> List[Point]:
    """A death before, in and after each write call of an undisturbed run."""
    return [
        Point(number, how)
        for number, line in enumerate(calls, 1)
        for how in (("before", "torn", "after") if "write" in line else ("before", "after"))
    ]


class Faulty(Preloaded):
    """An agent whose writes are counted while it is `watched`."""

    def __init__(self, all_calls: bool = False) -> None:
        super().__init__()
        self.watched = True
        self.all_calls = all_calls
        self.plan = self.beside_the_socket("plan")
        self.count = self.beside_the_socket("count")

    @property
    def command(self):
        command = super().command
        return command if self.watched else command[3:]

    @property
    def environment(self):
        environment = super().environment
        if not self.watched:
            return environment
        return {
            **environment,
            "LANYARD_FAULT_UNDER": f"{self.state}:{os.path.join(self.directory, 'home')}",
            "LANYARD_FAULT_PLAN": self.plan,
            "LANYARD_FAULT_COUNT": self.count,
            **({"LANYARD_FAULT_ALL": "1"} if self.all_calls else {}),
        }

    def arm(self, point: Point) -> None:
        with open(self.plan + ".new", "w") as plan:
            plan.write(f"{point.number} {point.how}")
        os.rename(self.plan + ".new", self.plan)

    def disarm(self) -> None:
        os.remove(self.plan)

    def counted(self) -> List[str]:
        with open(self.count) as count:
            # The anchor's file name is the database's id, which differs in each run.
            text = re.sub(r"\b[0-9a-f]{32}\b", "anchor", count.read())
        return [line.split(" ", 1)[1] for line in text.splitlines()]


def is_sound(state: str) -> bool:
    """Checks the integrity of a copy of the store, so that the check itself repairs nothing."""
    with tempfile.TemporaryDirectory() as copy:
        for name in os.listdir(state):
            if name.startswith("lanyard.sqlite"):
                shutil.copy(os.path.join(state, name), copy)
        with contextlib.closing(sqlite3.connect(os.path.join(copy, "lanyard.sqlite"))) as store:
            return store.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


class Sampled(AgentFixture):
    """Tests that take some of the cases, by a seed that a failure prints; LANYARD_KILLS=all takes all cases."""

    def setUp(self) -> None:
        super().setUp()
        self.seed = int(os.environ.get("LANYARD_SEED", time.time_ns() % 1_000_000))
        self.chance = random.Random(self.seed)

    def some(self, cases: List[Any], number: int = SAMPLE) -> List[Any]:
        """In their order."""
        if ALL or len(cases) <= number:
            return cases
        return [cases[index] for index in sorted(self.chance.sample(range(len(cases)), number))]


class Deaths(Sampled):
    """Tests that kill at some of the points."""

    @classmethod
    def setUpClass(cls):
        cls.libraries = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.libraries.cleanup)
        Faulty.library = os.path.join(cls.libraries.name, "faultline.so")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "faultline.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-o", Faulty.library, source, "-ldl"], check=True)

    def tell(self, figures: str) -> None:
        if ALL:
            print(f"\n{figures}", end=" ", flush=True)
