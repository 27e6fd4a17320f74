"""How a person signs in for a client that can't ask: what the client hears, what stderr, an event and a command tell, and whose
account a call is for."""

from __future__ import annotations

import os
import re
import subprocess
import time
import unittest
from typing import Any, List

from authorization_server import AuthorizationServer
from mcp_fixture import LANYARD, PATIENCE_SECONDS, URL, Bridge, location
from mcp_server import MCPServer
from test_authorization import AuthorizationFixture
from forms import in_quick_form

AT_ONCE_SECONDS = 6.0
"""A client is told within this time that a person has to sign in."""
LOGIN = re.compile(r"lanyard login ([^\s`'\"]+)")


class PersonFixture(AuthorizationFixture):
    def accounts(self) -> List[Any]:
        found: List[Any] = self.client(self.agent).call("account.list")["accounts"]
        return found

    def log_in_by_paste(self, provider: str, *words: str, person: str = "alice") -> None:
        """`lanyard login PROVIDER --paste`, by a person whose browser is on another machine."""
        process = subprocess.Popen(
            [LANYARD, "login", provider, "--paste", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, env=self.environment())
        self.addCleanup(process.kill)
        assert process.stdout is not None
        told = ""
        while (found := re.search(r"https?://\S*authorize\S*", told)) is None:
            line = process.stdout.readline()
            self.assertTrue(line, told)
            told += line
        more, _ = process.communicate(location(f"{found.group()}&person={person}") + "\n", timeout=PATIENCE_SECONDS)
        self.assertEqual(process.returncode, 0, told + more)


@in_quick_form("test_clientWithoutAnAccount_hearsWhatToDo_soon", "test_account_outlivesTheBridge")
class SignInTests(PersonFixture):
    def test_clientWithoutAnAccount_hearsWhatToDo_soon(self) -> None:
        authorization, server = self.protected()
        bridge = self.bridge(server)
        began = time.monotonic()
        error = self.refuses(lambda: bridge.call("tools/list"))
        self.assertLess(time.monotonic() - began, AT_ONCE_SECONDS)
        self.assertIn("lanyard", error.message)
        self.next_sign_in_url(bridge)
        self.assertEqual(authorization.authorizations(), [])
        self.assertEqual(server.ran("tools/list"), [])

    def test_personWhoNeverSignsIn_isAskedOnce_andEveryCallEnds(self) -> None:
        authorization, server = self.protected()
        bridge = self.bridge(server)
        for _ in range(4):
            self.refuses(lambda: bridge.call("tools/list"))
        urls = {found.group() for found in URL.finditer(bridge.errors) if "authorize" in found.group()}
        self.assertEqual(len(urls), 1, bridge.errors)
        self.assertEqual(len(authorization.registrations()), 1)
        self.assertEqual(bridge.close(), 0)

    def test_signIn_isToldAsAnEvent_withoutItsAddress(self) -> None:
        authorization, server = self.protected()
        with self.client(self.agent).events(types=["signIn.requested"]) as events:
            bridge = self.bridge(server)
            bridge.send("tools/list")
            self.next_sign_in_url(bridge)
            told = events.next(PATIENCE_SECONDS)
        self.assertTrue(told.data["provider"].startswith("mcp-127.0.0.1-"), told.data)
        self.assertNotIn("http", str(told.data))

    def test_personWhoSaysNo_isAnError_andMaySayYesLater(self) -> None:
        authorization, server = self.protected(denies=True)
        bridge = self.bridge(server)
        self.page_of_a_sign_in(bridge)
        authorization.denies = False
        self.assertEqual(self.signing_in(bridge, "tools/call", {"name": "who"})["content"][0]["text"], "alice")

    def test_account_outlivesTheBridge(self) -> None:
        authorization, server = self.protected()
        self.assertEqual(self.signed_in(server).close(), 0)
        self.assertEqual(self.bridge(server).tool("who"), "alice")
        self.assertEqual(len(authorization.authorizations()), 1)
        self.assertEqual(len(authorization.registrations()), 1)

    def test_grantThatEnds_asksForASignIn_ofTheSameAccount(self) -> None:
        authorization, server = self.protected()
        bridge = self.signed_in(server)
        authorization.end_grants()
        self.assertEqual(self.signing_in(bridge, "tools/call", {"name": "who"})["content"][0]["text"], "alice")
        self.assertEqual([account["state"] for account in self.accounts()], ["active"])
        self.assertEqual(len(authorization.registrations()), 1)

    def test_signInOverSSH_isByAPastedAddress(self) -> None:
        authorization, server = self.protected()
        bridge = self.bridge(server, SSH_CONNECTION="192.0.2.1 50000 192.0.2.2 22")
        error = self.refuses(lambda: bridge.call("tools/list"))
        command = LOGIN.search(error.message)
        self.assertIsNotNone(command, error.message)
        self.log_in_by_paste(command.group(1))
        self.assertEqual(bridge.tool("who"), "alice")


@in_quick_form("test_eachCall_isForTheAccountThatWasNamed")
class TwoPeopleTests(PersonFixture):
    """Alice and Bob at one resource."""

    def both(self) -> "tuple[AuthorizationServer, MCPServer, Bridge]":
        authorization, server = self.protected()
        bridge = self.signed_in(server)
        (alice,) = self.accounts()
        self.log_in_by_paste(alice["provider"], "--alias", "bob", person="bob")
        return authorization, server, bridge

    def test_eachCall_isForTheAccountThatWasNamed(self) -> None:
        authorization, server, _ = self.both()
        self.assertEqual(len(self.accounts()), 2)
        (alice,) = [account["id"] for account in self.accounts() if account.get("alias") != "bob"]
        self.assertEqual(self.bridge(server, "--account", "bob").tool("who"), "bob")
        self.assertEqual(self.bridge(server, "--account", alice).tool("who"), "alice")
        self.assertEqual(self.bridge(server, LANYARD_ACCOUNT="bob").tool("who"), "bob")
        self.assertEqual(len(authorization.authorizations()), 2)

    def test_trustedFile_namesTheAccount(self) -> None:
        authorization, server, _ = self.both()
        place = self.directory()
        with open(os.path.join(place, ".lanyard"), "w", encoding="utf-8") as file:
            file.write("bob\n")
        subprocess.run([LANYARD, "trust"], cwd=place, env=self.environment(), capture_output=True, check=True)
        self.assertEqual(self.bridge(server, directory=place).tool("who"), "bob")

    def test_preferenceThatNamesNoAccountOrHasChanged_isToldAndNoOtherIsUsed(self) -> None:
        authorization, server = self.protected()
        self.signed_in(server)
        error = self.refuses(lambda: self.bridge(server, LANYARD_ACCOUNT="nobody").call("tools/list"))
        self.assertIn("LANYARD_ACCOUNT names the account nobody, which is not here.", error.message)
        place = self.directory()
        path = os.path.join(place, ".lanyard")
        for text in ("alice\n", "bob\n"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            if text == "alice\n":
                subprocess.run([LANYARD, "trust"], cwd=place, env=self.environment(), capture_output=True, check=True)
        error = self.refuses(lambda: self.bridge(server, directory=place).call("tools/list"))
        self.assertIn(".lanyard has changed since you trusted it.", error.message)

    def test_withoutAName_theClientHearsBoth(self) -> None:
        authorization, server, _ = self.both()
        error = self.refuses(lambda: self.bridge(server).call("tools/list"))
        self.assertIn("bob", error.message)
        self.assertIn("--account", error.message)
        self.assertEqual(len(authorization.authorizations()), 2)

    def test_accountOfAnotherResource_isNotUsed(self) -> None:
        authorization, _, _ = self.both()
        other = self.server(authorization)
        error = self.refuses(lambda: self.bridge(other, "--account", "bob").call("tools/list"))
        self.assertIn("bob", error.message)
        self.assertEqual([request for request in other.requests() if request.token], [])


if __name__ == "__main__":
    unittest.main()
