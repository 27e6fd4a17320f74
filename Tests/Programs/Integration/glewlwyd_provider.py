"""Glewlwyd, an OpenID provider that others wrote: run on loopback with a database of its own, set up by its REST API."""

from __future__ import annotations

import base64
import http.cookiejar
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Dict, List, Optional, Tuple

PATIENCE_SECONDS = 60.0

TABLES = "/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3"
MODULES = "/usr/lib/glewlwyd"

ADMINISTRATOR = ("admin", "password")
"""As the tables' file has it."""
PERSON, PASSWORD = "ada", "correct horse battery staple"
CLIENT, SECRET = "desk", "the-secret-of-desk"
SCOPES = ["openid", "profile", "email"]

NONCE_USES = 2
"""How many proofs the realm `nonces` accepts with one nonce."""


class Stays(urllib.request.HTTPRedirectHandler):
    """Redirects are returned, not followed."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Browser:
    """A person's browser: it keeps cookies."""

    def __init__(self) -> None:
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), Stays, urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    def ask(
        self, method: str, url: str, body: Optional[bytes] = None, headers: Optional[Dict[str, str]] = None
    ) -> Tuple[int, Any, bytes]:
        request = urllib.request.Request(url, body, headers or {}, method=method)
        try:
            with self._opener.open(request, timeout=PATIENCE_SECONDS) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as answer:
            with answer:
                return answer.code, answer.headers, answer.read()

    def api(self, method: str, url: str, body: Any = None) -> Any:
        """A call of the REST API, which has to succeed."""
        data = None if body is None else json.dumps(body).encode()
        status, _, told = self.ask(method, url, data, {"Content-Type": "application/json"})
        if status != 200:
            raise AssertionError(f"{method} {url}: {status} {told!r}")
        return json.loads(told) if told else None


