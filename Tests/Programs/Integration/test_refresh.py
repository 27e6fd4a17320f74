"""Refreshes over real sockets, with a provider that is slow, hostile or unreachable."""

import contextlib
import email.utils
import json
import signal
import socket
import time
import unittest
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from agent_fixture import PATIENCE_SECONDS, AgentFixture, LanyardError, add_provider, import_account, request

LOCKED, CANCELLED = 1001, 1004
SIGNED_OUT, REAUTHENTICATE, UNAVAILABLE = 2003, 2004, 3002


class Pipe:
    """A connection with many requests in flight; answers are read in order of arrival."""

    def __init__(self, scene):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(scene.socket)
        self._socket.settimeout(PATIENCE_SECONDS)
        self._lines = self._socket.makefile("rb")

    def send(self, *lines):
        self._socket.sendall(b"".join(lines))

    def answer(self):
        return json.loads(self._lines.readline())

    def close(self):
        self._lines.close()
        self._socket.close()


def cancel(identity):
    return json.dumps({"jsonrpc": "2.0", "method": "$/cancel", "params": {"id": identity}}).encode() + b"\n"


class Refreshes(AgentFixture):
    rotation = "strict"
    lifetime_seconds = 300

    def setUp(self):
        self.practice = self.provider(
            "--rotation", self.rotation, "--access-token-lifetime", str(self.lifetime_seconds))
        self.agent = self.scene()
        self.caller = self.client(self.agent)
        reuse = {"reuse": self.rotation, "onUnknownOutcome": "reauthenticate"}
        if self.rotation == "grace":
            reuse["graceSeconds"] = 30
        add_provider(self.caller, self.practice, refresh=reuse)
        self.account = import_account(self.caller, self.practice, "alice", alias="alice")

    def get(self, account="alice", **members):
        return self.caller.call("token.get", {"account": account, **members})

    def refresh(self):
        return self.caller.call("token.refresh", {"account": "alice"})

    def refreshed(self):
        """The token; None during a pause."""
        try:
            return self.refresh()["accessToken"]
        except LanyardError as error:
            self.assertEqual(error.code, UNAVAILABLE, error)
            return None

    def pipe(self):
        pipe = Pipe(self.agent)
        self.addCleanup(pipe.close)
        return pipe

    def slow(self, milliseconds):
        self.practice.fault("none", delayMilliseconds=milliseconds)

    def in_flight(self):
        session = self.caller.call("session.get", {"account": "alice"})
        return session["refresh"]["phase"] == "inFlight"

    @contextlib.contextmanager
    def exchanges(self, number):
        """Asserts that exactly this number of exchanges reaches the provider."""
        before = self.practice.asked()
        yield
        self.assertEqual(self.practice.asked() - before, number)

    def lives_on(self):
        """The grant is intact: the provider saw each refresh token once, and accepts the next."""
        self.assertTrue(self.refresh()["accessToken"])
        self.assertEqual(self.practice.ended(), {})


class Expired(Refreshes):
    lifetime_seconds = 2

    def test_fifty_callers_on_eight_connections_share_one_exchange(self):
        time.sleep(self.lifetime_seconds + 0.1)  # unused, so it is not renewed ahead
        self.practice.post("options", accessTokenLifetimeSeconds=300)
        self.slow(400)
        pipes = [self.pipe() for _ in range(8)]
        with self.exchanges(1):
            for number in range(50):
                pipes[number % 8].send(request("token.get", {"account": "alice"}, identity=number))
            answers = [pipes[number % 8].answer() for number in range(50)]
        self.assertEqual(sorted(answer["id"] for answer in answers), list(range(50)))
        self.assertEqual({answer["result"]["source"] for answer in answers}, {"refreshed"})
        self.assertEqual(len({answer["result"]["accessToken"] for answer in answers}), 1)
        self.lives_on()


class Stopped(Refreshes):
    """The process stands still for longer than a request may take, as at a terminal's Ctrl-Z or in a debugger."""

    stopped_seconds = 35
    starts_first = True

    def test_answer_that_came_while_the_agent_was_stopped_is_read(self):
        self.slow(1500)
        pipe = self.pipe()
        before = self.practice.asked()
        with self.exchanges(1):
            pipe.send(request("token.refresh", {"account": "alice", "timeoutSeconds": 120}, identity=1))
            self.until(lambda: self.practice.asked() > before, "the request at the provider")
            self.agent.process.send_signal(signal.SIGSTOP)
            try:
                time.sleep(self.stopped_seconds)
            finally:
                self.agent.process.send_signal(signal.SIGCONT)
            self.assertEqual(pipe.answer()["result"]["source"], "refreshed")
        self.lives_on()


