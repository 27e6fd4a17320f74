"""`lanyard.auth` with the real libraries, a scripted agent, and a server on loopback.

The libraries are among the packages that `Tests/Programs/RealProvider/install` installs, or anywhere in `sys.path`. A test
whose library is missing says that it skips, unless LANYARD_REQUIRE_REAL=1 asks for it.
"""

from __future__ import annotations

import asyncio
import glob
import http.server
import importlib
import io
import os
import subprocess
import sys
import threading
import time
import unittest
from datetime import timezone
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple
from unittest import mock

from lanyard import AsyncClient, BoundToken, Client, InteractionRequired, OriginRefused, ReauthenticationRequired
from lanyard.auth import Origins

from .fake_agent import TOKEN, FakeAgent, Fault, Peer

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
_PYTHON = f"python{sys.version_info[0]}.{sys.version_info[1]}"
for _place in glob.glob(os.path.join(ROOT, ".build", "real-provider", "lib", _PYTHON, "site-packages")):
    # Before those of the machine, so that the versions fit.
    sys.path.insert(0, _place)


def library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        if os.environ.get("LANYARD_REQUIRE_REAL") == "1":
            raise AssertionError(f"there is no {name}") from None
        raise unittest.SkipTest(f"there is no {name}") from None


class Server:
    """A server on loopback; `answers` are (status, header fields) in turn, the last one for ever."""

    def __init__(self, *answers: Tuple[int, Dict[str, str]]) -> None:
        rest = self._rest = list(answers) or [(200, {})]
        self.requests: List[Tuple[str, str, Mapping[str, str], bytes]] = []
        requests = self.requests

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def serve(self) -> None:
                if self.headers.get("Transfer-Encoding") == "chunked":
                    body = b""
                    while True:
                        size = int(self.rfile.readline(), 16)
                        body += self.rfile.read(size)
                        self.rfile.readline()
                        if not size:
                            break
                else:
                    body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                told = {name.lower(): value for name, value in self.headers.items()}
                requests.append((self.command, self.path, told, body))
                status, headers = rest.pop(0) if len(rest) > 1 else rest[0]
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"ok")

            do_GET = do_POST = serve

            def log_message(self, *_: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def answer(self, status: int, headers: Dict[str, str]) -> None:
        """Answers this from now on."""
        self._rest[:] = [(status, headers)]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def sent(self, name: str) -> List[Optional[str]]:
        """A header field of each request."""
        return [headers.get(name) for _, _, headers, _ in self.requests]


REFUSED = (401, {"WWW-Authenticate": 'Bearer error="invalid_token"'})
WANTS_NONCE = (401, {"WWW-Authenticate": 'DPoP error="use_dpop_nonce"', "DPoP-Nonce": "nonce-1"})


class AuthTest(unittest.TestCase):
    def setUp(self) -> None:
        self.agent = FakeAgent()
        self.agent.__enter__()
        self.addCleanup(self.agent.__exit__)
        self.kind = "Bearer"
        self.agent.on("token.get", lambda request, peer: self.token(1))
        self.agent.on("token.reject", lambda request, peer: self.token(2))
        self.agent.on("token.proof", self.prove)
        self.client = Client(self.agent.path)
        self.addCleanup(self.client.close)

    def token(self, number: int) -> Dict[str, Any]:
        return {**TOKEN, "accessToken": f"secret-{number}", "fingerprint": f"f{number}", "tokenType": self.kind,
                "expiresAt": "2099-01-01T00:00:00.000Z"}

    def prove(self, request: Dict[str, Any], peer: Peer) -> Dict[str, Any]:
        number = len(self.agent.requests("token.proof"))
        return {"proof": f"proof-{number}", "thumbprint": "t", "account": "acc_alice"}

    def server(self, *answers: Tuple[int, Dict[str, str]]) -> Server:
        server = Server(*answers)
        self.addCleanup(server.close)
        return server

    def params(self, method: str) -> List[Dict[str, Any]]:
        return [request["params"] for request in self.agent.requests(method)]


class OriginTests(unittest.TestCase):
    def test_origins_are_compared_as_a_whole(self) -> None:
        origins = Origins(["https://api.example", "https://other.example:8443/", "http://127.0.0.1:80", "http://[::1]:8080"])
        for url in ("https://api.example", "https://API.example:443/a?b#c", "https://other.example:8443/x",
                    "http://127.0.0.1/x", "http://[::1]:8080/"):
            origins.check(url)
        for url in ("http://api.example", "https://api.example:8443", "https://api.example.evil.example", "https://evil.example",
                    "https://api.example@evil.example", "https://user@api.example", "https://api.example\\@evil.example",
                    "https://api.example%2eevil.example", "https://api.example.", "https://ａpi.example", "https:api.example",
                    "ftp://api.example", "", "https://", "https://api.example:x", "https://api.example\n.evil.example",
                    " https://api.example", "http://127.0.0.1:8080/"):
            with self.subTest(url=url), self.assertRaises(OriginRefused):
                origins.check(url)

    def test_origins_are_safe(self) -> None:
        for origin in ("http://api.example", "http://192.0.2.1", "http://localhost.example", "http://127.0.0.1.example"):
            with self.subTest(origin=origin), self.assertRaises(OriginRefused):
                Origins(origin)
        for wrong in ([], "api.example", "https://api.example/path", "https://api.example?x", ""):
            with self.subTest(origin=wrong), self.assertRaises(ValueError):
                Origins(wrong)


class RequestsTests(AuthTest):
    def setUp(self) -> None:
        super().setUp()
        self.requests = library("requests")
        self.session = self.requests.Session()
        self.session.trust_env = False
        self.addCleanup(self.session.close)

    def auth(self, *servers: Server, **options: Any) -> Any:
        from lanyard.auth.requests import LanyardAuth

        return LanyardAuth(self.client, "work", origins=[server.origin for server in servers], **options)

    def test_token_is_sent(self) -> None:
        server = self.server()
        auth = self.auth(server, scopes=["a"], resource="https://api.example")
        self.assertEqual(self.session.get(server.origin + "/me", auth=auth).text, "ok")
        self.assertEqual(server.sent("authorization"), ["Bearer secret-1"])
        self.assertEqual(self.params("token.get"), [{"account": "work", "scopes": ["a"], "resource": "https://api.example"}])

    def test_refused_token_is_reported_and_the_request_sent_again(self) -> None:
        server = self.server(REFUSED, (200, {}))
        response = self.session.post(server.origin, auth=self.auth(server), data=b"body")
        self.assertEqual((response.status_code, [len(r.history) for r in [response]]), (200, [1]))
        self.assertEqual(server.sent("authorization"), ["Bearer secret-1", "Bearer secret-2"])
        self.assertEqual([body for *_, body in server.requests], [b"body", b"body"])
        wanted = {"account": "work", "fingerprint": "f1", "challenge": 'Bearer error="invalid_token"'}
        self.assertEqual(self.params("token.reject"), [wanted])

    def test_file_is_sent_again_from_its_beginning(self) -> None:
        server = self.server(REFUSED, (200, {}))
        self.session.post(server.origin, auth=self.auth(server), data=io.BytesIO(b"of a file"))
        self.assertEqual([body for *_, body in server.requests], [b"of a file", b"of a file"])

    def test_generator_is_sent_once(self) -> None:
        server = self.server(REFUSED, (200, {}))
        response = self.session.post(server.origin, auth=self.auth(server), data=iter([b"a", b"b"]))
        self.assertEqual((response.status_code, len(server.requests)), (401, 1))
        self.assertEqual(len(self.params("token.reject")), 1)

    def test_second_refusal_is_the_response(self) -> None:
        server = self.server(REFUSED)
        self.assertEqual(self.session.get(server.origin, auth=self.auth(server)).status_code, 401)
        self.assertEqual((len(server.requests), len(self.params("token.reject"))), (2, 1))

    def test_session_sends_a_token_of_its_own_with_each_request(self) -> None:
        server = self.server()
        self.session.auth = self.auth(server)
        for _ in range(3):
            self.session.get(server.origin)
        self.assertEqual(len(self.params("token.get")), 3)

    def test_other_origin_gets_nothing(self) -> None:
        server, other = self.server(), self.server()
        with self.assertRaises(OriginRefused):
            self.session.get(other.origin, auth=self.auth(server))
        self.assertEqual((other.requests, self.params("token.get")), ([], []))

    def test_redirect_to_another_origin_carries_no_token(self) -> None:
        other = self.server(REFUSED)
        for named in (False, True):
            server = self.server((302, {"Location": other.origin + "/next"}))
            auth = self.auth(server, other) if named else self.auth(server)
            self.assertEqual(self.session.get(server.origin, auth=auth).status_code, 401)
        self.assertEqual(other.sent("authorization"), [None, None])
        self.assertEqual(self.params("token.reject"), [])

    def test_refusal_of_a_request_without_the_token_is_not_its_refusal(self) -> None:
        # Another origin leads back, and what it leads to is refused for want of a token.
        other = self.server()
        server = self.server((302, {"Location": other.origin}), REFUSED)
        other.answer(302, {"Location": server.origin + "/back"})
        self.assertEqual(self.session.get(server.origin, auth=self.auth(server)).status_code, 401)
        self.assertEqual(server.sent("authorization"), ["Bearer secret-1", None])
        self.assertEqual(self.params("token.reject"), [])

    def test_redirect_within_the_origin_carries_the_present_token(self) -> None:
        server = self.server(REFUSED, (302, {"Location": "/next"}), (200, {}))
        self.assertEqual(self.session.get(server.origin, auth=self.auth(server)).status_code, 200)
        self.assertEqual(server.sent("authorization"), ["Bearer secret-1", "Bearer secret-2", "Bearer secret-2"])

    def test_bound_token_goes_with_proofs(self) -> None:
        self.kind = "DPoP"
        server = self.server(WANTS_NONCE, REFUSED, (302, {"Location": "/next"}), (200, {}))
        self.session.get(server.origin + "/me?q=1", auth=self.auth(server))
        self.assertEqual(server.sent("authorization"), ["DPoP secret-1", "DPoP secret-1", "DPoP secret-2", None])
        self.assertEqual(server.sent("dpop"), ["proof-1", "proof-2", "proof-3", None])
        first, second, third = self.params("token.proof")
        self.assertEqual(first, {"account": "work", "method": "GET", "url": server.origin + "/me?q=1", "fingerprint": "f1"})
        self.assertEqual((second["nonce"], third["fingerprint"]), ("nonce-1", "f2"))

    def test_nonce_is_tried_once(self) -> None:
        self.kind = "DPoP"
        server = self.server(WANTS_NONCE)
        self.assertEqual(self.session.get(server.origin, auth=self.auth(server)).status_code, 401)
        self.assertEqual((len(server.requests), self.params("token.reject")), (2, []))

    def test_error_of_the_agent_is_raised(self) -> None:
        def fail(request: Dict[str, Any], peer: Peer) -> None:
            raise Fault(2004, "reauthenticationRequired")

        self.agent.on("token.get", fail)
        server = self.server()
        with self.assertRaises(ReauthenticationRequired):
            self.session.get(server.origin, auth=self.auth(server))
        self.assertEqual(server.requests, [])

    def test_active_account_is_named_by_its_id_afterwards(self) -> None:
        from lanyard.auth.requests import LanyardAuth

        server = self.server(REFUSED, (200, {}))
        self.session.get(server.origin, auth=LanyardAuth(self.client, "@active", origins=server.origin))
        self.assertEqual(self.params("token.reject")[0]["account"], "acc_alice")

    def test_repr_shows_no_token(self) -> None:
        server = self.server()
        auth = self.auth(server)
        self.session.get(server.origin, auth=auth)
        self.assertNotIn("secret", repr(auth))


class HttpxTests(AuthTest):
    def setUp(self) -> None:
        super().setUp()
        self.httpx = library("httpx")

    def get(self, auth: Callable[[Any], Any], url: str, asynchronous: bool, **options: Any) -> Any:
        """Sends a request in one of httpx's two ways."""
        method = "POST" if "content" in options else "GET"
        follow = options.pop("follow_redirects", False)
        if not asynchronous:
            with self.httpx.Client(trust_env=False, auth=auth(self.client), follow_redirects=follow) as http:
                return http.request(method, url, **options)

        async def send() -> Any:
            async with AsyncClient(self.agent.path) as client:
                async with self.httpx.AsyncClient(trust_env=False, auth=auth(client), follow_redirects=follow) as http:
                    return await http.request(method, url, **options)

        return asyncio.run(send())

    def auth(self, *servers: Server) -> Callable[[Any], Any]:
        from lanyard.auth.httpx import LanyardAuth

        return lambda client: LanyardAuth(client, "work", origins=[server.origin for server in servers])

    def test_refused_token_is_reported_and_the_request_sent_again(self) -> None:
        for asynchronous in (False, True):
            with self.subTest(asynchronous=asynchronous):
                server = self.server(REFUSED, (200, {}))
                response = self.get(self.auth(server), server.origin, asynchronous, content=b"body")
                self.assertEqual(response.status_code, 200)
                self.assertEqual(server.sent("authorization"), ["Bearer secret-1", "Bearer secret-2"])
                self.assertEqual([body for *_, body in server.requests], [b"body", b"body"])

    def test_second_refusal_is_the_response(self) -> None:
        for asynchronous in (False, True):
            with self.subTest(asynchronous=asynchronous):
                server = self.server(REFUSED)
                self.assertEqual(self.get(self.auth(server), server.origin, asynchronous).status_code, 401)
                self.assertEqual(len(server.requests), 2)

    def test_stream_is_sent_once(self) -> None:
        server = self.server(REFUSED, (200, {}))
        response = self.get(self.auth(server), server.origin, False, content=iter([b"a", b"b"]))
        self.assertEqual((response.status_code, len(server.requests)), (401, 1))
        self.assertEqual(len(self.params("token.reject")), 1)

    def test_other_origin_gets_nothing(self) -> None:
        server, other = self.server(), self.server()
        for asynchronous in (False, True):
            with self.subTest(asynchronous=asynchronous), self.assertRaises(OriginRefused):
                self.get(self.auth(server), other.origin, asynchronous)
        self.assertEqual((other.requests, self.params("token.get")), ([], []))

    def test_redirect_to_another_origin_carries_no_token(self) -> None:
        other = self.server(REFUSED)
        server = self.server((302, {"Location": other.origin}))
        for asynchronous in (False, True):
            response = self.get(self.auth(server), server.origin, asynchronous, follow_redirects=True)
            self.assertEqual(response.status_code, 401)
        self.assertEqual(other.sent("authorization"), [None, None])
        self.assertEqual(self.params("token.reject"), [])

    def test_refusal_of_a_request_without_the_token_is_not_its_refusal(self) -> None:
        for asynchronous in (False, True):
            with self.subTest(asynchronous=asynchronous):
                other = self.server()
                server = self.server((302, {"Location": other.origin}), REFUSED)
                other.answer(302, {"Location": server.origin + "/back"})
                response = self.get(self.auth(server), server.origin, asynchronous, follow_redirects=True)
                self.assertEqual(response.status_code, 401)
                self.assertEqual(server.sent("authorization"), ["Bearer secret-1", None])
                self.assertEqual(self.params("token.reject"), [])

    def test_bound_token_goes_with_proofs(self) -> None:
        self.kind = "DPoP"
        for asynchronous in (False, True):
            server = self.server(WANTS_NONCE, (200, {}))
            self.get(self.auth(server), server.origin + "/me", asynchronous)
            self.assertEqual(server.sent("authorization"), ["DPoP secret-1"] * 2)
            self.assertEqual(self.params("token.proof")[-1]["nonce"], "nonce-1")

    def test_client_of_the_other_kind_is_refused(self) -> None:
        server = self.server()
        auth = self.auth(server)(AsyncClient(self.agent.path))
        with self.assertRaises(TypeError), self.httpx.Client(trust_env=False) as http:
            http.get(server.origin, auth=auth)


class GoogleTests(AuthTest):
    def setUp(self) -> None:
        super().setUp()
        library("requests")
        self.google = library("google.auth.credentials")
        self.transport = library("google.auth.transport.requests")

    def session(self, server: Server, **options: Any) -> Any:
        from lanyard.auth.google import Credentials

        session = self.transport.AuthorizedSession(Credentials(self.client, "work", origins=server.origin, **options))
        session.trust_env = False
        self.addCleanup(session.close)
        return session

    def test_session_sends_the_token(self) -> None:
        server = self.server()
        session = self.session(server, quota_project_id="payer")
        self.assertEqual(session.get(server.origin).status_code, 200)
        session.get(server.origin)
        self.assertEqual(server.sent("authorization"), ["Bearer secret-1"] * 2)
        self.assertEqual(server.sent("x-goog-user-project"), ["payer"] * 2)
        self.assertEqual(len(self.params("token.get")), 1)

    def test_session_has_a_refused_token_replaced(self) -> None:
        server = self.server(REFUSED, (200, {}))
        self.assertEqual(self.session(server).get(server.origin).status_code, 200)
        self.assertEqual(server.sent("authorization"), ["Bearer secret-1", "Bearer secret-2"])
        self.assertEqual(self.params("token.reject"), [{"account": "work", "fingerprint": "f1"}])

    def test_expired_token_is_asked_for_anew(self) -> None:
        from lanyard.auth.google import Credentials

        old = {**self.token(1), "expiresInSeconds": 0}
        self.agent.on("token.get", lambda request, peer: old)
        credentials = Credentials(self.client, "work", origins="https://api.example")
        self.assertEqual((credentials.valid, credentials.expired, credentials.token), (False, False, None))
        credentials.refresh()
        self.assertEqual((credentials.valid, credentials.expired), (False, True))
        credentials.refresh()
        self.assertEqual((len(self.params("token.get")), self.params("token.reject")), (2, []))
        assert credentials.expiry is not None
        self.assertIsNone(credentials.expiry.tzinfo)

    def test_end_is_by_this_machines_clock(self) -> None:
        from lanyard.auth.google import Credentials

        # The provider's clock is years behind this machine's.
        told = {**self.token(1), "expiresAt": "2020-01-01T00:00:00.000Z", "expiresInSeconds": 300}
        self.agent.on("token.get", lambda request, peer: told)
        credentials = Credentials(self.client, "work", origins="https://api.example")
        credentials.refresh()
        self.assertTrue(credentials.valid)
        assert credentials.expiry is not None
        left = credentials.expiry.replace(tzinfo=timezone.utc).timestamp() - time.time()
        self.assertTrue(200 < left <= 300, left)

    def test_other_origin_gets_nothing(self) -> None:
        server, other = self.server(), self.server()
        with self.assertRaises(OriginRefused):
            self.session(server).get(other.origin)
        self.assertEqual(other.requests, [])

    def test_it_counts_as_googles_class(self) -> None:
        from lanyard.auth.google import Credentials

        credentials = Credentials(self.client, "work", origins="https://api.example")
        self.assertIsInstance(credentials, self.google.Credentials)
        self.assertEqual(credentials.with_scopes(["a"]).scopes, ["a"])
        self.assertEqual(self.google.with_scopes_if_required(credentials, ["b"]), credentials)

    def test_bound_token_goes_with_a_proof(self) -> None:
        self.kind = "DPoP"
        server = self.server()
        self.session(server).get(server.origin)
        self.assertEqual((server.sent("authorization"), server.sent("dpop")), (["DPoP secret-1"], ["proof-1"]))

    def test_every_public_member_of_googles_class_is_there(self) -> None:
        from lanyard.auth.google import Credentials

        mine = Credentials(self.client, "work", origins="https://api.example")
        for name in ("token", "expiry", "expired", "valid", "refresh", "apply", "before_request", "quota_project_id",
                     "universe_domain"):
            self.assertTrue(hasattr(mine, name), name)


class AzureTests(AuthTest):
    def setUp(self) -> None:
        super().setUp()
        self.azure = library("azure.core.credentials")

    def test_token_and_its_end(self) -> None:
        from lanyard.auth.azure import LanyardCredential

        credential = LanyardCredential(self.client, "work")
        token = credential.get_token("https://vault.example/.default", tenant_id="t", enable_cae=True)
        self.assertEqual((token.token, token[0]), ("secret-1", "secret-1"))
        info = credential.get_token_info("https://vault.example/.default", options={"enable_cae": True})
        self.assertEqual((info.token, info.token_type, info.refresh_on), ("secret-1", "Bearer", None))
        self.assertNotIn("secret", repr(token) + repr(info) + repr(credential))
        self.assertEqual(self.params("token.get")[0], {"account": "work", "scopes": ["https://vault.example/.default"]})
        self.assertIsInstance(credential, self.azure.TokenCredential)
        self.assertIsInstance(credential, self.azure.SupportsTokenInfo)

    def test_policy_of_azure_core_sends_it(self) -> None:
        from lanyard.auth.azure import LanyardCredential

        policies = library("azure.core.pipeline.policies")
        pipelines = library("azure.core.pipeline")
        rest = library("azure.core.rest")
        transports = library("azure.core.pipeline.transport")
        server = self.server()
        policy = policies.BearerTokenCredentialPolicy(LanyardCredential(self.client, "work"), "scope.a")
        with pipelines.Pipeline(transports.RequestsTransport(use_env_settings=False), [policy]) as pipeline:
            pipeline.run(rest.HttpRequest("GET", server.origin), enforce_https=False)
        self.assertEqual(server.sent("authorization"), ["Bearer secret-1"])

    def test_end_is_by_this_machines_clock(self) -> None:
        from lanyard.auth.azure import LanyardCredential

        # The provider's clock is decades ahead of this machine's.
        self.agent.on("token.get", lambda request, peer: self.token(1))
        credential = LanyardCredential(self.client, "work")
        for end in credential.get_token("a").expires_on, credential.get_token_info("a").expires_on:
            self.assertTrue(200 < end - time.time() <= 300, end)

    def test_claims_report_the_token(self) -> None:
        from lanyard.auth.azure import LanyardCredential

        def fail(request: Dict[str, Any], peer: Peer) -> None:
            raise Fault(2005, "interactionRequired")

        self.agent.on("token.reject", fail)
        credential = LanyardCredential(self.client, "work")
        credential.get_token("a")
        with self.assertRaises(InteractionRequired):
            credential.get_token("a", claims='{"access_token":{}}')
        self.assertIn("insufficient_claims", self.params("token.reject")[0]["challenge"])

    def test_bound_token_is_refused(self) -> None:
        from lanyard.auth.azure import LanyardCredential

        self.kind = "DPoP"
        with self.assertRaises(BoundToken):
            LanyardCredential(self.client, "work").get_token("a")

    def test_asyncio(self) -> None:
        from lanyard.auth.azure import AsyncLanyardCredential

        asynchronous = library("azure.core.credentials_async")

        async def ask() -> None:
            async with AsyncClient(self.agent.path) as client, AsyncLanyardCredential(client, "work") as credential:
                self.assertEqual((await credential.get_token("a")).token, "secret-1")
                self.assertEqual((await credential.get_token_info("a")).token, "secret-1")
                self.assertIsInstance(credential, asynchronous.AsyncTokenCredential)

        asyncio.run(ask())

    def test_nothing_is_imported_of_the_libraries(self) -> None:
        program = (
            "import sys, lanyard.auth.azure, lanyard.auth.google, lanyard.auth.requests\n"
            "print([name for name in sys.modules if name.split('.')[0] in ('azure', 'google', 'requests', 'httpx')])"
        )
        environment = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "Clients", "python", "src"))
        told = subprocess.run([sys.executable, "-S", "-c", program], env=environment, stdout=subprocess.PIPE, text=True)
        self.assertEqual(told.stdout, "[]\n")


