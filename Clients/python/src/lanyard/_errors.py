"""The errors: one subclass of `LanyardError` a name.

The classes of the contract's errors (docs/protocol.md, Errors) are generated into `_generated.py`. This module holds
their base, the five errors of JSON-RPC 2.0, and the failures of the client itself.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple, Type


class LanyardError(Exception):
    """An error that the agent answered, or a failure of the client.

    `str()` gives the message, name and code. The text holds nothing of `data` or of the request, and the agent never
    echoes input, so an error may be logged.
    """

    code: Optional[int] = None
    """The JSON-RPC error code; None for failures of the client."""

    name: str = "error"
    """The stable name of the error, such as `reauthenticationRequired`."""

    def __init__(
        self,
        message: str = "",
        *,
        code: Optional[int] = None,
        name: Optional[str] = None,
        data: Optional[Mapping[str, Any]] = None,
    ) -> None:
        super().__init__(message)
        self.message: str = message
        self.data: Mapping[str, Any] = dict(data) if data is not None else {}
        if code is not None:
            self.code = code
        if name is not None:
            self.name = name

    @property
    def retryable(self) -> bool:
        """True if the same call may succeed later without any action."""
        return self.data.get("retryable") is True

    @property
    def retry_after_ms(self) -> Optional[int]:
        """The pause before the next try that the agent asks for, in milliseconds."""
        return _integer(self.data.get("retryAfterMs"))

    @property
    def reason(self) -> Optional[str]:
        """The machine-readable cause within this error, such as `outcomeUnknown`."""
        return _string(self.data.get("reason"))

    @property
    def remedies(self) -> List[str]:
        """The remedies, in order: `unlock`, `connect`, `stepUp`, `interact`, `reauthenticate`, `administrator`."""
        told = self.data.get("remedies")
        return [remedy for remedy in told if isinstance(remedy, str)] if isinstance(told, list) else []

    @property
    def account(self) -> Optional[str]:
        """The id of the account that the error is about."""
        return _string(self.data.get("account"))

    def __str__(self) -> str:
        label = self.name if self.code is None else f"{self.name} ({self.code})"
        return f"{self.message} [{label}]" if self.message else label

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.message!r}, code={self.code!r}, name={self.name!r})"

    def __reduce__(self) -> Tuple[Any, ...]:
        return (_rebuild, (type(self), self.message, self.code, self.name, dict(self.data)))


def _rebuild(
    kind: Type[LanyardError], message: str, code: Optional[int], name: str, data: Mapping[str, Any]
) -> LanyardError:
    return kind(message, code=code, name=name, data=data)


def _string(value: Any) -> Optional[str]:
    return value if isinstance(value, str) else None


def _integer(value: Any) -> Optional[int]:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


# JSON-RPC 2.0, section 5.1.


class ParseError(LanyardError):
    """The agent could not parse a line as JSON."""

    code: Optional[int] = -32700
    name: str = "parseError"


class InvalidRequest(LanyardError):
    """The line was not a request, or was longer than `data["limit"]`."""

    code: Optional[int] = -32600
    name: str = "invalidRequest"


class MethodNotFound(LanyardError):
    """This agent has no such method."""

    code: Optional[int] = -32601
    name: str = "methodNotFound"


class InvalidParams(LanyardError):
    """A member of the params is missing, unknown, or of the wrong type."""

    code: Optional[int] = -32602
    name: str = "invalidParams"

    @property
    def path(self) -> Optional[str]:
        """A JSON Pointer (RFC 6901) to the member that was refused."""
        return _string(self.data.get("path"))

    @property
    def expected(self) -> Optional[str]:
        """The expected value at `path`."""
        return _string(self.data.get("expected"))


class InternalError(LanyardError):
    """The agent failed: a bug in the agent."""

    code: Optional[int] = -32603
    name: str = "internalError"


STANDARD_ERRORS: Dict[int, Type[LanyardError]] = {
    -32700: ParseError,
    -32600: InvalidRequest,
    -32601: MethodNotFound,
    -32602: InvalidParams,
    -32603: InternalError,
}


# Failures of the client. They have no code. The builtin base classes let `except ConnectionError` and
# `except TimeoutError` work as usual.


class AgentNotRunning(LanyardError, ConnectionError):
    """No agent accepts connections at the socket."""

    name: str = "agentNotRunning"

    @property
    def retryable(self) -> bool:
        """True: the same call may succeed later."""
        return True


class AgentStartFailed(AgentNotRunning):
    """No agent runs, and none could be started. The message says why."""

    name: str = "agentStartFailed"

    @property
    def retryable(self) -> bool:
        """False: what keeps the agent from starting lasts until a person changes it."""
        return False


class ConnectionLost(LanyardError, ConnectionError):
    """The connection ended during the call. The call may have taken effect."""

    name: str = "connectionLost"

    @property
    def retryable(self) -> bool:
        """True: the same call may succeed later."""
        return True


class CallTimeout(LanyardError, TimeoutError):
    """The client's timeout ended the call; the client cancelled the request."""

    name: str = "callTimeout"

    @property
    def retryable(self) -> bool:
        """True: the same call may succeed later."""
        return True


class ClientClosed(LanyardError):
    """The client was used after `close()`."""

    name: str = "clientClosed"


class ProtocolError(LanyardError):
    """The peer violates the contract. The text names the place, never the value."""

    name: str = "protocolError"


class UntrustedAgent(LanyardError):
    """Another user's process serves the socket. Nothing was sent to it."""

    name: str = "untrustedAgent"


class RequestTooLarge(LanyardError, ValueError):
    """The request is longer than the agent's line limit (`agent.hello`, `limits`). It was not sent."""

    name: str = "requestTooLarge"


class OriginRefused(LanyardError, ValueError):
    """The URL is of an origin to which the token may not go. Nothing was sent."""

    name: str = "originRefused"


class BoundToken(LanyardError):
    """The account's tokens are bound to a key (DPoP), and this use can't prove that it has the key."""

    name: str = "boundToken"
