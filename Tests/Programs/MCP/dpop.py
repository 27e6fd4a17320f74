"""Reads and checks DPoP proofs (RFC 9449) of P-256 keys, with the command `openssl` for the signature."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import tempfile
from typing import Any, Dict, List, Optional

from listener import Request

_P256 = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d03010703420004")
"""What stands before the two coordinates in a SubjectPublicKeyInfo."""


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _integer(raw: bytes) -> bytes:
    raw = raw.lstrip(b"\0") or b"\0"
    if raw[0] & 0x80:
        raw = b"\0" + raw
    return b"\x02" + bytes([len(raw)]) + raw


def _verified(key: Dict[str, str], signed: bytes, signature: bytes) -> bool:
    inner = _integer(signature[:32]) + _integer(signature[32:])
    with tempfile.TemporaryDirectory(prefix="lanyard-dpop-") as place:
        for name, content in (("key", _P256 + _decoded(key["x"]) + _decoded(key["y"])), ("signed", signed),
                              ("signature", b"\x30" + bytes([len(inner)]) + inner)):
            with open(os.path.join(place, name), "wb") as file:
                file.write(content)
        return subprocess.run(
            ["openssl", "dgst", "-sha256", "-verify", "key", "-keyform", "DER", "-signature", "signature", "signed"],
            cwd=place, capture_output=True).returncode == 0


def thumbprint(key: Dict[str, str]) -> str:
    """RFC 7638."""
    canonical = json.dumps({name: key[name] for name in ("crv", "kty", "x", "y")}, sort_keys=True, separators=(",", ":"))
    return base64.urlsafe_b64encode(hashlib.sha256(canonical.encode()).digest()).rstrip(b"=").decode()


def read(request: Request, url: str, token: Optional[str] = None) -> Dict[str, Any]:
    """The proof of a request: `header`, `payload`, `thumbprint`, and `problems`, which is empty for a good one."""
    text = request.header("DPoP")
    if text is None:
        return {"header": {}, "payload": {}, "thumbprint": None, "problems": ["no proof"]}
    problems: List[str] = []
    first, second, third = text.split(".")
    header, payload = json.loads(_decoded(first)), json.loads(_decoded(second))
    if header.get("typ") != "dpop+jwt" or header.get("alg") != "ES256":
        problems.append(f"header {header}")
    if "d" in header["jwk"]:
        problems.append("the private key is in it")
    if payload.get("htm") != request.method or payload.get("htu") != url:
        problems.append(f"for {payload.get('htm')} {payload.get('htu')}, not {request.method} {url}")
    if token is not None:
        digest = base64.urlsafe_b64encode(hashlib.sha256(token.encode()).digest()).rstrip(b"=").decode()
        if payload.get("ath") != digest:
            problems.append("ath of another token")
    if not payload.get("jti") or not payload.get("iat"):
        problems.append("no jti or iat")
    if not _verified(header["jwk"], f"{first}.{second}".encode(), _decoded(third)):
        problems.append("the signature does not verify")
    return {"header": header, "payload": payload, "thumbprint": thumbprint(header["jwk"]), "problems": problems}
