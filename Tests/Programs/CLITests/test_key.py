"""key, as people and programs see it."""

import json
import os

from fake_agent import Error
from person import Person
from test_real import RealProvider

WORDS = "not-a-real-passphrase-7Hk"
SLOTS = [
    {"slot": 0, "protection": "keyFile", "createdAt": "2030-01-01T00:00:00.000Z", "opened": True},
    {"slot": 1, "protection": "passphrase", "createdAt": "2030-01-02T00:00:00.000Z", "opened": False},
]


class KeyTests(Person):
    def prepared(self, **answers):
        return self.agent({
            "agent.listKeySlots": {"slots": SLOTS}, "agent.addKeySlot": {"slot": 2, "protection": "passphrase"},
            "agent.removeKeySlot": {"slots": SLOTS[:1]}, "agent.rotateRootKey": {"keyEpoch": 3}, **answers})

    def test_list_shows_the_key_slots(self):
        self.prepared()
        done = self.lanyard("key")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = [line.split() for line in done.stdout.splitlines()]
        self.assertEqual(lines[0], ["SLOT", "OPENED", "BY", "SINCE"])
        self.assertIn("the key file beside the store", done.stdout.splitlines()[1])
        self.assertIn("opened the vault this time", done.stdout.splitlines()[1])
        self.assertIn("a passphrase", done.stdout.splitlines()[2])
        self.assertEqual(json.loads(self.lanyard("key", "list", "--json").stdout), {"slots": SLOTS})

    def test_a_passphrase_is_typed_twice_and_never_shown(self):
        agent = self.prepared()
        screen = self.on_terminal("key", "add", "passphrase", answers=[("(not shown): ", WORDS + "\n"), ("Once more: ", WORDS + "\n")])
        self.assertEqual(screen.code, 0, screen.text)
        self.assertNotIn(WORDS, screen.text)
        self.assertIn("Added key slot 2", screen.text)
        self.assertEqual(agent.params("agent.addKeySlot"), {"protection": "passphrase", "passphrase": WORDS})

    def test_two_different_passphrases_add_no_slot(self):
        agent = self.prepared()
        screen = self.on_terminal("key", "add", "passphrase", answers=[
            ("(not shown): ", WORDS + "\n"), ("Once more: ", WORDS + "x\n")])
        self.assertEqual(screen.code, 2, screen.text)
        self.assertNotIn("agent.addKeySlot", [method for method, _ in agent.calls])

    def test_from_a_file_and_by_pinentry(self):
        agent = self.prepared()
        path = os.path.join(self.work, "words")
        with open(path, "w") as file:
            file.write(WORDS + "\n")
        os.chmod(path, 0o600)
        self.assertEqual(self.lanyard("key", "add", "passphrase", "--pw-file", path).returncode, 0)
        self.assertEqual(agent.params("agent.addKeySlot"), {"protection": "passphrase", "passphrase": WORDS})
        self.assertEqual(self.lanyard("key", "add", "passphrase", "--pinentry").returncode, 0)
        self.assertEqual(agent.params("agent.addKeySlot"), {"protection": "passphrase", "prompt": "pinentry"})

    def test_protections_without_a_passphrase(self):
        agent = self.prepared(**{"agent.addKeySlot": {"slot": 2, "protection": "secretService"}})
        done = self.lanyard("key", "add", "secret-service")
        self.assertEqual((done.returncode, done.stdout), (
            0, "Added key slot 2: the keyring of your session opens the vault, too.\n"), done.stderr)
        self.assertEqual(agent.params("agent.addKeySlot"), {"protection": "secretService"})

    def test_mistakes_are_usage(self):
        self.prepared()
        for words in (["add"], ["add", "words"], ["add", "key-file", "--pinentry"], ["remove"], ["remove", "one"],
                      ["add", "passphrase", "--pinentry", "--pw-file", "x"]):
            self.assertEqual(self.lanyard("key", *words).returncode, 2, words)

    def test_removing_and_rotating(self):
        agent = self.prepared()
        done = self.lanyard("key", "remove", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Removed slot 1.", done.stdout)
        self.assertIn("lanyard key rotate", done.stderr)
        self.assertEqual(agent.params("agent.removeKeySlot"), {"slot": 1})
        self.assertIn("key epoch 3", self.lanyard("key", "rotate").stdout)
        self.assertEqual(json.loads(self.lanyard("key", "rotate", "--json").stdout), {"keyEpoch": 3})

    def test_a_locked_vault(self):
        self.prepared(**{"agent.rotateRootKey": Error(1001, "agentLocked", remedies=["unlock"])})
        self.assertEqual(self.lanyard("key", "rotate").returncode, 8)


class RealKeyTests(RealProvider):
    """With the real agent: what a person does to leave the key file."""

    def test_from_the_key_file_to_a_passphrase(self):
        self.assertEqual(self.lanyard("key", "add", "passphrase", input=WORDS + "\n").returncode, 0)
        self.assertEqual(self.lanyard("key", "remove", "0").returncode, 0)
        self.assertEqual(self.lanyard("key", "rotate").returncode, 0)
        done = self.lanyard("key", "remove", "1")
        self.assertEqual(done.returncode, 2)
        self.assertIn("last key slot of the vault", done.stderr)
        self.assertEqual(self.lanyard("lock").returncode, 0)
        self.assertEqual(self.lanyard("key").returncode, 8)
        self.assertEqual(self.lanyard("unlock", "--pw-file", "-", input=WORDS + "\n").returncode, 0)
        self.assertIn("passphrase", self.lanyard("key").stdout)
