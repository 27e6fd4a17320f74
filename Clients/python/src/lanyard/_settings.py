"""Who this client says it is, and how long it waits where the caller does not say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Optional

from ._generated import PROTOCOL

VERSION = "0.1.0"

CONNECT_SECONDS = 10.0
"""For connecting and `agent.hello`, and for each try of an event stream to come back."""

CANCEL_SECONDS = 1.0
"""For sending `$/cancel` and `event.unsubscribe`; an agent that does not even read is not waited for."""

CLOSE_SECONDS = 5.0
"""For a spawned agent to end after its input; then it is told to, then it is made to."""


@dataclass(frozen=True)
class Introduction:
    """The params of `agent.hello`."""

    name: str
    version: str
    grant: Optional[str] = field(default=None, repr=False)

    def params(self) -> Dict[str, Any]:
        params: Dict[str, Any] = {"client": {"name": self.name, "version": self.version}, "protocol": PROTOCOL}
        return params if self.grant is None else {**params, "grant": self.grant}
