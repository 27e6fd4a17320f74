"""Authentication for `httpx`: `httpx.get(url, auth=LanyardAuth(client, "work", origins=["https://api.example"]))`."""

from __future__ import annotations

from typing import Any, AsyncGenerator, Generator, Iterable, Optional, Sequence, Union

import httpx

from .._async import AsyncClient
from .._sync import Client
from ._exchange import Answer, Ask, Binding, Exchange, exchange
from ._origins import Origins, same_origin


class LanyardAuth(httpx.Auth):
    """Sends the token of an account with the requests of a client, or with one.

    A 401 is reported to the agent, and the request is sent once more with the next token, if its body can be sent again.
    A second 401 is the response. A bound token (DPoP) goes with a proof. Where `httpx` follows redirects, it takes the
    token off those to other origins, and what they answer is reported to no agent.

    Args:
        client: The client that asks the agent: a `lanyard.AsyncClient` for an `httpx.AsyncClient`.
        account: An id, an alias, or `@active`.
        origins: To which origins the token may go, such as `https://api.example`.
        scopes: The scopes that the token must have. None for all that were granted.
        resource: The resource (RFC 8707) that the token is for.

    Raises:
        ValueError: An origin is none.
        TypeError: At a request: the client is of the other kind.
        OriginRefused: At a request: its URL is of another origin. Nothing was sent.
        LanyardError: At a request: the agent has no token.
    """

    def __init__(
        self,
        client: Union[Client, AsyncClient],
        account: str,
        *,
        origins: Union[str, Iterable[str]],
        scopes: Optional[Sequence[str]] = None,
        resource: Optional[str] = None,
    ) -> None:
        self._client = client
        self._binding = Binding(account, Origins(origins), scopes, resource)

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """The requests that an `httpx.Client` sends."""
        if not isinstance(self._client, Client):
            raise TypeError("an httpx.Client needs a lanyard.Client")
        steps = self._steps(request)
        value: Any = None
        while True:
            try:
                step = steps.send(value)
            except StopIteration:
                return
            if isinstance(step, Ask):
                value = step.put(self._client.token)
            else:
                request.headers.update(step.headers)
                value = _answer(request, (yield request))

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """The requests that an `httpx.AsyncClient` sends."""
        if not isinstance(self._client, AsyncClient):
            raise TypeError("an httpx.AsyncClient needs a lanyard.AsyncClient")
        steps = self._steps(request)
        value: Any = None
        while True:
            try:
                step = steps.send(value)
            except StopIteration:
                return
            if isinstance(step, Ask):
                value = await step.put(self._client.token)
            else:
                request.headers.update(step.headers)
                value = _answer(request, (yield request))

    def __repr__(self) -> str:
        return f"LanyardAuth({self._binding.account!r}, {self._binding.origins!r})"

    def _steps(self, request: httpx.Request) -> Exchange:
        url = str(request.url)
        self._binding.origins.check(url)
        return exchange(self._binding, request.method, url, _may_send_again(request))


def _answer(request: httpx.Request, response: httpx.Response) -> Answer:
    last = response.request
    # Behind a redirect to another origin the token is gone, even where another one leads back.
    if last.headers.get("Authorization") != request.headers["Authorization"]:
        return Answer(0)
    if not same_origin(str(request.url), str(last.url)):
        return Answer(0)
    return Answer(response.status_code, response.headers.get("WWW-Authenticate"), response.headers.get("DPoP-Nonce"))


def _may_send_again(request: httpx.Request) -> bool:
    # A body that httpx holds as bytes; a stream is read once.
    return hasattr(request, "_content") or isinstance(request.stream, httpx.ByteStream)
