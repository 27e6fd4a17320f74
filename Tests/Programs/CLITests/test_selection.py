"""Which account is meant: argument, LANYARD_ACCOUNT, the nearest .lanyard file, the active one."""

import json
import os
import subprocess
import unittest

from people import HOME, WORK, accounts
from person import Person


class SelectionTests(Person):
    def setUp(self):
        super().setUp()
        self.fake = self.agent(accounts(WORK, HOME))

    def write(self, text, directory=None, mode=0o644):
        path = os.path.join(directory or self.work, ".lanyard")
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def trust(self, *arguments, **options):
        path = self.write(*arguments, **options)
        self.answer("trust", os.path.dirname(path))
        return path

    def asked(self, *words, **options):
        """Whom `token` asked for."""
        self.answer("token", *words, **options)
        return self.fake.params("token.get")["account"]

    def test_argument_then_environment_then_file_then_active(self):
        environment = {"LANYARD_ACCOUNT": "from-environment"}
        self.fake.answers["token.get"] = {"accessToken": "t"}
        self.assertEqual(self.asked(), "@active")
        self.trust("from-file")
        self.assertEqual(self.asked(), "from-file")
        self.assertEqual(self.asked(environment=environment), "from-environment")
        self.assertEqual(self.asked("from-argument", environment=environment), "from-argument")
        self.assertEqual(self.asked("-u", "from-option", environment=environment), "from-option")

    def test_an_empty_variable_is_not_set(self):
        self.assertEqual(self.asked(environment={"LANYARD_ACCOUNT": ""}), "@active")

    def test_the_nearest_file_upward(self):
        self.trust("home", self.home)
        self.assertEqual(self.asked(), "home")
        self.trust("work", os.path.dirname(self.work))
        self.assertEqual(self.asked(), "work")
        self.assertEqual(self.asked(cwd=self.home), "home")

    def test_spellings(self):
        for text in ("work", "work\n", "account = work\n", "account=work", "# ours\n\n  account = work  # the tenant\r\n",
                     "\ufeffaccount = work\r\n", "\ufeff# ours\r\n\r\nwork\r\n"):
            with self.subTest(text):
                self.trust(text)
                self.assertEqual(self.asked(), "work")

    def test_an_invalid_file_is_usage(self):
        for text in ("", "# nothing\n", "work\nhome\n", "user = work", "account =", "two words", "@active"):
            with self.subTest(text):
                path = self.write(text)
                self.assertIn(f"{path} does not name an account", self.refused(2, "token"))
        self.assertEqual(self.fake.calls, [])

    def test_a_world_writable_file_is_ignored_with_a_warning(self):
        path = self.write("home", mode=0o666)
        done = self.lanyard("token")
        self.assertEqual(done.returncode, 0)
        self.assertIn(f"{path} can be written by other users, so it is ignored", done.stderr)
        self.assertEqual(self.fake.params("token.get")["account"], "@active")

    @unittest.skipUnless(os.geteuid() == 0, "only root can give files away")
    def test_a_file_of_another_user_is_ignored_with_a_warning(self):
        path = self.write("home")
        self.trust("work", self.home)
        os.chown(path, 65534, 65534)
        done = self.lanyard("token")
        self.assertIn("belongs to another user", done.stderr)
        self.assertEqual(self.fake.params("token.get")["account"], "work")

    def test_what_can_not_be_read_is_told_and_nothing_is_chosen_in_its_place(self):
        self.trust("home", self.home)
        path = os.path.join(self.work, ".lanyard")

        def text(bytes):
            with open(path, "wb") as file:
                file.write(bytes)

        cases = [
            (lambda: os.symlink("nowhere", path), "is a symbolic link"),
            (lambda: os.symlink(os.path.join(self.home, ".lanyard"), path), "is a symbolic link"),
            (lambda: os.mkfifo(path), "is not a plain file"),
            (lambda: os.mkdir(path), "is not a plain file"),
            (lambda: text(b"#" * 4092 + b"\nhome\n"), "has more than 4096 bytes"),
            (lambda: text("home".encode("utf-16")), "is not text in UTF-8"),
            (lambda: text(b"home\n\xff\n"), "is not text in UTF-8"),
        ]
        if os.geteuid() != 0:
            cases.append((lambda: os.close(os.open(path, os.O_CREAT, 0)), "can't be read: Permission denied"))
        for make, told in cases:
            make()
            for words in (["token"], ["status"], ["can", "x"], ["logout", "--yes"], ["trust"]):
                with self.subTest(told=told, words=words):
                    self.assertIn(f"{path} {told}. No account was chosen.", self.refused(2, *words))
            # A named account needs no file.
            self.answer("token", "work")
            os.rmdir(path) if os.path.isdir(path) else os.unlink(path)
        self.assertEqual(self.asked(), "home")

    def test_a_directory_that_is_not_utf8_has_its_file(self):
        directory = os.path.join(os.fsencode(self.work), b"caf\xe9")
        os.mkdir(directory)
        with open(os.path.join(directory, b".lanyard"), "w") as file:
            file.write("home\n")
        shown = f"{self.work}/caf\\xE9/.lanyard"
        self.assertIn(f"{shown} names the account home, and you do not trust it yet.", self.refused(2, "token", cwd=directory))
        self.assertEqual(self.answer("trust", cwd=directory), f"Trusted: {shown}, which names the account home.\n")
        self.assertEqual(self.asked(cwd=directory), "home")
        self.assertIn(f"by {shown}", self.answer("status", cwd=directory))
        self.assertEqual(self.answer("trust", "--list"), shown + "\n")
        self.assertIn("Not trusted any more", self.answer("trust", "--remove", cwd=directory))
        self.refused(2, "token", cwd=directory)

    def test_a_working_directory_that_is_gone_chooses_nothing(self):
        gone = os.path.join(self.work, "gone")
        os.mkdir(gone)
        done = subprocess.run(
            ["/bin/sh", "-c", 'rmdir "$PWD" && exec "$0" token', *self.command([])], cwd=gone, env=self.environment,
            capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertIn("The working directory can't be read: it is gone. No account was chosen.", done.stderr)

    def test_status_says_why_an_account_is_used(self):
        path = self.trust("account = home")
        cases = [
            ([], {}, "home", f"by {path}", {"because": "file", "path": path}),
            ([], {"LANYARD_ACCOUNT": "work"}, "work", "by LANYARD_ACCOUNT", {"because": "environment"}),
            (["-u", "home"], {}, "home", "on the command line", {"because": "argument"}),
        ]
        for words, environment, alias, chosen, told in cases:
            with self.subTest(chosen):
                shown = self.answer("status", *words, environment=environment)
                self.assertRegex(shown, f"Account +{alias}")
                self.assertRegex(shown, f"Chosen +{chosen}")
                selection = json.loads(self.answer("status", "--json", *words, environment=environment))["selection"]
                account = {"work": WORK, "home": HOME}[alias]["id"]
                self.assertEqual(selection, {"account": account, "selector": alias, **told})
        os.unlink(path)
        self.assertRegex(self.answer("status"), "Chosen +as the active account")
        self.assertEqual(json.loads(self.answer("status", "--json"))["selection"],
                         {"account": WORK["id"], "selector": "@active", "because": "active"})

    def test_options_may_stand_before_the_command(self):
        self.assertEqual(json.loads(self.answer("-u", "home", "--json", "status"))["account"]["id"], HOME["id"])
        self.assertEqual(json.loads(self.answer("--account=home", "--json", "status"))["account"]["id"], HOME["id"])
