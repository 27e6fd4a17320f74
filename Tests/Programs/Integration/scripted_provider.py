"""A provider on loopback whose every answer a test may replace, for what the practice provider never says."""

from __future__ import annotations

import http.server
import json
import ssl
import threading
import urllib.parse
from typing import Any, Dict, List, Optional, Tuple

Answer = Tuple[int, Any]
Form = Dict[str, List[str]]


class ScriptedProvider:
    """Serves a discovery document, tokens and userinfo. `document` and `tokens` are added to what it would say."""

    def __init__(self, issuer: str = "", key: Optional[Tuple[str, str]] = None) -> None:
        self.document: Dict[str, Any] = {}
        self.tokens: Dict[str, Any] = {}
        self.person: Any = {"sub": "alice"}
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path.startswith("/.well-known/"):
                    self.tell(200, provider.metadata())
                elif self.path == "/userinfo":
                    self.tell(*provider.userinfo(self.headers.get("Authorization") or ""))
                else:
                    self.tell(404, {})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                self.tell(*provider.token(urllib.parse.parse_qs(body)))

            def tell(self, status: int, answer: Any) -> None:
                body = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if key is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*key)
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self._server.server_port
        self.issuer = issuer or f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def metadata(self) -> Dict[str, Any]:
        places = {name: f"{self.issuer}/{name.split('_')[0]}" for name in (
            "authorization_endpoint", "token_endpoint", "userinfo_endpoint")}
        return {"issuer": self.issuer, **places, **self.document}

    def userinfo(self, authorization: str) -> Answer:
        return 200, self.person

    def token(self, form: Form) -> Answer:
        return 200, {"access_token": "at", "token_type": "Bearer", "expires_in": 300, **self.tokens}

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
