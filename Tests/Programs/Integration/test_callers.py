"""Many callers, faulty callers, and a provider that is slow, wrong or unreachable."""

import json
import os
import resource
import select
import socket
import subprocess
import sys
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from agent_fixture import (
    BIN, PATIENCE_SECONDS, STATUS, AgentFixture, ConnectionLost, add_provider, import_account, raw, request)

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

    def connections(self, scene, count):
        """Open connections, each of which was served."""
        held = []
        for _ in range(count):
            connection = socket.socket(socket.AF_UNIX)
            self.addCleanup(connection.close)
            connection.settimeout(PATIENCE_SECONDS)
            connection.connect(scene.socket)
            connection.sendall(STATUS)
            self.assertIn(b"result", connection.recv(65536))
            held.append(connection)
        return held

    def test_idle_connection_makes_room_for_the_257th_of_its_process(self):
        scene = self.scene()
        held = self.connections(scene, 256)
        held[0].sendall(STATUS)
        self.assertIn(b"result", held[0].recv(65536))
        self.assertEqual(raw(scene.socket, STATUS)[0]["result"]["connections"], 256)
        # One of those that were idle longest, and no other. The agent notes the end of a request after its answer, and so
        # perhaps after that of the next one.
        closed = select.select(held, [], [], PATIENCE_SECONDS)[0]
        self.assertEqual([connection.recv(65536) for connection in closed], [b""])
        self.assertIn(closed[0], held[1:9])
        for connection in (held[0], held[9], held[255]):
            connection.sendall(STATUS)
            self.assertIn(b"result", connection.recv(65536))

    def test_agent_has_room_for_1024_connections_and_makes_room_for_more(self):
        scene = self.scene(start=False)
        # The usual limit of a login; the agent raises it for itself.
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        scene.process = subprocess.Popen(
            scene.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=scene.environment, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard)))
        client = self.client(scene)
        client.connect(wait_seconds=PATIENCE_SECONDS)
        client.close()
        holders = []
        for _ in range(4):
            holder = subprocess.Popen(
                [sys.executable, "-c", HOLDER, scene.socket, "256"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            holders.append(holder)
            self.addCleanup(end_holder, holder)
            self.assertEqual(holder.stdout.readline(), b"holding\n")
        # This process has no connection: another one's makes room. Both requests go on one connection: the agent may not
        # have seen the end of a first one yet, and would make room again.
        answers = raw(scene.socket, STATUS + request("agent.diagnose", identity=2), lines=2)
        status, answer = sorted(answers, key=lambda answer: answer["id"])
        self.assertEqual(status["result"]["connections"], 1024)
        # The diagnosis names a process that holds the places.
        (finding,) = [found for found in answer["result"]["findings"] if found["check"] == "connections"]
        self.assertEqual(finding["severity"], "problem")
        self.assertIn(int(finding["subject"]), [holder.pid for holder in holders])
        self.assertRegex(finding["message"], rf"Process {finding['subject']} \(python3[^)]*\) holds 25[0-9] of them")
        holders[1].stdin.write(b"\n")
        holders[1].stdin.flush()
        holders[0].stdin.write(b"\n")
        holders[0].stdin.flush()
        self.assertEqual((holders[0].stdout.readline(), holders[1].stdout.readline()), (b"255\n", b"256\n"))

    def test_connection_to_a_full_agent_is_told_so_and_the_owners_command_line_is_served(self):
        scene = self.scene(start=False)
        configuration = os.path.join(scene.environment["XDG_CONFIG_HOME"], "lanyard", "agent.json")
        os.makedirs(os.path.dirname(configuration), exist_ok=True)
        with open(configuration, "w") as file:
            json.dump({"limits": {"connections": 16}}, file)
        os.chmod(configuration, 0o600)
        scene.start()
        held = self.connections(scene, 16)
        for connection in held:
            connection.sendall(request("event.subscribe"))
            self.assertIn(b"result", connection.recv(65536))
        for _ in range(3):
            (refusal,) = raw(scene.socket, b"")
            self.assertEqual(refusal["error"]["code"], OVERLOADED)
            self.assertGreater(refusal["error"]["data"]["retryAfterMs"], 0)
        environment = {**scene.environment, "LANYARD_SOCKET": scene.socket, "LANYARD_STATE_DIR": scene.state}
        for _ in range(12):
            done = subprocess.run(
                [os.path.join(BIN, "lanyard"), "lock", "--no-start"], env=environment, capture_output=True,
                timeout=PATIENCE_SECONDS)
            self.assertEqual(done.returncode, 0, done.stderr)
        held.pop().close()
        self.until(lambda: "result" in (raw(scene.socket, STATUS) or [{}])[0], "a free place")

    def test_requests_over_the_limit_wait_and_stop_only_their_own_connection(self):
        practice, scene, client = self.alice()
        practice.fault("none", delayMilliseconds=8000)
        connection = socket.socket(socket.AF_UNIX)
        self.addCleanup(connection.close)
        connection.settimeout(PATIENCE_SECONDS)
        connection.connect(scene.socket)
        reader = connection.makefile("rb")
        before = practice.asked()
        begun = time.monotonic()
        connection.sendall(b"".join(request("token.refresh", {"account": "alice"}, number) for number in range(128)))
        self.until(lambda: practice.asked() > before, "the exchange")
        waiting = b"".join(
            json.dumps({"jsonrpc": "2.0", "id": number, "method": "agent.status", "params": {}}).encode()
            .replace(b"{}", b"{" + b" " * 60000 + b"}") + b"\n" for number in range(1000, 1060))
        connection.sendall(
            request("token.get", {"account": "alice"}, 500) + request("agent.status", None, 501)
            + request("token.refresh", {"account": "alice"}, 502)
            + b'{"jsonrpc":"2.0","method":"$/cancel","params":{"id":502}}\n')
        self.assertEqual(json.loads(reader.readline())["id"], 500, "an answer from memory needs no place")
        cancelled = json.loads(reader.readline())
        self.assertEqual((cancelled["id"], cancelled["error"]["code"]), (502, 1004))
        writer = threading.Thread(target=connection.sendall, args=(waiting,))
        writer.start()
        try:
            # Far more than one connection may have waiting: the agent leaves it unread, and serves others.
            for _ in range(20):
                self.assertIn("result", raw(scene.socket, STATUS)[0])
            is_waiting = writer.is_alive()
            if time.monotonic() - begun < 8:  # the exchange is in flight for sure
                self.assertTrue(is_waiting)
            answers = [json.loads(reader.readline()) for _ in range(128 + 1 + 60)]
        finally:
            practice.clear_faults()
            connection.shutdown(socket.SHUT_RDWR) if writer.is_alive() else None
            writer.join()
        self.assertEqual({answer["id"] for answer in answers}, {*range(128), 501, *range(1000, 1060)})
        self.assertEqual([answer for answer in answers if "error" in answer], [])
        self.assertEqual(practice.asked() - before, 1)


HOLDER = """
import socket, sys
held = []
for _ in range(int(sys.argv[2])):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(sys.argv[1])
    held.append(connection)
    connection.sendall(b'{"jsonrpc":"2.0","id":1,"method":"agent.status"}\\n')
    assert b"result" in connection.recv(65536)
print("holding", flush=True)
sys.stdin.readline()
open_ones = 0
for connection in held:
    connection.setblocking(False)
    try:
        open_ones += connection.recv(1) != b""
    except BlockingIOError:
        open_ones += 1
print(open_ones, flush=True)
sys.stdin.readline()
"""


def end_holder(holder):
    holder.kill()
    holder.wait(PATIENCE_SECONDS)
    holder.stdin.close()
    holder.stdout.close()


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

    def test_stdio_agent_ends_what_a_client_asked_that_has_gone(self):
        practice = self.provider()
        scene = self.scene()
        with scene.client() as client:
            add_provider(client, practice, allowedOrigins=[practice.issuer])
            import_account(client, practice, "alice", alias="alice")
        scene.end()
        practice.fault("hangBeforeProcessing", "/protected")
        asked = {"account": "alice", "method": "GET", "url": practice.issuer + "/protected"}
        agent = subprocess.Popen(
            [scene.command[0], "--stdio", "--state-dir", scene.state], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=scene.environment)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        agent.stdin.write(request("request.send", asked))
        agent.stdin.flush()
        self.until(lambda: practice.asked("/protected"), "the request at the server")
        agent.stdin.close()
        agent.stdout.close()
        self.assertEqual(agent.wait(10), 0)

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
