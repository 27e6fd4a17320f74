"""Every promise in SECURITY.md names existing tests."""

import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
NAME = re.compile(r"`(test_\w+|[a-z]\w*[A-Z]\w*)`")


def tests():
    """The names of all tests: Python methods, and Swift functions marked `@Test`."""
    found = set()
    for directory, _, files in os.walk(os.path.join(ROOT, "Tests")):
        for name in files:
            if not name.endswith((".py", ".swift")):
                continue
            with open(os.path.join(directory, name), encoding="utf-8") as file:
                text = file.read()
            if name.endswith(".py"):
                found.update(re.findall(r"^    def (test_\w+)\(", text, re.M))
            else:
                found.update(re.findall(r"@Test(?:\([^@]*?\))?\s+func (\w+)\(", text))
    return found


class Security(unittest.TestCase):
    def test_each_promise_names_existing_tests(self):
        with open(os.path.join(ROOT, ".github", "SECURITY.md"), encoding="utf-8") as file:
            promises = file.read().split("| promise | shown by |", 1)[1].splitlines()[2:]
        known = tests()
        for row in promises:
            if not row.startswith("|"):
                continue
            promise, shown_by = row.strip("| ").split(" | ")
            names = NAME.findall(shown_by)
            with self.subTest(promise=promise):
                self.assertGreater(len(names), 0)
                self.assertEqual([name for name in names if name not in known], [])


if __name__ == "__main__":
    unittest.main()
