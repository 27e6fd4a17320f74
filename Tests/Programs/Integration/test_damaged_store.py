"""A damaged store: a start that can't open it exits with 76, changes and sends nothing, and says what to do."""

import os
import shutil
import unittest

from agent_fixture import AgentFixture, PATIENCE_SECONDS, add_provider, import_account

VAULT_CLOSED = 76
DATABASE = "lanyard.sqlite"
LOG = DATABASE + "-wal"
PAGE = 4096


def zeros(start, count):
    return lambda content: content[:start] + bytes(len(content[start:start + count])) + content[start + count:]


DAMAGES = {
    "empty": lambda content: b"",
    "cut within the header": lambda content: content[:50],
    "cut after the header": lambda content: content[:100],
    "cut within the first page": lambda content: content[:1000],
    "cut after the first page": lambda content: content[:PAGE],
    "cut within a page": lambda content: content[:3 * PAGE + 77],
    "cut in the middle": lambda content: content[:len(content) // 2],
    "without its last page": lambda content: content[:-PAGE],
    "zeroed": lambda content: bytes(len(content)),
    "a text": lambda content: b"not a database\n" * 1000,
    "random bytes": lambda content: os.urandom(len(content)),
    "header zeroed": zeros(0, 100),
    "magic replaced": lambda content: os.urandom(16) + content[16:],
    "page size zeroed": zeros(16, 2),
    "unknown format": lambda content: content[:18] + b"\x63\x63" + content[20:],
    "application id zeroed": zeros(68, 4),
    "schema zeroed": zeros(100, PAGE - 100),
    "second page zeroed": zeros(PAGE, PAGE),
    "second page replaced": lambda content: content[:PAGE] + os.urandom(PAGE) + content[2 * PAGE:],
}


class DamagedStore(AgentFixture):
    def damage(self, agent, intact, change, name=DATABASE):
        shutil.rmtree(agent.state)
        shutil.copytree(intact, agent.state)
        path = os.path.join(agent.state, name)
        with open(path, "rb") as file:
            content = file.read()
        with open(path, "wb") as file:
            file.write(change(content))

    def refuses(self, agent, provider, remedy="--new-store"):
        before = provider.asked()
        ended = agent.run()
        told = ended.stderr.decode()
        self.assertEqual(ended.returncode, VAULT_CLOSED, told)
        self.assertIn(remedy, told)
        self.assertNotIn("Nothing was lost", told)
        self.assertEqual(provider.asked(), before)
        return told

    def with_alice(self):
        provider = self.provider()
        agent = self.scene()
        with agent.client(timeout=PATIENCE_SECONDS) as client:
            add_provider(client, provider)
            account = import_account(client, provider, "alice", alias="alice")
            for number in range(6):
                client.call("secret.put", {"account": account, "name": f"value{number}", "value": "x" * 3000})
        return provider, agent

    def copy(self, agent):
        intact = os.path.join(self.directory(), "state")
        shutil.copytree(agent.state, intact)
        return intact

    def test_each_damage_of_the_database_ends_the_start_with_76(self):
        provider, agent = self.with_alice()
        agent.end()
        intact = self.copy(agent)
        for name, change in DAMAGES.items():
            with self.subTest(name):
                self.damage(agent, intact, change)
                self.refuses(agent, provider)
        self.damage(agent, intact, lambda content: content)
        agent.start()
        with agent.client(timeout=PATIENCE_SECONDS) as client:
            self.assertTrue(client.call("token.get", {"account": "alice"})["accessToken"])

    def test_a_damaged_log_leaves_an_old_copy_and_ends_the_start_with_76(self):
        """The first account is in the database itself; what came after it is in the log."""
        provider, agent = self.with_alice()
        agent.kill()
        intact = self.copy(agent)
        changes = {
            "empty": lambda content: b"",
            "cut within its header": lambda content: content[:10],
            "cut within its first frame": lambda content: content[:PAGE],
            "zeroed": lambda content: bytes(len(content)),
            "random bytes": lambda content: os.urandom(len(content)),
        }
        for name, change in changes.items():
            with self.subTest(name):
                self.damage(agent, intact, change, LOG)
                self.refuses(agent, provider, remedy="--accept-old-store")
        again = self.scene("--accept-old-store", start=False)
        again.directory, again.state, again.socket = agent.directory, agent.state, agent.socket
        again.start()
        with again.client(timeout=PATIENCE_SECONDS) as client:
            self.assertEqual([one["alias"] for one in client.call("account.list")["accounts"]], ["alice"])

    def test_the_remedy_works(self):
        provider, agent = self.with_alice()
        agent.end()
        intact = self.copy(agent)
        self.damage(agent, intact, DAMAGES["zeroed"])
        self.assertIn("move both files away", self.refuses(agent, provider))
        for name in (DATABASE, LOG):
            if os.path.exists(os.path.join(agent.state, name)):
                os.rename(os.path.join(agent.state, name), os.path.join(self.directory(), name))
        again = self.scene("--new-store", start=False)
        again.directory, again.state, again.socket = agent.directory, agent.state, agent.socket
        again.start()
        with again.client(timeout=PATIENCE_SECONDS) as client:
            self.assertEqual(client.call("account.list")["accounts"], [])


if __name__ == "__main__":
    unittest.main()