class KeyringTests(AuthTest):
    def setUp(self) -> None:
        super().setUp()
        self.keyring = library("keyring")
        self.errors = library("keyring.errors")
        from lanyard.auth.keyring import LanyardKeyring

        self.backend = LanyardKeyring()
        variables = {"LANYARD_SOCKET": self.agent.path, "LANYARD_ACCOUNT": "",
                     "LANYARD_KEYRING": "https://pypi.example=work nonsense http://x=y"}
        patched = mock.patch.dict(os.environ, variables)
        patched.start()
        self.addCleanup(patched.stop)

    def test_accounts_are_users_of_the_service(self) -> None:
        self.assertEqual(self.backend.get_password("lanyard", "work"), "secret-1")
        credential = self.backend.get_credential("lanyard", "home")
        assert credential is not None
        self.assertEqual((credential.username, credential.password), ("home", "secret-1"))
        self.assertEqual([params["account"] for params in self.params("token.get")], ["work", "home"])
        self.assertIsNone(self.backend.get_credential("lanyard", None))

    def chooses(self, request: Dict[str, Any], peer: Peer) -> Dict[str, Any]:
        if request["params"]["url"].startswith("https://ruled.example/"):
            return {"account": "acc_alice", "because": "rule"}
        raise Fault(6003, "notFound")

    def test_url_is_answered_by_the_agents_choice(self) -> None:
        self.agent.on("account.resolve", self.chooses)
        for url, username, sent in (("https://ruled.example/simple/", None, "oauth2"),
                                    ("https://ruled.example/legacy/", "__token__", "__token__")):
            credential = self.backend.get_credential(url, username)
            assert credential is not None
            self.assertEqual((credential.username, credential.password), (sent, "secret-1"))
        self.assertEqual(self.backend.get_password("https://ruled.example/", "alice"), "secret-1")
        self.assertIsNone(self.backend.get_password("https://other.example/", "alice"))
        asked = self.params("account.resolve")
        self.assertEqual([params.get("user") for params in asked], [None, "__token__", "alice", "alice"])
        self.assertEqual({params["workingDirectory"] for params in asked}, {os.getcwd()})
        self.assertEqual({params["account"] for params in self.params("token.get")}, {"acc_alice"})

    def test_key_is_sent_with_its_accounts_user_name(self) -> None:
        self.agent.on("account.resolve", self.chooses)
        self.agent.on("token.get", lambda request, peer: {
            **self.token(1), "tokenType": "secret", "placement": {"in": "header", "username": "pat"}})
        for username, sent in ((None, "pat"), ("__token__", "__token__")):
            credential = self.backend.get_credential("https://ruled.example/simple/", username)
            assert credential is not None
            self.assertEqual(credential.username, sent)

    def test_host_alone_and_url_without_tls_are_not_asked_for(self) -> None:
        self.agent.on("account.resolve", lambda request, peer: {"account": "acc_alice", "because": "rule"})
        for service in ("http://ruled.example/simple/", "ruled.example", "//ruled.example/", "ftp://ruled.example/",
                        "https://ruled.example@evil.example/", "https:ruled.example", "https://ruled.example\\@evil.example/", ""):
            self.assertIsNone(self.backend.get_password(service, "alice"), service)
            self.assertIsNone(self.backend.get_credential(service, None), service)
        self.assertEqual(self.params("account.resolve"), [])
        self.assertEqual(self.backend.get_password("http://127.0.0.1:8080/simple/", "alice"), "secret-1")

    def test_trusted_file_that_has_changed_chooses_no_account(self) -> None:
        def chooses(request: Dict[str, Any], peer: Peer) -> Dict[str, Any]:
            raise Fault(-32602, "invalidParams", path="/workingDirectory", expected="a directory")

        self.agent.on("account.resolve", chooses)
        with self.assertRaisesRegex(self.errors.KeyringError, "`lanyard trust`"):
            self.backend.get_password("https://ruled.example/", "alice")
        self.assertEqual(len(self.params("account.resolve")), 1)

    def test_variable_of_the_commands_is_preferred(self) -> None:
        self.agent.on("account.resolve", self.chooses)
        with mock.patch.dict(os.environ, {"LANYARD_ACCOUNT": "home"}):
            self.backend.get_password("https://ruled.example/", "")
        self.assertEqual(self.params("account.resolve"), [{"url": "https://ruled.example/", "preferred": "home"}])

    def test_without_an_agent_another_backend_is_asked(self) -> None:
        with mock.patch.dict(os.environ, {"LANYARD_SOCKET": self.agent.path + ".none", "LANYARD_NO_START": "1"}):
            self.assertIsNone(self.backend.get_password("https://ruled.example/", "alice"))

    def test_agent_that_can_not_tell_says_why(self) -> None:
        def locked(request: Dict[str, Any], peer: Peer) -> Dict[str, Any]:
            raise Fault(1001, "agentLocked")

        self.agent.on("account.resolve", locked)
        with self.assertRaises(self.errors.KeyringError):
            self.backend.get_password("https://ruled.example/", "alice")

    def test_url_is_answered_by_the_variable(self) -> None:
        self.agent.on("account.resolve", self.chooses)
        credential = self.backend.get_credential("https://pypi.example/simple/", None)
        assert credential is not None
        self.assertEqual((credential.username, credential.password), ("work", "secret-1"))
        self.assertEqual(self.backend.get_password("https://pypi.example:443/simple/", "__token__"), "secret-1")
        for service in ("https://evil.example", "http://pypi.example", "pypi.example", "https://pypi.example@evil.example", "y"):
            self.assertIsNone(self.backend.get_password(service, "work"), service)
            self.assertIsNone(self.backend.get_credential(service, None), service)
        self.assertEqual(len(self.params("token.get")), 2)

    def test_a_rule_decides_before_the_variable(self) -> None:
        choice = {"account": "acc_alice", "because": "rule"}
        self.agent.on("account.resolve", lambda request, peer: choice)
        self.assertEqual(self.backend.get_password("https://pypi.example/team-b/", "__token__"), "secret-1")
        choice["because"] = "issuer"
        self.backend.get_password("https://pypi.example/team-b/", "__token__")
        self.assertEqual([params["account"] for params in self.params("token.get")], ["acc_alice", "work"])

        def several(request: Dict[str, Any], peer: Peer) -> Dict[str, Any]:
            raise Fault(2002, "accountAmbiguous")

        self.agent.on("account.resolve", several)
        self.backend.get_password("https://pypi.example/team-b/", "__token__")
        self.assertEqual(self.params("token.get")[-1]["account"], "work")

    def test_the_names_beside_a_token_are_those_of_the_commands(self) -> None:
        self.agent.on("account.resolve", lambda request, peer: {"account": "acc_alice", "because": "rule"})
        for host, name in (("bitbucket.org", "x-token-auth"), ("gcr.io", "oauth2accesstoken"), ("eu.gcr.io", "oauth2accesstoken"),
                           ("europe-python.pkg.dev", "oauth2accesstoken"), ("mygcr.io", "oauth2"), ("github.com", "oauth2")):
            credential = self.backend.get_credential(f"https://{host}/x", None)
            assert credential is not None
            self.assertEqual(credential.username, name, host)

    def test_nothing_is_stored_or_deleted(self) -> None:
        with self.assertRaises(self.errors.PasswordSetError):
            self.backend.set_password("lanyard", "work", "x")
        with self.assertRaises(self.errors.PasswordDeleteError):
            self.backend.delete_password("lanyard", "work")

    def test_failure_is_keyrings_and_holds_no_token(self) -> None:
        self.kind = "DPoP"
        with self.assertRaises(self.errors.KeyringError) as caught:
            self.backend.get_password("lanyard", "work")
        self.assertNotIn("secret", str(caught.exception))

    def test_keyring_ranks_it_behind_others(self) -> None:
        self.assertTrue(0 < self.backend.priority < 1)
        self.assertEqual(self.backend.name, "lanyard")


if __name__ == "__main__":
    unittest.main()
