"""Step-up on the running agent: ten attempts in all, under any callers and kills, and a pinentry that misbehaves."""

import os
import stat
import threading
import time
import unittest

from agent_fixture import ConnectionLost, AgentFixture, LanyardError, add_provider, import_account, sign_in
from key_service import KeyService

UNLOCK_FAILED, DATA_LOCKED, SIGNED_OUT, FAILED, THROTTLED = 1008, 2008, 2003, 4003, 4004

# Speaks Assuan, and logs what it receives in a file beside itself.
PINENTRY = r"""#!/usr/bin/python3 -u
import os, sys, time
mode = open(__file__ + ".mode").read().strip()
log = open(__file__ + ".log", "a")
log.write("ENVIRONMENT " + " ".join(sorted(os.environ)) + "\n")
if mode == "garbage":
    print("\0\0\0 what?")
print("OK Pleased to meet you")
for line in sys.stdin:
    log.write(line)
    log.flush()
    if line.strip() != "GETPIN":
        print("OK" if line.startswith("SET") else "ERR 83886355 unknown")
    elif mode == "hangs":
        time.sleep(600)
    elif mode == "dies":
        os._exit(1)
    elif mode == "cancelled":
        print("ERR 83886179 Operation cancelled <Pinentry>")
    else:
        print("S PASSWORD_FROM_CACHE")
        print("D " + mode)
        print("OK")
"""


