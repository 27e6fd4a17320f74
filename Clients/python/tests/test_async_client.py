"""The asyncio client against a scripted agent on a real socket."""

import asyncio
import sys
import unittest
from typing import Any, Awaitable, Callable, Dict, List, TypeVar

from lanyard import (
    AgentNotRunning,
    AsyncClient,
    CallTimeout,
    ClientClosed,
    ConnectionLost,
    Offline,
    Overloaded,
    ProtocolError,
)
from lanyard._events import EventFeed

from .fake_agent import PATIENCE_SECONDS, TOKEN, FakeAgent, Fault, Peer, line
from .test_client import STDIO_AGENT

Request = Dict[str, Any]
T = TypeVar("T")


async def soon(awaitable: Awaitable[T]) -> T:
    return await asyncio.wait_for(awaitable, PATIENCE_SECONDS)


async def in_thread(body: Callable[..., T], *arguments: Any) -> T:
    return await soon(asyncio.get_running_loop().run_in_executor(None, body, *arguments))


class AsyncClientTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.agent = FakeAgent()
        self.agent.__enter__()
        self.addCleanup(self.agent.__exit__)
        self.client = AsyncClient(self.agent.path)

    async def asyncTearDown(self) -> None:
        await self.client.close()


class Calling(AsyncClientTest):
    async def test_a_typed_call(self) -> None:
        self.agent.on("token.get", lambda request, peer: TOKEN)
        async with AsyncClient(self.agent.path, name="mail", version="2", grant="grant-secret") as client:
            token = await client.token.get(account="@active", minimum_lifetime_seconds=60)
            self.assertEqual((token.access_token, client.hello.protocol), ("secret-access-token", "1"))
            self.assertNotRegex(repr(token) + repr(client) + repr(vars(client)), "secret-access|grant-secret")
        self.assertEqual(
            [request["params"] for request in self.agent.received],
            [
                {"client": {"name": "mail", "version": "2"}, "protocol": "1", "grant": "grant-secret"},
                {"account": "@active", "minimumLifetimeSeconds": 60},
            ],
        )

    async def test_errors_are_their_classes(self) -> None:
        def refuse(request: Request, peer: Peer) -> None:
            raise Fault(3001, "offline", retryAfterMs=100)

        self.agent.on("token.get", refuse)
        with self.assertRaises(Offline) as caught:
            await self.client.token.get(account="work")
        self.assertEqual(caught.exception.retry_after_ms, 100)

    async def test_lines_far_over_the_limit_of_stream_readers(self) -> None:
        def send(request: Request, peer: Peer) -> None:
            answer = {"echo": request["params"]["body"], "more": "x" * (3 << 20)}
            peer.drip(line({"jsonrpc": "2.0", "id": request["id"], "result": answer}), 100_000)

        self.agent.on("request.send", send)
        answer = await soon(self.client.call("request.send", {"body": "ü" * 400_000}))
        self.assertEqual((answer["echo"], len(answer["more"])), ("ü" * 400_000, 3 << 20))

    async def test_answers_byte_by_byte_and_in_any_order(self) -> None:
        held: List[Request] = []

        def hold(request: Request, peer: Peer) -> None:
            held.append(request)
            if len(held) == 3:
                answers = [{"jsonrpc": "2.0", "id": one["id"], "result": one["params"]} for one in reversed(held)]
                peer.drip(b"".join(map(line, answers)))

        self.agent.on("token.get", hold)
        answers = await soon(asyncio.gather(*(self.client.call("token.get", {"i": f"é{i}"}) for i in range(3))))
        self.assertEqual(answers, [{"i": f"é{i}"} for i in range(3)])
        self.assertEqual(len(self.agent.peers), 1)

    async def test_no_more_requests_are_sent_than_the_agent_takes(self) -> None:
        most = 0
        held: List[Any] = []
        self.agent.on("agent.hello", lambda request, peer: {"limits": {"requestsInFlight": 2}})
        self.agent.on("token.get", lambda request, peer: held.append((request, peer)))
        calls = [asyncio.ensure_future(self.client.call("token.get")) for _ in range(9)]
        for count in range(2, 11):
            await in_thread(self.agent.wait_for, "token.get", min(count, 9))
            most = max(most, len(held))
            request, peer = held.pop(0)
            peer.answer(request, {})
        self.assertEqual(await soon(asyncio.gather(*calls)), [{}] * 9)
        self.assertEqual(most, 2)


