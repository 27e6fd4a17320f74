"""`suites.py` runs a suite whole where a change touches it, and where it can't know."""

import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import suites  # noqa: E402

TABLE = {"test-a": ("Sources/A/**", "Tests/A/test_*.py"), "test-b": ("Sources/B/*.swift",)}


class Table(unittest.TestCase):
    def problems(self, files=(), table=TABLE, targets=("test-a", "test-b"), quick=()):
        return suites.problems(["Sources/A/x.swift", "Tests/A/test_x.py", *files], table, targets, quick)

    def test_the_table_of_the_repository_is_right(self):
        found = suites.check()
        if found is None:
            self.skipTest("git does not list the files here")
        self.assertEqual(found, [])

    def test_a_suite_without_sources_is_a_problem(self):
        self.assertEqual(self.problems(table={"test-a": ()}), ["the suite test-a has no sources"])

    def test_a_glob_that_matches_no_file_is_a_problem(self):
        found = self.problems(["Sources/B/deep/x.swift"])
        self.assertEqual(found, ["the suite test-b: no file matches Sources/B/*.swift"])

    def test_a_suite_that_is_no_target_is_a_problem(self):
        table = {"test-a/go": ("Sources/A/**",), "test-nope": ("Sources/A/**",)}
        self.assertEqual(self.problems(table=table), ["the Makefile has no target test-nope"])
        self.assertEqual(suites.targets("test-a: build ## It.\nVARIABLE := test\nname:= x\n\ttest-b: x\n"), {"test-a"})

    def test_a_test_with_a_quick_form_that_is_in_no_suite_is_a_problem(self):
        self.assertEqual(self.problems(["Sources/B/x.swift"], quick=["Tests/A/test_x.py"]), [])
        self.assertEqual(
            self.problems(["Sources/B/x.swift"], quick=["Tests/C/test_x.py"]),
            ["Tests/C/test_x.py has a quick form and is in no suite"])

    def test_tests_with_a_quick_form_are_found_by_their_mark(self):
        with tempfile.TemporaryDirectory() as root:
            for name, text in (
                    ("test_quick.py", '@in_quick_form("test_it")\nclass Quick:\n'), ("test_whole.py", "class Whole:\n"),
                    ("fixture.py", '@in_quick_form("test_it")\n')):
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(text)
            self.assertEqual(suites.in_quick_form(["fixture.py", "test_quick.py", "test_whole.py"], root), ["test_quick.py"])

    def test_a_program_is_shown_whole_where_an_adapter_of_it_changes(self):
        """What `Package.swift` lists for a program that has a suite of its own."""
        with open(os.path.join(suites.ROOT, "Package.swift"), encoding="utf-8") as file:
            package = file.read()

        def listed(name):
            found = re.search(rf'^  program\(\s*"{name}",\s*\[(.*?)\]', package, re.M | re.S)
            return set(re.findall(r'"(\w+)"', found[1]))

        of_adapters = re.search(r"^let adapters: \[Target\] = \[\n(.*?)^\]", package, re.M | re.S)[1]
        adapters = set(re.findall(r'\bmodule\(\s*"(\w+)"', of_adapters))
        self.assertIn("CurlTransfers", adapters)
        for program, suite in (
                ("lanyard-export", "test-fleet"), ("lanyard-mcp", "test-mcp"), ("lanyard-proxy", "test-proxy"),
                ("lanyard-web", "test-web")):
            globs = suites.SUITES[suite]
            for adapter in sorted(adapters & listed(program)):
                folder = f"Sources/Adapters/{adapter}/"
                self.assertTrue(any(glob.startswith(folder) for glob in globs), f"{suite} lacks {folder}")

    def test_a_file_touches_the_suites_whose_globs_match_its_whole_path(self):
        for path, wanted in (
                ("Sources/A/deep/er/x.swift", {"test-a"}), ("Tests/A/test_x.py", {"test-a"}), ("Tests/A/x.py", set()),
                ("Sources/B/x.swift", {"test-b"}), ("Sources/B/deep/x.swift", set()), ("Sources/B/xswift", set()),
                ("docs/Sources/B/x.swift", set())):
            self.assertEqual(suites.touched([path], TABLE), wanted, path)


DAY = 24 * 3600


