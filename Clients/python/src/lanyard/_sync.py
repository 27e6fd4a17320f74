"""The blocking client: any number of threads share one connection, without a reader thread.

Leader and followers: one of the waiting callers reads the socket for all. When its own answer has arrived, another
caller takes over. While no caller waits, the client reads nothing; events then wait in the agent, which bounds them.
"""

from __future__ import annotations

import os
import select
import socket
import subprocess
import threading
import time
from types import TracebackType
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Sequence, Type

from ._core import Core, error_copies
from ._errors import AgentNotRunning, CallTimeout, ClientClosed, ConnectionLost, LanyardError
from ._events import Event, EventFeed, pause_seconds
from ._generated import AgentHelloResult, Methods
from ._runtime import R, encode, encode_params
from ._settings import CANCEL_SECONDS, CLOSE_SECONDS, CONNECT_SECONDS, VERSION, HelloParams
from ._transport import SocketPath, Stderr, default_socket_path, dial, dial_or_start, may_start, reap, spawn

READ_BYTES = 256 << 10

Deadline = Optional[float]
"""A value of `time.monotonic()`; None for no deadline."""


_LONGEST_WAIT_SECONDS = 86400.0
"""The operating system takes no wait of infinity or of months: such a one is waited for in parts."""


def _deadline(seconds: Optional[float]) -> Deadline:
    return None if seconds is None else time.monotonic() + seconds


def _remaining(deadline: Deadline) -> Optional[float]:
    return None if deadline is None else min(max(0.0, deadline - time.monotonic()), _LONGEST_WAIT_SECONDS)


class _Slot:
    """Holds the answer for one caller. Access needs the link's lock."""

    def __init__(self) -> None:
        self.done = False
        self.result: Dict[str, Any] = {}
        self.error: Optional[LanyardError] = None

    def is_done(self) -> bool:
        return self.done

    def succeed(self, result: Dict[str, Any]) -> None:
        self.result, self.done = result, True

    def fail(self, error: LanyardError) -> None:
        self.error, self.done = error, True


class _Outgoing:
    """A line to send. Records its progress, because an interruption can strike at any point."""

    def __init__(self, line: bytes) -> None:
        self.rest = memoryview(line)
        self.begun = False
        self.sent = False


