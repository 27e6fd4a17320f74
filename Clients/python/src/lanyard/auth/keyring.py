"""A backend for `keyring`: access tokens in the place of passwords.

`keyring.get_password("lanyard", "work")` is the token of the account `work`. A service that is a whole URL of https is
answered with the token of the account that the agent chooses for it, as for git and other tools: that of the longest
rule that covers the URL (`lanyard rule add https://pypi.example work`), else the account whose provider lists its
origin; of several that of `LANYARD_ACCOUNT`, of a trusted `.lanyard` file, or the active one. No other URL is answered,
nor a host alone, since a program may send to it without TLS.

The variable `LANYARD_KEYRING` names accounts for origins without a rule, before the agent looks at providers:

    LANYARD_KEYRING="https://pypi.example=work https://repository.example:8443=home"

So `pip`, `twine` and others that ask keyring find tokens for the hosts that the person named, and no program gets one for
another host by naming it. Nothing can be stored or deleted.
"""

from __future__ import annotations

import os
import pathlib
import shlex
from typing import Iterator, NamedTuple, Optional, Tuple
from urllib.parse import urlsplit

from keyring import backend, credentials, errors

from .._errors import AgentNotRunning, AgentStartFailed, InvalidParams, LanyardError, OriginRefused
from .._generated import AccountResolveResult, InteractionRequired, NotFound, ReauthenticationRequired, SignedOut, Token
from .._sync import Client
from ._exchange import is_bound
from ._origins import Origins, is_safe

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
            service: `lanyard`, or a URL of https that a rule, a provider or `LANYARD_KEYRING` gives an account.
            username: The account, for the service `lanyard`; else it decides between several accounts that fit.

        Returns:
            The token, or None if the service is another one.

        Raises:
            KeyringError: The agent has no token, or can't tell which account answers.
        """
        found = _find(service, username)
        return None if found is None else _token(found.account).access_token

    def get_credential(self, service: str, username: Optional[str]) -> Optional[credentials.Credential]:
        """The access token for a service, and the name to send with it.

        Args:
            service: `lanyard`, or a URL of https that a rule, a provider or `LANYARD_KEYRING` gives an account.
            username: The account, for the service `lanyard`; else the name to send. None for a name that the server takes.

        Returns:
            Name and token, or None if the service is another one.

        Raises:
            KeyringError: The agent has no token, or can't tell which account answers.
        """
        found = _find(service, username)
        if found is None:
            return None
        token = _token(found.account)
        # A key has the user name of its account, wherever a program would send it.
        own = token.placement.username if token.placement is not None else None
        return credentials.SimpleCredential(username or own or found.user, token.access_token)

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


class _Found(NamedTuple):
    account: str
    user: str
    """The name to send with the token, where the program has none."""


def _find(service: str, username: Optional[str]) -> Optional[_Found]:
    if service == SERVICE:
        return _Found(username, username) if username else None
    # A host alone, and a URL without TLS, are not asked for: the token would go over the network in clear.
    if not is_safe(service):
        return None
    named = next((account for origins, account in _named() if origins.covers(service)), None)
    try:
        chosen = _chosen(service, username)
    except errors.KeyringError:
        if named is None:
            raise
        chosen = None
    # A rule decides before the variable, which may be of an old profile.
    if named is not None and (chosen is None or chosen.because != "rule"):
        return _Found(named, named)
    return None if chosen is None else _Found(chosen.account, _usual_user(service))


def _chosen(url: str, username: Optional[str]) -> Optional[AccountResolveResult]:
    """The agent's choice for a URL; None if it chooses no account, or there is no agent."""
    user = username or None
    try:
        with Client(name="lanyard-keyring") as client:
            preferred = os.environ.get("LANYARD_ACCOUNT") or None
            directory = None if preferred else _directory()
            return client.account.resolve(url=url, user=user, preferred=preferred, working_directory=directory)
    except InvalidParams as error:
        if error.path == "/workingDirectory":
            raise errors.KeyringError(
                "Lanyard: the .lanyard file here has changed since you trusted it, or can't be read. No account was "
                "chosen. `lanyard trust` trusts it as it is.") from None
        return None
    except (AgentNotRunning, AgentStartFailed, NotFound):
        return None
    except LanyardError as error:
        raise errors.KeyringError(f"Lanyard: {error}") from None


def _directory() -> Optional[str]:
    """The working directory as `account.resolve` takes it: its `.lanyard` file may decide between several accounts."""
    try:
        directory = pathlib.Path.cwd()
    except OSError:
        return None
    try:
        os.fsencode(directory).decode()
    except UnicodeDecodeError:
        return directory.as_uri()
    return str(directory)


def _usual_user(url: str) -> str:
    """The user name beside a token. Most servers take any. `PlaceholderUser` of the commands has the same table."""
    host = urlsplit(url).hostname or ""
    if host == "bitbucket.org":
        return "x-token-auth"
    if host.endswith((".pkg.dev", ".gcr.io")) or host == "gcr.io":
        return "oauth2accesstoken"
    return "oauth2"


def _named() -> Iterator[Tuple[Origins, str]]:
    for word in os.environ.get(VARIABLE, "").split():
        origin, _, account = word.rpartition("=")
        try:
            if account:
                yield Origins(origin), account
        except (ValueError, OriginRefused):
            # Another entry may be right; this one stands for no host.
            continue


def _token(account: str) -> Token:
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
    return token
