"""Fixtures for tests of the credential helpers with real tools: TLS servers on loopback that want a token of the practice
provider, links to `lanyard`, and an environment that holds nothing of the person who runs the tests."""

from __future__ import annotations

import atexit
import base64
import contextlib
import functools
import http.client
import http.server
import json
import os
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "Integration"))

from agent_fixture import BIN, PATIENCE_SECONDS, ROOT, accepts  # noqa: E402
from test_credentials import LANYARD, Credentials  # noqa: E402

VENV = os.path.abspath(os.environ.get("LANYARD_DESKTOP_VENV") or os.path.join(ROOT, ".build", "desktop"))

LIFETIME_SECONDS = 300
"""The practice provider's own lifetime of an access token."""


def program(name: str, package: str) -> str:
    """The path of a program from a Debian package.

    Raises:
        RuntimeError: It is missing. No test is skipped for that.
    """
    found = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if found is None:
        raise RuntimeError(f"{name} is missing here (Debian: {package})")
    return found


def not_installed(status: int) -> Exception:
    """Where no package index is reached, tests say that they skip, unless LANYARD_REQUIRE_REAL=1 (.ci/run) asks for them."""
    if os.environ.get("LANYARD_REQUIRE_REAL") == "1":
        return RuntimeError(f"the Python tools can't be installed ({status})")
    return unittest.SkipTest("NOT TESTED: the Python tools can't be installed here")


@functools.lru_cache(maxsize=None)
def python_packages(part: str = "") -> str:
    """The folder of the programs of requirements.txt, or of another part, which are installed once (see `install`)."""
    words = [part] if part else []
    done = subprocess.run([os.path.join(HERE, "install"), *words], env={**os.environ, "LANYARD_DESKTOP_VENV": VENV})
    if done.returncode != 0:
        raise not_installed(done.returncode)
    return os.path.join("-".join([VENV, *words]), "bin")


class Certificates(NamedTuple):
    authority: str
    """The certificate that a tool has to trust."""
    certificate: str
    key: str


@functools.lru_cache(maxsize=None)
def certificates() -> Certificates:
    """An authority and a certificate for `localhost`, `tools.localhost` and 127.0.0.1, made once for a test run."""
    folder = tempfile.mkdtemp(prefix="lanyard-desktop-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = functools.partial(os.path.join, folder)

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], check=True, capture_output=True)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *key, "-keyout", path("authority.key"), "-out", path("authority.pem"), "-days", "2",
            "-subj", "/CN=Lanyard tests", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    openssl("req", *key, "-keyout", path("server.key"), "-out", path("server.csr"), "-subj", "/CN=localhost")
    with open(path("extensions"), "w", encoding="utf-8") as file:
        file.write("subjectAltName=DNS:localhost,DNS:tools.localhost,IP:127.0.0.1\nbasicConstraints=critical,CA:FALSE\n"
                   "keyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth\n"
                   "subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n")
    openssl("x509", "-req", "-in", path("server.csr"), "-CA", path("authority.pem"), "-CAkey", path("authority.key"),
            "-CAcreateserial", "-days", "2", "-extfile", path("extensions"), "-out", path("server.pem"))
    return Certificates(path("authority.pem"), path("server.pem"), path("server.key"))


class Request(NamedTuple):
    method: str
    path: str
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def authorization(self) -> Optional[str]:
        return self.headers.get("Authorization")

    @property
    def bearer(self) -> Optional[str]:
        scheme, _, rest = (self.authorization or "").partition(" ")
        return rest if scheme == "Bearer" else None

    @property
    def basic(self) -> "Optional[tuple[str, str]]":
        """User name and password."""
        scheme, _, rest = (self.authorization or "").partition(" ")
        if scheme != "Basic":
            return None
        user, _, password = base64.b64decode(rest).decode().partition(":")
        return user, password

    @property
    def token(self) -> Optional[str]:
        """The bearer token, or the password in its place."""
        return self.bearer or (self.basic[1] if self.basic else None)


class Response(NamedTuple):
    status: int
    body: bytes = b""
    headers: "Iterable[tuple[str, str]]" = ()

    @classmethod
    def json(cls, value: Any, status: int = 200) -> "Response":
        return cls(status, json.dumps(value).encode(), [("Content-Type", "application/json")])


