"""Drives the blocking client: a thread for each command that waits."""

import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import lanyard
from commands import arguments, as_json, failure, method, options, result, say, shown

clients, streams, outcomes = {}, {}, {}
threads = []


def open_client(command):
    client = lanyard.Client(**options(command))
    clients[command["client"]] = client
    if not command.get("connect"):
        return result(command, {})
    result(command, as_json(client.connect()))


def with_time(command):
    client = clients[command["client"]]
    return client.within(command["timeoutMs"] / 1000) if "timeoutMs" in command else client


def call(command):
    result(command, with_time(command).call(command["method"], command.get("params", {})))


def typed(command):
    function = method(with_time(command), command["method"])
    try:
        outcome = function(**arguments(function, command.get("params", {})))
    except lanyard.LanyardError as error:
        outcomes[command["id"]] = error
        raise
    outcomes[command["id"]] = outcome
    result(command, as_json(outcome))


def show(command):
    result(command, {"text": shown(outcomes[command["of"]])})


def events(command):
    chosen = {name: command[name] for name in ("types", "accounts", "since") if name in command}
    stream = clients[command["client"]].events(**chosen)
    streams[command["id"]] = stream
    result(command, {})
    for event in stream:
        say({"id": command["id"], "event": as_json(event)})
    say({"id": command["id"], "ended": True})


def position(command):
    result(command, streams[command["of"]].position)


def stop(command):
    streams[command["of"]].close()
    result(command, {})


def close(command):
    clients[command["client"]].close()
    result(command, {})


def load(command):
    client, callers = clients[command["client"]], command.get("callers", 1)
    began = time.perf_counter()

    def some(count):
        for _ in range(count):
            client.token.get(account=command["account"])

    with ThreadPoolExecutor(callers) as pool:
        list(pool.map(some, [command["count"] // callers] * callers))
    result(command, {"seconds": time.perf_counter() - began})


DOES = {
    "open": open_client, "call": call, "typed": typed, "show": show, "events": events, "position": position,
    "stop": stop, "close": close, "load": load,
}


def obey(command):
    try:
        DOES[command["do"]](command)
    except lanyard.LanyardError as error:
        failure(command, error)


for text in sys.stdin:
    command = json.loads(text)
    if command["do"] in ("show", "position"):
        obey(command)
        continue
    thread = threading.Thread(target=obey, args=(command,))
    threads.append(thread)
    thread.start()
    if command["do"] == "open" and not command.get("connect"):
        thread.join()
for client in clients.values():
    client.close()
for thread in threads:
    thread.join()