class _Link:
    """One connection. When it ends, the client opens another."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._core = Core()
        # Entered by itself: an interruption within `Condition.__enter__`, which is not of C, would leave it locked.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._write_lock = threading.Lock()
        self._reading = False
        self._lost: Optional[Callable[[], LanyardError]] = None
        self._readable = select.poll()
        self._readable.register(connection, select.POLLIN)

    def call(
        self, method: str, params: Mapping[str, Any], deadline: Deadline, feed: Optional[EventFeed] = None
    ) -> Dict[str, Any]:
        slot = _Slot()
        with self._lock:
            self._wait(lambda: self._core.has_room, deadline)
            number, line = self._core.request(method, params, slot, feed)
        outgoing = _Outgoing(line)
        try:
            self._write(outgoing, deadline)
            with self._lock:
                self._wait(slot.is_done, deadline)
        except BaseException as error:
            self._give_up(number, outgoing)
            # The answer may have come together with the end of the wait.
            if not slot.done or not isinstance(error, CallTimeout):
                if feed is not None:
                    with self._lock:
                        self._core.abandon(feed)
                    self._end_unwanted()
                raise
        finally:
            self._retire()
        if slot.error is not None:
            raise slot.error
        return slot.result

    def wait_until(self, ready: Callable[[], bool], deadline: Deadline) -> None:
        """Reads until `ready()`. Raises `CallTimeout`, or the error that ended the link."""
        try:
            with self._lock:
                self._wait(ready, deadline)
        finally:
            self._retire()

    def alive(self) -> bool:
        """True if the connection is open. Notices an end that arrived while no caller was reading."""
        with self._lock:
            while self._lost is None and not self._reading and self._read():
                pass
            alive = self._lost is None
        self._end_unwanted()
        self._retire()
        return alive

    def greet(self, hello_params: HelloParams, deadline: Deadline) -> Dict[str, Any]:
        hello = self.call("agent.hello", hello_params.params(), deadline)
        self._core.obey(hello)
        return hello

    def forget_feed(self, feed: EventFeed) -> None:
        with self._lock:
            if feed.subscription is not None:
                self._core.unsubscribe(feed.subscription)

    def wake(self) -> None:
        """Wakes all waiting callers, which check their conditions again."""
        with self._lock:
            self._changed.notify_all()

    def end_input(self) -> None:
        """Half-closes the socket: the agent finishes the requests in flight."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self, reason: Callable[[], LanyardError]) -> None:
        with self._lock:
            self._lose(reason)
        self._retire()

    def abandon(self) -> None:
        """After a fork: closes the child's copy of the socket without ending the parent's connection."""
        self._socket.close()

    def _wait(self, ready: Callable[[], bool], deadline: Deadline) -> None:
        """Waits with the lock held. Reads the socket if no other caller does."""
        while not ready():
            if self._lost is not None:
                raise self._lost()
            remaining = _remaining(deadline)
            if remaining is not None and remaining <= 0:
                raise CallTimeout("the agent did not answer in time")
            if self._reading:
                self._changed.wait(remaining)
                continue
            self._reading = True
            self._changed.release()
            try:
                self._readable.poll(None if remaining is None else remaining * 1000)
            finally:
                self._changed.acquire()
                self._reading = False
                # A leader that leaves wakes the others: one of them must lead.
                self._changed.notify_all()
            self._read()
            if self._core.has_unwanted:
                self._changed.release()
                try:
                    self._end_unwanted()
                finally:
                    self._changed.acquire()

    def _read(self) -> bool:
        """Reads available bytes with the lock held; False if there are none."""
        try:
            data = self._socket.recv(READ_BYTES)
            if data:
                self._core.receive(data)
            else:
                self._lose(_went_away)
        except BlockingIOError:
            return False
        except OSError:
            self._lose(_went_away)
        except LanyardError as error:
            self._lose(error_copies(error))
        except BaseException:
            # Interrupted between reading bytes and handling them: the framing is lost.
            self._lose(_went_away)
            raise
        self._changed.notify_all()
        return self._lost is None

    def _write(self, outgoing: _Outgoing, deadline: Deadline) -> None:
        line = outgoing.rest
        remaining = _remaining(deadline)
        if not self._write_lock.acquire(timeout=-1 if remaining is None else remaining):
            raise CallTimeout("the agent did not take the request in time")
        try:
            while True:
                outgoing.begun = True
                outgoing.rest = outgoing.rest[self._send(outgoing.rest) :]
                if not outgoing.rest:
                    outgoing.sent = True
                    return
                if len(outgoing.rest) == len(line):
                    outgoing.begun = False
                    self._make_room(deadline)
                else:
                    # Other callers share this connection, so the caller finishes its line before it gives up.
                    self._make_room(None if deadline is None else deadline + CANCEL_SECONDS)
        except BaseException:
            if outgoing.begun and not outgoing.sent:
                # Half a line may be sent. The agent would read the next line as its rest.
                with self._lock:
                    self._lose(_went_away)
            raise
        finally:
            self._write_lock.release()

    def _send(self, data: memoryview) -> int:
        try:
            return self._socket.send(data, socket.MSG_NOSIGNAL)
        except BlockingIOError:
            return 0
        except OSError:
            with self._lock:
                # The agent may have sent an error before it closed.
                while self._lost is None and not self._reading and self._read():
                    pass
                self._lose(_went_away)
                assert self._lost is not None
                raise self._lost() from None

    def _make_room(self, deadline: Deadline) -> None:
        """Waits until the socket accepts more bytes. The agent stops reading from a client that does not read its
        answers, so the writer reads if no other caller does."""
        while True:
            with self._lock:
                if self._lost is not None:
                    raise self._lost()
                lead = not self._reading
                self._reading = True
            try:
                interest = select.POLLOUT | (select.POLLIN if lead else 0)
                remaining = _remaining(deadline)
                # A follower checks again soon: the leader may leave without reading what blocks the agent.
                ready = _poll(self._socket, interest, 0.05 if remaining is None else min(0.05, remaining))
            finally:
                if lead:
                    with self._lock:
                        self._reading = False
                        self._changed.notify_all()
            if ready & ~select.POLLIN:
                return
            if lead and ready:
                with self._lock:
                    if self._lost is None and not self._reading:
                        self._read()
            if remaining is not None and remaining <= 0:
                raise CallTimeout("the agent did not take the request in time")

    def _give_up(self, number: int, outgoing: _Outgoing) -> None:
        """Cancels a request whose caller has stopped waiting, if the agent has seen the request."""
        with self._lock:
            line = self._core.cancel(number) if self._lost is None else None
            if not outgoing.sent:
                self._core.unsend(number)
        if line is not None and outgoing.sent:
            try:
                self._write(_Outgoing(line), _deadline(CANCEL_SECONDS))
            except LanyardError:
                pass

    def _end_unwanted(self) -> None:
        """Ends the subscriptions whose callers gave up. Needs no answer."""
        try:
            with self._lock:
                lines = self._core.unwanted() if self._lost is None else []
            for line in lines:
                self._write(_Outgoing(line), _deadline(CANCEL_SECONDS))
        except LanyardError:
            pass

    def _lose(self, reason: Callable[[], LanyardError]) -> None:
        if self._lost is not None:
            return
        self._lost = reason
        self._core.lost(reason)
        try:
            # Wakes a leader in `poll`. `_retire` closes the descriptor when no caller uses it.
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._changed.notify_all()

    def _retire(self) -> None:
        """Closes the socket of a lost link when no caller reads or writes it."""
        if self._lost is None or not self._write_lock.acquire(blocking=False):
            return
        try:
            with self._lock:
                if not self._reading:
                    self._socket.close()
        finally:
            self._write_lock.release()


