"""Authorization: the scenarios `auth/…` of the conformance suite (README.md), and what the specification asks besides."""

from __future__ import annotations

import json
import os
import re
import shlex
import unittest
from typing import Any, Optional

from authorization_server import AuthorizationServer
from bridge import Bridge
from mcp_fixture import LEGACY, MCPFixture, Response, RPCError, browse
from forms import in_quick_form
from mcp_server import MCPServer


class AuthorizationFixture(MCPFixture):
    starts_agent = True

    def protected(self, prefix: str = "", **settings: Any) -> "tuple[AuthorizationServer, MCPServer]":
        """An authorization server and a server that takes its tokens."""
        authorization = self.authorization_server(prefix, **settings)
        return authorization, self.server(authorization)

    def refuses_to_sign_in(self, server: MCPServer, *options: str) -> RPCError:
        """The error of a client that can't sign in at all: nothing reaches an authorization endpoint, nothing hangs."""
        bridge = self.bridge(server, *options)
        error = self.refuses(lambda: bridge.call("tools/list"))
        self.assertIsNone(self.sign_in_url(bridge), bridge.errors)
        for authorization in server.authorization:
            self.assertEqual(authorization.authorizations(), [])
            self.assertEqual(authorization.exchanges, 0)
        return error

    def page_of_a_sign_in(self, bridge: Bridge) -> "tuple[int, str]":
        """The page that the person sees at the end of the sign-in that a call starts."""
        bridge.send("tools/list")
        return browse(self.next_sign_in_url(bridge))


@in_quick_form(
    "test_auth_metadata_default", "test_auth_resource_mismatch", "test_auth_metadata_issuer_mismatch",
    "test_redirects_areNotFollowedWithTheToken")
