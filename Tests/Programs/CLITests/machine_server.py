"""A server for machine identities. It verifies assertions by OpenSSL; test_assertions.py has libraries do it, too."""

import base64
import http.server
import json
import os
import subprocess
import tempfile
import threading
import time
import urllib.parse

JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
INSTALLATION = "/app/installations/67890/access_tokens"
INSTALLATION_TOKEN = "/installation/token"


def openssl(*words):
    return subprocess.run(["openssl", *words], check=True, capture_output=True, text=True).stdout


def decoded(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


class MachineServer:
    """Issues at-1, at-2, … to a client that proves itself. `requests` is what arrived: path, form, fields, claims."""

    def __init__(self, place):
        self.place = place
        self.requests = []
        self.issued = 0
        # What it says to the next request instead: status and JSON.
        self.next = None
        # How far its clock is ahead of this machine's, in seconds.
        self.ahead = 0
        self.key = os.path.join(place, "key.pem")
        self.public = os.path.join(place, "public.pem")
        openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", self.key)
        openssl("pkey", "-in", self.key, "-pubout", "-out", self.public)
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                known = self.path.startswith("/.well-known/")
                self.tell(*((200, server.metadata()) if known else (404, {})))

            def do_DELETE(self):
                self.do_POST()

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                form = dict(urllib.parse.parse_qsl(body))
                request = {"path": self.path, "form": form, "fields": dict(self.headers), "claims": None}
                server.requests.append(request)
                try:
                    answer = server.answer(request)
                except Exception as problem:  # A refusal that the test's own checks made.
                    answer = 400, {"error": "invalid_client", "error_description": repr(problem)}
                self.tell(*answer)

            def tell(self, status, answer):
                body = b"" if status == 204 else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def date_time_string(self, timestamp=None):
                return super().date_time_string(server.now() if timestamp is None else timestamp)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def now(self):
        return time.time() + self.ahead

    def stop(self):
        self._server.shutdown()
        self._server.server_close()

    def metadata(self):
        return {
            "issuer": self.issuer, "authorization_endpoint": self.issuer + "/authorize",
            "token_endpoint": self.issuer + "/token", "revocation_endpoint": self.issuer + "/revoke",
            "jwks_uri": self.issuer + "/jwks", "response_types_supported": ["code"],
            "subject_types_supported": ["public"], "id_token_signing_alg_values_supported": ["RS256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "private_key_jwt"],
        }

    def at(self, path):
        return [request for request in self.requests if request["path"] == path]

    def answer(self, request):
        if self.next:
            answer, self.next = self.next, None
            return answer
        if request["path"] == "/revoke":
            return 200, {}
        if request["path"] == INSTALLATION_TOKEN:
            return 204, {}
        if request["path"] == INSTALLATION:
            return self.installation(request)
        form = request["form"]
        if form["grant_type"] == "client_credentials":
            self.authenticate(request)
        elif form["grant_type"] == JWT_BEARER:
            request["claims"] = self.verified(form["assertion"])
        elif form["grant_type"] != TOKEN_EXCHANGE:
            return 400, {"error": "unsupported_grant_type"}
        return 200, {"access_token": self.token(), "token_type": "Bearer", "expires_in": 300}

    def token(self):
        self.issued += 1
        return f"at-{self.issued}"

    def installation(self, request):
        kind, _, assertion = request["fields"]["Authorization"].partition(" ")
        if kind != "Bearer":
            return 401, {"message": "A JSON web token could not be decoded"}
        request["claims"] = self.verified(assertion)
        end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.now() + 3600))
        return 201, {"token": self.token(), "expires_at": end, "permissions": {"contents": "read"}}

    def authenticate(self, request):
        form, header = request["form"], request["fields"].get("Authorization")
        if header:
            secret = base64.b64decode(header.removeprefix("Basic ")).decode()
            assert secret == "robot:practice-secret" and "client_secret" not in form, "wrong secret"
        elif "client_assertion" in form:
            request["claims"] = self.verified(form["client_assertion"])
        else:
            assert (form["client_id"], form["client_secret"]) == ("robot", "practice-secret"), "wrong secret"

    def verified(self, token):
        """The claims of an assertion that this server's key signed, and that holds now."""
        header, payload, signature = token.split(".")
        assert json.loads(decoded(header))["alg"] == "RS256"
        with tempfile.TemporaryDirectory() as place:
            paths = [os.path.join(place, name) for name in ("signed", "signature")]
            for path, content in zip(paths, (f"{header}.{payload}".encode(), decoded(signature))):
                with open(path, "wb") as file:
                    file.write(content)
            openssl("dgst", "-sha256", "-verify", self.public, "-signature", paths[1], paths[0])
        claims = json.loads(decoded(payload))
        assert claims["iat"] <= self.now() + 1 < claims["exp"], "not now"
        return claims
