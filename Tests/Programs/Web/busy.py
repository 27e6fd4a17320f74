"""An agent with something on every page: accounts of each kind, two AI agents with grants at work, what waits, a policy."""

from __future__ import annotations

import datetime
import http.server
import threading
from typing import Any, Dict, List

POLICY = {
    "name": "assistant",
    "version": 1,
    "capabilities": {
        "notes.read": {"kind": "read", "offlineWindowSeconds": 172_800},
        "notes.write": {"kind": "write", "offlineWindowSeconds": 86_400, "approve": {"waitSeconds": 120}},
    },
}


class Api(http.server.ThreadingHTTPServer):
    """A resource server that answers everything, with `status`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: List[str] = []
        self.status = 200
        self.origin = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.shutdown()
        self.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Api

    def answer(self) -> None:
        self.server.requests.append(f"{self.command} {self.path}")
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(self.server.status)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"ok\n")

    do_GET = do_POST = do_DELETE = answer

    def log_message(self, *_: Any) -> None:
        pass


def in_days(days: float) -> str:
    moment = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def add_key(caller: Any, alias: str, origin: str, **more: Any) -> str:
    """An account of the provider `hosting` that holds a key."""
    names = [each["name"] for each in caller.call("provider.list", {})["providers"]]
    if "hosting" not in names:
        caller.call("provider.add", {"name": "hosting", "kind": "secret", "allowedOrigins": [origin]})
    account: str = caller.call(
        "account.add", {"provider": "hosting", "secret": f"not-a-real-key-{alias}", "alias": alias, **more})["account"]
    return account


def set_policy(caller: Any, origin: str) -> None:
    policy: Dict[str, Any] = {**POLICY, "capabilities": {name: dict(rules) for name, rules in POLICY["capabilities"].items()}}
    policy["capabilities"]["notes.read"]["requests"] = [{"origin": origin, "methods": ["GET"], "path": "/notes*"}]
    policy["capabilities"]["notes.write"]["requests"] = [{"origin": origin, "methods": ["POST"], "path": "/notes*"}]
    caller.call("policy.set", {"name": "assistant", "policy": policy})
    caller.call("provider.update", {"provider": "practice", "allowedOrigins": [origin], "policy": "assistant"})


def grant(caller: Any, client: str, **more: Any) -> Dict[str, Any]:
    made: Dict[str, Any] = caller.call(
        "grant.create",
        {"client": client, "accounts": ["alice"], "methods": ["request.send", "operation.*"], "agent": True,
         "expiresInSeconds": 86_400, **more})
    return made


def under_grant(caller: Any, secret: str) -> Any:
    """Makes a fresh connection one of the grant."""
    caller.call("agent.hello", {"client": {"name": "test", "version": "1"}, "protocol": "1", "grant": secret})
    return caller
