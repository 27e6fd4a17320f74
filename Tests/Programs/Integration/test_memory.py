"""A used secret leaves nothing in the agent's memory."""

import os
import socket
import stat
import unittest

from agent_fixture import AgentFixture, add_provider, import_account, raw, request

PINENTRY = r"""#!/usr/bin/python3 -u
import sys
print("OK")
for line in sys.stdin:
    if line.strip() == "GETPIN":
        print("D " + open(__file__ + ".pin").read())
    print("OK")
"""


def writable_memory(pid):
    """Each writable mapping of a process with its bytes, guarded ones included."""
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            place, rights = line.split()[:2]
            if "w" not in rights and "---" not in rights:
                continue
            begin, end = (int(number, 16) for number in place.split("-"))
            for start in range(begin, end, 1 << 20):
                try:
                    memory.seek(start)
                    data = memory.read(min(1 << 20, end - start))
                    if data.count(0) != len(data):
                        yield line.strip(), data
                except (OSError, OverflowError, ValueError):
                    break


@unittest.skipIf(os.geteuid() != 0, "NOT TESTED: only root may read the agent's memory")
class Memory(AgentFixture):
    def found(self, scene, canary):
        """The mappings that hold the canary, or its first or second half."""
        half = len(canary) // 2
        spellings = (canary, canary[:half], canary[half:])
        return [where for where, data in writable_memory(scene.pid) for spelling in spellings if spelling in data]

    def asked(self, scene, method, **params):
        (answer,) = raw(scene.socket, request(method, params))
        return answer

    def test_memory_search_finds_a_known_text(self):
        scene = self.scene()
        client = self.client(scene)
        add_provider(client, self.provider(), name="not-a-secret-xk93")
        self.assertTrue(self.found(scene, b"not-a-secret-xk93"))

    def test_callers_that_wait_for_a_sign_in_are_bounded_and_cost_memory_by_their_number(self):
        scene = self.scene()
        client = self.client(scene)
        add_provider(client, self.provider())
        sign_in = client.call("signIn.begin", {"provider": "practice", "flow": "browser"})["signIn"]

        def memory():
            with open(f"/proc/{scene.pid}/status") as status:
                return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))

        def waiters(count):
            connection = socket.socket(socket.AF_UNIX)
            self.addCleanup(connection.close)
            connection.connect(scene.socket)
            for identity in range(count):
                connection.sendall(request("signIn.wait", {"signIn": sign_in}, identity))
            return connection

        held = [waiters(128), waiters(128), waiters(8)]
        # Eight more than there is room for, of any connection.
        self.until(lambda: self.refuses_a_waiter(scene, sign_in), "a refusal")
        before = memory()
        for _ in range(6):
            for connection in held:
                connection.close()
            self.until(lambda: not self.refuses_a_waiter(scene, sign_in), "room for a caller")
            held = [waiters(128), waiters(128), waiters(8)]
            self.until(lambda: self.refuses_a_waiter(scene, sign_in), "a refusal")
        # Some 25 kB for a request that waits, in two or three rounds' worth of memory that is used again.
        self.assertLess(memory() - before, 24 << 10)
        client.call("signIn.cancel", {"signIn": sign_in})

    def refuses_a_waiter(self, scene, sign_in):
        (answer,) = raw(scene.socket, request("signIn.wait", {"signIn": sign_in, "timeoutSeconds": 1}))
        return answer.get("error", {}).get("code") == 1003

    def test_used_pin_leaves_nothing_in_memory(self):
        program = os.path.join(self.directory(), "pinentry")
        with open(program, "w") as file:
            file.write(PINENTRY)
        os.chmod(program, stat.S_IRWXU)
        scene = self.scene("--pinentry", program, "--log-level", "trace")
        client = self.client(scene)
        idp = self.provider()
        add_provider(client, idp)
        import_account(client, idp, "alice", alias="work")

        right, wrong, typed = b"Rq7-canary-right-83651", b"Wz4-canary-wrong-20974", b"Tj9-canary-typed-55182"
        with open(program + ".pin", "wb") as file:
            file.write(typed)
        self.assertIn("result", self.asked(scene, "stepUp.enroll", account="work", pin=right.decode()))
        self.assertIn("result", self.asked(scene, "stepUp.verify", account="work", pin=right.decode()))
        # Also on a connection that stays open, and for requests refused early.
        client.call("stepUp.verify", {"account": "work", "pin": right.decode()})
        self.refused(4003, lambda: client.call("stepUp.verify", {"account": "work", "pin": wrong.decode()}))
        self.assertIn("error", self.asked(scene, "stepUp.verify", account="work", pin=wrong.decode(), extra=1))
        self.assertIn("error", self.asked(scene, "stepUp.verify", account="nobody", pin=wrong.decode()))
        self.assertIn("error", self.asked(scene, "stepUp.verify", account="work", prompt="pinentry"))
        for name, pin in (("right", right), ("wrong", wrong), ("typed", typed)):
            with self.subTest(name):
                self.assertEqual(self.found(scene, pin), [])


if __name__ == "__main__":
    unittest.main()
