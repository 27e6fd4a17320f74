"""Many clients of one account: one sign-in, one registration, one exchange, counted at the authorization server."""

from __future__ import annotations

import threading
import time
import unittest
from typing import List

from mcp_fixture import Bridge, browse
from test_authorization import AuthorizationFixture
from forms import in_quick_form

CLIENTS = 20


@in_quick_form("test_twentyClientsAtExpiry_makeOneExchange")
class SharingTests(AuthorizationFixture):
    def all_call(self, bridges: List[Bridge]) -> None:
        """Every client calls at the same moment, and each gets its own answer."""
        waiting = [(bridge, bridge.send("tools/call", {"name": "who"})) for bridge in bridges]
        for bridge, identity in waiting:
            self.assertEqual(bridge.result(identity)["content"][0]["text"], "alice")

    def test_twentyClientsAtExpiry_makeOneExchange(self) -> None:
        authorization, server = self.protected(lifetime=2.0)
        bridges = [self.signed_in(server), *(self.bridge(server) for _ in range(CLIENTS - 1))]
        for bridge in bridges[1:]:
            bridge.call("server/discover")
        ended = max(token.expires_at for token in authorization.access_tokens.values())
        authorization.lifetime = 300.0
        time.sleep(max(0.0, ended - time.monotonic()))
        before = authorization.exchanges
        self.all_call(bridges)
        self.assertEqual(authorization.exchanges - before, 1)
        self.all_call(bridges)
        self.assertEqual(authorization.exchanges - before, 1)
        self.assertEqual({grant.ended for grant in authorization.grants}, {None})

    def test_twentyClientsWithARefusedToken_makeOneExchange(self) -> None:
        authorization, server = self.protected()
        bridges = [self.signed_in(server), *(self.bridge(server) for _ in range(CLIENTS - 1))]
        self.all_call(bridges)
        authorization.expire_access_tokens()
        self.all_call(bridges)
        self.assertEqual(authorization.refreshes, 1)

    def test_callsOfOneClientWithARefusedToken_makeOneExchange(self) -> None:
        authorization, server = self.protected()
        bridge = self.signed_in(server)
        authorization.expire_access_tokens()
        self.all_call([bridge] * CLIENTS)
        self.assertEqual(authorization.refreshes, 1)

    def test_twentyClientsWithoutAnAccount_makeOneSignIn(self) -> None:
        authorization, server = self.protected()
        bridges = [self.bridge(server) for _ in range(CLIENTS)]
        waiting = [(bridge, bridge.send("tools/list")) for bridge in bridges]
        for bridge, identity in waiting:
            self.refuses(lambda: bridge.result(identity))
        addresses = {self.sign_in_url(bridge) for bridge in bridges} - {None}
        self.assertEqual(len(addresses), 1, addresses)
        self.assertEqual(browse(addresses.pop())[0], 200)
        self.all_call(bridges)
        self.assertEqual(len(authorization.registrations()), 1)
        self.assertEqual(len(authorization.authorizations()), 1)
        self.assertEqual(authorization.exchanges, 1)
        self.assertEqual(len(self.client(self.agent).call("account.list")["accounts"]), 1)

    def test_twoResourcesOfOneAuthorizationServer_areTwoAccounts(self) -> None:
        authorization, server = self.protected()
        other = self.server(authorization)
        self.assertEqual(self.signed_in(server).tool("who"), "alice")
        self.assertEqual(self.signed_in(other).tool("who"), "alice")
        self.assertEqual([asked["resource"] for asked in authorization.authorizations()], [server.url, other.url])
        # The servers complain about a token for the other one.

    def test_clientsStartedTogetherWithTheirFirstCall_areAllAnswered(self) -> None:
        authorization, server = self.protected()
        self.signed_in(server)
        bridges: List[Bridge] = []
        lock = threading.Lock()

        def start() -> None:
            bridge = self.bridge(server)
            with lock:
                bridges.append(bridge)

        threads = [threading.Thread(target=start) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.all_call(bridges)
        self.assertEqual(authorization.exchanges, 1)


if __name__ == "__main__":
    unittest.main()
