"""The files of a release: `make dist`, by `make test-wheel`. LANYARD_DIST=1 asks for it."""

import os
import re
import subprocess
import tarfile
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], check=True, capture_output=True, text=True).stdout


@unittest.skipUnless(os.environ.get("LANYARD_DIST"), "NOT TESTED: without LANYARD_DIST (`make test-wheel`)")
class Dist(unittest.TestCase):
    def make(self, place, umask):
        done = subprocess.run(
            ["sh", "-c", f'umask {umask}; exec "$0" "$1"', f"{ROOT}/.packaging/dist", place], capture_output=True, text=True,
            env={**os.environ, "PACK_LEVEL": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(f"{place}/SHA256SUMS") as file:
            return file.read()

    def test_two_makings_of_a_commit_have_the_same_sums_of_all_files(self):
        if git("status", "--porcelain"):
            self.skipTest("NOT TESTED: there are changes that are not committed")
        with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
            sums = self.make(f"{place}/one", "022")
            self.assertEqual(self.make(f"{place}/other", "077"), sums)
            subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=f"{place}/one", check=True)
            named = re.findall(r"^[0-9a-f]{64}  (\S+)$", sums, re.MULTILINE)
            self.assertEqual(sorted([*named, "SHA256SUMS"]), sorted(os.listdir(f"{place}/one")))
            (sources,) = [name for name in named if name.endswith("-source.tar.gz")]
            with tarfile.open(f"{place}/one/{sources}") as archive:
                inside = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name and name.count("/") >= 1}
            self.assertLessEqual(set(git("ls-files").split("\n")) - {""}, inside)


if __name__ == "__main__":
    unittest.main()
