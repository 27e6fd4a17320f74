"""The blocking client against a scripted agent on a real socket."""

import gc
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import unittest
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, List, Optional
from unittest import mock

import lanyard
from lanyard import (
    AgentNotRunning,
    CallTimeout,
    Client,
    ClientClosed,
    ConnectionLost,
    InvalidParams,
    Overloaded,
    ProtocolError,
    ReauthenticationRequired,
    RequestTooLarge,
    UnsupportedProtocol,
    UntrustedAgent,
)

from .fake_agent import PATIENCE_SECONDS, TOKEN, FakeAgent, Fault, Peer, line

Request = Dict[str, Any]


class ClientTest(unittest.TestCase):
    def setUp(self) -> None:
        self.agent = FakeAgent()
        self.agent.__enter__()
        self.addCleanup(self.agent.__exit__)
        self.client = Client(self.agent.path)
        self.addCleanup(self.client.close)

    def restart_later(self) -> None:
        time.sleep(0.1)
        self.agent.restart()

    def in_thread(self, body: Any) -> "threading.Thread":
        thread = threading.Thread(target=body, daemon=True)
        thread.start()
        self.addCleanup(thread.join, PATIENCE_SECONDS)
        return thread


class Connecting(ClientTest):
    def test_it_introduces_itself_before_the_first_call(self) -> None:
        self.agent.on("agent.status", lambda request, peer: {})
        with Client(self.agent.path, name="mail", version="2.0", grant="grant-secret") as client:
            client.call("agent.status")
            self.assertEqual(client.hello.agent.name, "fake-agent")
            self.assertNotIn("grant-secret", repr(client) + repr(vars(client)))
        hello, status = self.agent.received
        self.assertEqual(
            hello["params"],
            {"client": {"name": "mail", "version": "2.0"}, "protocol": "1", "grant": "grant-secret"},
        )
        self.assertEqual(status, {"jsonrpc": "2.0", "id": 2, "method": "agent.status"})

    def test_the_socket_is_found_by_the_environment(self) -> None:
        with mock.patch.dict(os.environ, {"LANYARD_SOCKET": self.agent.path, "XDG_RUNTIME_DIR": "/elsewhere"}):
            self.assertEqual(lanyard.default_socket_path(), self.agent.path)
            with Client():
                self.agent.wait_for("agent.hello")
        with mock.patch.dict(os.environ, {"XDG_RUNTIME_DIR": "/run/user/7"}):
            os.environ.pop("LANYARD_SOCKET", None)
            self.assertEqual(lanyard.default_socket_path(), "/run/user/7/lanyard/agent.sock")
        with mock.patch.dict(os.environ, {"LANYARD_SOCKET": "run/agent.sock"}), self.assertRaises(AgentNotRunning):
            lanyard.default_socket_path()

    def without_a_session(self) -> str:
        """A place that stands for `/run/user` and `/tmp`, while no variable names the socket."""
        place = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, place)
        for name in ("RUNTIME_DIRECTORIES", "TEMPORARY_DIRECTORY"):
            patch = mock.patch(f"lanyard._transport.{name}", place)
            patch.start()
            self.addCleanup(patch.stop)
        environment = mock.patch.dict(os.environ, {"XDG_RUNTIME_DIR": "run/user"})
        environment.start()
        self.addCleanup(environment.stop)
        os.environ.pop("LANYARD_SOCKET", None)
        return place

    def test_without_a_runtime_directory_the_usual_one_is_taken_if_it_is_the_users(self) -> None:
        place = self.without_a_session()
        own = os.path.join(place, str(os.geteuid()))
        os.mkdir(own)
        self.assertEqual(lanyard.default_socket_path(), os.path.join(own, "lanyard", "agent.sock"))
        other = os.geteuid() + 1
        with mock.patch("os.geteuid", return_value=other):
            os.rename(own, os.path.join(place, str(other)))
            self.assertEqual(lanyard.default_socket_path(), os.path.join(place, f"lanyard-{other}", "agent.sock"))

    def test_without_a_session_the_socket_is_in_a_temporary_directory_of_this_user_alone(self) -> None:
        directory = os.path.join(self.without_a_session(), f"lanyard-{os.geteuid()}")
        self.assertEqual(lanyard.default_socket_path(), os.path.join(directory, "agent.sock"))
        os.mkdir(directory, 0o700)
        self.assertEqual(lanyard.default_socket_path(), os.path.join(directory, "agent.sock"))
        os.chmod(directory, 0o750)
        with self.assertRaisesRegex(AgentNotRunning, "XDG_RUNTIME_DIR is not set"):
            lanyard.default_socket_path()
        os.rename(directory, f"{directory}-elsewhere")
        os.chmod(f"{directory}-elsewhere", 0o700)
        os.symlink(f"{directory}-elsewhere", directory)
        with self.assertRaises(AgentNotRunning):
            lanyard.default_socket_path()

    def test_no_agent_is_told_as_such(self) -> None:
        self.agent.die()
        for path in (self.agent.path, self.agent.path + "-none", "/" + "long" * 100):
            with self.assertRaises(AgentNotRunning) as caught:
                Client(path).connect()
            self.assertTrue(caught.exception.retryable)
            self.assertIsInstance(caught.exception, ConnectionError)

    def test_connect_waits_for_an_agent_that_starts(self) -> None:
        self.agent.die()
        self.in_thread(self.restart_later)
        self.assertEqual(self.client.connect(wait_seconds=PATIENCE_SECONDS).instance, "instance-1")

    def test_why_the_agent_refuses_the_connection_is_told(self) -> None:
        def refuse(request: Request, peer: Peer) -> None:
            error = Fault(1003, "overloaded", retryable=True, retryAfterMs=200).error
            peer.send({"jsonrpc": "2.0", "id": None, "error": error})
            peer.close()

        self.agent.on("agent.hello", refuse)
        with self.assertRaises(Overloaded) as caught:
            self.client.connect()
        self.assertEqual(caught.exception.retry_after_ms, 200)

        def speak_otherwise(request: Request, peer: Peer) -> None:
            raise Fault(1005, "unsupportedProtocol", supported=["2"])

        self.agent.on("agent.hello", speak_otherwise)
        with self.assertRaises(UnsupportedProtocol) as otherwise:
            self.client.connect()
        self.assertEqual(otherwise.exception.data["supported"], ["2"])

    @unittest.skipUnless(os.geteuid() == 0, "only root can listen as another user")
    def test_another_users_socket_gets_nothing(self) -> None:
        nobody = 65534
        with tempfile.TemporaryDirectory() as directory, socket.socket(socket.AF_UNIX) as listener:
            os.chown(directory, nobody, -1)
            os.seteuid(nobody)
            try:
                listener.bind(os.path.join(directory, "agent.sock"))
                listener.listen()
            finally:
                os.seteuid(0)
            with self.assertRaises(UntrustedAgent):
                Client(os.path.join(directory, "agent.sock")).connect()
            connection, _ = listener.accept()
            with connection:
                self.assertEqual(connection.recv(1), b"")

    def test_nothing_is_left_open(self) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ResourceWarning)
            for _ in range(3):
                with Client(self.agent.path) as client:
                    self.agent.peers[-1].close()
                    client.connect()
            with self.assertRaises(AgentNotRunning):
                Client(self.agent.path + "-none").connect()
            gc.collect()
        self.assertEqual([str(warning.message) for warning in caught], [])


