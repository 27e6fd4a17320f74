"""The base of the generated code, and a description of that code.

`_generated.py` is written by `lanyard-schemas` from Schemas/. The hand-written client needs six names of it:
`PROTOCOL` (the version for `agent.hello`), `ERRORS`, `Methods`, `AsyncMethods`, `AgentHelloResult` and
`EventNotification`; `__all__` lists `ERRORS` and every error, enumeration and type, sorted. Part by part:

1. Errors. A class for each row of Schemas/errors.json, named so with a capital first letter; `ERRORS` maps codes
   to classes.

       class AgentLocked(LanyardError):
           \"\"\"The vault is locked; `agent.unlock` first.\"\"\"

           code: Optional[int] = 1001
           name: str = "agentLocked"

2. Enumerations. A class a closed set of strings, members in SCREAMING_SNAKE_CASE. An attribute of this
   kind is declared as `Union[AccountState, str]`: a value that only a newer agent knows stays a plain `str`.
   Members are strings themselves, so `account.state == "active"` is true in both cases.

       class AccountState(OpenEnum):
           ACTIVE = "active"

3. Types. A frozen dataclass an object type of Schemas/, required members first, optional ones after them with the
   default None. Attribute names are the wire's in snake_case (`camel()` leads back; a name that it would not lead back
   carries `field(metadata={"wire": "…"})`; a Python keyword gets a trailing `_`). Instants are `datetime`, arrays
   `List[…]`, maps `Dict[str, …]`, anything `Any`. A member with `x-secret` carries `field(repr=False)`, with
   `default=None` in front if it is optional. A result that is a `$ref` uses that type; one written in place is named
   `<Namespace><Method>Result`; an object or a set of strings written in place inside of a type, `<Type><Member>`.

       @dataclass(frozen=True)
       class Token(Record):
           \"\"\"An access token, and what is known about it.\"\"\"

           access_token: str = field(repr=False)
           expires_at: datetime
           resource: Optional[str] = None

4. Methods. Two classes a namespace, `<Namespace>Methods` and `Async<Namespace>Methods`, with one method a schema, in
   the schema's order; every param is a keyword argument, required ones first; None means absent. Arrays are taken as
   `Sequence[…]`, objects as `Union[<Type>, Mapping[str, Any]]`, instants as `Union[datetime, str]`. The body is always
   the same one call: wire name of the method, wire names of the params, type of the result.

       class TokenMethods:
           def __init__(self, caller: Caller) -> None:
               self._caller = caller

           def get(self, *, account: str, resource: Optional[str] = None) -> Token:
               \"\"\"…\"\"\"
               return self._caller.invoke("token.get", {"account": account, "resource": resource}, Token)

5. `Methods` and `AsyncMethods`: one attribute a namespace, in snake_case (`sign_in`), made in `__init__(self, caller)`.
"""

from __future__ import annotations

import dataclasses
import enum
import keyword
import re
from datetime import datetime, timedelta, timezone
from typing import (
    Any,
    Awaitable,
    Callable,
    Dict,
    List,
    Mapping,
    Optional,
    Protocol,
    Tuple,
    Type,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from ._errors import ProtocolError

R = TypeVar("R", bound="Record")
Decoder = Callable[[Any, str], Any]


class Caller(Protocol):
    """The interface of the blocking client for generated methods."""

    def invoke(self, method: str, params: Mapping[str, Any], result: Type[R]) -> R:
        """Calls `method` with `params` under their wire names; reads the answer by `result`."""


class AsyncCaller(Protocol):
    """The interface of the asyncio client for generated methods."""

    def invoke(self, method: str, params: Mapping[str, Any], result: Type[R]) -> Awaitable[R]:
        """Calls `method` with `params` under their wire names; reads the answer by `result`."""


class OpenEnum(str, enum.Enum):
    """A set of strings that may grow. A value that this version does not know stays a plain `str`."""

    def __str__(self) -> str:
        """The value on the wire, such as `active`."""
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(str(self.value), spec)


class Record:
    """An object of the contract. `extra` keeps members that this version does not know."""

    @property
    def extra(self) -> Mapping[str, Any]:
        """Members of the answer that have no attribute, under their wire names. Not shown by `repr`."""
        extra: Mapping[str, Any] = self.__dict__.get("_extra", {})
        return extra

    @classmethod
    def from_json(cls: Type[R], value: Any, path: str = "") -> R:
        """Reads one JSON object.

        Args:
            value: The object, as `json.loads` returns it.
            path: Where it stands in its answer, for the text of an error.

        Returns:
            The record. Members that the class does not know are in `extra`.

        Raises:
            ProtocolError: A member is missing or of another type. The text names the place, never the value.
        """
        if not isinstance(value, dict):
            raise ProtocolError(f"{cls.__name__} at {path or '/'}: not an object")
        known: Dict[str, Any] = {}
        rest = dict(value)
        for attribute, wire, required, decode in _members(cls):
            member = rest.pop(wire, None)
            if member is not None:
                known[attribute] = decode(member, f"{path}/{wire}")
            elif required:
                raise ProtocolError(f"{cls.__name__} at {path or '/'}: no member {wire}")
        record = cls(**known)
        object.__setattr__(record, "_extra", rest)
        return record

    def to_json(self) -> Dict[str, Any]:
        """The JSON object, without absent members and with the members of `extra`."""
        members = {wire: encode(getattr(self, attribute)) for attribute, wire, _, _ in _members(type(self))}
        return {**{wire: value for wire, value in members.items() if value is not None}, **self.extra}


def encode(value: Any) -> Any:
    """Converts a param to JSON: records, instants and enumerations."""
    if isinstance(value, Record):
        return value.to_json()
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, datetime):
        return format_instant(value)
    if isinstance(value, Mapping):
        return {str(key): encode(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(element) for element in value]
    return value


def encode_params(params: Mapping[str, Any]) -> Dict[str, Any]:
    """Converts params to JSON. Leaves out a param that is None."""
    return {name: encode(value) for name, value in params.items() if value is not None}


def camel(name: str) -> str:
    """`expires_in_seconds` to `expiresInSeconds`, `import_` to `import`."""
    head, *tail = (name[:-1] if keyword.iskeyword(name[:-1]) else name).split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in tail)


