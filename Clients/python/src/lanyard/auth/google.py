"""Credentials with the interface of `google.auth.credentials.Credentials`, for any library that takes such an object.

Nothing is imported of google-auth. Where it is imported already, `Credentials` counts as one of its class.
"""

from __future__ import annotations

import sys
from datetime import datetime, timedelta, timezone
from typing import Any, Iterable, MutableMapping, Optional, Sequence, Union

from .._generated import Token
from .._sync import Client
from ._exchange import authorization, end_here, is_bound, named_account
from ._origins import Origins

REFRESH_SECONDS = 225
"""How long before its end a token counts as expired; as in google-auth, longer than a request takes."""


class Credentials:
    """The token of an account, as google-auth's transports ask for it.

    `google.auth.transport.requests.AuthorizedSession(credentials)` sends it, and has it replaced after a 401. A bound
    token (DPoP) goes with a proof.

    Args:
        client: The client that asks the agent.
        account: An id, an alias, or `@active`.
        origins: To which origins the token may go, such as `https://storage.example`.
        scopes: The scopes that the token must have. None for all that were granted.
        resource: The resource (RFC 8707) that the token is for.
        quota_project_id: The project that pays, for `x-goog-user-project`.

    Raises:
        ValueError: An origin is none.
    """

    def __init__(
        self,
        client: Client,
        account: str,
        *,
        origins: Union[str, Iterable[str]],
        scopes: Optional[Sequence[str]] = None,
        resource: Optional[str] = None,
        quota_project_id: Optional[str] = None,
    ) -> None:
        self._client = client
        self._account = account
        self._origins = Origins(origins)
        self._scopes = list(scopes) if scopes is not None else None
        self._resource = resource
        self._token: Optional[Token] = None
        self._end: Optional[datetime] = None
        self.quota_project_id: Optional[str] = quota_project_id
        """The project that pays."""
        self.universe_domain: str = "googleapis.com"
        """What google-auth's clients compare with theirs."""
        _count_as_google()

    @property
    def token(self) -> Optional[str]:
        """The access token. None before the first `refresh`."""
        return None if self._token is None else self._token.access_token

    @property
    def expiry(self) -> Optional[datetime]:
        """When the token ends by this machine's clock: in UTC and without a time zone, as google-auth has it."""
        return None if self._end is None else self._end.replace(tzinfo=None)

    @property
    def expired(self) -> bool:
        """True if the token has ended, or soon will."""
        if self._end is None:
            return False
        return datetime.now(timezone.utc) >= self._end - timedelta(seconds=REFRESH_SECONDS)

    @property
    def valid(self) -> bool:
        """True if there is a token that has not ended."""
        return self._token is not None and not self.expired

    @property
    def scopes(self) -> Optional[Sequence[str]]:
        """The scopes that were asked for."""
        return self._scopes

    @property
    def requires_scopes(self) -> bool:
        """False: the account's grant has scopes."""
        return False

    def refresh(self, request: Any = None) -> None:
        """Takes the present token from the agent. One that has not ended was refused: it is reported.

        Args:
            request: google-auth's way to send requests, which is not used.

        Raises:
            LanyardError: The agent has no token.
        """
        token = self._token
        if token is not None and not self.expired:
            account = named_account(self._account, token)
            token = self._client.token.reject(account=account, fingerprint=token.fingerprint)
        else:
            token = self._client.token.get(account=self._account, scopes=self._scopes, resource=self._resource)
        self._token, self._end = token, end_here(token)

    def apply(self, headers: MutableMapping[str, str], token: Optional[str] = None) -> None:
        """Adds `Authorization` to header fields.

        Args:
            headers: The header fields.
            token: Another token than this object's.
        """
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        elif self._token is not None:
            headers["authorization"] = authorization(self._token)
        if self.quota_project_id:
            headers["x-goog-user-project"] = self.quota_project_id

    def before_request(self, request: Any, method: str, url: str, headers: MutableMapping[str, str]) -> None:
        """Adds what a request needs to its header fields, having asked for a token if there is none.

        Args:
            request: google-auth's way to send requests, which is not used.
            method: The method of the request.
            url: Its URL.
            headers: Its header fields.

        Raises:
            OriginRefused: The URL is of another origin. Nothing was added.
            LanyardError: The agent has no token.
        """
        self._origins.check(url)
        if not self.valid:
            self.refresh(request)
        self.apply(headers)
        token = self._token
        if token is not None and is_bound(token):
            account = named_account(self._account, token)
            proof = self._client.token.proof(account=account, method=method, url=url, fingerprint=token.fingerprint)
            headers["DPoP"] = proof.proof

    def with_quota_project(self, quota_project_id: Optional[str]) -> "Credentials":
        """These credentials with another project that pays."""
        return self._copy(self._scopes, quota_project_id)

    def with_scopes(
        self, scopes: Optional[Sequence[str]], default_scopes: Optional[Sequence[str]] = None
    ) -> "Credentials":
        """These credentials with other scopes."""
        return self._copy(scopes or default_scopes, self.quota_project_id)

    def __repr__(self) -> str:
        return f"Credentials({self._account!r}, {self._origins!r})"

    def _copy(self, scopes: Optional[Sequence[str]], quota_project_id: Optional[str]) -> "Credentials":
        copy = Credentials.__new__(Credentials)
        copy.__dict__.update(self.__dict__)
        copy._scopes = list(scopes) if scopes is not None else None
        copy._token, copy._end = None, None
        copy.quota_project_id = quota_project_id
        return copy


def _count_as_google() -> None:
    # Some libraries check for the class. It is an abstract one, in which others may be registered.
    module = sys.modules.get("google.auth.credentials")
    register = getattr(getattr(module, "Credentials", None), "register", None)
    if register is not None:
        register(Credentials)