class SharedExchanges(Refreshes):
    def test_exchange_outlives_its_first_caller_and_serves_later_ones(self):
        self.slow(500)
        first, second, third = (self.pipe() for _ in range(3))
        with self.exchanges(1):
            first.send(request("token.refresh", {"account": "alice"}, identity=1))
            self.until(self.in_flight, "the exchange")
            second.send(request("token.refresh", {"account": "alice"}, identity=2))
            third.send(request("token.refresh", {"account": "alice"}, identity=3))
            first.send(cancel(1))
            second.send(cancel(2))
            self.assertEqual(first.answer()["error"]["code"], CANCELLED)
            self.assertEqual(second.answer()["error"]["code"], CANCELLED)
            self.assertEqual(third.answer()["result"]["source"], "refreshed")
        self.lives_on()

    def test_rejection_of_a_replaced_token_makes_no_exchange(self):
        old = self.get()["fingerprint"]
        new = self.refresh()["fingerprint"]
        with self.exchanges(0):
            for _ in range(20):
                answer = self.caller.call("token.reject", {"account": "alice", "fingerprint": old})
                self.assertEqual((answer["fingerprint"], answer["source"]), (new, "cache"))

    def test_concurrent_rejections_of_one_token_share_one_exchange(self):
        rejected = self.get()["fingerprint"]
        self.slow(300)
        pipes = [self.pipe() for _ in range(8)]
        with self.exchanges(1):
            for number, pipe in enumerate(pipes):
                pipe.send(request("token.reject", {"account": "alice", "fingerprint": rejected}, identity=number))
            fingerprints = {pipe.answer()["result"]["fingerprint"] for pipe in pipes}
        self.assertEqual(len(fingerprints), 1)
        self.assertNotIn(rejected, fingerprints)


class IsolatedProviders(Refreshes):
    def test_hanging_provider_delays_only_its_own_account(self):
        other = self.provider("--rotation", "strict")
        self.caller.call("provider.add", {"name": "other", "issuer": other.issuer, "clientId": "lanyard-demo"})
        self.caller.call("signIn.import", {
            "provider": "other", "refreshToken": other.refresh_token("bob"), "alias": "bob"})
        self.practice.fault("hangBeforeProcessing")
        with ThreadPoolExecutor(1) as pool:
            hanging = pool.submit(self.caller.call, "token.refresh", {"account": "alice", "timeoutSeconds": 2})
            self.until(self.in_flight, "alice's exchange is in flight")
            for _ in range(500):
                self.assertEqual(self.get("bob")["source"], "cache")
                self.assertEqual(self.get("alice")["source"], "cache")
            self.assertTrue(self.caller.call("token.refresh", {"account": "bob"})["accessToken"])
            self.assertTrue(self.in_flight(), "all that was answered while alice's provider said nothing")
            self.assertIsNotNone(hanging.exception(PATIENCE_SECONDS))


class InterruptedExchanges(Refreshes):
    def test_sign_out_during_an_exchange_revokes_its_answer(self):
        self.slow(500)
        with ThreadPoolExecutor(1) as pool:
            asking = pool.submit(self.refresh)
            self.until(self.in_flight, "the exchange")
            self.caller.call(
                "account.signOut", {"account": "alice", "mode": "soft", "revocationTimeoutSeconds": 3})
            self.assertEqual(getattr(asking.exception(PATIENCE_SECONDS), "code", None), SIGNED_OUT)
        self.refused(SIGNED_OUT, self.get)
        self.until(lambda: list(self.practice.ended().values()) == ["revoked"], "the revocation")
        self.until(lambda: self.caller.call("agent.status")["pendingRevocations"] == 0, "the last of them")
        with self.exchanges(0):
            self.refused(SIGNED_OUT, self.refresh)

    def test_lock_during_an_exchange_loses_no_answer(self):
        for moment in ("before", "after"):
            with self.subTest(f"unlocked {moment} the answer"):
                self.slow(500)
                with self.exchanges(1), ThreadPoolExecutor(1) as pool:
                    asking = pool.submit(self.refresh)
                    self.until(self.in_flight, "the exchange")
                    self.caller.call("agent.lock")
                    self.assertEqual(getattr(asking.exception(PATIENCE_SECONDS), "code", None), LOCKED)
                    if moment == "after":
                        time.sleep(0.7)  # the answer arrives at a locked vault
                    self.caller.call("agent.unlock")
                    self.assertTrue(self.get()["accessToken"])
                self.lives_on()


