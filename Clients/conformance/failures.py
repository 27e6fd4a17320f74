"""How a case fails, and how long it waits."""

import os

PATIENCE_SECONDS = 10.0


class CaseFailed(Exception):
    """The client did not do what the case asks for. The text says what it did."""


class Skipped(Exception):
    """The case can't run here; the text says why."""


def patience(seconds=None):
    """How long to wait for what must come; longer by `LANYARD_PATIENCE` on a busy machine."""
    return (PATIENCE_SECONDS if seconds is None else seconds) * float(os.environ.get("LANYARD_PATIENCE", "1"))


def same(found, wanted, what):
    """Fails unless both are equal as JSON."""
    if found != wanted or type(found) is not type(wanted):
        raise CaseFailed(f"{what} is {shown(found)} instead of {shown(wanted)}")


def holds(found, wanted, what):
    """Fails unless each member of `wanted` is in `found`."""
    if not isinstance(found, dict):
        raise CaseFailed(f"{what} is {shown(found)} instead of an object")
    for name, value in wanted.items():
        same(found.get(name), value, f"`{name}` of {what}")


def shown(value):
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:200]}… ({len(text)} characters)"
