"""The two forms of a suite: the whole one, and a quick one that shows every promise and each tool once.

`.ci/suites.py` chooses. By hand, every test runs.
"""

from __future__ import annotations

import os
import unittest
from typing import Callable, Type, TypeVar

IS_QUICK = os.environ.get("LANYARD_TIER") == "quick"
REASON = "in the whole form alone, since the change touches nothing that it shows"

Tests = TypeVar("Tests", bound=Type[unittest.TestCase])


def in_quick_form(*names: str) -> Callable[[Tests], Tests]:
    """Names the tests of a class that are in the quick form of its suite; all of them are in the whole form. A class that
    does not say it is in both.

    `test_security.py` sees to it that no test of a promise of SECURITY.md is left out.
    """

    def marked(tests: Tests) -> Tests:
        there = unittest.defaultTestLoader.getTestCaseNames(tests)
        if unknown := set(names) - set(there):
            raise ValueError(f"{tests.__name__} has no tests named {', '.join(sorted(unknown))}")
        if IS_QUICK and not names:
            return unittest.skip(REASON)(tests)
        for name in there:
            if IS_QUICK and name not in names:
                setattr(tests, name, unittest.skip(REASON)(getattr(tests, name)))
        return tests

    return marked