class MetadataTests(AuthorizationFixture):
    def test_auth_metadata_default(self) -> None:
        authorization, server = self.protected()
        self.signed_in(server)
        self.assertEqual(server.asked("/.well-known/oauth-protected-resource/mcp"), 1)
        self.assertEqual(server.asked("/.well-known/oauth-protected-resource"), 0)
        self.assertEqual(len(authorization.registrations()), 1)
        self.assertEqual(len(authorization.authorizations()), 1)
        self.assertEqual(authorization.exchanges, 1)

    def test_auth_metadata_default_inTheOlderVersion(self) -> None:
        authorization, server = self.protected()
        bridge = self.signed_in(server, version=LEGACY)
        self.assertEqual(bridge.tool("who"), "alice")
        self.assertEqual(authorization.exchanges, 1)

    def test_auth_metadata_var1(self) -> None:
        authorization, server = self.protected(metadata_paths=["/.well-known/openid-configuration"])
        server.tells_metadata = False
        self.assertEqual(self.signed_in(server).tool("who"), "alice")
        self.assertEqual(server.asked("/.well-known/oauth-protected-resource/mcp"), 1)

    def test_auth_metadata_var2(self) -> None:
        authorization, server = self.protected("/tenant1")
        server.metadata_path, server.tells_metadata = "/.well-known/oauth-protected-resource", False
        self.assertEqual(self.signed_in(server).tool("who"), "alice")
        asked = [request.path for request in server.requests(method="GET") if "protected-resource" in request.path]
        self.assertEqual(asked[:2], ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"])
        self.assertEqual(authorization.asked("/.well-known/oauth-authorization-server"), 0)

    def test_auth_metadata_var3(self) -> None:
        authorization, server = self.protected("/tenant1", metadata_paths=["/tenant1/.well-known/openid-configuration"])
        server.metadata_path = "/custom/metadata/location.json"
        self.assertEqual(self.signed_in(server).tool("who"), "alice")
        asked = [request.path for request in authorization.requests(method="GET") if "well-known" in request.path]
        self.assertEqual(list(dict.fromkeys(asked)), [
            "/.well-known/oauth-authorization-server/tenant1", "/.well-known/openid-configuration/tenant1",
            "/tenant1/.well-known/openid-configuration"])

    def test_challengeWithoutAnything_isEnough(self) -> None:
        authorization, server = self.protected()
        server.challenges = False
        self.assertEqual(self.signed_in(server).tool("who"), "alice")

    def test_resourceAtTheRoot_isSignedInTo(self) -> None:
        authorization = self.authorization_server()
        server = self.server(authorization, path="/")
        server.metadata_path, server.tells_metadata = "/.well-known/oauth-protected-resource", False
        self.assertEqual(self.signed_in(server).tool("who"), "alice")
        self.assertEqual(authorization.authorizations()[0]["resource"], server.url)

    def test_serverWithoutMetadata_isAnError(self) -> None:
        authorization, server = self.protected()
        server.metadata_path = None
        self.refuses_to_sign_in(server)

    def test_metadataOfAnotherKind_isAnError(self) -> None:
        for body in (b"no JSON", b"[]", b"{}", json.dumps({"resource": 7}).encode(), b'{"resource":"x","authorization_servers":[]}'):
            with self.subTest(body):
                authorization, server = self.protected()
                server.fault("/.well-known/oauth-protected-resource/mcp",
                             Response(200, body, (("Content-Type", "application/json"),)), times=-1)
                self.refuses_to_sign_in(server)

    def test_metadataElsewhere_byAChallenge_isNotFetchedFromAnotherKindOfPlace(self) -> None:
        authorization, server = self.protected()
        for place in ("file:///etc/passwd", "http://metadata.example/x", "ftp://127.0.0.1/x", "/relative", ""):
            with self.subTest(place):
                challenge = Response(401, b"", (("WWW-Authenticate", f'Bearer resource_metadata="{place}"'),))
                server.clear_faults()
                server.fault("/mcp", challenge, times=-1)
                self.refuses_to_sign_in(server)

    def test_auth_resource_mismatch(self) -> None:
        for resource in ("https://evil.example.com/mcp", "{origin}/other", "{origin}/mcp/deeper"):
            with self.subTest(resource):
                authorization, server = self.protected()
                server.claimed_resource = resource.format(origin=server.origin)
                self.refuses_to_sign_in(server)

    def test_auth_metadata_issuer_mismatch(self) -> None:
        for issuer in ("https://attacker.example.com", "{issuer}/", "{upper}"):
            with self.subTest(issuer):
                authorization, server = self.protected()
                authorization.endpoint_prefix = "/mismatched-as"
                authorization.claimed_issuer = issuer.format(
                    issuer=authorization.issuer, upper=authorization.issuer.replace("http", "HTTP"))
                self.refuses_to_sign_in(server)
                self.assertEqual(authorization.registrations(), [])
                self.assertGreater(authorization.asked("/.well-known/oauth-authorization-server"), 0)

    def test_serverThatOffersNoPKCE_isRefused(self) -> None:
        for offered in (None, [], ["plain"]):
            with self.subTest(offered):
                authorization, server = self.protected(pkce=offered)
                error = self.refuses_to_sign_in(server)
                self.assertIn("PKCE", error.message)
                self.assertEqual(authorization.registrations(), [])

    def test_redirects_areNotFollowedWithTheToken(self) -> None:
        authorization, server = self.protected()
        elsewhere = self.server()
        bridge = self.signed_in(server)
        for status in (301, 302, 303, 307, 308):
            with self.subTest(status):
                server.fault("/mcp", Response(status, b"", (("Location", elsewhere.url),)))
                self.refuses(lambda: bridge.tool("who"))
        self.assertEqual(elsewhere.requests(), [])
        self.assertEqual(bridge.tool("who"), "alice")


@in_quick_form("test_auth_basic_cimd", "test_auth_pre_registration")
class ClientIdentityTests(AuthorizationFixture):
    DOCUMENT = "https://client.example/lanyard.json"

    def configured(self, **members: Any) -> None:
        """An agent with this configuration."""
        place = os.path.join(self.directory(), "agent.json")
        with open(place, "w", encoding="utf-8") as file:
            json.dump(members, file)
        self._scene = self.scene("--config", place)

    def test_auth_basic_cimd(self) -> None:
        self.configured(clientIdMetadataDocument=self.DOCUMENT)
        authorization, server = self.protected(client_id_metadata_documents=True)
        self.assertEqual(self.signed_in(server).tool("who"), "alice")
        self.assertEqual(authorization.authorizations()[0]["client_id"], self.DOCUMENT)
        self.assertEqual(authorization.exchanges_of("authorization_code")[0]["client_id"], self.DOCUMENT)
        self.assertEqual(authorization.registrations(), [])

    def test_serverWithoutMetadataDocuments_registersTheClient(self) -> None:
        self.configured(clientIdMetadataDocument=self.DOCUMENT)
        authorization, server = self.protected()
        self.signed_in(server)
        self.assertEqual(len(authorization.registrations()), 1)

    def test_serverWithMetadataDocuments_andAPersonWithout_registersTheClient(self) -> None:
        authorization, server = self.protected(client_id_metadata_documents=True)
        self.signed_in(server)
        (registered,) = authorization.registrations()
        self.assertEqual(registered["application_type"], "native")
        self.assertEqual(registered["response_types"], ["code"])
        self.assertEqual(registered["redirect_uris"], [authorization.authorizations()[0]["redirect_uri"]])

    def with_method(self, method: str) -> AuthorizationServer:
        """Signs in where the token endpoint takes one method of authentication; its misuse is a complaint."""
        authorization, server = self.protected(auth_methods=[method])
        bridge = self.signed_in(server)
        authorization.expire_access_tokens()
        self.assertEqual(bridge.tool("who"), "alice")
        self.assertEqual(authorization.registrations()[0]["token_endpoint_auth_method"], method)
        self.assertEqual((len(authorization.exchanges_of("authorization_code")), authorization.refreshes), (1, 1))
        for asked in (authorization.authorizations()[0], *authorization.exchanges_of("authorization_code"),
                      *authorization.exchanges_of("refresh_token")):
            self.assertEqual(asked["resource"], server.url)
        return authorization

    def test_auth_token_endpoint_auth_basic(self) -> None:
        authorization = self.with_method("client_secret_basic")
        for request in authorization.requests("/token"):
            self.assertTrue((request.header("Authorization") or "").startswith("Basic "))
            self.assertNotIn("client_secret", request.form)
            # Servers built with the package `mcp` want it there too.
            self.assertIn("client_id", request.form)

    def test_auth_token_endpoint_auth_post(self) -> None:
        authorization = self.with_method("client_secret_post")
        for request in authorization.requests("/token"):
            self.assertIsNone(request.header("Authorization"))
            self.assertIn("client_secret", request.form)

    def test_auth_token_endpoint_auth_none(self) -> None:
        authorization = self.with_method("none")
        for request in authorization.requests("/token"):
            self.assertIsNone(request.header("Authorization"))
            self.assertNotIn("client_secret", request.form)

    def test_auth_pre_registration(self) -> None:
        authorization, server = self.protected(registration=False)
        authorization.register("pre-registered-client")
        error = self.refuses_to_sign_in(server)
        self.assertIn("--client-id", error.message)
        bridge = self.signed_in(server, "--client-id", "pre-registered-client")
        self.assertEqual(bridge.tool("who"), "alice")
        self.assertEqual(authorization.authorizations()[0]["client_id"], "pre-registered-client")
        self.assertEqual(authorization.registrations(), [])

    def test_auth_pre_registration_ofAClientWithASecret(self) -> None:
        authorization, server = self.protected(registration=False, auth_methods=["client_secret_basic"])
        authorization.register("pre-registered-client", "pre-registered-secret")
        self.client(self.agent).call("provider.add", {
            "name": self.provider_name(server), "issuer": authorization.issuer, "clientId": "pre-registered-client",
            "clientSecret": "pre-registered-secret", "resources": [server.url], "identity": "resource"})
        self.assertEqual(self.signed_in(server).tool("who"), "alice")
        self.assertTrue((authorization.requests("/token")[0].header("Authorization") or "").startswith("Basic "))

    def test_clientOfThePerson_forTheIssuer_isUsedBeforeARegistration(self) -> None:
        """MCP's order: a client that was registered beforehand comes first."""
        self.uses_the_persons_client(None)

    def test_clientOfThePerson_withASecret_isUsedBeforeARegistration(self) -> None:
        self.uses_the_persons_client("pre-registered-secret")

    def uses_the_persons_client(self, secret: Optional[str]) -> None:
        authorization, server = self.protected()
        authorization.register("pre-registered-client", secret)
        own = {"clientSecret": secret} if secret else {}
        self.client(self.agent).call("provider.add", {
            "name": "acme", "issuer": authorization.issuer, "clientId": "pre-registered-client", **own})
        self.assertEqual(self.signed_in(server).tool("who"), "alice")
        self.assertEqual(authorization.authorizations()[0]["client_id"], "pre-registered-client")
        self.assertEqual(authorization.registrations(), [])
        used = authorization.requests("/token")[0].header("Authorization") or ""
        self.assertEqual(used.startswith("Basic "), secret is not None)
        # Another resource of the same authorization server has the same client.
        other = self.server(authorization, path="/other")
        self.assertEqual(self.signed_in(other).tool("who"), "alice")
        self.assertEqual(authorization.registrations(), [])

    def test_clientThatAnotherIssuerKnows_isNotUsed(self) -> None:
        other = self.authorization_server()
        other.register("client-of-another")
        self.client(self.agent).call("provider.add", {"name": "other", "issuer": other.issuer, "clientId": "client-of-another"})
        authorization, server = self.protected()
        self.assertEqual(self.signed_in(server).tool("who"), "alice")
        self.assertEqual(len(authorization.registrations()), 1)

    def provider_name(self, server: MCPServer) -> str:
        """The name of this resource's provider, as the bridge tells it."""
        bridge = self.bridge(server)
        error = self.refuses(lambda: bridge.call("tools/list"))
        found = re.search(r"mcp-[\w.-]+-[a-z0-9]{8}", bridge.errors + error.message)
        assert found is not None, bridge.errors + error.message
        return found.group()

    def test_registrationThatIsRefused_isAnErrorThatSaysSo(self) -> None:
        authorization, server = self.protected()
        authorization.fault("/register", Response.json(
            {"error": "invalid_redirect_uri", "error_description": "web only"}, 400), times=-1)
        self.assertIn("--client-id", self.refuses_to_sign_in(server).message)

    def test_registrationThatTheServerForgot_isAnError_andIsNotTriedAgainAndAgain(self) -> None:
        """The client's id is the person's to change: nothing is deleted, and nothing loops."""
        authorization, server = self.protected()
        bridge = self.signed_in(server)
        authorization.clients.clear()
        authorization.expire_access_tokens()
        before = authorization.exchanges
        for _ in range(3):
            message = self.refuses(lambda: bridge.tool("who")).message
            self.assertIn("lanyard provider", message)
        self.assertLessEqual(authorization.exchanges - before, 3)
        commands = re.findall(r"`lanyard (logout|forget|provider remove) ([^`]+)`", message)
        self.assertEqual([command for command, _ in commands], ["logout", "forget", "provider remove"])
        for command, name in commands:
            self.lanyard(*command.split(), shlex.split(name)[0], "--yes")
        self.assertEqual(self.signing_in(bridge, "tools/call", {"name": "who"})["content"][0]["text"], "alice")
        self.assertEqual(len(authorization.registrations()), 2)

    def test_auth_authorization_server_migration(self) -> None:
        first = self.authorization_server(name="as1")
        second = self.authorization_server(name="as2", person="alice")
        server = self.server(first, second)
        server.listed = [first.issuer]
        bridge = self.signed_in(server)
        self.assertEqual(bridge.tool("who"), "alice")
        server.listed = [second.issuer]
        server.authorization = [second]
        first.forget_requests()
        self.assertEqual(self.signing_in(bridge, "tools/call", {"name": "who"})["content"][0]["text"], "alice")
        self.assertEqual(len(second.registrations()), 1)
        for request in second.requests():
            self.assertNotIn(b"as1", request.target.encode() + str(request.headers).encode() + request.body)
        self.assertEqual(bridge.tool("who"), "alice")


@in_quick_form("test_auth_scope_step_up")
class ScopeTests(AuthorizationFixture):
    def asked(self, authorization: AuthorizationServer, number: int = 0) -> Optional["set[str]"]:
        scope = authorization.authorizations()[number].get("scope")
        return None if scope is None else set(scope.split())

    def test_auth_scope_from_www_authenticate(self) -> None:
        authorization, server = self.protected()
        server.required = lambda method: ("mcp:basic",)
        server.scopes_supported = ["mcp:basic", "mcp:read", "mcp:write"]
        self.assertEqual(self.signed_in(server).tool("who"), "alice")
        self.assertEqual(self.asked(authorization), {"mcp:basic"})

    def test_auth_scope_from_scopes_supported(self) -> None:
        authorization, server = self.protected()
        server.required = lambda method: ("mcp:basic", "mcp:read", "mcp:write")
        server.challenge_scope = False
        server.scopes_supported = ["mcp:basic", "mcp:read", "mcp:write"]
        self.assertEqual(self.signed_in(server).tool("who"), "alice")
        self.assertEqual(self.asked(authorization), {"mcp:basic", "mcp:read", "mcp:write"})

    def test_auth_scope_omitted_when_undefined(self) -> None:
        authorization, server = self.protected()
        self.assertEqual(self.signed_in(server).tool("who"), "alice")
        self.assertIsNone(self.asked(authorization))

    def test_auth_scope_step_up(self) -> None:
        authorization, server = self.protected()
        server.required = lambda method: ("mcp:write",) if method == "tools/call" else ("mcp:basic",)
        server.scopes_supported = ["mcp:profile"]
        bridge = self.signed_in(server)
        self.assertEqual(self.asked(authorization), {"mcp:basic"})
        self.assertEqual(self.signing_in(bridge, "tools/call", {"name": "who"})["content"][0]["text"], "alice")
        self.assertEqual(len(authorization.authorizations()), 2)
        self.assertEqual(self.asked(authorization, 1), {"mcp:basic", "mcp:write"})
        bridge.call("tools/list")
        self.assertEqual(bridge.tool("who"), "alice")
        self.assertEqual(len(authorization.authorizations()), 2)
        accounts = self.client(self.agent).call("account.list")["accounts"]
        self.assertEqual(len(accounts), 1, "a step-up made another account")

    def test_auth_scope_step_up_ofSixClients_isOneSignIn(self) -> None:
        authorization, server = self.protected()
        server.required = lambda method: ("mcp:write",) if method == "tools/call" else ("mcp:basic",)
        bridges = [self.signed_in(server), *(self.bridge(server) for _ in range(5))]
        waiting = [(bridge, bridge.send("tools/call", {"name": "who"})) for bridge in bridges]
        url = self.until(lambda: next(filter(None, map(self.sign_in_url, bridges)), None), "a sign-in address")
        for bridge, identity in waiting:
            self.refuses(lambda: bridge.result(identity))
        self.assertEqual(browse(url)[0], 200)
        for bridge in bridges:
            self.assertEqual(bridge.tool("who"), "alice")
        self.assertEqual(len(authorization.authorizations()), 2)

    def test_auth_scope_retry_limit(self) -> None:
        authorization, server = self.protected()
        server.scopes_supported = ["mcp:admin"]
        server.required = lambda method: ("mcp:admin",)
        authorization.granted = lambda asked: ()
        bridge = self.bridge(server)
        with self.assertRaises(RPCError):
            self.signing_in(bridge, "tools/list")
        self.assertLessEqual(len(authorization.authorizations()), 3)
        # Nor by the next calls.
        for _ in range(3):
            with self.assertRaises(RPCError):
                self.signing_in(bridge, "tools/list")
        self.assertLessEqual(len(authorization.authorizations()), 3)

    def test_auth_offline_access_scope(self) -> None:
        authorization, server = self.protected(scopes_supported=["mcp:basic", "offline_access"])
        server.scopes_supported = ["mcp:basic"]
        server.required = lambda method: ("mcp:basic",)
        self.assertEqual(self.signed_in(server).tool("who"), "alice")
        self.assertEqual(self.asked(authorization), {"mcp:basic", "offline_access"})
        self.assertIn("refresh_token", authorization.registrations()[0]["grant_types"])

    def test_auth_offline_access_not_supported(self) -> None:
        authorization, server = self.protected(scopes_supported=["mcp:basic"])
        server.scopes_supported = ["mcp:basic"]
        self.assertEqual(self.signed_in(server).tool("who"), "alice")
        self.assertEqual(self.asked(authorization), {"mcp:basic"})


@in_quick_form("test_auth_iss_wrong_issuer")
class IssuerTests(AuthorizationFixture):
    def rejected(self, **settings: Any) -> None:
        """A sign-in whose redirect has the wrong issuer, or lacks it: the code is never sent."""
        authorization, server = self.protected(**settings)
        bridge = self.bridge(server)
        self.page_of_a_sign_in(bridge)
        self.assertEqual(len(authorization.authorizations()), 1)
        self.refuses(lambda: bridge.call("tools/list"))
        self.assertEqual(authorization.exchanges, 0)

    def test_auth_iss_supported(self) -> None:
        authorization, server = self.protected(advertises_iss=True)
        authorization.sends_iss = lambda: authorization.issuer
        self.assertEqual(self.signed_in(server).tool("who"), "alice")

    def test_auth_iss_not_advertised(self) -> None:
        authorization, server = self.protected()
        self.assertEqual(self.signed_in(server).tool("who"), "alice")

    def test_auth_iss_sentThoughNotAdvertised_andRight(self) -> None:
        authorization, server = self.protected()
        authorization.sends_iss = lambda: authorization.issuer
        self.assertEqual(self.signed_in(server).tool("who"), "alice")

    def test_auth_iss_supported_missing(self) -> None:
        self.rejected(advertises_iss=True)

    def test_auth_iss_wrong_issuer(self) -> None:
        self.rejected(advertises_iss=True, sends_iss=lambda: "https://evil.example.com")

    def test_auth_iss_unexpected(self) -> None:
        self.rejected(sends_iss=lambda: "https://evil.example.com")

    def test_auth_iss_normalized(self) -> None:
        authorization, server = self.protected(advertises_iss=True)
        authorization.sends_iss = lambda: authorization.issuer + "/"
        bridge = self.bridge(server)
        self.page_of_a_sign_in(bridge)
        self.refuses(lambda: bridge.call("tools/list"))
        self.assertEqual(authorization.exchanges, 0)


@in_quick_form("test_auth_dpop")
class BoundTokenTests(AuthorizationFixture):
    def bound(self, nonce: Optional[str]) -> None:
        authorization, server = self.protected(
            issues_bound=True, metadata_more={"dpop_signing_alg_values_supported": ["ES256"]}, dpop_nonce=nonce)
        server.dpop_nonce = nonce and f"{nonce}-of-the-resource"
        bridge = self.signed_in(server)
        for _ in range(3):
            self.assertEqual(bridge.tool("who"), "alice")
        proofs = [request.header("DPoP") for request in server.ran("tools/call")]
        self.assertEqual(len(set(proofs)), 3, "a proof was used twice")
        for request in server.messages():
            self.assertFalse((request.header("Authorization") or "").startswith("Bearer "))
        # The authorization server checked each proof; a nonce that it asked for costs one refusal.
        self.assertLessEqual(authorization.exchanges, 2)

    def test_auth_dpop(self) -> None:
        self.bound(None)

    def test_auth_dpop_nonce(self) -> None:
        self.bound("a-nonce")


@in_quick_form()
class OldServerTests(AuthorizationFixture):
    def test_auth_2025_03_26_oauth_metadata_backcompat(self) -> None:
        """Not supported: that version's servers have no protected-resource metadata. The client hears so at once."""
        authorization, server = self.protected()
        server.metadata_path = None
        self.refuses_to_sign_in(server)


if __name__ == "__main__":
    unittest.main()
