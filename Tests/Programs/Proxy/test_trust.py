"""How the proxy reaches and trusts a server: as the agent says, so that no token goes where `request.send` sends none."""

import json
import os
import unittest
from typing import Any

from proxy_fixture import Proxy, ProxyFixture, certificates, status
from agent_fixture import LanyardError
from gate import Gate
from test_raw import get

UNTRUSTED = 3004
OTHER_PINS = ["sha256/" + "B" * 42 + "A=", "sha256/" + "C" * 42 + "A="]
"""Pins of no server."""


class Trusting(ProxyFixture):
    def send(self, origin: str) -> "dict[str, Any]":
        answer: "dict[str, Any]" = self.caller.call("request.send", {"account": "work", "method": "GET", "url": origin + "/"})
        return answer

    def refused(self, proxy: Proxy, place: str, name: str = "untrustedServer") -> str:
        told = proxy.ask_in_tunnel(place, get(place))
        self.assertEqual(status(told), 502, told)
        self.assertIn(f"Lanyard-Refusal: {name}\r\n".encode(), told)
        return told.partition(b"\r\n\r\n")[2].decode()

    def gate(self) -> Gate:
        gate = Gate()
        self.addCleanup(gate.close)
        return gate


class Trust(Trusting):
    def test_another_key_than_the_pinned_one_gets_no_token(self) -> None:
        proxy = self.proxy()
        self.assertEqual(status(proxy.ask_in_tunnel(self.api.place, get(self.api.place))), 200)
        self.api.requests.clear()
        # Of a proxy that runs: the next request counts.
        self.caller.call("provider.update", {"provider": "practice", "pins": {"localhost": OTHER_PINS}})
        with self.assertRaises(LanyardError) as caught:
            self.send(self.api.origin)
        self.assertEqual((caught.exception.code, caught.exception.data["reason"]), (UNTRUSTED, "pinMismatch"))
        sentence = self.refused(proxy, self.api.place)
        self.assertIn("no pinned key is the server's. Nothing was sent.", sentence)
        ran = self.through("curl", "-s", "-w", "%{http_code}", self.api.origin + "/")
        self.assertTrue(ran.stdout.endswith("502"), ran.stdout)
        self.assertEqual(self.api.requests, [])

    def test_pins_that_have_ended_count_no_more(self) -> None:
        self.caller.call("provider.update", {
            "provider": "practice", "pins": {"localhost": OTHER_PINS}, "pinsExpireAt": "2020-01-01T00:00:00.000Z"})
        proxy = self.proxy()
        self.assertEqual(status(proxy.ask_in_tunnel(self.api.place, get(self.api.place))), 200)

    def test_authorities_of_the_environment_do_not_count(self) -> None:
        """`environment` names the authority of the test's server in `SSL_CERT_FILE`, and the agent knows none."""
        self.caller.call("provider.update", {"provider": "practice", "caFile": ""})
        proxy = self.proxy(CURL_CA_BUNDLE=certificates().authority)
        self.assertIn("does not know the authority", self.refused(proxy, self.api.place))
        self.assertEqual(self.api.requests, [])

    def test_tls_keys_are_written_to_no_file(self) -> None:
        log = os.path.join(self.place, "keys")
        proxy = self.proxy(SSLKEYLOGFILE=log, LD_BIND_NOT="1")
        self.assertEqual(status(proxy.ask_in_tunnel(self.api.place, get(self.api.place))), 200)
        self.assertFalse(os.path.exists(log))

    def test_proxy_of_the_provider_is_taken(self) -> None:
        gate = self.gate()
        self.allow(self.api.origin, "https://far.invalid")
        self.caller.call("provider.update", {"provider": "practice", "proxy": gate.address})
        proxy = self.proxy()
        self.refused(proxy, "far.invalid:443", "proxyRefused")
        self.assertEqual(gate.asked, ["CONNECT far.invalid:443 HTTP/1.1"])


class Enforced(Trusting):
    """What the administrator enforces counts for the programs that send tokens themselves, too."""

    def scene(self, *options: str, start: bool = True) -> Any:
        self.system = os.path.join(os.path.realpath(self.directory()), "system")
        os.mkdir(self.system, 0o755)
        path = os.path.join(self.system, "agent.json")
        self.door = self.gate()
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"enforced": {"proxy": self.door.address, "caFile": certificates().authority}}, file)
        os.chmod(path, 0o644)
        return super().scene("--system-directory", self.system, *options, start=start)

    def test_enforced_proxy_is_taken_whatever_else_is_said(self) -> None:
        own = self.gate()
        self.allow(self.api.origin, "https://far.invalid")
        self.caller.call("provider.update", {"provider": "practice", "proxy": own.address})
        proxy = self.proxy(NO_PROXY="*", no_proxy="far.invalid", https_proxy=own.address)
        self.refused(proxy, "far.invalid:443", "proxyRefused")
        self.assertEqual((self.door.asked, own.asked), (["CONNECT far.invalid:443 HTTP/1.1"], []))

    def test_enforced_authorities_come_before_the_provider_s(self) -> None:
        """The provider's are others: with them the server would be refused."""
        self.caller.call("provider.update", {"provider": "practice", "caFile": "/etc/ssl/certs/ca-certificates.crt"})
        proxy = self.proxy()
        self.assertEqual(status(proxy.ask_in_tunnel(self.api.place, get(self.api.place))), 200)
        trust = self.caller.call("provider.get", {"provider": "practice"})["trust"]
        self.assertEqual(
            trust, {"caFile": certificates().authority, "proxy": self.door.address, "noProxy": []})


class ByTheAdministrator(Trusting):
    def scene(self, *options: str, start: bool = True) -> "Any":
        self.system = os.path.join(os.path.realpath(self.directory()), "system")
        os.mkdir(self.system, 0o755)
        return super().scene("--system-directory", self.system, *options, start=start)

    def test_authorities_that_a_file_names_count_for_the_next_request(self) -> None:
        proxy = self.proxy()
        self.assertEqual(status(proxy.ask_in_tunnel(self.api.place, get(self.api.place))), 200)
        own = self.caller.call("provider.get", {"provider": "practice"})["provider"]
        folder = os.path.join(self.system, "providers.d")
        os.mkdir(folder, 0o755)
        path = os.path.join(folder, "practice.json")
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump({
                "name": "practice", "issuer": own["issuer"], "clientId": own["clientId"], "scopes": own["scopes"],
                "allowedOrigins": [self.api.origin], "caFile": "/etc/ssl/certs/ca-certificates.crt"}, file)
        os.chmod(file.name, 0o644)
        os.rename(file.name, path)
        self.refused(proxy, self.api.place)


if __name__ == "__main__":
    unittest.main()
