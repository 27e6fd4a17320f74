"""Automatic locking: an idle vault, a sleeping machine, a locked screen; and exchanges in flight when a lock comes."""

from __future__ import annotations

import os
import subprocess
import threading
import time
import unittest
import unittest.mock
from typing import Any, Callable, List, Optional

from agent_fixture import PATIENCE_SECONDS, AgentFixture, Provider, Scene, add_provider, import_account
from test_canary import SETTLED_SECONDS, Search, canary

HERE = os.path.dirname(os.path.abspath(__file__))
OURS, ANOTHERS = "/org/freedesktop/login1/session/_31", "/org/freedesktop/login1/session/_32"


class Machine:
    """A private system bus, with or without a logind."""

    def __init__(self, directory: str) -> None:
        self.address = f"unix:path={directory}/system-bus"
        self._path = f"{directory}/system-bus"
        self._bus: Optional["subprocess.Popen[str]"] = None
        self._logind: Optional["subprocess.Popen[str]"] = None

    def start_bus(self) -> None:
        self._bus = subprocess.Popen(
            ["dbus-daemon", "--session", "--nofork", "--nopidfile", f"--address={self.address}", "--print-address=1"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        assert self._bus.stdout is not None
        self._bus.stdout.readline()

    def stop_bus(self) -> None:
        self._end(self._bus)
        if os.path.exists(self._path):
            os.unlink(self._path)

    def start_logind(self) -> None:
        self._logind = subprocess.Popen(
            ["/usr/bin/python3", os.path.join(HERE, "fake_logind.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env={"DBUS_SYSTEM_BUS_ADDRESS": self.address, "PATH": "/usr/bin:/bin"},
        )
        assert self._logind.stdout is not None and self._logind.stdout.readline() == "ready\n"

    def stop_logind(self) -> None:
        self._end(self._logind)

    def tell(self, *words: str) -> int:
        """Sends a command to `fake_logind.py`; returns its answer."""
        assert self._logind is not None and self._logind.stdin is not None and self._logind.stdout is not None
        self._logind.stdin.write(" ".join(words) + "\n")
        self._logind.stdin.flush()
        return int(self._logind.stdout.readline())

    @property
    def delays(self) -> int:
        return self.tell("delays")

    def stop(self) -> None:
        self._end(self._logind)
        self._end(self._bus)

    @staticmethod
    def _end(process: Optional["subprocess.Popen[str]"]) -> None:
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


class Locking(AgentFixture):
    def reasons(self, scene: Scene) -> Callable[[], str]:
        """A function that returns the reason of the next lock event."""
        stream = self.client(scene).events(types=["agent.locked"])
        stream.__enter__()
        self.addCleanup(stream.__exit__, None, None, None)

        def next_one() -> str:
            reason: str = stream.next(PATIENCE_SECONDS).data["reason"]
            return reason

        return next_one

    def is_locked(self, scene: Scene) -> bool:
        with scene.client(timeout=PATIENCE_SECONDS) as client:
            locked: bool = client.call("agent.status")["locked"]
            return locked


class LogindSignals(Locking):
    def setUp(self) -> None:
        self.machine = Machine(self.directory())
        self.addCleanup(self.machine.stop)

    def agent(self, *options: str) -> Scene:
        scene = self.scene(*options, start=False)
        with unittest.mock.patch.dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS=self.machine.address):
            scene.start()
        return scene

    def here(self) -> None:
        self.machine.start_bus()
        self.machine.start_logind()

    def test_machine_sleep_waits_for_the_lock(self) -> None:
        self.here()
        scene = self.agent("--lock-on", "sleep")
        self.until(lambda: self.machine.delays == 1, "a delay of sleep")
        reasons = self.reasons(scene)
        for _ in range(2):
            self.machine.tell("sleep")
            self.assertEqual(reasons(), "sleep")
            self.until(lambda: self.machine.delays == 0, "the delay is over when the vault is locked")
            self.assertTrue(self.is_locked(scene))
            self.machine.tell("wake")
            self.until(lambda: self.machine.delays == 1, "the next sleep is delayed too")
            self.client(scene).call("agent.unlock")

    def test_locked_vault_does_not_delay_a_sleep(self) -> None:
        self.here()
        scene = self.agent("--lock-on=sleep")
        self.until(lambda: self.machine.delays == 1, "a delay of sleep")
        self.client(scene).call("agent.lock")
        self.machine.tell("sleep")
        self.until(lambda: self.machine.delays == 0, "nothing to wait for")

    def test_screen_lock_of_this_user_locks_the_vault(self) -> None:
        self.here()
        scene = self.agent("--lock-on", "screen")
        reasons = self.reasons(scene)
        client = self.client(scene)
        self.assertEqual(self.machine.delays, 0, "sleep was not asked for")
        self.until(lambda: self.machine.tell("asked"), "it listens")
        self.machine.tell("lock", ANOTHERS)
        self.machine.tell("hint", ANOTHERS, "on")
        self.machine.tell("sleep")
        self.assertFalse(self.is_locked(scene))
        self.machine.tell("lock", OURS)
        self.assertEqual(reasons(), "screen")
        client.call("agent.unlock")
        self.machine.tell("hint", OURS, "on")
        self.assertEqual(reasons(), "screen")
        client.call("agent.unlock")
        self.machine.tell("hint", OURS, "off")
        self.machine.tell("hint", OURS, "on")
        self.assertEqual(reasons(), "screen")

    def test_agent_without_lock_options_ignores_logind(self) -> None:
        self.here()
        scene = self.agent()
        self.machine.tell("lock", OURS)
        self.assertEqual(self.machine.tell("sleep"), 0)
        self.assertFalse(self.is_locked(scene))

    def test_restarted_logind_is_watched_again(self) -> None:
        self.here()
        scene = self.agent("--lock-on", "sleep,screen")
        self.until(lambda: self.machine.delays == 1, "a delay of sleep")
        self.machine.stop_logind()
        self.machine.start_logind()
        self.until(lambda: self.machine.delays == 1, "asked again")
        self.machine.tell("sleep")
        self.until(lambda: self.is_locked(scene), "locked before the sleep")

    def test_restarted_system_bus_is_watched_again(self) -> None:
        self.here()
        scene = self.agent("--lock-on", "sleep,screen")
        self.until(lambda: self.machine.delays == 1, "a delay of sleep")
        self.machine.stop_logind()
        self.machine.stop_bus()
        self.assertFalse(self.is_locked(scene))
        self.here()
        self.until(lambda: self.machine.delays == 1, "connected again")
        self.machine.tell("lock", OURS)
        self.until(lambda: self.is_locked(scene), "locked by the session's signal")

    def test_missing_logind_is_logged_once(self) -> None:
        for has_bus in (False, True):
            with self.subTest(has_bus=has_bus):
                if has_bus:
                    self.machine.start_bus()
                scene = self.agent("--lock-on", "sleep,screen")
                self.until(lambda: "no signals of logind" in scene.log(), "a line in the log")
                self.assertFalse(self.is_locked(scene))
                scene.end()
                self.assertEqual(scene.log().count("no signals of logind"), 1)

    def test_malformed_lock_options_exit_with_usage(self) -> None:
        for words in (["--lock-on", "lid"], ["--lock-on", ""], ["--lock-after", "0"], ["--lock-after", "soon"]):
            ended = self.scene(start=False).once(*words)
            self.assertEqual(ended.returncode, 64, ended.stderr)


class IdleVault(Locking):
    def test_idle_vault_locks_itself(self) -> None:
        scene = self.scene("--lock-after", "1")
        reasons = self.reasons(scene)
        provider = self.provider()
        client = self.client(scene)
        add_provider(client, provider)
        import_account(client, provider, "alice", "work")
        begun = time.monotonic()
        while time.monotonic() < begun + 1.6:
            client.call("token.get", {"account": "work"})
            time.sleep(0.1)
        self.assertEqual(reasons(), "idle")
        self.refused(1001, lambda: client.call("token.get", {"account": "work"}))
        client.call("agent.unlock")
        client.call("token.get", {"account": "work"})


class AnswerInFlight(Locking):
    """The provider has rotated the token, and the answer comes to a locked agent."""

    def begin(self, **answer: Any) -> "tuple[Scene, Provider]":
        scene, provider = self.scene(), self.provider("--rotation", "strict")
        client = self.client(scene)
        add_provider(client, provider, refresh={"reuse": "strict"})
        import_account(client, provider, "alice", "work")
        provider.fault(**{"effect": "none", "delayMilliseconds": 1500, **answer})
        answers: List[Any] = []

        def ask() -> None:
            with scene.client(timeout=20) as asking:
                answers.append(self.refused(1001, lambda: asking.call("token.refresh", {"account": "work"})))

        asking = threading.Thread(target=ask)
        asked = len(provider.refreshes())
        asking.start()
        self.until(lambda: len(provider.refreshes()) > asked or provider.asked() > 1, "the request has arrived")
        begun = time.monotonic()
        client.call("agent.lock")
        asking.join()
        self.assertLess(time.monotonic() - begun, 1.0, "who waits is told at once")
        self.assertEqual(len(answers), 1)
        time.sleep(2.0)  # the answer comes; no event tells of it
        return scene, provider

    def expect_sound(self, scene: Scene, provider: Provider) -> None:
        client = self.client(scene)
        client.call("agent.unlock")
        count = len(provider.refreshes())
        client.call("token.get", {"account": "work"})
        self.assertEqual(len(provider.refreshes()), count, "the answer was there")
        client.call("token.refresh", {"account": "work"})
        self.assertEqual(provider.ended(), {})

    def test_answer_to_a_locked_agent_is_there_after_the_unlock(self) -> None:
        scene, provider = self.begin()
        self.expect_sound(scene, provider)

    def test_answer_to_a_locked_agent_survives_a_kill(self) -> None:
        scene, provider = self.begin()
        scene.kill()
        scene.start()
        self.expect_sound(scene, provider)

    @unittest.skipIf(os.geteuid() != 0, "NOT TESTED: only root may read the agent's memory")
    def test_answer_to_a_locked_agent_leaves_nothing_in_memory(self) -> None:
        tokens = {name: canary(name) for name in ("access_token", "refresh_token")}
        scene, _ = self.begin(
            effect="answer", status=200, json={**tokens, "token_type": "Bearer", "expires_in": 300})
        time.sleep(SETTLED_SECONDS)
        search = Search([])
        self.assertEqual(search.memory(scene.pid), [])
        self.assertEqual(search.files(scene.directory), [])
        scene.kill()
        scene.start()
        token = self.client(scene).call("token.get", {"account": "work"})
        self.assertEqual(token["accessToken"], tokens["access_token"])


if __name__ == "__main__":
    unittest.main()
