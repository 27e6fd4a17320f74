"""Obeys the commands of the conformance run by the functions of lanyard.sh, each in a shell of its own."""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, Dict, List, Optional, Tuple

from relay import Pool, Relay, Upstream, dial

HERE = os.path.dirname(os.path.abspath(__file__))
FUNCTIONS = os.path.join(os.path.dirname(HERE), "lanyard.sh")
SHELLS = {"bash": ["bash", "--norc", "--noprofile", "-euo", "pipefail"], "zsh": ["zsh", "-f"]}
SHELL = SHELLS[os.environ.get("LANYARD_VARIANT") or "bash"]

# Runs a function, and says on descriptor 9 how it ended.
SCRIPT = """\
. "$1"
shift
ended=0
"$@" || ended=$?
printf '%s\\0' "$ended" "$LANYARD_ERROR_NAME" "$LANYARD_ERROR_CODE" "$LANYARD_ERROR_MESSAGE" "$LANYARD_ERROR_REASON" \\
  "$LANYARD_ERROR_RETRYABLE" "$LANYARD_ERROR_RETRY_AFTER_MS" "$LANYARD_ERROR_ACCOUNT" "$LANYARD_ERROR_REMEDIES" \\
  "$LANYARD_ERROR_DATA" "${LANYARD_HTTP_STATUS-}" >&9
"""

# Gets a token again and again, in one shell.
LOAD = """. "$1"
for ((call = 0; call < $3; call++)); do lanyard_token -v token "$2" || exit; done
"""

Json = Dict[str, Any]

_printing = threading.Lock()


def say(message: Json) -> None:
    with _printing:
        sys.stdout.write(json.dumps(message, ensure_ascii=False) + "\n")
        sys.stdout.flush()


def client_error(kind: str, message: str) -> Json:
    return {"kind": kind, "name": kind, "message": message, "retryable": False, "remedies": [], "data": {}}


_libc = ctypes.CDLL(None)


def end_with_parent() -> None:
    """A stream that waits for its agent would outlive a driver that is killed (`PR_SET_PDEATHSIG`)."""
    _libc.prctl(1, signal.SIGTERM)