class Server:
    """A TLS server on loopback: it records every request, and `answer` makes the response."""

    def __init__(self, answer: Callable[[Request], Response], host: str = "localhost") -> None:
        self.requests: List[Request] = []
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = PATIENCE_SECONDS

            def handle_one_request(self) -> None:
                try:
                    super().handle_one_request()
                except OSError:
                    # A client may break off, or not trust the certificate.
                    self.close_connection = True

            def __getattr__(self, name: str) -> Any:
                if name.startswith("do_"):
                    return self._respond
                raise AttributeError(name)

            def _respond(self) -> None:
                request = Request(self.command, self.path, self.headers, self._body())
                server.requests.append(request)
                response = answer(request)
                self.send_response_only(response.status)
                for name, value in response.headers:
                    self.send_header(name, value)
                if not any(name.lower() == "content-length" for name, _ in response.headers):
                    self.send_header("Content-Length", str(len(response.body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(response.body)

            def _body(self) -> bytes:
                if self.headers.get("Expect", "").lower() == "100-continue":
                    self.send_response_only(100)
                    self.end_headers()
                if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                    return self.rfile.read(int(self.headers.get("Content-Length") or 0))
                body = b""
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                while self.rfile.readline().strip():
                    pass
                return body

            def log_message(self, *_: Any) -> None:
                pass

        class Listener(http.server.ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def get_request(self) -> Any:
                connection, address = super().get_request()
                # The handshake is the work of the connection's own thread, at its first read.
                return context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address

            def handle_error(self, *_: Any) -> None:
                server.errors.append(repr(sys.exc_info()[1]))

        self.errors: List[str] = []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates().certificate, certificates().key)
        self._listener = Listener(("127.0.0.1", 0), Handler)
        self.place = f"{host}:{self._listener.server_port}"
        """Host and port."""
        self.origin = f"https://{self.place}"
        threading.Thread(target=self._listener.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        self._listener.shutdown()
        self._listener.server_close()

    def tokens(self) -> List[str]:
        """The tokens that came, each once, in the order of their first request."""
        return list(dict.fromkeys(request.token for request in list(self.requests) if request.token))

    def received(self) -> str:
        """All that came, with the credentials in clear."""
        lines = []
        for request in list(self.requests):
            lines += [f"{request.method} {request.path}", str(request.headers), str(request.basic)]
            lines.append(request.body.decode("latin-1"))
        return "\n".join(lines)


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=PATIENCE_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE_SECONDS)
        self.sock.connect(self._path)


def forward(request: Request, to: "int | str", **headers: Optional[str]) -> Response:
    """Passes a request to a server without TLS, at a port of 127.0.0.1 or at a socket. A header that is None is left out."""
    given = {name.replace("_", "-").lower(): value for name, value in headers.items()}
    left_out = {"connection", "transfer-encoding", "expect", "content-length", *given}
    sent = [(name, value) for name, value in request.headers.items() if name.lower() not in left_out]
    sent += [(name, value) for name, value in given.items() if value is not None]
    sent.append(("Content-Length", str(len(request.body))))
    connection = (_UnixConnection(to) if isinstance(to, str)
                  else http.client.HTTPConnection("127.0.0.1", to, timeout=PATIENCE_SECONDS))
    try:
        connection.putrequest(request.method, request.path, skip_host=True, skip_accept_encoding=True)
        for name, value in sent:
            connection.putheader(name, value)
        connection.endheaders(request.body)
        answer = connection.getresponse()
        content = answer.read()
        kept = [(name, value) for name, value in answer.getheaders()
                if name.lower() not in ("connection", "transfer-encoding", "date", "server", "content-length")]
        # The length of a body that HEAD leaves out is the answer's, and not that of nothing.
        length = answer.getheader("Content-Length") if request.method == "HEAD" else None
        return Response(answer.status, content, [*kept, ("Content-Length", length or str(len(content)))])
    finally:
        connection.close()


class Desktop(Credentials):
    """An agent at which Alice (`work`) and Bob (`home`) are signed in, for tools of the desktop."""

    def setUp(self) -> None:
        super().setUp()
        self.links = os.path.join(self.place, "bin")
        """The first folder of the tools' PATH."""
        os.mkdir(self.links)
        self._told: List[str] = []
        self._keys: List[str] = []

    def link(self, name: str) -> str:
        """A link to `lanyard` in the tools' PATH."""
        path = os.path.join(self.links, name)
        os.symlink(LANYARD, path)
        return path

    def environment(self, **more: str) -> Dict[str, str]:
        found = {"PATH": f"{self.links}:{os.environ['PATH']}:/usr/sbin:/sbin", "SSL_CERT_FILE": certificates().authority}
        return super().environment(**{**found, **more})

    def write(self, name: str, text: Any, mode: int = 0o600) -> str:
        """A file in the test's directory, of text or of JSON."""
        path = os.path.join(self.place, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf-8") as file:
            file.write(text if isinstance(text, str) else json.dumps(text))
        return path

    def server(self, answer: Callable[[Request], Response], host: str = "localhost") -> Server:
        server = Server(answer, host)
        self.addCleanup(server.stop)
        return server

    def background(self, *words: str, **environment: str) -> "subprocess.Popen[str]":
        """Starts a program that ends with the test."""
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            cwd=self.place, env=self.environment(**environment))

        def stop() -> None:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE_SECONDS)
            assert process.stdout is not None
            process.stdout.close()

        self.addCleanup(stop)
        return process

    def tool(self, *words: str, status: Optional[int] = 0, input: str = "",
             **environment: str) -> "subprocess.CompletedProcess[str]":
        """Runs a tool and asserts its exit code, and that it shows no token.

        Args:
            status: The exit code; None for any but 0.
        """
        ran = subprocess.run(
            words, input=input, capture_output=True, text=True, timeout=PATIENCE_SECONDS, cwd=self.place,
            env=self.environment(**environment))
        shown = ran.stdout + ran.stderr
        if status is None:
            self.assertNotEqual(ran.returncode, 0, shown)
        else:
            self.assertEqual(ran.returncode, status, shown)
        for token in self._told:
            self.assertNotIn(token, shown)
        return ran

    # The provider's side

    def token(self, account: str = "work") -> str:
        """The present access token; no tool may show it from now on."""
        token: str = super().token(account)
        if token not in self._told:
            self._told.append(token)
        return token

    def key(self, *origins: str, secret: str = "", username: str = "", **settings: Any) -> str:
        """Makes `key`, an account with a key for these origins; returns the key, which no tool may show."""
        secret = secret or f"key-{secrets.token_urlsafe(24)}"
        self.caller.call("provider.add", {
            "name": "keys", "kind": "secret", "allowedOrigins": list(origins), "caFile": certificates().authority, **settings})
        self.caller.call("account.add", {
            "provider": "keys", "secret": secret, "alias": "key", **({"username": username} if username else {})})
        self._keys.append(secret)
        self._told.append(secret)
        return secret

    def is_good(self, token: Optional[str]) -> bool:
        """True for a key of a test, and if the provider takes this access token: it is neither expired nor revoked."""
        if token in self._keys:
            return True
        request = urllib.request.Request(f"{self.idp.issuer}/userinfo", headers={"Authorization": f"Bearer {token}"})
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=PATIENCE_SECONDS):
                return True
        except urllib.error.HTTPError as error:
            error.close()
            return False

    def exchanges(self) -> int:
        """The number of token requests so far."""
        return self.idp.asked("/token")

    def short_lived(self, seconds: int) -> str:
        """Replaces the account's token by one that ends soon. The tokens after it live long again."""
        with self.short_lifetimes(seconds):
            return self.token()

    @contextlib.contextmanager
    def short_lifetimes(self, seconds: int = 3) -> Iterator[None]:
        """Has each token end soon that is issued now or within the block. The agent gives a tool only tokens that have half
        of their time left, so a slow tool gets a newer one, which ends soon as well."""
        self.idp.post("options", accessTokenLifetimeSeconds=seconds)
        self.caller.call("token.refresh", {"account": "work"})
        try:
            yield
        finally:
            self.idp.post("options", accessTokenLifetimeSeconds=LIFETIME_SECONDS)

    def ended(self, token: str) -> None:
        """Waits until the provider refuses the token."""

        def refused() -> bool:
            time.sleep(0.02)
            return not self.is_good(token)

        self.until(refused, "the end of the token")

    def revoke(self, token: str) -> None:
        """Revokes an access token alone (RFC 7009): the agent still takes it for a good one."""
        self.idp.post("options", revocationReach="token")
        form = f"token={token}&client_id=lanyard-demo".encode()
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
                f"{self.idp.issuer}/revoke", form, timeout=PATIENCE_SECONDS):
            pass
        self.assertFalse(self.is_good(token))

    def sign_out(self) -> None:
        """Signs both accounts out; their rules stay."""
        for account in ("work", "home"):
            self.caller.call("account.signOut", {"account": account, "mode": "soft"})

    def assertNothingCame(self, server: Server) -> None:  # noqa: N802
        """Asserts that a server was asked, and that neither a credential nor a token is in any of its requests. Some tools
        send an empty name and password."""
        self.assertGreater(len(server.requests), 0, "the server was not asked at all")
        self.assertEqual(server.tokens(), [])
        received = server.received()
        for token in [self.token("work"), self.token("home"), *self._told]:
            self.assertNotIn(token, received)


__all__ = [
    "BIN", "Certificates", "Desktop", "HERE", "LANYARD", "LIFETIME_SECONDS", "PATIENCE_SECONDS", "ROOT", "Request", "Response",
    "Server", "accepts", "certificates", "forward", "program", "python_packages",
]
