"""A service on loopback whose callers have keys, and that gives tokens to machines: it says whose a key is, and ends keys."""

from __future__ import annotations

import base64
import http.server
import json
import threading
import time
import urllib.parse
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

Answer = Tuple[int, Any]


class KeyService:
    """`/whoami` tells the person of a key, `/items` is an API, `/revoke` ends a key, `/token` gives tokens to machines."""

    def __init__(self) -> None:
        self.dead: Set[str] = set()
        """The keys that it refuses."""
        self.refused: Set[str] = set()
        """The paths at which it refuses every key."""
        self.people: Dict[str, str] = {}
        """Whose a key is; of others, alice's."""
        self.tokens: Callable[[], str] = lambda: "access-token"
        """Makes the access token of the next machine that asks."""
        self.slow: Dict[str, float] = {}
        """The seconds that a path takes for an answer."""
        self.asked: List[Tuple[str, Optional[str]]] = []
        """The path and the key of each request, in the order in which they came."""
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                place = urllib.parse.urlsplit(self.path)
                path, key = service.key(place, self.headers, body)
                service.asked.append((path, key))
                time.sleep(service.slow.get(path, 0))
                status, answer = service.answer(path, key)
                told = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(told)))
                self.end_headers()
                self.wfile.write(told)

            do_POST = do_GET

            def log_message(self, *_: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.origin = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def count(self, path: str) -> int:
        return len([place for place, _ in self.asked if place == path])

    def provider(self, **more: Any) -> Dict[str, Any]:
        """The members of `provider.add` for its keys."""
        return {
            "kind": "secret", "allowedOrigins": [self.origin], "whoami": {"url": self.origin + "/whoami", "subject": "/id"},
            "revoke": {"method": "POST", "url": self.origin + "/revoke"}, **more}

    def machine(self, **more: Any) -> Dict[str, Any]:
        """The members of `provider.add` for a machine at it."""
        return {"kind": "client", "endpoints": {"token": self.origin + "/token"}, "allowedOrigins": [self.origin], **more}

    @staticmethod
    def key(place: urllib.parse.SplitResult, fields: Any, body: str) -> Tuple[str, Optional[str]]:
        """The path without the key, and the key, wherever it stands."""
        kind, _, word = (fields.get("Authorization") or "").partition(" ")
        asked = urllib.parse.parse_qs(place.query)
        if kind == "Basic":
            return place.path, base64.b64decode(word).decode().partition(":")[2]
        if word:
            return place.path, word
        if "key" in asked:
            return place.path, asked["key"][0]
        if place.path.startswith("/bot"):
            key, _, path = place.path[4:].partition("/")
            return "/" + path, urllib.parse.unquote(key)
        return place.path, fields.get("X-Api-Key")

    def answer(self, path: str, key: Optional[str]) -> Answer:
        if path == "/token":
            return 200, {"access_token": self.tokens(), "token_type": "Bearer", "expires_in": 300}
        if key is None or key in self.dead or path in self.refused:
            return 401, {"message": "Bad credentials"}
        if path == "/whoami":
            return 200, {"id": self.people.get(key, "alice")}
        if path == "/revoke":
            self.dead.add(key)
        return 200, []
