"""A scripted MCP server over streamable HTTP, of both protocol versions, behind the tokens of scripted authorization servers.

It is strict: what the specification forbids a client is in `complaints`, and refused where a server must refuse it.
"""

from __future__ import annotations

import base64
import json
import secrets
import threading
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import dpop
from authorization_server import AuthorizationServer, Token
from listener import Answer, Event, Listener, Part, Request, Response, Stream

MODERN = "2026-07-28"
LEGACY = "2025-11-25"

PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"

NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Methods with an `Mcp-Name`, and the parameter that it mirrors."""

Handler = Callable[["Call"], Any]


class Call:
    """A JSON-RPC request or notification that passed the checks."""

    def __init__(self, server: "MCPServer", request: Request, message: Dict[str, Any], token: Optional[Token]) -> None:
        self.server = server
        self.request = request
        self.message = message
        self.method: str = message["method"]
        self.params: Dict[str, Any] = message.get("params") or {}
        self.id = message.get("id")
        self.token = token

    @property
    def person(self) -> Optional[str]:
        return self.token.grant.person if self.token else None

    @property
    def arguments(self) -> Dict[str, Any]:
        found: Dict[str, Any] = self.params.get("arguments") or {}
        return found

    def result(self, value: Dict[str, Any]) -> Dict[str, Any]:
        return {"jsonrpc": "2.0", "id": self.id, "result": value}

    def text(self, text: str) -> Dict[str, Any]:
        """The result of a tool, whole."""
        return self.result(self.complete({"content": [{"type": "text", "text": text}]}))

    def complete(self, value: Dict[str, Any]) -> Dict[str, Any]:
        return {"resultType": "complete", **value} if self.modern else value

    @property
    def modern(self) -> bool:
        return (self.params.get("_meta") or {}).get(PROTOCOL_VERSION) == MODERN


class RPCFailure(Exception):
    """A JSON-RPC error as the answer of a handler."""

    def __init__(self, code: int, message: str, status: int = 200, data: Any = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, **({} if data is None else {"data": data})}
        self.status = status


def decoded_header(value: Optional[str]) -> Optional[str]:
    if value is not None and value.startswith("=?base64?") and value.endswith("?="):
        return base64.b64decode(value[9:-2], validate=True).decode()
    return value


def tool(name: str, properties: Optional[Dict[str, Any]] = None, **more: Any) -> Dict[str, Any]:
    return {"name": name, "description": f"the tool {name}",
            "inputSchema": {"type": "object", "properties": properties or {}}, **more}


class MCPServer(Listener):
    """Settings are attributes. Without `authorization` it is open."""

    def __init__(self, *authorization: AuthorizationServer, path: str = "/mcp") -> None:
        self.path = path
        self.authorization = list(authorization)
        """The servers whose tokens are good here."""
        self.listed: Optional[List[str]] = None
        """`authorization_servers`; None for the issuers of `authorization`."""
        self.metadata_path: Optional[str] = f"/.well-known/oauth-protected-resource{path}"
        self.tells_metadata = True
        """`resource_metadata` is in the challenge."""
        self.challenges = True
        """A 401 has a `WWW-Authenticate`."""
        self.claimed_resource: Optional[str] = None
        self.scopes_supported: Optional[List[str]] = None
        self.metadata_more: Dict[str, Any] = {}
        self.required: "Callable[[str], Tuple[str, ...]]" = lambda method: ()
        """The scopes that a method takes."""
        self.challenge_scope = True
        self.checks_resource = True
        self.public: "set[str]" = set()
        """Methods that take no token."""
        self.accepts: "Callable[[Token], bool]" = lambda token: True
        self.dpop_nonce: Optional[str] = None
        self.versions = (MODERN, LEGACY)
        self.sessions: Dict[str, bool] = {}
        """Those that were made; False for an ended one."""
        self.makes_sessions = True
        self.get_stream: "Optional[Callable[[Request], Iterator[Part]]]" = None
        """The stream of a GET; None for 405."""
        self.tools: List[Dict[str, Any]] = [
            tool("echo"),
            tool("add_numbers", {"a": {"type": "number"}, "b": {"type": "number"}}),
            tool("who"),
        ]
        self.calls: Dict[str, Handler] = {
            "echo": lambda call: call.text(json.dumps(call.arguments, ensure_ascii=False, sort_keys=True)),
            "add_numbers": lambda call: call.text(f"{call.arguments['a'] + call.arguments['b']}"),
            "who": lambda call: call.text(str(call.person)),
        }
        """Tools by name. A handler returns a message, an iterator of the parts of a stream, or an `Answer`."""
        self.methods: Dict[str, Handler] = {}
        """Methods by name, before those that the server knows itself."""
        self.complaints: List[str] = []
        self.released = threading.Event()
        """What a test's own tool waits for."""
        super().__init__()
        self.url = f"{self.origin}{path}"

    @property
    def resource(self) -> str:
        return self.claimed_resource or self.url

    # The log, by messages

    def messages(self, method: Optional[str] = None) -> List[Request]:
        """The POST requests to the endpoint; with `method` those of that JSON-RPC method that had a good token."""
        return [request for request in self.requests(self.path, "POST")
                if method is None or (request.message or {}).get("method") == method]

    def ran(self, method: str = "tools/call") -> List[Request]:
        """Those that were not refused."""
        return [request for request in self.messages(method) if request.status in (200, 202)]

    def _complain(self, what: str) -> None:
        with self.lock:
            self.complaints.append(what)

    # Answers

    def answer(self, request: Request) -> Answer:
        if request.path == self.metadata_path and request.method == "GET":
            return Response.json(self._metadata())
        if request.path != self.path:
            return Response(404, b"no such thing here")
        if request.method == "POST":
            return self._post(request)
        if (refusal := self._unauthorized(request, None)) is not None:
            return refusal
        session = request.header("Mcp-Session-Id")
        if request.method == "DELETE" and session in self.sessions:
            with self.lock:
                self.sessions[session] = False
            return Response(200)
        if request.method == "GET" and self.get_stream is not None:
            return Stream(self.get_stream(request))
        return Response(405, b"", (("Allow", "POST"),))

    def _metadata(self) -> Dict[str, Any]:
        found: Dict[str, Any] = {"resource": self.resource, "bearer_methods_supported": ["header"]}
        found["authorization_servers"] = self.listed or [server.issuer for server in self.authorization]
        if self.scopes_supported is not None:
            found["scopes_supported"] = self.scopes_supported
        return {**found, **self.metadata_more}

    def _token(self, request: Request) -> Optional[Token]:
        for server in self.authorization:
            if (token := server.token(request.token)) is not None:
                fits = not self.checks_resource or token.grant.resource == self.resource
                if not fits:
                    self._complain(f"a token for {token.grant.resource!r}")
                return token if token.good and fits and self.accepts(token) else None
        return None

    def _challenge(self, status: int, scheme: str = "Bearer", **members: str) -> Response:
        if not self.challenges:
            return Response(status)
        if self.tells_metadata and self.metadata_path is not None:
            members["resource_metadata"] = f"{self.origin}{self.metadata_path}"
        told = ", ".join(f'{name}="{value}"' for name, value in members.items())
        headers = [("WWW-Authenticate", f"{scheme} {told}".strip())]
        if self.dpop_nonce is not None:
            headers.append(("DPoP-Nonce", self.dpop_nonce))
        return Response(status, b"", tuple(headers))

    def _unauthorized(self, request: Request, method: Optional[str]) -> Optional[Response]:
        """The refusal of a request whose token does not do."""
        if not self.authorization or method in self.public:
            return None
        if "access_token" in request.query:
            self._complain("the token is in the URL")
        needed = self.required(method or "")
        scope = {"scope": " ".join(needed)} if needed and self.challenge_scope else {}
        token = self._token(request)
        if token is None:
            wrong = {"error": "invalid_token"} if request.token else {}
            return self._challenge(401, **wrong, **scope)
        if token.grant.thumbprint is not None and (refusal := self._unbound(request, token)) is not None:
            return refusal
        if not set(needed) <= set(token.scopes):
            return self._challenge(403, error="insufficient_scope", **scope)
        return None

    def _unbound(self, request: Request, token: Token) -> Optional[Response]:
        if not (request.header("Authorization") or "").startswith("DPoP "):
            self._complain("a bound token as a bearer token")
            return self._challenge(401, "DPoP", error="invalid_token")
        proof = dpop.read(request, self.url, token.value)
        if proof["problems"] or proof["thumbprint"] != token.grant.thumbprint:
            self._complain(f"proof: {proof['problems']}")
            return self._challenge(401, "DPoP", error="invalid_dpop_proof")
        if self.dpop_nonce is not None and proof["payload"].get("nonce") != self.dpop_nonce:
            return self._challenge(401, "DPoP", error="use_dpop_nonce")
        return None

    def _post(self, request: Request) -> Answer:
        message = request.message
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            self._complain(f"no single JSON-RPC message: {request.body[:80]!r}")
            return Response(400)
        accept = request.header("Accept") or ""
        if "application/json" not in accept or "text/event-stream" not in accept:
            self._complain(f"Accept: {accept}")
        if (request.header("Content-Type") or "").split(";")[0] != "application/json":
            self._complain(f"Content-Type: {request.header('Content-Type')}")
        method = message.get("method")
        if (refusal := self._unauthorized(request, method)) is not None:
            return refusal
        try:
            return self._message(request, message)
        except RPCFailure as failure:
            return Response.json({"jsonrpc": "2.0", "id": message.get("id"), "error": failure.error}, failure.status)

    def _message(self, request: Request, message: Dict[str, Any]) -> Answer:
        method = message.get("method")
        version = request.header("MCP-Protocol-Version")
        if version == MODERN:
            self._modern(request, message)
        elif method != "initialize":
            self._legacy(request, version)
        if method is None:  # A response to a request of the server.
            return Response(202)
        call = Call(self, request, message, self._token(request) if self.authorization else None)
        if "id" not in message:
            if (handler := self.methods.get(method)) is not None:
                handler(call)
            return Response(202)
        return self._answered(call)

    def _answered(self, call: Call) -> Answer:
        handler = self.methods.get(call.method)
        if handler is None and call.method == "tools/call":
            handler = self.calls.get(call.params.get("name", ""))
            if handler is None:
                raise RPCFailure(-32602, "no such tool")
        if handler is None:
            known = {"initialize": self._initialize, "server/discover": self._discover, "tools/list": self._tools_list,
                     "ping": lambda call: call.result({})}
            handler = known.get(call.method)
        if handler is None:
            raise RPCFailure(-32601, "Method not found", 404 if call.modern else 200)
        answer = handler(call)
        if isinstance(answer, dict):
            answer = Response.json(answer)
        elif not isinstance(answer, (Response, Stream)) and hasattr(answer, "__iter__"):
            answer = Stream(answer)
        if call.method == "initialize" and self.makes_sessions and isinstance(answer, Response):
            session = secrets.token_hex(16)
            with self.lock:
                self.sessions[session] = True
            answer = answer._replace(headers=(*answer.headers, ("Mcp-Session-Id", session)))
        return answer

    # The versions

    def _mismatch(self, what: str) -> None:
        self._complain(what)
        raise RPCFailure(-32020, f"Header mismatch: {what}", 400)

    def _modern(self, request: Request, message: Dict[str, Any]) -> None:
        params = message.get("params") or {}
        meta = params.get("_meta") or {}
        if "id" in message and meta.get(PROTOCOL_VERSION) != MODERN:
            self._mismatch(f"version {meta.get(PROTOCOL_VERSION)!r} in the body")
        if MODERN not in self.versions:
            raise RPCFailure(-32022, "Unsupported protocol version", 400,
                             {"supported": list(self.versions), "requested": MODERN})
        if request.header("Mcp-Session-Id") is not None:
            self._complain("a session in a version without them")
        if "id" not in message:
            return
        if request.header("Mcp-Method") != message.get("method"):
            self._mismatch(f"Mcp-Method {request.header('Mcp-Method')!r}")
        named = NAMED.get(message["method"])
        if named is not None and decoded_header(request.header("Mcp-Name")) != params.get(named):
            self._mismatch(f"Mcp-Name {request.header('Mcp-Name')!r}")
        if message["method"] == "tools/call":
            self._parameters(request, params)

    def _parameters(self, request: Request, params: Dict[str, Any]) -> None:
        """`Mcp-Param-*` of a tool: present and equal where the body has a value, absent where it has none."""
        for known in self.tools:
            if known["name"] == params.get("name"):
                for name, path in annotations(known["inputSchema"]):
                    value: Any = params.get("arguments") or {}
                    for step in path:
                        value = value.get(step) if isinstance(value, dict) else None
                    expected = None if value is None else json.dumps(value) if not isinstance(value, str) else value
                    found = decoded_header(request.header(f"Mcp-Param-{name}"))
                    if found != expected:
                        self._mismatch(f"Mcp-Param-{name} is {found!r}, not {expected!r}")

    def _legacy(self, request: Request, version: Optional[str]) -> None:
        if version not in ("2025-11-25", "2025-06-18", "2025-03-26"):
            self._complain(f"MCP-Protocol-Version {version!r}")
            raise RPCFailure(-32600, "no protocol version that is known here", 400)
        session = request.header("Mcp-Session-Id")
        if not self.makes_sessions:
            return
        if session is None:
            self._complain("no Mcp-Session-Id")
            raise RPCFailure(-32600, "no session", 400)
        if not self.sessions.get(session):
            raise RPCFailure(-32001, "Session not found", 404)

    def _initialize(self, call: Call) -> Dict[str, Any]:
        return call.result({"protocolVersion": LEGACY, "capabilities": {"tools": {"listChanged": True}},
                            "serverInfo": {"name": "scripted", "version": "1"}})

    def _discover(self, call: Call) -> Dict[str, Any]:
        return call.result({"resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                            "supportedVersions": list(self.versions), "capabilities": {"tools": {}},
                            "serverInfo": {"name": "scripted", "version": "1"}})

    def _tools_list(self, call: Call) -> Dict[str, Any]:
        cached = {"ttlMs": 0, "cacheScope": "private"} if call.modern else {}
        return call.result(call.complete({**cached, "tools": self.tools}))


def annotations(schema: Any, path: Tuple[str, ...] = ()) -> List[Tuple[str, Tuple[str, ...]]]:
    """Each `x-mcp-header` that is reached by `properties` alone, with the path of its value."""
    found = []
    for name, inner in (schema.get("properties") or {}).items():
        if isinstance(inner, dict):
            if "x-mcp-header" in inner:
                found.append((inner["x-mcp-header"], (*path, name)))
            found += annotations(inner, (*path, name))
    return found


__all__ = [
    "Call", "CLIENT_CAPABILITIES", "CLIENT_INFO", "Event", "LEGACY", "MCPServer", "MODERN", "PROTOCOL_VERSION", "RPCFailure",
    "SUBSCRIPTION_ID", "tool",
]
