"""A resource server that takes tokens bound to a key (RFC 9449), by code that is not ours: pydpop checks proofs, and
jwcrypto the tokens and the thumbprints. Prints its port; ends with its standard input.

    bound_resource.py ISSUER

Each nonce is good for three requests. `GET /log` tells what was served; `POST /verify` judges a proof that a program
asked for: {"proof", "method", "url", "token", "nonce"?}.
"""

import json
import secrets
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from jwcrypto import jwk, jwt
from pydpop import DPoPError, MemoryJtiStore, verify_proof

ISSUER = sys.argv[1]
SEEN = MemoryJtiStore()
LOG = []
NONCES = {}
LOCK = threading.Lock()


def keys():
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(ISSUER + "/jwks", timeout=10) as answer:
        return jwk.JWKSet.from_json(answer.read().decode())


def thumbprint_of(token):
    """The thumbprint of the key that a signed access token is bound to; None for a bearer token."""
    claims = json.loads(jwt.JWT(jwt=token, key=keys()).claims)
    return claims.get("cnf", {}).get("jkt")


def next_nonce():
    with LOCK:
        nonce = secrets.token_urlsafe(12)
        NONCES[nonce] = 3
        return nonce


def spend(nonce):
    with LOCK:
        if NONCES.get(nonce, 0) < 1:
            return False
        NONCES[nonce] -= 1
        return True


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def answer(self, status, body, **fields):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def refuse(self, error, **fields):
        self.answer(401, {"error": error}, WWW_Authenticate=f'DPoP error="{error}", algs="ES256"', **fields)

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def url(self):
        return f"http://{self.headers['Host']}{self.path}"

    def serve(self):
        body = self.body()
        if self.path == "/log":
            return self.answer(200, LOG)
        if self.path == "/verify":
            return self.verify(json.loads(body))
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        proofs = self.headers.get_all("DPoP") or []
        if scheme != "DPoP" or len(proofs) != 1:
            return self.refuse("invalid_token")
        try:
            proven = verify_proof(
                proof=proofs[0], htm=self.command, htu=self.url(), access_token=token, clock_skew=10, jti_store=SEEN)
        except DPoPError as error:
            LOG.append({"refused": str(error)})
            return self.refuse("invalid_dpop_proof")
        if not spend(proven["claims"].get("nonce")):
            return self.refuse("use_dpop_nonce", DPoP_Nonce=next_nonce())
        key = jwk.JWK(**proven["jwk"])
        if not (thumbprint_of(token) == proven["jwk_thumbprint"] == key.thumbprint()):
            return self.refuse("invalid_token")
        LOG.append({"method": self.command, "path": self.path, "bytes": len(body), "key": key.thumbprint()})
        return self.answer(200, {"method": self.command, "bytes": len(body)})

    def verify(self, asked):
        try:
            proven = verify_proof(
                proof=asked["proof"], htm=asked["method"], htu=asked["url"], access_token=asked["token"],
                expected_nonce=asked.get("nonce"), clock_skew=10, jti_store=SEEN)
        except DPoPError as error:
            return self.answer(200, {"problem": str(error)})
        # A second opinion on signature and header.
        signed = jwt.JWT(jwt=asked["proof"], key=jwk.JWK(**proven["jwk"]), algs=["ES256"])
        header = json.loads(signed.header)
        return self.answer(
            200, {"key": jwk.JWK(**proven["jwk"]).thumbprint(), "claims": json.loads(signed.claims),
                  "header": sorted(header), "jwk": sorted(header["jwk"])})

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = serve


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