class Calling(ClientTest):
    def test_a_typed_call(self) -> None:
        self.agent.on("token.get", lambda request, peer: {**TOKEN, "source": "newSource", "newMember": 1})
        token = self.client.token.get(account="@active", minimum_lifetime_seconds=60, scopes=["a"])
        self.assertEqual(token.access_token, "secret-access-token")
        self.assertEqual((token.source, token.extra), ("newSource", {"newMember": 1}))
        self.assertNotIn("secret", repr(token))
        self.assertEqual(
            self.agent.wait_for("token.get")["params"],
            {"account": "@active", "minimumLifetimeSeconds": 60, "scopes": ["a"]},
        )

    def test_a_wrong_answer_is_an_error_of_this_call_alone(self) -> None:
        self.agent.on("token.get", lambda request, peer: {**TOKEN, "accessToken": 7})
        self.agent.on("agent.status", lambda request, peer: {"ok": True})
        with self.assertRaises(ProtocolError):
            self.client.token.get(account="work")
        self.assertEqual(self.client.call("agent.status"), {"ok": True})
        self.assertEqual(len(self.agent.requests("agent.hello")), 1)

    def test_errors_are_their_classes(self) -> None:
        def refuse(request: Request, peer: Peer) -> None:
            raise Fault(2004, "reauthenticationRequired", account="acc_1", remedies=["reauthenticate"])

        self.agent.on("token.get", refuse)
        with self.assertRaises(ReauthenticationRequired) as caught:
            self.client.token.get(account="work")
        self.assertEqual((caught.exception.account, caught.exception.remedies), ("acc_1", ["reauthenticate"]))

        def invalid(request: Request, peer: Peer) -> None:
            raise Fault(-32602, "invalidParams", path="/account", expected="a string")

        self.agent.on("account.get", invalid)
        with self.assertRaises(InvalidParams) as params:
            self.client.call("account.get", {"account": 7})
        self.assertEqual((params.exception.path, params.exception.expected), ("/account", "a string"))

    def test_lines_are_long_in_both_directions(self) -> None:
        body = "ü" * 400_000

        def send(request: Request, peer: Peer) -> Dict[str, Any]:
            return {"echo": request["params"]["body"], "more": "x" * (3 << 20)}

        self.agent.on("request.send", send)
        answer = self.client.call("request.send", {"body": body})
        self.assertEqual((answer["echo"], len(answer["more"])), (body, 3 << 20))
        with self.assertRaises(RequestTooLarge):
            self.client.call("token.get", {"account": "x" * 65536})

    def test_answers_byte_by_byte(self) -> None:
        def drip(request: Request, peer: Peer) -> None:
            peer.drip(line({"jsonrpc": "2.0", "id": request["id"], "result": {"text": "ü€😀"}}))

        self.agent.on("agent.status", drip)
        self.assertEqual(self.client.call("agent.status"), {"text": "ü€😀"})

    def test_many_threads_share_one_connection_and_answers_come_in_any_order(self) -> None:
        count, held, lock = 40, [], threading.Lock()

        def hold(request: Request, peer: Peer) -> None:
            with lock:
                held.append((request, peer))
                if len(held) < count:
                    return
            for request, peer in reversed(held):
                peer.answer(request, {"you": request["params"]["i"]})

        self.agent.on("token.get", hold)
        with ThreadPoolExecutor(count) as pool:
            answers = list(pool.map(lambda i: self.client.call("token.get", {"i": i})["you"], range(count)))
        self.assertEqual(answers, list(range(count)))
        self.assertEqual(len(self.agent.peers), 1)

    def test_many_calls_of_many_threads(self) -> None:
        self.agent.on("token.get", lambda request, peer: request["params"])

        def calls(thread: int) -> List[Any]:
            return [self.client.call("token.get", {"i": [thread, i]})["i"] for i in range(100)]

        with ThreadPoolExecutor(8) as pool:
            for thread, answers in enumerate(pool.map(calls, range(8))):
                self.assertEqual(answers, [[thread, i] for i in range(100)])

    def test_no_more_requests_are_sent_than_the_agent_takes(self) -> None:
        waiting: List[Any] = []
        hello = {"limits": {"requestsInFlight": 2}}
        self.agent.on("agent.hello", lambda request, peer: hello)
        self.agent.on("token.get", lambda request, peer: waiting.append((request, peer)))
        with ThreadPoolExecutor(3) as pool:
            calls = [pool.submit(self.client.call, "token.get") for _ in range(3)]
            self.agent.wait_for("token.get", 2)
            time.sleep(0.05)
            self.assertEqual(len(waiting), 2)
            request, peer = waiting.pop()
            peer.answer(request, {})
            self.agent.wait_for("token.get", 3)
            for request, peer in waiting:
                peer.answer(request, {})
            self.assertEqual([call.result(PATIENCE_SECONDS) for call in calls], [{}, {}, {}])

    def test_a_writer_reads_when_the_agent_does_not_take_more(self) -> None:
        # The agent stops reading from a client that does not read its answers. A client that does not read while it
        # writes would wait for ever.
        def answer_late(request: Request, peer: Peer) -> None:
            peer.answer(request, {"padding": "x" * (2 << 20)})

        self.agent.on("token.get", answer_late)
        self.agent.on("request.send", lambda request, peer: {"bytes": len(request["params"]["body"])})
        with self.assertRaises(CallTimeout):
            self.client.within(0).call("token.get")
        with self.assertRaises(CallTimeout):
            self.client.within(0.001).call("token.get")
        self.assertEqual(
            self.client.within(PATIENCE_SECONDS).call("request.send", {"body": "y" * 900_000}), {"bytes": 900_000}
        )


