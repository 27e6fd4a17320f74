"""The commands in docs/first-hour.md, run as written, print what that page shows, and nothing else."""

import shutil
import time
import unittest

from agent_fixture import PATIENCE_SECONDS
from tour import Tour, pattern, steps


@unittest.skipUnless(shutil.which("curl"), "the page uses curl")
class FirstHour(Tour):
    def test_first_hour_prints_the_shown_output(self):
        page = steps("docs/first-hour.md")
        self.assertGreater(len(page), 25)
        for command, shown in page:
            with self.subTest(command=command):
                if command == "lanyard-demo provider &":
                    # The test fills in no page. What the provider prints besides the address is for a person.
                    self.type(command.replace("&", "--auto-approve alice &"))
                    continue
                told = self.look(command, shown)
                self.assertTrue(pattern(shown).fullmatch(told), f"shown:\n{shown}\n\nprinted:\n{told}")

    def look(self, command, shown):
        """What the command prints. A command that only looks is typed again until what it shows has happened."""
        person = "bob" if "--alias home" in command else "alice"
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            told = self.type(command, person)
            is_look = command.startswith("lanyard operations")
            if not is_look or pattern(shown).fullmatch(told) or time.monotonic() > deadline:
                return told


if __name__ == "__main__":
    unittest.main()
