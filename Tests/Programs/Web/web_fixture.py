"""Fixtures for tests of the page of `lanyard ui`: an agent with an account of the practice provider, `lanyard-web` beside it, and
requests to it that are made by hand."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.parse
from typing import Any, Dict, List, Mapping, Optional, Tuple

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "Integration"))

from agent_fixture import BIN, PATIENCE_SECONDS, AgentFixture, Client, Provider, Scene  # noqa: E402

LANYARD = os.path.join(BIN, "lanyard")
WEB = os.path.join(BIN, "lanyard-web")

FORM = "application/x-www-form-urlencoded"
PAGES = ("accounts", "activity", "approvals", "programs", "waiting", "policies", "health")


class Answer:
    """A whole HTTP answer."""

    def __init__(self, status: int, headers: List[Tuple[str, str]], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def text(self) -> str:
        return self.body.decode()

    def header(self, name: str) -> Optional[str]:
        found = [value for key, value in self.headers if key.lower() == name.lower()]
        return found[0] if found else None


class Page:
    """A running `lanyard-web`, as it announced itself, and the browser that opened it."""

    def __init__(self, process: "subprocess.Popen[str]", announced: Mapping[str, Any]) -> None:
        self.process = process
        self.url: str = announced["url"]
        self.address: str = announced["address"]
        found = urllib.parse.urlsplit(self.url)
        assert found.port is not None
        self.port = found.port
        self.host = f"127.0.0.1:{self.port}"
        self.code = found.fragment
        self.cookie: Optional[str] = None

    @property
    def pid(self) -> int:
        return self.process.pid

    def ask(self, method: str, path: str, body: Optional[bytes] = None, headers: Optional[Mapping[str, str]] = None,
            cookie: Optional[str] = None) -> Answer:
        """One request. `headers` replace those of a plain program; of the value None none is sent."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            fields = {"Host": self.host, **(headers or {})}
            if cookie or self.cookie:
                fields.setdefault("Cookie", cookie or self.cookie or "")
            if body is not None:
                fields.setdefault("Content-Length", str(len(body)))
            for name, value in fields.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            response = connection.getresponse()
            return Answer(response.status, response.getheaders(), response.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def post(self, path: str, form: Mapping[str, str], headers: Optional[Mapping[str, str]] = None,
             cookie: Optional[str] = None) -> Answer:
        """A form as a browser sends it from a page of this server, unless `headers` say other things."""
        sent = {"Content-Type": FORM, "Origin": self.address, "Sec-Fetch-Site": "same-origin", **(headers or {})}
        sent = {name: value for name, value in sent.items() if value}
        return self.ask("POST", path, urllib.parse.urlencode(form).encode(), sent, cookie)

    def redeem(self, code: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> Answer:
        return self.post("/open", {"code": self.code if code is None else code}, headers)

    def open(self) -> "Page":
        """Opens the session, as the script of `/open` does."""
        answer = self.redeem()
        assert answer.status == 303, answer.text
        cookie = answer.header("Set-Cookie")
        assert cookie is not None
        self.cookie = cookie.split(";")[0]
        return self

    def form_token(self) -> str:
        """What the forms of the accounts page carry."""
        page = self.get("/accounts").text
        found = re.search(r'name="token" value="([^"]+)"', page)
        assert found, page[:2000]
        return found.group(1)

    def raw(self, data: bytes, seconds: float = PATIENCE_SECONDS) -> bytes:
        """All that comes back for these bytes until the server closes."""
        told = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as connection:
            try:
                connection.sendall(data)
                while more := connection.recv(65536):
                    told += more
            except ConnectionError:
                pass
        return told

    def begin(self, path: str) -> socket.socket:
        """A request whose answer nobody waits for."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_SECONDS)
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {self.host}\r\nCookie: {self.cookie}\r\n\r\n".encode())
        return connection

    def live(self, page: str) -> "Live":
        return Live(self, page)


class Live:
    """The stream of an open page."""

    def __init__(self, page: Page, name: str) -> None:
        self.connection = socket.create_connection(("127.0.0.1", page.port), timeout=PATIENCE_SECONDS)
        self.connection.sendall(
            f"GET /live?page={name} HTTP/1.1\r\nHost: {page.host}\r\nCookie: {page.cookie}\r\n"
            "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Dest: empty\r\n\r\n".encode())
        self.told = b""
        while b"\r\n\r\n" not in self.told:
            self._more()

    def _more(self) -> None:
        more = self.connection.recv(65536)
        if not more:
            raise EOFError(self.told)
        self.told += more

    @property
    def status(self) -> int:
        return int(self.told.split(b" ", 2)[1])

    @property
    def messages(self) -> int:
        return self.told.count(b"data: changed\n\n")

    def wait_for(self, messages: int) -> None:
        while self.messages < messages:
            self._more()

    def has_ended(self) -> bool:
        """Waits until the server ends the stream."""
        try:
            while True:
                self._more()
        except (EOFError, ConnectionError):
            return True

    def close(self) -> None:
        self.connection.close()


class WebFixture(AgentFixture):
    """Alice's account at the practice provider, and pages that end with their test."""

    idp: Provider
    agent: Scene
    caller: Client

    def setUp(self) -> None:
        super().setUp()
        self.idp, self.agent, self.caller = self.alice()

    def page(self, *words: str, command: Optional[List[str]] = None, **environment: str) -> Page:
        """Starts the page; no browser sent its code yet."""
        process = subprocess.Popen(
            [*(command or [WEB]), "--no-browser", "--json", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env={**self.environment, **environment})
        self.addCleanup(self._end, process)
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        if not line:
            self.fail("the page did not start: " + process.stderr.read())
        return Page(process, json.loads(line))

    @property
    def environment(self) -> Dict[str, str]:
        taken = ("LANYARD_GRANT_FILE", "LANYARD_ACCOUNT", "BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
        return {name: value for name, value in self.agent.environment.items() if name not in taken}

    def ended(self, page: Page) -> "tuple[int, str]":
        """Waits for the end of a page; its status and what it said."""
        status = page.process.wait(PATIENCE_SECONDS)
        assert page.process.stderr is not None
        return status, page.process.stderr.read()

    def _end(self, process: "subprocess.Popen[str]") -> None:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_SECONDS)
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()

    def audited(self, event: str) -> List[Dict[str, Any]]:
        entries = self.caller.call("audit.list", {"limit": 200})["entries"]
        return [entry for entry in entries if entry["event"] == event]


__all__ = ["FORM", "LANYARD", "PAGES", "PATIENCE_SECONDS", "WEB", "Answer", "Live", "Page", "WebFixture"]
