"""Client for the Lanyard agent: tokens, decisions and authenticated requests from one local agent.

    with lanyard.Client() as client:
        token = client.token.get(account="@active", minimum_lifetime_seconds=120)

`Client` blocks and is for any number of threads; `AsyncClient` is for asyncio. Errors are subclasses of
`LanyardError`, one a name of the contract.
"""

from ._async import AsyncClient, AsyncEventStream
from ._errors import (
    AgentNotRunning,
    CallTimeout,
    ClientClosed,
    ConnectionLost,
    InternalError,
    InvalidParams,
    InvalidRequest,
    LanyardError,
    MethodNotFound,
    ParseError,
    ProtocolError,
    UntrustedAgent,
)
from ._generated import *
from ._generated import ERRORS as ERRORS
from ._runtime import OpenEnum, Record
from ._settings import VERSION as __version__
from ._sync import Client, EventStream
from ._transport import default_socket_path
