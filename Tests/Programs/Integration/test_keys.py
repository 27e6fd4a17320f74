"""Accounts with keys, and machines, of the running agent: kill -9 at each write of what changes them, and storms of callers."""

import contextlib
import subprocess
import unittest
from concurrent.futures import ThreadPoolExecutor

from agent_fixture import PATIENCE_SECONDS, AgentFixture, LanyardError
from deaths import Deaths, Faulty, Point, is_sound, kills
from key_service import KeyService
from test_canary import canary

REAUTHENTICATE = 2004
CALLERS = 50
DEATH_SECONDS = 5.0


class KeyKills(Deaths):
    """After a death the account is as before or as after, and its key is served, waits to be revoked, or is dead."""

    @contextlib.contextmanager
    def agent(self, keys=()):
        """An agent with an account for the first of `keys`, if there is one."""
        service, scene = KeyService(), Faulty()
        try:
            scene.start()
            with scene.client(timeout=PATIENCE_SECONDS) as client:
                client.call("provider.add", service.provider(name="keys"))
                if keys:
                    self.add(client, keys[0])
                yield service, scene, client
        finally:
            scene.__exit__()
            service.stop()

    def add(self, client, key):
        return client.call("account.add", {"provider": "keys", "secret": key, "alias": "work"})["account"]

    def replace(self, client, key):
        client.call("account.replace", {"account": "work", "secret": key})

    def sign_out(self, client, mode):
        return client.call("account.signOut", {"account": "work", "mode": mode})

    def served(self, client):
        """The key of the account; None without an account, or if it is signed out."""
        found = client.call("account.list")["accounts"]
        if not [account for account in found if account["state"] == "active"]:
            return None
        return client.call("token.get", {"account": found[0]["account"]})["accessToken"]

    def die_everywhere(self, what, keys, change, check):
        with self.agent(keys) as (_, scene, client):
            scene.arm(Point(0, "count"))
            change(client)
            scene.disarm()
            lines = scene.counted()
        points = self.some(kills(lines), 4)
        for point in points:
            with self.subTest(what, point=point, seed=self.seed), self.agent(keys) as (service, scene, client):
                scene.arm(point)
                with contextlib.suppress(Exception):
                    change(client)
                # Writes after the answer come by themselves, and the agent dies there, too.
                try:
                    scene.process.wait(DEATH_SECONDS)
                except subprocess.TimeoutExpired:
                    scene.kill()  # How many writes an erasure takes differs by a few.
                self.assertTrue(is_sound(scene.state))
                scene.watched = False
                scene.start()
                with scene.client(timeout=PATIENCE_SECONDS) as again:
                    check(service, again)
                scene.kill()
                self.assertTrue(is_sound(scene.state))
        self.tell(f"{what}: {len(lines)} writes, {len(points)} kills")

    def revoked(self, service, client, key):
        """The key is dead, or it waits and dies."""
        client.call("revocation.retry", {})
        self.until(lambda: client.call("revocation.list")["revocations"] == [], "the revocation is sent")
        self.assertIn(key, service.dead)

    def test_killed_at_any_write_an_added_account_is_whole_or_absent(self):
        key = canary("added")

        def check(service, client):
            if self.served(client) is None:
                self.assertEqual(client.call("account.list")["accounts"], [])
            else:
                self.assertEqual(self.served(client), key)
            self.add(client, key)
            self.assertEqual(self.served(client), key)
            self.assertEqual((service.dead, client.call("revocation.list")["revocations"]), (set(), []))

        self.die_everywhere("add", [], lambda client: self.add(client, key), check)

    def test_killed_at_any_write_a_replaced_key_is_served_or_revoked(self):
        first, second = canary("first"), canary("second")

        def check(service, client):
            key = self.served(client)
            self.assertIn(key, (first, second))
            if key == first:
                self.assertNotIn(first, service.dead)
                self.replace(client, second)
            self.assertEqual(self.served(client), second)
            self.revoked(service, client, first)
            self.assertNotIn(second, service.dead)

        self.die_everywhere("replace", [first], lambda client: self.replace(client, second), check)

    def signed_out(self, mode):
        key = canary("left")

        def check(service, client):
            if self.served(client) is not None:
                self.assertEqual((self.served(client), service.dead), (key, set()))
                self.sign_out(client, mode)
            self.assertIsNone(self.served(client))
            self.revoked(service, client, key)

        self.die_everywhere(mode, [key], lambda client: self.sign_out(client, mode), check)

    def test_killed_at_any_write_a_soft_sign_out_leaves_no_living_key(self):
        self.signed_out("soft")

    def test_killed_at_any_write_a_hard_sign_out_leaves_no_living_key(self):
        self.signed_out("hard")

    def test_killed_at_any_write_an_offline_sign_out_leaves_no_living_key(self):
        self.signed_out("offline")


class Storms(AgentFixture):
    """Many callers at once, each on a connection of its own."""

    def setUp(self):
        self.service = KeyService()
        self.addCleanup(self.service.stop)
        self.agent = self.scene()
        self.caller = self.client(self.agent)

    def at_once(self, method, params):
        """What each caller gets: its answer, or its error."""

        def ask(_):
            with self.agent.client(timeout=PATIENCE_SECONDS) as client:
                try:
                    return client.call(method, params)
                except LanyardError as error:
                    return error

        with ThreadPoolExecutor(CALLERS) as pool:
            return list(pool.map(ask, range(CALLERS)))

    def test_fifty_callers_of_a_machine_share_one_exchange(self):
        self.service.tokens = lambda: canary("access")
        self.caller.call("provider.add", self.service.machine(
            name="robot", clientId="robot", clientSecret="practice-secret", machine={"grant": "clientCredentials"}))
        self.caller.call("account.add", {"provider": "robot", "alias": "robot"})
        self.agent.end()
        self.agent.start()  # and so without a token in memory
        self.service.slow["/token"] = 0.5
        before = self.service.count("/token")
        answers = self.at_once("token.get", {"account": "robot"})
        self.assertEqual(len({answer["accessToken"] for answer in answers}), 1)
        self.assertEqual(self.service.count("/token") - before, 1)

    def storm(self):
        """Fifty requests that the server answers with 401, of an account whose key was confirmed some time ago."""
        self.caller.call("provider.add", self.service.provider(name="keys"))
        self.key = canary("key")
        self.caller.call("account.add", {"provider": "keys", "secret": self.key, "alias": "work"})
        self.agent.end()
        self.agent.start()
        self.service.slow["/whoami"] = 0.3
        self.service.asked.clear()

    def send(self):
        return self.at_once("request.send", {
            "account": "work", "method": "GET", "url": self.service.origin + "/items"})

    def test_fifty_requests_with_a_dead_key_ask_once_whose_it_is(self):
        self.storm()
        self.service.dead.add(self.key)
        for answer in self.send():
            self.assertIsInstance(answer, LanyardError)
            self.assertEqual((answer.code, answer.reason), (REAUTHENTICATE, "secretRefused"))
        self.assertEqual(self.service.count("/whoami"), 1)
        self.assertLessEqual(self.service.count("/items"), CALLERS)

    def test_fifty_requests_that_are_refused_with_a_good_key_ask_once_and_are_sent_once(self):
        self.storm()
        self.service.refused.add("/items")
        self.assertEqual({answer["status"] for answer in self.send()}, {401})
        self.assertEqual((self.service.count("/whoami"), self.service.count("/items")), (1, CALLERS))


if __name__ == "__main__":
    unittest.main()
