"""An AI agent that works through a task in a sandbox, and holds no credential (docs/agents.md, A whole run)."""

from __future__ import annotations

import base64
import json
import os
import shutil
import stat
import subprocess
import unittest
import urllib.parse
from typing import Any, Dict, Iterator, List

from proxy_fixture import LANYARD, PATIENCE_SECONDS, Request, Response, certificates, python_packages
from agent_fixture import BIN, Scene
from services import bare_repository, chat_completion, git_backend, mcp, message, package_index
from test_agent_requests import PINENTRY
from test_sandbox import SandboxFixture

AI_AGENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ai_agent.py")
KEYS = {"openai": "sk-key-of-one-model-0123456789", "anthropic": "sk-ant-key-of-the-other-0123456789"}
TITLE = "a ticket that only the server knows"


def spellings(secret: str) -> List[bytes]:
    """A secret as it is, in Base64 at each offset, in hexadecimal, and in UTF-16 as some memory has it."""
    raw = secret.encode()
    # The digits that depend on what stands beside it are left out.
    encoded = [base64.b64encode(b"x" * offset + raw)[4 if offset else 0:-4] for offset in range(3)]
    return [raw, *encoded, raw.hex().encode(), secret.encode("utf-16-le"), urllib.parse.quote(secret, safe="").encode()]


