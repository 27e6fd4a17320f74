"""A `.lanyard` file chooses the account only after the person trusted it."""

import json
import os
import stat
import subprocess
import unittest

from people import HOME, WORK, accounts
from person import Person


class TrustTests(Person):
    def setUp(self):
        super().setUp()
        self.fake = self.agent(accounts(WORK, HOME))
        self.path = os.path.join(self.work, ".lanyard")
        self.write("home\n")

    def write(self, text):
        with open(self.path, "w") as file:
            file.write(text)

    def test_a_program_is_refused_until_the_file_is_trusted(self):
        for words in (["token"], ["can", "x"], ["logout", "--yes"], ["operations"], ["request", "GET", "https://a.example"]):
            with self.subTest(words):
                told = self.refused(2, *words)
                self.assertIn(f"{self.path} names the account home, and you do not trust it yet.", told)
                self.assertIn("`lanyard trust`", told)
        self.assertEqual(self.fake.calls, [])
        self.assertIn(f"Trusted: {self.path}, which names the account home.", self.answer("trust"))
        self.answer("token")
        self.assertEqual(self.fake.params("token.get")["account"], "home")
        told = json.loads(self.refused(2, "logout", "--json"))["error"]
        self.assertIn(f"{self.path} says so", told["message"])

    def test_a_named_account_needs_no_trust(self):
        self.answer("token", "work")
        self.answer("token", environment={"LANYARD_ACCOUNT": "work"})
        self.assertEqual(self.fake.params("token.get")["account"], "work")

    def test_a_person_is_asked_once(self):
        question = f"{self.path} names the account home for this directory. Trust it? [y/N] "
        screen = self.on_terminal("token", answers=[(question, "n\n")], size=(24, 200))
        self.assertEqual(screen.code, 2)
        self.assertNotIn("token.get", self.fake.methods())
        self.assertEqual(self.on_terminal("token", answers=[(question, "y\n")], size=(24, 200)).code, 0)
        self.assertNotIn("Trust it?", self.on_terminal("token").text)
        self.answer("token")

    def test_a_file_that_changed_is_asked_for_again(self):
        self.answer("trust")
        for text in ("work\n", "home\n\n# and more\n"):
            self.write(text)
            self.assertIn("changed: it now names the account", self.refused(2, "token"))
        question = "changed: it now names the account home for this directory. Trust it? [y/N] "
        self.assertEqual(self.on_terminal("token", answers=[(question, "y\n")], size=(24, 200)).code, 0)
        self.answer("token")

    def test_the_same_text_elsewhere_is_another_file(self):
        self.answer("trust")
        other = os.path.join(self.home, "clone")
        os.mkdir(other)
        with open(os.path.join(other, ".lanyard"), "w") as file:
            file.write("home\n")
        self.refused(2, "token", cwd=other)
        self.answer("token", cwd=self.work)

    def test_the_prompt_of_a_directory_that_is_gone_names_no_file(self):
        gone = os.path.join(self.home, "gone")
        for words in ("", " --json"):
            os.mkdir(gone)
            done = subprocess.run(
                ["sh", "-c", f'cd "$1" && rmdir "$1" && exec "$2" prompt{words}', "sh", gone, self.command([])[0]],
                env=self.settings(None), capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=20)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_status_tells(self):
        self.assertRegex(self.answer("status"), "Trust +this file is not trusted yet: `lanyard trust`")
        self.assertIs(json.loads(self.answer("status", "--json"))["selection"]["trusted"], False)
        self.answer("trust")
        self.assertNotIn("Trust", self.answer("status"))

    def test_remove_and_list(self):
        self.assertEqual(json.loads(self.answer("trust", "--json")),
                         {"path": self.path, "account": "home", "trusted": True})
        self.assertEqual(self.answer("trust", "--list"), self.path + "\n")
        self.assertIn("Not trusted any more", self.answer("trust", "--remove"))
        self.refused(2, "token")
        self.assertEqual(json.loads(self.answer("trust", "--list", "--json")), {"trusted": []})
        os.unlink(self.path)
        self.assertIn("There is no .lanyard file", self.refused(2, "trust"))

    def test_a_file_that_is_gone_can_be_removed_and_none_above_is(self):
        above = os.path.join(os.path.dirname(self.work), ".lanyard")
        with open(above, "w") as file:
            file.write("work\n")
        self.answer("trust")
        self.answer("trust", os.path.dirname(self.work))
        os.unlink(self.path)
        self.assertEqual(self.answer("trust", "--remove"), f"Not trusted any more: {self.path}.\n")
        self.assertEqual(self.answer("trust", "--list"), above + "\n")

    def test_trust_in_a_file_that_can_not_be_read_any_more_is_taken_back(self):
        self.answer("trust")
        os.unlink(self.path)
        os.symlink("nowhere", self.path)
        self.assertIn("is a symbolic link. No account was chosen.", self.refused(2, "token"))
        self.assertEqual(self.answer("trust", "--remove"), f"Not trusted any more: {self.path}.\n")
        self.assertEqual(self.answer("trust", "--list", "--json"), '{"trusted":[]}\n')

    def test_a_list_that_can_not_be_read_is_not_replaced(self):
        self.answer("trust")
        record = os.path.join(self.home, ".config", "lanyard", "trusted-directories")
        kept = os.path.join(self.home, "kept")
        os.rename(record, kept)
        os.symlink(kept, record)
        self.assertIn("has to be a plain file of yours", self.refused(1, "trust"))
        self.assertTrue(os.path.islink(record))

    def test_a_list_that_others_may_write_trusts_no_file(self):
        self.answer("trust")
        record = os.path.join(self.home, ".config", "lanyard", "trusted-directories")
        self.assertEqual(stat.S_IMODE(os.stat(record).st_mode), 0o600)
        os.chmod(record, 0o666)
        self.refused(2, "token")


if __name__ == "__main__":
    unittest.main()
