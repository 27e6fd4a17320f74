"""A subscription for its consumer: the queue, the position, and gaps."""

from __future__ import annotations

from collections import deque
from datetime import datetime, timezone
from typing import Any, Callable, Deque, Dict, Mapping, Optional, Sequence, Tuple

from ._errors import LanyardError, ProtocolError
from ._generated import EventNotification
from ._runtime import encode_params, format_instant

Event = EventNotification

MAXIMUM_QUEUED_EVENTS = 10_000
"""The number of events kept for a slow consumer. Beyond this, an `event.gap` replaces the oldest."""

FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 5.0


LONGEST_TOLD_PAUSE_SECONDS = 3600.0


def pause_seconds(attempt: int, error: Optional[LanyardError] = None) -> float:
    """The pause before the next attempt to reach the agent: 50 ms, doubling to 5 s, and at least what `error` asks for."""
    told = (error.retry_after_ms if error is not None else None) or 0
    pause = min(FIRST_PAUSE_SECONDS * 2.0 ** min(attempt, 16), LONGEST_PAUSE_SECONDS)
    return max(pause, min(told, LONGEST_TOLD_PAUSE_SECONDS * 1000) / 1000)


class EventFeed:
    """The events of one subscription, over any number of connections.

    After a reconnection the feed asks for the events since the last one it received. If the agent no longer has them,
    the consumer gets an event of type `event.gap` in their place.
    """

    def __init__(
        self, types: Optional[Sequence[str]], accounts: Optional[Sequence[str]], since: Optional[Mapping[str, Any]]
    ) -> None:
        self.subscription: Optional[str] = None
        self._wanted = encode_params({"types": types, "accounts": accounts})
        self._position: Optional[Tuple[Any, int]] = (since["epoch"], since["sequence"]) if since else None
        self._taken = self._position
        self._taken_until: Optional[Tuple[Any, int]] = None
        self._queue: Deque[Event] = deque()
        self.on_event: Optional[Callable[[], None]] = None

    @property
    def position(self) -> Optional[Dict[str, Any]]:
        """`{"epoch", "sequence"}` of the last event that the consumer took, for `since`."""
        return _since(self._taken)

    @property
    def ready(self) -> bool:
        """True if an event is queued."""
        return bool(self._queue)

    def params(self) -> Dict[str, Any]:
        """The params for the next `event.subscribe`."""
        return {**self._wanted, "since": _since(self._position)} if self._position is not None else dict(self._wanted)

    def subscribed(self, result: Mapping[str, Any]) -> str:
        """Handles the answer of `event.subscribe`."""
        subscription, epoch, sequence = (result.get(name) for name in ("subscription", "epoch", "sequence"))
        if not isinstance(subscription, str) or epoch is None or not isinstance(sequence, int):
            raise ProtocolError("the result of event.subscribe names no subscription, epoch and sequence")
        self.subscription = subscription
        resumed = self._position is not None
        if resumed and not result.get("gap") and self._position is not None and self._position[0] == epoch:
            # The replay may begin with events that arrived already.
            self._taken_until = self._position
        else:
            first = self._position[1] + 1 if self._position is not None and self._position[0] == epoch else 0
            self._position, self._taken_until = (epoch, sequence), None
            if resumed:
                self._queue.append(self._gap(first, epoch, sequence))
            else:
                self._taken = self._position
        return subscription

    def receive(self, event: Event) -> None:
        """Queues an event for the consumer, unless it arrived before."""
        if self._taken_until is not None and event.epoch == self._taken_until[0]:
            if event.sequence <= self._taken_until[1]:
                return
        self._position = (event.epoch, event.sequence)
        self._queue.append(event)
        if len(self._queue) > MAXIMUM_QUEUED_EVENTS:
            first, last = self._queue.popleft(), self._queue[0]
            start = first.data.get("from") if first.type == "event.gap" else None
            start = start if isinstance(start, int) else first.sequence
            self._queue[0] = self._gap(start, last.epoch, last.sequence)
        if self.on_event is not None:
            self.on_event()

    def take(self) -> Event:
        """The oldest queued event."""
        event = self._queue.popleft()
        self._taken = (event.epoch, event.sequence)
        return event

    def _gap(self, start: int, epoch: Any, end: int) -> Event:
        gap = {"subscription": self.subscription, "epoch": epoch, "sequence": end, "type": "event.gap"}
        data = {"from": min(start, end), "to": end}
        return Event.from_json({**gap, "at": format_instant(datetime.now(timezone.utc)), "data": data})


def _since(position: Optional[Tuple[Any, int]]) -> Optional[Dict[str, Any]]:
    return None if position is None else {"epoch": position[0], "sequence": position[1]}
