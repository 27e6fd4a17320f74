"""The protocol of one connection, without I/O: framing, ids, answers, events.

The blocking and the asyncio client pass received bytes to `Core` and write the lines that it returns. `Core` never
blocks, sleeps or reads a clock. It has no lock: the blocking client holds its own lock around every call.
"""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, Mapping, Optional, Protocol, Tuple

from ._errors import STANDARD_ERRORS, LanyardError, ProtocolError, RequestTooLarge
from ._events import Event, EventFeed
from ._generated import ERRORS

MAXIMUM_ANSWER_BYTES = 64 << 20
"""The longest line that the client reads. Answers to `request.send` hold whole bodies."""

REQUESTS_IN_FLIGHT = 128
LINE_BYTES = 64 << 10
BODY_LINE_BYTES = 1 << 20
"""The agent's default limits (docs/protocol.md, Limits), until its answer to `agent.hello` names its `limits`."""

_BODY_METHODS = ("request.send", "operation.enqueue", "secret.put")

MAXIMUM_STRAY_EVENTS = 1024
"""The number of events kept that arrive before the answer with their subscription id."""


class Sink(Protocol):
    """Receives the answer of one call."""

    def succeed(self, result: Dict[str, Any]) -> None:
        """Takes the result."""

    def fail(self, error: LanyardError) -> None:
        """Takes the error."""


class _Forgotten:
    """Ignores the answer of a cancelled call."""

    def succeed(self, result: Dict[str, Any]) -> None:
        pass

    def fail(self, error: LanyardError) -> None:
        pass


class _Unwanted(_Forgotten):
    """Notes the subscription of a cancelled `event.subscribe` that the agent made all the same."""

    def __init__(self, subscriptions: List[str]) -> None:
        self._subscriptions = subscriptions

    def succeed(self, result: Dict[str, Any]) -> None:
        subscription = result.get("subscription")
        if isinstance(subscription, str):
            self._subscriptions.append(subscription)


