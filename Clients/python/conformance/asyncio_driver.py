"""Drives the asyncio client: a task for each command that waits."""

import asyncio
import json
import sys
import time

import lanyard
from commands import arguments, as_json, cancelled, failure, method, options, result, say, shown

clients, streams, outcomes, tasks = {}, {}, {}, {}


async def open_client(command):
    client = lanyard.AsyncClient(**options(command))
    clients[command["client"]] = client
    result(command, as_json(await client.connect()) if command.get("connect") else {})


def with_time(command):
    client = clients[command["client"]]
    return client.within(command["timeoutMs"] / 1000) if "timeoutMs" in command else client


async def call(command):
    result(command, await with_time(command).call(command["method"], command.get("params", {})))


async def typed(command):
    function = method(with_time(command), command["method"])
    try:
        outcome = await function(**arguments(function, command.get("params", {})))
    except lanyard.LanyardError as error:
        outcomes[command["id"]] = error
        raise
    outcomes[command["id"]] = outcome
    result(command, as_json(outcome))


async def show(command):
    result(command, {"text": shown(outcomes[command["of"]])})


async def events(command):
    chosen = {name: command[name] for name in ("types", "accounts", "since") if name in command}
    async with clients[command["client"]].events(**chosen) as stream:
        streams[command["id"]] = stream
        result(command, {})
        async for event in stream:
            say({"id": command["id"], "event": as_json(event)})
    say({"id": command["id"], "ended": True})


async def position(command):
    result(command, streams[command["of"]].position)


async def stop(command):
    await streams[command["of"]].close()
    result(command, {})


async def cancel(command):
    tasks[command["of"]].cancel()
    result(command, {})


async def close(command):
    await clients[command["client"]].close()
    result(command, {})


async def load(command):
    client, callers = clients[command["client"]], command.get("callers", 1)

    async def some(count):
        for _ in range(count):
            await client.token.get(account=command["account"])

    began = time.perf_counter()
    await asyncio.gather(*(some(command["count"] // callers) for _ in range(callers)))
    result(command, {"seconds": time.perf_counter() - began})


DOES = {
    "open": open_client, "call": call, "typed": typed, "show": show, "events": events, "position": position,
    "stop": stop, "cancel": cancel, "close": close, "load": load,
}


async def obey(command):
    try:
        await DOES[command["do"]](command)
    except lanyard.LanyardError as error:
        failure(command, error)
    except asyncio.CancelledError:
        cancelled(command)


async def main():
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader(limit=64 << 20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async for text in lines:
        command = json.loads(text)
        tasks[command["id"]] = asyncio.create_task(obey(command))
        # The commands begin in their order.
        await asyncio.sleep(0)
    for client in clients.values():
        await client.close()
    await asyncio.gather(*tasks.values())


asyncio.run(main())
