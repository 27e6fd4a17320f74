"""Many callers, faulty callers, and a provider that is slow, wrong or unreachable."""

import resource
import socket
import subprocess
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from agent_fixture import PATIENCE_SECONDS, STATUS, ConnectionLost, AgentFixture, add_provider, import_account, raw, request

OFFLINE, UNAVAILABLE, OVERLOADED, TIMED_OUT = 3001, 3002, 1003, 1006


class SignedInFixture(AgentFixture):
    """alice and bob, signed in at a test provider."""

    options = ()

    def setUp(self):
        self.practice = self.provider(*self.options)
        self.agent = self.scene()
        self.caller = self.client(self.agent)
        add_provider(self.caller, self.practice)
        for person in ("alice", "bob"):
            import_account(self.caller, self.practice, person, alias=person)

    def get(self, account="alice", **members):
        return self.caller.call("token.get", {"account": account, **members})


class SingleFlight(SignedInFixture):
    options = ("--access-token-lifetime", "2")

    def test_fifty_callers_on_fifty_connections_share_one_exchange(self):
        time.sleep(2.1)  # the token's lifetime, by the real clocks of provider and agent
        before = self.practice.asked()
        self.practice.fault("none", delayMilliseconds=500)
        self.practice.post("options", accessTokenLifetimeSeconds=300)

        def ask(_):
            with self.agent.client(timeout=PATIENCE_SECONDS) as client:
                return client.call("token.get", {"account": "alice"})["accessToken"]

        with ThreadPoolExecutor(50) as pool:
            tokens = list(pool.map(ask, range(50)))
        self.assertEqual(len(set(tokens)), 1)
        self.assertEqual(self.practice.asked() - before, 1)

    def test_caller_that_times_out_cancels_no_exchange(self):
        self.practice.fault("none", delayMilliseconds=400)
        before = self.practice.asked()
        error = self.refused(TIMED_OUT, lambda: self.caller.call(
            "token.refresh", {"account": "alice", "timeoutSeconds": 0}))
        self.assertTrue(error.retryable)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self.agent.socket)
            connection.sendall(request("token.refresh", {"account": "alice"}))
        self.assertTrue(self.caller.call("token.refresh", {"account": "alice"})["accessToken"])
        self.assertEqual(self.practice.asked() - before, 1)


class Isolation(SignedInFixture):
    def test_hanging_account_delays_no_other_account(self):
        self.practice.fault("hangBeforeProcessing")
        with ThreadPoolExecutor(1) as pool:
            hanging = pool.submit(self.caller.call, "token.refresh", {"account": "alice", "timeoutSeconds": 3})
            self.until(lambda: self.caller.call("session.get", {"account": "alice"})["refresh"]["phase"] == "inFlight",
                       "alice's exchange is in flight")
            began = time.monotonic()
            self.assertEqual(self.get("bob")["source"], "cache")
            self.assertEqual(self.get("alice")["source"], "cache")
            self.assertTrue(self.caller.call("token.refresh", {"account": "bob"})["accessToken"])
            self.assertLess(time.monotonic() - began, 1.5)
            self.assertEqual(getattr(hanging.exception(PATIENCE_SECONDS), "code", None), TIMED_OUT)


class DeadProvider(SignedInFixture):
    def test_cached_token_is_served_without_the_provider(self):
        self.practice.stop()
        self.assertEqual(self.get()["source"], "cache")
        error = self.refused(OFFLINE, lambda: self.caller.call("token.refresh", {"account": "alice"}))
        self.assertTrue(error.retryable)
        self.assertIn("connect", [str(remedy) for remedy in error.remedies])
        self.assertEqual(self.get()["source"], "cache")
        self.assertEqual(self.get("bob")["source"], "cache")

    def test_restart_without_the_provider_reports_offline(self):
        self.practice.stop()
        self.agent.kill()
        self.agent.start()
        self.refused(OFFLINE, self.get)
        self.assertEqual(self.caller.call("account.get", {"account": "alice"})["alias"], "alice")

    def test_provider_outage_keeps_the_session(self):
        self.practice.fault("answer", status=503, headers={"Retry-After": "1"}, count=1)
        error = self.refused(UNAVAILABLE, lambda: self.caller.call("token.refresh", {"account": "alice"}))
        self.assertLessEqual(error.retry_after_ms, 1500)
        self.assertEqual(self.get()["source"], "cache")
        self.until(lambda: self.forced(), "the refresh after the pause")

    def forced(self):
        try:
            return self.caller.call("token.refresh", {"account": "alice"})["accessToken"]
        except Exception:
            return None


