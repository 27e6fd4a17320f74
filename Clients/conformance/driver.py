"""A driver: the program of one language that obeys commands (README.md)."""

import collections
import json
import os
import subprocess
import threading
import time

from failures import CaseFailed, patience

KINDS = {
    "agent", "agentNotRunning", "agentStartFailed", "callTimeout", "cancelled", "clientClosed", "connectionLost",
    "originRefused", "protocolError", "requestTooLarge", "untrustedAgent",
}


class Driver:
    """Speaks to a driver's process. Any thread may use it."""

    def __init__(self, command, environment, log):
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment)
        self.pid = self._process.pid
        self._changed = threading.Condition()
        self._said = collections.defaultdict(collections.deque)
        self._broken = None
        self._ended = False
        self._last_id = 0
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, do, **members):
        """Gives a command, and returns its id."""
        self._last_id += 1
        number = f"{do}-{self._last_id}"
        command = {"do": do, "id": number, **{name: value for name, value in members.items() if value is not None}}
        try:
            self._process.stdin.write(json.dumps(command, ensure_ascii=False).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise CaseFailed(f"the driver ended before the command {do}") from None
        return number

    def next(self, number, seconds=None):
        """The next message with this id."""
        deadline = time.monotonic() + patience(seconds)
        with self._changed:
            while not self._said[number]:
                if self._broken:
                    raise CaseFailed(self._broken)
                if self._ended:
                    raise CaseFailed(f"the driver ended without an answer to {number}")
                if not self._changed.wait(deadline - time.monotonic()):
                    raise CaseFailed(f"the driver did not answer {number}")
            return self._said[number].popleft()

    def silent(self, number, seconds=0.3):
        """Nothing with this id may come for a while."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while not self._said[number] and self._changed.wait(deadline - time.monotonic()):
                pass
            if self._said[number]:
                raise CaseFailed(f"the driver answered {number} unasked: {self._said[number][0]}")

    def result(self, number, seconds=None):
        message = self.next(number, seconds)
        if "result" not in message:
            raise CaseFailed(f"{number} ended with {message.get('error', message)}")
        return message["result"]

    def error(self, number, kind=None, seconds=None):
        """The error that the command ended with; it must be well formed and of this kind."""
        message = self.next(number, seconds)
        error = message.get("error")
        if not isinstance(error, dict):
            raise CaseFailed(f"{number} did not fail: {str(message)[:300]}")
        if error.get("kind") not in KINDS:
            raise CaseFailed(f"{number} ended with an error of the unknown kind {error.get('kind')}: {error}")
        if kind is not None and error["kind"] != kind:
            raise CaseFailed(f"{number} ended with {error['kind']} instead of {kind}: {error.get('message')}")
        if error["kind"] != "agent" and (error.get("name") != error["kind"] or "code" in error):
            raise CaseFailed(f"the error {error} does not name its kind, or has a code")
        for name, kind_of_value in (("retryable", bool), ("remedies", list), ("message", str), ("data", dict)):
            if not isinstance(error.get(name), kind_of_value):
                raise CaseFailed(f"`{name}` of the error is {error.get(name)!r}")
        return error

    def event(self, number, seconds=None):
        message = self.next(number, seconds)
        if "event" not in message:
            raise CaseFailed(f"the stream said {message} instead of an event")
        return message["event"]

    def ended(self, number, seconds=None):
        message = self.next(number, seconds)
        if message.get("ended") is not True:
            raise CaseFailed(f"the stream said {message} instead of its end")

    def do(self, do, **members):
        return self.result(self.send(do, **members))

    def finish(self):
        """Ends the input; the driver must exit with 0."""
        self._process.stdin.close()
        try:
            status = self._process.wait(patience(5.0))
        except subprocess.TimeoutExpired:
            raise CaseFailed("the driver did not end after its input") from None
        if status != 0:
            raise CaseFailed(f"the driver ended with the status {status}")

    def kill(self):
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            try:
                stream.close()
            except OSError:
                pass

    def _read(self):
        try:
            for text in self._process.stdout:
                try:
                    message = json.loads(text)
                    number = message["id"]
                except (ValueError, KeyError, TypeError):
                    with self._changed:
                        self._broken = f"the driver printed a line that is no answer: {text[:200]!r}"
                        self._changed.notify_all()
                    return
                with self._changed:
                    self._said[number].append(message)
                    self._changed.notify_all()
        except (OSError, ValueError):
            pass
        with self._changed:
            self._ended = True
            self._changed.notify_all()


def environment_for(directory, extra=None):
    """The environment of a driver: none of the person's own agent."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LANYARD_", "XDG_")) and name.lower() not in ("http_proxy", "https_proxy", "all_proxy")
    }
    runtime = os.path.join(directory, "runtime")
    os.makedirs(runtime, mode=0o700, exist_ok=True)
    kept.update(
        XDG_RUNTIME_DIR=runtime, XDG_STATE_HOME=os.path.join(directory, "state"),
        LANYARD_NO_START="1")
    kept.update(extra or {})
    return kept
