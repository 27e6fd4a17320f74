"""kill -9 amid hard sign-outs: nothing of an account that is signed out is in the files when the next start answers.

Two accounts with values of many sizes share the database's pages, so that SQLite moves their rows about. Sealed records
are looked for, not texts: the agent's own key would open them.
"""

import contextlib
import os
import random
import threading
import time
import unittest

from agent_fixture import AgentFixture, LanyardError, PATIENCE_SECONDS, add_provider, import_account
from test_sign_out import records

KILLS = int(os.environ.get("LANYARD_KILLS", "25").replace("all", "200"))
PEOPLE = ("alice", "bob")
PROVIDER_KIND = 16
"""DeclaredKind.provider: only the vault's own partition has providers."""


class SignOutStorm(AgentFixture):
    def setUp(self):
        self.seed = int(os.environ.get("LANYARD_SEED", time.time_ns() % 1_000_000))
        self.random = random.Random(self.seed)
        self.idp = self.provider("--rotation", "none")
        self.agent = self.scene()
        with self.agent.client(timeout=PATIENCE_SECONDS) as client:
            add_provider(client, self.idp, refresh={"reuse": "none"})

    def partitions(self):
        """The sealed records of each account's partition."""
        rows = records(self.agent.state)
        vault = {partition for partition, kind, _, _ in rows if kind == PROVIDER_KIND}
        found = {}
        for partition, _, _, sealed in rows:
            if partition not in vault and len(sealed) >= 44:
                found.setdefault(partition, []).append(sealed[12:44])
        return found

    def traces(self, sealed):
        found = []
        for name in os.listdir(self.agent.state):
            with open(os.path.join(self.agent.state, name), "rb") as file:
                data = file.read()
            found += [(name, data.find(record)) for record in sealed if record in data]
        return found

    def sign_in(self, client):
        accounts = [import_account(client, self.idp, person) for person in PEOPLE]
        for account in accounts:
            for number in range(self.random.randrange(1, 6)):
                size = self.random.choice([10, 100, 1_000, 3_000, 6_000])
                client.call("secret.put", {"account": account, "name": f"value{number}", "value": "x" * size})
        return accounts

    def leave(self, account):
        with contextlib.suppress(LanyardError, OSError), self.agent.client(timeout=PATIENCE_SECONDS) as client:
            client.call("account.signOut", {"account": account, "mode": "hard"})

    def test_killed_hard_sign_outs_leave_nothing_after_the_next_start(self):
        signed_out = 0
        for kill in range(KILLS):
            with self.subTest(kill=kill, seed=self.seed):
                with self.agent.client(timeout=PATIENCE_SECONDS) as client:
                    accounts = self.sign_in(client)
                before = self.partitions()
                leaving = [threading.Thread(target=self.leave, args=(account,)) for account in accounts]
                for thread in leaving:
                    thread.start()
                time.sleep(self.random.random() * 0.04)
                self.agent.kill()
                for thread in leaving:
                    thread.join(PATIENCE_SECONDS)
                self.agent.start()
                with self.agent.client(timeout=PATIENCE_SECONDS) as client:
                    states = [client.call("account.get", {"account": account})["state"] for account in accounts]
                    kept = self.partitions()
                    gone = [sealed for partition, own in before.items() if partition not in kept for sealed in own]
                    self.assertEqual(bool(gone), "signedOut" in states)
                    self.assertEqual(self.traces(gone), [], "after the next start")
                    signed_out += states.count("signedOut")
                    for account, state in zip(accounts, states):
                        if state != "signedOut":
                            answer = client.call("account.signOut", {"account": account, "mode": "hard"})
                            self.assertEqual(answer["data"], "erased")
                    everything = [sealed for own in before.values() for sealed in own]
                    self.assertEqual(self.traces(everything), [], "after a sign-out that was not killed")
                    for account in accounts:
                        client.call("account.forget", {"account": account})
        self.assertGreater(signed_out, 0, "no kill came after a sign-out")


if __name__ == "__main__":
    unittest.main()
