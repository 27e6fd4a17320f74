"""The generated methods, by the examples of Schemas/."""

import copy

from failures import CaseFailed, same
from lines import SECRET, TOKEN, token
from trial import case, schema


@case("contract: every method, by its examples", "typed")
def every_method(t):
    peer = t.connected()
    for name in schema("lanyard.json")["methods"]:
        if name == "agent.hello":
            continue
        for example in schema(f"methods/{name}.json")["examples"]:
            number = t.typed(name, example.get("params", {}))
            request = peer.request(name)
            same(request.get("params", {}), example.get("params", {}), f"the params of {name}")
            sent = with_later_members(example["result"])
            peer.answer(request, sent)
            same(t.driver.result(number), sent, f"the result of {name}")


def with_later_members(result):
    """The result as a newer agent might send it."""
    later = copy.deepcopy(result)
    later["ofLater"] = {"deep": [1, None, {"x": "y"}], "flag": False}
    return later


@case("contract: every event, by its examples", "events")
def every_event(t):
    peer = t.connected()
    number, _ = t.subscribed(peer)
    for sequence, name in enumerate(schema("lanyard.json")["events"], 1):
        for example in schema(f"events/{name}.json")["examples"]:
            data = {**example, "ofLater": [{"x": None}]}
            peer.event(sequence, type=name, data=data)
            found = t.driver.event(number)
            same((found["type"], found["data"]), (name, data), f"the event {name}")


@case("contract: members that the client does not know, at any depth", "typed")
def unknown_members(t):
    peer = t.connected()
    example = schema("methods/account.list.json")["examples"][0]["result"]
    sent = copy.deepcopy(example)
    for account in sent["accounts"]:
        account["ofLater"] = {"n": 9007199254740991, "f": 0.5, "t": "ü"}
    number = t.typed("account.list")
    peer.answer(peer.request("account.list"), sent)
    same(t.driver.result(number), sent, "the result")


@case("contract: words that the client does not know", "typed")
def unknown_words(t):
    peer = t.connected()
    number = t.typed("token.get", {"account": "work"})
    sent = token(source="ofLater", tokenType="OfLater")
    peer.answer(peer.request("token.get"), sent)
    same(t.driver.result(number), sent, "the result")
    number = t.typed("connectivity.get")
    sent = copy.deepcopy(schema("methods/connectivity.get.json")["examples"][0]["result"])
    words = [name for name, value in sent.items() if isinstance(value, str)]
    sent[words[0]] = "ofLater"
    peer.answer(peer.request("connectivity.get"), sent)
    same(t.driver.result(number), sent, "the result")


@case("contract: a word that the client does not know, as a param", "typed")
def unknown_word_sent(t):
    peer = t.connected()
    number = t.typed("account.signOut", {"account": "work", "mode": "ofLater"})
    same(peer.request("account.signOut")["params"]["mode"], "ofLater", "`mode` of the params")
    peer.hang_up()
    t.driver.error(number)


@case("contract: absent is not empty", "typed")
def absent_or_empty(t):
    peer = t.connected()
    for params in (
        {"account": "work"},
        {"account": "work", "scopes": []},
        {"account": "work", "minimumLifetimeSeconds": 0},
    ):
        number = t.typed("token.get", params)
        request = peer.request("token.get")
        same(request["params"], params, "the params")
        peer.answer(request, token(scopes=[]))
        same(t.driver.result(number), token(scopes=[]), "the result")


@case("contract: a member that is null is absent", "typed")
def null_members(t):
    peer = t.connected()
    number = t.typed("token.get", {"account": "work"})
    peer.answer(peer.request("token.get"), token(resource=None))
    found = t.driver.result(number)
    if found.get("resource") is not None:
        raise CaseFailed("a member that is null is told as something else")


@case("contract: integers up to 2^53-1", "typed")
def large_integers(t):
    peer = t.connected()
    number = t.typed("token.get", {"account": "work"})
    sent = token(generation=9007199254740991, expiresInSeconds=0)
    peer.answer(peer.request("token.get"), sent)
    same(t.driver.result(number), sent, "the result")


@case("contract: instants with and without a fraction", "typed")
def instants(t):
    peer = t.connected()
    for sent, found in (
        ("2030-01-01T00:05:00.123Z", "2030-01-01T00:05:00.123Z"),
        ("2030-01-01T00:05:00Z", "2030-01-01T00:05:00.000Z"),
        ("1999-12-31T23:59:59.999Z", "1999-12-31T23:59:59.999Z"),
    ):
        number = t.typed("token.get", {"account": "work"})
        peer.answer(peer.request("token.get"), token(expiresAt=sent))
        told = t.driver.result(number)["expiresAt"]
        if told not in (sent, found):
            raise CaseFailed(f"the instant {sent} became {told}")


@case("contract: a result that violates the contract", "typed")
def broken_results(t):
    peer = t.connected()
    missing = {name: value for name, value in TOKEN.items() if name != "fingerprint"}
    for broken in (missing, token(accessToken=7), token(scopes=SECRET), token(scopes=[SECRET, 7]), token(generation="7"),
                   token(expiresAt="tomorrow"), token(generation=1.5), token(account=None)):
        number = t.typed("token.get", {"account": "work"})
        peer.answer(peer.request("token.get"), broken)
        error = t.driver.error(number, "protocolError")
        if SECRET in str(error) or "tomorrow" in error["message"]:
            raise CaseFailed("the error holds a value of the answer")
    t.works(peer)
