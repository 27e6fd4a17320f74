"""One case with one driver: a directory of its own, the scripted agent, the driver's process."""

import json
import os
import shutil
import tempfile

from driver import Driver, environment_for
from failures import CaseFailed
from scripted_agent import ScriptedAgent

CASES = []
SCHEMAS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Schemas")


class Case:
    def __init__(self, name, needs, body):
        self.name, self.needs, self.body = name, frozenset(needs), body


def case(name, *needs):
    """Marks a function as a case. `needs` are words of a driver's `does`; a case is passed over where one is missing."""

    def marked(body):
        if any(other.name == name for other in CASES):
            raise ValueError(f"two cases have the name {name}")
        CASES.append(Case(name, needs, body))
        return body

    return marked


class Trial:
    def __init__(self, language):
        self.language = language
        self.directory = tempfile.mkdtemp(prefix="lanyard-")
        self.agent = ScriptedAgent(os.path.join(self.directory, "agent.sock"))
        self.driver = None
        self.environment = {}
        self.log = os.path.join(self.directory, "stderr")
        self._closers = []

    def start_driver(self, **environment):
        """Starts the driver. A case that wants no environment of its own gets one at its first command."""
        with open(self.log, "ab") as log:
            self.driver = Driver(
                self.language.command, environment_for(self.directory, {**self.language.environment, **environment}), log)
        return self.driver

    def closes(self, closer):
        self._closers.append(closer)
        return closer

    # What most cases begin with.

    def connected(self, client="c", hello=None, **members):
        """Opens a client, connects it, and returns the agent's side of its connection."""
        if self.agent._listener is None:
            self.agent.listen()
        number = self.opening(client, connect=True, **members)
        peer = self.agent.greeted(**(hello or {}))
        self.driver.result(number)
        return peer

    def opened(self, client="c", **members):
        number = self.opening(client, **members)
        return self.driver.result(number)

    def opening(self, client="c", **members):
        if self.driver is None:
            self.start_driver()
        return self.driver.send("open", client=client, socket=self.agent.path, **members)

    def call(self, method="token.get", params=None, client="c", **members):
        return self.driver.send("call", client=client, method=method, params=params or {}, **members)

    def typed(self, method, params=None, client="c", **members):
        return self.driver.send("typed", client=client, method=method, params=params or {}, **members)

    def subscribed(self, peer, client="c", **members):
        """Opens a stream of events; returns its id and the params of `event.subscribe`."""
        number = self.driver.send("events", client=client, **members)
        params = peer.subscribe()
        self.driver.result(number)
        return number, params

    def works(self, peer, text="works"):
        """The connection still serves a call."""
        number = self.call("account.list")
        peer.answer(peer.request("account.list"), {"accounts": [], "note": text})
        if self.driver.result(number).get("note") != text:
            raise CaseFailed("the connection gave another answer")

    def close(self):
        for closer in reversed(self._closers):
            closer()
        if self.driver is not None:
            self.driver.kill()
        self.agent.close()
        shutil.rmtree(self.directory, ignore_errors=True)


def schema(path):
    with open(os.path.join(SCHEMAS, path), encoding="utf-8") as file:
        return json.load(file)
