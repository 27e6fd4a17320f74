"""A real OpenID provider (Tests/Programs/RealProvider), a proxy before it, and a person with a browser."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import http.client
import http.cookiejar
import json
import os
import secrets
import subprocess
import threading
import unittest
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict, List, NamedTuple, Optional

from agent_fixture import PATIENCE_SECONDS, ROOT

FOLDER = os.path.join(ROOT, "Tests", "Programs", "RealProvider")
PASSWORD = "correct horse"
CALLBACK = "http://127.0.0.1:1/callback"
"""No server listens here: the browser stops at this address."""

CANNOT_INSTALL = 75
START_SECONDS = 120.0


class Answer(NamedTuple):
    """A response without its secrets."""

    path: str
    status: int
    error: Optional[str]
    members: List[str]

    @property
    def shape(self) -> str:
        body = self.error or " ".join(self.members) or "no body"
        return f"{self.status} {body}"


def shape(path: str, status: int, body: bytes) -> Answer:
    try:
        parsed = json.loads(body)
    except ValueError:
        return Answer(path, status, None, ["(text)"] if body else [])
    if not isinstance(parsed, dict):
        return Answer(path, status, None, [f"({type(parsed).__name__})"])
    return Answer(path, status, parsed.get("error"), sorted(parsed))


class Wire:
    """A proxy between the agent and the provider: it records responses, can drop one, and can be cut."""

    def __init__(self) -> None:
        self.answers: List[Answer] = []
        self.refresh_token = ""
        """The latest refresh token on the wire, for the part of a thief."""
        self._swallow: Optional[str] = None
        self._server: Optional[ThreadingHTTPServer] = None
        self.upstream = 0
        self._port = 0
        self.join()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def join(self) -> None:
        """Accepts connections, also again at the same port after a cut."""
        if self._server is not None:
            return
        wire = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                wire._forward(self)

            do_POST = do_GET

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._server.daemon_threads = True
        self._port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def cut(self) -> None:
        """Stops accepting connections."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def swallow(self, path: str) -> None:
        """Forwards the next request to `path`, and drops its response."""
        self._swallow = path

    def _forward(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        path = urllib.parse.urlsplit(handler.path).path
        swallowed = self._swallow == path
        if swallowed:
            self._swallow = None
        connection = http.client.HTTPConnection("127.0.0.1", self.upstream, timeout=PATIENCE_SECONDS)
        headers = {name: value for name, value in handler.headers.items() if name.lower() != "connection"}
        connection.request(handler.command, handler.path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        self.answers.append(shape(path, answer.status, content))
        connection.close()
        if answer.status == 200 and "refresh_token" in self.answers[-1].members:
            self.refresh_token = json.loads(content)["refresh_token"]
        handler.close_connection = True
        if swallowed:
            return
        handler.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    def last(self, path: str) -> Answer:
        return [answer for answer in self.answers if answer.path == path][-1]

    def asked(self, path: str) -> int:
        return sum(answer.path == path for answer in self.answers)


class RealProvider:
    """django-oauth-toolkit, started. Raises SkipTest where it can't be installed and is not required."""

    def __init__(self) -> None:
        self.wire = Wire()
        self._process = subprocess.Popen(
            [os.path.join(FOLDER, "run"), "--origin", self.wire.origin],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait(START_SECONDS)
            self.stop()
            if code == CANNOT_INSTALL and os.environ.get("LANYARD_REQUIRE_REAL") != "1":
                raise unittest.SkipTest("django-oauth-toolkit can't be installed here: no real provider is tried")
            raise RuntimeError(f"the real provider did not start: exit {code}")
        said = json.loads(line)
        self.issuer: str = said["issuer"]
        self.secret: str = said["secret"]
        self.wire.upstream = said["port"]

    def stop(self) -> None:
        self.wire.cut()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait(PATIENCE_SECONDS)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def control(self, what: str, /, **members: Any) -> Dict[str, Any]:
        """Sends a control request as an administrator, bypassing the proxy."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.wire.upstream}/controls/{what}", json.dumps(members).encode(),
            {"Content-Type": "application/json"})
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
            result: Dict[str, Any] = json.load(answer)
            return result

    def post(self, path: str, **form: str) -> "tuple[Answer, Dict[str, Any]]":
        """Sends a form as another client, bypassing the proxy."""
        connection = http.client.HTTPConnection("127.0.0.1", self.wire.upstream, timeout=PATIENCE_SECONDS)
        connection.request("POST", f"/o/{path}", urllib.parse.urlencode(form),
                           {"Content-Type": "application/x-www-form-urlencoded"})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        told = shape(f"/o/{path}", answer.status, body)
        return told, json.loads(body) if told.members and told.members[0][0] != "(" else {}

    def refresh(self, token: str, **more: str) -> "tuple[Answer, Dict[str, Any]]":
        return self.post("token/", **{
            "grant_type": "refresh_token", "refresh_token": token, "client_id": "public", **more})

    def sign_in(self, person: str, client: str = "public") -> str:
        """Signs in on the pages as another client; returns the refresh token."""
        verifier = secrets.token_urlsafe(48)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        query = urllib.parse.urlencode({
            "response_type": "code", "client_id": client, "redirect_uri": CALLBACK, "state": "s",
            "scope": "openid profile email offline_access", "code_challenge": challenge,
            "code_challenge_method": "S256"})
        address = Browser(stops_at=CALLBACK).visit(f"{self.issuer}/authorize/?{query}", person)
        code = urllib.parse.parse_qs(urllib.parse.urlsplit(address).query)["code"][0]
        secret = {"client_secret": self.secret} if client == "confidential" else {}
        answer, tokens = self.post("token/", grant_type="authorization_code", code=code, redirect_uri=CALLBACK,
                                   client_id=client, code_verifier=verifier, **secret)
        assert answer.status == 200, answer
        token: str = tokens["refresh_token"]
        return token


class Form(html.parser.HTMLParser):
    """The only form of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.fields: Dict[str, str] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        members = dict(attrs)
        if tag == "input" and "name" in members:
            self.fields[members["name"]] = members.get("value") or ""


class _Stop(urllib.request.HTTPRedirectHandler):
    def __init__(self, stops_at: Optional[str]) -> None:
        self._stops_at = stops_at

    def redirect_request(self, request: Any, file: Any, code: int, message: str, headers: Any, address: str) -> Any:
        if self._stops_at and address.startswith(self._stops_at):
            return None
        return super().redirect_request(request, file, code, message, headers, address)


class Browser:
    """Cookies, forms and redirects: a person who signs in and consents or refuses."""

    def __init__(self, stops_at: Optional[str] = None) -> None:
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), _Stop(stops_at),
            urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    def open(self, address: str, fields: Optional[Dict[str, str]] = None) -> "tuple[str, str]":
        data = None if fields is None else urllib.parse.urlencode(fields).encode()
        try:
            with self._opener.open(address, data, timeout=PATIENCE_SECONDS) as answer:
                return answer.url, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                if 300 <= error.code < 400:
                    return error.headers["Location"], ""
                return error.url, error.read().decode()  # an error page is a page, too

    def visit(self, address: str, person: str, agrees: bool = True) -> str:
        """Walks through the pages of sign-in and consent; returns the last address."""
        where, page = self.open(address)
        form = Form(page).fields
        if "password" in form:
            where, page = self.open(where, {**form, "username": person, "password": PASSWORD})
            form = Form(page).fields
        if "code_challenge" in form:
            if not agrees:
                form.pop("allow", None)
            where, page = self.open(where, form)
        return where
