"""A stream of events outlives its connection."""

import time

from failures import CaseFailed, same
from lines import event, line
from trial import case


def started(t, sequences=(1, 2), **members):
    """A stream that has these events, and the connection."""
    peer = t.connected()
    number, _ = t.subscribed(peer, **members)
    for sequence in sequences:
        peer.event(sequence)
        t.driver.event(number)
    return peer, number


@case("resume: after the last event", "events")
def after_the_last(t):
    peer, number = started(t, types=["token.refreshed"])
    peer.hang_up()
    second = t.agent.greeted()
    params = second.subscribe("sub-9", sequence=2)
    same(params, {"types": ["token.refreshed"], "since": {"epoch": "epoch-1", "sequence": 2}}, "the params")
    second.event(3, "sub-9")
    same(t.driver.event(number)["sequence"], 3, "the sequence number")
    second.event(4, "sub-1")
    t.driver.silent(number, 0.1)


@case("resume: what was replayed is not told twice", "events")
def replayed(t):
    peer, number = started(t)
    peer.hang_up()
    second = t.agent.greeted()
    second.subscribe("sub-9", sequence=5, with_answer=b"".join(line(event("sub-9", n)) for n in (1, 2, 3, 4, 5)))
    second.event(6, "sub-9")
    same([t.driver.event(number)["sequence"] for _ in range(4)], [3, 4, 5, 6], "the sequence numbers")


@case("resume: a replay that is read before its answer", "events")
def replayed_early(t):
    peer, number = started(t)
    peer.hang_up()
    second = t.agent.greeted()
    request = second.request("event.subscribe")
    second.raw(b"".join(line(event("sub-9", n)) for n in (2, 3)))
    second.answer(request, {"subscription": "sub-9", "epoch": "epoch-1", "sequence": 3, "gap": False})
    second.event(4, "sub-9")
    same([t.driver.event(number)["sequence"] for _ in range(2)], [3, 4], "the sequence numbers")


@case("resume: a gap is one event", "events", "position")
def gap(t):
    peer, number = started(t)
    peer.hang_up()
    second = t.agent.greeted()
    second.subscribe("sub-9", sequence=40, gap=True)
    second.event(41, "sub-9")
    found = t.driver.event(number)
    same(found["type"], "event.gap", "the type")
    same(t.driver.event(number)["sequence"], 41, "the sequence number")
    same(t.driver.do("position", of=number), {"epoch": "epoch-1", "sequence": 41}, "the position")


@case("resume: another epoch is a gap", "events")
def epoch(t):
    peer, number = started(t)
    peer.hang_up()
    second = t.agent.greeted(instance="instance-2")
    second.subscribe("sub-9", epoch="epoch-2", sequence=0)
    second.event(1, "sub-9", epoch="epoch-2")
    same([t.driver.event(number)["type"] for _ in range(2)], ["event.gap", "token.refreshed"], "the types")
    second.hang_up()
    third = t.agent.greeted()
    same(third.subscribe("sub-10", epoch="epoch-2", sequence=1)["since"], {"epoch": "epoch-2", "sequence": 1}, "`since`")


@case("resume: a stream without an event yet", "events")
def none_yet(t):
    peer, number = started(t, ())
    peer.hang_up()
    second = t.agent.greeted()
    same(second.subscribe("sub-9")["since"], {"epoch": "epoch-1", "sequence": 0}, "`since`")
    second.event(1, "sub-9")
    same(t.driver.event(number)["sequence"], 1, "the sequence number")


@case("resume: from a position that was kept", "events")
def from_a_position(t):
    peer = t.connected()
    number = t.driver.send("events", client="c", since={"epoch": "epoch-1", "sequence": 7})
    params = peer.subscribe(sequence=9)
    same(params, {"since": {"epoch": "epoch-1", "sequence": 7}}, "the params")
    t.driver.result(number)
    for sequence in (7, 8, 9):
        peer.event(sequence)
    same([t.driver.event(number)["sequence"] for _ in range(2)], [8, 9], "the sequence numbers")


@case("resume: from a position that the agent does not have", "events")
def from_an_old_position(t):
    peer = t.connected()
    number = t.driver.send("events", client="c", since={"epoch": "epoch-0", "sequence": 7})
    peer.subscribe(sequence=9, gap=True)
    t.driver.result(number)
    peer.event(10)
    same([t.driver.event(number)["type"] for _ in range(2)], ["event.gap", "token.refreshed"], "the types")


@case("resume: the agent comes back later", "events")
def later(t):
    peer, number = started(t)
    t.agent.stop_listening()
    peer.hang_up()
    t.driver.silent(number, 1.0)
    t.agent.listen()
    second = t.agent.greeted()
    second.subscribe("sub-9", sequence=2)
    second.event(3, "sub-9")
    same(t.driver.event(number)["sequence"], 3, "the sequence number")


@case("resume: a refusal that passes is no end", "events")
def passing_refusal(t):
    peer, number = started(t)
    peer.hang_up()
    for _ in range(2):
        second = t.agent.greeted()
        second.fail(second.request("event.subscribe"), 1003, "overloaded", retryable=True, retryAfterMs=10)
        second.hang_up()
    third = t.agent.greeted()
    third.subscribe("sub-9", sequence=2)
    third.event(3, "sub-9")
    same(t.driver.event(number)["sequence"], 3, "the sequence number")


@case("resume: a refusal that lasts ends the stream", "events")
def lasting_refusal(t):
    peer, number = started(t)
    peer.hang_up()
    second = t.agent.greeted()
    second.fail(second.request("event.subscribe"), 6001, "notPermitted")
    same(t.driver.error(number, "agent")["code"], 6001, "the code")


@case("resume: two streams, each from its own position", "events", "shared")
def two_streams(t):
    peer = t.connected()
    numbers = []
    for index in (1, 2):
        number = t.driver.send("events", client="c", types=[f"of.{index}"])
        peer.subscribe(f"sub-{index}")
        t.driver.result(number)
        peer.event(index * 10, f"sub-{index}", type=f"of.{index}")
        t.driver.event(number)
        numbers.append(number)
    peer.hang_up()
    second = t.agent.greeted()
    found = {}
    for _ in numbers:
        request = second.request("event.subscribe")
        name = request["params"]["types"][0]
        found[name] = request["params"]["since"]["sequence"]
        result = {"subscription": f"new-{name}", "epoch": "epoch-1", "sequence": 30, "gap": False}
        second.answer(request, result)
        second.event(31, f"new-{name}", type=name)
    same(found, {"of.1": 10, "of.2": 20}, "the positions")
    same([t.driver.event(number)["sequence"] for number in numbers], [31, 31], "the sequence numbers")


@case("resume: not at full speed against an agent that ends each time", "events")
def no_storm(t):
    peer, _ = started(t)
    peer.hang_up()
    began = time.monotonic()
    for _ in range(5):
        t.agent.peer().hang_up()
    if time.monotonic() - began < 0.3:
        raise CaseFailed("five connections within 0.3 s: the client does not pause between them")


@case("resume: a stream that is closed between two connections", "events")
def closed_between(t):
    peer, number = started(t)
    t.agent.stop_listening()
    peer.hang_up()
    time.sleep(0.2)
    t.driver.do("stop", of=number)
    t.driver.ended(number)
    t.agent.listen()
    t.agent.no_peer(0.5)