class Connections(AgentFixture):
    def test_unfinished_line_is_closed_after_ten_seconds(self):
        scene = self.scene()
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE_SECONDS)
            connection.connect(scene.socket)
            began = time.monotonic()
            connection.sendall(STATUS[:20])
            # Later bytes do not extend the time: it counts from the first byte.
            time.sleep(5)
            connection.sendall(STATUS[20:22])
            while connection.recv(4096):
                pass
            lasted = time.monotonic() - began
        self.assertGreater(lasted, 9.0)
        self.assertLess(lasted, 13.0)
        self.assertIn("result", raw(scene.socket, STATUS)[0])

    def test_idle_connection_stays_open(self):
        scene = self.scene()
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE_SECONDS)
            connection.connect(scene.socket)
            time.sleep(1)
            connection.sendall(STATUS)
            self.assertIn(b"result", connection.recv(65536))

    def test_callers_that_leave_at_once_harm_no_other_caller(self):
        scene = self.scene()
        for _ in range(200):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(scene.socket)
                connection.sendall(STATUS * 5)
        self.assertIn("result", raw(scene.socket, STATUS)[0])
        self.assertIsNone(scene.process.poll())

    def test_caller_that_never_reads_harms_no_other_caller(self):
        scene = self.scene()
        raw(scene.socket, STATUS)
        before = self.resident_kb(scene)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(scene.socket)
            connection.setblocking(False)
            until = time.monotonic() + 1
            while time.monotonic() < until:
                try:
                    connection.send(STATUS * 200)
                except BlockingIOError:
                    time.sleep(0.01)
            began = time.monotonic()
            for _ in range(20):
                self.assertIn("result", raw(scene.socket, STATUS)[0])
            self.assertLess(time.monotonic() - began, 2)
            self.assertLess(self.resident_kb(scene) - before, 4096)

    def resident_kb(self, scene):
        """Resident anonymous memory; pages of program files come and go without cost."""
        with open(f"/proc/{scene.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))

    def test_65th_connection_is_told_that_the_agent_is_full(self):
        scene = self.scene()
        held = []
        try:
            for _ in range(64):
                connection = socket.socket(socket.AF_UNIX)
                held.append(connection)
                connection.settimeout(PATIENCE_SECONDS)
                connection.connect(scene.socket)
                connection.sendall(STATUS)
                self.assertIn(b"result", connection.recv(65536))
            self.assertEqual(raw(scene.socket, b"")[0]["error"]["code"], OVERLOADED)
        finally:
            for connection in held:
                connection.close()
        self.until(lambda: "result" in (raw(scene.socket, STATUS) or [{}])[0], "a free place")


class FewDescriptors(AgentFixture):
    def test_agent_with_32_descriptors_keeps_serving(self):
        scene = self.scene(start=False)
        process = subprocess.Popen(
            scene.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=scene.environment, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32)))
        scene.process = process
        client = self.client(scene)
        client.connect(wait_seconds=PATIENCE_SECONDS)
        practice = self.provider()
        add_provider(client, practice)
        import_account(client, practice, "alice", alias="alice")
        held = []
        for _ in range(60):
            connection = socket.socket(socket.AF_UNIX)
            self.addCleanup(connection.close)
            connection.connect(scene.socket)
            held.append(connection)
        # Accepted clients are served; the others wait or get an error, and nothing breaks.
        self.assertEqual(client.call("token.get", {"account": "alice"})["source"], "cache")
        for connection in held:
            connection.close()
        self.until(lambda: "result" in (self.tried(scene) or [{}])[0], "a free place")
        self.assertTrue(client.call("token.refresh", {"account": "alice"})["accessToken"])
        self.assertIsNone(process.poll())

    def tried(self, scene):
        try:
            return raw(scene.socket, STATUS)
        except OSError:
            return None


class Stdio(AgentFixture):
    def test_stdio_agent_serves_and_ends_with_its_input(self):
        scene = self.scene(start=False)
        ended = scene.once("--stdio", "--state-dir", scene.state, input=STATUS + request("account.list", identity=2))
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(sorted(line[-2:] for line in ended.stdout.splitlines()), [b"}}", b"}}"])
        self.assertEqual(ended.stdout.count(b'"result"'), 2)

    def test_stdio_agent_finishes_requests_in_flight_before_ending(self):
        practice = self.provider()
        scene = self.scene()
        with scene.client() as client:
            add_provider(client, practice)
            import_account(client, practice, "alice", alias="alice")
        scene.end()
        practice.fault("none", delayMilliseconds=500)
        ended = scene.once(
            "--stdio", "--state-dir", scene.state, input=request("token.refresh", {"account": "alice"}))
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn(b'"accessToken"', ended.stdout)

    def test_stdio_agent_reports_a_broken_last_line_without_executing_it(self):
        scene = self.scene(start=False)
        ended = scene.once("--stdio", "--state-dir", scene.state, input=STATUS[:-1])
        self.assertEqual(ended.returncode, 0)
        self.assertIn(b"-32700", ended.stdout)


class Termination(SignedInFixture):
    def test_sigterm_during_an_exchange_keeps_its_answer(self):
        """SIGTERM during an exchange: its answer holds the rotated token, so the agent waits for it."""
        self.practice.fault("none", delayMilliseconds=700)
        before = self.practice.asked()
        with ThreadPoolExecutor(1) as pool:
            asking = pool.submit(self.caller.call, "token.refresh", {"account": "alice"})
            self.until(lambda: self.practice.asked() > before, "the exchange")
            self.assertEqual(self.agent.end(), 0)
            failure = asking.exception(PATIENCE_SECONDS)
            if failure is not None:
                self.assertTrue(isinstance(failure, ConnectionLost) or getattr(failure, "code", 0) == 1002, failure)
        self.agent.start()
        self.assertTrue(self.get()["accessToken"])
        self.assertEqual(self.practice.ended(), {})


if __name__ == "__main__":
    unittest.main()
