"""What both drivers share: answers as the run wants them, and typed calls by name."""

import inspect
import json
import sys
import threading

import lanyard
from lanyard._runtime import encode

_KINDS = {
    lanyard.AgentStartFailed: "agentStartFailed",
    lanyard.AgentNotRunning: "agentNotRunning",
    lanyard.CallTimeout: "callTimeout",
    lanyard.ClientClosed: "clientClosed",
    lanyard.ConnectionLost: "connectionLost",
    lanyard.ProtocolError: "protocolError",
    lanyard.RequestTooLarge: "requestTooLarge",
    lanyard.UntrustedAgent: "untrustedAgent",
}
_printing = threading.Lock()


def say(message):
    text = json.dumps(message, ensure_ascii=False)
    with _printing:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def result(command, value):
    say({"id": command["id"], "result": value})


def failure(command, error):
    say({"id": command["id"], "error": told(error)})


def cancelled(command):
    say({"id": command["id"], "error": {
        "kind": "cancelled", "name": "cancelled", "message": "", "retryable": False, "remedies": [], "data": {}}})


def told(error):
    if not isinstance(error, lanyard.LanyardError):
        raise error
    kind = next((kind for kind_of, kind in _KINDS.items() if isinstance(error, kind_of)), "agent")
    told = {
        "kind": kind, "name": error.name, "message": error.message, "retryable": error.retryable,
        "remedies": error.remedies, "data": dict(error.data),
    }
    for name, value in (
        ("code", error.code), ("retryAfterMs", error.retry_after_ms), ("reason", error.reason), ("account", error.account)
    ):
        if value is not None:
            told[name] = value
    return told


def options(command):
    """The arguments of a client for the command `open`."""
    members = {"grant": "grant", "name": "name", "version": "version", "start": "start"}
    chosen = {argument: command[name] for name, argument in members.items() if name in command}
    if "socket" in command:
        chosen["socket_path"] = command["socket"]
    if "timeoutMs" in command:
        chosen["timeout"] = command["timeoutMs"] / 1000
    return chosen


def snake(name):
    return "".join("_" + letter.lower() if letter.isupper() else letter for letter in name)


def method(client, name):
    """The generated method, such as `client.sign_in.begin`."""
    namespace, verb = name.split(".")
    place = getattr(client, snake(namespace))
    return getattr(place, snake(verb), None) or getattr(place, snake(verb) + "_")


def arguments(function, params):
    """The params under the names of Python. The names of a function's arguments lead back to the wire."""
    names = {argument.rstrip("_"): argument for argument in inspect.signature(function).parameters}
    return {names[snake(name)]: value for name, value in params.items()}


def as_json(record):
    return encode(record)


def shown(value):
    """Each way in which Python prints a value."""
    return "\n".join((repr(value), str(value), f"{value}", "%s %r" % (value, value), repr([value])))
