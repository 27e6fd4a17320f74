"""README.md's table of scenarios names tests that exist, and each name but for its dashes."""

from __future__ import annotations

import glob
import os
import re
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


def tests() -> "set[str]":
    """Every test of this folder, as `Class.name`."""
    found = set()
    for path in glob.glob(os.path.join(HERE, "test_*.py")):
        with open(path, encoding="utf-8") as source:
            name = ""
            for line in source:
                if begun := re.match(r"class (\w+)", line):
                    name = begun.group(1)
                elif begun := re.match(r"    def (test_\w+)", line):
                    found.add(f"{name}.{begun.group(1)}")
    return found


class ChecklistTests(unittest.TestCase):
    def test_everyTestOfTheTable_exists(self) -> None:
        with open(os.path.join(HERE, "README.md"), encoding="utf-8") as page:
            rows = [line.split("|") for line in page if line.startswith("| `")]
        scenarios = [row for row in rows if len(row) == 5 and "/" not in row[1] or "auth/" in row[1]]
        self.assertGreater(len(scenarios), 35)
        known = tests()
        for row in scenarios:
            with self.subTest(row[1].strip()):
                named = re.findall(r"`(\w+Tests\.test_\w+)`", row[3])
                self.assertLessEqual(set(named), known)
                if named:
                    scenario = re.search(r"`([^`]+)`", row[1])
                    assert scenario is not None
                    wanted = "test_" + re.sub(r"\W", "_", scenario.group(1))
                    self.assertTrue(any(name.split(".")[1].startswith(wanted) for name in named), wanted)
                else:
                    self.assertRegex(row[3], "do(es)? not apply|a complaint|not supported")


if __name__ == "__main__":
    unittest.main()
