"""The commands in README.md, run as written, print what README.md shows."""

import shutil
import unittest

from agent_fixture import ROOT
from tour import Tour, pattern, steps


@unittest.skipUnless(shutil.which("socat") and shutil.which("curl"), "the tour uses curl and socat")
class Readme(Tour):
    def test_readme_is_short(self):
        with open(f"{ROOT}/README.md", encoding="utf-8") as file:
            self.assertLessEqual(len(file.readlines()), 120)

    def test_readme_tour_prints_the_shown_output(self):
        for command, shown in steps("README.md"):
            command = command.replace("PYTHONPATH=Clients/python/src", f"PYTHONPATH={ROOT}/Clients/python/src")
            with self.subTest(command=command):
                self.assertRegex(self.type(command), pattern(shown))
        self.type("lanyard rpc agent.shutdown; kill %1")


if __name__ == "__main__":
    unittest.main()
