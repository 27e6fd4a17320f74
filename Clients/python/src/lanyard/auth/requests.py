"""Authentication for `requests`: `requests.get(url, auth=LanyardAuth(client, "work", origins=["https://api.example"]))`."""

from __future__ import annotations

from typing import Any, Iterable, Optional, Sequence, Union
from urllib.parse import urljoin

from .._sync import Client
from ._exchange import Answer, Ask, Binding, Exchange, Send, exchange
from ._origins import Origins, same_origin


class LanyardAuth:
    """Sends the token of an account with the requests of a session, or with one.

    A 401 is reported to the agent, and the request is sent once more with the next token, if its body can be sent again.
    A second 401 is the response. A bound token (DPoP) goes with a proof. A redirect to another origin carries no token,
    and neither does any redirect of a request with a bound one.

    Args:
        client: The client that asks the agent. Any number of objects share it.
        account: An id, an alias, or `@active`.
        origins: To which origins the token may go, such as `https://api.example`.
        scopes: The scopes that the token must have. None for all that were granted.
        resource: The resource (RFC 8707) that the token is for.

    Raises:
        ValueError: An origin is none.
        OriginRefused: At a request: its URL is of another origin. Nothing was sent.
        LanyardError: At a request: the agent has no token.
    """

    def __init__(
        self,
        client: Client,
        account: str,
        *,
        origins: Union[str, Iterable[str]],
        scopes: Optional[Sequence[str]] = None,
        resource: Optional[str] = None,
    ) -> None:
        self._client = client
        self._binding = Binding(account, Origins(origins), scopes, resource)

    def __call__(self, request: Any) -> Any:
        """Adds the header fields to a prepared request."""
        self._binding.origins.check(request.url)
        steps = exchange(self._binding, request.method, request.url, _may_send_again(request))
        headers = self._next(steps, None).headers
        request.headers.update(headers)
        original = request

        def response_came(response: Any, **options: Any) -> Any:
            nonlocal headers
            # Behind a redirect there may be no token, or a password of ~/.netrc.
            if response.request.headers.get("Authorization") != headers["Authorization"]:
                return response
            if not same_origin(response.request.url, original.url):
                return response
            while response.status_code == 401:
                answer = Answer(401, response.headers.get("WWW-Authenticate"), response.headers.get("DPoP-Nonce"))
                try:
                    headers = self._next(steps, answer).headers
                except StopIteration:
                    return response
                response = _sent_again(response, headers, options)
            self._part_from_token(original, response)
            return response

        request.register_hook("response", response_came)
        return request

    def __repr__(self) -> str:
        return f"LanyardAuth({self._binding.account!r}, {self._binding.origins!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LanyardAuth) and (self._client, self._binding) == (other._client, other._binding)

    def __hash__(self) -> int:
        return hash((id(self._client), self._binding.account))

    def _next(self, steps: Exchange, value: Any) -> Send:
        step = steps.send(value)
        while isinstance(step, Ask):
            step = steps.send(step.put(self._client.token))
        return step

    @staticmethod
    def _part_from_token(original: Any, response: Any) -> None:
        # `requests` copies the first request for a redirect, and keeps `Authorization` for more origins than one.
        if not response.is_redirect:
            return
        target = urljoin(response.url, response.headers["location"])
        if same_origin(target, original.url) and "DPoP" not in original.headers:
            original.headers["Authorization"] = response.request.headers["Authorization"]
            return
        for name in ("Authorization", "DPoP"):
            original.headers.pop(name, None)


def _may_send_again(request: Any) -> bool:
    body = request.body
    return body is None or isinstance(body, (str, bytes)) or isinstance(getattr(request, "_body_position", None), int)


def _sent_again(response: Any, headers: Any, options: Any) -> Any:
    # As `requests.auth.HTTPDigestAuth` does: read the rest, so that the connection serves the next request.
    response.content
    response.close()
    request = response.request.copy()
    if not (request.body is None or isinstance(request.body, (str, bytes))):
        request.body.seek(request._body_position)
    request.headers.update(headers)
    again = response.connection.send(request, **options)
    again.history.append(response)
    again.request = request
    return again
