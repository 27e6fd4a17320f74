"""The practice provider as all programs meet it: one client with a secret, which may come back to each of their pages."""

from __future__ import annotations

import json
import tempfile
import urllib.error
import urllib.request
from typing import Any, Dict, Optional

from harness import Practice

CALLBACKS = ["http://127.0.0.1/callback", "http://127.0.0.1/api/auth/callback/oauth"]
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def control(issuer: str, command: str, **body: Any) -> Any:
    request = urllib.request.Request(
        f"{issuer}/practice/{command}", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with _opener.open(request, timeout=30) as answer:
        return json.load(answer)


def metadata(issuer: str) -> Dict[str, str]:
    """The endpoints, by the names that authsome has for them."""
    with _opener.open(f"{issuer}/.well-known/openid-configuration", timeout=30) as answer:
        document = json.load(answer)
    names = {"authorization_url": "authorization", "token_url": "token", "revocation_url": "revocation"}
    return {ours: document[f"{theirs}_endpoint"] for ours, theirs in names.items()}


def accepts(issuer: str, token: str) -> bool:
    """True if the protected resource takes the token."""
    request = urllib.request.Request(f"{issuer}/protected", headers={"Authorization": f"Bearer {token}"})
    try:
        with _opener.open(request, timeout=30) as answer:
            return bool(answer.status == 200)
    except urllib.error.HTTPError:
        return False


class Provider(Practice):
    """Rotates refresh tokens strictly: the second use of one ends the session."""

    def __init__(self, demo: str) -> None:
        users = {
            "users": [{"name": "alice", "tenant": "acme", "password": "alice", "roles": []}],
            "clients": [
                {"client_id": "rivals", "client_secret": "practice-secret", "redirect_uris": CALLBACKS},
                {"client_id": "lanyard-demo", "redirect_uris": CALLBACKS},
            ],
        }
        self._users = tempfile.NamedTemporaryFile("w", suffix=".json")
        json.dump(users, self._users)
        self._users.flush()
        super().__init__(demo, options=["--rotation", "strict", "--users", self._users.name])

    def lifetime(self, seconds: int) -> None:
        control(self.issuer, "options", accessTokenLifetimeSeconds=seconds)

    def _get(self, what: str) -> Any:
        with _opener.open(f"{self.issuer}/practice/{what}", timeout=30) as answer:
            return json.load(answer)

    def refreshes(self) -> int:
        return sum(1 for request in self._get("requests")["requests"] if request.get("grant_type") == "refresh_token")

    def mark(self) -> None:
        """Sessions that have ended by now count no more."""
        self._before = set(self._ended())

    def _ended(self) -> Dict[str, str]:
        return {grant["id"]: grant["ended"] for grant in self._get("grants")["grants"] if grant["ended"]}

    def ended(self) -> Optional[str]:
        """Why a session ended since the last mark; nothing while none has."""
        return next((reason for grant, reason in self._ended().items() if grant not in self._before), None)

    def unreachable(self, *paths: str) -> None:
        """Each connection is closed without an answer."""
        for path in paths:
            control(self.issuer, "faults", path=path, effect="dropBeforeProcessing", count=100_000)

    def reachable(self) -> None:
        request = urllib.request.Request(f"{self.issuer}/practice/faults", method="DELETE")
        with _opener.open(request, timeout=30) as answer:
            answer.read()

    def accepts(self, token: str) -> bool:
        return accepts(self.issuer, token)

    def stop(self) -> None:
        super().stop()
        self._users.close()
