"""lanyard_events: outlives the agent, resumes, tells gaps."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import unittest
from typing import Any, Dict, List

from fake_agent import Fault, Peer

from .shell import PATIENCE_SECONDS, SHELLS, ShellTest


class Events(ShellTest):
    def stream(self, shell: str, arguments: str = "") -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [*SHELLS[shell], "-c", f". '{os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}/lanyard.sh'\nset -eu\nlanyard_events {arguments}"],
            env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )
        self.addCleanup(self.end, process)
        return process

    def end(self, process: "subprocess.Popen[str]") -> None:
        try:
            os.killpg(process.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
        process.wait(PATIENCE_SECONDS)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()

    def event(self, process: "subprocess.Popen[str]") -> Dict[str, Any]:
        assert process.stdout is not None
        told: Dict[str, Any] = json.loads(process.stdout.readline())
        return told

    def each(self) -> List[str]:
        return list(SHELLS)

    def test_resumes_after_the_last_event(self) -> None:
        for count, shell in enumerate(self.each()):
            with self.subTest(shell=shell):
                process = self.stream(shell, "--position --type token.refreshed")
                self.assertEqual(self.event(process)["epoch"], "epoch-1")
                peer = self.agent.peers[-1]
                for sequence in (1, 2):
                    peer.event(sequence, text='a "{quoted}" \\ one')
                    self.assertEqual(self.event(process)["data"], {"text": 'a "{quoted}" \\ one'})
                self.agent.die()
                self.agent.restart()
                request = self.agent.wait_for("event.subscribe", 2 * count + 2)
                wanted = {"types": ["token.refreshed"], "since": {"epoch": "epoch-1", "sequence": 2}}
                self.assertEqual(request["params"], wanted)
                while not self.agent.peers or not self.agent.peers[-1].subscription:
                    pass
                for sequence in (1, 2, 3):
                    self.agent.peers[-1].event(sequence)
                self.assertEqual(self.event(process)["sequence"], 3)
                self.end(process)

    def test_gap_is_told(self) -> None:
        for shell in self.each():
            with self.subTest(shell=shell):
                self.agent.on("event.subscribe", lambda request, peer: {"subscription": "s", "epoch": "epoch-2", "sequence": 9, "gap": True})
                process = self.stream(shell, "--since epoch-1:5")
                told = self.event(process)
                self.assertEqual((told["type"], told["epoch"], told["sequence"], told["data"]), ("event.gap", "epoch-2", 9, {}))
                self.end(process)

    def test_refused_subscription_is_an_error(self) -> None:
        def refuse(request: Dict[str, Any], peer: Peer) -> None:
            raise Fault(1007, "notPermitted")

        self.agent.on("event.subscribe", refuse)
        self.prints('lanyard_events 2>/dev/null; echo "$? $LANYARD_ERROR_NAME"', "6 notPermitted\n")

    def test_no_agent_for_the_first_subscription_is_an_error(self) -> None:
        self.prints('lanyard_events 2>/dev/null; echo "$? $LANYARD_ERROR_NAME"', "3 agentNotRunning\n", LANYARD_SOCKET="/nowhere/a.sock")

    def test_once_ends_with_the_agent(self) -> None:
        def subscribe(request: Dict[str, Any], peer: Peer) -> None:
            peer.subscription = "s"
            peer.answer(request, {"subscription": "s", "epoch": "e", "sequence": 0, "gap": False})
            peer.event(1)
            peer.close()

        self.agent.on("event.subscribe", subscribe)
        self.prints('lanyard_events --once 2>/dev/null | wc -l | tr -d " "; lanyard_events --once >/dev/null 2>&1; echo "$? $LANYARD_ERROR_NAME"', "1\n3 connectionLost\n")


if __name__ == "__main__":
    unittest.main()
