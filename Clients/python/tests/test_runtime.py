"""Records, enumerations, instants and errors, as they come from the wire and go to it."""

import copy
import pickle
import unittest
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, Dict, List, Optional, Union

from lanyard import ERRORS, LanyardError, Offline, OpenEnum, ProtocolError, Record
from lanyard._core import error_from_json
from lanyard._errors import STANDARD_ERRORS
from lanyard._runtime import camel, encode, encode_params, format_instant, parse_instant


class Color(OpenEnum):
    DARK_RED = "darkRed"


@dataclass(frozen=True)
class Rope(Record):
    meters: int


@dataclass(frozen=True)
class Badge(Record):
    """Every kind of member that the generator writes."""

    id: str
    secret_value: str = field(repr=False)
    issued_at: datetime
    color: Union[Color, str]
    ropes: List[Rope]
    counts: Dict[str, int]
    anything: Any
    ratio: Optional[float] = None
    import_: Optional[bool] = None
    odd_name: Optional[str] = field(default=None, metadata={"wire": "odd-name"})
    rope: Optional[Rope] = None


WIRE = {
    "id": "b1",
    "secretValue": "hush",
    "issuedAt": "2030-01-01T00:00:00.250Z",
    "color": "darkRed",
    "ropes": [{"meters": 3}],
    "counts": {"anyKey": 1},
    "anything": {"aB": [None]},
}


class Records(unittest.TestCase):
    def test_members_are_read_by_their_types(self) -> None:
        badge = Badge.from_json({**WIRE, "ratio": 1, "import": True, "odd-name": "x", "rope": {"meters": 1}})
        self.assertEqual(badge.issued_at, datetime(2030, 1, 1, 0, 0, 0, 250_000, timezone.utc))
        self.assertIs(badge.color, Color.DARK_RED)
        self.assertEqual(badge.ropes, [Rope(meters=3)])
        self.assertEqual((badge.counts, badge.anything), ({"anyKey": 1}, {"aB": [None]}))
        self.assertEqual((badge.ratio, badge.import_, badge.odd_name, badge.rope), (1, True, "x", Rope(meters=1)))

    def test_unknown_members_are_kept_beside_and_go_back(self) -> None:
        badge = Badge.from_json({**WIRE, "newMember": {"a": 1}, "ropes": [{"meters": 3, "knots": 2}]})
        self.assertEqual(badge.extra, {"newMember": {"a": 1}})
        self.assertEqual(badge.ropes[0].extra, {"knots": 2})
        self.assertEqual(badge.to_json(), {**WIRE, "newMember": {"a": 1}, "ropes": [{"meters": 3, "knots": 2}]})

    def test_unknown_values_survive_as_plain_strings(self) -> None:
        badge = Badge.from_json({**WIRE, "color": "mauve"})
        self.assertEqual(badge.color, "mauve")
        self.assertIs(type(badge.color), str)

    def test_known_values_are_strings_too(self) -> None:
        self.assertEqual(Color.DARK_RED, "darkRed")
        self.assertEqual(f"{Color.DARK_RED}/{str(Color.DARK_RED)}", "darkRed/darkRed")

    def test_absent_and_null_optional_members_are_none(self) -> None:
        self.assertIsNone(Badge.from_json(WIRE).ratio)
        self.assertIsNone(Badge.from_json({**WIRE, "ratio": None}).ratio)

    def test_a_wrong_answer_names_its_place_and_not_its_value(self) -> None:
        for member, value, place in [
            ("id", 7, "/id"),
            ("issuedAt", "hush", "/issuedAt"),
            ("issuedAt", 7, "/issuedAt"),
            ("color", ["hush"], "/color"),
            ("ropes", "hush", "/ropes"),
            ("ropes", [{"meters": "hush"}], "/ropes/0/meters"),
            ("ropes", [{"meters": True}], "/ropes/0/meters"),
            ("counts", {"a": "hush"}, "/counts/a"),
            ("counts", [], "/counts"),
            ("rope", {}, "/rope"),
            ("ratio", "hush", "/ratio"),
        ]:
            with self.subTest(member=member, value=value):
                with self.assertRaises(ProtocolError) as caught:
                    Badge.from_json({**WIRE, member: value})
                self.assertIn(place, str(caught.exception))
                self.assertNotIn("hush", str(caught.exception))
                self.assertIsNone(caught.exception.__cause__)

    def test_a_missing_member_is_named(self) -> None:
        with self.assertRaisesRegex(ProtocolError, "secretValue"):
            Badge.from_json({key: value for key, value in WIRE.items() if key != "secretValue"})
        with self.assertRaises(ProtocolError):
            Badge.from_json([])

    def test_repr_shows_no_secret_and_nothing_unknown(self) -> None:
        shown = repr(Badge.from_json({**WIRE, "newSecret": "hush-too"}))
        self.assertNotIn("hush", shown)
        self.assertIn("b1", shown)


