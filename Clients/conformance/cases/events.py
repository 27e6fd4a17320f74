"""Streams of events on one connection."""

from failures import CaseFailed, holds, same
from lines import TOKEN, answer, event, line
from trial import case


@case("events: in their order, with all their members", "events")
def in_order(t):
    peer = t.connected()
    number, params = t.subscribed(peer)
    if params:
        raise CaseFailed(f"the params {params} were sent unasked")
    sent = [event("sub-1", sequence, later={"x": [None]})["params"] for sequence in (1, 2, 5, 9)]
    peer.raw(b"".join(line({"jsonrpc": "2.0", "method": "event", "params": params}) for params in sent))
    for params in sent:
        same(t.driver.event(number), params, "the event")


@case("events: types and accounts are the agent's to choose by", "events")
def chosen(t):
    peer = t.connected()
    wanted = {"types": ["token.refreshed", "of.later"], "accounts": [TOKEN["account"]]}
    number, params = t.subscribed(peer, **wanted)
    same(params, wanted, "the params")
    peer.event(1, type="of.later", data={"any": [1, {"thing": None}]})
    holds(t.driver.event(number), {"type": "of.later", "data": {"any": [1, {"thing": None}]}}, "the event")


@case("events: those that come with the answer of the subscription", "events")
def with_the_answer(t):
    peer = t.connected()
    number = t.driver.send("events", client="c")
    peer.subscribe(with_answer=line(event("sub-1", 1)) + line(event("sub-1", 2)))
    t.driver.result(number)
    same([t.driver.event(number)["sequence"] for _ in range(2)], [1, 2], "the sequence numbers")


@case("events: those that come before the answer of the subscription", "events")
def before_the_answer(t):
    peer = t.connected()
    number = t.driver.send("events", client="c")
    request = peer.request("event.subscribe")
    peer.raw(line(event("other", 1)) + line(event("sub-1", 1)))
    peer.answer(request, {"subscription": "sub-1", "epoch": "epoch-1", "sequence": 0, "gap": False})
    peer.event(2)
    t.driver.result(number)
    same([t.driver.event(number)["sequence"] for _ in range(2)], [1, 2], "the sequence numbers")


@case("events: two streams of one client", "events", "shared")
def two_streams(t):
    peer = t.connected()
    first = t.driver.send("events", client="c", types=["token.refreshed"])
    peer.subscribe("sub-1")
    t.driver.result(first)
    second = t.driver.send("events", client="c")
    peer.subscribe("sub-2")
    t.driver.result(second)
    for sequence in range(1, 4):
        peer.event(sequence, "sub-2")
        peer.event(sequence * 10, "sub-1")
    peer.event(7, "sub-3")
    same([t.driver.event(first)["sequence"] for _ in range(3)], [10, 20, 30], "the first stream")
    same([t.driver.event(second)["sequence"] for _ in range(3)], [1, 2, 3], "the second stream")
    t.driver.silent(first, 0.1)
    t.driver.silent(second, 0.1)


@case("events: calls and events share the connection", "events", "shared")
def beside_calls(t):
    peer = t.connected()
    number, _ = t.subscribed(peer)
    call = t.call(params={"account": "work"})
    request = peer.request("token.get")
    peer.raw(line(event("sub-1", 1)) + answer(request, {"ok": True}) + line(event("sub-1", 2)))
    same(t.driver.result(call), {"ok": True}, "the result")
    same([t.driver.event(number)["sequence"] for _ in range(2)], [1, 2], "the sequence numbers")


@case("events: a gap of the agent is told as it is", "events")
def gap_of_the_agent(t):
    peer = t.connected()
    number, _ = t.subscribed(peer)
    peer.event(8, type="event.gap", data={"missed": 7})
    peer.event(9)
    same([t.driver.event(number)["type"] for _ in range(2)], ["event.gap", "token.refreshed"], "the types")


@case("events: five thousand in one go", "events")
def many(t):
    peer = t.connected()
    number, _ = t.subscribed(peer)
    peer.raw(b"".join(line(event("sub-1", sequence)) for sequence in range(1, 5001)))
    for sequence in range(1, 5001):
        if t.driver.event(number)["sequence"] != sequence:
            raise CaseFailed(f"the event {sequence} is missing")


@case("events: the position is that of the last event", "position")
def position(t):
    peer = t.connected()
    number, _ = t.subscribed(peer)
    same(t.driver.do("position", of=number), {"epoch": "epoch-1", "sequence": 0}, "the position")
    peer.event(41)
    t.driver.event(number)
    same(t.driver.do("position", of=number), {"epoch": "epoch-1", "sequence": 41}, "the position")


@case("events: a stream that is closed is closed in the agent", "events", "shared")
def stopped(t):
    peer = t.connected()
    number, _ = t.subscribed(peer)
    stop = t.driver.send("stop", of=number)
    request = peer.request("event.unsubscribe")
    same(request["params"], {"subscription": "sub-1"}, "the params")
    peer.answer(request, {})
    t.driver.result(stop)
    t.driver.ended(number)
    peer.event(1)
    t.driver.silent(number, 0.1)
    t.works(peer)


@case("events: a closed client ends its streams", "events")
def client_closed(t):
    peer = t.connected()
    number, _ = t.subscribed(peer)
    t.driver.do("close", client="c")
    t.driver.ended(number)


@case("events: a refused subscription", "events")
def refused(t):
    peer = t.connected()
    number = t.driver.send("events", client="c", types=["token.refreshed"])
    peer.fail(peer.request("event.subscribe"), -32602, "invalidParams", path="/types/0")
    same(t.driver.error(number, "agent")["code"], -32602, "the code")
    t.works(peer)


@case("events: an answer to the subscription that names none", "events")
def odd_subscription(t):
    peer = t.connected()
    number = t.driver.send("events", client="c")
    peer.answer(peer.request("event.subscribe"), {"epoch": "epoch-1", "sequence": 0})
    t.driver.error(number, "protocolError")


@case("events: no agent for the first subscription", "events")
def no_agent(t):
    t.opened(start=False)
    t.driver.error(t.driver.send("events", client="c"), "agentNotRunning")
