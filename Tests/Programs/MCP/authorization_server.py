"""A scripted authorization server: metadata at configurable places, registration, PKCE, rotation, faults, and its own opinion of
every request in `complaints`."""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
import urllib.parse
from typing import Any, Callable, Dict, List, Optional, Tuple

import dpop
from listener import Answer, Listener, Request, Response


class Token:
    """An access token or a refresh token, with what it was issued for."""

    def __init__(self, value: str, grant: "Grant", scopes: Tuple[str, ...], lifetime: float) -> None:
        self.value = value
        self.grant = grant
        self.scopes = scopes
        self.expires_at = time.monotonic() + lifetime

    @property
    def good(self) -> bool:
        return not self.grant.ended and time.monotonic() < self.expires_at


class Grant:
    """What a person allowed a client, once."""

    def __init__(self, person: str, client: str, resource: Optional[str], scopes: Tuple[str, ...]) -> None:
        self.person = person
        self.client = client
        self.resource = resource
        self.scopes = scopes
        self.ended: Optional[str] = None
        self.refresh_token: Optional[str] = None
        self.spent: "set[str]" = set()
        self.thumbprint: Optional[str] = None


class AuthorizationServer(Listener):
    """Settings are attributes, which a test sets before or between requests."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self.metadata_paths: List[str] = [f"/.well-known/oauth-authorization-server{prefix}"]
        """Where the document lies; a request for another well-known place is 404."""
        self.claimed_issuer: Optional[str] = None
        """The `issuer` of the document; None for the proper one."""
        self.endpoint_prefix = prefix
        self.metadata_more: Dict[str, Any] = {}
        self.metadata_less: "set[str]" = set()
        self.scopes_supported: Optional[List[str]] = None
        self.auth_methods: Optional[List[str]] = ["none"]
        """`token_endpoint_auth_methods_supported`; the first is what a registered client is told to use."""
        self.registration = True
        self.client_id_metadata_documents = False
        self.pkce: Optional[List[str]] = ["S256"]
        self.advertises_iss: Optional[bool] = None
        self.sends_iss: "Callable[[], Optional[str]]" = lambda: None
        """The `iss` of a redirect."""
        self.refresh_tokens = True
        self.rotation = True
        self.lifetime = 300.0
        """Of an access token, in seconds."""
        self.tells_lifetime = True
        self.person = "alice"
        """The person at the browser."""
        self.denies = False
        self.granted: "Callable[[Tuple[str, ...]], Tuple[str, ...]]" = lambda asked: asked
        self.dpop_nonce: Optional[str] = None
        """With `dpop` in the metadata: the nonce that a token request must carry."""
        self.issues_bound = False
        self.name = "at"
        """Begins every token, so that a test sees whose it is."""

        self.clients: Dict[str, Dict[str, Any]] = {}
        self.access_tokens: Dict[str, Token] = {}
        self.grants: List[Grant] = []
        self.codes: Dict[str, Dict[str, Any]] = {}
        self.complaints: List[str] = []
        """What a client did that OAuth 2.1 forbids."""
        self.proofs: List[Dict[str, Any]] = []
        super().__init__()
        self.issuer = f"{self.origin}{prefix}"

    # What it holds

    def register(self, client_id: str, secret: Optional[str] = None, method: Optional[str] = None,
                 redirects: Optional[List[str]] = None) -> None:
        """Registers a client beforehand. Without `redirects` any of loopback is taken."""
        self.clients[client_id] = {
            "client_secret": secret, "redirect_uris": redirects, "token_endpoint_auth_method":
                method or ("client_secret_basic" if secret else "none")}

    def sign_in(self, person: str, client: str, resource: Optional[str], *scopes: str) -> str:
        """A refresh token, as from a sign-in just now."""
        with self.lock:
            grant = Grant(person, client, resource, scopes)
            self.grants.append(grant)
            return self._refresh_token(grant)

    def expire_access_tokens(self) -> None:
        """Ends every access token there is; the grants stay."""
        with self.lock:
            for token in self.access_tokens.values():
                token.expires_at = time.monotonic()

    def end_grants(self, why: str = "revoked") -> None:
        with self.lock:
            for grant in self.grants:
                grant.ended = grant.ended or why

    def token(self, value: Optional[str]) -> Optional[Token]:
        return self.access_tokens.get(value or "")

    def secrets(self) -> List[str]:
        """Every token, code and secret that was ever issued."""
        with self.lock:
            told = list(self.access_tokens) + list(self.codes)
            for grant in self.grants:
                told += [*grant.spent, *([grant.refresh_token] if grant.refresh_token else [])]
            return told + [client["client_secret"] for client in self.clients.values() if client.get("client_secret")]

    # Counting

    @property
    def exchanges(self) -> int:
        """The number of token requests."""
        return self.asked(f"{self.endpoint_prefix}/token")

    def exchanges_of(self, grant_type: str) -> List[Dict[str, str]]:
        return [request.form for request in self.requests(f"{self.endpoint_prefix}/token")
                if request.form.get("grant_type") == grant_type]

    @property
    def refreshes(self) -> int:
        return len(self.exchanges_of("refresh_token"))

    def authorizations(self) -> List[Dict[str, str]]:
        """The authorization requests, each as its parameters."""
        return [request.query for request in self.requests(f"{self.endpoint_prefix}/authorize")]

    def registrations(self) -> List[Any]:
        return [request.message for request in self.requests(f"{self.endpoint_prefix}/register")]

    # Answers

    def metadata(self) -> Dict[str, Any]:
        at = f"{self.origin}{self.endpoint_prefix}"
        found: Dict[str, Any] = {
            "issuer": self.claimed_issuer or self.issuer,
            "authorization_endpoint": f"{at}/authorize",
            "token_endpoint": f"{at}/token",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "revocation_endpoint": f"{at}/revoke",
        }
        if self.registration:
            found["registration_endpoint"] = f"{at}/register"
        if self.client_id_metadata_documents:
            found["client_id_metadata_document_supported"] = True
        if self.pkce is not None:
            found["code_challenge_methods_supported"] = self.pkce
        if self.auth_methods is not None:
            found["token_endpoint_auth_methods_supported"] = self.auth_methods
        if self.scopes_supported is not None:
            found["scopes_supported"] = self.scopes_supported
        if self.advertises_iss is not None:
            found["authorization_response_iss_parameter_supported"] = self.advertises_iss
        found.update(self.metadata_more)
        return {name: value for name, value in found.items() if name not in self.metadata_less}

    def answer(self, request: Request) -> Answer:
        if request.path in self.metadata_paths:
            return Response.json(self.metadata())
        inside = request.path[len(self.endpoint_prefix):] if request.path.startswith(self.endpoint_prefix) else ""
        if inside == "/authorize":
            return self._authorize(request)
        if inside == "/token" and request.method == "POST":
            return self._token(request)
        if inside == "/register" and request.method == "POST" and self.registration:
            return self._register(request)
        if inside == "/revoke" and request.method == "POST":
            return self._revoke(request)
        return Response(404, b"no such thing here")

    def _complain(self, what: str) -> None:
        with self.lock:
            self.complaints.append(what)

    def _register(self, request: Request) -> Answer:
        asked = request.message or {}
        method = (self.auth_methods or ["client_secret_basic"])[0]
        wished = asked.get("token_endpoint_auth_method")
        if wished is not None and (self.auth_methods is None or wished in self.auth_methods):
            method = wished
        if asked.get("application_type") != "native":
            self._complain(f"registration: application_type is {asked.get('application_type')!r}")
        if not asked.get("redirect_uris"):
            return Response.json({"error": "invalid_redirect_uri"}, 400)
        client_id = f"client-{self.name}-{secrets.token_hex(6)}"
        secret = None if method == "none" else f"secret-{secrets.token_urlsafe(18)}"
        kept = {**asked, "token_endpoint_auth_method": method, "client_secret": secret}
        with self.lock:
            self.clients[client_id] = kept
        told = {**asked, "client_id": client_id, "token_endpoint_auth_method": method,
                "client_id_issued_at": int(time.time())}
        if secret is not None:
            told.update(client_secret=secret, client_secret_expires_at=0)
        return Response.json(told, 201)

    def _authorize(self, request: Request) -> Answer:
        asked = request.query
        client_id = asked.get("client_id", "")
        client = self.clients.get(client_id)
        if client is None and self.client_id_metadata_documents and client_id.startswith("https://"):
            self.register(client_id)
            client = self.clients[client_id]
        redirect = asked.get("redirect_uri", "")
        if client is None:
            return Response(400, b"unknown client")
        known = client.get("redirect_uris")
        place = urllib.parse.urlsplit(redirect)
        if place.hostname not in ("127.0.0.1", "localhost", "::1") or (known is not None and redirect not in known):
            self._complain(f"authorization: {redirect!r} is not among {known!r}")
            return Response(400, b"foreign redirect_uri")
        if asked.get("response_type") != "code":
            self._complain("authorization: no response_type=code")
        if asked.get("code_challenge_method") != "S256" or len(asked.get("code_challenge", "")) != 43:
            self._complain("authorization: no S256 challenge")
        answer = {}
        if self.denies:
            answer["error"] = "access_denied"
        else:
            answer["code"] = f"{self.name}-code-{secrets.token_urlsafe(18)}"
            with self.lock:
                self.codes[answer["code"]] = {**asked, "person": asked.get("person") or self.person, "spent": False}
        if "state" in asked:
            answer["state"] = asked["state"]
        if (issuer := self.sends_iss()) is not None:
            answer["iss"] = issuer
        joint = "&" if place.query else "?"
        return Response(302, b"", (("Location", f"{redirect}{joint}{urllib.parse.urlencode(answer)}"),))

    def _authenticated(self, request: Request, form: Dict[str, str]) -> Optional[str]:
        """The client of a token request, if it authenticated by the method that it was told."""
        used, client_id, secret = "none", form.get("client_id", ""), None
        header = request.header("Authorization") or ""
        if header.startswith("Basic "):
            used = "client_secret_basic"
            name, _, password = base64.b64decode(header[6:]).decode().partition(":")
            client_id, secret = urllib.parse.unquote_plus(name), urllib.parse.unquote_plus(password)
            if "client_secret" in form:
                self._complain("token: a secret in the header and in the form")
        elif "client_secret" in form:
            used, secret = "client_secret_post", form["client_secret"]
        client = self.clients.get(client_id)
        if client is None:
            return None
        wanted = client["token_endpoint_auth_method"]
        if used != wanted:
            self._complain(f"token: {used} in place of {wanted}")
            return None
        return client_id if wanted == "none" or secret == client.get("client_secret") else None

    def _token(self, request: Request) -> Answer:
        form = request.form
        client = self._authenticated(request, form)
        if client is None:
            return Response.json({"error": "invalid_client"}, 401)
        thumbprint = None
        if self.issues_bound:
            proof = dpop.read(request, f"{self.origin}{request.path}")
            self.proofs.append(proof)
            if proof["problems"]:
                self._complain(f"token: proof {proof['problems']}")
                return Response.json({"error": "invalid_dpop_proof"}, 400)
            if self.dpop_nonce is not None and proof["payload"].get("nonce") != self.dpop_nonce:
                return Response.json({"error": "use_dpop_nonce"}, 400, ("DPoP-Nonce", self.dpop_nonce))
            thumbprint = proof["thumbprint"]
        with self.lock:
            if form.get("grant_type") == "authorization_code":
                return self._code_exchange(client, form, thumbprint)
            if form.get("grant_type") == "refresh_token":
                return self._refresh(client, form)
        return Response.json({"error": "unsupported_grant_type"}, 400)

    def _code_exchange(self, client: str, form: Dict[str, str], thumbprint: Optional[str]) -> Answer:
        code = self.codes.get(form.get("code", ""))
        if code is None or code["spent"] or code["client_id"] != client:
            return Response.json({"error": "invalid_grant"}, 400)
        code["spent"] = True
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != code.get("code_challenge"):
            self._complain("token: the verifier does not fit the challenge")
            return Response.json({"error": "invalid_grant"}, 400)
        if form.get("redirect_uri") != code["redirect_uri"]:
            self._complain("token: another redirect_uri")
        if form.get("resource") != code.get("resource"):
            self._complain(f"token: resource {form.get('resource')!r} after {code.get('resource')!r}")
        asked = tuple(code.get("scope", "").split())
        grant = Grant(code["person"], client, code.get("resource"), self.granted(asked))
        grant.thumbprint = thumbprint
        self.grants.append(grant)
        return self._issued(grant)

    def _refresh(self, client: str, form: Dict[str, str]) -> Answer:
        value = form.get("refresh_token", "")
        for grant in self.grants:
            if value in grant.spent:
                grant.ended = grant.ended or "reuse"
                return Response.json({"error": "invalid_grant"}, 400)
            if value == grant.refresh_token and grant.client == client and not grant.ended:
                if form.get("resource") != grant.resource:
                    self._complain(f"refresh: resource {form.get('resource')!r}, not {grant.resource!r}")
                return self._issued(grant)
        return Response.json({"error": "invalid_grant"}, 400)

    def _issued(self, grant: Grant) -> Answer:
        value = f"{self.name}-{secrets.token_urlsafe(24)}"
        self.access_tokens[value] = Token(value, grant, grant.scopes, self.lifetime)
        told: Dict[str, Any] = {"access_token": value, "token_type": "DPoP" if grant.thumbprint else "Bearer"}
        if self.tells_lifetime:
            told["expires_in"] = int(self.lifetime)
        if grant.scopes:
            told["scope"] = " ".join(grant.scopes)
        if self.refresh_tokens:
            if grant.refresh_token is None or self.rotation:
                self._refresh_token(grant)
            told["refresh_token"] = grant.refresh_token
        return Response.json(told, 200, ("Cache-Control", "no-store"))

    def _refresh_token(self, grant: Grant) -> str:
        if grant.refresh_token is not None:
            grant.spent.add(grant.refresh_token)
        grant.refresh_token = f"{self.name}-rt-{secrets.token_urlsafe(24)}"
        return grant.refresh_token

    def _revoke(self, request: Request) -> Answer:
        value = request.form.get("token", "")
        with self.lock:
            for grant in self.grants:
                if value == grant.refresh_token or value in grant.spent:
                    grant.ended = grant.ended or "revoked"
            if (token := self.access_tokens.get(value)) is not None:
                token.expires_at = time.monotonic()
        return Response(200)
