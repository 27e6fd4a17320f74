"""The protocol core by itself: bytes in, answers and events out."""

import json
import unittest
from typing import Any, Dict, List

from lanyard import ConnectionLost, LanyardError, Overloaded, ProtocolError, ReauthenticationRequired, RequestTooLarge
from lanyard._core import MAXIMUM_ANSWER_BYTES, MAXIMUM_STRAY_EVENTS, Core
from lanyard._events import MAXIMUM_QUEUED_EVENTS, EventFeed, pause_seconds

from .fake_agent import line


class Answers:
    def __init__(self) -> None:
        self.results: List[Dict[str, Any]] = []
        self.errors: List[LanyardError] = []

    def succeed(self, result: Dict[str, Any]) -> None:
        self.results.append(result)

    def fail(self, error: LanyardError) -> None:
        self.errors.append(error)


def result(number: Any, **members: Any) -> bytes:
    return line({"jsonrpc": "2.0", "id": number, "result": members})


def event(sequence: int, epoch: str = "e", subscription: str = "s") -> bytes:
    params = {"subscription": subscription, "epoch": epoch, "sequence": sequence, "type": "token.refreshed"}
    return line({"jsonrpc": "2.0", "method": "event", "params": {**params, "at": "2030-01-01T00:00:00Z", "data": {}}})


