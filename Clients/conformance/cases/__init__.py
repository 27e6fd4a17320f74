"""The cases, by concern. Importing this package collects them in `trial.CASES`, in this order."""

from . import framing, ids, errors, calls, connections, contract, secrets, events, resume, trust, starting, http  # noqa: F401
