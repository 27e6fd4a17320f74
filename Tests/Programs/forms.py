"""The two forms of a suite: the quick one shows every promise and each tool once, the whole one adds what is marked here.

`.ci/suites.py` chooses. By hand, every test runs.
"""

from __future__ import annotations

import os
import unittest
from typing import TypeVar

IS_QUICK = os.environ.get("LANYARD_TIER") == "quick"

Marked = TypeVar("Marked")


def in_whole_form(test: Marked) -> Marked:
    """Marks a test, or all tests of a class, that the quick form of its suite leaves out.

    `test_security.py` sees to it that none of them shows a promise of SECURITY.md.
    """
    marked: Marked = unittest.skipIf(IS_QUICK, "in the whole form alone, since no change touches what it shows")(test)
    return marked
