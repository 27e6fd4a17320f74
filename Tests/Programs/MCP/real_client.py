"""The stdio client of the PyPI package `mcp`, which starts a command: real_client.py MODE COMMAND…

MODE is `legacy`, `auto` or a protocol version. Prints what it saw as JSON: the version, the tools, two results.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters


async def main() -> None:
    mode, *command = sys.argv[1:]
    server = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    async with Client(server, mode=mode, read_timeout_seconds=20) as client:
        listed = await client.list_tools()
        added = await client.call_tool("add", {"a": 5, "b": 3})
        person = await client.call_tool("person", {})
        version = client.protocol_version
        many = await asyncio.gather(*(client.call_tool("add", {"a": number, "b": 1}) for number in range(20)))
    print(json.dumps({
        "version": version, "tools": sorted(tool.name for tool in listed.tools),
        "added": added.content[0].text, "person": person.content[0].text,
        "many": [int(result.content[0].text) for result in many]}))


asyncio.run(main())
