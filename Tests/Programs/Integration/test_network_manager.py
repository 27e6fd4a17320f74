"""A captive portal on a desktop: NetworkManager says when it lets the machine through, and the kernel does not."""

import os
import subprocess
import time
import unittest
import unittest.mock

from agent_fixture import AgentFixture, LanyardError, add_provider, import_account
from test_locking import Machine

HERE = os.path.dirname(os.path.abspath(__file__))
PORTAL, LIMITED, FULL = 2, 3, 4
UNAVAILABLE = 3002
# Where NetworkManager says nothing, the pause is over 10 s by then.
SOON_SECONDS = 5


class Portal(AgentFixture):
    def setUp(self):
        self.machine = Machine(self.directory())
        self.machine.start_bus()
        self.addCleanup(self.machine.stop)
        self.practice = self.provider("--access-token-lifetime", "300")
        with unittest.mock.patch.dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS=self.machine.address):
            self.agent = self.scene()
        self.caller = self.client(self.agent)
        add_provider(self.caller, self.practice)
        import_account(self.caller, self.practice, "alice", alias="alice")

    def start_network_manager(self, connectivity):
        manager = subprocess.Popen(
            ["/usr/bin/python3", os.path.join(HERE, "fake_network_manager.py"), str(connectivity)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={"DBUS_SYSTEM_BUS_ADDRESS": self.machine.address, "PATH": "/usr/bin:/bin"})

        def stop():
            manager.kill()
            manager.communicate()

        self.addCleanup(stop)
        self.assertEqual(manager.stdout.readline(), "ready\n")

        def tell(connectivity=""):
            manager.stdin.write(f"{connectivity}\n")
            manager.stdin.flush()
            return int(manager.stdout.readline())

        return tell

    def refreshed(self):
        """None, or the pause in seconds."""
        try:
            self.caller.call("token.refresh", {"account": "alice"})
            return None
        except LanyardError as error:
            self.assertEqual(error.code, UNAVAILABLE, error)
            return error.data["retryAfterMs"] / 1000

    def meet_the_portal(self):
        """Refreshes until the pause is a long one."""
        self.practice.fault("notJSON", count=100)
        while (pause := self.refreshed()) < 2 * SOON_SECONDS:
            self.assertLessEqual(pause, 15)
            time.sleep(pause + 0.05)
        self.practice.clear_faults()
        self.assertGreater(self.refreshed(), SOON_SECONDS)

    def test_portal_that_lets_through_ends_the_pause(self):
        tell = self.start_network_manager(PORTAL)
        for before in (PORTAL, LIMITED):
            with self.subTest(before=before):
                tell(before)
                self.meet_the_portal()
                self.until(lambda: tell() > 0, "the agent asks NetworkManager")
                tell(FULL)
                told = time.monotonic()
                self.until(lambda: self.refreshed() is None, "the pause ends")
                self.assertLess(time.monotonic() - told, SOON_SECONDS)

    def test_network_manager_is_not_asked_before_a_request_fails(self):
        tell = self.start_network_manager(FULL)
        self.assertIsNone(self.refreshed())
        self.assertEqual(tell(), 0)


if __name__ == "__main__":
    unittest.main()
