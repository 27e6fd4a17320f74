"""The asyncio client: the event loop feeds the same protocol core.

It implements `asyncio.Protocol`, because a `StreamReader` fails at lines over 64 KiB.
"""

from __future__ import annotations

import asyncio
import select
import socket
import subprocess
import sys
import threading
from collections import deque
from types import TracebackType
from typing import (
    Any,
    AsyncIterator,
    Callable,
    Coroutine,
    Deque,
    Dict,
    Generator,
    Mapping,
    Optional,
    Sequence,
    Set,
    Type,
    TypeVar,
)

from ._core import Core, error_copies
from ._errors import AgentNotRunning, CallTimeout, ClientClosed, ConnectionLost, LanyardError
from ._events import Event, EventFeed, pause_seconds
from ._generated import AgentHelloResult, AsyncMethods
from ._runtime import R, encode, encode_params
from ._settings import CLOSE_SECONDS, CONNECT_SECONDS, VERSION, HelloParams
from ._transport import SocketPath, Stderr, default_socket_path, dial, dial_or_start, may_start, reap, spawn

T = TypeVar("T")

_HANG_UP = select.POLLHUP | getattr(select, "POLLRDHUP", 0)


async def _limited(work: "Coroutine[Any, Any, T]", seconds: float) -> T:
    """Waits for `work`. Before Python 3.12 `asyncio.wait_for` swallows a cancellation that comes with the result."""
    if sys.version_info >= (3, 11):
        async with asyncio.timeout(seconds):
            return await work
    return await asyncio.wait_for(work, seconds)


class _FutureSink:
    def __init__(self, future: "asyncio.Future[Dict[str, Any]]") -> None:
        self._future = future

    def succeed(self, result: Dict[str, Any]) -> None:
        if not self._future.done():
            self._future.set_result(result)

    def fail(self, error: LanyardError) -> None:
        if not self._future.done():
            self._future.set_exception(error)


class _AsyncLink(asyncio.Protocol):
    """One connection. When it ends, the client opens another."""

    def __init__(self) -> None:
        self._core = Core()
        self._loop = asyncio.get_running_loop()
        self._transport: Optional[asyncio.Transport] = None
        self._lost: Optional[Callable[[], LanyardError]] = None
        self._for_room: "Deque[asyncio.Future[None]]" = deque()
        self._watchers: Set[asyncio.Event] = set()

    async def call(self, method: str, params: Mapping[str, Any], feed: Optional[EventFeed] = None) -> Dict[str, Any]:
        while self._lost is None and not self._core.has_room:
            turn: "asyncio.Future[None]" = self._loop.create_future()
            self._for_room.append(turn)
            await turn
        if self._lost is not None or self._transport is None:
            raise self._lost() if self._lost is not None else _went_away()
        answer: "asyncio.Future[Dict[str, Any]]" = self._loop.create_future()
        number, line = self._core.request(method, params, _FutureSink(answer), feed)
        self._transport.write(line)
        try:
            return await answer
        except asyncio.CancelledError:
            self._cancel(number)
            if feed is not None and answer.done():
                # The answer came together with the cancellation. The feed has a subscription of the agent now.
                self._core.abandon(feed)
                self._end_unwanted()
            raise

    async def greet(self, hello_params: HelloParams) -> Dict[str, Any]:
        hello = await self.call("agent.hello", hello_params.params())
        self._core.obey(hello)
        return hello

    @property
    def alive(self) -> bool:
        return self._lost is None

    async def stands(self) -> bool:
        """True if the agent is connected. Notices an end that the loop has not handled yet."""
        while self._lost is None and self._hung_up():
            await asyncio.sleep(0)
        return self._lost is None

    def _hung_up(self) -> bool:
        if self._transport is None or self._transport.is_closing():
            return True
        poller = select.poll()
        poller.register(self._transport.get_extra_info("socket").fileno(), _HANG_UP)
        return bool(poller.poll(0))

    @property
    def reason(self) -> LanyardError:
        """The error that ended the link."""
        return self._lost() if self._lost is not None else _went_away()

    async def until(self, something: asyncio.Event) -> None:
        """Waits until `event` is set or the link ends."""
        self._watchers.add(something)
        try:
            await something.wait()
        finally:
            self._watchers.discard(something)

    def forget_feed(self, feed: EventFeed) -> None:
        if feed.subscription is not None:
            self._core.unsubscribe(feed.subscription)

    def close(self, reason: Callable[[], LanyardError]) -> None:
        self._lose(reason)

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        try:
            self._core.receive(data)
            self._end_unwanted()
        except LanyardError as error:
            self._lose(error_copies(error))
        self._let_in()

    def connection_lost(self, error: Optional[Exception]) -> None:
        self._lose(_went_away)

    def _cancel(self, number: int) -> None:
        line = self._core.cancel(number) if self._lost is None else None
        if line is not None and self._transport is not None:
            self._transport.write(line)

    def _end_unwanted(self) -> None:
        """Ends the subscriptions whose callers gave up. Needs no answer."""
        if self._lost is None and self._transport is not None:
            for line in self._core.unwanted():
                self._transport.write(line)

    def _lose(self, reason: Callable[[], LanyardError]) -> None:
        if self._lost is not None:
            return
        self._lost = reason
        self._core.lost(reason)
        self._let_in()
        for watcher in self._watchers:
            watcher.set()
        if self._transport is not None:
            self._transport.abort()

    def _let_in(self) -> None:
        """Wakes the callers that wait for room; each checks again."""
        if self._lost is not None or self._core.has_room:
            waiting, self._for_room = self._for_room, deque()
            for turn in waiting:
                if not turn.done():
                    turn.set_result(None)


