"""Plays an AI agent in a sandbox: works through `task.json` of its directory with git, pip, the libraries of two models and a
client of MCP, looks for credentials on the way, and prints what it saw as a line of JSON. Then it stays until its input ends.

All that it sends and receives in TLS is written to the file `traffic`.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from typing import Any, Dict, List

with open("task.json", encoding="utf-8") as file:
    TASK: Dict[str, Any] = json.load(file)
TRAFFIC = open("traffic", "ab", buffering=0)


def recorded(name: str) -> None:
    """Has a method of TLS connections write down what goes through it."""
    original = getattr(ssl.SSLSocket, name)

    def method(self: ssl.SSLSocket, *given: Any, **named: Any) -> Any:
        done = original(self, *given, **named)
        if name in ("send", "sendall"):
            TRAFFIC.write(bytes(given[0]))
        elif name == "recv_into":
            TRAFFIC.write(bytes(memoryview(given[0])[:done]))
        else:
            TRAFFIC.write(done)
        return done

    setattr(ssl.SSLSocket, name, method)


def ran(*words: str) -> "tuple[int, str]":
    done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def asked(method: str, url: str, body: Any = None) -> "tuple[int, str]":
    """The status and the body of an answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.read().decode()


def cloned() -> str:
    """A file of a repository, by git."""
    status, told = ran("git", "clone", "--quiet", TASK["repository"], "cloned")
    if status:
        return told
    with open("cloned/notes", encoding="utf-8") as notes:
        return notes.read()


def installed() -> str:
    """A word of a package, by pip."""
    status, told = ran(
        sys.executable, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--disable-pip-version-check", "--target", "packages",
        "--index-url", TASK["index"], "spring")
    if status:
        return told
    sys.path.insert(0, "packages")
    import spring  # type: ignore[import-not-found]
    return str(spring.season)


def of_openai() -> "str | None":
    from openai import OpenAI

    with OpenAI() as client:
        answer = client.chat.completions.create(model="small", messages=[{"role": "user", "content": "Which season is it?"}])
        return answer.choices[0].message.content


def of_anthropic() -> str:
    from anthropic import Anthropic

    with Anthropic() as client:
        answer = client.messages.create(
            model="small", max_tokens=9, messages=[{"role": "user", "content": "Which season is it?"}])
        return str(getattr(answer.content[0], "text"))


async def with_tools(seen: Dict[str, Any]) -> None:
    """Calls a tool of the server of MCP, and keeps the bridge while all that was seen is told."""
    from mcp import Client, StdioServerParameters

    command: List[str] = TASK["mcp"]
    server = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    async with Client(server, mode="legacy", read_timeout_seconds=20) as client:
        listed = await client.list_tools()
        added = await client.call_tool("add", {"a": 5, "b": 3})
        seen["tools"] = [tool.name for tool in listed.tools]
        seen["added"] = added.content[0].text
        print(json.dumps(seen), flush=True)
        sys.stdin.read()


def main() -> None:
    for name in ("send", "sendall", "recv", "recv_into"):
        recorded(name)
    api = TASK["api"]
    seen: Dict[str, Any] = {
        "environment": dict(os.environ), "cloned": cloned(), "installed": installed(), "openai": of_openai(),
        "anthropic": of_anthropic(), "read": asked("GET", api + "/tickets"),
        "written": asked("POST", api + "/tickets", {"title": "spring"}), "deleted": asked("DELETE", api + "/tickets/1"),
        "echoed": asked("GET", api + "/echo"), "lanyard": ran(TASK["lanyard"], "token", "work")[0],
    }
    asyncio.run(with_tools(seen))


main()