def _poll(connection: socket.socket, interest: int, seconds: float) -> int:
    """The events that the socket is ready for; 0 after the deadline."""
    poller = select.poll()
    poller.register(connection, interest)
    for _, ready in poller.poll(seconds * 1000):
        return ready
    return 0


def _went_away() -> LanyardError:
    return ConnectionLost("the agent went away")


class Client(Methods):
    """A connection to the agent, for any number of threads.

    It connects at the first call (or at `connect()`, or at `with`) and sends `agent.hello`. If a call finds the
    connection closed, it connects again. A call that was in flight is never sent twice: it raises `ConnectionLost`.
    After a fork the child may use the client, too: it opens a connection of its own.

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
        self._connecting = threading.Lock()
        self._link: Optional[_Link] = None
        self._pid = os.getpid()
        self._closed = threading.Event()
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
    ) -> "Client":
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

    def connect(self, *, wait_seconds: float = 0.0) -> AgentHelloResult:
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
        deadline = time.monotonic() + wait_seconds
        attempt = 0
        while True:
            try:
                self._connected(_deadline(CONNECT_SECONDS))
                return self.hello
            except AgentNotRunning as error:
                pause = pause_seconds(attempt)
                if not error.retryable or self._process is not None or time.monotonic() + pause > deadline:
                    raise
                if self._closed.wait(pause):
                    raise ClientClosed("the client was closed") from None
            attempt += 1

    @property
    def hello(self) -> AgentHelloResult:
        """The answer to `agent.hello` on the latest connection: the agent's name, version, features and limits.

        Raises:
            LanyardError: as `connect` does, if the client has not connected yet.
        """
        if self._hello is None:
            self._connected(_deadline(CONNECT_SECONDS))
        return AgentHelloResult.from_json(self._hello)

    def call(self, method: str, params: Optional[Mapping[str, Any]] = None) -> Dict[str, Any]:
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
        return self._call(method, encode(params or {}), self.timeout)

    def invoke(self, method: str, params: Mapping[str, Any], result: Type[R]) -> R:
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
        return result.from_json(self._call(method, encode_params(params), self.timeout))

    def within(self, seconds: Optional[float]) -> "Within":
        """This client with another timeout: `client.within(2).token.get(account="work")`.

        Args:
            seconds: The limit of every call made by the returned object. None for none.

        Returns:
            An object with the same methods. It shares the connection.
        """
        return Within(self, seconds)

    def events(
        self,
        *,
        types: Optional[Sequence[str]] = None,
        accounts: Optional[Sequence[str]] = None,
        since: Optional[Mapping[str, Any]] = None,
        reconnect: bool = True,
    ) -> "EventStream":
        """Subscribes; returns an iterator of events that survives reconnections.

        After the agent went away the stream waits for the next one, and starts none.

        Args:
            types: The types of events wanted, such as `account.switched`. None for all.
            accounts: The accounts whose events are wanted. None for all.
            since: A `position` of an earlier stream: events after it are replayed. Those that the agent no longer
                has are told by one event of type `event.gap`.
            reconnect: Whether the stream outlives its connection.

        Returns:
            An `EventStream`, subscribed.

        Raises:
            LanyardError: as `call` does.
        """
        return EventStream(self, EventFeed(types, accounts, since), reconnect)

    def close(self) -> None:
        """Ends the connection, and an agent that `spawn` started. Calls in flight raise `ClientClosed`."""
        self._closed.set()
        with self._connecting:
            link, self._link = self._link, None
            spawned, self._spawned = self._spawned, None
        if link is not None:
            if self._process is not None:
                link.end_input()
            link.close(_closed)
        if spawned is not None:
            spawned.close()
        if self._process is not None:
            reap(self._process, CLOSE_SECONDS)

    def __enter__(self) -> "Client":
        self._connected(_deadline(CONNECT_SECONDS))
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed.is_set() else "open"
        return f"<lanyard.Client {state}>"

    def _call(self, method: str, params: Mapping[str, Any], timeout: Optional[float]) -> Dict[str, Any]:
        deadline = _deadline(timeout)
        return self._connected(deadline).call(method, params, deadline)

    def _connected(self, deadline: Deadline, starts: bool = True) -> _Link:
        """The link, opened if it must be. `starts` is false for a connection that is not worth starting an agent."""
        link = self._link
        if link is not None and self._pid == os.getpid() and link.alive():
            return link
        self._leave_parent()
        # The agent answers `agent.hello` at once, or hangs.
        deadline = min(time.monotonic() + CONNECT_SECONDS, float("inf") if deadline is None else deadline)
        if not self._connecting.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise CallTimeout("the agent did not accept the connection in time")
        try:
            if self._closed.is_set():
                raise ClientClosed("the client was closed")
            if self._link is not None and self._link.alive():
                return self._link
            self._link = None
            link = _Link(self._dial(deadline, starts and may_start(self._start, self._socket_path)))
            try:
                self._hello = link.greet(self._hello_params, deadline)
            except BaseException:
                link.close(_went_away)
                raise
            self._link = link
            return link
        finally:
            self._connecting.release()

    def _leave_parent(self) -> None:
        if self._pid == os.getpid():
            return
        # A thread that does not exist in the child may have held a lock.
        link, self._link, self._connecting, self._pid = self._link, None, threading.Lock(), os.getpid()
        if link is not None:
            link.abandon()

    def _dial(self, deadline: Deadline, starts: bool) -> socket.socket:
        if self._process is not None:
            spawned, self._spawned = self._spawned, None
            if spawned is None:
                raise ConnectionLost("the agent that this client started has ended")
            return spawned
        path = self._socket_path if self._socket_path is not None else default_socket_path()

        def pause(seconds: float) -> bool:
            remaining = _remaining(deadline)
            if remaining is None:
                return self._closed.wait(seconds)
            return self._closed.wait(min(seconds, remaining)) or remaining <= seconds

        attempt = 0
        while True:
            connection = dial_or_start(path, pause) if starts else dial(path)
            if connection is not None:
                return connection
            if pause(pause_seconds(attempt)):
                if self._closed.is_set():
                    raise ClientClosed("the client was closed")
                raise CallTimeout("the agent did not accept the connection in time")
            attempt += 1


def _closed() -> LanyardError:
    return ClientClosed("the client was closed")


class Within(Methods):
    """A client with its own timeout, from `Client.within`."""

    def __init__(self, client: Client, seconds: Optional[float]) -> None:
        super().__init__(self)
        self._client = client
        self._seconds = seconds

    def call(self, method: str, params: Optional[Mapping[str, Any]] = None) -> Dict[str, Any]:
        """As `Client.call`, with this timeout."""
        return self._client._call(method, encode(params or {}), self._seconds)

    def invoke(self, method: str, params: Mapping[str, Any], result: Type[R]) -> R:
        """As `Client.invoke`, with this timeout."""
        return result.from_json(self._client._call(method, encode_params(params), self._seconds))


class EventStream:
    """An iterator of events for one consumer. Survives reconnections."""

    def __init__(self, client: Client, feed: EventFeed, reconnect: bool) -> None:
        self._client = client
        self._feed = feed
        self._reconnect = reconnect
        self._closed = threading.Event()
        self._link: Optional[_Link] = self._subscribe(_deadline(CONNECT_SECONDS))

    @property
    def position(self) -> Optional[Dict[str, Any]]:
        """`{"epoch", "sequence"}` of the last event that was taken, for the `since` of another stream.

        None before the subscription.
        """
        return self._feed.position

    def next(self, timeout: Optional[float] = None) -> Optional[Event]:
        """The next event, once one has arrived.

        Args:
            timeout: How long to wait, in seconds. None for as long as it takes.

        Returns:
            The event, or None when the stream or the client was closed, or `timeout` seconds have passed.

        Raises:
            LanyardError: the connection ended and the stream may not reconnect, or the agent refuses the subscription.
        """
        deadline = _deadline(timeout)
        attempt = 0
        while not self._closed.is_set():
            if self._feed.ready:
                return self._feed.take()
            pause = pause_seconds(attempt)
            try:
                if self._link is None:
                    self._link = self._subscribe(_deadline(CONNECT_SECONDS))
                    attempt = 0
                    if self._closed.is_set():
                        # `close()` came first, and did not know this subscription.
                        self.close()
                        return None
                self._link.wait_until(lambda: self._feed.ready or self._closed.is_set(), deadline)
            except CallTimeout:
                if self._link is not None:
                    return None
            except ClientClosed:
                return None
            except LanyardError as error:
                self._link = None
                if not self._reconnect or not error.retryable:
                    raise
                pause = pause_seconds(attempt, error)
            if self._link is None:
                remaining = _remaining(deadline)
                self._closed.wait(pause if remaining is None else min(pause, remaining))
                if remaining is not None and remaining <= pause:
                    return None
                attempt += 1
        return None

    def close(self) -> None:
        """Ends the subscription. A consumer that waits in `next()` gets None."""
        self._closed.set()
        link, self._link = self._link, None
        if link is None or self._client._link is not link:
            return
        link.forget_feed(self._feed)
        link.wake()
        try:
            link.call("event.unsubscribe", {"subscription": self._feed.subscription}, _deadline(CANCEL_SECONDS))
        except LanyardError:
            pass

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        event = self.next()
        if event is None:
            raise StopIteration
        return event

    def __enter__(self) -> "EventStream":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def _subscribe(self, deadline: Deadline) -> _Link:
        # Only the first subscription starts an agent: a later one would undo `lanyard stop`.
        link = self._client._connected(deadline, starts=self._feed.subscription is None)
        link.call("event.subscribe", self._feed.params(), deadline, self._feed)
        return link
