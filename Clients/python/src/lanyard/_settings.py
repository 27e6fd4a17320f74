"""The client's version, its timeouts, and the params of `agent.hello`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Optional

from ._generated import PROTOCOL

VERSION: str = "1.0.0"

CONNECT_SECONDS = 12.0
"""Timeout for connecting and `agent.hello`, also for each reconnection of an event stream: longer than a start."""

CANCEL_SECONDS = 1.0
"""Timeout for sending `$/cancel` and `event.unsubscribe`: the agent may have stopped reading."""

CLOSE_SECONDS = 5.0
"""The seconds that a spawned agent has to end after its input ends, after SIGTERM, and after SIGKILL."""


@dataclass(frozen=True)
class HelloParams:
    """The params of `agent.hello`."""

    name: str
    version: str
    grant: Optional[str] = field(default=None, repr=False)

    def params(self) -> Dict[str, Any]:
        """The params as they go over the wire."""
        params: Dict[str, Any] = {"client": {"name": self.name, "version": self.version}, "protocol": PROTOCOL}
        return params if self.grant is None else {**params, "grant": self.grant}
