"""`check-links` finds what is wrong, and lets pass what is right."""

import os
import subprocess
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check-links")

TOKENS = "# Tokens\n\n## Unknown outcome\n\n## `Journal`\n\nText.\n\n## Journal\n"


class CheckLinks(unittest.TestCase):
    def problems(self, **files):
        """The script's output for a directory with `docs/tokens.md` and these files."""
        with tempfile.TemporaryDirectory() as root:
            for name, text in {"docs/tokens.md": TOKENS, "README.md": "# Readme\n", **files}.items():
                path = os.path.join(root, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            done = subprocess.run([SCRIPT, root], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
            said = done.stdout.decode().splitlines()
            self.assertEqual(done.returncode, 1 if said else 0)
            return said

    def assert_passes(self, name, text):
        self.assertEqual(self.problems(**{name: text}), [])

    def assert_fails(self, name, text, line, *words):
        problems = self.problems(**{name: text})
        self.assertEqual(len(problems), 1, problems)
        self.assertTrue(problems[0].startswith(f"{name}:{line}: "), problems[0])
        for word in words:
            self.assertIn(word, problems[0])

    def test_links_that_lead_somewhere_pass(self):
        self.assert_passes(
            "docs/other.md",
            "[t](tokens.md) [u](tokens.md#unknown-outcome) [j](tokens.md#journal-1) [here](#other) [up](../README.md)\n"
            "[over two\nlines](tokens.md) [web](https://example.com/none) [dir](../docs)\n\n[ref]: tokens.md\n\n# Other\n")

    def test_a_link_in_code_is_no_link(self):
        self.assert_passes("docs/other.md", "`[a](none.md)`\n\n```\n[a](none.md)\n```\n")

    def test_a_link_to_no_file_fails(self):
        self.assert_fails("docs/other.md", "# A\n\n[a](none.md)\n", 3, "docs/none.md")

    def test_a_link_over_two_lines_to_no_file_fails(self):
        self.assert_fails("docs/other.md", "[over\ntwo](none.md)\n", 2, "docs/none.md")

    def test_a_reference_to_no_file_fails(self):
        self.assert_fails("docs/other.md", "[a]\n\n[a]: none.md\n", 3, "docs/none.md")

    def test_a_link_to_no_heading_fails(self):
        self.assert_fails("docs/other.md", "[a](tokens.md#outbox)\n", 1, "#outbox")
        self.assert_fails("docs/other.md", "[a](#outbox)\n", 1, "#outbox")

    TABLE = "## Where is X\n\n| looking for | files |\n|---|---|\n"

    def test_a_row_that_names_one_file_passes(self):
        files = {"Sources/A/Vault.swift": "", "Sources/A/Pause.swift": "", "Sources/B/Pause.swift": ""}
        for row in ("`Vault`", "`Pause` in `Sources/A`", "`Sources/B/Pause.swift`", "`Vault.swift`, not `agent.hello`"):
            self.assertEqual(self.problems(**files, **{"docs/map.md": f"{self.TABLE}| sealing | {row} |\n"}), [], row)

    def test_a_row_that_names_no_file_or_several_fails(self):
        files = {"Sources/A/Vault.swift": "", "Sources/A/Pause.swift": "", "Sources/B/Pause.swift": ""}
        for row, word in (
                ("`Sources/A`", "names no file"), ("`Vault` and `Pause`", "2 files are named `Pause.swift`"),
                ("`Vault` and `Gone`", "no files are named `Gone.swift`")):
            (problem,) = self.problems(**files, **{"docs/map.md": f"{self.TABLE}| sealing | {row} |\n"})
            self.assertTrue(problem.startswith("docs/map.md:5: "), problem)
            self.assertIn(word, problem)

    def test_citations_of_sections_pass(self):
        self.assert_passes(
            "Sources/A.swift",
            "/// Sent once (docs/tokens.md, Journal). See docs/tokens.md, which says more.\n"
            "/// What is unknown (RFC 6749 §5.2; docs/tokens.md,\n  /// Unknown outcome: replay).\n"
            "// A line that ends in a name (docs/tokens.md, Unknown\n// outcome).\n")

    def test_a_citation_of_no_document_fails(self):
        self.assert_fails("Sources/A.swift", "\n/// Sent once (docs/token.md, Journal).\n", 2, "docs/token.md")

    def test_a_citation_of_no_section_fails(self):
        self.assert_fails("Sources/A.swift", "/// Sent once (docs/tokens.md, Journals).\n", 1, "Journals")
        self.assert_fails("Tests/a.py", "# Sent once (docs/tokens.md,\n# Ledger).\n", 1, "Ledger")
        self.assert_fails("Makefile", "# docs/tokens.md, Outbox\n", 1, "Outbox")

    def test_a_path_that_does_not_exist_fails(self):
        self.assert_fails("docs/other.md", "See `Sources/None`.\n", 1, "Sources/None")
        self.assert_passes("docs/other.md", "See `docs/tokens.md`, `Schemas/methods/NAME.json` and `Sources/*/README.md`.\n")

    def test_a_swift_file_that_does_not_exist_fails(self):
        self.assert_fails("docs/other.md", "# A\n\nAn entry in `Preset+All.swift` of `AgentCore`.\n", 3, "Preset+All.swift")
        self.assert_passes("docs/other.md", "Write `NAME.swift`.\n")
        files = {"Sources/A/Preset+All.swift": "", "docs/other.md": "An entry in `Preset+All.swift`.\n"}
        self.assertEqual(self.problems(**files), [])

    def test_a_document_that_is_elsewhere_fails(self):
        self.assert_fails("Sources/A.swift", "/// As wanted (DESIGN, Time).\n", 1, "DESIGN")
        self.assert_fails("Sources/A.swift", "/// The contract (API.md, Wire).\n", 1, "API.md")
        self.assert_passes("Sources/A.swift", "/// As README.md says; a redesign, DESIGNATED.\n")


if __name__ == "__main__":
    unittest.main()
