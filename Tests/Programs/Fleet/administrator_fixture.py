"""Agents with an administrator's directory."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any, Dict, List, Optional

import fleet_fixture  # noqa: F401  (the path of the next one)
from agent_fixture import BIN, PATIENCE_SECONDS, AgentFixture, Provider, Scene
from harness import SCOPES, sign_in
from lanyard import Client

LANYARD = os.path.join(BIN, "lanyard")


def policy(name: str, version: int, *capabilities: str) -> Dict[str, Any]:
    return {"name": name, "version": version, "capabilities": {word: {"kind": "read"} for word in capabilities}}


class Administered(AgentFixture):
    """Tests of agents with an administrator's directory, `self.system`."""

    def setUp(self) -> None:
        super().setUp()
        self.system = os.path.join(os.path.realpath(self.directory()), "system")
        os.mkdir(self.system, 0o755)

    def path(self, name: str) -> str:
        return os.path.normpath(os.path.join(self.system, name))

    def write(self, path: str, content: Any, mode: int = 0o644) -> str:
        """Replaces a file as a package manager does."""
        os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
        new = path + ".new"
        with open(new, "w") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        os.chmod(new, mode)
        os.rename(new, path)
        return path

    def lay(self, name: str, content: Any) -> str:
        return self.write(self.path(name), content)

    def describe(self, name: str, provider: Provider, **members: Any) -> str:
        """The file of a provider."""
        document = {"name": name, "issuer": provider.issuer, "clientId": "lanyard-demo", "scopes": SCOPES, **members}
        return self.lay(f"providers.d/{name}.json", document)

    def laid(self, configuration: Any, *options: str, named: bool = True) -> Scene:
        """An agent that is not started yet; `configuration` is the administrator's."""
        self.lay("agent.json", configuration)
        return self.scene(*(["--system-directory", self.system] if named else []), *options, start=False)

    def lanyard(self, scene: Scene, *words: str) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(
            [LANYARD, *words], env={**scene.environment, "COLUMNS": "80"}, capture_output=True, timeout=PATIENCE_SECONDS)

    def sign_in(self, client: Client, provider: Provider, name: str, person: str = "alice") -> str:
        return sign_in(client, name, person)

    def log(self, scene: Scene) -> str:
        return scene.log()

    def found(self, client: Client) -> List[Dict[str, Any]]:
        findings: List[Dict[str, Any]] = client.call("agent.diagnose")["findings"]
        return findings

    def findings(self, client: Client, check: str) -> List[str]:
        return [finding["severity"] for finding in self.found(client) if finding["check"] == check]

    def messages(self, client: Client) -> List[str]:
        return [finding["message"] for finding in self.found(client) if finding["severity"] == "problem"]

    def source(self, client: Client, provider: str) -> Optional[str]:
        source: Optional[str] = client.call("provider.get", {"provider": provider})["provider"].get("source")
        return source


__all__ = ["LANYARD", "PATIENCE_SECONDS", "Administered", "policy"]