class Function:
    """One function in a shell of its own."""

    def __init__(self, arguments: List[str], environment: Dict[str, str]) -> None:
        told, telling = os.pipe()
        self._told = told
        script = f"exec 9>&{telling}\n" + SCRIPT if telling != 9 else SCRIPT
        self.process = subprocess.Popen(
            [*SHELL, "-c", script, "driver", FUNCTIONS, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            pass_fds=[telling],
            preexec_fn=end_with_parent,
            start_new_session=True,
            text=True,
        )
        os.close(telling)

    def stop(self) -> None:
        """Ends the shell, and what it runs."""
        try:
            os.killpg(self.process.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass

    def end(self) -> Tuple[Optional[Json], str]:
        """Waits for the end: the error, if there is one, and LANYARD_HTTP_STATUS."""
        with os.fdopen(self._told, encoding="utf-8", errors="replace") as told:
            said = told.read().split("\0")
        self.process.wait()
        if len(said) < 11:
            return client_error("cancelled", "the shell was ended"), ""
        status, name, code, message, reason, retryable, pause, account, remedies, data, http = said[:11]
        if status == "0":
            return None, http
        error: Json = {"kind": "agent" if code else name, "name": name, "message": message}
        if code:
            error["code"] = int(code)
        error.update(retryable=retryable == "true", remedies=remedies.split(), data=json.loads(data))
        for member, value in (("reason", reason), ("account", account)):
            if value:
                error[member] = value
        if pause:
            error["retryAfterMs"] = int(pause)
        return error, http


class HelloFailed(Exception):
    """The agent refused `agent.hello`; `error` says why."""

    def __init__(self, error: Json) -> None:
        super().__init__()
        self.error = error


class Client:
    """A socket of the agent, as the functions' environment names it."""

    def __init__(self, command: Json) -> None:
        environment = dict(os.environ)
        environment["LANYARD_BIN"] = os.path.join(environment["LANYARD_CLIENT_BUILD"], "lanyard")
        if command.get("socket"):
            environment["LANYARD_SOCKET"] = command["socket"]
        # Of the functions each may start an agent, unless the environment forbids it.
        start = command.get("start")
        if start is False or start is None and command.get("socket"):
            environment["LANYARD_NO_START"] = "1"
        self._environment = environment
        self._path = environment.get("LANYARD_SOCKET") or os.path.join(
            environment.get("XDG_RUNTIME_DIR", "/nowhere"), "lanyard", "agent.sock"
        )
        self._hello: Json = {
            "client": {"name": command.get("name") or "lanyard-shell", "version": command.get("version") or "0.1.0"},
            "protocol": "1",
        }
        if command.get("grant"):
            self._hello["grant"] = command["grant"]
        self._directory = tempfile.mkdtemp(prefix="lanyard-")
        self._relay_path = os.path.join(self._directory, "relay.sock")
        self._numbers = itertools.count(1)
        self._pool = Pool()
        self._relay = Relay(self._relay_path, self._upstream)
        self._lock = threading.Lock()
        self._connecting = threading.Lock()
        self._running: List[Function] = []
        self.closed = False

    def connect(self) -> Json:
        """A new connection; the result of its `agent.hello`. Raises `HelloFailed`."""
        upstream = dial(self._path)
        if upstream is None:
            function = self.run(["lanyard_call", "agent.hello", "-"], direct=True)
            return self.finish(function, json.dumps(self._hello))
        result = self._greet(upstream)
        self._pool.add(upstream)
        return result

    def load(self, account: str, count: int) -> Json:
        began = time.monotonic()
        subprocess.run(
            [*SHELL, "-c", LOAD, "driver", FUNCTIONS, account, str(count)], env=self._environment, check=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        return {"seconds": time.monotonic() - began}

    def run(self, arguments: List[str], direct: bool = False) -> Function:
        """Starts a function, through the relay if an agent of this user listens. Raises `HelloFailed`."""
        if not direct:
            with self._connecting:
                if not self._pool.stands:
                    upstream = dial(self._path)
                    direct = upstream is None
                    if upstream is not None:
                        self._greet(upstream)
                        self._pool.add(upstream)
        environment = self._environment
        if not direct:
            environment = {**environment, "LANYARD_SOCKET": self._relay_path, "LANYARD_NO_START": "1"}
        return self._started(Function(arguments, environment))

    def finish(self, function: Function, stdin: str = "") -> Json:
        """The result of a function that prints JSON. Raises `HelloFailed`."""
        out, error, _ = self.wait(function, stdin)
        if error is not None:
            raise HelloFailed(error)
        result: Json = json.loads(out)
        return result

    def wait(self, function: Function, stdin: str = "") -> Tuple[str, Optional[Json], str]:
        """Output, error, status of the response."""
        out, _ = function.process.communicate(stdin)
        error, http = function.end()
        with self._lock:
            if function in self._running:
                self._running.remove(function)
        if error is not None and self.closed:
            error = client_error("clientClosed", "the client was closed")
        if error is not None and error["kind"] not in ("agent", "originRefused"):
            # The command ended its connection.
            self._pool.drop()
        return out, error, http

    def close(self) -> None:
        self.closed = True
        with self._lock:
            running = list(self._running)
        for function in running:
            function.stop()
        self._relay.close()
        self._pool.drop()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _started(self, function: Function) -> Function:
        with self._lock:
            self._running.append(function)
        if self.closed:
            function.stop()
        return function

    def _upstream(self, command: socket.socket) -> Optional[Upstream]:
        upstream = self._pool.take(command)
        if upstream is not None:
            return upstream
        upstream = dial(self._path)
        if upstream is None:
            return None
        try:
            self._greet(upstream)
        except HelloFailed:
            upstream.drop()
            return None
        upstream.command = command
        self._pool.add(upstream)
        return upstream

    def _greet(self, upstream: Upstream) -> Json:
        """`agent.hello`, by the functions, too."""
        path = os.path.join(self._directory, f"hello-{next(self._numbers)}.sock")
        relay = Relay(path, lambda command: upstream)
        try:
            environment = {**self._environment, "LANYARD_SOCKET": path, "LANYARD_NO_START": "1"}
            function = self._started(Function(["lanyard_call", "agent.hello", "-"], environment))
            return self.finish(function, json.dumps(self._hello))
        except HelloFailed:
            upstream.drop()
            raise
        finally:
            relay.close()


class Stream:
    """One `lanyard_events`."""

    def __init__(self, number: str, client: Client, command: Json) -> None:
        arguments = ["lanyard_events", "--position"]
        for kind in command.get("types") or []:
            arguments += ["--type", kind]
        for account in command.get("accounts") or []:
            arguments += ["-u", account]
        if command.get("since"):
            arguments += ["--since", f"{command['since']['epoch']}:{command['since']['sequence']}"]
        self._number = number
        self._client = client
        self._stopped = False
        self._function = client.run(arguments)

    def follow(self) -> None:
        begun = False
        assert self._function.process.stdout is not None
        for text in self._function.process.stdout:
            if begun:
                say({"id": self._number, "event": json.loads(text)})
            else:
                say({"id": self._number, "result": {}})
            begun = True
        _, error, _ = self._client.wait(self._function)
        if self._stopped or (self._client.closed and begun) or error is None:
            say({"id": self._number, "ended": True})
        else:
            say({"id": self._number, "error": error})

    def stop(self) -> None:
        self._stopped = True
        self._function.stop()


class Driver:
    def __init__(self) -> None:
        self._clients: Dict[str, Client] = {}
        self._streams: Dict[str, Stream] = {}

    def obey(self, command: Json) -> None:
        """Begins a command, and answers it."""
        number, do = command["id"], command["do"]
        try:
            if do == "open":
                client = self._clients[command["client"]] = Client(command)
                say({"id": number, "result": client.connect() if command.get("connect") else {}})
            elif do == "close":
                self._clients[command["client"]].close()
                say({"id": number, "result": {}})
            elif do == "stop":
                self._streams[command["of"]].stop()
                say({"id": number, "result": {}})
            else:
                client = self._clients[command["client"]]
                if client.closed:
                    raise HelloFailed(client_error("clientClosed", "the client was closed"))
                if do == "events":
                    stream = self._streams[number] = Stream(number, client, command)
                    stream.follow()
                elif do == "load":
                    say({"id": number, "result": client.load(command["account"], command["count"])})
                elif do == "http":
                    say({"id": number, "result": self._http(client, command)})
                else:
                    assert do == "call", do
                    function = client.run(["lanyard_call", command["method"], "-"])
                    say({"id": number, "result": client.finish(function, json.dumps(command.get("params") or {}))})
        except HelloFailed as failed:
            say({"id": number, "error": failed.error})

    def _http(self, client: Client, command: Json) -> Json:
        arguments = ["lanyard_curl"]
        for scope in command.get("scopes") or []:
            arguments += ["-s", scope]
        if command.get("resource"):
            arguments += ["--aud", command["resource"]]
        arguments += [command["account"], *command["origins"], "--"]
        if command.get("method"):
            arguments += ["-X", command["method"]]
        if command.get("body") is not None:
            arguments += ["--data-raw", command["body"]]
        body, error, status = client.wait(client.run([*arguments, command["url"]]))
        if error is not None:
            raise HelloFailed(error)
        return {"status": int(status), "body": body}

    def close(self) -> None:
        for client in self._clients.values():
            client.close()


def main() -> None:
    driver = Driver()
    for text in sys.stdin:
        command = json.loads(text)
        if command["do"] == "open" and not command.get("connect"):
            driver.obey(command)
        else:
            threading.Thread(target=driver.obey, args=(command,), daemon=True).start()
    driver.close()
    os._exit(0)


if __name__ == "__main__":
    main()