class Ending(AsyncClientTest):
    async def test_cancelling_the_task_cancels_the_request(self) -> None:
        held: List[Any] = []
        self.agent.on("token.get", lambda request, peer: held.append((request, peer)))
        self.agent.on("agent.status", lambda request, peer: {"ok": True})
        task = asyncio.ensure_future(self.client.token.get(account="work"))
        await in_thread(self.agent.wait_for, "token.get")
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        cancel = await in_thread(self.agent.wait_for, "$/cancel")
        request, peer = held[0]
        self.assertEqual(cancel["params"], {"id": request["id"]})
        peer.fail(request, Fault(1004, "requestCancelled"))
        self.assertEqual(await soon(self.client.call("agent.status")), {"ok": True})

    async def test_a_timeout_cancels_the_request(self) -> None:
        self.agent.on("token.get", lambda request, peer: None)
        with self.assertRaises(CallTimeout):
            await soon(self.client.within(0.02).token.get(account="work"))
        await in_thread(self.agent.wait_for, "$/cancel")

    async def test_calls_in_flight_fail_at_once_when_the_agent_dies(self) -> None:
        self.agent.on("token.get", lambda request, peer: None)
        calls = [asyncio.ensure_future(self.client.token.get(account="work")) for _ in range(5)]
        await in_thread(self.agent.wait_for, "token.get", 5)
        await in_thread(self.agent.die)
        errors = await soon(asyncio.gather(*calls, return_exceptions=True))
        self.assertEqual([type(error) for error in errors], [ConnectionLost] * 5)

    async def test_the_next_call_connects_again(self) -> None:
        self.agent.on("token.get", lambda request, peer: TOKEN)
        await self.client.token.get(account="work")
        await in_thread(self.agent.die)
        with self.assertRaises(AgentNotRunning):
            await self.client.token.get(account="work")
        self.agent.restart()
        self.assertEqual((await self.client.token.get(account="work")).generation, 1)

    async def test_connect_waits_for_an_agent_that_starts(self) -> None:
        await in_thread(self.agent.die)
        connecting = asyncio.ensure_future(self.client.connect(wait_seconds=PATIENCE_SECONDS))
        await asyncio.sleep(0.08)
        self.agent.restart()
        self.assertEqual((await soon(connecting)).instance, "instance-1")

    async def test_why_the_agent_refuses_the_connection_is_told(self) -> None:
        def refuse(request: Request, peer: Peer) -> None:
            peer.send({"jsonrpc": "2.0", "id": None, "error": Fault(1003, "overloaded", retryAfterMs=200).error})
            peer.close()

        self.agent.on("agent.hello", refuse)
        with self.assertRaises(Overloaded):
            await soon(self.client.connect())

    async def test_garbage_ends_the_connection_and_not_the_client(self) -> None:
        self.agent.on("token.get", lambda request, peer: peer.raw(b"listening on ...\n"))
        self.agent.on("agent.status", lambda request, peer: {"ok": True})
        with self.assertRaises(ProtocolError):
            await soon(self.client.token.get(account="work"))
        self.assertEqual(await soon(self.client.call("agent.status")), {"ok": True})

    async def test_close_ends_calls_in_flight(self) -> None:
        self.agent.on("token.get", lambda request, peer: None)
        call = asyncio.ensure_future(self.client.token.get(account="work"))
        await in_thread(self.agent.wait_for, "token.get")
        await self.client.close()
        with self.assertRaises(ClientClosed):
            await soon(call)
        with self.assertRaises(ClientClosed):
            await self.client.token.get(account="work")

    async def test_a_task_cancelled_while_it_connects_leaves_the_client_whole(self) -> None:
        hello = self.agent._handlers["agent.hello"]
        self.agent.on("agent.hello", lambda request, peer: None)
        self.agent.on("agent.status", lambda request, peer: {"ok": True})
        task = asyncio.ensure_future(self.client.call("agent.status"))
        await in_thread(self.agent.wait_for, "agent.hello")
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        self.agent.on("agent.hello", hello)
        self.assertEqual(await soon(self.client.call("agent.status")), {"ok": True})


