"""backup and restore, as a person meets them."""

import json
import os
import time

from fake_agent import Error
from people import WORK
from person import Person

PASSPHRASE = "not-a-real-passphrase"
WRITTEN = {
    "path": "/media/stick/x", "accounts": 2, "providers": 1, "policies": 0, "skipped": [], "bytes": 45056,
    "createdAt": "2030-01-01T00:00:00.000Z",
}
RESTORED = {
    "accounts": [{**WORK, "state": "signedOut", "active": False}], "providers": ["idp"], "policies": [],
    "skipped": [{"kind": "policy", "name": "default", "reason": "alreadyThere"}],
    "createdAt": "2030-01-01T00:00:00.000Z",
}


class BackupTests(Person):
    def test_the_passphrase_is_asked_for_twice_and_not_shown(self):
        agent = self.agent({"agent.backup": WRITTEN})
        screen = self.on_terminal(
            "backup", "lanyard.backup",
            answers=[("(not shown): ", PASSPHRASE + "\n"), ("Once more: ", PASSPHRASE + "\n")])
        self.assertEqual(screen.code, 0, screen.text)
        self.assertNotIn(PASSPHRASE, screen.text)
        self.assertIn(f"{self.work}/lanyard.backup: 2 accounts, 1 provider, 0 policies.", screen.text)
        self.assertEqual(agent.params("agent.backup"), {
            "path": f"{self.work}/lanyard.backup", "passphrase": PASSPHRASE, "includeRefreshTokens": False})

    def test_two_different_passphrases_write_no_backup(self):
        agent = self.agent({"agent.backup": WRITTEN})
        screen = self.on_terminal(
            "backup", "/tmp/x", answers=[("(not shown): ", "one\n"), ("Once more: ", "other\n")])
        self.assertEqual((screen.code, agent.methods().count("agent.backup")), (2, 0))

    def test_from_a_file_or_stdin_and_never_empty(self):
        agent = self.agent({"agent.backup": WRITTEN})
        path = os.path.join(self.place, "passphrase")
        with open(path, "w") as file:
            file.write(PASSPHRASE + "\n")
        os.chmod(path, 0o644)
        for command in ("backup", "restore"):
            self.assertIn("Others can read", self.refused(2, command, "/tmp/x", "--pw-file", path))
        self.assertNotIn("agent.restore", agent.methods())
        self.assertNotIn("agent.backup", agent.methods())
        os.chmod(path, 0o600)
        for words, options in (("--pw-file", path), {}), ((), {"input": PASSPHRASE}):
            answer = json.loads(self.answer("backup", "/tmp/x", "--json", *words, **options))
            self.assertEqual(answer, WRITTEN)
            self.assertEqual(agent.params("agent.backup")["passphrase"], PASSPHRASE)
        self.assertIn("empty", self.refused(2, "backup", "/tmp/x", input="\n"))
        self.refused(2, "backup")
        self.assertIn("all accounts", self.refused(2, "backup", "/tmp/x", "-u", "work", input=PASSPHRASE))

    def test_refresh_tokens_in_a_backup_cause_a_warning(self):
        agent = self.agent({"agent.backup": WRITTEN})
        done = self.lanyard("backup", "/tmp/x", "--with-refresh-tokens", input=PASSPHRASE)
        self.assertEqual(done.returncode, 0)
        self.assertIn("signed in as you", done.stderr)
        self.assertTrue(agent.params("agent.backup")["includeRefreshTokens"])
        self.assertIn("BEWARE", self.answer("backup", "--help"))

    def test_slow_work_shows_a_status_line(self):
        self.agent({"agent.backup": lambda *_: time.sleep(1) or WRITTEN})
        screen = self.on_terminal(
            "backup", "/tmp/x", answers=[("(not shown): ", "p\n"), ("Once more: ", "p\n")])
        self.assertIn("Writing the backup", screen.text)
        self.assertEqual(screen.code, 0)

    def test_ctrl_c_ends_the_waiting(self):
        self.agent({"agent.backup": lambda *_: time.sleep(30)})
        screen = self.on_terminal(
            "backup", "/tmp/x", answers=[("(not shown): ", "p\n"), ("Once more: ", "p\n\x03")])
        self.assertEqual(screen.code, 130)

    def test_restore_lists_restored_and_skipped_items(self):
        agent = self.agent({"agent.restore": RESTORED})
        there = os.path.join(self.work, "there")
        open(there, "w").close()
        screen = self.on_terminal("restore", there, answers=[("(not shown): ", PASSPHRASE + "\n")])
        self.assertEqual(screen.code, 0, screen.text)
        self.assertNotIn("Once more", screen.text)
        self.assertIn("1 account, 1 provider, 0 policies", screen.text)
        self.assertIn("lanyard login --account work", screen.text)
        self.assertIn("policy default: it exists here already", screen.text)
        self.assertEqual(agent.params("agent.restore"), {"path": there, "passphrase": PASSPHRASE})
        screen = self.on_terminal("restore", "not-there")
        self.assertEqual(screen.code, 2)
        self.assertIn("can't be read: No such file", " ".join(screen.text.split()))
        self.assertNotIn("passphrase", screen.text)
        self.assertEqual(json.loads(self.answer("restore", "/tmp/x", "--json", input=PASSPHRASE)), RESTORED)

    def test_a_damaged_backup_leads_to_no_administrator(self):
        damaged = "The backup is damaged, or was changed after it was written. Nothing was restored; use another copy of it."
        self.agent({"agent.restore": Error(5002, "integrity", damaged, remedies=["administrator"])})
        self.assertEqual(self.refused(1, "restore", "/tmp/x", input=PASSPHRASE), f"lanyard: {damaged}\n")

    def test_restore_of_known_items_changes_nothing(self):
        self.agent({"agent.restore": {**RESTORED, "accounts": [], "providers": []}})
        self.assertIn("exists here already", self.answer("restore", "/tmp/x", input=PASSPHRASE))

    def test_a_wrong_passphrase_and_a_locked_vault_end_with_8(self):
        def refuse(code, name):
            def answer(*_):
                raise Error(code, name, "No.")
            return answer

        agent = self.agent({"agent.restore": refuse(1008, "unlockFailed"), "agent.backup": refuse(1001, "agentLocked")})
        self.refused(8, "restore", "/tmp/x", input="wrong")
        self.assertIn("lanyard unlock", self.refused(8, "backup", "/tmp/x", input="p"))
        agent.answers["agent.backup"] = refuse(-32602, "invalidParams")
        self.refused(2, "backup", "/tmp/x", input="p")
