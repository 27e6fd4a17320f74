"""`lanyard mcp --self` on the real agent: the agent's own tools under an AI agent's grant, and the client of the PyPI package
`mcp`."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import time
from typing import Any, Dict, List

from mcp_fixture import HERE, LANYARD, LEGACY, MODERN, PATIENCE_SECONDS, MCPFixture
from agent_fixture import add_provider, import_account
from test_real import python

TOOLS = ["accounts", "can", "request", "ask_access", "operations"]


class OwnServer(MCPFixture):
    starts_agent = True

    def setUp(self) -> None:
        super().setUp()
        self.idp = self.provider()
        self.caller = self.client(self.agent)
        add_provider(self.caller, self.idp, allowedOrigins=[self.idp.issuer])
        self.alice_id = import_account(self.caller, self.idp, "alice", alias="work")
        self.caller.call("policy.set", {"name": "default", "policy": {"name": "default", "version": 1, "capabilities": {
            # Asking what is allowed takes no use.
            "who.read": {"kind": "read", "offlineWindowSeconds": 3600, "budget": {"perHour": 1}},
            "who.write": {"kind": "write", "offlineWindowSeconds": 3600, "approve": {"waitSeconds": 30},
                          "requests": [{"origin": self.idp.issuer, "methods": ["POST"], "path": "/*"}]}}}})

    def granted(self) -> str:
        """The file of the grant that the server advises."""
        told = self.lanyard("mcp", "--self", status=2).stderr
        command = re.findall("`lanyard (grant create [^`]+)`", " ".join(told.split()))[0]
        path = os.path.join(self.directory(), "claude.grant")
        words = ["claude" if word == "NAME" else path if word == "FILE" else word for word in shlex.split(command)]
        self.lanyard(*words, "-u", "work")
        return path

    def waiting(self, count: int = 1) -> List[Dict[str, Any]]:
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            found: List[Dict[str, Any]] = self.caller.call("approval.list")["approvals"]
            if len(found) == count:
                return found
            self.assertLess(time.monotonic(), end, found)
            time.sleep(0.02)

    def test_the_grant_that_is_advised_serves_every_tool(self) -> None:
        grant = self.granted()
        process = subprocess.Popen(
            [python(), os.path.join(HERE, "self_client.py"), self.idp.issuer, LANYARD, "mcp", "--self", "--grant", grant,
             "--account", "work"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment())

        def end() -> None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                assert pipe is not None
                pipe.close()

        self.addCleanup(end)
        assert process.stdout is not None and process.stdin is not None
        told = ""
        for version in (LEGACY, MODERN, MODERN):
            line = process.stdout.readline()
            told += line
            seen = json.loads(line or self.fail(process.stderr.read() if process.stderr else ""))
            self.assertEqual((seen["version"], seen["tools"]), (version, TOOLS))
            accounts, is_error = seen["accounts"]
            self.assertFalse(is_error, accounts)
            self.assertEqual([each["alias"] for each in json.loads(accounts)["accounts"]], ["work"])
            self.assertTrue(seen["can"][0].startswith("Allowed."), seen["can"])
            answer, is_error = seen["request"]
            self.assertFalse(is_error, answer)
            self.assertIn("HTTP 200", answer)
            self.assertIn("alice", answer)
            self.assertEqual(json.loads(seen["operations"][0]), {"operations": []})
            self.assertTrue(seen["ask_access"][0].startswith("waiting"), seen["ask_access"])
        # The same wish is one wish.
        [wish] = self.caller.call("access.list")["requests"]
        self.assertEqual((wish["client"], wish["reason"]), ("claude", "To see all."))
        # A call that waits tells of it, and a yes sends the request.
        [found] = self.waiting()
        self.assertEqual((found["method"], found["url"]), ("POST", self.idp.issuer + "/userinfo"))
        # The first notification comes after five seconds.
        time.sleep(6)
        self.caller.call("approval.decide", {"approval": found["approval"], "verdict": "once"})
        self.assertEqual(json.loads(process.stdout.readline()), {"waits": True})
        # A call that the client gives up is withdrawn.
        self.waiting()
        process.stdin.write("\n")
        process.stdin.flush()
        self.waiting(0)
        process.stdin.write("\n")
        process.stdin.flush()
        line = process.stdout.readline()
        told += line
        last = json.loads(line)
        self.assertIn("HTTP ", last["waited"][0])
        self.assertTrue(last["told"] and all("the person's yes" in each for each in last["told"]), last)
        # No token is in any answer.
        for account in ("work",):
            token = self.caller.call("token.get", {"account": account})["accessToken"]
            self.assertNotIn(token, told)
        with open(grant, encoding="utf-8") as file:
            self.assertNotIn(file.read().strip(), told)

    def test_a_wish_that_is_allowed_counts_at_once(self) -> None:
        grant = self.granted()
        bridge = self.bridge("--self", "--grant", grant, "--account", "work", LANYARD_GRANT_FILE="")
        wish = {"origins": [self.idp.issuer], "methods": ["PUT"], "reason": "To see all."}
        refused = bridge.call("tools/call", {"name": "request", "arguments": {
            "url": self.idp.issuer + "/elsewhere", "method": "PUT"}})
        self.assertTrue(refused["isError"])
        self.assertIn("ask_access", refused["content"][0]["text"])
        asked = bridge.send("tools/call", {"name": "ask_access", "arguments": wish})
        end = time.monotonic() + PATIENCE_SECONDS
        while not (found := self.caller.call("access.list")["requests"]):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        self.caller.call("access.decide", {"request": found[0]["request"], "verdict": "allow", "expiresInSeconds": 600})
        self.assertTrue(bridge.result(asked)["content"][0]["text"].startswith("allowed"))
        sent = bridge.call("tools/call", {"name": "request", "arguments": {
            "url": self.idp.issuer + "/elsewhere", "method": "PUT"}})
        self.assertRegex(sent["content"][0]["text"], r"^HTTP [45]\d\d")

    def test_without_the_methods_of_a_tool_it_says_so(self) -> None:
        path = os.path.join(self.directory(), "small.grant")
        self.lanyard("grant", "create", "small", "--agent", "-u", "work", "--to", path)
        bridge = self.bridge("--self", "--grant", path)
        for name, arguments in (("accounts", {}), ("can", {"capability": "x"}), ("operations", {})):
            refused = bridge.call("tools/call", {"name": name, "arguments": arguments})
            self.assertTrue(refused["isError"])
            self.assertIn(f"does not cover the tool {name}", refused["content"][0]["text"])
