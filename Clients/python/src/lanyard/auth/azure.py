"""Credentials with the interface of `azure.core.credentials.TokenCredential`, for any library that takes such an object.

Nothing is imported of azure-core. A credential goes where the library that takes it sends it: over https, to the
endpoint that the library was given.
"""

from __future__ import annotations

import base64
from types import TracebackType
from typing import TYPE_CHECKING, Any, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple, Type

from .._async import AsyncClient
from .._errors import BoundToken
from .._generated import Token
from .._sync import Client
from ._exchange import end_here, is_bound, named_account

__all__ = ["AccessToken", "AccessTokenInfo", "AsyncLanyardCredential", "LanyardCredential"]

_Key = Tuple[str, ...]


if TYPE_CHECKING:
    # What type checkers compare by name.
    from azure.core.credentials import AccessToken, AccessTokenInfo
else:

    class AccessToken(NamedTuple):
        """As `azure.core.credentials.AccessToken`."""

        token: str
        """The access token."""
        expires_on: int
        """When it ends, in seconds since 1970."""

        def __repr__(self) -> str:
            return f"AccessToken(expires_on={self.expires_on})"

    class AccessTokenInfo:
        """As `azure.core.credentials.AccessTokenInfo`."""

        def __init__(self, token: str, expires_on: int, *, token_type: str = "Bearer") -> None:
            self.token: str = token
            """The access token."""
            self.expires_on: int = expires_on
            """When it ends, in seconds since 1970."""
            self.token_type: str = token_type
            """`Bearer`."""
            self.refresh_on: Optional[int] = None
            """None: the agent refreshes in time."""

        def __repr__(self) -> str:
            return f"AccessTokenInfo(expires_on={self.expires_on}, token_type={self.token_type!r})"


class _Asked:
    """The tokens that were told, by their scopes: a challenge is about the last one."""

    def __init__(self, account: str, resource: Optional[str]) -> None:
        self.account = account
        self._resource = resource
        self._told: Dict[_Key, Token] = {}

    def get(self, scopes: Sequence[str]) -> Dict[str, Any]:
        """The arguments of `token.get`."""
        return {"account": self.account, "scopes": list(scopes) or None, "resource": self._resource}

    def reject(self, scopes: Sequence[str], claims: str) -> Optional[Dict[str, Any]]:
        """The arguments of `token.reject`; None if no token was told before."""
        token = self._told.get(tuple(scopes))
        if token is None:
            return None
        wanted = base64.b64encode(claims.encode()).decode()
        challenge = f'Bearer error="insufficient_claims", claims="{wanted}"'
        account = named_account(self.account, token)
        return {"account": account, "fingerprint": token.fingerprint, "challenge": challenge}

    def told(self, scopes: Sequence[str], token: Token) -> Token:
        """Notes a token. Raises `BoundToken`."""
        if is_bound(token):
            raise BoundToken("the account's tokens are bound to a key, and this library sends no proof of it")
        self._told[tuple(scopes)] = token
        return token


class LanyardCredential:
    """The token of an account, as the clients of azure-core ask for it.

    Args:
        client: The client that asks the agent.
        account: An id, an alias, or `@active`.
        resource: The resource (RFC 8707) that the token is for.
    """

    def __init__(self, client: Client, account: str, *, resource: Optional[str] = None) -> None:
        self._client = client
        self._asked = _Asked(account, resource)

    def get_token(
        self,
        *scopes: str,
        claims: Optional[str] = None,
        tenant_id: Optional[str] = None,
        enable_cae: bool = False,
        **kwargs: Any,
    ) -> AccessToken:
        """The token to use now.

        Args:
            scopes: The scopes that it must have.
            claims: Claims that a server asked for. The token is reported with them; in general a person has to sign in.
            tenant_id: Not used: the account is of one tenant.
            enable_cae: Not used.
            kwargs: Not used.

        Returns:
            AccessToken: token and end.

        Raises:
            InteractionRequired: The claims need the person.
            BoundToken: The account's tokens are bound to a key.
            LanyardError: The agent has no token.
        """
        token = self._token(scopes, claims)
        return AccessToken(token.access_token, int(end_here(token).timestamp()))

    def get_token_info(self, *scopes: str, options: Optional[Mapping[str, Any]] = None) -> AccessTokenInfo:
        """The token to use now, with its type.

        Args:
            scopes: The scopes that it must have.
            options: `claims` as for `get_token`; the others are not used.

        Returns:
            AccessTokenInfo: token, end and type.

        Raises:
            LanyardError: as `get_token` does.
        """
        token = self._token(scopes, (options or {}).get("claims"))
        return AccessTokenInfo(token.access_token, int(end_here(token).timestamp()))

    def close(self) -> None:
        """Does nothing: the client is the caller's."""

    def __enter__(self) -> "LanyardCredential":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]] = None,
        error: Optional[BaseException] = None,
        traceback: Optional[TracebackType] = None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"LanyardCredential({self._asked.account!r})"

    def _token(self, scopes: Sequence[str], claims: Optional[str]) -> Token:
        report = self._asked.reject(scopes, claims) if claims else None
        if report is not None:
            return self._asked.told(scopes, self._client.token.reject(**report))
        return self._asked.told(scopes, self._client.token.get(**self._asked.get(scopes)))


class AsyncLanyardCredential:
    """As `LanyardCredential`, for the asyncio clients of azure-core.

    Args:
        client: The client that asks the agent.
        account: An id, an alias, or `@active`.
        resource: The resource (RFC 8707) that the token is for.
    """

    def __init__(self, client: AsyncClient, account: str, *, resource: Optional[str] = None) -> None:
        self._client = client
        self._asked = _Asked(account, resource)

    async def get_token(
        self,
        *scopes: str,
        claims: Optional[str] = None,
        tenant_id: Optional[str] = None,
        enable_cae: bool = False,
        **kwargs: Any,
    ) -> AccessToken:
        """As `LanyardCredential.get_token`."""
        token = await self._token(scopes, claims)
        return AccessToken(token.access_token, int(end_here(token).timestamp()))

    async def get_token_info(self, *scopes: str, options: Optional[Mapping[str, Any]] = None) -> AccessTokenInfo:
        """As `LanyardCredential.get_token_info`."""
        token = await self._token(scopes, (options or {}).get("claims"))
        return AccessTokenInfo(token.access_token, int(end_here(token).timestamp()))

    async def close(self) -> None:
        """Does nothing: the client is the caller's."""

    async def __aenter__(self) -> "AsyncLanyardCredential":
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]] = None,
        error: Optional[BaseException] = None,
        traceback: Optional[TracebackType] = None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncLanyardCredential({self._asked.account!r})"

    async def _token(self, scopes: Sequence[str], claims: Optional[str]) -> Token:
        report = self._asked.reject(scopes, claims) if claims else None
        if report is not None:
            return self._asked.told(scopes, await self._client.token.reject(**report))
        return self._asked.told(scopes, await self._client.token.get(**self._asked.get(scopes)))
