"""The client against the real agent and the practice provider.

Runs when LANYARD_AGENT and LANYARD_DEMO name the programs:

    LANYARD_AGENT=.build/release/lanyard-agent LANYARD_DEMO=.build/release/lanyard-demo python3 -m unittest discover
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, List
from unittest import mock

from lanyard import (
    AccountNotFound,
    AsyncClient,
    CallTimeout,
    Client,
    ConnectionLost,
    InvalidParams,
    MethodNotFound,
    ProviderNotFound,
    SignedOut,
)

from .test_readme import examples

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
AGENT = os.environ.get("LANYARD_AGENT", "")
DEMO = os.environ.get("LANYARD_DEMO", "")
PATIENCE_SECONDS = 20.0


@unittest.skipUnless(AGENT and DEMO, "LANYARD_AGENT and LANYARD_DEMO do not name the programs")
class RealAgentTest(unittest.TestCase):
    """One agent, one provider, alice and bob signed in; every test finds them so and leaves them so."""

    agent: Any
    practice: Any
    alice: str
    bob: str

    @classmethod
    def setUpClass(cls) -> None:
        sys.path.insert(0, os.path.join(ROOT, "Tests", "Bench"))
        import harness

        cls.practice = harness.Practice(os.path.abspath(DEMO))
        cls.addClassCleanup(cls.practice.stop)
        cls.agent = harness.Agent(os.path.abspath(AGENT))
        cls.addClassCleanup(cls.agent.__exit__)
        cls.agent.start()
        with cls.agent.client() as client:
            provider = harness.add_provider(client, cls.practice.issuer)
            cls.alice = harness.sign_in(client, provider, "alice", "alice")
            cls.bob = harness.sign_in(client, provider, "bob", "bob")

    def setUp(self) -> None:
        self.client: Client = self.agent.client(timeout=PATIENCE_SECONDS)
        self.addCleanup(self.client.close)


class Calls(RealAgentTest):
    def test_hello_tells_the_limits(self) -> None:
        hello = self.client.connect()
        self.assertEqual(hello.protocol, "1")
        limits = self.client.call("agent.hello", {"client": {"name": "t", "version": "0"}})["limits"]
        self.assertEqual((limits["lineBytes"], limits["requestsInFlight"], limits["connections"]), (65536, 128, 1024))

    def test_status_counts_both_accounts(self) -> None:
        status = self.client.agent.status()
        assert status.accounts is not None
        self.assertEqual((status.locked, status.accounts.total), (False, 2))

    def test_discover_describes_every_method_that_the_client_has(self) -> None:
        document = self.client.call("rpc.discover")
        methods = {method["name"] for method in document["methods"]}
        self.assertLessEqual({"token.get", "account.list", "event.subscribe", "signIn.import"}, methods)

    def test_two_badges_hang_on_the_lanyard(self) -> None:
        listed = self.client.account.list()
        self.assertEqual({account.id for account in listed.accounts}, {self.alice, self.bob})
        self.assertEqual({account.alias for account in listed.accounts}, {"alice", "bob"})
        self.assertEqual(
            {account.issuer.rstrip("/") for account in listed.accounts}, {self.practice.issuer.rstrip("/")}
        )
        self.assertEqual([account.active for account in listed.accounts].count(True), 1)

    def test_a_cached_token_is_the_same_for_everybody(self) -> None:
        first = self.client.token.get(account="alice")
        again = self.client.token.get(account=self.alice)
        self.assertEqual((first.account, first.fingerprint), (self.alice, again.fingerprint))
        self.assertEqual((again.source, again.token_type.lower()), ("cache", "bearer"))
        self.assertGreaterEqual(again.expires_in_seconds, 60)
        self.assertNotIn(first.access_token, repr(first))
        self.assertNotEqual(first.access_token, self.client.token.get(account="bob").access_token)

    def test_a_rejected_token_is_replaced_once(self) -> None:
        old = self.client.token.get(account="bob")
        new = self.client.token.reject(account="bob", fingerprint=old.fingerprint)
        self.assertNotEqual(new.fingerprint, old.fingerprint)
        late = self.client.token.reject(account="bob", fingerprint=old.fingerprint)
        self.assertEqual(late.fingerprint, new.fingerprint)

    def test_parallel_refreshes_are_one_exchange(self) -> None:
        before = self.client.token.get(account="alice").generation
        with ThreadPoolExecutor(16) as pool:
            tokens = list(pool.map(lambda _: self.client.token.refresh(account="alice"), range(16)))
        after = self.client.token.get(account="alice")
        self.assertTrue(all(token.generation > before for token in tokens))
        # Callers that came after the first exchange had ended made another; far fewer than there were callers.
        self.assertLess(after.generation - before, 16)

    def test_the_session_is_told(self) -> None:
        session = self.client.session.get(account="alice")
        self.assertEqual((session.state, session.clock, session.refresh.phase), ("active", "trusted", "idle"))

    def test_errors_are_their_classes(self) -> None:
        with self.assertRaises(AccountNotFound):
            self.client.token.get(account="nobody")
        with self.assertRaises(ProviderNotFound):
            self.client.call("provider.get", {"provider": "nobody"})
        with self.assertRaises(MethodNotFound):
            self.client.call("token.steal")
        with self.assertRaises(InvalidParams) as missing:
            self.client.call("token.get")
        self.assertEqual(missing.exception.path, "/account")
        with self.assertRaises(InvalidParams) as unknown:
            self.client.call("token.get", {"account": "alice", "hush": 1})
        self.assertEqual(unknown.exception.path, "/hush")

    def test_many_tasks_share_one_connection(self) -> None:
        async def gather() -> List[str]:
            async with AsyncClient(self.agent.socket) as client:
                tokens = await asyncio.gather(*(client.token.get(account="alice") for _ in range(500)))
                return [token.fingerprint for token in tokens]

        self.assertEqual(len(set(asyncio.run(gather()))), 1)

    def test_a_cancelled_wait_leaves_the_connection_whole(self) -> None:
        begun = self.client.call("signIn.begin", {"provider": "practice", "flow": "browser", "openBrowser": False})
        with self.assertRaises(CallTimeout):
            self.client.within(0.1).call("signIn.wait", {"signIn": begun["signIn"]})
        self.client.call("signIn.cancel", {"signIn": begun["signIn"]})
        self.assertEqual(self.client.token.get(account="alice").account, self.alice)

    def test_a_switch_is_an_event(self) -> None:
        active = self.client.account.list().active
        other = self.bob if active == self.alice else self.alice
        with self.client.events(types=["account.switched"]) as events:
            switched = self.client.account.switch(account=other)
            self.assertEqual((switched.active, switched.previous), (other, active))
            event = events.next(timeout=PATIENCE_SECONDS)
            assert event is not None
            self.assertEqual((event.type, event.account), ("account.switched", other))
        self.assertEqual(self.client.token.get(account="@active").account, other)

    def test_a_soft_sign_out_and_back(self) -> None:
        import harness

        carol = harness.sign_in(self.client, "practice", "carol", "carol")
        out = self.client.account.sign_out(account="carol", mode="soft")
        self.assertEqual((out.account, out.data), (carol, "sealed"))
        with self.assertRaises(SignedOut):
            self.client.token.get(account="carol")
        self.assertEqual(self.client.account.get(account="carol").state, "signedOut")
        self.client.account.sign_out(account="carol", mode="hard")
        self.client.account.forget(account=carol)
        with self.assertRaises(AccountNotFound):
            self.client.account.get(account=carol)


class Wire(RealAgentTest):
    """Lines that the client would never send."""

    def exchange(self, data: bytes, answers: int = 1) -> List[Any]:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE_SECONDS)
            connection.connect(self.agent.socket)
            connection.sendall(data)
            with connection.makefile("rb") as lines:
                return [json.loads(lines.readline()) for _ in range(answers)]

    def test_malformed_lines_are_answered_and_the_connection_stays(self) -> None:
        status = b'{"jsonrpc":"2.0","id":7,"method":"agent.status"}\n'
        for bad, code in [
            (b"{\n", -32700),
            (b'{"a":1,}\n', -32700),
            (b'{"id":"\xff"}\n', -32700),
            (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"agent.status"}\n', -32700),
            (b'{"id":01}\n', -32700),
            (b"[" * 65 + b"]" * 65 + b"\n", -32700),
            (b"[]\n", -32600),
            (b"7\n", -32600),
            (b'{"id":1,"method":"agent.status"}\n', -32600),
            (b'{"jsonrpc":"2.0","id":1,"id":1,"method":"agent.status"}\n', -32600),
            (b'{"jsonrpc":"2.0","id":1,"method":"agent.status","params":null}\n', -32600),
            (b'{"jsonrpc":"2.0","id":1,"method":"agent.status","params":[]}\n', -32602),
            (b'{"jsonrpc":"2.0","id":1,"method":"rpc.none"}\n', -32601),
        ]:
            with self.subTest(line=bad[:60]):
                error, alive = self.exchange(bad + status, 2)
                self.assertEqual(error["error"]["code"], code)
                self.assertEqual((alive["id"], "result" in alive), (7, True))

    def test_a_line_over_the_limit_ends_the_connection(self) -> None:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE_SECONDS)
            connection.connect(self.agent.socket)
            try:
                connection.sendall(b'{"x":"' + b"x" * (2 << 20) + b'"}\n')
            except OSError:
                pass  # closed while we were still writing
            with connection.makefile("rb") as lines:
                error = json.loads(lines.readline())["error"]
                self.assertEqual(error["code"], -32600)
                self.assertIn("limit", error["data"])
                try:
                    self.assertEqual(lines.readline(), b"")
                except ConnectionResetError:
                    pass

    def test_ids_come_back_as_they_were_sent(self) -> None:
        for identity in (b"1.0", b"123456789012345678901234567890", b'"\\u0061"', b"null", b"-0"):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(PATIENCE_SECONDS)
                connection.connect(self.agent.socket)
                connection.sendall(b'{"jsonrpc":"2.0","id":' + identity + b',"method":"agent.status"}\n')
                with connection.makefile("rb") as lines:
                    self.assertIn(b'"id":' + identity, lines.readline())

    def test_a_batch_is_answered_by_a_batch(self) -> None:
        call = '{"jsonrpc":"2.0","id":%d,"method":"agent.status"}'
        batch = f'[{call % 1},7,{{"jsonrpc":"2.0","method":"agent.status"}},{call % 2}]\n'
        (answers,) = self.exchange(batch.encode())
        self.assertEqual(sorted(answer["id"] or 0 for answer in answers), [0, 1, 2])

    def test_half_a_request_blocks_no_other_client(self) -> None:
        with socket.socket(socket.AF_UNIX) as silent:
            silent.connect(self.agent.socket)
            silent.sendall(b'{"jsonrpc":"2.0","id":1,"met')
            self.assertEqual(self.client.token.get(account="alice").account, self.alice)


class Lifecycle(RealAgentTest):
    def test_nothing_is_lost_by_a_kill(self) -> None:
        before = self.client.account.list()
        with self.client.events() as events:
            begun = self.client.call("signIn.begin", {"provider": "practice", "flow": "browser", "openBrowser": False})
            with ThreadPoolExecutor(1) as pool:
                waiting = pool.submit(self.client.call, "signIn.wait", {"signIn": begun["signIn"]})
                time.sleep(0.1)
                self.agent.end(signal.SIGKILL)
                self.assertIsInstance(waiting.exception(PATIENCE_SECONDS), ConnectionLost)
            instance = self.client.hello.instance
            self.agent.start()
            # The stream comes back by itself. The new agent cannot tell what happened between.
            self.client.account.switch(account=self.bob if before.active == self.alice else self.alice)
            deadline = time.monotonic() + PATIENCE_SECONDS
            types: List[str] = []
            while "event.gap" not in types and time.monotonic() < deadline:
                event = events.next(timeout=0.5)
                types += [str(event.type)] if event is not None else []
            self.assertIn("event.gap", types)
        after = self.client.account.list()
        self.assertEqual({account.id for account in after.accounts}, {self.alice, self.bob})
        self.assertNotEqual(self.client.hello.instance, instance)
        for person in ("alice", "bob"):
            self.assertTrue(self.client.token.get(account=person).access_token)

    def test_a_second_agent_is_told_who_holds_the_state(self) -> None:
        second = subprocess.run(
            [self.agent.program, "--stdio", "--state-dir", self.agent.state],
            input=b"",
            capture_output=True,
            env=self.agent.environment,
            timeout=PATIENCE_SECONDS,
        )
        self.assertEqual((second.returncode, second.stdout), (75, b""))
        self.assertTrue(second.stderr)

    def test_a_stop_is_clean_and_stdio_serves_the_same_state(self) -> None:
        self.assertEqual(self.agent.end(signal.SIGTERM), 0)
        try:
            command = [self.agent.program, "--stdio", "--state-dir", self.agent.state]
            with Client.spawn(
                command, env=self.agent.environment, stderr=subprocess.DEVNULL, timeout=PATIENCE_SECONDS
            ) as own:
                self.assertEqual(own.token.get(account="alice").account, self.alice)
                process = own._process
            assert process is not None
            self.assertEqual(process.returncode, 0)
        finally:
            self.agent.start()

    def test_the_log_holds_no_token(self) -> None:
        tokens: Dict[str, str] = {name: self.client.token.get(account=name).access_token for name in ("alice", "bob")}
        log = self.agent.log()
        for token in tokens.values():
            self.assertNotIn(token, log)


class Started(RealAgentTest):
    def test_the_first_example_works_without_a_running_agent(self) -> None:
        import harness

        with tempfile.TemporaryDirectory(prefix="lanyard-") as place:
            environment = {
                "HOME": place,
                "XDG_RUNTIME_DIR": place,
                "PATH": os.path.dirname(os.path.abspath(AGENT)),
            }
            with mock.patch.dict(os.environ, environment, clear=True):
                with Client() as client:
                    self.assertFalse(client.agent.status().locked)
                    provider = harness.add_provider(client, self.practice.issuer)
                    harness.sign_in(client, provider, "alice", "alice")
                names: Dict[str, Any] = {"__name__": "__main__"}
                exec(compile(next(iter(examples().values())), "README.md", "exec"), names)
                self.assertTrue(names["headers"]["Authorization"].startswith("Bearer "))
                with Client(start=False) as client:
                    client.agent.shutdown()
                    with self.assertRaises(ConnectionError):
                        while True:
                            client.agent.status()
            harness.forget_anchors(place)


if __name__ == "__main__":
    unittest.main()
