"""One request with a token, without I/O: what to ask of the agent, what to send, when to send it again.

`exchange` is a generator. It yields an `Ask`, whose answer it wants back, or `Send`, whose `Answer` it wants back. A 401
is reported once, and the request sent once more; a refusal for its nonce (RFC 9449 §9) does not count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, Dict, Generator, Optional, Sequence, Union

from .._generated import Token, TokenProofResult
from ._origins import Origins

_LONGEST_CHALLENGE = 4096
_WANTS_NONCE = re.compile(r"\bDPoP\b.*\buse_dpop_nonce\b", re.IGNORECASE)


@dataclass(frozen=True)
class Binding:
    """An account, the token that is wanted, and where it may go."""

    account: str
    origins: Origins
    scopes: Optional[Sequence[str]] = None
    resource: Optional[str] = None

    def get(self, tokens: Any) -> Any:
        """Asks for a token; `tokens` is `client.token`."""
        return tokens.get(account=self.account, scopes=self.scopes, resource=self.resource)


@dataclass(frozen=True)
class Ask:
    """A question to the agent. `put(client.token)` is its answer, or an awaitable of it."""

    put: Callable[[Any], Any]


@dataclass(frozen=True)
class Send:
    """The header fields of the request that is to be sent now."""

    headers: Dict[str, str] = field(repr=False)


@dataclass(frozen=True)
class Answer:
    """What a response says of the token."""

    status: int
    challenge: Optional[str] = None
    nonce: Optional[str] = None


Exchange = Generator[Union[Ask, Send], Any, None]


def end_here(token: Token) -> datetime:
    """When a token ends that was told now, by this machine's clock, with which libraries compare it: `expires_at` is by
    the provider's."""
    return datetime.now(timezone.utc) + timedelta(seconds=token.expires_in_seconds)


def is_bound(token: Token) -> bool:
    """True for a token that needs a proof for each request."""
    return token.token_type.lower() == "dpop"


def authorization(token: Token) -> str:
    """The value of `Authorization`."""
    scheme = {"dpop": "DPoP", "bearer": "Bearer"}.get(token.token_type.lower(), token.token_type)
    return f"{scheme} {token.access_token}"


def named_account(account: str, token: Token) -> str:
    """The account to name in what follows: another may become the active one meanwhile."""
    return token.account if account == "@active" else account


def exchange(binding: Binding, method: str, url: str, may_send_again: bool) -> Exchange:
    """The steps of one request. The caller has checked the origin of `url`."""
    token: Token = yield Ask(binding.get)
    account = named_account(binding.account, token)
    nonce: Optional[str] = None
    has_reported = has_new_nonce = False
    while True:
        headers = {"Authorization": authorization(token)}
        if is_bound(token):
            headers["DPoP"] = yield from _proof(account, method, url, token.fingerprint, nonce)
        answer: Answer = yield Send(headers)
        if answer.status != 401:
            return
        if is_bound(token) and _WANTS_NONCE.search(answer.challenge or ""):
            # The server has not judged the token.
            if has_new_nonce or answer.nonce is None or not may_send_again:
                return
            nonce, has_new_nonce = answer.nonce, True
            continue
        if has_reported:
            return
        token = yield Ask(_report(account, token.fingerprint, answer.challenge))
        if not may_send_again:
            return
        nonce, has_reported, has_new_nonce = answer.nonce, True, False


def _proof(account: str, method: str, url: str, fingerprint: str, nonce: Optional[str]) -> Generator[Ask, Any, str]:
    made: TokenProofResult = yield Ask(
        lambda tokens: tokens.proof(account=account, method=method, url=url, fingerprint=fingerprint, nonce=nonce)
    )
    return made.proof


def _report(account: str, fingerprint: str, challenge: Optional[str]) -> Callable[[Any], Any]:
    told = challenge if challenge and len(challenge) <= _LONGEST_CHALLENGE else None
    return lambda tokens: tokens.reject(account=account, fingerprint=fingerprint, challenge=told)
