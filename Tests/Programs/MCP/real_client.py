"""The stdio client of the PyPI package `mcp`, which starts a command: real_client.py ORIGIN COMMAND…

Connects in each mode that the client has, then ends every access token of `real_server.py` at ORIGIN, and connects once more.
Prints what it saw as JSON, a line a connection: the version, the tools, the results.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import urllib.request
from typing import Any, Dict

from mcp import Client, StdioServerParameters

ORIGIN, *COMMAND = sys.argv[1:]


async def seen(mode: str) -> Dict[str, Any]:
    server = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=dict(os.environ))
    async with Client(server, mode=mode, read_timeout_seconds=20) as client:
        listed = await client.list_tools()
        added = await client.call_tool("add", {"a": 5, "b": 3})
        many = await asyncio.gather(*(client.call_tool("add", {"a": number, "b": 1}) for number in range(20)))
        return {
            "mode": mode, "version": client.protocol_version, "tools": sorted(tool.name for tool in listed.tools),
            "added": added.content[0].text, "many": [int(result.content[0].text) for result in many]}


async def main() -> None:
    for found in await asyncio.gather(*(seen(mode) for mode in ("legacy", "auto", "2026-07-28"))):
        print(json.dumps(found))
    request = urllib.request.Request(f"{ORIGIN}/test/expire", method="POST")
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=5).close()
    print(json.dumps(await seen("auto")))


asyncio.run(main())