class Range(unittest.TestCase):
    """In a repository of its own, with a clone whose `origin/main` it is."""

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.origin, self.clone = (os.path.join(place.name, name) for name in ("origin", "clone"))
        os.mkdir(self.origin)
        self.git("init", "--quiet", "--initial-branch=main", at=self.origin)
        now = int(time.time())
        self.commit("Sources/Programs/lanyard-proxy/Main.swift", at=self.origin, when=now - 3 * DAY)
        self.first = self.commit("LICENSE", at=self.origin, when=now - 2 * DAY)
        self.commit("Sources/Programs/lanyard-mcp/Options.swift", at=self.origin, when=now - 60)
        self.commit("Clients/go/errors.go", at=self.origin, when=now)
        self.git("clone", "--quiet", self.origin, self.clone, at=place.name)

    def git(self, *words, at, when=None):
        identity = ["-c", "user.name=alice", "-c", "user.email=alice@acme.example"]
        dated = {} if when is None else {"GIT_AUTHOR_DATE": f"{when} +0000", "GIT_COMMITTER_DATE": f"{when} +0000"}
        return subprocess.run(
            ["git", *identity, *words], cwd=at, check=True, capture_output=True, text=True,
            env=dict(os.environ, **dated)).stdout.strip()

    def write(self, path, at):
        os.makedirs(os.path.dirname(os.path.join(at, path)), exist_ok=True)
        with open(os.path.join(at, path), "a", encoding="utf-8") as file:
            file.write("a line\n")

    def commit(self, path, at, when=None):
        self.write(path, at)
        self.git("add", "--all", at=at)
        self.git("commit", "--quiet", "--message", path, at=at, when=when)
        return self.git("rev-parse", "HEAD", at=at)

    def whole(self, root=None, **environment):
        forms = suites.choose(environment, root=root or self.clone).forms
        self.assertEqual(set(forms), set(suites.SUITES))
        return sorted(name for name, form in forms.items() if form == "whole")

    def test_a_fresh_clone_is_judged_by_the_commits_of_its_last_day(self):
        self.assertEqual(self.whole(), ["test-clients/go", "test-mcp"])

    def test_a_branch_is_judged_by_all_of_its_commits(self):
        self.commit("Clients/go/client.go", at=self.clone)
        self.commit("LICENSE", at=self.clone)
        self.assertEqual(self.whole(), ["test-clients/go"])

    def test_a_branch_is_judged_from_where_it_left_main(self):
        self.commit("Clients/go/client.go", at=self.clone)
        self.commit("Clients/rust/src/lib.rs", at=self.origin)
        self.git("fetch", "--quiet", at=self.clone)
        self.assertEqual(self.whole(), ["test-clients/go"])

    def test_files_that_are_not_committed_count(self):
        self.commit("LICENSE", at=self.clone)
        self.write("LICENSE", at=self.clone)
        self.write("Sources/Programs/lanyard-proxy/New.swift", at=self.clone)
        self.assertEqual(self.whole(), ["test-proxy"])

    def test_the_old_place_of_a_moved_file_counts(self):
        self.commit("LICENSE", at=self.clone)
        self.git("mv", "Sources/Programs/lanyard-mcp/Options.swift", "Options.swift", at=self.clone)
        self.assertEqual(self.whole(), ["test-mcp"])

    def test_a_named_base_counts_before_origin(self):
        self.commit("LICENSE", at=self.clone)
        self.assertEqual(self.whole(), [])
        self.assertEqual(self.whole(LANYARD_BASE=self.first), ["test-clients/go", "test-mcp"])

    def test_where_git_knows_no_base_every_suite_is_whole(self):
        everything = sorted(suites.SUITES)
        self.assertEqual(self.whole(LANYARD_BASE="0" * 40), everything)
        with tempfile.TemporaryDirectory() as place:
            self.assertEqual(self.whole(place), everything)
            shallow = os.path.join(place, "shallow")
            self.git("clone", "--quiet", "--depth=1", "file://" + self.origin, shallow, at=place)
            self.assertEqual(self.whole(shallow), everything)

    def test_clients_that_need_no_build_always_meet_the_agent(self):
        forms = {"test-clients/go": "whole", "test-clients/rust": "quick", "test-clients/shell": "whole", "test-mcp": "whole"}
        self.assertEqual(suites.languages(forms), ["go", "shell", "--only-agent=python"])
        everything = suites.languages(suites.choose({"LANYARD_TIER": "whole"}).forms)
        self.assertEqual(everything, ["go", "python", "rust", "shell", "swift", "typescript"])

    def test_the_tier_of_the_environment_counts_for_all(self):
        self.assertEqual(self.whole(LANYARD_TIER="whole"), sorted(suites.SUITES))
        self.assertEqual(self.whole(LANYARD_TIER="quick"), [])
        with self.assertRaises(SystemExit):
            self.whole(LANYARD_TIER="fast")


if __name__ == "__main__":
    unittest.main()
