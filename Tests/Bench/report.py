"""Rows of figures with their goals."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence


@dataclass(frozen=True)
class Goal:
    """A bound on the ratio to the reference (or on the figure itself, where there is no reference)."""

    most: Optional[float] = None
    least: Optional[float] = None

    def __str__(self) -> str:
        return f"≤ {self.most:g}" if self.most is not None else f"≥ {self.least:g}"

    def met_by(self, value: float) -> bool:
        return (self.most is None or value <= self.most) and (self.least is None or value >= self.least)


@dataclass
class Row:
    """One subject in one scenario. With a reference, what counts is the median of the ratios round by round: both of
    a round ran within a second or two, so that the machine's other work weighs on both."""

    scenario: str
    subject: str
    unit: str
    values: List[float]
    reference: Optional[List[float]] = None
    goal: Optional[Goal] = None
    notes: Dict[str, Any] = field(default_factory=dict)

    @property
    def value(self) -> float:
        return statistics.median(self.values)

    @property
    def ratio(self) -> Optional[float]:
        if self.reference is None:
            return None
        return statistics.median(mine / other for mine, other in zip(self.values, self.reference))

    @property
    def met(self) -> Optional[bool]:
        if self.goal is None:
            return None
        return self.goal.met_by(self.value if self.ratio is None else self.ratio)

    def json(self) -> Dict[str, Any]:
        told = {"scenario": self.scenario, "subject": self.subject, "unit": self.unit, "median": self.value}
        told.update({"ratio": self.ratio, "goal": str(self.goal) if self.goal else None, "met": self.met})
        return {**told, "values": self.values, "reference": self.reference, **self.notes}


def table(rows: Sequence[Row]) -> str:
    lines = [("scenario", "subject", "median", "ratio", "goal", "")]
    last = ""
    for row in rows:
        lines.append(
            (
                row.scenario if row.scenario != last else "",
                row.subject,
                f"{row.value:,.{decimals(row.value)}f} {row.unit}",
                "" if row.ratio is None else f"{row.ratio:.2f}",
                str(row.goal) if row.goal else "",
                {None: "", True: "met", False: "NOT MET"}[row.met],
            )
        )
        last = row.scenario
    widths = [max(len(line[column]) for line in lines) for column in range(6)]
    aligned = []
    for line in lines:
        cells = [
            text.rjust(width) if 2 <= i <= 3 else text.ljust(width) for i, (text, width) in enumerate(zip(line, widths))
        ]
        aligned.append("  ".join(cells).rstrip())
    return "\n".join(aligned)


def decimals(value: float) -> int:
    return 0 if value >= 100 or value == 0 else 1 if value >= 10 else 2
