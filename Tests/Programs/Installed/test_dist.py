"""The files of a release: `make dist`, by `make test-dist`. LANYARD_DIST=1 asks for it."""

import glob
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
# The reader of dev-container features that others' tools stand on, and the schema of the specification
# (`schemas/devContainerFeature.schema.json` of devcontainers/spec), where a person has it.
FEATURE_READER = "@devcontainers/cli@0.89.0"
FEATURE_SCHEMA = os.environ.get("LANYARD_FEATURE_SCHEMA")
FEATURES = os.path.join(ROOT, ".packaging", "container", "devcontainer")
HERE = os.path.dirname(os.path.abspath(__file__))
READERS = os.path.join(ROOT, ".build", "readers", "bin")


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], check=True, capture_output=True, text=True).stdout


def reader(case, name):
    """A program of requirements.txt."""
    done = subprocess.run([os.path.join(HERE, "install")], capture_output=True, text=True)
    if done.returncode == 75:
        case.skipTest(f"NOT TESTED: {done.stderr.strip()}")
    case.assertEqual(done.returncode, 0, done.stderr)
    return os.path.join(READERS, name)


@unittest.skipUnless(os.environ.get("LANYARD_DIST"), "NOT TESTED: without LANYARD_DIST (`make test-dist`)")
class Dist(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if git("status", "--porcelain"):
            raise unittest.SkipTest("NOT TESTED: there are changes that are not committed")
        cls.place = tempfile.mkdtemp(dir="/var/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.place)
        subprocess.run(
            ["minisign", "-G", "-W", "-p", f"{cls.place}/key.pub", "-s", f"{cls.place}/key"], check=True, capture_output=True)
        cls.said = cls.make("one", "022", MINISIGN_KEY=f"{cls.place}/key")
        cls.one = f"{cls.place}/one"
        cls.names = set(os.listdir(cls.one))

    @classmethod
    def make(cls, name, umask, **more):
        done = subprocess.run(
            ["sh", "-c", f'umask {umask}; exec "$0" "$1"', f"{ROOT}/.packaging/dist", f"{cls.place}/{name}"], capture_output=True,
            text=True, env={**os.environ, "PACK_LEVEL": "1", **more})
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return done.stderr

    def named(self, pattern):
        (path,) = glob.glob(f"{self.one}/{pattern}")
        return path

    def test_second_making_has_the_same_bytes_and_without_a_key_says_that_nothing_is_signed(self):
        said = self.make("other", "077", MINISIGN_KEY="", TZ="Pacific/Kiritimati")
        self.assertIn("nothing is signed", said)
        self.assertNotIn("nothing is signed", self.said)
        self.assertEqual(self.names - set(os.listdir(f"{self.place}/other")), {"SHA256SUMS.minisig"})
        for name in self.names - {"SHA256SUMS.minisig"}:
            with open(f"{self.one}/{name}", "rb") as one, open(f"{self.place}/other/{name}", "rb") as other:
                self.assertEqual(one.read() == other.read(), True, name)

    def test_sums_name_every_file_and_the_signature_is_of_the_key(self):
        subprocess.run(["sha256sum", "--check", "--quiet", "--strict", "SHA256SUMS"], cwd=self.one, check=True)
        with open(f"{self.one}/SHA256SUMS") as file:
            named = re.findall(r"^[0-9a-f]{64}  (\S+)$", file.read(), re.MULTILINE)
        self.assertEqual({*named, "SHA256SUMS", "SHA256SUMS.minisig"}, self.names)
        verify = ["minisign", "-V", "-p", f"{self.place}/key.pub", "-m", f"{self.one}/SHA256SUMS"]
        told = subprocess.run(verify, check=True, capture_output=True, text=True).stdout
        self.assertRegex(told, r"Trusted comment: lanyard [0-9]")

    def test_there_are_sources_wheel_packages_image_and_manual_pages(self):
        self.assertEqual(len([name for name in self.names if name.endswith(".whl")]), 1)
        self.assertEqual({name.split("_")[0] for name in self.names if name.endswith(".deb")},
                         {"lanyard", "lanyard-demo", "python3-lanyard"})
        with tarfile.open(self.named("*-source.tar.gz")) as archive:
            inside = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
        self.assertLessEqual(set(git("ls-files").split("\n")) - {""}, inside)
        with tarfile.open(self.named("*-man.tar.gz")) as archive:
            self.assertLessEqual({"man1/lanyard.1", "man1/lanyard-token.1", "man1/lanyard-demo.1"}, set(archive.getnames()))
        with tarfile.open(self.named("*-image-*.tar")) as archive:
            self.assertIn("index.json", archive.getnames())

    def test_bill_of_materials_is_valid_and_names_what_is_linked_and_brought_along(self):
        with open(self.named("*.cdx.json")) as file:
            document = json.load(file)
        program = (
            "import sys; from cyclonedx.schema import SchemaVersion; from cyclonedx.validation.json import JsonStrictValidator; "
            "print(JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read()))")
        told = subprocess.run([reader(self, "python"), "-c", program, self.named("*.cdx.json")], check=True, capture_output=True,
                              text=True).stdout
        self.assertEqual(told.strip(), "None")
        # Debian 13 says with "t64" that a library counts time in 64 bits.
        places = {component["name"].removesuffix("t64"): component["properties"][0]["value"].split(", ")
                  for component in document["components"] if "properties" in component}
        for component in document["components"]:
            if component["type"] != "file":
                self.assertTrue(component.get("licenses"), component["name"])
        for name in ("swift", "swift-argument-parser", "swift-foundation-icu", "libc6-dev"):
            self.assertEqual(places[name], ["linked in"], name)
        for name in ("libsodium23", "libsqlite3-0", "libssl3"):
            self.assertEqual(places[name], ["image", "wheel"], name)
        self.assertEqual(places["libcurl4"], ["image"])
        # What each program needs is a component.
        known = {component["bom-ref"] for component in document["components"]} | {document["metadata"]["component"]["bom-ref"]}
        needs = {line["ref"]: set(line["dependsOn"]) for line in document["dependencies"]}
        self.assertLessEqual(set(needs) | set().union(*needs.values()), known)
        with open(os.path.join(ROOT, "Makefile")) as file:
            programs = re.search(r"^PROGRAMS := (.*)$", file.read(), re.MULTILINE)[1].split()
        self.assertEqual({name for name in needs if name.startswith("program:")}, {f"program:{name}" for name in programs})

    def test_compose_file_is_read_by_podman_compose(self):
        told = subprocess.run(
            [reader(self, "podman-compose"), "--profile", "program", "-f", f"{ROOT}/.packaging/container/compose.yaml", "config"],
            capture_output=True, text=True)
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertRegex(told.stdout, r"(?s)services:\n  lanyard:.*  program:.*volumes:\n  accounts:")


@unittest.skipUnless(os.environ.get("LANYARD_DIST"), "NOT TESTED: without LANYARD_DIST (`make test-dist`)")
class Feature(unittest.TestCase):
    """The dev-container feature, by programs of others."""

    def test_feature_is_packed_by_the_tool_of_the_specification(self):
        npm = shutil.which("npm")
        look = [npm, "view", FEATURE_READER, "version", "--fetch-retries=0", "--fetch-timeout=10000"]
        if npm is None or subprocess.run(look, capture_output=True).returncode != 0:
            self.skipTest(f"NOT TESTED: npm does not get {FEATURE_READER} here")
        with tempfile.TemporaryDirectory() as place:
            told = subprocess.run(
                [npm, "exec", "--yes", f"--package={FEATURE_READER}", "--", "devcontainer", "features", "package",
                 "--output-folder", f"{place}/packed", FEATURES], capture_output=True, text=True)
            self.assertEqual(told.returncode, 0, told.stderr)
            with tarfile.open(f"{place}/packed/devcontainer-feature-lanyard.tgz") as archive:
                names = {os.path.normpath(name) for name in archive.getnames()}
        self.assertLessEqual({"devcontainer-feature.json", "install.sh"}, names)

    @unittest.skipUnless(FEATURE_SCHEMA, "NOT TESTED: LANYARD_FEATURE_SCHEMA names no schema")
    def test_feature_is_valid_by_the_schema_of_the_specification(self):
        program = (
            "import json, sys, jsonschema; schema, feature = (json.load(open(path)) for path in sys.argv[1:]); "
            "jsonschema.validators.validator_for(schema)(schema).validate(feature)")
        told = subprocess.run(
            [reader(self, "python"), "-c", program, FEATURE_SCHEMA, os.path.join(FEATURES, "lanyard", "devcontainer-feature.json")],
            capture_output=True, text=True)
        self.assertEqual(told.returncode, 0, told.stderr)


class Refused(unittest.TestCase):
    def test_key_that_cannot_be_read_is_told_before_anything_is_made(self):
        if git("status", "--porcelain"):
            self.skipTest("NOT TESTED: there are changes that are not committed")
        with tempfile.TemporaryDirectory() as place:
            with open(f"{place}/kept", "w"):
                pass
            done = subprocess.run([f"{ROOT}/.packaging/dist", place], capture_output=True, text=True,
                                  env={**os.environ, "MINISIGN_KEY": f"{place}/none"})
            self.assertEqual(done.returncode, 1)
            self.assertIn("MINISIGN_KEY is", done.stderr)
            self.assertEqual(os.listdir(place), ["kept"])


if __name__ == "__main__":
    unittest.main()
