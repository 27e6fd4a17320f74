"""`lanyard mcp --self`: the agent's own tools for an AI agent, before a scripted agent."""

import json
import os
import queue
import subprocess
import threading
import time

from fake_agent import Error, NoAnswer
from people import WORK
from person import BINARIES, PATIENCE_SECONDS, Person

VERSION = "io.modelcontextprotocol/protocolVersion"
MODERN, LEGACY = "2026-07-28", "2025-11-25"
TOOLS = ["accounts", "can", "request", "ask_access", "operations"]
SECRET = "not-a-real-grant-secret"
ANSWER = {"status": 200, "headers": {"content-type": "application/json"}, "body": '{"ticket":17}', "attempts": 1,
          "refreshed": False, "account": WORK["id"]}


class Client:
    """An AI agent's side of the server: messages on its stdin and stdout."""

    def __init__(self, process):
        self.process = process
        self.messages = queue.Queue()
        self.number = 0
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.messages.put(json.loads(line))

    def send(self, **message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def next(self, seconds=PATIENCE_SECONDS):
        return self.messages.get(timeout=seconds)

    def call(self, method, params=None, modern=False):
        self.number += 1
        params = dict(params or {})
        if modern:
            params["_meta"] = {VERSION: MODERN, "io.modelcontextprotocol/clientCapabilities": {}, **params.get("_meta", {})}
        self.send(id=self.number, method=method, params=params)
        answer = self.next()
        assert answer["id"] == self.number, answer
        return answer

    def tool(self, name, **arguments):
        """The texts of a tool's result, and whether it is an error."""
        result = self.call("tools/call", {"name": name, "arguments": arguments})["result"]
        return "\n".join(piece.get("text", "") for piece in result["content"]), result["isError"]


class OwnServerTests(Person):
    def setUp(self):
        super().setUp()
        if not os.path.exists(os.path.join(BINARIES, "lanyard-mcp")):
            self.skipTest("not built: lanyard-mcp")
        self.grant = os.path.join(self.home, "claude.grant")
        with open(self.grant, "w", encoding="utf-8") as file:
            file.write(SECRET + "\n")
        os.chmod(self.grant, 0o600)

    def serve(self, *words, answers=None, environment=None):
        self.fake = self.agent({"agent.hello": {"agent": {"name": "fake", "version": "1"}}, **(answers or {})})
        process = self.start(
            "mcp", "--self", *words, stdin=subprocess.PIPE,
            environment={"LANYARD_GRANT_FILE": self.grant, **(environment or {})})
        self.addCleanup(self.end, process)
        return Client(process)

    @staticmethod
    def end(process):
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()

    # What it says of itself

    def test_the_handshake_of_each_version(self):
        client = self.serve()
        for wanted, version in ((LEGACY, LEGACY), ("2025-06-18", "2025-06-18"), ("2024-11-05", "2024-11-05"), ("1999-01-01", LEGACY)):
            found = client.call("initialize", {
                "protocolVersion": wanted, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}})["result"]
            self.assertEqual((found["protocolVersion"], found["serverInfo"]["name"]), (version, "lanyard"))
            self.assertIn("tools", found["capabilities"])
        client.send(method="notifications/initialized")
        self.assertEqual(client.call("ping")["result"], {})
        self.assertEqual(client.call("resources/list")["error"]["code"], -32601)
        # The agent was not asked for that.
        self.assertEqual(self.fake.calls, [])

    def test_messages_that_name_their_version(self):
        client = self.serve()
        found = client.call("server/discover", modern=True)["result"]
        self.assertEqual(found["supportedVersions"][0], MODERN)
        self.assertEqual((found["resultType"], found["cacheScope"]), ("complete", "private"))
        self.assertEqual(client.call("tools/list", modern=True)["result"]["resultType"], "complete")
        refused = client.call("tools/list", {"_meta": {VERSION: "2099-01-01"}})["error"]
        self.assertEqual((refused["code"], refused["data"]["requested"]), (-32022, "2099-01-01"))
        self.assertIn(MODERN, refused["data"]["supported"])

    def test_the_tools_have_schemas_and_words(self):
        tools = self.serve().call("tools/list")["result"]["tools"]
        self.assertEqual([tool["name"] for tool in tools], TOOLS)
        for tool in tools:
            schema = tool["inputSchema"]
            self.assertEqual((schema["type"], schema["additionalProperties"]), ("object", False))
            self.assertLessEqual(set(schema.get("required", [])), set(schema["properties"]))
            for each in schema["properties"].values():
                self.assertTrue(each["description"].endswith("."), each)
            self.assertTrue(tool["description"].endswith("."))
        reading = {tool["name"] for tool in tools if tool["annotations"]["readOnlyHint"]}
        self.assertEqual(reading, {"accounts", "can", "operations"})

    def test_a_grant_from_a_pipe_serves_every_connection(self):
        fake = self.agent({"agent.hello": {"agent": {"name": "fake", "version": "1"}}, "account.list": {"accounts": [WORK]}})
        reading, writing = os.pipe()
        os.write(writing, SECRET.encode())
        os.close(writing)
        self.addCleanup(os.close, reading)
        process = self.start(
            "mcp", "--self", stdin=subprocess.PIPE, pass_fds=(reading,),
            environment={"LANYARD_GRANT_FILE": f"/dev/fd/{reading}"})
        self.addCleanup(self.end, process)
        client = Client(process)
        # Each call has a connection of its own.
        fake.last = "account.list"
        for _ in range(2):
            self.assertFalse(client.tool("accounts")[1])
        presented = [params["grant"] for method, params in fake.calls if method == "agent.hello"]
        self.assertGreaterEqual(len(presented), 2)
        self.assertEqual(set(presented), {SECRET})

    def test_without_a_grant_it_does_not_start(self):
        told = self.refused(2, "mcp", "--self")
        self.assertIn("These tools need a grant", told)
        self.assertIn("lanyard grant create NAME --agent", told)
        for words in (["mcp"], ["mcp", "--self", "https://mcp.example/mcp"], ["mcp", "--self", "--proxy", "none"],
                      ["mcp", "https://mcp.example/mcp", "--grant", "file"]):
            with self.subTest(words):
                self.refused(2, *words)

    def test_a_grant_that_can_not_be_read_is_told_at_the_start(self):
        missing = os.path.join(self.home, "cluade.grant")
        for words, environment in ((["--grant", missing], {}), ([], {"LANYARD_GRANT_FILE": missing})):
            with self.subTest(words):
                told = self.refused(2, "mcp", "--self", *words, environment=environment)
                self.assertIn(f"{missing}, can't be read: No such file or directory.", told)

    def test_a_person_at_a_terminal_hears_what_it_waits_for(self):
        screen = self.on_terminal("mcp", "--self", "--grant", self.grant, interrupt_after="writes messages of MCP")
        self.assertIn("The program of an AI agent starts this", screen.text)

    def test_the_grant_of_the_option_is_said_on_each_connection_and_its_secret_nowhere_else(self):
        client = self.serve("--grant", self.grant, answers={"account.list": {"accounts": [WORK]}},
                            environment={"LANYARD_GRANT_FILE": None})
        text, is_error = client.tool("accounts")
        self.assertFalse(is_error)
        self.assertEqual(self.fake.calls[0][0], "agent.hello")
        self.assertEqual(self.fake.calls[0][1]["grant"], SECRET)
        with open(f"/proc/{client.process.pid}/cmdline", encoding="utf-8") as file:
            self.assertNotIn(SECRET, file.read())
        self.assertNotIn(SECRET, text)

    # The tools

    def test_accounts(self):
        text, is_error = self.serve(answers={"account.list": {"accounts": [WORK], "active": WORK["id"]}}).tool("accounts")
        self.assertEqual((json.loads(text)["accounts"], is_error), ([{
            name: WORK[name] for name in ("id", "alias", "provider", "state", "active", "displayName", "email")}], False))

    def test_can(self):
        decision = {"effect": "deny", "capability": "ticket.delete", "reason": "missingRole", "failed": [], "remedies": []}
        client = self.serve("--account", "work", answers={"policy.explain": lambda *_: decision})
        text, is_error = client.tool("can", capability="ticket.delete")
        self.assertTrue(text.startswith("Not allowed."), text)
        self.assertIn("missingRole", text)
        self.assertFalse(is_error)
        self.assertEqual(
            self.fake.params("policy.explain"), {"account": "work", "capability": "ticket.delete"})
        decision["reason"] = "onlineRequired"
        self.assertIn("The tool request asks it for that first", client.tool("can", capability="ticket.delete")[0])
        decision["effect"] = "allow"
        self.assertTrue(client.tool("can", capability="x", account="home")[0].startswith("Allowed."))
        self.assertEqual(self.fake.params("policy.explain")["account"], "home")

    def test_a_request(self):
        client = self.serve(answers={"request.send": ANSWER})
        text, is_error = client.tool(
            "request", url="https://api.example/tickets", method="post", body="{}", headers={"Content-Type": "application/json"},
            idempotencyKey="k1")
        self.assertEqual((text, is_error), ('HTTP 200\ncontent-type: application/json\n{"ticket":17}', False))
        self.assertEqual(self.fake.params("request.send"), {
            "account": "@active", "method": "POST", "url": "https://api.example/tickets", "body": "{}",
            "headers": {"Content-Type": "application/json"}, "idempotencyKey": "k1"})

    def test_bodies_that_are_no_text_and_servers_that_refuse(self):
        answer = {**ANSWER, "headers": {"Content-Type": "image/png; q=1"}, "bodyBase64": "iVBORw0="}
        del answer["body"]
        client = self.serve(answers={"request.send": lambda *_: answer})
        picture = client.call("tools/call", {"name": "request", "arguments": {"url": "https://api.example/a.png"}})
        self.assertEqual(
            picture["result"]["content"][1], {"type": "image", "data": "iVBORw0=", "mimeType": "image/png"})
        answer["headers"] = {"content-type": "application/zip"}
        archive = client.call("tools/call", {"name": "request", "arguments": {"url": "https://api.example/a.zip"}})
        self.assertEqual(archive["result"]["content"][1], {"type": "resource", "resource": {
            "uri": "https://api.example/a.zip", "mimeType": "application/zip", "blob": "iVBORw0="}})
        answer.update(status=404, body="no such ticket")
        del answer["bodyBase64"]
        text, is_error = client.tool("request", url="https://api.example/tickets/99")
        self.assertTrue(is_error)
        self.assertIn("HTTP 404", text)
        self.assertIn("no such ticket", text)

    def test_what_the_agent_refuses_is_an_error_of_the_tool_that_says_what_to_do(self):
        refusals = {
            "notPermitted": (Error(1007, "notPermitted", "The grant does not cover this."), "ask_access"),
            "revoked": (Error(1007, "notPermitted", "It is over.", reason="grantRefused"), "has ended or was revoked"),
            "provider": (Error(4001, "denied", "No.", reason="freshTokenRequired"), "Send it again in a moment"),
            "declined": (Error(4001, "denied", "No.", reason="declined"), "do not try another way"),
            "notApproved": (Error(4001, "denied", "No.", reason="notApproved"), "`lanyard approvals --watch`"),
            "policy": (Error(4001, "denied", "No.", reason="missingRole"), "policy does not allow"),
            "stepUp": (Error(4002, "stepUpRequired", "A step-up is missing.", remedies=["stepUp"]), "Only the person"),
            "signedOut": (Error(2003, "signedOut", "It is signed out."), "never ask for a password"),
            "origin": (Error(6001, "originNotAllowed", "Not there."), "not for that server"),
            "offline": (Error(3001, "offline", "No network."), "Try again later"),
        }
        current = []
        client = self.serve(answers={"request.send": lambda *_: current[0]})
        for name, (error, step) in refusals.items():
            with self.subTest(name):
                current[:] = [error]
                text, is_error = client.tool("request", url="https://api.example/")
                self.assertTrue(is_error)
                self.assertIn(f"({error.body['data']['name']})", text)
                self.assertIn(step, text.split("\nNext: ")[1])

    def test_a_refused_argument_has_the_name_that_the_tool_gives_it(self):
        refusals = [
            ("/idempotencyKey", "printable ASCII without a space at either end",
             "Expected for idempotencyKey: printable ASCII without a space at either end."),
            ("/origins/0", "an origin, such as https://api.example, without a path",
             "Expected for origins: an origin, such as https://api.example, without a path."),
            ("/bodyBase64", "string like ^[A-Za-z0-9+/]*[=]{0,2}$",
             "Expected for bodyBase64: bytes in Base64, with letters, digits, + and /."),
            ("/headers/Cookie", "a header field that a caller may set",
             "Expected for the header Cookie: a header field that a caller may set."),
        ]
        current = []
        client = self.serve(answers={"request.send": lambda *_: current[0]})
        for path, expected, told in refusals:
            with self.subTest(path):
                current[:] = [Error(
                    -32602, "invalidParams", "A parameter is not valid: see data.path and data.expected.", path=path,
                    expected=expected)]
                text, is_error = client.tool("request", url="https://api.example/")
                self.assertTrue(is_error)
                self.assertEqual(text.split("\n")[1:], [f"Next: Correct the arguments. {told}"])

    def test_no_agent_is_an_error_of_the_tool_too(self):
        client = self.serve()
        self.fake.close()
        text, is_error = client.tool("accounts")
        self.assertTrue(is_error)
        self.assertIn("Try again later", text)

    def test_arguments_that_do_not_fit_reach_no_agent(self):
        client = self.serve()
        for name, arguments, told in (
            ("request", {}, "url is missing"), ("request", {"url": 1}, "url is a text"),
            ("request", {"url": "https://a.example", "token": "x"}, "has no argument token"),
            ("request", {"url": "https://a.example", "body": "a", "bodyBase64": "YQ=="}, "not both"),
            ("request", {"url": "https://a.example", "headers": {"a": 1}}, "value is a text"),
            ("ask_access", {"origins": "https://a.example", "reason": "x"}, "origins is a list of texts"),
            ("ask_access", {"origins": ["https://a.example"]}, "reason is missing"),
            ("request", {"url": "https://a.example", "timeoutSeconds": 0}, "timeoutSeconds is a whole number from 1 to 3600"),
            ("can", {"capability": None}, "capability is missing"),
        ):
            with self.subTest(arguments):
                text, is_error = client.tool(name, **arguments)
                self.assertTrue(is_error)
                self.assertIn(told, text)
        self.assertEqual(client.call("tools/call", {"name": "token"})["error"]["code"], -32602)
        self.assertEqual(self.fake.calls, [])

    def test_operations_without_what_is_in_them(self):
        entry = {"operation": "op_1", "status": "rejected", "capability": "note", "label": "Note", "attempts": 1,
                 "request": {"method": "POST", "url": "https://api.example/n", "body": "hidden"},
                 "payload": {"text": "hidden"}, "rejection": {"reason": "conflict", "response": {"body": "hidden"}}}
        client = self.serve(answers={"operation.list": {"operations": [entry], "more": False}})
        text, _ = client.tool("operations", status="rejected")
        self.assertNotIn("hidden", text)
        [found] = json.loads(text)["operations"]
        self.assertEqual((found["method"], found["rejected"]), ("POST", "conflict"))
        self.assertEqual(self.fake.params("operation.list"), {"account": "@active", "status": "rejected"})

    # Waiting

    def test_ask_access_waits_for_the_verdict(self):
        status = ["waiting"]
        client = self.serve(answers={"access.request": lambda *_: {"request": "acr_1", "status": status[0]}})
        wish = {"origins": ["https://api.example"], "methods": ["POST"], "reason": "To comment."}
        client.send(id="a", method="tools/call", params={"name": "ask_access", "arguments": wish})
        time.sleep(0.5)
        self.assertTrue(client.messages.empty())
        status[:] = ["allowed"]
        self.assertIn("allowed: the person said yes", client.next()["result"]["content"][0]["text"])
        self.assertEqual(self.fake.params("access.request"), wish)
        status[:] = ["denied"]
        self.assertIn("Do not ask again", client.tool("ask_access", **wish)[0])
        status[:] = ["waiting"]
        text, is_error = client.tool("ask_access", waitSeconds=0, **wish)
        self.assertTrue(text.startswith("waiting"))
        self.assertIn("acr_1", text)
        self.assertFalse(is_error)

    def test_ask_access_says_that_nobody_was_asked_where_the_grant_has_it_already(self):
        client = self.serve(answers={"access.request": {"request": "acr_1", "status": "allowed"}})
        text, is_error = client.tool("ask_access", origins=["https://api.example"], methods=["GET"], reason="To read.")
        self.assertFalse(is_error)
        self.assertTrue(text.startswith("allowed: your grant has all of this now, so this call asked nobody."), text)
        self.assertIn("a body in a GET or HEAD", text)

    def slow(self):
        """An agent whose `request.send` waits, and what it hears of the wait."""
        cancelled, go = threading.Event(), threading.Event()

        def send(params, connection):
            go.wait(PATIENCE_SECONDS)
            return ANSWER

        def cancel(params, connection):
            cancelled.set()
            raise NoAnswer
        return {"request.send": send, "$/cancel": cancel}, cancelled, go

    def test_a_call_that_waits_tells_of_its_progress(self):
        answers, _, go = self.slow()
        client = self.serve(answers=answers)
        client.send(id=1, method="tools/call", params={
            "name": "request", "arguments": {"url": "https://api.example/"}, "_meta": {"progressToken": "p1"}})
        told = client.next(10)
        self.assertEqual((told["method"], told["params"]["progressToken"]), ("notifications/progress", "p1"))
        self.assertIn("the person's yes", told["params"]["message"])
        go.set()
        self.assertEqual(client.next()["id"], 1)

    def test_a_call_that_waits_holds_up_no_other_and_is_withdrawn_when_the_client_cancels(self):
        answers, cancelled, go = self.slow()
        client = self.serve(answers={**answers, "account.list": {"accounts": []}})
        client.send(id=1, method="tools/call", params={"name": "request", "arguments": {"url": "https://api.example/"}})
        client.send(id="other", method="tools/call", params={"name": "accounts"})
        self.assertEqual(client.next()["id"], "other")
        self.fake.closed.clear()
        client.send(method="notifications/cancelled", params={"requestId": 1})
        self.assertTrue(cancelled.wait(PATIENCE_SECONDS))
        self.assertTrue(self.fake.closed.wait(PATIENCE_SECONDS))
        go.set()
        # No answer comes for it.
        client.send(id="last", method="ping")
        self.assertEqual(client.next()["id"], "last")

    def test_the_end_of_the_input_withdraws_what_waits(self):
        answers, cancelled, go = self.slow()
        client = self.serve(answers=answers)
        client.send(id=1, method="tools/call", params={"name": "request", "arguments": {"url": "https://api.example/"}})
        end = time.monotonic() + PATIENCE_SECONDS
        while "request.send" not in self.fake.methods():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        self.fake.closed.clear()
        client.process.stdin.close()
        self.assertEqual(client.process.wait(PATIENCE_SECONDS), 0)
        self.assertTrue(self.fake.closed.wait(PATIENCE_SECONDS))
        go.set()