class Params(unittest.TestCase):
    def test_none_is_absent_at_the_top_and_null_below(self) -> None:
        self.assertEqual(encode_params({"a": None, "b": {"c": None}}), {"b": {"c": None}})

    def test_values_become_what_the_wire_has(self) -> None:
        at = datetime(2030, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
        self.assertEqual(
            encode({"at": at, "color": Color.DARK_RED, "ropes": (Rope(meters=1),)}),
            {"at": "2030-01-01T00:00:00.000Z", "color": "darkRed", "ropes": [{"meters": 1}]},
        )
        self.assertIs(type(encode(Color.DARK_RED)), str)

    def test_names_lead_back_to_the_wire(self) -> None:
        for name, wire in [("expires_in_seconds", "expiresInSeconds"), ("body_base64", "bodyBase64"), ("id", "id")]:
            self.assertEqual(camel(name), wire)
        self.assertEqual(camel("import_"), "import")


class Instants(unittest.TestCase):
    def test_offsets_fractions_and_leap_seconds_are_read(self) -> None:
        for text, expected in [
            ("2030-01-01T00:00:00.000Z", datetime(2030, 1, 1, tzinfo=timezone.utc)),
            ("2030-01-01t00:00:00z", datetime(2030, 1, 1, tzinfo=timezone.utc)),
            ("2030-01-01T02:00:00+02:00", datetime(2030, 1, 1, tzinfo=timezone.utc)),
            ("2029-12-31T19:30:00-04:30", datetime(2030, 1, 1, tzinfo=timezone.utc)),
            ("2030-01-01T00:00:00.123456789Z", datetime(2030, 1, 1, 0, 0, 0, 123_456, timezone.utc)),
            ("2016-12-31T23:59:60Z", datetime(2016, 12, 31, 23, 59, 59, tzinfo=timezone.utc)),
        ]:
            self.assertEqual(parse_instant(text), expected)

    def test_what_is_no_instant_is_refused(self) -> None:
        for text in ("2030-01-01", "2030-13-01T00:00:00Z", "2030-01-01T00:00:00", "2030-01-01T00:00:00Z\n"):
            with self.assertRaises(ValueError):
                parse_instant(text)
        with self.assertRaises(ValueError):
            format_instant(datetime(2030, 1, 1))


class Errors(unittest.TestCase):
    def test_each_row_of_the_table_has_its_class(self) -> None:
        for code, kind in {**ERRORS, **STANDARD_ERRORS}.items():
            error = error_from_json({"code": code, "message": "m", "data": {"name": kind.name, "retryable": True}})
            self.assertIs(type(error), kind)
            self.assertEqual((error.code, error.name, error.retryable), (code, kind.name, True))
        self.assertEqual(len(ERRORS), 32)

    def test_an_unknown_code_survives(self) -> None:
        error = error_from_json({"code": 2999, "message": "m", "data": {"name": "newError", "account": "acc_1"}})
        self.assertIs(type(error), LanyardError)
        self.assertEqual((error.code, error.name, error.account), (2999, "newError", "acc_1"))

    def test_data_is_told_by_name(self) -> None:
        data = {"retryAfterMs": 1500, "reason": "r", "remedies": ["connect", 7, "unlock"], "account": "acc_1"}
        error = error_from_json({"code": 3001, "message": "m", "data": data})
        self.assertEqual((error.retry_after_ms, error.reason, error.account), (1500, "r", "acc_1"))
        self.assertEqual(error.remedies, ["connect", "unlock"])
        self.assertEqual(error.data, data)

    def test_data_of_wrong_types_is_as_good_as_absent(self) -> None:
        error = error_from_json({"code": 3001, "data": {"retryAfterMs": "x", "reason": 1, "remedies": 2, "name": 3}})
        self.assertEqual((error.retry_after_ms, error.reason, error.remedies), (None, None, []))
        self.assertEqual((error.name, str(error)), ("offline", "offline (3001)"))

    def test_the_text_holds_no_data(self) -> None:
        error = error_from_json({"code": 3001, "message": "no way", "data": {"reason": "hush"}})
        self.assertEqual(str(error), "no way [offline (3001)]")
        self.assertNotIn("hush", repr(error))

    def test_errors_can_be_pickled_and_copied(self) -> None:
        error = Offline("m", data={"retryAfterMs": 5})
        for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            self.assertIs(type(twin), Offline)
            self.assertEqual((str(twin), twin.retry_after_ms), (str(error), 5))


if __name__ == "__main__":
    unittest.main()