class Glewlwyd:
    """Two realms (instances of the OpenID plug-in): `plain`, and `nonces`, which demands a nonce in each proof."""

    def __init__(self) -> None:
        self.directory = tempfile.mkdtemp(prefix="lanyard-glewlwyd-")
        self._process: "Optional[subprocess.Popen[bytes]]" = None
        try:
            self._start()
            self._set_up()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def issuer(self, realm: str) -> str:
        return f"{self.api}/{realm}"

    def log(self) -> str:
        path = os.path.join(self.directory, "log")
        if not os.path.exists(path):
            return "no log"
        with open(path, errors="replace") as log:
            return log.read()[-4000:]

    def _start(self) -> None:
        database = os.path.join(self.directory, "database")
        with open(TABLES) as tables, sqlite3.connect(database) as store:
            # Commits wait for fewer writes to the disk.
            store.executescript("PRAGMA journal_mode = WAL;\n" + tables.read())
        store.close()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.origin = f"http://127.0.0.1:{port}"
        self.api = self.origin + "/api"
        settings = {
            "port": port, "bind_address": "127.0.0.1", "external_url": self.origin, "login_url": "login.html",
            "api_prefix": "api", "log_mode": "file", "log_level": "DEBUG", "log_file": os.path.join(self.directory, "log"),
            "cookie_secure": 0, "session_key": "SESSION", "session_expiration": 3600,
            "admin_scope": "g_admin", "profile_scope": "g_profile", "hash_algorithm": "SHA512",
            "user_module_path": MODULES + "/user", "client_module_path": MODULES + "/client",
            "user_middleware_module_path": self.directory,
            "user_auth_scheme_module_path": MODULES + "/scheme", "plugin_module_path": MODULES + "/plugin"}
        lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
        lines.append(f'database = {{ type = "sqlite3"; path = {json.dumps(database)}; }};')
        configuration = os.path.join(self.directory, "configuration")
        with open(configuration, "w") as file:
            file.write("\n".join(lines) + "\n")
        self._process = subprocess.Popen(
            ["glewlwyd", "--config-file=" + configuration], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, cwd=self.directory)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("Glewlwyd does not listen: " + self.log())
            time.sleep(0.01)

    def _set_up(self) -> None:
        administrator = Browser()
        administrator.api("POST", self.api + "/auth/", dict(zip(("username", "password"), ADMINISTRATOR)))
        for scope in ("profile", "email"):
            administrator.api("POST", self.api + "/scope/", {"name": scope, "display_name": scope, "password_required": False})
        administrator.api("POST", self.api + "/user/", {
            "username": PERSON, "password": PASSWORD, "name": "Ada Byron", "email": "ada@example.org", "enabled": True,
            "scope": [*SCOPES, "g_profile"]})
        for realm in ("plain", "nonces"):
            administrator.api("POST", self.api + "/mod/plugin/", {
                "module": "oidc", "name": realm, "display_name": realm, "enabled": True, "parameters": self._realm(realm)})
        self.person = Browser()
        self.person.api("POST", self.api + "/auth/", {"username": PERSON, "password": PASSWORD})
        self._administrator = administrator

    def _realm(self, realm: str) -> Dict[str, Any]:
        def openssl(*words: str, given: Optional[bytes] = None) -> str:
            return subprocess.run(["openssl", *words], input=given, capture_output=True, check=True).stdout.decode()

        key = openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
        return {
            "iss": self.issuer(realm), "oauth-as-iss-id": True,
            "jwt-type": "ecdsa", "jwt-key-size": "256", "key": key,
            "cert": openssl("pkey", "-pubout", given=key.encode()),
            "access-token-duration": 3600, "refresh-token-duration": 86400, "code-duration": 60,
            "refresh-token-rolling": True, "refresh-token-one-use": "always",
            "auth-type-code-enabled": True, "auth-type-refresh-enabled": True, "allow-non-oidc": False,
            "auth-type-token-enabled": False, "auth-type-client-enabled": False, "auth-type-password-enabled": False,
            "name-claim": "mandatory", "email-claim": "mandatory",
            "pkce-allowed": True, "pkce-required": True, "pkce-method-plain-allowed": False,
            "oauth-dpop-allowed": True, "oauth-dpop-iat-duration": 60, "oauth-dpop-iat-gap-duration": 5,
            "oauth-dpop-nonce-mandatory": realm == "nonces", "oauth-dpop-nonce-counter": NONCE_USES,
            "introspection-revocation-allowed": True, "introspection-revocation-allow-target-client": True}

    def register(self, redirect: str) -> None:
        """Adds the client, to which the person has granted all scopes, so that no page asks."""
        self._administrator.api("POST", self.api + "/client/", {
            "client_id": CLIENT, "name": CLIENT, "client_secret": SECRET, "confidential": True, "enabled": True,
            "authorization_type": ["code", "refresh_token"], "redirect_uri": [redirect], "scope": [],
            "token_endpoint_auth_method": ["client_secret_basic"]})
        self.person.api("PUT", f"{self.api}/auth/grant/{CLIENT}", {"scope": " ".join(SCOPES)})

    def redirected(self, url: str) -> str:
        """Where an authorization request redirects the person, after the page that Glewlwyd puts before it."""
        status, headers, told = self.person.ask("GET", url)
        if status == 302 and "/login.html?" in headers["Location"]:
            status, headers, told = self.person.ask("GET", url + "&g_continue")
        if status != 302:
            raise AssertionError(f"{status} {told!r} {self.log()}")
        return str(headers["Location"])

    def refresh_tokens(self, realm: str) -> List[bool]:
        """The person's refresh tokens: True for one that is good."""
        found = self.person.api("GET", self.issuer(realm) + "/token/?limit=1000")
        return [bool(each["enabled"]) for each in found]

    def revoke_all(self, realm: str) -> None:
        """The person ends what all clients may do."""
        for each in self.person.api("GET", self.issuer(realm) + "/token/?limit=1000"):
            if each["enabled"]:
                name = urllib.parse.quote(each["token_hash"], safe="")
                self.person.api("DELETE", f"{self.issuer(realm)}/token/{name}")

    def introspect(self, realm: str, token: str) -> Any:
        status, told = self._post(realm, "introspect", token=token)
        if status != 200:
            raise AssertionError(f"{status} {told!r} {self.log()}")
        return told

    def token_request(self, realm: str, **form: str) -> Tuple[int, Any]:
        """A request of the client without a proof."""
        return self._post(realm, "token", **form)

    def _post(self, realm: str, path: str, **form: str) -> Tuple[int, Any]:
        credentials = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        status, _, told = Browser().ask(
            "POST", f"{self.issuer(realm)}/{path}", urllib.parse.urlencode(form).encode(),
            {"Authorization": "Basic " + credentials})
        return status, json.loads(told) if told else None
