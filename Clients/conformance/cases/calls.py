"""Calls: how they end before their answer, and how many there may be."""

import time

from failures import CaseFailed, same
from trial import case


@case("calls: a cancelled call reaches the agent", "cancel")
def cancelled(t):
    peer = t.connected()
    number = t.call("signIn.wait", {"signIn": "s"})
    request = peer.request("signIn.wait")
    other = t.call(params={"account": "work"})
    waiting = peer.request("token.get")
    t.driver.do("cancel", of=number)
    t.driver.error(number, "cancelled")
    notice = peer.request("$/cancel")
    same(notice.get("params"), {"id": request["id"]}, "the params of $/cancel")
    if "id" in notice:
        raise CaseFailed("$/cancel is a request, and not a notification")
    peer.fail(request, 1004, "requestCancelled")
    peer.answer(waiting, {"still": "there"})
    same(t.driver.result(other), {"still": "there"}, "the result of the other call")
    t.works(peer)


@case("calls: the answer of a cancelled call is nothing to the next", "cancel")
def late_answer(t):
    peer = t.connected()
    number = t.call("signIn.wait", {"signIn": "s"})
    request = peer.request("signIn.wait")
    t.driver.do("cancel", of=number)
    t.driver.error(number, "cancelled")
    peer.request("$/cancel")
    second = t.call(params={"account": "work"})
    waiting = peer.request("token.get")
    if waiting["id"] == request["id"]:
        raise CaseFailed("the id of a cancelled call that was not answered is used again")
    peer.answer(request, {"wrong": True})
    peer.answer(waiting, {"right": True})
    same(t.driver.result(second), {"right": True}, "the result")


@case("calls: a typed call is cancelled too", "cancel", "typed")
def typed_cancelled(t):
    peer = t.connected()
    number = t.typed("token.get", {"account": "work"})
    request = peer.request("token.get")
    t.driver.do("cancel", of=number)
    t.driver.error(number, "cancelled")
    same(peer.request("$/cancel")["params"], {"id": request["id"]}, "the params of $/cancel")


@case("calls: a time-out cancels the request in the agent", "timeout")
def timed_out(t):
    peer = t.connected()
    began = time.monotonic()
    number = t.call(params={"account": "work"}, timeoutMs=300)
    request = peer.request("token.get")
    error = t.driver.error(number, "callTimeout")
    if time.monotonic() - began < 0.28:
        raise CaseFailed("the call ended before its time")
    same(error["retryable"], True, "`retryable`")
    same(peer.request("$/cancel").get("params"), {"id": request["id"]}, "the params of $/cancel")
    peer.fail(request, 1004, "requestCancelled")
    t.works(peer)


@case("calls: the client's own time-out", "timeout")
def client_timeout(t):
    peer = t.connected(timeoutMs=300)
    number = t.call(params={"account": "work"})
    peer.request("token.get")
    t.driver.error(number, "callTimeout")
    peer.request("$/cancel")


@case("calls: no more at once than the agent's limit", "shared")
def in_flight(t):
    peer = t.connected(hello={"limits": {"requestsInFlight": 4}})
    numbers = [t.call(params={"account": str(index)}) for index in range(9)]
    requests = [peer.request("token.get") for _ in range(4)]
    peer.silent()
    for served in range(9):
        peer.answer(requests.pop(0), {})
        if served < 5:
            requests.append(peer.request("token.get"))
            peer.silent(0.05)
    for number in numbers:
        t.driver.result(number)


@case("calls: a request over the agent's limit is not sent", "shared")
def too_large(t):
    peer = t.connected()
    number = t.call(params={"account": "x" * 70_000})
    same(t.driver.error(number, "requestTooLarge")["retryable"], False, "`retryable`")
    peer.silent()
    t.works(peer)
    for method in ("secret.put", "request.send", "operation.enqueue", "policy.set"):
        number = t.call(method, {"value": "x" * 900_000})
        peer.answer(peer.request(method), {})
        t.driver.result(number)
        number = t.call(method, {"value": "x" * (1 << 20)})
        t.driver.error(number, "requestTooLarge")
    t.works(peer)


@case("calls: the limits are those that the agent tells", "shared")
def told_limits(t):
    peer = t.connected(hello={"limits": {"lineBytes": 1000, "bodyLineBytes": 2000, "later": 1}})
    t.driver.error(t.call(params={"account": "x" * 1000}), "requestTooLarge")
    t.driver.error(t.call("secret.put", {"value": "x" * 2000}), "requestTooLarge")
    number = t.call("secret.put", {"value": "x" * 1500})
    peer.answer(peer.request("secret.put"), {})
    t.driver.result(number)


@case("calls: limits of nothing are no limits", "shared")
def odd_limits(t):
    peer = t.connected(hello={"limits": {"lineBytes": 0, "requestsInFlight": 0, "bodyLineBytes": 0}})
    number = t.call(params={"account": "x" * 60_000})
    peer.answer(peer.request("token.get"), {})
    t.driver.result(number)