class StepUp(AgentFixture):
    def prepare(self, *options):
        self.idp = self.provider()
        scene = self.scene(*options)
        with scene.client() as client:
            add_provider(client, self.idp)
            self.account = sign_in(client, "alice", alias="work")
        return scene

    def tell_right(self, client, **params):
        return client.call("stepUp.verify", {"account": "work", **params})

    def wrong(self, client, pin="0000"):
        """One wrong try, after any pause; returns the agent's error."""
        while True:
            try:
                client.call("stepUp.verify", {"account": "work", "pin": pin})
                self.fail("a wrong PIN was right")
            except LanyardError as error:
                if error.code != THROTTLED:
                    return error
                time.sleep(error.data["retryAfterMs"] / 1000)

    @unittest.skipUnless(os.environ.get("LANYARD_LONG"), "waits a minute and a half: LANYARD_LONG=1")
    def test_ten_wrong_pins_are_counted_across_kills(self):
        scene = self.prepare()
        with scene.client() as client:
            client.call("stepUp.enroll", {"account": "work", "pin": "2468"})
        for left in range(9, -1, -1):
            with scene.client() as client:
                error = self.wrong(client)
                self.assertEqual((error.code, error.data["attemptsLeft"]), (FAILED, left))
            scene.kill()
            scene.start()
        with scene.client() as client:
            self.assertEqual(self.refused(FAILED, lambda: self.tell_right(client, pin="2468")).data["attemptsLeft"], 0)

    def test_kill_while_a_pin_is_judged_gives_no_try_back(self):
        scene = self.prepare()
        with scene.client() as client:
            client.call("stepUp.enroll", {"account": "work", "pin": "2468"})
        before = 10
        for pause in (0.0, 0.02, 0.06):
            def guess():
                try:
                    with scene.client(timeout=20) as client:
                        client.call("stepUp.verify", {"account": "work", "pin": "0000"})
                except (ConnectionLost, ConnectionError, OSError, LanyardError):
                    pass

            thread = threading.Thread(target=guess)
            thread.start()
            time.sleep(pause)
            scene.kill()
            thread.join(20)
            scene.start()
            with scene.client() as client:
                left = client.call("stepUp.status", {"account": "work"})["attemptsLeft"]
            self.assertIn(left, (before, before - 1))
            before = left

    def test_fifty_concurrent_guesses_use_at_most_ten_tries(self):
        scene = self.prepare()
        with scene.client() as client:
            client.call("stepUp.enroll", {"account": "work", "pin": "2468"})
        said = []

        def guess(number):
            with scene.client(timeout=60) as client:
                try:
                    client.call("stepUp.verify", {"account": "work", "pin": f"{number:04}"})
                    said.append(("right", 0))
                except LanyardError as error:
                    said.append((error.code, error.data.get("attemptsLeft")))

        threads = [threading.Thread(target=guess, args=(number,)) for number in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(len(said), 50)
        judged = [left for code, left in said if code == FAILED]
        # Three are free; then each guess waits for the pause, and each is counted.
        self.assertEqual(sorted(judged, reverse=True), list(range(9, 9 - len(judged), -1)))
        self.assertGreaterEqual(len(judged), 3)
        self.assertLessEqual(len(judged), 10)
        self.assertEqual({code for code, _ in said} - {FAILED}, {THROTTLED})

    def test_cached_token_does_not_wait_for_a_pin(self):
        scene = self.prepare()
        with scene.client() as client, scene.client(timeout=60) as other:
            client.call("stepUp.enroll", {"account": "work", "pin": "2468"})
            client.call("token.get", {"account": "work"})
            over = threading.Event()

            def verify():
                for _ in range(3):
                    self.tell_right(other, pin="2468")
                over.set()

            thread = threading.Thread(target=verify)
            thread.start()
            slowest = 0.0
            while not over.is_set():
                began = time.monotonic()
                client.call("token.get", {"account": "work"})
                client.call("account.list", {})
                slowest = max(slowest, time.monotonic() - began)
            thread.join()
            began = time.monotonic()
            self.tell_right(client, pin="2468")
            self.assertLess(slowest, max(0.05, (time.monotonic() - began) / 2))

    def test_data_under_a_pin_survives_kills(self):
        scene = self.prepare()
        with scene.client() as client:
            client.call("secret.put", {"account": "work", "name": "draft", "value": "first words"})
            client.call("stepUp.enroll", {"account": "work", "pin": "2468"})
            client.call("account.signOut", {"account": "work", "mode": "soft"})
        scene.kill()
        scene.start()
        read = {"account": "work", "name": "draft"}
        with scene.client() as client:
            self.refused(SIGNED_OUT, lambda: self.tell_right(client, pin="2468"))
            import_account(client, self.idp, "alice")
            self.assertEqual(self.refused(DATA_LOCKED, lambda: client.call("secret.get", read)).data["remedies"], ["stepUp"])
        scene.kill()
        scene.start()
        with scene.client() as client:
            self.refused(DATA_LOCKED, lambda: client.call("secret.get", read))
            self.tell_right(client, pin="2468")
        scene.kill()
        scene.start()
        with scene.client() as client:
            self.assertEqual(client.call("secret.get", read)["value"], "first words")

    # Pinentry

    def pinentry(self, mode):
        path = os.path.join(self.directory(), "pinentry")
        with open(path, "w") as file:
            file.write(PINENTRY)
        os.chmod(path, stat.S_IRWXU)
        self.mode = path + ".mode"
        self.set_mode(mode)
        return path

    def set_mode(self, mode):
        with open(self.mode, "w") as file:
            file.write(mode)

    def test_pinentry_prompts_on_the_callers_behalf(self):
        path = self.pinentry("24%2568 %C3%BC%0a")
        scene = self.prepare("--pinentry", path)
        with scene.client() as client:
            client.call("stepUp.enroll", {"account": "work", "prompt": "pinentry"})
            self.assertIn("validUntil", self.tell_right(client, prompt="pinentry"))
            self.assertIn("validUntil", self.tell_right(client, pin="24%68 ü\n"))
            self.set_mode("1111")
            self.assertEqual(self.refused(FAILED, lambda: self.tell_right(client, prompt="pinentry")).data["reason"], "wrongPIN")
        with open(path + ".log") as file:
            log = file.read()
        self.assertIn("SETDESC Confirm that it is you: the PIN of work.", log)
        self.assertIn("Once more", log)
        names = set(log.split("\n")[0].split()[1:])
        self.assertLessEqual(names, {"PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "XDG_RUNTIME_DIR", "DISPLAY",
                                     "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_CURRENT_DESKTOP",
                                     "XDG_SESSION_TYPE"})

    def with_a_key(self, *options):
        """A scene with a key as `work`: whatever the service gets is alice's, so a program can always add another text."""
        self.service = KeyService()
        self.addCleanup(self.service.stop)
        scene = self.scene(*options)
        with scene.client() as client:
            client.call("provider.add", self.service.provider(name="keys"))
            client.call("account.add", {"provider": "keys", "secret": "key-1", "alias": "work"})
        return scene

    @unittest.skipUnless(os.environ.get("LANYARD_LONG"), "waits a minute and a half: LANYARD_LONG=1")
    def test_destroyed_pin_of_a_key_is_followed_by_a_typed_one_only(self):
        scene = self.with_a_key("--pinentry", self.pinentry("1357"))
        with scene.client() as client:
            client.call("stepUp.enroll", {"account": "work", "prompt": "pinentry"})
            while self.wrong(client).data["attemptsLeft"]:
                pass
            client.call("account.add", {"provider": "keys", "secret": "key-2"})
            error = self.refused(FAILED, lambda: client.call("stepUp.enroll", {"account": "work", "pin": "1111"}))
            self.assertEqual((error.data["reason"], error.remedies), ("destroyed", []))
            told = client.call("stepUp.enroll", {"account": "work", "prompt": "pinentry"})
            self.assertEqual((told["enrolled"], told["attemptsLeft"]), (True, 10))
            self.assertIn("validUntil", self.tell_right(client, pin="1357"))

    def test_misbehaving_pinentry_costs_no_try(self):
        path = self.pinentry("garbage")
        scene = self.prepare("--pinentry", path)
        with scene.client() as client:
            client.call("stepUp.enroll", {"account": "work", "pin": "2468"})
            for mode, reason in (
                ("garbage", "promptUnavailable"), ("dies", "promptUnavailable"), ("cancelled", "cancelled"),
                ("x" * 2000, "promptUnavailable"),
            ):
                self.set_mode(mode)
                error = self.refused(FAILED, lambda: self.tell_right(client, prompt="pinentry"))
                self.assertEqual((error.data["reason"], error.data["attemptsLeft"]), (reason, 10), mode)
            os.remove(path)
            self.assertEqual(
                self.refused(FAILED, lambda: self.tell_right(client, prompt="pinentry")).data["reason"],
                "promptUnavailable")

    def test_hanging_pinentry_ends_with_its_caller(self):
        path = self.pinentry("hangs")
        scene = self.prepare("--pinentry", path)
        with scene.client() as client:
            client.call("stepUp.enroll", {"account": "work", "pin": "2468"})
            caller = scene.client(timeout=60)
            ended = []

            def ask():
                try:
                    self.tell_right(caller, prompt="pinentry")
                except Exception as error:  # the test closes this client during the call
                    ended.append(error)

            thread = threading.Thread(target=ask)
            thread.start()

            def asks():
                with open(path + ".log") as file:
                    return "GETPIN" in file.read()

            self.until(lambda: os.path.exists(path + ".log") and asks(), "the question")
            # Other callers are not delayed, and no second prompt opens.
            self.assertEqual(client.call("stepUp.status", {"account": "work"})["attemptsLeft"], 10)
            self.assertEqual(
                self.refused(FAILED, lambda: self.tell_right(client, prompt="pinentry")).data["reason"],
                "promptUnavailable")
            caller.close()
            thread.join(20)
            self.assertEqual(len(ended), 1)
            self.set_mode("2468")
            self.until(lambda: self.answered(client), "the question to be taken away")

    def test_pinentry_passphrase_opens_the_vault(self):
        path = self.pinentry("correct horse")
        scene = self.scene("--protection", "passphrase", "--pinentry", path)
        with scene.client() as client:
            client.call("agent.initialize", {"protection": "passphrase", "passphrase": "correct horse"})
            client.call("agent.lock")
            self.set_mode("wrong horse")
            self.refused(UNLOCK_FAILED, lambda: client.call("agent.unlock", {"prompt": "pinentry"}))
            self.set_mode("cancelled")
            error = self.refused(UNLOCK_FAILED, lambda: client.call("agent.unlock", {"prompt": "pinentry"}))
            self.assertEqual(error.data["reason"], "cancelled")
            self.assertTrue(client.call("agent.status")["locked"])
            self.set_mode("correct horse")
            self.assertEqual(client.call("agent.unlock", {"prompt": "pinentry"}), {"locked": False})

    def answered(self, client):
        try:
            return self.tell_right(client, prompt="pinentry")
        except LanyardError:
            return None


if __name__ == "__main__":
    unittest.main()
