"""Lines, as a socket delivers them: in pieces, several at once, long, broken."""

import json

from failures import CaseFailed, same
from lines import SECRET, answer, line
from trial import case


@case("framing: an answer in single bytes")
def in_single_bytes(t):
    peer = t.connected()
    number = t.call(params={"account": "work"})
    peer.drip(answer(peer.request("token.get"), {"text": "grüße 🗝 \u2028 end"}))
    same(t.driver.result(number), {"text": "grüße 🗝 \u2028 end"}, "the result")


@case("framing: two answers and a half in one write", "shared")
def joined_lines(t):
    peer = t.connected()
    numbers = [t.call(params={"account": str(index)}) for index in range(3)]
    lines = [answer(request, request["params"]) for request in (peer.request("token.get") for _ in numbers)]
    data = b"".join(lines)
    cut = len(data) - len(lines[2]) // 2
    peer.raw(data[:cut])
    same(sorted(t.driver.result(number)["account"] for number in numbers[:2]), ["0", "1"], "the results")
    t.driver.silent(numbers[2], 0.1)
    peer.raw(data[cut:])
    t.driver.result(numbers[2])


@case("framing: an answer cut within a character")
def cut_character(t):
    peer = t.connected()
    number = t.call(params={"account": "work"})
    data = answer(peer.request("token.get"), {"text": "ö€🗝"})
    for start in range(0, len(data), 7):
        peer.raw(data[start : start + 7])
    same(t.driver.result(number), {"text": "ö€🗝"}, "the result")


@case("framing: only a line feed ends a line")
def line_separators(t):
    peer = t.connected()
    text = "a\u2028b\u2029c\u0085d\u000be\u000cf"
    number = t.call(params={"account": "work"})
    # The two last are escaped, since JSON forbids raw control characters.
    peer.answer(peer.request("token.get"), {"text": text})
    same(t.driver.result(number), {"text": text}, "the result")


@case("framing: carriage returns and empty lines")
def carriage_returns(t):
    peer = t.connected()
    number = t.call(params={"account": "work"})
    text = answer(peer.request("token.get"), {"ok": True})
    peer.raw(b"\n\r\n" + text[:-1] + b"\r\n\n")
    same(t.driver.result(number), {"ok": True}, "the result")
    t.works(peer)


@case("framing: a line that is not UTF-8 ends the connection")
def not_utf8(t):
    for index, broken in enumerate((b"\xff", b"\xc3", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80")):
        peer = t.connected(f"c{index}")
        number = t.call(params={"account": "work"}, client=f"c{index}")
        answer = json.dumps({"jsonrpc": "2.0", "id": peer.request("token.get")["id"], "result": {"text": "@"}})
        peer.raw(answer.encode().replace(b"@", broken) + b"\n")
        t.driver.error(number, "protocolError")
        peer.gone()


@case("framing: escapes, spaces and any order of members")
def escapes(t):
    peer = t.connected()
    number = t.call(params={"account": "work"})
    request = peer.request("token.get")
    text = ' {\t"result" : {"a\\u0062":"\\ud83d\\uDD11\\/\\n\\u0000", "n": [1, -0.5, 1e3, true, null]} , "id":%s ,"jsonrpc":"2.0"}\n'
    peer.raw((text % json.dumps(request["id"])).encode())
    same(t.driver.result(number), {"ab": "🔑/\n\0", "n": [1, -0.5, 1000.0, True, None]}, "the result")


@case("framing: an answer of 1 MiB, and one of 9 MiB")
def long_lines(t):
    peer = t.connected()
    for size in (1 << 20, 9 << 20):
        number = t.call("request.send", {"account": "work"})
        peer.answer(peer.request("request.send"), {"body": "x" * size})
        found = t.driver.result(number, 30)["body"]
        same(len(found), size, "the length of the body")
    t.works(peer)


@case("framing: an answer without an end is not kept for ever")
def endless_line(t):
    peer = t.connected()
    number = t.call(params={"account": "work"})
    request = peer.request("token.get")
    peer.raw(b'{"jsonrpc":"2.0","id":%d,"result":{"body":"' % request["id"])
    for _ in range(66):
        peer.raw(b"x" * (1 << 20))
    t.driver.error(number, "protocolError", 30)


@case("framing: a line that is not JSON ends the connection")
def not_json(t):
    for broken in (b"{", b"not json", b'{"a":NaN}', b"\xff\xfe{}", b'{"jsonrpc":"2.0","id":1,"result":{}} x'):
        client = f"c{broken!r}"
        peer = t.connected(client)
        number = t.call(params={"account": "work"}, client=client)
        peer.request("token.get")
        peer.raw(broken.replace(b"x", SECRET.encode()) + b"\n")
        error = t.driver.error(number, "protocolError")
        if SECRET in str(error) or "not json" in error["message"]:
            raise CaseFailed("the error holds what the agent sent")
        peer.gone()
        t.driver.do("close", client=client)


@case("framing: a line that is no object ends the connection")
def no_object(t):
    for broken in (b"42", b'"text"', b"null", b"[]"):
        client = f"c{broken!r}"
        peer = t.connected(client)
        number = t.call(params={"account": "work"}, client=client)
        peer.request("token.get")
        peer.raw(broken + b"\n")
        t.driver.error(number, "protocolError")
        t.driver.do("close", client=client)


@case("framing: a hang-up in the middle of a line")
def hang_up_in_a_line(t):
    peer = t.connected()
    number = t.call(params={"account": "work"})
    text = answer(peer.request("token.get"), {"ok": True})
    peer.raw(text[:-10])
    peer.hang_up()
    t.driver.error(number, "connectionLost")


@case("framing: the whole answer without its line feed is no answer")
def no_line_feed(t):
    peer = t.connected()
    number = t.call(params={"account": "work"})
    peer.raw(answer(peer.request("token.get"), {"ok": True})[:-1])
    t.driver.silent(number)
    peer.hang_up()
    t.driver.error(number, "connectionLost")


@case("framing: a request is one line of JSON-RPC 2.0")
def request_lines(t):
    peer = t.connected()
    text = "grüße\n\u2028\u0000\"\\ 🗝"
    number = t.call("secret.put", {"account": "work", "name": "n", "value": text, "deep": [[{"a": [None, True, 1]}]]})
    request = peer.request("secret.put")
    same(request.get("jsonrpc"), "2.0", "`jsonrpc` of the request")
    same(request["params"]["value"], text, "`value` of the params")
    same(request["params"]["deep"], [[{"a": [None, True, 1]}]], "`deep` of the params")
    if set(request) - {"jsonrpc", "id", "method", "params"}:
        raise CaseFailed(f"the request has the members {sorted(request)}")
    peer.answer(request, {})
    t.driver.result(number)
    number = t.call("account.list")
    request = peer.request("account.list")
    if request.get("params", {}) != {}:
        raise CaseFailed("params were sent that are none")
    peer.answer(request, {"accounts": []})
    t.driver.result(number)


@case("framing: the client reads while it writes", "shared")
def reads_while_it_writes(t):
    # The agent reads nothing before all that it sends was taken. A client that writes without reading stands still.
    peer = t.connected()
    peer.pause_reading()
    numbers = [t.call("secret.put", {"account": "work", "value": "v" * 60_000}) for _ in range(32)]
    for _ in range(200):
        peer.raw(line({"jsonrpc": "2.0", "method": "of.later", "params": {"text": "x" * 40_000}}))
    peer.go_on_reading()
    for _ in numbers:
        peer.answer(peer.request("secret.put"), {})
    for number in numbers:
        t.driver.result(number)
