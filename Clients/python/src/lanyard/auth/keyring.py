"""A backend for `keyring`: access tokens in the place of passwords.

`keyring.get_password("lanyard", "work")` is the token of the account `work`. A service that is a URL is answered only if
the variable `LANYARD_KEYRING` names its origin:

    LANYARD_KEYRING="https://pypi.example=work https://repository.example:8443=home"

So `pip`, `twine` and others that ask keyring find tokens for the hosts that the person named, and no program gets one for
another host by naming it. Nothing can be stored or deleted.
"""

from __future__ import annotations

import os
import shlex
from typing import Iterator, Optional, Tuple

from keyring import backend, credentials, errors

from .._errors import LanyardError, OriginRefused
from .._generated import InteractionRequired, ReauthenticationRequired, SignedOut
from .._sync import Client
from ._exchange import is_bound
from ._origins import Origins

SERVICE = "lanyard"
"""The service whose users are accounts."""

VARIABLE = "LANYARD_KEYRING"
"""The variable with `ORIGIN=ACCOUNT`, parted by spaces."""


class _CanNotBeSet(errors.PasswordSetError, NotImplementedError):
    # `keyring`'s chainer goes on to the next backend at a NotImplementedError.
    pass


class _CanNotBeDeleted(errors.PasswordDeleteError, NotImplementedError):
    pass


class LanyardKeyring(backend.KeyringBackend):
    """Tokens of the agent's accounts, for programs that ask `keyring` for passwords."""

    # Behind every store of real passwords: where this is the only one, it stores nothing all the same.
    priority = 0.5  # type: ignore[assignment, unused-ignore]

    @property
    def name(self) -> str:
        """The name that `keyring --list-backends` shows."""
        return "lanyard"

    def get_password(self, service: str, username: str) -> Optional[str]:
        """The access token for a service.

        Args:
            service: `lanyard`, or a URL whose origin `LANYARD_KEYRING` names.
            username: The account, for the service `lanyard`; else it says nothing.

        Returns:
            The token, or None if the service is another one.

        Raises:
            KeyringError: The agent has no token.
        """
        account = _account(service, username)
        return None if account is None else _token(account)

    def get_credential(self, service: str, username: Optional[str]) -> Optional[credentials.Credential]:
        """The access token for a service, and the name to send with it.

        Args:
            service: `lanyard`, or a URL whose origin `LANYARD_KEYRING` names.
            username: The account, for the service `lanyard`; else the name to send. None for the account.

        Returns:
            Name and token, or None if the service is another one.

        Raises:
            KeyringError: The agent has no token.
        """
        account = _account(service, username)
        return None if account is None else credentials.SimpleCredential(username or account, _token(account))

    def set_password(self, service: str, username: str, password: str) -> None:
        """Refuses: tokens come from the provider.

        Raises:
            PasswordSetError: Always.
        """
        raise _CanNotBeSet("Lanyard stores no passwords: sign in with `lanyard login`")

    def delete_password(self, service: str, username: str) -> None:
        """Refuses: an account is signed out, not deleted.

        Raises:
            PasswordDeleteError: Always.
        """
        raise _CanNotBeDeleted("Lanyard deletes no passwords: sign out with `lanyard logout`")


def _account(service: str, username: Optional[str]) -> Optional[str]:
    if service == SERVICE:
        return username or None
    if "://" not in service:
        return None
    for origins, account in _named():
        if origins.covers(service):
            return account
    return None


def _named() -> Iterator[Tuple[Origins, str]]:
    for word in os.environ.get(VARIABLE, "").split():
        origin, _, account = word.rpartition("=")
        try:
            if account:
                yield Origins(origin), account
        except (ValueError, OriginRefused):
            # Another entry may be right; this one stands for no host.
            continue


def _token(account: str) -> str:
    try:
        with Client(name="lanyard-keyring") as client:
            token = client.token.get(account=account)
    except (SignedOut, ReauthenticationRequired, InteractionRequired) as error:
        words = f"lanyard login --account {shlex.quote(account)}"
        raise errors.KeyringError(f"Lanyard: {error} Run: {words}") from None
    except LanyardError as error:
        raise errors.KeyringError(f"Lanyard: {error}") from None
    if is_bound(token):
        raise errors.KeyringError("Lanyard: the account's tokens are bound to a key, and a password proves none")
    return token.access_token