# RFC 3339, section 5.6. The agent writes UTC with milliseconds; other offsets and fractions are accepted.
_INSTANT = re.compile(r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))")


def parse_instant(text: str) -> datetime:
    """An RFC 3339 instant as an aware `datetime` in UTC; a leap second is read as the second before it."""
    match = _INSTANT.fullmatch(text)
    if match is None:
        raise ValueError("not an RFC 3339 instant")
    day, clock, fraction, sign, hours, minutes = match.groups()
    leapless = clock[:-2] + "59" if clock.endswith(":60") else clock
    instant = datetime.strptime(f"{day} {leapless}", "%Y-%m-%d %H:%M:%S").replace(tzinfo=timezone.utc)
    instant += timedelta(microseconds=int((fraction or "0")[:6].ljust(6, "0")))
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    return instant + offset if sign == "-" else instant - offset


def format_instant(instant: datetime) -> str:
    """Formats an aware `datetime` as RFC 3339: UTC, milliseconds, `Z`."""
    if instant.tzinfo is None:
        raise ValueError("an instant needs a time zone: use datetime.now(timezone.utc)")
    return instant.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


_member_tables: Dict[type, List[Tuple[str, str, bool, Decoder]]] = {}


def _members(cls: type) -> List[Tuple[str, str, bool, Decoder]]:
    """(attribute, wire name, required, decoder) of each member; computed once a class."""
    table = _member_tables.get(cls)
    if table is None:
        hints = get_type_hints(cls)
        table = [
            (
                member.name,
                member.metadata.get("wire", camel(member.name)),
                member.default is dataclasses.MISSING and member.default_factory is dataclasses.MISSING,
                _decoder(hints[member.name]),
            )
            for member in dataclasses.fields(cls)
        ]
        _member_tables[cls] = table
    return table


def _decoder(hint: Any) -> Decoder:
    if hint is Any:
        return lambda value, path: value
    origin = get_origin(hint)
    if origin is Union:
        return _union_decoder([kind for kind in get_args(hint) if kind is not type(None)])
    if origin is list:
        return _list_decoder(_decoder(get_args(hint)[0]))
    if origin is dict:
        return _map_decoder(_decoder(get_args(hint)[1]))
    if isinstance(hint, type) and issubclass(hint, Record):
        return hint.from_json
    if hint is datetime:
        return _decode_instant
    return _scalar_decoder(hint)


def _union_decoder(kinds: List[Any]) -> Decoder:
    for kind in kinds:
        if isinstance(kind, type) and issubclass(kind, OpenEnum):
            return _enum_decoder(kind)
    if len(kinds) == 1:
        return _decoder(kinds[0])
    choices = [_decoder(kind) for kind in kinds]

    def decode(value: Any, path: str) -> Any:
        for choice in choices[:-1]:
            try:
                return choice(value, path)
            except ProtocolError:
                continue
        return choices[-1](value, path)

    return decode


def _enum_decoder(kind: Type[OpenEnum]) -> Decoder:
    known = {member.value: member for member in kind}

    def decode(value: Any, path: str) -> Any:
        if not isinstance(value, str):
            raise ProtocolError(f"{path}: not a string")
        return known.get(value, value)

    return decode


def _list_decoder(element: Decoder) -> Decoder:
    def decode(value: Any, path: str) -> Any:
        if not isinstance(value, list):
            raise ProtocolError(f"{path}: not an array")
        return [element(member, f"{path}/{index}") for index, member in enumerate(value)]

    return decode


def _map_decoder(element: Decoder) -> Decoder:
    def decode(value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise ProtocolError(f"{path}: not an object")
        return {name: element(member, f"{path}/{name}") for name, member in value.items()}

    return decode


def _decode_instant(value: Any, path: str) -> datetime:
    try:
        return parse_instant(value)
    except (TypeError, ValueError, OverflowError):
        raise ProtocolError(f"{path}: not an instant") from None


def _scalar_decoder(kind: type) -> Decoder:
    accepted: Tuple[type, ...] = (int, float) if kind is float else (kind,)

    def decode(value: Any, path: str) -> Any:
        # A bool is an int to Python, not to JSON.
        if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
            raise ProtocolError(f"{path}: not of type {kind.__name__}")
        return value

    return decode
