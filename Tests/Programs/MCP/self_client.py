"""The stdio client of the PyPI package `mcp` on the agent's own tools: self_client.py URL COMMAND…

Connects in each mode that the client has and uses each tool; then, in one connection, sends a POST that waits for a person's yes,
and one that it gives up. Prints what it saw as JSON, a line a connection.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any, Dict, List, Optional

from mcp import Client, StdioServerParameters

URL, *COMMAND = sys.argv[1:]
SERVER = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=dict(os.environ))


async def used(mode: str) -> Dict[str, Any]:
    async with Client(SERVER, mode=mode, read_timeout_seconds=20) as client:
        seen: Dict[str, Any] = {"mode": mode, "version": client.protocol_version}
        seen["tools"] = [tool.name for tool in (await client.list_tools()).tools]
        for name, arguments in (
            ("accounts", {}), ("can", {"capability": "who.read"}), ("request", {"url": URL + "/userinfo"}), ("operations", {}),
            ("ask_access", {"origins": [URL], "methods": ["PUT"], "reason": "To see all.", "waitSeconds": 0}),
        ):
            result = await client.call_tool(name, arguments)
            seen[name] = ["\n".join(getattr(piece, "text", "") for piece in result.content), bool(result.is_error)]
        return seen


async def waited() -> Dict[str, Any]:
    told: List[str] = []

    async def progress(done: float, total: Optional[float], message: Optional[str]) -> None:
        told.append(message or "")

    async with Client(SERVER, mode="auto", read_timeout_seconds=60) as client:
        result = await client.call_tool(
            "request", {"url": URL + "/userinfo", "method": "POST"}, progress_callback=progress)
        first = [getattr(result.content[0], "text", ""), bool(result.is_error)]
        print(json.dumps({"waits": True}), flush=True)
        call = asyncio.create_task(client.call_tool("request", {"url": URL + "/userinfo?again", "method": "POST"}))
        await asyncio.to_thread(sys.stdin.readline)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await asyncio.to_thread(sys.stdin.readline)
        return {"waited": first, "told": told}


async def main() -> None:
    for mode in ("legacy", "auto", "2026-07-28"):
        print(json.dumps(await used(mode)), flush=True)
    print(json.dumps(await waited()), flush=True)


asyncio.run(main())