class Ending(ClientTest):
    def test_a_timeout_cancels_the_request_and_the_late_answer_is_dropped(self) -> None:
        held: List[Any] = []
        self.agent.on("token.get", lambda request, peer: held.append((request, peer)))
        self.agent.on("agent.status", lambda request, peer: {"ok": True})
        with self.assertRaises(CallTimeout) as caught:
            self.client.within(0.05).token.get(account="work")
        self.assertIsInstance(caught.exception, TimeoutError)
        request, peer = held[0]
        self.assertEqual(self.agent.wait_for("$/cancel")["params"], {"id": request["id"]})
        peer.answer(request, TOKEN)
        self.assertEqual(self.client.call("agent.status"), {"ok": True})

    def test_a_timeout_may_be_longer_than_any_wait(self) -> None:
        def answer_later(request: Request, peer: Peer) -> None:
            threading.Timer(0.02, peer.answer, (request, {"ok": True})).start()

        self.agent.on("agent.status", answer_later)
        events = self.client.events()
        for seconds in (3e6, 1e12, 1e300, float("inf")):
            with self.subTest(seconds=seconds):
                self.assertEqual(self.client.within(seconds).call("agent.status"), {"ok": True})
                threading.Timer(0.02, self.agent.peers[0].event, (1,)).start()
                self.assertIsNotNone(events.next(timeout=seconds))

    def test_a_timeout_of_the_client_is_for_every_call(self) -> None:
        self.agent.on("token.get", lambda request, peer: None)
        with Client(self.agent.path, timeout=0.05) as client:
            with self.assertRaises(CallTimeout):
                client.token.get(account="work")

    def test_an_interrupted_call_is_cancelled(self) -> None:
        self.agent.on("token.get", lambda request, peer: None)
        self.agent.on("agent.status", lambda request, peer: {"ok": True})

        def interrupt() -> None:
            self.agent.wait_for("token.get")
            time.sleep(0.05)  # until the main thread waits for the answer
            os.kill(os.getpid(), signal.SIGINT)

        self.in_thread(interrupt)
        with self.assertRaises(KeyboardInterrupt):
            self.client.token.get(account="work")
        self.agent.wait_for("$/cancel")
        self.assertEqual(self.client.call("agent.status"), {"ok": True})

    def test_calls_in_flight_fail_at_once_when_the_agent_dies(self) -> None:
        self.agent.on("token.get", lambda request, peer: None)
        with ThreadPoolExecutor(5) as pool:
            calls = [pool.submit(self.client.token.get, account="work") for _ in range(5)]
            self.agent.wait_for("token.get", 5)
            self.agent.die()
            errors = [call.exception(PATIENCE_SECONDS) for call in calls]
        for error in errors:
            self.assertIsInstance(error, ConnectionLost)
            self.assertIsInstance(error, ConnectionError)
        self.assertEqual(len(set(map(id, errors))), 5)

    def test_half_an_answer_and_death_is_a_lost_connection(self) -> None:
        def die(request: Request, peer: Peer) -> None:
            peer.raw(b'{"jsonrpc":"2.0","id":2,"res')
            peer.close()

        self.agent.on("token.get", die)
        with self.assertRaises(ConnectionLost):
            self.client.token.get(account="work")

    def test_the_next_call_connects_again(self) -> None:
        self.agent.on("token.get", lambda request, peer: TOKEN)
        self.client.token.get(account="work")
        self.agent.die()
        with self.assertRaises(AgentNotRunning):
            self.client.token.get(account="work")
        self.agent.restart()
        self.assertEqual(self.client.token.get(account="work").fingerprint, "f1")
        self.assertEqual(len(self.agent.requests("agent.hello")), 2)

    def test_garbage_ends_the_connection_and_not_the_client(self) -> None:
        self.agent.on("token.get", lambda request, peer: peer.raw(b"listening on ...\n"))
        self.agent.on("agent.status", lambda request, peer: {"ok": True})
        with self.assertRaises(ProtocolError):
            self.client.token.get(account="work")
        self.assertEqual(self.client.call("agent.status"), {"ok": True})

    def test_close_ends_calls_in_flight(self) -> None:
        self.agent.on("token.get", lambda request, peer: None)
        with ThreadPoolExecutor(2) as pool:
            calls = [pool.submit(self.client.token.get, account="work") for _ in range(2)]
            self.agent.wait_for("token.get", 2)
            self.client.close()
            for call in calls:
                self.assertIsInstance(call.exception(PATIENCE_SECONDS), ClientClosed)
        with self.assertRaises(ClientClosed):
            self.client.token.get(account="work")
        self.client.close()

    def test_a_forked_child_connects_by_itself(self) -> None:
        self.agent.on("token.get", lambda request, peer: {"id": request["id"]})
        self.client.call("token.get")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads: the fake agent's
            child = os.fork()
        if child == 0:
            try:
                os._exit(0 if self.client.call("token.get") == {"id": 2} else 1)
            finally:
                os._exit(2)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertEqual(self.client.call("token.get"), {"id": 3})
        self.assertEqual(len(self.agent.requests("agent.hello")), 2)

    def test_nothing_is_printed_or_logged(self) -> None:
        self.agent.on("token.get", lambda request, peer: TOKEN)
        with mock.patch("sys.stdout") as stdout, mock.patch("sys.stderr") as stderr, self.assertLogs() as logs:
            logging.getLogger("test").error("the only one")
            self.client.token.get(account="work")
            self.agent.die()
            with self.assertRaises(AgentNotRunning):
                self.client.token.get(account="work")
        self.assertEqual((stdout.mock_calls, stderr.mock_calls), ([], []))
        self.assertEqual(len(logs.output), 1)