class Core:
    """The client's side of one connection."""

    def __init__(self) -> None:
        self._requests_in_flight = REQUESTS_IN_FLIGHT
        self._line_bytes = LINE_BYTES
        self._body_line_bytes = BODY_LINE_BYTES
        self._buffer = bytearray()
        self._scanned = 0
        self._last_id = 0
        self._waiting: Dict[int, Sink] = {}
        self._subscribing: Dict[int, EventFeed] = {}
        self._feeds: Dict[str, EventFeed] = {}
        self._strays: List[Event] = []
        self._unwanted: List[str] = []

    @property
    def has_room(self) -> bool:
        """True if one more request fits the agent's limit. Cancelled requests count until they are answered."""
        return len(self._waiting) < self._requests_in_flight

    def obey(self, hello: Mapping[str, Any]) -> None:
        """Applies the limits from the answer to `agent.hello`."""
        limits = hello.get("limits")
        told = limits if isinstance(limits, dict) else {}
        self._requests_in_flight = _limit(told.get("requestsInFlight"), self._requests_in_flight)
        self._line_bytes = _limit(told.get("lineBytes"), self._line_bytes)
        self._body_line_bytes = _limit(told.get("bodyLineBytes"), self._body_line_bytes)

    def request(
        self, method: str, params: Mapping[str, Any], sink: Sink, feed: Optional[EventFeed] = None
    ) -> Tuple[int, bytes]:
        """Returns the id and the line of a new request. `feed` gets the events of the subscription in its answer."""
        self._last_id += 1
        number = self._last_id
        message: Dict[str, Any] = {"jsonrpc": "2.0", "id": number, "method": method}
        if params:
            message["params"] = params
        line = _line(message)
        bodies = method in _BODY_METHODS or method.startswith("policy.")
        limit = self._body_line_bytes if bodies else self._line_bytes
        if len(line) > limit:
            # The agent would close the connection, which other callers may share.
            raise RequestTooLarge(f"the request has {len(line)} bytes; the agent's limit is {limit}")
        self._waiting[number] = sink
        if feed is not None:
            self._subscribing[number] = feed
        return number, line

    def cancel(self, number: int) -> Optional[bytes]:
        """Cancels a request. Returns the line to send, or None if the request was answered already."""
        if number not in self._waiting:
            return None
        subscribes = self._stop_subscribing(number) is not None
        self._waiting[number] = _Unwanted(self._unwanted) if subscribes else _Forgotten()
        return _line({"jsonrpc": "2.0", "method": "$/cancel", "params": {"id": number}})

    def unsend(self, number: int) -> None:
        """Forgets a request that was never sent."""
        self._waiting.pop(number, None)
        self._stop_subscribing(number)

    def abandon(self, feed: EventFeed) -> None:
        """Ends the subscription of a feed whose caller gave up when the answer was there already."""
        if feed.subscription is not None and self._feeds.get(feed.subscription) is feed:
            self.unsubscribe(feed.subscription)
            self._unwanted.append(feed.subscription)

    @property
    def has_unwanted(self) -> bool:
        """True if `unwanted` has lines to send."""
        return bool(self._unwanted) and self.has_room

    def unwanted(self) -> List[bytes]:
        """The lines to send that end subscriptions without a reader: the agent would tell their events for ever."""
        lines = []
        while self.has_unwanted:
            params = {"subscription": self._unwanted.pop()}
            lines.append(self.request("event.unsubscribe", params, _Forgotten())[1])
        return lines

    def unsubscribe(self, subscription: str) -> None:
        """Forgets a subscription: its events are dropped."""
        self._feeds.pop(subscription, None)

    def receive(self, data: bytes) -> None:
        """Handles received bytes, which need not be whole lines. After an exception the connection can't be used."""
        self._buffer += data
        begin = 0
        while True:
            end = self._buffer.find(b"\n", max(begin, self._scanned))
            if end < 0:
                break
            line = bytes(memoryview(self._buffer)[begin:end])
            begin = end + 1
            if line and line != b"\r":
                self._line_arrived(line)
        del self._buffer[:begin]
        self._scanned = len(self._buffer)
        if self._scanned > MAXIMUM_ANSWER_BYTES:
            raise ProtocolError(f"a line of the agent is longer than {MAXIMUM_ANSWER_BYTES} bytes")

    def lost(self, reason: Callable[[], LanyardError]) -> None:
        """Ends the connection: every waiting call fails with an error of its own."""
        waiting, self._waiting = self._waiting, {}
        self._subscribing.clear()
        self._feeds.clear()
        for sink in waiting.values():
            sink.fail(reason())

    def _line_arrived(self, line: bytes) -> None:
        message = _parse(line)
        if not isinstance(message, dict):
            raise ProtocolError("a line of the agent is not an object")
        if "method" in message:
            if message["method"] == "event":
                self._event_arrived(Event.from_json(message.get("params"), "/params"))
            return
        if message.get("id") is None:
            # An error without an id belongs to no call, so some call would wait for ever. End the connection.
            raise error_from_json(message.get("error"))
        self._answer_arrived(message)

    def _answer_arrived(self, message: Dict[str, Any]) -> None:
        number = message["id"]
        sink = self._waiting.pop(number, None) if isinstance(number, int) else None
        if sink is None:
            return
        if "error" in message:
            self._stop_subscribing(number)
            sink.fail(error_from_json(message["error"]))
            return
        result = message.get("result")
        if not isinstance(result, dict):
            self._stop_subscribing(number)
            sink.fail(ProtocolError("a result of the agent is not an object"))
            return
        feed = self._subscribing.pop(number, None)
        if feed is not None:
            try:
                self._subscribed(feed, result)
            except ProtocolError as error:
                sink.fail(error)
                return
        sink.succeed(result)

    def _stop_subscribing(self, number: int) -> Optional[EventFeed]:
        feed = self._subscribing.pop(number, None)
        if not self._subscribing:
            self._strays.clear()
        return feed

    def _subscribed(self, feed: EventFeed, result: Dict[str, Any]) -> None:
        self._feeds[feed.subscribed(result)] = feed
        strays, self._strays = self._strays, []
        for event in strays:
            self._event_arrived(event)

    def _event_arrived(self, event: Event) -> None:
        feed = self._feeds.get(event.subscription)
        if feed is not None:
            feed.receive(event)
        elif self._subscribing and len(self._strays) < MAXIMUM_STRAY_EVENTS:
            self._strays.append(event)


def _limit(told: Any, otherwise: int) -> int:
    return told if isinstance(told, int) and not isinstance(told, bool) and told > 0 else otherwise


def error_from_json(value: Any) -> LanyardError:
    """Makes an exception of an error object (JSON-RPC 2.0, section 5.1)."""
    if not isinstance(value, dict):
        return ProtocolError("an error of the agent is not an object")
    code, message, data = value.get("code"), value.get("message"), value.get("data")
    if not isinstance(code, int) or isinstance(code, bool):
        return ProtocolError("an error of the agent has no code")
    kind = ERRORS.get(code) or STANDARD_ERRORS.get(code) or LanyardError
    known = data if isinstance(data, dict) else {}
    name = known.get("name")
    return kind(
        message if isinstance(message, str) else "",
        code=code,
        name=name if isinstance(name, str) else None,
        data=known,
    )


def error_copies(error: LanyardError) -> Callable[[], LanyardError]:
    """Makes copies of `error`: one exception raised in several threads would mix their tracebacks."""
    return lambda: type(error)(error.message, code=error.code, name=error.name, data=error.data)


def _line(message: Mapping[str, Any]) -> bytes:
    text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        pass
    # Raise outside of the handler: its exception holds the whole line, which may hold a secret.
    raise ValueError("a string of the params holds a lone surrogate")


def _parse(line: bytes) -> Any:
    try:
        return json.loads(line.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        pass
    # Raise outside of the handler: JSONDecodeError holds the whole line, which may hold a token.
    raise ProtocolError("a line of the agent is not JSON")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
