"""Lines of the protocol, and what the scripted agent says by default."""

import json

HELLO = {
    "agent": {"name": "scripted-agent", "version": "1"},
    "protocol": "1",
    "instance": "instance-1",
    "schemaDigest": "not-a-digest",
    "features": ["account", "token", "event"],
    "limits": {
        "lineBytes": 65536,
        "bodyLineBytes": 1048576,
        "nesting": 64,
        "requestsInFlight": 128,
        "connections": 1024,
        "lineSeconds": 10,
        "eventBacklogBytes": 1048576,
    },
}

SECRET = "not-a-real-access-token"

TOKEN = {
    "accessToken": SECRET,
    "tokenType": "Bearer",
    "expiresAt": "2030-01-01T00:05:00.000Z",
    "expiresInSeconds": 300,
    "account": "acc_c2ztq4xk7m3vwy5ndhb6rfgupa",
    "issuer": "https://idp.example",
    "scopes": ["openid"],
    "source": "cache",
    "fingerprint": "k3Jt0Qe1",
    "generation": 7,
}


def token(**members):
    return {**TOKEN, **members}


def line(message):
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def answer(request, result):
    return line({"jsonrpc": "2.0", "id": request["id"], "result": result})


def failure(request, code, name, message="a message for a person", **data):
    error = {"code": code, "message": message, "data": {"name": name, "retryable": False, **data}}
    return line({"jsonrpc": "2.0", "id": request["id"], "error": error})


def event(subscription, sequence, kind="token.refreshed", epoch="epoch-1", **members):
    """The notification, with the data of an example."""
    params = {
        "subscription": subscription,
        "epoch": epoch,
        "sequence": sequence,
        "type": kind,
        "at": "2030-01-01T00:00:00.000Z",
        "account": TOKEN["account"],
        "data": {"generation": sequence, "expiresAt": "2030-01-01T00:05:00.000Z"},
        **members,
    }
    return {"jsonrpc": "2.0", "method": "event", "params": params}
