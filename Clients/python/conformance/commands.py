"""What both drivers share: options of clients, typed calls, results and errors as JSON."""

from __future__ import annotations

import inspect
import json
import re
import sys
import threading
from typing import Any, Dict, Mapping

import lanyard

Json = Dict[str, Any]

_printing = threading.Lock()


def say(number: str, **members: Any) -> None:
    with _printing:
        sys.stdout.write(json.dumps({"id": number, **members}, ensure_ascii=False) + "\n")
        sys.stdout.flush()


def options(command: Mapping[str, Any]) -> Json:
    """The arguments of a client."""
    found: Json = {"socket_path": command.get("socket")}
    for name in ("start", "grant", "name", "version"):
        if name in command:
            found[name] = command[name]
    if "timeoutMs" in command:
        found["timeout"] = command["timeoutMs"] / 1000
    return found


def typed(methods: Any, method: str, params: Mapping[str, Any]) -> Any:
    """Calls the generated method with params as it takes them; its result is returned, or awaitable."""
    space, _, name = method.rpartition(".")
    function = getattr(getattr(methods, _snake(space)), _attribute(name))
    hints = inspect.signature(function).parameters
    arguments = {}
    for wire, value in params.items():
        attribute = _attribute(wire)
        if attribute not in hints:
            raise TypeError(f"{method} has no argument {attribute}")
        arguments[attribute] = _argument(hints[attribute].annotation, value)
    return function(**arguments)


def _argument(annotation: Any, value: Any) -> Any:
    """An object as the generated class that the method takes; another value as it is."""
    if isinstance(value, dict):
        for name in re.findall(r"[A-Z]\w*", str(annotation)):
            kind = getattr(lanyard, name, None)
            if isinstance(kind, type) and issubclass(kind, lanyard.Record):
                return kind.from_json(value)
    return value


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", lambda match: "_" + match.group(1).lower(), name)


def _attribute(name: str) -> str:
    import keyword

    snake = _snake(name)
    return snake + "_" if keyword.iskeyword(snake) else snake


def show(outcome: Any) -> str:
    """All forms in which Python prints a value."""
    text = f"{outcome!r}\n{outcome!s}\n{outcome}\n{[outcome]}\n{(outcome,)}\n%s" % (outcome,)
    if isinstance(outcome, BaseException):
        import traceback

        text += "".join(traceback.format_exception(type(outcome), outcome, outcome.__traceback__))
    else:
        text += str(vars(outcome).get("extra", ""))
    return text


def error(failure: BaseException) -> Json:
    """An error as the run wants it."""
    if not isinstance(failure, lanyard.LanyardError):
        return {"kind": "failed", "name": "failed", "message": repr(failure), "retryable": False, "remedies": [], "data": {}}
    found: Json = {
        "kind": failure.name if failure.code is None else "agent",
        "name": failure.name,
        "message": failure.message,
        "retryable": failure.retryable,
        "remedies": failure.remedies,
        "data": dict(failure.data),
    }
    for member, value in (
        ("code", failure.code),
        ("retryAfterMs", failure.retry_after_ms),
        ("reason", failure.reason),
        ("account", failure.account),
    ):
        if value is not None:
            found[member] = value
    return found
