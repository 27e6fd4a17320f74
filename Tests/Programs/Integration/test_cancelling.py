"""Requests that their client cancels, and commands that Ctrl-C ends, while a provider is slow."""

import json
import os
import signal
import subprocess
import unittest

from agent_fixture import PATIENCE_SECONDS, AgentFixture, add_provider, import_account, request
from key_service import KeyService
from test_refresh import Pipe, cancel

CANCELLED, INTERRUPTED = 1004, 130
BINARIES = os.environ.get("LANYARD_BIN") or os.path.join(os.path.dirname(__file__), "..", "..", "..", ".build", "debug")
LANYARD = os.path.abspath(os.path.join(BINARIES, "lanyard"))
SLOW_SECONDS = 5.0
METADATA = "/.well-known/openid-configuration"


class Cancelled(AgentFixture):
    """What is cancelled before its commit changes nothing."""

    def setUp(self):
        self.agent = self.scene()
        self.caller = self.client(self.agent)

    def cancel(self, method, params, asked):
        """The code of the answer to a request that is cancelled once its provider was asked."""
        pipe, before = Pipe(self.agent), asked()
        self.addCleanup(pipe.close)
        pipe.send(request(method, params, identity=1))
        self.until(lambda: asked() > before, "the request to the provider")
        pipe.send(cancel(1))
        return pipe.answer()["error"]["code"]

    def test_a_key_is_neither_added_nor_replaced(self):
        service = KeyService()
        self.addCleanup(service.stop)
        self.caller.call("provider.add", service.provider(name="keys"))
        service.slow["/whoami"] = SLOW_SECONDS
        asked = lambda: service.count("/whoami")
        self.assertEqual(self.cancel("account.add", {"provider": "keys", "secret": "first"}, asked), CANCELLED)
        self.assertEqual(self.caller.call("account.list", {})["accounts"], [])
        service.slow.clear()
        self.caller.call("account.add", {"provider": "keys", "secret": "second", "alias": "work"})
        service.slow["/whoami"] = SLOW_SECONDS
        self.assertEqual(self.cancel("account.replace", {"account": "work", "secret": "third"}, asked), CANCELLED)
        self.assertEqual(self.caller.call("token.get", {"account": "work"})["accessToken"], "second")

    def test_a_machine_is_not_added(self):
        service = KeyService()
        self.addCleanup(service.stop)
        self.caller.call("provider.add", service.machine(
            name="robot", clientId="robot", clientSecret="practice-secret", machine={"grant": "clientCredentials"}))
        service.slow["/token"] = SLOW_SECONDS
        code = self.cancel("account.add", {"provider": "robot"}, lambda: service.count("/token"))
        self.assertEqual((code, self.caller.call("account.list", {})["accounts"]), (CANCELLED, []))

    def test_no_provider_is_added_from_half_of_its_documents(self):
        idp = self.provider()
        asked = lambda: idp.asked(METADATA)
        for method, params in (
                ("provider.add", {"name": "idp", "issuer": idp.issuer, "clientId": "lanyard-demo"}),
                ("provider.discover", {"url": idp.issuer})):
            idp.fault("none", METADATA, delayMilliseconds=int(SLOW_SECONDS * 1000))
            self.assertEqual(self.cancel(method, params, asked), CANCELLED, method)
            idp.clear_faults()
        self.assertEqual(self.caller.call("provider.list", {})["providers"], [])


class Interrupted(AgentFixture):
    """Ctrl-C ends a command with 130, and what goes on without it is told."""

    def setUp(self):
        self.idp = self.provider()
        self.agent = self.scene()
        self.caller = self.client(self.agent)
        add_provider(self.caller, self.idp)
        import_account(self.caller, self.idp, "alice", alias="work")

    def interrupt(self, *words, path):
        self.idp.fault("none", path, delayMilliseconds=int(SLOW_SECONDS * 1000))
        before = self.idp.asked(path)
        command = subprocess.Popen(
            [LANYARD, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**self.agent.environment, "LANYARD_SOCKET": self.agent.socket, "LANYARD_NO_START": "1"})
        self.addCleanup(command.kill)
        self.until(lambda: self.idp.asked(path) > before, "the request to the provider")
        command.send_signal(signal.SIGINT)
        answer, told = command.communicate(timeout=PATIENCE_SECONDS)
        self.idp.clear_faults()
        self.assertEqual((command.returncode, answer), (INTERRUPTED, ""), told)
        return told

    def test_a_sign_out_goes_on_and_is_told(self):
        told = self.interrupt("logout", "work", "--yes", path="/revoke")
        self.assertIn("The sign-out goes on", told)
        self.until(lambda: self.caller.call("account.get", {"account": "work"})["state"] == "signedOut", "the sign-out")

    def test_a_program_gets_an_error_as_json(self):
        told = self.interrupt("token", "work", "--force", "--json", path="/token")
        error = json.loads(told.splitlines()[-1])["error"]
        self.assertEqual((error["name"], error["exit"]), ("interrupted", INTERRUPTED))


if __name__ == "__main__":
    unittest.main()
