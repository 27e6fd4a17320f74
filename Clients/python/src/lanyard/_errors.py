"""What can go wrong: one class an error name, all under `LanyardError`.

The classes of the agent's own error table (API.md, "Errors") are generated into `_generated.py`; here stand their
base, the five errors that JSON-RPC 2.0 itself defines, and the failures that happen on this side of the socket.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple, Type


class LanyardError(Exception):
    """An error answered by the agent, or a failure on the way to it.

    `str()` gives the agent's message, name and code. The agent never echoes input, and nothing of `data` or of the
    request is put into the text, so an error may be logged.
    """

    code: Optional[int] = None
    """The JSON-RPC error code; None for failures on this side of the socket."""

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
        """Whether the same call may succeed later without anybody doing anything."""
        return self.data.get("retryable") is True

    @property
    def retry_after_ms(self) -> Optional[int]:
        """How long the agent asks to wait before the next try, in milliseconds."""
        return _integer(self.data.get("retryAfterMs"))

    @property
    def reason(self) -> Optional[str]:
        """The machine-readable cause within this error, such as `outcomeUnknown`."""
        return _string(self.data.get("reason"))

    @property
    def remedies(self) -> List[str]:
        """What would help, in order: `unlock`, `connect`, `stepUp`, `interact`, `reauthenticate`, `administrator`."""
        told = self.data.get("remedies")
        return [remedy for remedy in told if isinstance(remedy, str)] if isinstance(told, list) else []

    @property
    def account(self) -> Optional[str]:
        """The concrete account that the error is about."""
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
    """The agent could not read a line of ours as JSON."""

    code = -32700
    name = "parseError"


class InvalidRequest(LanyardError):
    """The line was JSON, but no request; or over the line limit (`data["limit"]`)."""

    code = -32600
    name = "invalidRequest"


class MethodNotFound(LanyardError):
    """This agent has no such method."""

    code = -32601
    name = "methodNotFound"


class InvalidParams(LanyardError):
    """A member of the params is missing, unknown, or of the wrong type."""

    code = -32602
    name = "invalidParams"

    @property
    def path(self) -> Optional[str]:
        """A JSON Pointer (RFC 6901) to the member that was refused."""
        return _string(self.data.get("path"))

    @property
    def expected(self) -> Optional[str]:
        """What would have been right at `path`."""
        return _string(self.data.get("expected"))


class InternalError(LanyardError):
    """The agent failed inside."""

    code = -32603
    name = "internalError"


STANDARD_ERRORS: Dict[int, Type[LanyardError]] = {
    -32700: ParseError,
    -32600: InvalidRequest,
    -32601: MethodNotFound,
    -32602: InvalidParams,
    -32603: InternalError,
}


# Failures on this side of the socket. They have no code; the builtin class beside LanyardError lets
# `except ConnectionError` and `except TimeoutError` work as anywhere else in Python.


class AgentNotRunning(LanyardError, ConnectionError):
    """Nothing accepts connections at the agent's socket."""

    name = "agentNotRunning"

    @property
    def retryable(self) -> bool:
        return True


class ConnectionLost(LanyardError, ConnectionError):
    """The agent went away while the call was in flight: whether it took effect is not known."""

    name = "connectionLost"

    @property
    def retryable(self) -> bool:
        return True


class CallTimeout(LanyardError, TimeoutError):
    """The caller's own time for the call ran out; the agent was told to cancel it."""

    name = "callTimeout"

    @property
    def retryable(self) -> bool:
        return True


class ClientClosed(LanyardError):
    """The client was used after `close()`."""

    name = "clientClosed"


class ProtocolError(LanyardError):
    """The peer does not speak the contract; the text names the place, never the value."""

    name = "protocolError"


class UntrustedAgent(LanyardError):
    """The process behind the socket belongs to another user, so nothing was sent to it."""

    name = "untrustedAgent"


class RequestTooLarge(LanyardError, ValueError):
    """The request is longer than a line may be (`agent.hello`, `limits`), so it was not sent."""

    name = "requestTooLarge"
