"""kill -9 at any moment: no account is lost, and no refresh token is sent twice to a provider that forbids it."""

import os
import random
import threading
import time
import unittest

from agent_fixture import ConnectionLost, AgentFixture, LanyardError, add_provider, import_account

# `all` applies to countable points (test_kill_points.py); moments in a storm can't be counted.
KILLS = int(os.environ.get("LANYARD_KILLS", "20").replace("all", "200"))
# Never sends a spent token; `replayLast`, the default, sends it once when the person would have to sign in anyway.
CAREFUL = {"reuse": "strict", "onUnknownOutcome": "reauthenticate"}
PEOPLE = ("alice", "bob")
REAUTHENTICATE = 2004
STORM_CALLERS = 4


class Storm:
    """Callers that force refreshes of all accounts until the agent dies."""

    def __init__(self, scene):
        self._scene = scene
        self.answers = 0
        self.unexpected = []
        self._threads = [
            threading.Thread(target=self._run, args=(person,), daemon=True)
            for person in PEOPLE
            for _ in range(STORM_CALLERS)
        ]
        for thread in self._threads:
            thread.start()

    def _run(self, person):
        try:
            with self._scene.client(timeout=30) as client:
                while True:
                    client.call("token.refresh", {"account": person})
                    self.answers += 1
        except (ConnectionLost, ConnectionError, OSError):
            pass
        except LanyardError as error:
            self.unexpected.append(error)

    def end(self):
        for thread in self._threads:
            thread.join(30)
        return self.unexpected


class Kills(AgentFixture):
    def setUp(self):
        self.seed = int(os.environ.get("LANYARD_SEED", time.time_ns() % 1_000_000))
        self.random = random.Random(self.seed)

    def prepare(self, rotation, reuse):
        provider = self.provider("--rotation", rotation)
        scene = self.scene()
        with scene.client() as client:
            add_provider(client, provider, refresh=reuse)
            accounts = {person: import_account(client, provider, person, alias=person) for person in PEOPLE}
        return provider, scene, accounts

    def kill_in_a_storm(self, provider, scene):
        before = provider.asked()
        storm = Storm(scene)
        if self.random.random() < 0.5:
            # An answer that is on its way, or is lost, at the kill.
            provider.fault("none", delayMilliseconds=self.random.randrange(1, 120), count=self.random.randrange(1, 4))
        self.until(lambda: provider.asked() > before, "the storm reaches the provider")
        time.sleep(self.random.random() * 0.08)
        scene.kill()
        self.assertEqual(storm.end(), [], f"seed {self.seed}")
        self.assertEqual([asked for asked in provider.refreshes() if asked.get("error")], [], f"seed {self.seed}")
        provider.clear_faults()
        scene.start()

    def test_kills_send_no_token_twice_to_a_strict_provider(self):
        provider, scene, accounts = self.prepare("strict", CAREFUL)
        lost = 0
        for kill in range(KILLS):
            with self.subTest(kill=kill, seed=self.seed):
                self.kill_in_a_storm(provider, scene)
                with scene.client(timeout=30) as client:
                    listed = {account["id"] for account in client.call("account.list")["accounts"]}
                    self.assertEqual(listed, set(accounts.values()))
                    for person, account in accounts.items():
                        try:
                            self.assertTrue(client.call("token.get", {"account": person})["accessToken"])
                        except LanyardError as error:
                            self.assertEqual((error.code, error.reason), (REAUTHENTICATE, "outcomeUnknown"))
                            self.assertEqual(client.call("account.get", {"account": person})["state"],
                                             "reauthenticationRequired")
                            lost += 1
                            self.assertEqual(import_account(client, provider, person), account)
                            self.assertTrue(client.call("token.get", {"account": person})["accessToken"])
                self.assertNotIn("refreshTokenReused", provider.ended().values())
        # An answer was in flight at about every other kill, for one or both accounts; not at all of them.
        self.assertLess(lost, KILLS * len(PEOPLE))

    def test_kills_lose_no_account_at_a_provider_with_grace(self):
        grace = {"reuse": "grace", "graceSeconds": 30}
        provider, scene, accounts = self.prepare("grace", grace)
        for kill in range(KILLS // 2):
            with self.subTest(kill=kill, seed=self.seed):
                self.kill_in_a_storm(provider, scene)
                with scene.client(timeout=30) as client:
                    for person, account in accounts.items():
                        token = client.call("token.get", {"account": person})
                        self.assertEqual(token["account"], account)
        self.assertEqual(provider.ended(), {})

    def test_answered_refresh_survives_a_kill(self):
        """An answered token comes from a grant that is already on the disk."""
        provider, scene, _ = self.prepare("strict", CAREFUL)
        for _ in range(KILLS // 2):
            with scene.client(timeout=30) as client:
                client.call("token.refresh", {"account": "alice"})
            scene.kill()
            scene.start()
        with scene.client(timeout=30) as client:
            self.assertTrue(client.call("token.get", {"account": "alice"})["accessToken"])
        self.assertEqual(provider.ended(), {})

    def test_repeatedly_killed_start_recovers(self):
        provider, scene, _ = self.prepare("strict", CAREFUL)
        scene.kill()
        for _ in range(KILLS):
            scene.start(wait=False)
            time.sleep(self.random.random() * 0.03)
            scene.kill()
        scene.start()
        with scene.client(timeout=30) as client:
            for person in PEOPLE:
                self.assertTrue(client.call("token.get", {"account": person})["accessToken"])
        self.assertNotIn("refreshTokenReused", provider.ended().values())

    def test_killed_first_start_leaves_a_startable_state(self):
        for _ in range(KILLS):
            scene = self.scene(start=False)
            scene.start(wait=False)
            time.sleep(self.random.random() * 0.03)
            scene.kill()
            scene.start()
            with scene.client(timeout=30) as client:
                self.assertFalse(client.call("agent.status")["locked"], f"seed {self.seed}")
            scene.__exit__()

    def test_answered_sign_out_survives_a_kill(self):
        for mode in ("soft", "hard", "offline"):
            with self.subTest(mode=mode):
                provider, scene, accounts = self.prepare("strict", CAREFUL)
                with scene.client(timeout=30) as client:
                    client.call("account.signOut", {"account": "alice", "mode": mode, "revocationTimeoutSeconds": 0})
                scene.kill()
                scene.start()
                with scene.client(timeout=30) as client:
                    # An erased account has no alias.
                    code = 2001 if mode == "hard" else 2003
                    self.refused(code, lambda: client.call("token.get", {"account": "alice"}))
                    self.assertTrue(client.call("token.get", {"account": "bob"})["accessToken"])
                    self.until(lambda: client.call("agent.status")["pendingRevocations"] == 0, "the revocation is sent")
                self.assertEqual(list(provider.ended().values()), ["revoked"])


if __name__ == "__main__":
    unittest.main()
