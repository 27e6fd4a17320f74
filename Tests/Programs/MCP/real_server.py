"""An MCP server that others wrote, behind its own authorization routes: real_server.py mcp|fastmcp PORT [LIFETIME]

Runs with the Python of `install`. `mcp` is `MCPServer` of the package `mcp` with protected-resource metadata, registration, PKCE,
refresh and revocation by that package's own handlers; what it leaves to its user, where codes and tokens are kept, is below.
`fastmcp` is `FastMCP` with its own provider. The person at the browser says yes. `POST /test/expire` ends all access tokens.
"""

from __future__ import annotations

import secrets
import sys
import time
from typing import Any, Dict, List, Optional

from pydantic import AnyHttpUrl
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

KIND, PORT = sys.argv[1], int(sys.argv[2])
LIFETIME = int(sys.argv[3]) if len(sys.argv) > 3 else 3600
ORIGIN = f"http://127.0.0.1:{PORT}"
SCOPES = ["tools"]


class Kept:
    """The provider interface of the package `mcp`, in memory, with rotation of refresh tokens."""

    def __init__(self) -> None:
        self.clients: Dict[str, Any] = {}
        self.codes: Dict[str, Any] = {}
        self.access_tokens: Dict[str, Any] = {}
        self.refresh_tokens: Dict[str, Any] = {}
        self.counts = {"registrations": 0, "codes": 0, "refreshes": 0}

    async def get_client(self, client_id: str) -> Any:
        return self.clients.get(client_id)

    async def register_client(self, client_info: Any) -> None:
        self.counts["registrations"] += 1
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: Any, params: Any) -> str:
        from mcp.server.auth.provider import AuthorizationCode, construct_redirect_uri

        code = secrets.token_urlsafe(24)
        self.codes[code] = AuthorizationCode(
            code=code, scopes=params.scopes or SCOPES, expires_at=time.time() + 60, client_id=client.client_id,
            code_challenge=params.code_challenge, redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly, resource=params.resource, subject="alice")
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(self, client: Any, authorization_code: str) -> Any:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client: Any, authorization_code: Any) -> Any:
        self.counts["codes"] += 1
        del self.codes[authorization_code.code]
        return self._issued(client, authorization_code.scopes, authorization_code.resource, authorization_code.subject)

    async def load_refresh_token(self, client: Any, refresh_token: str) -> Any:
        found = self.refresh_tokens.get(refresh_token)
        return found if found is not None and found.client_id == client.client_id else None

    async def exchange_refresh_token(self, client: Any, refresh_token: Any, scopes: List[str]) -> Any:
        self.counts["refreshes"] += 1
        del self.refresh_tokens[refresh_token.token]
        return self._issued(client, scopes, refresh_token.resource, refresh_token.subject)

    def _issued(self, client: Any, scopes: List[str], resource: Optional[str], subject: Optional[str]) -> Any:
        from mcp.server.auth.provider import AccessToken, RefreshToken
        from mcp.shared.auth import OAuthToken

        access, refresh = f"real-{secrets.token_urlsafe(24)}", f"real-rt-{secrets.token_urlsafe(24)}"
        common = {"client_id": client.client_id, "scopes": scopes, "resource": resource, "subject": subject}
        self.access_tokens[access] = AccessToken(token=access, expires_at=int(time.time()) + LIFETIME, **common)
        self.refresh_tokens[refresh] = RefreshToken(token=refresh, **common)
        return OAuthToken(access_token=access, token_type="Bearer", expires_in=LIFETIME, scope=" ".join(scopes),
                          refresh_token=refresh)

    async def load_access_token(self, token: str) -> Any:
        return self.access_tokens.get(token)

    async def revoke_token(self, token: Any) -> None:
        self.access_tokens.pop(token.token, None)
        self.refresh_tokens.pop(token.token, None)


def tools(server: Any) -> None:
    """The same tools on both servers."""

    @server.tool()
    def add(a: int, b: int) -> int:
        """Adds two numbers."""
        return a + b

    @server.tool()
    def person() -> str:
        """Who calls."""
        from mcp.server.auth.middleware.auth_context import get_access_token

        token = get_access_token()
        return (getattr(token, "subject", None) or "somebody") if token else "unknown"


def routes(server: Any, kept: Any) -> None:
    @server.custom_route("/test/expire", methods=["POST"])
    async def expire(_: Request) -> Response:
        kept.access_tokens.clear()
        return Response(status_code=204)

    @server.custom_route("/test/counts", methods=["GET"])
    async def counts(_: Request) -> Response:
        return JSONResponse(getattr(kept, "counts", {}) | {"clients": len(kept.clients)})


def main() -> None:
    if KIND == "mcp":
        from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
        from mcp.server.mcpserver import MCPServer

        kept = Kept()
        server = MCPServer("real", auth_server_provider=kept, auth=AuthSettings(
            issuer_url=AnyHttpUrl(ORIGIN), resource_server_url=AnyHttpUrl(f"{ORIGIN}/mcp"), required_scopes=SCOPES,
            validate_token_resource=True, revocation_options=RevocationOptions(enabled=True),
            client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=SCOPES, default_scopes=SCOPES)))
        tools(server)
        routes(server, kept)
        app = server.streamable_http_app()
    else:
        from fastmcp import FastMCP
        from fastmcp.server.auth.auth import ClientRegistrationOptions as Registration
        from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider

        provider = InMemoryOAuthProvider(
            base_url=ORIGIN, required_scopes=SCOPES,
            client_registration_options=Registration(enabled=True, valid_scopes=SCOPES, default_scopes=SCOPES))
        server = FastMCP("real", auth=provider)
        tools(server)
        routes(server, provider)
        app = server.http_app()
    import uvicorn

    uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning")


main()