class HostileAnswers:
    """The response is unusable; the outcome depends on the provider's rotation rule."""

    def memory_kb(self):
        with open(f"/proc/{self.agent.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))

    def hostile(self, effect, **members):
        before = self.memory_kb()
        self.practice.fault(effect, **members)
        self.outcome(self.get()["fingerprint"])
        # A response is bounded by 1 MiB, and all of it is freed.
        self.assertLess(self.memory_kb() - before, 4096)
        self.assertEqual(self.practice.ended(), {})

    def test_oversized_answer_is_handled_by_the_rotation_rule(self):
        self.hostile("hugeBody", bytes=64 << 20)

    def test_endless_answer_is_handled_by_the_rotation_rule(self):
        self.hostile("endlessBody")

    def test_truncated_answer_is_handled_by_the_rotation_rule(self):
        self.hostile("truncatedBody", bytes=100)

    def test_closed_connection_is_handled_by_the_rotation_rule(self):
        self.hostile("dropAfterProcessing")


class HostileStrict(HostileAnswers, Refreshes):
    def outcome(self, cached):
        """The token may be spent: it is not sent again, and the cached token is served until it expires."""
        with self.exchanges(1):
            error = self.refused(REAUTHENTICATE, self.refresh)
            self.assertEqual(error.reason, "outcomeUnknown")
            self.assertEqual(self.get()["fingerprint"], cached)
            self.refused(REAUTHENTICATE, self.refresh)


class CutAnswers(Refreshes):
    """The body of an answer is cut, at a provider that ends the grant at the first reuse."""

    def answer_bytes(self):
        """The length of an answer to a refresh of alice's."""
        form = {"grant_type": "refresh_token", "client_id": "lanyard-demo",
                "refresh_token": self.practice.refresh_token("alice")}
        data = urllib.parse.urlencode(form).encode()
        with urllib.request.urlopen(f"{self.practice.issuer}/token", data, timeout=PATIENCE_SECONDS) as answer:
            body = answer.read()
        self.assertLess(body.index(b'"refresh_token"'), len(body) - 100)
        return len(body)

    def test_answer_cut_after_its_refresh_token_keeps_the_session(self):
        missing = self.answer_bytes() - 20
        for _ in range(3):
            self.practice.fault("truncatedBody", bytes=missing)
            # The successor is sent for what was cut off.
            with self.exchanges(2):
                self.assertTrue(self.refresh()["accessToken"])
            self.lives_on()


class HostileGrace(HostileAnswers, Refreshes):
    rotation = "grace"

    def outcome(self, cached):
        """One replay within the grace succeeds, and the waiting callers get the token."""
        with self.exchanges(2):
            self.assertNotEqual(self.refresh()["fingerprint"], cached)


class HostileWithoutRotation(HostileAnswers, Refreshes):
    rotation = "none"

    def outcome(self, cached):
        """No token can be spent: the refresh is retried after a pause."""
        self.refused(UNAVAILABLE, self.refresh)
        self.assertEqual(self.get()["fingerprint"], cached)
        self.until(self.refreshed, "a refresh after the pause")


class TemporaryFailures(Refreshes):
    def test_captive_portal_page_spends_no_token(self):
        cached = self.get()["fingerprint"]
        self.practice.fault("notJSON", count=2)
        self.assertTrue(self.refused(UNAVAILABLE, self.refresh).retryable)
        self.assertEqual(self.get()["fingerprint"], cached)
        self.until(self.refreshed, "a refresh after the pauses")
        self.lives_on()

    def test_retry_after_is_kept_in_seconds_and_as_a_date(self):
        date = email.utils.formatdate(time.time() + 3, usegmt=True)
        for name, status, after in (("seconds", 429, "2"), ("a date", 503, date)):
            with self.subTest(name):
                self.practice.fault("answer", status=status, headers={"Retry-After": after})
                with self.exchanges(1):
                    error = self.refused(UNAVAILABLE, self.refresh)
                    self.assertLessEqual(error.retry_after_ms, 3_000)
                    until = time.monotonic() + error.retry_after_ms / 1000
                    while time.monotonic() < until - 0.3:
                        left = self.refused(UNAVAILABLE, self.refresh).retry_after_ms
                        self.assertLessEqual(left / 1000, until - time.monotonic() + 0.1)
                        time.sleep(0.1)
                self.until(self.refreshed, "a refresh after it")
                self.assertGreaterEqual(time.monotonic(), until - 0.3)
        self.lives_on()


if __name__ == "__main__":
    unittest.main()