class Events(ClientTest):
    def test_events_come_while_calls_are_made(self) -> None:
        def emit(request: Request, peer: Peer) -> Dict[str, Any]:
            peer.event(1, "account.switched", active="acc_bob")
            return {}

        self.agent.on("account.switch", emit)
        with self.client.events(types=["account.switched"], accounts=["work"]) as events:
            self.client.call("account.switch")
            event = events.next(timeout=PATIENCE_SECONDS)
            assert event is not None
            self.assertEqual((event.type, event.data), ("account.switched", {"active": "acc_bob"}))
            self.assertIsNone(events.next(timeout=0.01))
        subscribe = self.agent.wait_for("event.subscribe")
        self.assertEqual(subscribe["params"], {"types": ["account.switched"], "accounts": ["work"]})
        self.assertEqual(self.agent.wait_for("event.unsubscribe")["params"], {"subscription": "sub-1"})

    def test_one_thread_waits_for_events_while_another_calls(self) -> None:
        self.agent.on("token.get", lambda request, peer: TOKEN)
        taken: List[Optional[int]] = []
        events = self.client.events()
        thread = self.in_thread(lambda: taken.extend(event.sequence for event in events))
        for sequence in range(1, 21):
            self.agent.peers[0].event(sequence)
            self.client.token.get(account="work")
        while len(taken) < 20:
            time.sleep(0.001)
        events.close()
        thread.join(PATIENCE_SECONDS)
        self.assertFalse(thread.is_alive())
        self.assertEqual(taken, list(range(1, 21)))

    def test_a_stream_resumes_after_the_agent_was_gone(self) -> None:
        with self.client.events() as events:
            self.agent.peers[0].event(1)
            self.agent.peers[0].event(2)
            self.assertEqual([events.next().sequence, events.next().sequence], [1, 2])  # type: ignore[union-attr]

            def resume(request: Request, peer: Peer) -> None:
                peer.subscription = "sub-again"
                peer.answer(request, {"subscription": "sub-again", "epoch": "epoch-1", "sequence": 3, "gap": False})
                peer.event(3)

            self.agent.on("event.subscribe", resume)
            self.agent.die()
            self.in_thread(self.restart_later)
            event = events.next(timeout=PATIENCE_SECONDS)
            assert event is not None
            self.assertEqual((event.type, event.sequence), ("token.refreshed", 3))
        since = self.agent.requests("event.subscribe")[-1]["params"]["since"]
        self.assertEqual(since, {"epoch": "epoch-1", "sequence": 2})

    def test_a_gap_is_told(self) -> None:
        with self.client.events() as events:
            self.agent.peers[0].event(1)
            self.assertEqual(events.next().sequence, 1)  # type: ignore[union-attr]

            def with_gap(request: Request, peer: Peer) -> Dict[str, Any]:
                peer.subscription = "sub-again"
                return {"subscription": "sub-again", "epoch": "epoch-2", "sequence": 40, "gap": True}

            self.agent.on("event.subscribe", with_gap)
            self.agent.die()
            self.agent.restart()
            event = events.next(timeout=PATIENCE_SECONDS)
            assert event is not None
            self.assertEqual(event.type, lanyard.EventType.EVENT_GAP)
            self.agent.peers[0].event(41, epoch="epoch-2")
            self.assertEqual(events.next().sequence, 41)  # type: ignore[union-attr]
            self.assertEqual(events.position, {"epoch": "epoch-2", "sequence": 41})

    def test_without_reconnection_the_loss_is_raised_after_the_last_event(self) -> None:
        events = self.client.events(reconnect=False)
        self.agent.peers[0].event(1)
        while not events._feed.ready:
            self.client.connect()
        self.agent.die()
        self.assertEqual(events.next().sequence, 1)  # type: ignore[union-attr]
        with self.assertRaises(ConnectionLost):
            events.next()

    def test_a_stream_waits_as_long_as_the_agent_asks(self) -> None:
        with self.client.events() as events:
            times: List[float] = []

            def subscribe(request: Request, peer: Peer) -> Dict[str, Any]:
                times.append(time.monotonic())
                if len(times) == 1:
                    raise Fault(1003, "overloaded", retryable=True, retryAfterMs=300)
                peer.subscription = "sub-again"
                peer.event(1)
                return {"subscription": "sub-again", "epoch": "epoch-1", "sequence": 1, "gap": False}

            self.agent.on("event.subscribe", subscribe)
            self.agent.die()
            self.agent.restart()
            self.assertIsNotNone(events.next(timeout=PATIENCE_SECONDS))
            self.assertGreaterEqual(times[1] - times[0], 0.29)

    def test_an_agent_that_refuses_the_subscription_is_heard(self) -> None:
        def refuse(request: Request, peer: Peer) -> None:
            raise Fault(1007, "notPermitted")

        self.agent.on("event.subscribe", refuse)
        with self.assertRaises(lanyard.NotPermitted):
            self.client.events()

    def test_a_subscription_that_comes_too_late_is_ended(self) -> None:
        late: List[Any] = []
        self.agent.on("event.subscribe", lambda request, peer: late.append((request, peer)))
        self.client.connect()
        with mock.patch("lanyard._sync.CONNECT_SECONDS", 0.05), self.assertRaises(CallTimeout):
            self.client.events()
        self.agent.wait_for("$/cancel")
        request, peer = late[0]
        peer.answer(request, {"subscription": "sub-late", "epoch": "epoch-1", "sequence": 0, "gap": False})
        # The caller of another method reads the answer, and waits on.
        self.agent.on("agent.status", lambda request, peer: None)
        with self.assertRaises(CallTimeout):
            self.client.within(0.2).call("agent.status")
        unsubscribe = self.agent.wait_for("event.unsubscribe")
        self.assertEqual(unsubscribe["params"], {"subscription": "sub-late"})

    def test_a_stream_that_is_closed_while_it_subscribes_leaves_no_subscription(self) -> None:
        events = self.client.events()
        subscribing = threading.Event()

        def subscribe(request: Request, peer: Peer) -> Dict[str, Any]:
            subscribing.set()
            events._closed.wait(PATIENCE_SECONDS)
            return {"subscription": "sub-again", "epoch": "epoch-1", "sequence": 0, "gap": False}

        self.agent.on("event.subscribe", subscribe)
        self.agent.die()
        self.agent.restart()
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(events.next)
            subscribing.wait(PATIENCE_SECONDS)
            events.close()
            self.assertIsNone(waiting.result(PATIENCE_SECONDS))
        self.assertEqual(self.agent.wait_for("event.unsubscribe")["params"], {"subscription": "sub-again"})

    def test_closing_the_client_ends_a_waiting_consumer(self) -> None:
        events = self.client.events()
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(events.next)
            time.sleep(0.02)
            self.client.close()
            self.assertIsNone(waiting.result(PATIENCE_SECONDS))


STDIO_AGENT = r"""
import json, sys
for text in sys.stdin:
    request = json.loads(text)
    if request["method"] == "die":
        sys.exit(3)
    answer = {"jsonrpc": "2.0", "id": request["id"], "result": {"method": request["method"]}}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
"""


class Stdio(unittest.TestCase):
    def spawn(self) -> Client:
        client = Client.spawn([sys.executable, "-c", STDIO_AGENT])
        self.addCleanup(client.close)
        return client

    def test_an_agent_of_ones_own_ends_with_its_input(self) -> None:
        client = self.spawn()
        self.assertEqual(client.call("agent.status"), {"method": "agent.status"})
        client.close()
        assert client._process is not None
        self.assertEqual(client._process.returncode, 0)

    def test_it_is_not_started_again(self) -> None:
        client = self.spawn()
        for _ in range(2):
            with self.assertRaises(ConnectionLost):
                client.call("die")

    def test_a_program_that_is_not_there(self) -> None:
        with self.assertRaises(AgentNotRunning):
            Client.spawn(["/nonexistent/lanyard-agent", "--stdio"])


if __name__ == "__main__":
    unittest.main()