def _went_away() -> LanyardError:
    return ConnectionLost("the agent went away")


def _closed() -> LanyardError:
    return ClientClosed("the client was closed")


class AsyncClient(AsyncMethods):
    """A connection to the agent, for any number of tasks of one event loop.

    It connects at the first call (or at `connect()`, or at `async with`) and sends `agent.hello`. If a call finds the
    connection closed, it connects again. A call that was in flight is never sent twice: it raises `ConnectionLost`.
    Cancelling a task that waits for an answer cancels the request in the agent.

    Args:
        socket_path: The agent's socket. None for the one that `default_socket_path()` finds.
        timeout: The limit of every call, in seconds. None for the agent's own limits alone.
        grant: The secret of a grant, which limits what this connection may do.
        name: The name by which the agent's audit log calls this program.
        version: The version of this program, for the audit log.
        start: Whether to start the agent where none runs. None: only if `socket_path` is None, as the commands do.
            True: also at `socket_path`. False: never. The variable `LANYARD_NO_START` forbids it in any case.

    Raises:
        AgentNotRunning: At the first call: no agent listens, and none may be started.
        AgentStartFailed: At the first call: an agent could not be started; the message says why.
        UntrustedAgent: At the first call: another user serves the socket. Nothing was sent to it.
    """

    def __init__(
        self,
        socket_path: Optional[SocketPath] = None,
        *,
        timeout: Optional[float] = None,
        grant: Optional[str] = None,
        name: str = "lanyard-python",
        version: str = VERSION,
        start: Optional[bool] = None,
    ) -> None:
        super().__init__(self)
        self.timeout: Optional[float] = timeout
        """The limit of every call, in seconds; None for none. It may be set at any time."""
        self._hello_params = HelloParams(name, version, grant)
        self._socket_path = socket_path
        self._start = start
        self._process: "Optional[subprocess.Popen[bytes]]" = None
        self._spawned: Optional[socket.socket] = None
        # Created inside the running loop: before Python 3.10 a lock belongs to the loop that creates it.
        self._connecting: Optional[asyncio.Lock] = None
        self._link: Optional[_AsyncLink] = None
        self._is_closed = False
        self._hello: Optional[Dict[str, Any]] = None

    @classmethod
    def spawn(
        cls,
        command: Sequence[str] = ("lanyard-agent", "--stdio"),
        *,
        env: Optional[Mapping[str, str]] = None,
        stderr: Stderr = None,
        timeout: Optional[float] = None,
        grant: Optional[str] = None,
        name: str = "lanyard-python",
        version: str = VERSION,
    ) -> "AsyncClient":
        """Starts an agent for this client alone, over stdio. `close()` ends it.

        Args:
            command: The agent's program and its options; they must hold `--stdio`.
            env: The agent's environment. None for that of this program.
            stderr: Where the agent logs, as in `subprocess.Popen`.
            timeout: The limit of every call, in seconds. None for the agent's own limits alone.
            grant: The secret of a grant, which limits what this connection may do.
            name: The name by which the agent's audit log calls this program.
            version: The version of this program, for the audit log.

        Returns:
            A client that has not connected yet.

        Raises:
            AgentNotRunning: The program can't be run.
        """
        client = cls(timeout=timeout, grant=grant, name=name, version=version)
        client._spawned, client._process = spawn(command, env, stderr)
        return client

    async def connect(self, *, wait_seconds: float = 0.0) -> AgentHelloResult:
        """Connects now.

        Args:
            wait_seconds: How long to wait for an agent that something else starts.

        Returns:
            AgentHelloResult: the agent's name, version, features and limits.

        Raises:
            AgentNotRunning: No agent listens, and none may be started.
            AgentStartFailed: An agent could not be started; the message says why.
            UntrustedAgent: Another user serves the socket. Nothing was sent to it.
            CallTimeout: The agent did not accept the connection, or did not answer `agent.hello`.
            UnsupportedProtocol: The agent speaks another version of the protocol.
            NotPermitted: The agent does not know the grant.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_seconds
        attempt = 0
        while True:
            try:
                await self._connected()
                return self.hello
            except AgentNotRunning as error:
                pause = pause_seconds(attempt)
                if not error.retryable or self._process is not None or loop.time() + pause > deadline:
                    raise
            await asyncio.sleep(pause)
            attempt += 1

    @property
    def hello(self) -> AgentHelloResult:
        """The answer to `agent.hello` on the latest connection: the agent's name, version, features and limits.

        Raises:
            ConnectionLost: The client has not connected yet.
        """
        if self._hello is None:
            raise ConnectionLost("not connected yet")
        return AgentHelloResult.from_json(self._hello)

    async def call(self, method: str, params: Optional[Mapping[str, Any]] = None) -> Dict[str, Any]:
        """Makes a raw call, in JSON as on the wire.

        Args:
            method: The name of the method, such as `token.get`.
            params: The params under their wire names, such as `minimumLifetimeSeconds`.

        Returns:
            The result as it came.

        Raises:
            LanyardError: the subclass for the agent's error, or a failure of the connection: `AgentNotRunning`,
                `ConnectionLost`, `CallTimeout`, `ClientClosed`, `RequestTooLarge`, `ProtocolError`.
        """
        return await self._call(method, encode(params or {}), self.timeout)

    async def invoke(self, method: str, params: Mapping[str, Any], result: Type[R]) -> R:
        """Makes a typed call, for the generated methods.

        Args:
            method: The name of the method, such as `token.get`.
            params: The params under their wire names. One that is None is left out.
            result: The class that reads the result.

        Returns:
            An object of the class `result`.

        Raises:
            LanyardError: as `call` does. `ProtocolError` if the answer is not what `result` expects.
        """
        return result.from_json(await self._call(method, encode_params(params), self.timeout))

    def within(self, seconds: Optional[float]) -> "AsyncWithin":
        """This client with another timeout: `await client.within(2).token.get(account="work")`.

        Args:
            seconds: The limit of every call made by the returned object. None for none.

        Returns:
            An object with the same methods. It shares the connection.
        """
        return AsyncWithin(self, seconds)

    def events(
        self,
        *,
        types: Optional[Sequence[str]] = None,
        accounts: Optional[Sequence[str]] = None,
        since: Optional[Mapping[str, Any]] = None,
        reconnect: bool = True,
    ) -> "AsyncEventStream":
        """Returns an asynchronous iterator of events that survives reconnections.

        After the agent went away the stream waits for the next one, and starts none.

        Args:
            types: The types of events wanted, such as `account.switched`. None for all.
            accounts: The accounts whose events are wanted. None for all.
            since: A `position` of an earlier stream: events after it are replayed. Those that the agent no longer
                has are told by one event of type `event.gap`.
            reconnect: Whether the stream outlives its connection.

        Returns:
            An `AsyncEventStream`. It subscribes when it is awaited, entered by `async with`, or asked for an event.

        Raises:
            LanyardError: as `call` does.
        """
        return AsyncEventStream(self, EventFeed(types, accounts, since), reconnect)

    async def close(self) -> None:
        """Ends the connection, and an agent that `spawn` started. Calls in flight raise `ClientClosed`."""
        self._is_closed = True
        link, self._link = self._link, None
        if link is not None:
            link.close(_closed)
        spawned, self._spawned = self._spawned, None
        if spawned is not None:
            spawned.close()
        # One turn of the loop, in which the transport closes its socket.
        await asyncio.sleep(0)
        if self._process is not None:
            await asyncio.get_running_loop().run_in_executor(None, reap, self._process, CLOSE_SECONDS)

    async def __aenter__(self) -> "AsyncClient":
        await self._connected()
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<lanyard.AsyncClient {'closed' if self._is_closed else 'open'}>"

    async def _call(self, method: str, params: Mapping[str, Any], timeout: Optional[float]) -> Dict[str, Any]:
        if timeout is None:
            return await (await self._connected()).call(method, params)
        try:
            return await _limited(self._call(method, params, None), timeout)
        except asyncio.TimeoutError as error:
            if isinstance(error, LanyardError):
                raise
        raise CallTimeout("the agent did not answer in time")

    async def _connected(self, starts: bool = True) -> _AsyncLink:
        """The link, opened if it must be. `starts` is false for a connection that is not worth starting an agent."""
        if self._link is not None and await self._link.stands():
            return self._link
        if self._connecting is None:
            self._connecting = asyncio.Lock()
        async with self._connecting:
            if self._is_closed:
                raise ClientClosed("the client was closed")
            if self._link is not None and self._link.alive:
                return self._link
            self._link = None
            starts = starts and may_start(self._start, self._socket_path)
            # The agent answers `agent.hello` at once, or hangs.
            try:
                link = await _limited(self._connect(starts), CONNECT_SECONDS)
            except asyncio.TimeoutError:
                raise CallTimeout("the agent did not accept the connection in time") from None
            if self._is_closed:
                link.close(_closed)
                raise ClientClosed("the client was closed")
            self._link = link
            return link

    async def _connect(self, starts: bool) -> _AsyncLink:
        connection = await self._dial(starts)
        _, link = await asyncio.get_running_loop().create_unix_connection(_AsyncLink, sock=connection)
        try:
            self._hello = await link.greet(self._hello_params)
        except BaseException:
            link.close(_went_away)
            raise
        return link

    async def _dial(self, starts: bool) -> socket.socket:
        if self._process is not None:
            spawned, self._spawned = self._spawned, None
            if spawned is None:
                raise ConnectionLost("the agent that this client started has ended")
            return spawned
        path = self._socket_path if self._socket_path is not None else default_socket_path()
        attempt = 0
        while True:
            connection = await _dial_or_start(path) if starts else dial(path)
            if connection is not None:
                return connection
            await asyncio.sleep(pause_seconds(attempt))
            attempt += 1


async def _dial_or_start(path: SocketPath) -> Optional[socket.socket]:
    """Connects in a thread, since a start waits for a lock and for the agent."""
    try:
        connection = dial(path)
    except AgentNotRunning:
        connection = None
    if connection is not None:
        return connection
    given_up = threading.Event()
    dialing = asyncio.get_running_loop().run_in_executor(None, dial_or_start, path, given_up.wait)
    try:
        return await asyncio.shield(dialing)
    except asyncio.CancelledError:
        given_up.set()
        dialing.add_done_callback(_close_unused)
        raise


def _close_unused(dialing: "asyncio.Future[Optional[socket.socket]]") -> None:
    if not dialing.cancelled() and dialing.exception() is None:
        connection = dialing.result()
        if connection is not None:
            connection.close()


class AsyncWithin(AsyncMethods):
    """A client with its own timeout, from `AsyncClient.within`."""

    def __init__(self, client: AsyncClient, seconds: Optional[float]) -> None:
        super().__init__(self)
        self._client = client
        self._seconds = seconds

    async def call(self, method: str, params: Optional[Mapping[str, Any]] = None) -> Dict[str, Any]:
        """As `AsyncClient.call`, with this timeout."""
        return await self._client._call(method, encode(params or {}), self._seconds)

    async def invoke(self, method: str, params: Mapping[str, Any], result: Type[R]) -> R:
        """As `AsyncClient.invoke`, with this timeout."""
        return result.from_json(await self._client._call(method, encode_params(params), self._seconds))


class AsyncEventStream:
    """An iterator of events for one consumer. Survives reconnections."""

    def __init__(self, client: AsyncClient, feed: EventFeed, reconnect: bool) -> None:
        self._client = client
        self._feed = feed
        self._reconnect = reconnect
        self._is_closed = False
        self._link: Optional[_AsyncLink] = None
        self._wake: Optional[asyncio.Event] = None

    @property
    def position(self) -> Optional[Dict[str, Any]]:
        """`{"epoch", "sequence"}` of the last event that was taken, for the `since` of another stream.

        None before the subscription.
        """
        return self._feed.position

    async def next(self) -> Optional[Event]:
        """The next event, once one has arrived.

        A cancelled call loses no event.

        Returns:
            The event, or None when the stream or the client was closed.

        Raises:
            LanyardError: the connection ended and the stream may not reconnect, or the agent refuses the subscription.
        """
        attempt = 0
        while not self._is_closed:
            if self._feed.ready:
                return self._feed.take()
            try:
                if self._link is None:
                    await self._subscribe()
                    attempt = 0
                    if self._is_closed:
                        # `close()` came first, and did not know this subscription.
                        await self.close()
                elif not self._link.alive:
                    raise self._link.reason
                else:
                    await self._woken()
                continue
            except ClientClosed:
                return None
            except LanyardError as error:
                self._link = None
                if not self._reconnect or not error.retryable:
                    raise
                pause = pause_seconds(attempt, error)
            await asyncio.sleep(pause)
            attempt += 1
        return None

    async def close(self) -> None:
        """Ends the subscription. A consumer that waits in `next()` gets None."""
        self._is_closed = True
        if self._wake is not None:
            self._wake.set()
        link, self._link = self._link, None
        if link is None or not link.alive:
            return
        link.forget_feed(self._feed)
        try:
            await link.call("event.unsubscribe", {"subscription": self._feed.subscription})
        except LanyardError:
            pass

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        event = await self.next()
        if event is None:
            raise StopAsyncIteration
        return event

    def __await__(self) -> Generator[Any, None, "AsyncEventStream"]:
        return self._started().__await__()

    async def __aenter__(self) -> "AsyncEventStream":
        return await self._started()

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await self.close()

    async def _started(self) -> "AsyncEventStream":
        if self._link is None:
            await self._subscribe()
        return self

    async def _subscribe(self) -> None:
        if self._wake is None:
            self._wake = asyncio.Event()
            self._feed.on_event = self._wake.set
        # Only the first subscription starts an agent: a later one would undo `lanyard stop`.
        link = await self._client._connected(starts=self._feed.subscription is None)
        try:
            await _limited(link.call("event.subscribe", self._feed.params(), self._feed), CONNECT_SECONDS)
        except asyncio.TimeoutError:
            raise CallTimeout("the agent did not answer in time") from None
        self._link = link

    async def _woken(self) -> None:
        """Waits until an event arrives, the link ends, or the stream is closed."""
        assert self._link is not None and self._wake is not None
        self._wake.clear()
        if self._feed.ready or self._is_closed:
            return
        await self._link.until(self._wake)
