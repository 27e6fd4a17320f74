"""`check-figures` finds a number that the repository contradicts, and lets pass what it does not understand."""

import importlib.machinery
import importlib.util
import json
import os
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check-figures")
LOADER = importlib.machinery.SourceFileLoader("check_figures", SCRIPT)
check_figures = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_figures", LOADER))
LOADER.exec_module(check_figures)

MAKEFILE = """\
SEEDS ?= 10
QUICK_SEEDS ?= 5
NIGHTLY_SEEDS ?= 5000
BUILD := .build

test: build ## Run every test: all that CI runs, in about 15 minutes.
test-quick: build ## Run what takes under three minutes.
nightly:
demo:
"""
CLI = "  let configuration = CommandConfiguration(subcommands: [List.self, Token.self])\n"
TREE = {
    "Makefile": MAKEFILE,
    "docs/figures.json": json.dumps({"targets": {
        "test": {"goalSeconds": 900, "measuredSeconds": 870},
        "test-quick": {"goalSeconds": 180, "measuredSeconds": None},
        "demo": {"goalSeconds": None, "measuredSeconds": None},
    }}),
    "Schemas/lanyard.json": json.dumps({"methods": ["token.get", "token.refresh"], "events": ["agent.locked"]}),
    "Schemas/errors.json": json.dumps({"common": ["busy"], "errors": {"busy": {}, "locked": {}, "offline": {}}}),
    "Schemas/presets/google.json": "{}",
    "Schemas/presets/okta.json": "{}",
    "Clients/go/conformance/faults.json": "[1, 2, 3, 4]",
    "Clients/rust/conformance/faults.json": "[1, 2, 3, 4, 5, 6]",
    "Clients/conformance/cases/calls.py": "@case('one')\ndef one():\n    pass\n\n\n@case('two')\ndef two():\n    pass\n",
    "Sources/Programs/lanyard-cli/LanyardCLI.swift": CLI,
    "Sources/Practice/TranscriptHarness/Transport.swift":
        "public enum Transport: String, CaseIterable {\n  case socket\n  case stdio\n}\n",
    "Sources/Practice/TranscriptHarness/Chunking.swift":
        "public enum Chunking: String, CaseIterable, Sendable {\n  case whole\n  case bytes\n\n  var writes: Int {\n    1\n  }\n}\n",
    "Tests/Practice/FleetTests/FleetTests.swift": "  private static let agents = 2_000\n",
    "Tests/Practice/SimulationTests/Storms.swift": "  @Test(arguments: seeds) func storm() {}\n  @Test func calm() {}\n",
    "Tests/Programs/Proxy/test_ends.py": "class Ends:\n    def test_end(self):\n        pass\n",
    "Tests/Transcripts/token/get.transcript": "",
    "Tests/Transcripts/token/refresh.transcript": "",
    "docs/examples/lanyard-alerts.yml": "rules:\n  - alert: A\n  - alert: B\n",
    "Tests/README.md": (
        "| suite | shows |\n|---|---|\n| `Practice/FleetTests` | a fleet |\n| `Practice/SimulationTests` | schedules |\n"
        "| `Programs/Proxy` | the proxy |\n"),
}


