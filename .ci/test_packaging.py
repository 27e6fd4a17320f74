#!/usr/bin/env python3
"""The form of what others' programs read: the dev-container feature, the compose file, the changelog of the packages, the
workflows. And that the tests of all these can be loaded. Nothing is built here."""

import importlib.machinery
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CONTAINER = os.path.join(ROOT, ".packaging", "container")
FEATURE = os.path.join(CONTAINER, "devcontainer", "lanyard")
# What a feature may say (`devContainerFeature.schema.json` of devcontainers/spec, commit c95ffee, which allows nothing else); a
# tool refuses other members. `test_dist.Dist` has others' programs read the feature.
FEATURE_MEMBERS = {
    "capAdd", "containerEnv", "customizations", "dependsOn", "deprecated", "description", "documentationURL", "entrypoint", "id",
    "init", "installsAfter", "keywords", "legacyIds", "licenseURL", "mounts", "name", "onCreateCommand", "options",
    "postAttachCommand", "postCreateCommand", "postStartCommand", "privileged", "securityOpt", "updateContentCommand", "version",
}


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def image():
    """The build of the image, as a module."""
    sys.path.insert(0, CONTAINER)
    loader = importlib.machinery.SourceFileLoader("image", os.path.join(CONTAINER, "build"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("image", loader))
    loader.exec_module(module)
    return module


class Feature(unittest.TestCase):
    def setUp(self):
        self.feature = json.loads(read(FEATURE, "devcontainer-feature.json"))

    def test_members_are_those_of_the_specification(self):
        self.assertEqual(set(self.feature) - FEATURE_MEMBERS, set())
        self.assertRegex(self.feature["version"], r"^[0-9]+\.[0-9]+\.[0-9]+$")
        # A tool finds a feature by the name of its folder.
        self.assertEqual(self.feature["id"], os.path.basename(FEATURE))
        for name, value in self.feature["containerEnv"].items():
            self.assertIsInstance(value, str, name)

    def test_options_have_a_type_and_a_default_of_it(self):
        for name, option in self.feature["options"].items():
            self.assertEqual(type(option["default"]), {"string": str, "boolean": bool}[option["type"]], name)
            self.assertFalse({"enum", "proposals"} <= set(option), name)

    def test_install_reads_every_option(self):
        path = os.path.join(FEATURE, "install.sh")
        self.assertTrue(os.access(path, os.X_OK))
        for name in self.feature["options"]:
            self.assertIn("${" + name.upper() + ":-", read(path))

    def test_default_repository_is_the_same_in_both(self):
        self.assertIn("${REPOSITORY:-" + self.feature["options"]["repository"]["default"] + "}", read(FEATURE, "install.sh"))


class Advice(unittest.TestCase):
    def test_no_file_says_to_install_by_a_name_that_another_project_has_in_the_index(self):
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
        for path in listed:
            if path.endswith((".md", ".sh", ".py", ".swift", ".json", ".yaml", ".yml")) or path.startswith(".packaging/"):
                self.assertNotRegex(read(path), r"(?:pip|pipx|uv|uv tool|uvx) install (?:-\S+ )*lanyard(?![\w/-])", path)


class Dependencies(unittest.TestCase):
    def test_each_has_one_version(self):
        dependencies = re.findall(r"\.package\(url: .*\)", read("Package.swift"))
        self.assertTrue(dependencies)
        for dependency in dependencies:
            self.assertRegex(dependency, r', exact: "[0-9.]+"\)$')


class Compose(unittest.TestCase):
    def setUp(self):
        self.text = read(CONTAINER, "compose.yaml")
        self.config = image().CONFIG

    def test_volumes_and_health_are_those_of_the_image(self):
        agent = self.text.split("\n  lanyard:\n")[1].split("\n  program:\n")[0]
        self.assertEqual(set(re.findall(r"^ +- \w+:(/\S+)$", agent, re.MULTILINE)), set(self.config["Volumes"]))
        self.assertIn("test: " + json.dumps(self.config["Healthcheck"]["Test"]), agent)

    def test_program_has_the_user_and_the_socket_of_the_agent_and_none_of_its_accounts(self):
        program = self.text.split("\n  program:\n")[1].split("\nvolumes:\n")[0]
        self.assertIn(f'user: "{self.config["User"]}"', program)
        self.assertIn("LANYARD_SOCKET: " + dict(line.split("=") for line in self.config["Env"])["LANYARD_SOCKET"], program)
        self.assertEqual(re.findall(r"^ +- (\w+):/", program, re.MULTILINE), ["socket"])

    def test_both_give_up_what_they_do_not_need(self):
        for line in ("read_only: true", "cap_drop: [ALL]", 'security_opt: ["no-new-privileges:true"]'):
            self.assertEqual(self.text.count(line), 2, line)


class DebianChangelog(unittest.TestCase):
    TEXT = ("# Changelog\n\n## [Unreleased]\n\n{unreleased}## 1.0.0 - 2026-11-29\n\nWords.\n\n### Added\n\n- The first.\n")

    def entries(self, version, unreleased=""):
        """The versions and changes that the packages' changelog has."""
        with tempfile.NamedTemporaryFile("w", suffix=".md") as file:
            file.write(self.TEXT.format(unreleased=unreleased))
            file.flush()
            done = subprocess.run(
                [os.path.join(ROOT, ".packaging", "debian", "changelog"), file.name], check=True, stdout=subprocess.PIPE, text=True,
                env={**os.environ, "DEB_VERSION": version, "SOURCE_DATE_EPOCH": "1"})
        return re.findall(r"^lanyard \((.*?)\)|^  \* (.*)$", done.stdout, re.MULTILINE)

    def test_release_and_what_comes_before_it_have_its_changes(self):
        for version in ("1.0.0-1", "1.0.0~git20261129.120000.0123abc-1"):
            self.assertEqual(self.entries(version), [(version, ""), ("", "The first.")])

    def test_what_is_not_released_stands_above_the_release(self):
        self.assertEqual(
            self.entries("1.1.0~git1-1", "### Added\n\n- The second.\n\n"),
            [("1.1.0~git1-1", ""), ("", "The second."), ("1.0.0-1", ""), ("", "The first.")])


class TestsOfInstalledPrograms(unittest.TestCase):
    """`make test-deb` and its like need root or what `make lint` has not: that the tests load is seen here, too."""

    PROGRAM = """
import sys, unittest

class Names:
    def run(self, suite):
        for test in suite:
            self.run(test) if isinstance(test, unittest.TestSuite) else print(test.id())
        return unittest.TestResult()

unittest.main(module=None, argv=["unittest", *sys.argv[1:]], testRunner=Names(), exit=False)
"""

    def names(self, words):
        """The tests that `python3 -m unittest WORDS` would run."""
        done = subprocess.run([sys.executable, "-c", self.PROGRAM, *words], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout.splitlines()

    def test_files_of_the_makefile_load(self):
        folder = os.path.join("Tests", "Programs", "Installed")
        commands = [words.split() for words in re.findall(r"(?m)\$\(UNITTEST\) (.*?)(?: \|\| exit 1; \\)?$", read("Makefile"))
                    if folder in words]
        self.assertEqual(len(commands), 5)
        for words in commands:
            names = self.names(words)
            self.assertTrue(names, words)
            self.assertEqual([name for name in names if "_FailedTest" in name], [], words)


class Commit(unittest.TestCase):
    def test_is_known_in_a_checkout_of_another_user(self):
        """CI's root packs a checkout of another user. git's own tests have this variable."""
        environment = {
            **os.environ, "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1", "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
        refused = subprocess.run(["git", "-C", ROOT, "log", "-1"], env=environment, capture_output=True, text=True)
        self.assertIn("dubious ownership", refused.stderr)
        program = "from built import committed, settle; settle(); print(committed('%H'))"
        told = subprocess.run(
            [sys.executable, "-B", "-c", program], cwd=os.path.join(ROOT, ".packaging"), env=environment, capture_output=True,
            text=True)
        self.assertRegex(told.stdout, r"^[0-9a-f]{40}$", told.stderr)


class Workflows(unittest.TestCase):
    def workflows(self):
        folder = os.path.join(".github", "workflows")
        return {name: read(folder, name) for name in sorted(os.listdir(os.path.join(ROOT, folder)))}

    def test_every_target_and_script_that_a_workflow_runs_exists(self):
        targets = set(re.findall(r"^([a-z][a-z-]*):", read("Makefile"), re.MULTILINE))
        for name, text in self.workflows().items():
            for words in re.findall(r"(?m)^\s*(?:- )?(?:run: )?make ((?:[a-z-]+ ?)+)", text):
                self.assertLessEqual(set(words.split()), targets, name)
            for path in re.findall(r"(?<![\w/])\.(?:ci|packaging)/[\w/-]+", text):
                self.assertTrue(os.access(os.path.join(ROOT, path), os.X_OK), f"{name}: {path}")

    def test_sets_of_packages_exist(self):
        known = set(re.findall(r"^([a-z]+)_set\(\)", read(".ci/packages"), re.MULTILINE))
        for name, text in self.workflows().items():
            for words in re.findall(r"\.ci/packages ((?:[a-z]+ ?)+)", text):
                self.assertLessEqual(set(words.split()), known, name)

    def test_a_release_is_made_for_a_tag_of_the_version_alone(self):
        text = self.workflows()["release.yml"]
        self.assertIn('tags: ["v[0-9]+.[0-9]+.[0-9]+"]', text)
        self.assertIn('test "v$(.ci/version)" = "$GITHUB_REF_NAME"', text)
        self.assertIn("make dist", text)
        self.assertLess(text.index(".ci/version --notes"), text.index("name: Make the files"))


if __name__ == "__main__":
    unittest.main()
