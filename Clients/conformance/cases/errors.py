"""Errors that the agent answers."""

from failures import CaseFailed, holds, same
from lines import TOKEN, line
from trial import case, schema

VALUES = {
    "retryAfterMs": 1500,
    "reason": "outcomeUnknown",
    "remedies": ["connect", "reauthenticate"],
    "account": TOKEN["account"],
}


@case("errors: every row of the contract")
def every_row(t):
    peer = t.connected()
    for row in schema("errors.json")["errors"]:
        data = {name: VALUES[name] for name in row["data"] if name in VALUES}
        number = t.call(params={"account": "work"})
        sent = {"name": row["name"], "retryable": row["retryable"], "later": {"x": [1]}, **data}
        peer.fail(peer.request("token.get"), row["code"], message=f"about {row['name']}", **sent)
        error = t.driver.error(number, "agent")
        wanted = {"code": row["code"], "name": row["name"], "retryable": row["retryable"], "data": sent}
        holds(error, wanted, f"the error {row['name']}")
        for name in ("retryAfterMs", "reason", "account"):
            same(error.get(name), data.get(name), f"`{name}` of the error {row['name']}")
        same(error["remedies"], data.get("remedies", []), f"`remedies` of the error {row['name']}")
        if f"about {row['name']}" not in error["message"]:
            raise CaseFailed(f"the message {error['message']!r} does not hold the agent's words")
    t.works(peer)


@case("errors: a typed method fails as a raw call does", "typed")
def typed_error(t):
    peer = t.connected()
    number = t.typed("token.get", {"account": "work"})
    peer.fail(peer.request("token.get"), 2004, "reauthenticationRequired", reason="outcomeUnknown")
    same(t.driver.error(number, "agent").get("reason"), "outcomeUnknown", "the reason")


@case("errors: strings with quotes and escapes")
def escaped_strings(t):
    peer = t.connected()
    number = t.call(params={"account": "work"})
    data = {"account": 'a"b\\', "reason": '\\"}', "remedies": ["connect"], "retryAfterMs": 20}
    peer.fail(peer.request("token.get"), 1003, "overloaded", message='told "why\\" to {the} [person]', **data)
    error = t.driver.error(number, "agent")
    holds(error, {"code": 1003, **data}, "the error")
    if 'told "why\\" to {the} [person]' not in error["message"]:
        raise CaseFailed(f"the message {error['message']!r} does not hold the agent's words")


@case("errors: a code of a later version")
def unknown_code(t):
    peer = t.connected()
    number = t.call(params={"account": "work"})
    peer.fail(peer.request("token.get"), 7777, "ofLater", retryable=True, retryAfterMs=20, something={"deep": [None]})
    error = t.driver.error(number, "agent")
    holds(error, {"code": 7777, "name": "ofLater", "retryable": True, "retryAfterMs": 20}, "the error")
    same(error["data"].get("something"), {"deep": [None]}, "`something` of the data")


@case("errors: data that is missing or of another type")
def odd_data(t):
    peer = t.connected()
    odd = {"retryAfterMs": "soon", "reason": 7, "remedies": [1, "connect"], "account": None, "retryable": "yes"}
    for data in (None, 7, [], odd):
        error = {"code": 3001, "message": "offline"}
        if data is not None:
            error["data"] = data
        number = t.call(params={"account": "work"})
        peer.say({"jsonrpc": "2.0", "id": peer.request("token.get")["id"], "error": error})
        found = t.driver.error(number, "agent")
        same(found["code"], 3001, "the code")
        same((found.get("retryAfterMs"), found.get("reason")), (None, None), "pause and reason")
        same(found["retryable"], False, "`retryable`")


@case("errors: an error that is none")
def malformed(t):
    for index, broken in enumerate(("text", [], {"message": "no code"}, {"code": "1"}, {"code": True})):
        peer = t.connected(f"c{index}")
        number = t.call(params={"account": "work"}, client=f"c{index}")
        peer.raw(line({"jsonrpc": "2.0", "id": peer.request("token.get")["id"], "error": broken}))
        t.driver.error(number, "protocolError")


@case("errors: retry advice of client errors")
def retryable_kinds(t):
    peer = t.connected()
    number = t.call(params={"account": "work"})
    peer.request("token.get")
    peer.hang_up()
    same(t.driver.error(number, "connectionLost")["retryable"], True, "`retryable` of connectionLost")
