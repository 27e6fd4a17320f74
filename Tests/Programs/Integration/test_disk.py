"""A full disk: cached tokens are served, no exchange begins that could not be stored, and nothing is lost."""

import os
import shutil
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

from agent_fixture import BIN, AgentFixture, LanyardError, Scene, accepts, add_provider, import_account

STORE_UNAVAILABLE = 5001
DISK = "4m"


class SmallDisk:
    """A small file system in memory."""

    def __init__(self, path):
        self.path = path
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=0700", "lanyard-test", path], capture_output=True, text=True)
        if made.returncode != 0:
            raise unittest.SkipTest(f"no file system can be mounted here: {made.stderr.strip()}")

    def fill(self):
        with open(os.path.join(self.path, "filler"), "ab", buffering=0) as filler:
            try:
                while True:
                    filler.write(b"x" * 4096)
            except OSError:
                pass

    def empty(self):
        os.remove(os.path.join(self.path, "filler"))

    def unmount(self):
        subprocess.run(["umount", "--lazy", self.path], check=True)


@unittest.skipUnless(os.geteuid() == 0, "only root can mount a small disk")
class FullDisk(AgentFixture):
    def setUp(self):
        self.practice = self.provider()
        self.agent = Scene()
        self.addCleanup(self.agent.__exit__)
        os.mkdir(self.agent.state, 0o700)
        self.disk = SmallDisk(self.agent.state)
        self.addCleanup(self.disk.unmount)
        self.addCleanup(self.agent.forget_keyring)
        self.addCleanup(self.stop)
        self.agent.start()
        self.caller = self.client(self.agent)
        add_provider(self.caller, self.practice)
        for person in ("alice", "bob"):
            import_account(self.caller, self.practice, person, alias=person)
        self.bob = self.caller.call("account.get", {"account": "bob"})["id"]

    def stop(self):
        if self.agent.process.poll() is None:
            self.agent.kill()

    def use_up(self):
        """Fills the disk and uses up the reserved space, until every write is refused."""
        self.disk.fill()
        for _ in range(2_000):
            try:
                self.caller.call("token.refresh", {"account": self.bob})
            except LanyardError as error:
                self.assertEqual(error.code, STORE_UNAVAILABLE, error)
                return
            self.disk.fill()
        self.fail("the disk never became full")

    def refreshed(self):
        try:
            return self.caller.call("token.refresh", {"account": "alice"})["accessToken"]
        except LanyardError as error:
            self.assertEqual(error.code, STORE_UNAVAILABLE)
            return None

    def test_full_disk_serves_cached_tokens_and_begins_no_exchange(self):
        self.use_up()
        before = self.practice.asked()
        error = self.refused(STORE_UNAVAILABLE, lambda: self.caller.call("token.refresh", {"account": "alice"}))
        self.assertEqual(error.name, "storeUnavailable")
        self.assertEqual(self.practice.asked(), before)
        self.assertEqual(self.caller.call("token.get", {"account": "alice"})["source"], "cache")
        self.assertEqual(len(self.caller.call("account.list")["accounts"]), 2)

        self.disk.empty()
        # As soon as the reported pause is over.
        self.assertLessEqual(error.retry_after_ms, 10_000)
        self.until(self.refreshed, "an exchange")
        self.caller.call("account.rename", {"account": "alice", "alias": "work"})
        self.assertEqual(self.practice.ended(), {})

    def test_full_disk_begins_no_sign_in_whose_account_it_could_not_keep(self):
        self.use_up()
        for flow in ("browser", "paste", "device"):
            self.refused(STORE_UNAVAILABLE, lambda: self.caller.call("signIn.begin", {"provider": "practice", "flow": flow}))
        self.disk.empty()
        begun = self.caller.call("signIn.begin", {"provider": "practice", "flow": "browser"})
        self.assertTrue(begun["authorizationUrl"])

    def test_crash_on_a_full_disk_loses_nothing(self):
        self.use_up()
        self.agent.kill()
        # It may or may not start without space; with space again, everything is there.
        self.agent.start(wait=False)
        self.until(lambda: self.agent.process.poll() is not None or accepts(self.agent.socket), "a start or an end")
        if self.agent.process.poll() is None:
            self.agent.kill()
        else:
            self.assertEqual(self.agent.process.returncode, 74)
        self.disk.empty()
        self.agent.start()
        for account in self.caller.call("account.list")["accounts"]:
            self.assertTrue(self.caller.call("token.get", {"account": account["id"]})["accessToken"])
        self.assertEqual(self.practice.ended(), {})

    def test_disk_filling_during_an_exchange_keeps_its_answer(self):
        """The intent is stored, the successor can't be: it is kept in memory, and the account works on."""
        self.practice.fault("none", delayMilliseconds=600)
        begun = self.practice.asked()
        with ThreadPoolExecutor(1) as pool:
            asking = pool.submit(self.caller.call, "token.refresh", {"account": "alice"})
            self.until(lambda: self.practice.asked() > begun, "the exchange")
            self.disk.fill()
            failure = asking.exception(20)
        if failure is not None:
            self.assertEqual(getattr(failure, "code", None), STORE_UNAVAILABLE, failure)
        self.disk.empty()
        self.until(self.refreshed, "an exchange")
        self.agent.kill()
        self.agent.start()
        self.assertTrue(self.caller.call("token.get", {"account": "alice"})["accessToken"])
        self.assertEqual(self.practice.ended(), {})

    def test_what_is_asked_for_again_and_again_on_a_full_disk_leaves_the_room_for_a_sign_out(self):
        policy = {"name": "default", "version": 1, "capabilities": {"read": {"kind": "read"}}}
        self.caller.call("policy.set", {"name": "default", "policy": policy})
        self.disk.fill()
        refused = 0
        for number in range(120):
            policy = {"name": "default", "version": number + 2, "capabilities": {f"c{number}": {"kind": "read"}}}
            for method, params in (("authorization.check", {"account": self.bob, "capability": f"x{number}"}),
                                   ("policy.set", {"name": "default", "policy": policy}),
                                   ("account.rename", {"account": self.bob, "alias": f"bob{number}"}),
                                   ("account.switch", {"account": ("alice", self.bob)[number % 2]}),
                                   ("provider.update", {
                                       "provider": "practice", "allowedOrigins": [f"https://api{number}.example"]})):
                try:
                    self.caller.call(method, params)
                except LanyardError as error:
                    self.assertEqual(error.code, STORE_UNAVAILABLE, error)
                    refused += 1
                self.disk.fill()
        self.assertGreater(refused, 300)
        self.assertEqual(self.caller.call("agent.lock")["locked"], True)
        self.assertEqual(self.caller.call("agent.unlock")["locked"], False)
        told = self.caller.call("account.signOut", {"account": "alice", "mode": "offline"})
        self.assertEqual(told["revocation"], "queued")
        self.assertEqual(self.caller.call("account.signOut", {"account": self.bob, "mode": "hard"})["mode"], "hard")
        self.disk.empty()
        self.assertTrue(self.caller.call("audit.verify")["intact"])

    def test_first_start_on_a_full_disk_exits_with_an_error(self):
        self.agent.kill()
        for name in os.listdir(self.agent.state):
            os.remove(os.path.join(self.agent.state, name))
        self.disk.fill()
        ended = self.agent.once(*self.agent.command[1:], "--new-store")
        self.assertIn(ended.returncode, (73, 74), ended.stderr)


@unittest.skipUnless(os.geteuid() == 0, "only root can mount a small disk")
class FullAtFirst(unittest.TestCase):
    def test_the_first_command_on_a_full_disk_says_that_it_is_full(self):
        place = tempfile.mkdtemp(prefix="lanyard-disk-")
        self.addCleanup(shutil.rmtree, place, ignore_errors=True)
        home, runtime = os.path.join(place, "home"), os.path.join(place, "run")
        os.mkdir(home, 0o700)
        os.mkdir(runtime, 0o700)
        disk = SmallDisk(home)
        self.addCleanup(disk.unmount)
        disk.fill()
        told = subprocess.run(
            [os.path.join(BIN, "lanyard"), "status"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
            env={"HOME": home, "XDG_RUNTIME_DIR": runtime, "PATH": "/usr/bin:/bin"})
        self.assertEqual(told.returncode, 3, told)
        self.assertIn("The disk under it is full: make room there, then try again.", told.stderr)


if __name__ == "__main__":
    unittest.main()
