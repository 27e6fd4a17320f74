"""The machine's network goes and comes, and the agent hears of it from the kernel alone.

The test runs itself again in namespaces of its own, where it may make links and addresses.
"""

import os
import subprocess
import sys
import time
import unittest

from agent_fixture import AgentFixture, LanyardError, add_provider, import_account

sys.path[:0] = [os.path.join(os.path.dirname(__file__), "..", "..", "Bench")]
from measure import wake_ups  # noqa: E402

APART = "LANYARD_TEST_NETWORK_APART"
OFFLINE = 3001
# Changes are reported after half a second of quiet; after this time without a report, none comes.
QUIET_SECONDS = 1.2
# The pause of an account that found no network, in milliseconds: longer than the kernel needs to report a change.
LONG_PAUSE = 2_000


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


class SeparateNetwork(unittest.TestCase):
    starts_first = True

    def test_kernel_signals_in_a_separate_network_namespace(self):
        possible = subprocess.run(["unshare", "-rn", "ip", "link", "add", "v0", "type", "veth"], capture_output=True)
        if possible.returncode != 0:
            self.skipTest(f"no network can be made here: {possible.stderr.decode().strip()}")
        run = subprocess.run(
            ["unshare", "-rn", sys.executable, "-m", "unittest", "test_network.Signals"],
            cwd=os.path.dirname(os.path.abspath(__file__)), env={**os.environ, APART: "1"}, capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertNotIn("skipped", run.stderr)


@unittest.skipUnless(os.environ.get(APART), "run by the test above")
class Signals(AgentFixture):
    def setUp(self):
        ip("link", "set", "lo", "up")
        ip("link", "add", "v0", "type", "veth", "peer", "name", "v1")
        self.addCleanup(ip, "link", "delete", "v0")
        ip("link", "set", "v1", "up")
        ip("link", "set", "v0", "up")
        self.agent = self.scene()
        self.caller = self.client(self.agent)

    def lose_the_network(self):
        """An exchange finds no network; from here on only the kernel reports changes."""
        far = "https://198.51.100.1"
        self.caller.call("provider.add", {
            "name": "far", "issuer": far, "clientId": "x",
            "endpoints": {"authorization": f"{far}/authorize", "token": f"{far}/token"}})
        with self.assertRaises(LanyardError):
            self.caller.call("signIn.import", {"provider": "far", "refreshToken": "of nobody"})
        self.assertEqual(self.connectivity(), ("offline", "exchange"))

    def connectivity(self):
        told = self.caller.call("connectivity.get")
        return told["state"], told["basis"]

    def told(self):
        """The kernel reported a change: connectivity is unknown again."""
        self.until(lambda: self.connectivity() == ("unknown", "interface"), "the agent hears of the change")
        self.caller.call("connectivity.report", {"online": False})

    def silent(self):
        before = self.caller.call("connectivity.get")
        time.sleep(QUIET_SECONDS)
        self.assertEqual(self.caller.call("connectivity.get"), before)

    def test_address_route_and_link_changes_reset_connectivity(self):
        self.lose_the_network()
        for change in (
            ("address", "add", "192.0.2.7/24", "dev", "v0"),
            ("route", "add", "default", "via", "192.0.2.1"),
            ("route", "delete", "default"),
            ("link", "set", "v1", "down"),
            ("link", "set", "v1", "up"),
            ("address", "add", "2001:db8::7/64", "dev", "v0", "nodad"),
            ("address", "delete", "192.0.2.7/24", "dev", "v0"),
        ):
            with self.subTest(" ".join(change)):
                ip(*change)
                self.told()

    def test_loopback_and_irrelevant_changes_are_ignored(self):
        self.lose_the_network()
        ip("address", "add", "192.0.2.7/24", "dev", "v0")
        ip("route", "add", "default", "via", "192.0.2.1")
        self.told()
        for chatter in (
            ("address", "add", "10.9.9.9/32", "dev", "lo"),
            ("address", "change", "192.0.2.7/24", "dev", "v0", "valid_lft", "3000", "preferred_lft", "3000"),
            ("route", "replace", "default", "via", "192.0.2.1"),
            ("route", "add", "198.51.100.0/24", "via", "192.0.2.1"),
            ("link", "set", "v0", "mtu", "1400"),
            ("neighbour", "add", "192.0.2.9", "lladdr", "02:00:00:00:00:09", "dev", "v0"),
            ("link", "add", "b0", "type", "bridge"),
            ("link", "delete", "b0"),
        ):
            ip(*chatter)
        self.silent()
        # Real changes are still reported.
        ip("link", "set", "v1", "down")
        self.told()

    def test_burst_of_changes_is_reported_once(self):
        self.lose_the_network()
        burst = "".join(f"address add 192.0.2.{number}/32 dev v0\n" for number in range(1, 200))
        subprocess.run(["ip", "-batch", "-"], input=burst, text=True, check=True)
        self.told()
        self.silent()

    def test_network_change_ends_the_pause_of_an_offline_account(self):
        practice = self.provider()
        add_provider(self.caller, practice)
        import_account(self.caller, practice, "alice", alias="alice")
        ip("link", "set", "lo", "down")
        pause = 0
        while pause < LONG_PAUSE:
            error = self.refused(OFFLINE, lambda: self.caller.call("token.refresh", {"account": "alice"}))
            pause = error.retry_after_ms
            if pause < LONG_PAUSE:
                time.sleep(pause / 1000 + 0.01)
        ip("link", "set", "lo", "up")
        deadline = time.monotonic() + pause / 1000 - 0.5
        # The loopback is no network: the pause holds.
        self.refused(OFFLINE, lambda: self.caller.call("token.refresh", {"account": "alice"}))
        ip("address", "add", "192.0.2.7/24", "dev", "v0")

        def refreshed():
            try:
                return self.caller.call("token.refresh", {"account": "alice"})["accessToken"]
            except LanyardError as error:
                self.assertEqual(error.code, OFFLINE)
                return None

        self.until(refreshed, "an exchange")
        self.assertLess(time.monotonic(), deadline, "it was the pause that ended")

    def test_idle_agent_is_not_woken(self):
        time.sleep(QUIET_SECONDS + 3)  # the start's resources are released after three seconds
        before = wake_ups(self.agent.pid)
        time.sleep(3)
        self.assertEqual(wake_ups(self.agent.pid), before)


if __name__ == "__main__":
    unittest.main()