class Events(AsyncClientTest):
    async def test_events_come_while_calls_are_made(self) -> None:
        self.agent.on("token.get", lambda request, peer: TOKEN)
        taken: List[int] = []

        async def consume() -> None:
            async with self.client.events(types=["token.refreshed"]) as events:
                async for event in events:
                    taken.append(event.sequence)
                    if event.sequence == 20:
                        return

        consumer = asyncio.ensure_future(consume())
        await in_thread(self.agent.wait_for, "event.subscribe")
        for sequence in range(1, 21):
            self.agent.peers[0].event(sequence)
            await self.client.token.get(account="work")
        await soon(consumer)
        self.assertEqual(taken, list(range(1, 21)))
        self.assertEqual(len(self.agent.requests("event.unsubscribe")), 1)

    async def test_waiting_for_an_event_may_be_cancelled_without_losing_it(self) -> None:
        events = await self.client.events()
        with self.assertRaises(asyncio.TimeoutError):
            await asyncio.wait_for(events.next(), 0.01)
        self.agent.peers[0].event(1)
        event = await soon(events.next())
        assert event is not None
        self.assertEqual(event.sequence, 1)

    async def test_a_stream_resumes_and_tells_a_gap(self) -> None:
        async with self.client.events() as events:
            self.agent.peers[0].event(1)
            self.assertEqual((await soon(events.next())).sequence, 1)  # type: ignore[union-attr]
            waiting = asyncio.ensure_future(events.next())

            def with_gap(request: Request, peer: Peer) -> Dict[str, Any]:
                peer.subscription = "sub-again"
                return {"subscription": "sub-again", "epoch": "epoch-2", "sequence": 40, "gap": True}

            self.agent.on("event.subscribe", with_gap)
            await in_thread(self.agent.die)
            self.agent.restart()
            self.assertEqual((await soon(waiting)).type, "event.gap")  # type: ignore[union-attr]
            self.agent.peers[0].event(41, epoch="epoch-2")
            self.assertEqual((await soon(events.next())).sequence, 41)  # type: ignore[union-attr]
        since = self.agent.requests("event.subscribe")[-1]["params"]["since"]
        self.assertEqual(since, {"epoch": "epoch-1", "sequence": 1})

    async def test_without_reconnection_the_loss_is_raised(self) -> None:
        events = await self.client.events(reconnect=False)
        await in_thread(self.agent.die)
        with self.assertRaises(ConnectionLost):
            await soon(events.next())

    async def test_a_subscription_that_comes_too_late_is_ended(self) -> None:
        late: List[Any] = []
        self.agent.on("event.subscribe", lambda request, peer: late.append((request, peer)))
        await self.client.connect()
        with self.assertRaises(asyncio.TimeoutError):
            await asyncio.wait_for(self.client.events().next(), 0.05)
        await in_thread(self.agent.wait_for, "$/cancel")
        request, peer = late[0]
        peer.answer(request, {"subscription": "sub-late", "epoch": "epoch-1", "sequence": 0, "gap": False})
        unsubscribe = await in_thread(self.agent.wait_for, "event.unsubscribe")
        self.assertEqual(unsubscribe["params"], {"subscription": "sub-late"})

    async def test_a_subscription_that_comes_with_the_cancellation_is_ended(self) -> None:
        link = await self.client._connected()
        feed = EventFeed(None, None, None)
        subscribing = asyncio.ensure_future(link.call("event.subscribe", {}, feed))
        while feed.subscription is None:
            await asyncio.sleep(0)
        subscribing.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await subscribing
        unsubscribe = await in_thread(self.agent.wait_for, "event.unsubscribe")
        self.assertEqual(unsubscribe["params"], {"subscription": feed.subscription})

    @unittest.skipIf(sys.version_info < (3, 11), "asyncio has no timeout that keeps a cancellation")
    async def test_a_cancellation_that_comes_with_the_subscription_ends_the_wait(self) -> None:
        await self.client.connect()
        events = self.client.events()
        waiting = asyncio.ensure_future(events.next())
        while events._feed.subscription is None:
            await asyncio.sleep(0)
        waiting.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await soon(waiting)
        await in_thread(self.agent.wait_for, "event.unsubscribe")

    async def test_a_stream_that_is_closed_while_it_subscribes_leaves_no_subscription(self) -> None:
        late: List[Any] = []
        self.agent.on("event.subscribe", lambda request, peer: late.append((request, peer)))
        events = self.client.events()
        waiting = asyncio.ensure_future(events.next())
        await in_thread(self.agent.wait_for, "event.subscribe")
        await events.close()
        request, peer = late[0]
        peer.answer(request, {"subscription": "sub-late", "epoch": "epoch-1", "sequence": 0, "gap": False})
        self.assertIsNone(await soon(waiting))
        unsubscribe = await in_thread(self.agent.wait_for, "event.unsubscribe")
        self.assertEqual(unsubscribe["params"], {"subscription": "sub-late"})

    async def test_closing_ends_a_waiting_consumer(self) -> None:
        for closes in ("stream", "client"):
            events = await self.client.events()
            waiting = asyncio.ensure_future(events.next())
            await asyncio.sleep(0)
            await (events.close() if closes == "stream" else self.client.close())
            self.assertIsNone(await soon(waiting))


class Stdio(unittest.IsolatedAsyncioTestCase):
    async def test_an_agent_of_ones_own_ends_with_its_input(self) -> None:
        client = AsyncClient.spawn([sys.executable, "-c", STDIO_AGENT])
        self.assertEqual(await soon(client.call("agent.status")), {"method": "agent.status"})
        await soon(client.close())
        assert client._process is not None
        self.assertEqual(client._process.returncode, 0)


if __name__ == "__main__":
    unittest.main()
