"""The README's examples in both shells, and the examples beside it."""

from __future__ import annotations

import os
import re
import unittest
from typing import Any, Dict, List

from fake_agent import Fault, Peer

from . import HERE
from .shell import SHELLS, Request, Server, ShellTest, secret


def examples() -> List[str]:
    """The blocks that source the functions."""
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as file:
        return [block for block in re.findall(r"^```sh\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL) if "lanyard.sh\n" in block]


class Readme(ShellTest):
    def setUp(self) -> None:
        super().setUp()

        def token(request: Dict[str, Any], peer: Peer) -> Dict[str, Any]:
            if request["params"]["account"] == "retired":
                raise Fault(2004, "reauthenticationRequired", account="acc_retired", reason="outcomeUnknown")
            return secret()

        def subscribe(request: Dict[str, Any], peer: Peer) -> None:
            peer.subscription = "s"
            peer.answer(request, {"subscription": "s", "epoch": "e", "sequence": 0, "gap": False})
            peer.event(1, "session.expired")

        decision = {"effect": "deny", "reason": "notGranted", "account": "acc_alice", "capability": "order.close", "basis": "policy"}
        self.agent.on("token.get", token)
        self.agent.on("event.subscribe", subscribe)
        self.agent.on("account.list", lambda request, peer: {"accounts": []})
        self.agent.on("session.get", lambda request, peer: {"state": "active"})
        self.agent.on("agent.unlock", lambda request, peer: {})
        self.agent.on("authorization.check", lambda request, peer: {**decision, "validUntil": "2030-01-01T00:00:00.000Z"})
        self.server = Server(lambda request: (200, {}, "[]"))
        self.addCleanup(self.server.__exit__)

    def test_the_examples_run(self) -> None:
        wanted = ["the token has 8 characters\n", "[]200 []\n", '{"accounts": []}\n{}\n', "no (6): deny, notGranted\n",
                  "sign in again: acc_retired (outcomeUnknown)\n"]
        found = examples()
        self.assertEqual(len(found), len(wanted) + 1)
        for example, out in zip(found, wanted):
            # The hosts of the examples do not exist.
            script = example.replace(". ./lanyard.sh", "").replace("https://api.example", self.server.origin)
            with self.subTest(example=example):
                self.prints("passphrase=secret\n" + script, out)

    def test_the_stream_of_events_runs(self) -> None:
        for shell in SHELLS:
            with self.subTest(shell=shell):
                process = self.start(shell, examples()[-1].replace(". ./lanyard.sh", ""), LANYARD_NO_START="1")
                try:
                    assert process.stdout is not None
                    self.assertIn('"session.expired"', process.stdout.readline())
                finally:
                    self.end(process)

    def test_the_first_example_runs_as_written(self) -> None:
        for shell in SHELLS:
            with self.subTest(shell=shell):
                process = self.run_in(shell, f"cd {HERE}\n{examples()[0]}")
                self.assertEqual((process.status, process.out), (0, "the token has 8 characters\n"), process.err)

    def test_fetch_prints_the_answer(self) -> None:
        self.prints(f"{HERE}/examples/fetch.sh work {self.server.origin} /orders/17", "[]\n")


if __name__ == "__main__":
    unittest.main()
