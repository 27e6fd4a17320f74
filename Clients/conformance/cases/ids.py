"""Answers are matched to calls by id, and by nothing else."""

from failures import CaseFailed, same
from lines import answer, line
from trial import case


@case("ids: answers out of order", "shared")
def out_of_order(t):
    peer = t.connected()
    numbers = {t.call(params={"account": f"account-{index}"}): f"account-{index}" for index in range(16)}
    requests = [peer.request("token.get") for _ in numbers]
    ids = [request["id"] for request in requests]
    same(len(set(ids)), len(ids), "the number of different ids")
    for request in reversed(requests):
        peer.answer(request, {"for": request["params"]["account"]})
    for number, name in numbers.items():
        same(t.driver.result(number), {"for": name}, f"the result of the call for {name}")


@case("ids: one by one", "shared")
def one_by_one(t):
    peer = t.connected()
    ids = set()
    for index in range(20):
        number = t.call(params={"account": str(index)})
        request = peer.request("token.get")
        ids.add(str(request["id"]))
        peer.answer(request, {"index": index})
        same(t.driver.result(number), {"index": index}, "the result")
    same(len(ids), 20, "the number of different ids")


@case("ids: answers that belong to no call", "shared")
def strangers(t):
    peer = t.connected()
    number = t.call(params={"account": "work"})
    request = peer.request("token.get")
    for other in (10**9, "x", request["id"] + 1 if isinstance(request["id"], int) else "y", -1):
        peer.say({"jsonrpc": "2.0", "id": other, "result": {"wrong": True}})
    peer.answer(request, {"right": True})
    same(t.driver.result(number), {"right": True}, "the result")
    peer.answer(request, {"second": True})
    t.works(peer)


@case("ids: an id of another type is another id")
def type_of_ids(t):
    peer = t.connected()
    number = t.call(params={"account": "work"})
    request = peer.request("token.get")
    other = str(request["id"]) if isinstance(request["id"], int) else 1
    peer.say({"jsonrpc": "2.0", "id": other, "result": {"wrong": True}})
    peer.say({"jsonrpc": "2.0", "id": True, "result": {"wrong": True}})
    t.driver.silent(number, 0.1)
    peer.answer(request, {"right": True})
    same(t.driver.result(number), {"right": True}, "the result")


@case("ids: an error without an id ends the connection", "shared")
def null_id(t):
    peer = t.connected()
    number = t.call(params={"account": "work"})
    peer.request("token.get")
    error = {"code": 1003, "message": "too many", "data": {"name": "overloaded", "retryable": True, "retryAfterMs": 50}}
    peer.raw(line({"jsonrpc": "2.0", "id": None, "error": error}))
    found = t.driver.error(number, "agent")
    same((found["code"], found.get("retryAfterMs")), (1003, 50), "code and pause")
    peer.gone()


@case("ids: notifications of other kinds are no answers")
def other_notifications(t):
    peer = t.connected()
    number = t.call(params={"account": "work"})
    request = peer.request("token.get")
    peer.say({"jsonrpc": "2.0", "method": "of.later", "params": {"id": request["id"]}})
    peer.say({"jsonrpc": "2.0", "method": "of.later", "id": request["id"], "params": {}})
    peer.answer(request, {"right": True})
    same(t.driver.result(number), {"right": True}, "the result")
    t.works(peer)


@case("ids: an answer with neither result nor error")
def no_result(t):
    peer = t.connected()
    number = t.call(params={"account": "work"})
    peer.say({"jsonrpc": "2.0", "id": peer.request("token.get")["id"]})
    t.driver.error(number, "protocolError")


@case("ids: a result that is no object")
def result_is_no_object(t):
    for index, broken in enumerate((None, [], "text", 1)):
        peer = t.connected(f"c{index}")
        number = t.call(params={"account": "work"}, client=f"c{index}")
        peer.answer(peer.request("token.get"), broken)
        t.driver.error(number, "protocolError")


@case("ids: members of later versions in an answer")
def later_members(t):
    peer = t.connected()
    number = t.call(params={"account": "work"})
    request = peer.request("token.get")
    peer.say({"trace": [1], "jsonrpc": "2.0", "id": request["id"], "result": {"ok": True}, "later": {"result": 1}})
    same(t.driver.result(number), {"ok": True}, "the result")


@case("ids: two hundred calls at once", "shared")
def many_calls(t):
    peer = t.connected()
    numbers = {t.call(params={"account": f"a{index}"}): f"a{index}" for index in range(200)}
    for start in range(0, 200, 50):
        requests = [peer.request("token.get") for _ in range(50)]
        peer.raw(b"".join(answer(request, {"for": request["params"]["account"]}) for request in requests[::-1]))
    for number, name in numbers.items():
        if t.driver.result(number) != {"for": name}:
            raise CaseFailed(f"the call for {name} got another answer")
