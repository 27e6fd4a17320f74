"""kill -9 at every write of a rotation of the root key: the store opens after each.

The anchors know the root key, so that a store under another one is refused. They are told the next key before the store
has it, and forget the old one afterwards.
"""

import contextlib
import os
import re
import unittest

from agent_fixture import PATIENCE_SECONDS, add_provider, import_account
from deaths import Deaths, Faulty, Point, is_sound, kills

LOG = "lanyard.sqlite-wal"


class RotationKillPoints(Deaths):
    @contextlib.contextmanager
    def alice(self):
        provider = self.provider()
        scene = Faulty()
        try:
            scene.start()
            with scene.client(timeout=PATIENCE_SECONDS) as client:
                add_provider(client, provider)
                import_account(client, provider, "alice", alias="alice")
                yield scene, client
        finally:
            scene.__exit__()
            provider.stop()

    def roots(self, scene):
        """The epochs of the root keys that the anchor's file accepts."""
        anchors = os.path.join(scene.environment["XDG_CONFIG_HOME"], "lanyard", "anchors")
        (name,) = [name for name in os.listdir(anchors) if name.endswith(".root")]
        with open(os.path.join(anchors, name)) as file:
            return [int(epoch) for epoch in re.findall(r" ([0-9]+):", file.read())]

    def writes(self):
        with self.alice() as (scene, client):
            scene.arm(Point(0, "count"))
            client.call("agent.rotateRootKey")
            scene.disarm()
            return scene.counted()

    def test_kill_at_any_write_of_a_rotation_leaves_a_store_that_opens(self):
        calls = self.writes()
        told = [number for number, line in enumerate(calls, 1) if "anchor.root" in line]
        stored = [number for number, line in enumerate(calls, 1) if line.endswith(f"fdatasync {LOG}")]
        self.assertTrue(told and told[0] < stored[0] < told[-1], calls)
        for point in self.some(kills(calls)):
            with self.subTest(point=point, seed=self.seed), self.alice() as (scene, client):
                scene.arm(point)
                with self.assertRaises(Exception):
                    client.call("agent.rotateRootKey")
                scene.process.wait(PATIENCE_SECONDS)
                self.assertTrue(is_sound(scene.state))
                scene.watched = False
                scene.start()
                with scene.client(timeout=PATIENCE_SECONDS) as again:
                    self.assertTrue(again.call("token.get", {"account": "alice"})["accessToken"])
                    (epoch,) = self.roots(scene)
                    self.assertEqual(again.call("agent.rotateRootKey")["keyEpoch"], epoch + 1)
                scene.kill()


if __name__ == "__main__":
    unittest.main()
