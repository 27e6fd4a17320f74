"""The origins to which a token may go."""

from __future__ import annotations

import ipaddress
import re
from typing import FrozenSet, Iterable, Optional, Tuple, Union
from urllib.parse import urlsplit

from .._errors import OriginRefused

Origin = Tuple[str, str, int]

_PORTS = {"http": 80, "https": 443}
# Host and port, without a user: a name or an IPv4 address, or an IPv6 address in brackets.
_PLACE = re.compile(r"(?:([A-Za-z0-9._-]+)|\[([0-9A-Fa-f:.]+)\])(?::([0-9]{1,9}))?")
# What one reader of a URL takes as the end of the host, and another does not.
_AMBIGUOUS = re.compile(r"[^!-~]|\\")


class Origins:
    """A set of origins, such as `https://api.example`. Each is of https, or of this machine.

    Args:
        origins: One origin, or several. They have no path.

    Raises:
        ValueError: There is no origin, or one of them is none.
        OriginRefused: An origin of http is not a loopback address.
    """

    def __init__(self, origins: Union[str, Iterable[str]]) -> None:
        named = [origins] if isinstance(origins, str) else list(origins)
        found = []
        for text in named:
            origin = _parsed(text)
            if origin is None or text.split("://", 1)[1].rstrip("/").count("/") or "?" in text or "#" in text:
                raise ValueError("an origin is a scheme and a host, such as https://api.example")
            _require_safe(origin)
            found.append(origin)
        if not found:
            raise ValueError("name at least one origin")
        self._origins: FrozenSet[Origin] = frozenset(found)

    def check(self, url: str) -> None:
        """Returns if a token may go to `url`.

        Args:
            url: The URL of a request.

        Raises:
            OriginRefused: It is of another origin, or can be read in several ways.
        """
        origin = _parsed(url)
        if origin is None or origin not in self._origins:
            raise OriginRefused("the URL is of none of the named origins; nothing was sent")

    def covers(self, url: str) -> bool:
        """True if a token may go to `url`."""
        return _parsed(url) in self._origins

    def __repr__(self) -> str:
        return f"Origins({sorted(_text(origin) for origin in self._origins)})"


def same_origin(first: str, second: str) -> bool:
    """True if both URLs are of one origin."""
    origin = _parsed(first)
    return origin is not None and origin == _parsed(second)


def is_safe(url: str) -> bool:
    """True for a whole URL of https or of this machine: a token that goes there can't be read on the way."""
    origin = _parsed(url)
    if origin is None:
        return False
    try:
        _require_safe(origin)
    except OriginRefused:
        return False
    return True


def _parsed(url: str) -> Optional[Origin]:
    if _AMBIGUOUS.search(url):
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    place = _PLACE.fullmatch(parts.netloc)
    if parts.scheme not in _PORTS or place is None:
        return None
    host, port = (place[1] or place[2]).lower(), place[3]
    return parts.scheme, host, _PORTS[parts.scheme] if port is None else int(port)


def _require_safe(origin: Origin) -> None:
    scheme, host, _ = origin
    if scheme == "https" or host == "localhost":
        return
    try:
        if ipaddress.ip_address(host).is_loopback:
            return
    except ValueError:
        pass
    raise OriginRefused(f"{_text(origin)} is not encrypted, and not this machine")


def _text(origin: Origin) -> str:
    scheme, host, port = origin
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}" + ("" if port == _PORTS[scheme] else f":{port}")
