"""What servers of tests serve beside a greeting: a repository of git, packages for pip and npm, the APIs of two models as their
libraries call them, and tools of MCP."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import tarfile
import zipfile
from typing import Any, Dict

from desktop_fixture import Request, Response


def bare_repository(path: str) -> None:
    """Makes a repository to which git pushes over HTTP."""
    quiet: Dict[str, Any] = {"capture_output": True, "check": True}
    subprocess.run(["git", "init", "--bare", "-b", "main", path], **quiet)
    subprocess.run(["git", "-C", path, "config", "http.receivepack", "true"], **quiet)


def git_backend(request: Request, folder: str) -> Response:
    """The answer of `git http-backend` for the repositories of a folder."""
    path, _, query = request.path.partition("?")
    ran = subprocess.run(
        ["git", "http-backend"], input=request.body, capture_output=True, check=True,
        env={"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": folder, "GIT_HTTP_EXPORT_ALL": "1",
             "REQUEST_METHOD": request.method, "PATH_INFO": path, "QUERY_STRING": query,
             "CONTENT_TYPE": request.headers.get("Content-Type", ""), "REMOTE_USER": "alice",
             "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
             "CONTENT_LENGTH": str(len(request.body))})
    head, _, body = ran.stdout.partition(b"\r\n\r\n")
    found = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
    return Response(int(found.pop("Status", "200").split()[0]), body, list(found.items()))


def package_index(request: Request, origin: str) -> Response:
    """An index with one package, `spring`."""
    if request.path.startswith("/simple/"):
        page = f'<a href="{origin}/files/spring-1.0-py3-none-any.whl">spring</a>'
        return Response(200, page.encode(), [("Content-Type", "text/html")])
    return Response(200, _wheel(), [("Content-Type", "application/octet-stream")])


def _wheel() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("spring.py", "season = 'spring'\n")
        archive.writestr("spring-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: spring\nVersion: 1.0\n")
        archive.writestr(
            "spring-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("spring-1.0.dist-info/RECORD", "spring.py,,\n")
    return made.getvalue()


def npm_registry(request: Request, origin: str) -> Response:
    """A registry at `/npm/` with one package, `spring`."""
    if request.path == "/npm/spring":
        version = {"name": "spring", "version": "1.0.0", "dist": {"tarball": f"{origin}/npm/spring-1.0.0.tgz"}}
        return Response.json({"name": "spring", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}})
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, text in (("package.json", '{"name": "spring", "version": "1.0.0"}'), ("index.js", "exports.season = 'spring'")):
            entry = tarfile.TarInfo("package/" + name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return Response(200, gzip.compress(made.getvalue(), mtime=0), [("Content-Type", "application/octet-stream")])


def chat_completion(text: str) -> Response:
    """As the library `openai` reads it."""
    return Response.json({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "small",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}]})


def message(text: str) -> Response:
    """As the library `anthropic` reads it."""
    return Response.json({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "small", "stop_reason": "end_turn",
        "stop_sequence": None, "content": [{"type": "text", "text": text}],
        "usage": {"input_tokens": 1, "output_tokens": 1}})


def mcp(request: Request) -> Response:
    """A server of MCP (2025-11-25) with one tool, `add`, that answers each message at once."""
    if request.method != "POST":
        return Response(405)
    asked = json.loads(request.body)
    if "id" not in asked:
        return Response(202)
    params = asked.get("params", {})
    if asked["method"] == "initialize":
        result: Dict[str, Any] = {
            "protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "tests", "version": "1"}}
    elif asked["method"] == "tools/list":
        number = {"type": "number"}
        result = {"tools": [{
            "name": "add", "inputSchema": {"type": "object", "properties": {"a": number, "b": number}}}]}
    elif asked["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": str(params["arguments"]["a"] + params["arguments"]["b"])}]}
    else:
        return Response.json({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "unknown"}})
    return Response.json({"jsonrpc": "2.0", "id": asked["id"], "result": result})