class CheckFigures(unittest.TestCase):
    def problems(self, **files):
        """What the check says of `TREE` with these files."""
        with tempfile.TemporaryDirectory() as root:
            for name, text in {**TREE, **files}.items():
                path = os.path.join(root, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            return check_figures.Check(root).run()

    def assert_passes(self, text):
        self.assertEqual(self.problems(**{"docs/page.md": text}), [])

    def assert_fails(self, text, line, *words):
        problems = self.problems(**{"docs/page.md": text})
        self.assertEqual(len(problems), 1, problems)
        self.assertTrue(problems[0].startswith(f"docs/page.md:{line}: "), problems[0])
        for word in words:
            self.assertIn(word, problems[0])

    def test_a_tree_without_documents_passes(self):
        self.assertEqual(self.problems(), [])

    def test_presets_are_counted(self):
        self.assert_passes("Lanyard knows two presets, that is 2 provider presets.\n")
        self.assert_fails("# A\n\nLanyard knows\nthree known presets.\n", 4, "says 3 presets, and there are 2")

    def test_methods_and_events_are_counted(self):
        self.assert_passes("The 2 methods of the protocol, one events of the contract. Three methods are enough.\n")
        self.assert_fails("The 86 methods of the protocol.\n", 1, "86 methods", "2")
        self.assert_fails("The 22 events of the contract.\n", 1, "22 events", "1")
        self.assert_passes("The protocol has two methods, the contract names one events. Up to 1,024 events wait.\n")
        self.assert_fails("The contract has 5 events.\n", 1, "5 events", "1")
        self.assert_fails("The agent serves five\nmethods.\n", 1, "5 methods", "2")
        self.assert_fails("The contract has two methods and 22 events.\n", 1, "22 events", "1")
        self.assert_fails("In all there are 12 methods.\n", 1, "12 methods", "2")
        self.assert_fails("Twelve methods are there.\n", 1, "12 methods", "2")

    def test_numbers_in_words_are_read(self):
        for word, said in (("Forty", 40), ("Twenty-one", 21), ("ninety", 90), ("sixty-six", 66), ("six", 6)):
            self.assert_fails(f"{word} presets are known.\n", 1, f"says {said} presets, and there are 2")

    def test_tests_are_counted(self):
        self.assert_passes("It has 3 tests, 2 Swift tests, 2 simulation tests and 1 tests of `Programs/Proxy`.\n")
        self.assert_passes("Ten tests of one provider. 40 load tests. Three simulation tests are enough.\n")
        self.assert_fails("It has 907 tests.\n", 1, "907 tests, and there are 3")
        self.assert_fails("Twelve Python tests\nshow it.\n", 1, "12 Python tests, and there are 1")
        self.assert_fails("It has\n5 simulation tests.\n", 2, "5 tests of `Practice/SimulationTests`, and there are 2")
        self.assert_fails("There are 7 tests in `Programs/Proxy`.\n", 1, "7 tests of `Programs/Proxy`, and there are 1")

    def test_transcripts_are_counted(self):
        self.assert_passes("It plays 2 golden transcripts. Three transcripts are enough.\n")
        self.assert_fails("It plays 12 transcripts.\n", 1, "12 transcripts", "2")

    def test_error_codes_are_counted(self):
        self.assert_passes("There are three error codes.\n")
        self.assert_fails("There are 37 error codes.\n", 1, "37 error codes", "3")

    def test_languages_of_clients_are_counted(self):
        self.assert_passes("Clients for two languages come with it. 58 clients that send long lines.\n")
        self.assert_fails("Clients in six languages come with it.\n", 1, "says 6 languages", "2")
        self.assert_fails("They are in Swift; a client for Python comes with them.\n", 1, "says 1 languages", "2")

    def test_manual_pages_are_counted(self):
        self.assert_passes("It installs 4 manual pages.\n")
        self.assert_fails("It installs 5 manual pages.\n", 1, "5 manual pages", "4")

    def test_planted_faults_are_counted(self):
        self.assert_passes("`make nightly` plants 4 to 6 faults in each client.\n")
        self.assert_fails("It plants 3 to 6 faults.\n", 1, "fewest")
        self.assert_fails("It plants 4 to 13 faults.\n", 1, "most")

    def test_conformance_cases_are_counted(self):
        table = "| client | cases passed | calls |\n|---|---|---|\n| Go | {} | 1 |\n| shell | 1 of 1: it has one connection | 2 |\n"
        self.assert_passes(table.format("2 of 2"))
        self.assert_fails(table.format("1 of 1"), 1, "1 conformance cases", "2")
        self.assert_fails(table.format("3 of 2"), 3, "3 of 2")

    def test_alert_rules_are_counted(self):
        self.assert_passes("[`lanyard-alerts.yml`](examples/lanyard-alerts.yml) has two rules.\n")
        self.assert_fails("[`lanyard-alerts.yml`](examples/lanyard-alerts.yml) has three rules.\n", 1, "3 alert rules")

    def test_simulated_agents_are_counted(self):
        self.assert_passes("Tests with 2,000 agents hold it; ten thousand agents don't.\n")
        self.assert_fails("What a fleet of 10,000 agents does.\n", 1, "10000", "2000")

    def test_ways_of_transcripts_are_counted(self):
        self.assert_passes("It plays two of the four ways of a transcript. A path that servers read in two ways.\n")
        self.assert_fails("Each transcript is played in nine ways.\n", 1, "9 ways", "4")
        self.assert_fails("It plays three of the nine ways of a transcript.\n", 1, "9 ways", "4")

    def test_seeds_are_those_of_the_makefile(self):
        self.assert_passes("`make test` runs 10 seeds, `make test-quick` runs 5,\n`make nightly` 5,000.\n")
        self.assert_fails("`make test`\nruns 40 seeds of a scenario.\n", 1, "40 seeds of `make test`", "10")
        self.assert_fails("`make test-quick` runs 10 seeds.\n", 1, "`make test-quick`", "5")
        self.assert_fails("Of seeds `make nightly` runs 100.\n", 1, "`make nightly`", "5000")

    def test_durations_agree_with_what_was_measured(self):
        self.assert_passes("`make test` takes about a quarter of an hour. `make test-quick` takes under 3 minutes.\n")
        self.assert_passes("`make test` takes less than half an hour.\n\n```sh\nmake test  # 15 minutes on two cores\n```\n")
        self.assert_fails("`make test` takes half an hour.\n", 1, "half an hour", "870 s (measured)")
        self.assert_fails("`make test` takes less than 10 minutes.\n", 1, "less than 10 minutes")
        self.assert_fails("`make test` takes at least 20 minutes.\n", 1, "at least 20 minutes")
        self.assert_fails("`make test-quick` takes 10 minutes.\n", 1, "180 s (the goal)")
        self.assert_fails("```sh\nmake build\n```\n", 2, "no target `build`")
        self.assert_fails("```sh\n$ make test   # half an hour and more on two cores\n```\n", 2, "half an hour and more")

    def test_a_duration_in_brackets_or_as_a_length_is_judged(self):
        self.assert_passes("Run `make test` (about 15 minutes). `make test` is 14 minutes long, and done in half a minute.\n")
        self.assert_fails("Run `make test` (40 minutes, on two cores).\n", 1, "40 minutes", "870 s")
        self.assert_fails("`make test` is forty-one minutes long.\n", 1, "forty-one minutes", "870 s")
        self.assert_fails("`make test-quick` is done in half a minute.\n", 1, "half a minute", "180 s")

    def test_a_duration_in_a_row_about_a_target_is_judged(self):
        table = "| target | runs | before | goal |\n|---|---|---|---|\n| `make test` | {} | 41 minutes | 5 minutes |\n"
        self.assert_passes(table.format("all, in under half an hour"))
        self.assert_fails(table.format("all, in under ten minutes"), 3, "under ten minutes", "870 s")
        self.assert_passes("| target | before | after | now |\n|---|---|---|---|\n| `make test` | 9 s | 40 minutes | 1 s |\n")
        self.assert_passes("| where | takes |\n|---|---|\n| beside `make test` | 40 minutes |\n")

    def test_a_target_without_a_figure_is_not_judged(self):
        self.assert_passes("`make demo` takes an hour. A provider waits a minute after `make test` has begun.\n")

    def test_help_of_the_makefile_agrees_with_what_was_measured(self):
        problems = self.problems(Makefile=MAKEFILE.replace("in about 15 minutes", "in less than ten minutes"))
        self.assertEqual(len(problems), 1, problems)
        self.assertTrue(problems[0].startswith("Makefile:6: "), problems[0])

    def test_a_figure_of_no_target_fails(self):
        figures = json.dumps({"targets": {"soak": {"goalSeconds": 60, "measuredSeconds": None}}})
        self.assertEqual(self.problems(**{"docs/figures.json": figures}), ["docs/figures.json:1: the Makefile has no target `soak`"])

    def test_a_target_that_does_not_exist_fails(self):
        self.assert_passes("`make test SEEDS=3`, and make no mistake.\n")
        self.assert_fails("Over a night:\n`make soak SEEDS=3`.\n", 2, "no target `soak`")
        self.assertEqual(len(self.problems(**{"docs/decisions/0001-a.md": "`make soak`\n"})), 1)

    def test_history_is_not_judged(self):
        self.assertEqual(self.problems(**{"CHANGELOG.md": "`make soak`; 40 presets\n"}), [])
        self.assertEqual(self.problems(**{"docs/decisions/0001-a.md": "There were 40 presets.\n"}), [])

    def test_every_suite_has_a_row_and_every_row_a_suite(self):
        self.assertEqual(
            self.problems(**{"Tests/Domain/SecretsTests/A.swift": ""}),
            ["Tests/README.md:1: no row of the table names `Domain/SecretsTests`"])
        self.assertEqual(
            self.problems(**{"Tests/Programs/MCP/test_a.py": ""}),
            ["Tests/README.md:1: no row of the table names `Programs/MCP`"])
        table = TREE["Tests/README.md"] + "| [`Programs/Gone`](Programs/Gone/README.md) | nothing |\n"
        self.assertEqual(self.problems(**{"Tests/README.md": table}), ["Tests/README.md:6: there is no suite `Programs/Gone`"])


if __name__ == "__main__":
    unittest.main()
