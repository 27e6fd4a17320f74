"""kill -9 at a random moment of a refresh, also while it connects: which sessions are lost, and why.

A relay in front of the provider sees whether the request arrived. A session whose request never arrived is kept, at times
after one more refresh: an agent that was killed while it sent can't know. Where the provider rotates strictly, a session whose
answer was lost may be lost with it.
"""

import os
import random
import threading
import time
import unittest

from agent_fixture import PATIENCE_SECONDS, AgentFixture, ConnectionLost, LanyardError, add_provider
from relay import Relay

# `all` means every countable point (test_kill_points.py); of these moments it takes a good sample.
KILLS = int(os.environ.get("LANYARD_KILLS", "12").replace("all", "200"))
PEOPLE = ("alice", "bob", "carol")
REAUTHENTICATE = 2004
UNAVAILABLE = 3002
# The last replay comes 15 to 30 s after the answer was lost.
REPLAY_SECONDS = 40
LONGEST_SECONDS = 0.4
# Without a delay, a refresh of this machine has ended after this time.
SHORT_SECONDS = 0.03


class LostSessions(AgentFixture):
    def setUp(self):
        self.seed = int(os.environ.get("LANYARD_SEED", time.time_ns() % 1_000_000))
        self.random = random.Random(self.seed)
        self.lost = []
        # Whose request had not arrived, and who waits all the same.
        self.unknown = []
        self.refused_meanwhile = []

    def prepare(self, rotation, tls=False, **refresh):
        self.idp = self.provider("--rotation", rotation)
        self.relay = Relay(self.idp.issuer, self.directory(), tls)
        self.addCleanup(self.relay.stop)
        self.agent = self.scene()
        caller = self.client(self.agent)
        more = {"caFile": self.relay.certificate} if tls else {}
        add_provider(caller, self.relay, refresh={"reuse": rotation, **refresh}, **more)
        for person in PEOPLE:
            self.sign_in(caller, person, alias=person)
        caller.close()

    def sign_in(self, caller, person, **more):
        token = self.idp.refresh_token(person)
        self.relay.issued(token, person)
        caller.call("signIn.import", {"provider": "practice", "refreshToken": token, **more})

    def draw_delays(self):
        """One thing is slow, or nothing is and the kill comes early. Returns the latest moment of the kill."""
        delays = ["delay_of_handshake", "delay_of_request", "delay_of_answer", None]
        slow = self.random.choice(delays)
        for name in delays[:3]:
            setattr(self.relay, name, self.random.uniform(0, 0.3) if name == slow else 0.0)
        return LONGEST_SECONDS if slow else SHORT_SECONDS

    def refresh(self, person, answered, begin):
        try:
            with self.agent.client(timeout=PATIENCE_SECONDS) as caller:
                caller.call("agent.status")
                begin.wait()
                caller.call("token.refresh", {"account": person})
                answered.add(person)
        except (ConnectionLost, OSError):
            pass
        except LanyardError as error:
            self.refused_meanwhile.append(error)

    def kill(self):
        """Kills the agent during refreshes. Returns whose request arrived and whose was answered."""
        latest = self.draw_delays()
        before = len(self.relay.refreshes)
        people = self.random.sample(PEOPLE, self.random.randrange(1, len(PEOPLE) + 1))
        answered, begin = set(), threading.Barrier(len(people) + 1)
        callers = [threading.Thread(target=self.refresh, args=(person, answered, begin)) for person in people]
        for caller in callers:
            caller.start()
        begin.wait()
        time.sleep(self.random.uniform(0, latest))
        self.agent.kill()
        for caller in callers:
            caller.join()
        self.assertEqual(self.refused_meanwhile, [], f"seed {self.seed}")
        self.relay.settle()
        self.relay.delay_of_handshake = self.relay.delay_of_request = self.relay.delay_of_answer = 0.0
        return {refresh.person for refresh in self.relay.arrived(since=before)}, answered

    def kills(self):
        for number in range(KILLS):
            arrived, answered = self.kill()
            self.agent.start()
            with self.agent.client(timeout=PATIENCE_SECONDS) as caller:
                for person in PEOPLE:
                    with self.subTest(kill=number, person=person, seed=self.seed):
                        self.asks_again(caller, person, arrived, answered, waits=number == KILLS - 1)

    def asks_again(self, caller, person, arrived, answered, waits):
        """`waits`: also for the last replay. Elsewhere the person does not, and signs in again."""
        last = time.monotonic() + REPLAY_SECONDS
        while True:
            try:
                self.assertTrue(caller.call("token.get", {"account": person})["accessToken"])
                return
            except LanyardError as error:
                self.assertIn(error.code, (REAUTHENTICATE, UNAVAILABLE), error)
                self.assertNotIn(person, answered, "its answer was given to the caller")
                if error.code == REAUTHENTICATE:
                    self.assertIn(person, arrived, "no request had arrived")
                    self.lost.append(person)
                elif person not in arrived:
                    self.unknown.append(person)
                elif waits:
                    self.assertLess(time.monotonic(), last, "the last replay did not come")
                    time.sleep(0.5)
                    continue
                self.sign_in(caller, person)
                return

        # The moment between the note that a request is sent and the request is short.
        self.assertLess(len(self.unknown), max(3, KILLS // 2), self.unknown)

    def spent(self):
        return [refresh.token for refresh in self.relay.arrived() if refresh.is_spent]

    def loses_only_sessions_whose_request_arrived(self):
        self.kills()
        self.assertEqual(len(self.spent()), len(set(self.spent())), "a spent token is sent once")
        self.assertEqual(len(self.spent()), len(self.lost), "what was sent once more without success is lost")

    def test_kill_loses_only_sessions_whose_request_arrived_at_a_strict_provider(self):
        self.prepare("strict")
        self.loses_only_sessions_whose_request_arrived()

    def test_kill_loses_only_sessions_whose_request_arrived_at_a_strict_provider_over_tls(self):
        self.prepare("strict", tls=True)
        self.loses_only_sessions_whose_request_arrived()

    def test_kill_loses_no_session_at_a_provider_with_grace(self):
        self.prepare("grace", graceSeconds=30)
        self.kills()
        self.assertEqual((self.lost, self.idp.ended()), ([], {}))

    def test_kill_loses_no_session_without_rotation(self):
        self.prepare("none")
        self.kills()
        self.assertEqual((self.lost, self.idp.ended()), ([], {}))


if __name__ == "__main__":
    unittest.main()
