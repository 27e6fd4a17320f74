#!/usr/bin/env python3
"""Tests of .ci/version."""

import importlib.machinery
import importlib.util
import os
import re
import shutil
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


def load():
    loader = importlib.machinery.SourceFileLoader("version", os.path.join(HERE, "version"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("version", loader))
    loader.exec_module(module)
    return module


class VersionTests(unittest.TestCase):
    def setUp(self):
        self.version = load()
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)
        for path in {path for path, _ in self.version.places(self.version.ROOT)} | {"CHANGELOG.md"}:
            os.makedirs(os.path.dirname(os.path.join(self.root, path)), exist_ok=True)
            shutil.copy(os.path.join(self.version.ROOT, path), os.path.join(self.root, path))

    def change(self, path, old, new):
        text = self.version.read(self.root, path)
        self.assertRegex(text, old)
        with open(os.path.join(self.root, path), "w", encoding="utf-8") as file:
            file.write(re.sub(old, new, text))

    def test_new_version_is_written_into_every_file(self):
        self.version.write("7.8.9", self.root)
        self.assertEqual(self.version.version(self.root), "7.8.9")
        self.assertEqual(self.version.problems(self.root), [])
        for path, where in self.version.PLACES:
            self.assertRegex(self.version.read(self.root, path), where.replace("(V)", "7\\.8\\.9"))

    def test_file_that_says_another_one_is_named(self):
        self.change("Clients/go/client.go", 'Version = ".*"', 'Version = "0.0.7"')
        (problem,) = self.version.problems(self.root)
        self.assertIn("Clients/go/client.go says 0.0.7", problem)

    def test_file_that_says_none_is_named(self):
        self.change("Clients/go/client.go", 'Version = ".*"', 'Version = ""')
        (problem,) = self.version.problems(self.root)
        self.assertIn("Clients/go/client.go: no version stands", problem)

    def test_changelog_of_a_later_release_is_named(self):
        self.change("CHANGELOG.md", r"## \[Unreleased\]", "## 99.0.0 - 2030-01-01")
        (problem,) = self.version.problems(self.root)
        self.assertIn("CHANGELOG.md has the release 99.0.0", problem)

    def changelog(self, text):
        with open(os.path.join(self.root, "CHANGELOG.md"), "w", encoding="utf-8") as file:
            file.write("# Changelog\n\n" + text)

    def test_notes_are_the_section_of_the_version_with_and_without_brackets(self):
        version = self.version.version(self.root)
        for heading in (f"{version} - 2030-01-01", f"[{version}] - 2030-01-01"):
            self.changelog(f"## [Unreleased]\n\n## {heading}\n\nWords.\n\n### Tokens\n\n- One.\n\n## 0.0.1 - 2029-01-01\n\nOld.\n")
            self.assertEqual(self.version.notes(self.root), "Words.\n\n### Tokens\n\n- One.")

    def test_notes_of_a_changelog_that_is_not_cut_are_refused(self):
        version = self.version.version(self.root)
        released = f"## {version} - 2030-01-01\n\n"
        for text, words in (("## [Unreleased]\n\n- One.\n\n" + released + "- Two.\n", "under Unreleased"),
                            (released + "## 0.0.1 - 2029-01-01\n\n- Old.\n", "it is empty"),
                            (f"## {version}\n\n- One.\n", "no section"),
                            ("## [Unreleased]\n", "no section")):
            self.changelog(text)
            with self.assertRaisesRegex(SystemExit, words):
                self.version.notes(self.root)


if __name__ == "__main__":
    unittest.main()
