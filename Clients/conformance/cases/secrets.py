"""Secrets do not print."""

import json

from failures import CaseFailed
from lines import token
from trial import case, schema

HIDDEN = "not-a-real-hidden-value"


def shows(t, number):
    text = t.driver.do("show", of=number)["text"]
    if HIDDEN in text:
        raise CaseFailed(f"what is printed holds a secret: {text[:300]}")
    return text


@case("secrets: an access token does not print", "show")
def access_token(t):
    peer = t.connected()
    number = t.typed("token.get", {"account": "work"})
    peer.answer(peer.request("token.get"), token(accessToken=HIDDEN, later={"idToken": HIDDEN}))
    if t.driver.result(number)["accessToken"] != HIDDEN:
        raise CaseFailed("the token is not the one that the agent sent")
    if "k3Jt0Qe1" not in shows(t, number):
        raise CaseFailed("what is printed does not hold the fingerprint")


@case("secrets: no secret of any result prints", "show")
def every_secret(t):
    peer = t.connected()
    covered = 0
    for name in schema("lanyard.json")["methods"]:
        result_schema = schema(f"methods/{name}.json")["result"]
        for example in schema(f"methods/{name}.json")["examples"]:
            result, count = hidden(result_schema, example["result"])
            if not count:
                continue
            covered += 1
            number = t.typed(name, example.get("params", {}))
            peer.answer(peer.request(name), result)
            if HIDDEN not in json.dumps(t.driver.result(number)):
                raise CaseFailed(f"the secret of {name} did not arrive")
            shows(t, number)
    if covered < 4:
        raise CaseFailed(f"the contract has {covered} results with a secret; the case does not find them")


def hidden(described, value):
    """The value with each secret replaced, and how many there were."""
    if "$ref" in described:
        name = described["$ref"].rsplit("/", 1)[-1]
        described = {**schema(f"types/{name}"), **({"x-secret": True} if described.get("x-secret") else {})}
    if described.get("x-secret") and isinstance(value, str):
        return HIDDEN, 1
    count = 0
    if isinstance(value, dict):
        changed = {}
        for name, member in value.items():
            inner = described.get("properties", {}).get(name)
            if inner is None and isinstance(described.get("additionalProperties"), dict):
                inner = described["additionalProperties"]
            changed[name], found = hidden(inner or {}, member)
            count += found
        return changed, count
    if isinstance(value, list):
        changed = []
        for item in value:
            replaced, found = hidden(described.get("items", {}), item)
            changed.append(replaced)
            count += found
        return changed, count
    return value, 0


@case("secrets: an error holds nothing of its request", "show")
def error_of_a_secret(t):
    peer = t.connected()
    number = t.typed("secret.put", {"account": "work", "name": "n", "value": HIDDEN})
    peer.fail(peer.request("secret.put"), 5001, "storeUnavailable")
    error = t.driver.error(number, "agent")
    if HIDDEN in str(error):
        raise CaseFailed("the error holds the param")
    shows(t, number)


@case("secrets: a grant is in no error", "grant")
def grant_in_errors(t):
    t.opened(grant=HIDDEN, start=False)
    error = t.driver.error(t.call(params={"account": "work"}), "agentNotRunning")
    if HIDDEN in str(error):
        raise CaseFailed("the error holds the grant")