class Framing(unittest.TestCase):
    def test_a_request_is_one_line_of_json(self) -> None:
        number, request = Core().request("token.get", {"account": "zoë\n"}, Answers())
        self.assertEqual(request.count(b"\n"), 1)
        self.assertTrue(request.endswith(b"\n"))
        self.assertEqual(
            json.loads(request),
            {"jsonrpc": "2.0", "id": number, "method": "token.get", "params": {"account": "zoë\n"}},
        )

    def test_answers_may_come_byte_by_byte_together_and_out_of_order(self) -> None:
        for size in (1, 2, 7, 10_000):
            core, answers = Core(), [Answers(), Answers(), Answers()]
            numbers = [core.request("agent.status", {}, sink)[0] for sink in answers]
            stream = b"".join(result(number, text=f"é{number}") for number in reversed(numbers)) + b"\r\n\n"
            for start in range(0, len(stream), size):
                core.receive(stream[start : start + size])
            self.assertEqual([sink.results for sink in answers], [[{"text": f"é{number}"}] for number in numbers])

    def test_a_line_of_megabytes_is_read_in_linear_time(self) -> None:
        core, answers = Core(), Answers()
        number, _ = core.request("request.send", {}, answers)
        body = "x" * (8 << 20)
        stream = result(number, body=body)
        for start in range(0, len(stream), 4096):
            core.receive(stream[start : start + 4096])
        self.assertEqual(answers.results[0]["body"], body)

    def test_a_line_without_end_is_an_error(self) -> None:
        core = Core()
        with self.assertRaises(ProtocolError):
            for _ in range(MAXIMUM_ANSWER_BYTES // (1 << 20) + 1):
                core.receive(b"x" * (1 << 20))

    def test_what_is_not_json_is_an_error_that_does_not_hold_the_line(self) -> None:
        for bad in (b"secret\n", b'{"secret":NaN}\n', b'{"id":1,"secret":"\xff"}\n', b"[" * 100_000 + b"\n", b"7\n"):
            with self.assertRaises(ProtocolError) as caught:
                Core().receive(bad)
            self.assertNotIn("secret", str(caught.exception))
            self.assertIsNone(caught.exception.__context__)

    def test_a_string_that_is_no_text_is_refused_without_telling_it(self) -> None:
        core = Core()
        with self.assertRaises(ValueError) as caught:
            core.request("secret.put", {"value": "secret\ud800"}, Answers())
        self.assertNotIn("secret", str(caught.exception))
        self.assertIsNone(caught.exception.__context__)

    def test_a_request_over_the_limit_is_not_sent(self) -> None:
        core = Core()
        core.obey({"limits": {"lineBytes": 100, "bodyLineBytes": 1000}})
        with self.assertRaises(RequestTooLarge):
            core.request("token.get", {"account": "x" * 100}, Answers())
        core.request("request.send", {"body": "x" * 500}, Answers())
        core.request("policy.set", {"policy": "x" * 500}, Answers())
        with self.assertRaises(RequestTooLarge):
            core.request("secret.put", {"value": "x" * 1000}, Answers())


class Calls(unittest.TestCase):
    def test_an_error_becomes_its_class(self) -> None:
        core, answers = Core(), Answers()
        number, _ = core.request("token.get", {}, answers)
        data = {"name": "reauthenticationRequired", "retryable": False, "reason": "outcomeUnknown"}
        core.receive(line({"jsonrpc": "2.0", "id": number, "error": {"code": 2004, "message": "m", "data": data}}))
        self.assertIsInstance(answers.errors[0], ReauthenticationRequired)
        self.assertEqual(answers.errors[0].reason, "outcomeUnknown")

    def test_answers_to_unknown_ids_are_ignored(self) -> None:
        core = Core()
        core.receive(result(99) + result("1") + result(True) + result([]))
        core.receive(line({"jsonrpc": "2.0", "method": "news", "params": {}}))

    def test_an_answer_that_is_neither_result_nor_error_fails_the_call(self) -> None:
        answers_of: List[Dict[str, Any]] = [{}, {"result": 7}, {"error": 7}, {"error": {}}, {"error": {"code": True}}]
        for bad in answers_of:
            core, answers = Core(), Answers()
            number, _ = core.request("agent.status", {}, answers)
            core.receive(line({"jsonrpc": "2.0", "id": number, **bad}))
            self.assertIsInstance(answers.errors[0], ProtocolError)

    def test_an_error_without_an_id_ends_the_connection_with_that_error(self) -> None:
        error = {"code": 1003, "message": "", "data": {"name": "overloaded", "retryable": True, "retryAfterMs": 500}}
        with self.assertRaises(Overloaded) as caught:
            Core().receive(line({"jsonrpc": "2.0", "id": None, "error": error}))
        self.assertEqual(caught.exception.retry_after_ms, 500)

    def test_a_cancelled_request_takes_room_until_it_is_answered(self) -> None:
        core, answers = Core(), Answers()
        core.obey({"limits": {"requestsInFlight": 1}})
        number, _ = core.request("token.get", {}, answers)
        self.assertFalse(core.has_room)
        cancel = core.cancel(number)
        assert cancel is not None
        self.assertEqual(json.loads(cancel), {"jsonrpc": "2.0", "method": "$/cancel", "params": {"id": number}})
        self.assertFalse(core.has_room)
        core.receive(result(number))
        self.assertTrue(core.has_room)
        self.assertEqual((answers.results, answers.errors), ([], []))
        self.assertIsNone(core.cancel(number))

    def test_everybody_who_waits_is_told_that_the_connection_is_lost(self) -> None:
        core, answers = Core(), [Answers(), Answers()]
        for sink in answers:
            core.request("token.get", {}, sink)
        core.lost(lambda: ConnectionLost("gone"))
        self.assertEqual([len(sink.errors) for sink in answers], [1, 1])
        self.assertIsNot(answers[0].errors[0], answers[1].errors[0])


class Events(unittest.TestCase):
    def subscribe(self, core: Core, feed: EventFeed, **members: Any) -> None:
        number, _ = core.request("event.subscribe", feed.params(), Answers(), feed)
        core.receive(result(number, **{"subscription": "s", "epoch": "e", "sequence": 0, "gap": False, **members}))

    def take(self, feed: EventFeed) -> List[Any]:
        taken = []
        while feed.ready:
            event = feed.take()
            taken.append("gap" if event.type == "event.gap" else event.sequence)
        return taken

    def test_events_around_the_answer_are_all_kept(self) -> None:
        core, feed, answers = Core(), EventFeed(None, None, None), Answers()
        number, _ = core.request("event.subscribe", feed.params(), answers, feed)
        told = result(number, subscription="s", epoch="e", sequence=0, gap=False)
        core.receive(event(1) + event(2, subscription="other") + told + event(3))
        self.assertEqual(self.take(feed), [1, 3])

    def test_a_resumed_feed_says_where_it_stands_and_drops_what_it_had(self) -> None:
        feed = EventFeed(["token.refreshed"], ["work"], None)
        self.assertEqual(feed.params(), {"types": ["token.refreshed"], "accounts": ["work"]})
        core = Core()
        self.subscribe(core, feed)
        core.receive(event(1) + event(2))
        self.assertEqual(feed.params()["since"], {"epoch": "e", "sequence": 2})
        core = Core()
        self.subscribe(core, feed, sequence=4)
        core.receive(event(2) + event(3) + event(4))
        self.assertEqual(self.take(feed), [1, 2, 3, 4])

    def test_a_gap_stands_where_events_are_missing(self) -> None:
        feed, core = EventFeed(None, None, None), Core()
        self.subscribe(core, feed)
        core.receive(event(1))
        core = Core()
        self.subscribe(core, feed, sequence=9, gap=True)
        core.receive(event(10))
        self.assertEqual(self.take(feed), [1, "gap", 10])

    def test_another_epoch_is_a_gap_and_counts_anew(self) -> None:
        feed, core = EventFeed(None, None, {"epoch": "e", "sequence": 50}), Core()
        self.subscribe(core, feed, epoch="f", sequence=1)
        core.receive(event(2, epoch="f"))
        self.assertEqual(self.take(feed), ["gap", 2])
        self.assertEqual(feed.position, {"epoch": "f", "sequence": 2})

    def test_a_consumer_that_does_not_come_finds_a_gap_in_front(self) -> None:
        feed, core = EventFeed(None, None, None), Core()
        self.subscribe(core, feed)
        for sequence in range(1, MAXIMUM_QUEUED_EVENTS + 6):
            core.receive(event(sequence))
        gap = feed.take()
        self.assertEqual((gap.type, gap.sequence, gap.data), ("event.gap", 6, {"from": 1, "to": 6}))
        self.assertEqual(feed.position, {"epoch": "e", "sequence": 6})
        self.assertEqual(feed.params()["since"], {"epoch": "e", "sequence": MAXIMUM_QUEUED_EVENTS + 5})
        self.assertEqual(self.take(feed), list(range(7, MAXIMUM_QUEUED_EVENTS + 6)))

    def test_a_subscription_that_nobody_waits_for_is_ended(self) -> None:
        core, feed, answers = Core(), EventFeed(None, None, None), Answers()
        number, _ = core.request("event.subscribe", feed.params(), answers, feed)
        core.cancel(number)
        self.assertEqual(core.unwanted(), [])
        core.receive(result(number, subscription="s", epoch="e", sequence=0, gap=False) + event(1))
        (line,) = core.unwanted()
        self.assertEqual(json.loads(line)["method"], "event.unsubscribe")
        self.assertEqual(json.loads(line)["params"], {"subscription": "s"})
        self.assertEqual((core.unwanted(), self.take(feed), answers.results), ([], [], []))

    def test_events_of_a_subscription_that_failed_take_no_room(self) -> None:
        core, feed = Core(), EventFeed(None, None, None)
        first, _ = core.request("event.subscribe", {}, Answers(), feed)
        core.receive(b"".join(event(sequence) for sequence in range(MAXIMUM_STRAY_EVENTS)))
        core.cancel(first)
        second, _ = core.request("event.subscribe", {}, Answers(), feed)
        core.receive(event(1, subscription="t") + result(second, subscription="t", epoch="e", sequence=0, gap=False))
        self.assertEqual(self.take(feed), [1])

    def test_the_position_is_that_of_the_last_event_that_was_taken(self) -> None:
        feed, core = EventFeed(None, None, None), Core()
        self.subscribe(core, feed)
        core.receive(event(1) + event(2))
        feed.take()
        self.assertEqual(feed.position, {"epoch": "e", "sequence": 1})
        self.assertEqual(feed.params()["since"], {"epoch": "e", "sequence": 2})
        self.subscribe(Core(), feed, sequence=9, gap=True)
        feed.take()
        self.assertEqual(feed.take().data, {"from": 3, "to": 9})
        self.assertEqual(feed.position, {"epoch": "e", "sequence": 9})

    def test_a_pause_is_at_least_what_the_agent_asks_for(self) -> None:
        told = [Overloaded("", data={"retryAfterMs": milliseconds}) for milliseconds in (10, 7000, 10**400, "7000")]
        self.assertEqual([pause_seconds(0, error) for error in told], [0.05, 7.0, 3600.0, 0.05])
        self.assertEqual([pause_seconds(attempt) for attempt in (0, 1, 99)], [0.05, 0.1, 5.0])

    def test_a_subscription_that_names_nothing_fails_the_call(self) -> None:
        core, answers = Core(), Answers()
        number, _ = core.request("event.subscribe", {}, answers, EventFeed(None, None, None))
        core.receive(result(number, subscription="s"))
        self.assertIsInstance(answers.errors[0], ProtocolError)


if __name__ == "__main__":
    unittest.main()
