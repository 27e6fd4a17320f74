"""Every promise in SECURITY.md names existing tests, which also the quick form of their suite runs."""

import ast
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


def promises():
    """Each promise with the tests that show it."""
    with open(os.path.join(ROOT, ".github", "SECURITY.md"), encoding="utf-8") as file:
        rows = file.read().split("| promise | shown by |", 1)[1].splitlines()[2:]
    for row in rows:
        if row.startswith("|"):
            promise, shown_by = row.strip("| ").split(" | ")
            yield promise, NAME.findall(shown_by)


def left_out(text):
    """The tests of a Python file that the quick form leaves out: see `in_quick_form`."""
    classes = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}

    def kept(node):
        """The names in its own marks or in those of a class that it inherits; None if it has no mark."""
        for mark in node.decorator_list:
            if isinstance(mark, ast.Call) and getattr(mark.func, "id", "") == "in_quick_form":
                return {name.value for name in mark.args}
        inherited = [kept(classes[base.id]) for base in node.bases if getattr(base, "id", "") in classes]
        return next((names for names in inherited if names == set()), None)

    found = set()
    for node in classes.values():
        names = kept(node)
        if names is not None:
            own = {part.name for part in node.body if isinstance(part, ast.FunctionDef) and part.name.startswith("test_")}
            found |= own - names
    return found


class Security(unittest.TestCase):
    def test_each_promise_names_existing_tests(self):
        known = tests()
        for promise, names in promises():
            with self.subTest(promise=promise):
                self.assertGreater(len(names), 0)
                self.assertEqual([name for name in names if name not in known], [])

    def test_no_test_of_a_promise_is_in_the_whole_form_alone(self):
        found = set()
        for directory, _, files in os.walk(os.path.join(ROOT, "Tests", "Programs")):
            for name in files:
                if name.startswith("test_") and name.endswith(".py"):
                    with open(os.path.join(directory, name), encoding="utf-8") as file:
                        found |= left_out(file.read())
        self.assertIn("test_serverOfFastMCP_withTheClientOfThePackageMCP", found)
        for promise, names in promises():
            with self.subTest(promise=promise):
                self.assertEqual([name for name in names if name in found], [])


if __name__ == "__main__":
    unittest.main()
