"""Runs scripts in both shells, and serves HTTP."""

from __future__ import annotations

import http.server
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from fake_agent import TOKEN, FakeAgent

from . import HERE, ROOT

SHELLS: Dict[str, List[str]] = {"bash": ["bash", "--norc", "--noprofile"], "zsh": ["zsh", "-f"]}

PATIENCE_SECONDS = 20.0

PROGRAM = os.environ.get("LANYARD_BIN") or os.path.join(ROOT, ".build", "debug", "lanyard")

# Both record what other programs could see of them.
WATCHED = """\
#!/bin/sh
printf '%s\\n' "$@" >> "$WATCHED"
env >> "$WATCHED"
exec {program} "$@"
"""


def secret(number: int = 1) -> Dict[str, Any]:
    """An access token that a search finds."""
    return {**TOKEN, "accessToken": f"secret-{number}", "fingerprint": f"f{number}", "generation": number}


class Ran:
    """What a script did."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err


@unittest.skipUnless(os.access(PROGRAM, os.X_OK), f"there is no command {PROGRAM}: set LANYARD_BIN")
class ShellTest(unittest.TestCase):
    """A scripted agent, and a directory whose `bin` has the command and curl, both watched."""

    def setUp(self) -> None:
        self.place = tempfile.mkdtemp(prefix="lanyard-")
        self.addCleanup(shutil.rmtree, self.place)
        self.agent = FakeAgent()
        self.agent.__enter__()
        self.addCleanup(self.agent.__exit__)
        self.agent.on("token.get", lambda request, peer: secret())
        self.watched = os.path.join(self.place, "watched")
        programs = os.path.join(self.place, "bin")
        os.mkdir(programs)
        for name, program in (("lanyard", PROGRAM), ("curl", shutil.which("curl") or "/usr/bin/curl")):
            path = os.path.join(programs, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(WATCHED.format(program=os.path.abspath(program)))
            os.chmod(path, 0o700)
        self.environment = {
            "PATH": programs + os.pathsep + os.environ["PATH"],
            "HOME": self.place,
            "XDG_RUNTIME_DIR": self.place,
            "LANYARD_SOCKET": self.agent.path,
            "LANYARD_STATE_DIR": self.place,
            "LANYARD_NO_START": "1",
            "LANG": "C.UTF-8",
            "WATCHED": self.watched,
        }

    def start(self, shell: str, script: str, **variables: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*SHELLS[shell], "-c", f". '{HERE}/lanyard.sh'\n{script}"],
            cwd=self.place,
            env={**self.environment, **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    @staticmethod
    def end(process: "subprocess.Popen[str]") -> None:
        """Ends the shell and all that it runs."""
        try:
            os.killpg(process.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
        process.communicate(timeout=PATIENCE_SECONDS)

    def run_in(self, shell: str, script: str, stdin: str = "", **variables: str) -> Ran:
        process = self.start(shell, script, **variables)
        try:
            out, err = process.communicate(stdin, timeout=PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.end(process)
            raise
        return Ran(process.returncode, out, err)

    def both(self, script: str, stdin: str = "", **variables: str) -> List[Tuple[str, Ran]]:
        """Runs a script in each shell; what it did is checked by the caller, in a subtest."""
        return [(shell, self.run_in(shell, script, stdin, **variables)) for shell in SHELLS]

    def prints(self, script: str, out: str, stdin: str = "", status: int = 0, **variables: str) -> None:
        """In both shells the script prints `out` and ends with `status`."""
        for shell, ran in self.both(script, stdin, **variables):
            with self.subTest(shell=shell):
                self.assertEqual((ran.status, ran.out), (status, out), ran.err)

    def seen(self) -> str:
        """The arguments and the environment of all programs that the functions started."""
        with open(self.watched, encoding="utf-8") as file:
            return file.read()


class Server:
    """An HTTP server on loopback. `answer` gets each request, and gives status, headers and body."""

    def __init__(self, answer: Callable[["Request"], Tuple[int, Mapping[str, str], str]]) -> None:
        self.requests: List[Request] = []
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def handle_all(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                request = Request(self.command, self.path, dict(self.headers), body)
                server.requests.append(request)
                status, headers, text = answer(request)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            do_GET = do_POST = do_PUT = handle_all

            def log_message(self, *_: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: Any) -> None:
        self._server.shutdown()
        self._server.server_close()


class Request:
    """What a server got."""

    def __init__(self, method: str, path: str, headers: Mapping[str, str], body: str) -> None:
        self.method, self.path, self.headers, self.body = method, path, headers, body

    def header(self, name: str) -> Optional[str]:
        return {key.lower(): value for key, value in self.headers.items()}.get(name.lower())
