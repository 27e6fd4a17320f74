"""The store's key as a systemd credential, and the agent's errors without one."""

import os
import unittest

from agent_fixture import AgentFixture, Scene, add_provider, import_account

VAULT_CLOSED = 76


class ServiceScene(Scene):
    """An agent as systemd starts it, with a credentials directory."""

    credentials = None

    @property
    def environment(self):
        own = {} if self.credentials is None else {"CREDENTIALS_DIRECTORY": self.credentials}
        return {**super().environment, **own}


class Credential(AgentFixture):
    def prepared(self, content=None):
        scene = ServiceScene("--protection", "systemd-credential")
        self.addCleanup(scene.__exit__)
        scene.credentials = self.directory()
        if content is not None:
            self.hand(scene, content)
        return scene

    def hand(self, scene, content, mode=0o400):
        path = os.path.join(scene.credentials, "lanyard.key")
        if os.path.lexists(path):
            os.unlink(path)
        with open(path, "wb") as file:
            file.write(content)
        os.chmod(path, mode)

    def refuses(self, scene, words):
        ended = scene.run()
        self.assertEqual(ended.returncode, VAULT_CLOSED, ended.stderr)
        self.assertIn(words, ended.stderr.decode())
        self.assertFalse(os.path.exists(os.path.join(scene.state, "key")))

    def test_vault_made_under_a_credential_opens_only_with_it(self):
        practice = self.provider()
        for content in (bytes(range(32)), b"a secret that came from a password manager\n"):
            scene = self.prepared(content)
            scene.start()
            client = self.client(scene)
            status = client.call("agent.status")
            self.assertEqual((status["protection"], status["locked"]), ("systemdCredential", False))
            add_provider(client, practice)
            import_account(client, practice, "alice", alias="alice")
            client.call("agent.lock")
            self.assertFalse(client.call("agent.unlock")["locked"])
            scene.end()
            scene.start()
            client.call("token.get", {"account": "alice"})
            scene.end()
            self.hand(scene, content[::-1])
            self.refuses(scene, "does not open the vault")
            self.hand(scene, content)
            scene.start()
            client.call("token.get", {"account": "alice"})
            scene.end()

    def test_missing_credential_prevents_the_start_and_makes_no_key(self):
        scene = self.prepared()
        self.refuses(scene, "systemd-creds encrypt")
        scene.credentials = None
        self.refuses(scene, "LoadCredentialEncrypted=")
        scene = self.prepared(b"x" * 32)
        scene.start()
        scene.end()
        scene.credentials = self.directory()
        self.refuses(scene, "hands over no credential")

    def test_short_or_readable_credential_is_refused(self):
        scene = self.prepared(b"x" * 31)
        self.refuses(scene, "too short")
        self.hand(scene, b"x" * 32, mode=0o444)
        self.refuses(scene, "Others can read")
        self.hand(scene, b"x" * 32)
        scene.start()


if __name__ == "__main__":
    unittest.main()
