"""A request that waits for a person's yes in the proxy: real programs wait with it, one that hangs up withdraws it."""

import json
import os
import subprocess
import threading
import time
from typing import Any, Dict, List, Optional

from proxy_fixture import LANYARD, PATIENCE_SECONDS, Proxy, ProxyFixture, Request, Response, python_packages, status
from services import chat_completion, mcp
from test_raw import get
from forms import in_quick_form


@in_quick_form(
    "test_curl_waits_and_a_yes_sends_the_request_once", "test_a_program_that_hangs_up_withdraws_its_request")
class Approvals(ProxyFixture):
    def setUp(self) -> None:
        super().setUp()
        self.approve(20)
        self.identity = self.grant("claude", agent=True)

    def answer(self, request: Request) -> Response:
        if request.path == "/v1/chat/completions":
            return chat_completion("spring")
        if request.path == "/mcp":
            return mcp(request)
        return super().answer(request)

    def approve(self, seconds: int) -> None:
        """Each POST needs a yes within so many seconds."""
        self.version = getattr(self, "version", 0) + 1
        self.caller.call("policy.set", {"name": "default", "policy": {"name": "default", "version": self.version, "capabilities": {
            "post": {"kind": "write", "offlineWindowSeconds": 3600, "approve": {"waitSeconds": seconds},
                     "requests": [{"origin": self.api.origin, "methods": ["POST"], "path": "/*"}]}}}})

    def door(self) -> Proxy:
        return self.proxy("--grant", "claude", account=None)

    def waiting(self, count: int = 1) -> List[Dict[str, Any]]:
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            found: List[Dict[str, Any]] = self.caller.call("approval.list")["approvals"]
            if len(found) == count:
                return found
            self.assertLess(time.monotonic(), end, found)
            time.sleep(0.02)

    def decide(self, verdict: str) -> None:
        [found] = self.waiting()
        self.caller.call("approval.decide", {"approval": found["approval"], "verdict": verdict})

    def post(self, proxy: Proxy, path: str = "/tickets") -> "Asked":
        return Asked(lambda: proxy.ask_in_tunnel(
            self.api.place, get(self.api.place, "Content-Length: 2", method="POST", path=path) + b"{}"))

    def posts(self) -> "list[str]":
        return [request.path for request in self.api.requests if request.method == "POST"]

    def refused(self, asked: "Asked", name: str) -> str:
        told = asked.done()
        self.assertEqual(status(told), 403, told)
        self.assertIn(f"Lanyard-Refusal: {name}\r\n".encode(), told)
        return told.partition(b"\r\n\r\n")[2].decode()

    def test_curl_waits_and_a_yes_sends_the_request_once(self) -> None:
        process = self.run_under_proxy("curl", "--silent", "--show-error", "-d", "{}", self.api.origin + "/tickets")
        [found] = self.waiting()
        self.assertEqual(
            (found["client"], found["method"], found["url"]), ("claude", "POST", self.api.origin + "/tickets"))
        self.assertEqual(self.posts(), [])
        self.decide("once")
        self.assertEqual(process.communicate(timeout=PATIENCE_SECONDS)[0], "hello\n")
        self.assertEqual((process.returncode, self.posts()), (0, ["/tickets"]))

    def test_the_library_of_a_model_waits(self) -> None:
        python = os.path.join(python_packages("agents"), "python")
        script = ("from openai import OpenAI\nwith OpenAI(api_key='none', max_retries=0) as client:\n"
                  "  print(client.chat.completions.create(model='small', messages=[{'role': 'user', 'content': 'q'}])"
                  ".choices[0].message.content)")
        process = self.run_under_proxy(python, "-c", script, OPENAI_BASE_URL=self.api.origin + "/v1")
        self.waiting()
        time.sleep(1)
        self.decide("once")
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual((process.returncode, out), (0, "spring\n"), err)

    def bridge(self) -> "subprocess.Popen[str]":
        """`lanyard mcp` as in a sandbox, where it sees no agent, and its handshake on the way."""
        remote = self.server(self.answer, "tools.localhost")
        self.allow(self.api.origin, remote.origin)
        self.version += 1
        self.caller.call("policy.set", {"name": "default", "policy": {"name": "default", "version": self.version, "capabilities": {
            "post": {"kind": "write", "offlineWindowSeconds": 3600, "approve": {"waitSeconds": 20},
                     "requests": [{"origin": remote.origin, "methods": ["POST"], "path": "/mcp"}]}}}})
        process = self.run_under_proxy(
            "env", f"LANYARD_SOCKET={self.place}/none", "LANYARD_NO_START=1", LANYARD, "mcp", remote.origin + "/mcp",
            stdin=subprocess.PIPE)
        assert process.stdin is not None
        process.stdin.write(json.dumps({
            "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"},
                "_meta": {"progressToken": "p"}}}) + "\n")
        process.stdin.flush()
        self.waiting()
        return process

    def test_a_message_to_a_remote_server_of_mcp_tells_that_it_waits(self) -> None:
        process = self.bridge()
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        self.assertEqual((told["method"], told["params"]["progressToken"]), ("notifications/progress", "p"))
        self.decide("session")
        self.assertEqual(json.loads(process.stdout.readline())["id"], 1)

    def test_a_no_reaches_the_client_of_mcp(self) -> None:
        process = self.bridge()
        assert process.stdout is not None
        self.decide("deny")
        error = json.loads(process.stdout.readline())["error"]
        self.assertEqual((error["data"]["name"], error["data"]["status"]), ("declined", 403))
        self.assertIn("A person said no to this request. Nothing was sent.", error["message"])

    def test_a_no_says_so(self) -> None:
        asked = self.post(self.door())
        self.decide("deny")
        told = self.refused(asked, "declined")
        self.assertIn("A person said no to this request. Nothing was sent.", told)
        # The same one is not asked again for a minute.
        self.refused(self.post(self.door()), "declined")
        self.waiting(0)
        self.assertEqual(self.posts(), [])

    def test_no_answer_in_time_says_what_helps(self) -> None:
        self.approve(1)
        told = self.refused(self.post(self.door()), "notApproved")
        self.assertIn("none came in time. Nothing was sent.", told)
        self.assertIn("lanyard approvals --watch", told)

    def test_others_are_not_held_up(self) -> None:
        proxy = self.door()
        asked = [self.post(proxy, f"/tickets/{number}") for number in range(12)]
        self.waiting(12)
        began = time.monotonic()
        self.assertEqual(status(proxy.ask_in_tunnel(self.api.place, get(self.api.place, path="/read"))), 200)
        self.assertLess(time.monotonic() - began, 5)
        for found in self.waiting(12):
            self.caller.call("approval.decide", {"approval": found["approval"], "verdict": "once"})
        self.assertEqual([status(each.done()) for each in asked], [200] * 12)

    def test_a_program_that_hangs_up_withdraws_its_request(self) -> None:
        proxy = self.door()
        with proxy.tunnel(self.api.place) as connection:
            connection.sendall(get(self.api.place, "Content-Length: 2", method="POST", path="/tickets") + b"{}")
            self.waiting()
        self.waiting(0)
        process = self.run_under_proxy("curl", "--silent", "--max-time", "1", "-d", "{}", self.api.origin + "/tickets")
        self.waiting()
        self.assertEqual(process.wait(PATIENCE_SECONDS), 28)
        self.waiting(0)
        self.assertEqual(self.posts(), [])

    def test_the_end_of_the_grant_ends_the_wait(self) -> None:
        asked = self.post(self.door())
        self.waiting()
        self.caller.call("grant.revoke", {"grant": self.identity})
        self.refused(asked, "notPermitted")
        self.waiting(0)
        self.assertEqual(self.posts(), [])

    def test_the_end_of_the_account_ends_the_wait(self) -> None:
        asked = self.post(self.door())
        self.waiting()
        self.sign_out()
        self.assertEqual(status(asked.done()), 403)
        self.waiting(0)
        self.assertEqual(self.posts(), [])

    def test_the_end_of_the_command_withdraws_its_request(self) -> None:
        process = self.run_under_proxy("curl", "--silent", "-d", "{}", self.api.origin + "/tickets")
        self.waiting()
        process.terminate()
        process.wait(PATIENCE_SECONDS)
        self.waiting(0)

    def run_under_proxy(self, *words: str, stdin: Optional[int] = None, **environment: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [LANYARD, "exec", "--proxy", "--grant", "claude", "--", *words], stdin=stdin or subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.place,
            env=self.environment(**environment))

        def end() -> None:
            process.terminate()
            process.wait(PATIENCE_SECONDS)
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()

        self.addCleanup(end)
        return process


class Asked:
    """A request whose answer takes its time."""

    def __init__(self, ask: Any) -> None:
        self.told: Optional[bytes] = None

        def run() -> None:
            self.told = ask()

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def done(self) -> bytes:
        self.thread.join(PATIENCE_SECONDS)
        if self.told is None:
            raise AssertionError("no answer came")
        return self.told
