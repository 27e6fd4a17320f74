"""Client for the Lanyard agent: tokens, decisions and authenticated requests from one local agent.

    with lanyard.Client() as client:
        token = client.token.get(account="@active", minimum_lifetime_seconds=120)

`Client` blocks and serves any number of threads; `AsyncClient` is for asyncio. Every error of the contract has its own
subclass of `LanyardError`.
"""

from typing import TYPE_CHECKING, Any

from . import _generated
from ._errors import (
    AgentNotRunning,
    AgentStartFailed,
    BoundToken,
    CallTimeout,
    ClientClosed,
    ConnectionLost,
    InternalError,
    InvalidParams,
    InvalidRequest,
    LanyardError,
    MethodNotFound,
    OriginRefused,
    ParseError,
    ProtocolError,
    RequestTooLarge,
    UntrustedAgent,
)
from ._events import Event
from ._generated import *
from ._runtime import OpenEnum, Record
from ._settings import VERSION as __version__
from ._sync import Client, EventStream
from ._transport import default_socket_path

__all__ = [
    "AgentNotRunning",
    "AgentStartFailed",
    "AsyncClient",
    "AsyncEventStream",
    "BoundToken",
    "CallTimeout",
    "Client",
    "ClientClosed",
    "ConnectionLost",
    "Event",
    "EventStream",
    "InternalError",
    "InvalidParams",
    "InvalidRequest",
    "LanyardError",
    "MethodNotFound",
    "OpenEnum",
    "OriginRefused",
    "ParseError",
    "ProtocolError",
    "Record",
    "RequestTooLarge",
    "UntrustedAgent",
    "__version__",
    "default_socket_path",
]
__all__ += _generated.__all__

if TYPE_CHECKING:
    from ._async import AsyncClient, AsyncEventStream


def __getattr__(name: str) -> Any:
    # Import asyncio only on demand: it takes longer to import than the rest of this package.
    if name in ("AsyncClient", "AsyncEventStream"):
        from . import _async

        return getattr(_async, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
