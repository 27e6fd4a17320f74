"""Obeys the commands of the conformance run with `lanyard.AsyncClient`, each command in a task."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from typing import Any, Dict, Optional, Set

import lanyard
from commands import Json, error, options, say, show, typed


class Driver:
    def __init__(self) -> None:
        self._clients: Dict[str, lanyard.AsyncClient] = {}
        self._streams: Dict[str, lanyard.AsyncEventStream] = {}
        self._outcomes: Dict[str, Any] = {}
        self._calls: "Dict[str, asyncio.Task[None]]" = {}
        self._tasks: "Set[asyncio.Task[None]]" = set()

    def begin(self, command: Json) -> None:
        """Begins a command. Clients are made in the order of the lines."""
        if command["do"] == "open":
            self._clients[command["client"]] = lanyard.AsyncClient(**options(command))
        task = asyncio.get_running_loop().create_task(self._obey(command))
        self._calls[command["id"]] = task
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()

    async def _obey(self, command: Json) -> None:
        number = command["id"]
        try:
            result = await getattr(self, "_" + command["do"])(command)
        except asyncio.CancelledError:
            cancelled = {"kind": "cancelled", "name": "cancelled", "message": "the task was cancelled"}
            say(number, error={**cancelled, "retryable": False, "remedies": [], "data": {}})
            return
        except Exception as failure:
            self._outcomes[number] = failure
            say(number, error=error(failure))
            return
        if result is not None:
            say(number, result=result)

    def _client(self, command: Json) -> lanyard.AsyncClient:
        return self._clients[command["client"]]

    def _caller(self, command: Json) -> Any:
        client = self._client(command)
        return client.within(command["timeoutMs"] / 1000) if "timeoutMs" in command else client

    async def _open(self, command: Json) -> Json:
        return (await self._client(command).connect()).to_json() if command.get("connect") else {}

    async def _call(self, command: Json) -> Json:
        result: Json = await self._caller(command).call(command["method"], command.get("params"))
        return result

    async def _typed(self, command: Json) -> Json:
        result = await typed(self._caller(command), command["method"], command.get("params") or {})
        self._outcomes[command["id"]] = result
        told: Json = result.to_json()
        return told

    async def _cancel(self, command: Json) -> Json:
        self._calls[command["of"]].cancel()
        return {}

    async def _show(self, command: Json) -> Json:
        return {"text": show(self._outcomes[command["of"]])}

    async def _events(self, command: Json) -> None:
        wanted = {name: command[name] for name in ("types", "accounts", "since") if name in command}
        stream = await self._client(command).events(**wanted)
        self._streams[command["id"]] = stream
        say(command["id"], result={})
        async for event in stream:
            say(command["id"], event=event.to_json())
        say(command["id"], ended=True)

    async def _position(self, command: Json) -> Json:
        return self._streams[command["of"]].position or {}

    async def _stop(self, command: Json) -> Json:
        await self._streams[command["of"]].close()
        return {}

    async def _http(self, command: Json) -> Json:
        import httpx
        from lanyard.auth.httpx import LanyardAuth

        auth = LanyardAuth(
            self._client(command),
            command["account"],
            origins=command["origins"],
            scopes=command.get("scopes"),
            resource=command.get("resource"),
        )
        async with httpx.AsyncClient(trust_env=False, follow_redirects=True) as http:
            body = command.get("body")
            response = await http.request(command.get("method", "GET"), command["url"], content=body, auth=auth)
            return {"status": response.status_code, "body": response.text}

    async def _load(self, command: Json) -> Json:
        client, account, callers = self._client(command), command["account"], command.get("callers", 1)

        async def call(count: int) -> None:
            for _ in range(count):
                await client.token.get(account=account)

        await client.connect()
        shares = [command["count"] // callers + (index < command["count"] % callers) for index in range(callers)]
        began = time.monotonic()
        await asyncio.gather(*map(call, shares))
        return {"seconds": time.monotonic() - began}

    async def _close(self, command: Json) -> Json:
        await self._client(command).close()
        return {}


async def main() -> None:
    driver = Driver()
    loop = asyncio.get_running_loop()
    lines: "asyncio.Queue[Optional[bytes]]" = asyncio.Queue()

    def read() -> None:
        for text in sys.stdin.buffer:
            loop.call_soon_threadsafe(lines.put_nowait, text)
        loop.call_soon_threadsafe(lines.put_nowait, None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        text = await lines.get()
        if text is None:
            break
        driver.begin(json.loads(text))
    await driver.close()


if __name__ == "__main__":
    asyncio.run(main())