class AgentRun(SandboxFixture):
    """The task needs a repository and an index, which pass; two models by keys; a server where Alice is signed in, which has
    tickets and tools of MCP; and a person who says yes to a write."""

    def scene(self, *options: str, start: bool = True) -> Scene:
        folder = self.directory()
        self.pinentry = os.path.join(folder, "pinentry")
        for path, text in ((self.pinentry, PINENTRY), (self.pinentry + ".mode", "yes")):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        os.chmod(self.pinentry, stat.S_IRWXU)
        return super().scene("--pinentry", self.pinentry, *options, start=start)

    def setUp(self) -> None:
        super().setUp()
        self.tools = python_packages("agents")
        repositories = self.directory()
        bare_repository(os.path.join(repositories, "notes.git"))
        self.commit(os.path.join(repositories, "notes.git"))
        self.git = self.server(lambda request: git_backend(request, repositories))
        self.index = self.server(lambda request: package_index(request, self.index.origin))
        # `lanyard mcp` asks no proxy for a server of its own machine. Others resolve this name to it (RFC 6761 section 6.3).
        self.mcp = self.server(self.answer, "tools.localhost")
        self.allow(self.api.origin, self.mcp.origin)
        self.models = {
            "openai": self.server(lambda request: chat_completion("spring")),
            "anthropic": self.server(lambda request: message("spring"))}
        for name, server in self.models.items():
            # With the variables of the catalogue.
            self.caller.call("provider.add", {
                "name": name, "preset": name, "allowedOrigins": [server.origin], "caFile": certificates().authority})
            self.caller.call("account.add", {"provider": name, "secret": KEYS[name], "alias": name})
        self.policy()
        self.grant(
            "claude", ("work", *KEYS), agent=True, passOrigins=[self.git.origin, self.index.origin])

    def commit(self, repository: str) -> None:
        made = self.directory()
        with open(os.path.join(made, "notes"), "w", encoding="utf-8") as file:
            file.write("spring\n")
        alice = ["-c", "user.name=Alice", "-c", "user.email=alice@acme.example"]
        for words in (["init", "--quiet", "-b", "main"], ["add", "notes"], [*alice, "commit", "--quiet", "-m", "Note the season"],
                      ["push", "--quiet", repository, "main"]):
            subprocess.run(["git", "-C", made, *words], check=True, capture_output=True)

    def policy(self) -> None:
        """What the AI agent may do beyond reading."""
        def posts(origin: str, path: str, **more: Any) -> Dict[str, Any]:
            return {"kind": "write", "offlineWindowSeconds": 3600,
                    "requests": [{"origin": origin, "methods": ["POST"], "path": path}], **more}

        self.caller.call("policy.set", {"name": "default", "policy": {"name": "default", "version": 1, "capabilities": {
            "openai.ask": posts(self.models["openai"].origin, "/v1/chat/completions"),
            "anthropic.ask": posts(self.models["anthropic"].origin, "/v1/messages"),
            "tools.call": posts(self.mcp.origin, "/mcp"),
            "ticket.create": posts(
                self.api.origin, "/tickets", stepUp={"method": "pinentry", "maxAgeSeconds": 60})}}})

    def answer(self, request: Request) -> Response:
        if request.bearer is None:
            return Response(401, b"", [("WWW-Authenticate", "Bearer")])
        if request.path == "/mcp":
            return mcp(request)
        if request.path == "/echo":
            return Response(200, str(request.authorization).encode())
        return Response.json({"title": TITLE}, 201 if request.method == "POST" else 200)

    # The run

    def begin(self) -> "subprocess.Popen[str]":
        shutil.copy(AI_AGENT, self.project)
        # A sandbox shows what a link leads to at its real place.
        inside = os.path.realpath(LANYARD)
        with open(os.path.join(self.project, "task.json"), "w", encoding="utf-8") as file:
            json.dump({
                "repository": self.git.origin + "/notes.git", "index": self.index.origin + "/simple", "api": self.api.origin,
                "lanyard": inside, "mcp": [inside, "mcp", self.mcp.origin + "/mcp"]}, file)
        variables = {
            "OPENAI_BASE_URL": self.models["openai"].origin + "/v1", "ANTHROPIC_BASE_URL": self.models["anthropic"].origin}
        python = os.path.join(self.tools, "python")
        shown = [os.path.dirname(self.tools), BIN, self.interpreter(python)]
        options = [word for path in shown if not path.startswith("/usr") for word in ("--read", path)]
        options += [word for name in variables for word in ("--env", name)]
        process = subprocess.Popen(
            [LANYARD, "sandbox", "--grant", "claude", *options, "--", python, "ai_agent.py"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.project,
            env=self.environment(**variables, OPENAI_API_KEY=KEYS["openai"]))

        def end() -> None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                assert pipe is not None
                pipe.close()

        self.addCleanup(end)
        return process

    @staticmethod
    def interpreter(python: str) -> str:
        """Where the interpreter of a virtual environment lies. The imports compile what the sandbox can't write."""
        script = "import sys, anthropic, mcp, openai; print(sys.base_prefix)"
        ran = subprocess.run([python, "-c", script], capture_output=True, check=True, text=True)
        return os.path.realpath(ran.stdout.strip())

    def processes(self, process: int) -> Iterator[int]:
        """A process with all that it started."""
        yield process
        for task in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{task}/children", encoding="ascii") as file:
                children = file.read().split()
            for child in children:
                yield from self.processes(int(child))

    def inside(self, process: int) -> List[int]:
        """The processes of the sandbox: they have another network than this one. One that denies dumps is root's to read."""
        ours, found = os.readlink("/proc/self/ns/net"), []
        for each in self.processes(process):
            try:
                if os.readlink(f"/proc/{each}/ns/net") != ours:
                    found.append(each)
            except PermissionError:
                continue
        return found

    @staticmethod
    def memory(process: int) -> Iterator[bytes]:
        with open(f"/proc/{process}/maps", encoding="utf-8") as file:
            lines = file.read().splitlines()
        with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
            for line in lines:
                places, rights, *rest = line.split()
                if not rights.startswith("r") or rest[-1] in ("[vvar]", "[vsyscall]", "[vvar_vclock]"):
                    continue
                start, end = (int(place, 16) for place in places.split("-"))
                try:
                    memory.seek(start)
                    yield memory.read(end - start)
                except (OSError, OverflowError):
                    continue

    def assertHoldsNone(self, where: str, held: bytes, secrets: List[str]) -> None:  # noqa: N802
        for secret in secrets:
            # No assertion: its message would be all of the memory.
            if any(spelling in held for spelling in spellings(secret)):
                self.fail(f"{where} has a credential")

    def test_an_ai_agent_does_its_task_and_holds_no_credential(self) -> None:
        secrets = [*KEYS.values(), self.token("work"), self.token("home")]
        process = self.begin()
        assert process.stdout is not None and process.stderr is not None and process.stdin is not None
        line = process.stdout.readline()
        if not line:
            self.fail(process.stderr.read())
        seen = json.loads(line)
        # What passed, and what came with keys and tokens that the program has not.
        self.assertEqual((seen["cloned"], seen["installed"]), ("spring\n", "spring"), seen)
        self.assertEqual((seen["openai"], seen["anthropic"]), ("spring", "spring"))
        self.assertEqual(self.models["openai"].tokens(), [KEYS["openai"]])
        self.assertEqual(
            {request.headers.get("X-Api-Key") for request in self.models["anthropic"].requests}, {KEYS["anthropic"]})
        self.assertEqual((seen["tools"], seen["added"]), (["add"], "8"))
        self.assertEqual((self.api.tokens(), self.mcp.tokens()), ([self.token("work")], [self.token("work")]))
        self.assertEqual((self.git.tokens(), self.index.tokens()), ([], []))
        self.assertEqual({entry["facts"]["origin"] for entry in self.audited("request.pass")},
                         {self.git.origin, self.index.origin})
        # The write had its yes; what no one allowed did not happen.
        self.assertEqual((seen["written"][0], seen["read"][0], seen["deleted"][0]), (201, 200, 403))
        self.assertNotIn("DELETE", [request.method for request in self.api.requests])
        with open(self.pinentry + ".log", encoding="utf-8") as file:
            log = file.read()
        self.assertEqual(log.count("CONFIRM"), 1)
        for part in ("claude", "POST", "/tickets"):
            self.assertIn(part, log)
        # Where the program tried to get one.
        self.assertEqual((seen["echoed"][0], seen["lanyard"]), (502, 3))
        for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
            self.assertRegex(seen["environment"][name], r"^lanyard-acc_[0-9a-z]{26}$")
        self.assertSearched(process.pid, secrets)
        process.stdin.close()
        self.assertEqual(process.wait(PATIENCE_SECONDS), 0)
        told = process.stdout.read() + process.stderr.read()
        self.assertHoldsNone("what it printed", (line + told).encode(), secrets)

    def assertSearched(self, process: int, secrets: List[str]) -> None:  # noqa: N802
        """Memory and environment of each process in the sandbox, and all files that were written."""
        found = 0
        inside = self.inside(process)
        self.assertGreaterEqual(len(inside), 3 if os.geteuid() == 0 else 2, "the sandbox, the AI agent and the bridge")
        for each in inside:
            try:
                with open(f"/proc/{each}/environ", "rb") as file:
                    self.assertHoldsNone(f"/proc/{each}/environ", file.read(), secrets)
                for piece in self.memory(each):
                    self.assertHoldsNone(f"/proc/{each}/mem", piece, secrets)
                    found += TITLE.encode() in piece
            except PermissionError:
                # It denies dumps: its links are shown to the owner of its user namespace, its files to root alone.
                self.assertNotEqual(os.geteuid(), 0)
        self.assertGreater(found, 0, "the search finds what the AI agent was answered")
        for folder, _, names in os.walk(self.project):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    self.assertHoldsNone(os.path.join(folder, name), file.read(), secrets)
        with open(os.path.join(self.project, "traffic"), "rb") as file:
            self.assertIn(TITLE.encode(), file.read())


if __name__ == "__main__":
    unittest.main()
