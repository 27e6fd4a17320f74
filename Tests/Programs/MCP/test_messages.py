"""Messages between a client and an open server, in both protocol versions: the scenarios of the conformance suite that need no
authorization (README.md), and how bytes pass."""

from __future__ import annotations

import json
import re
import threading
import unittest

from listener import Listener
from mcp_fixture import LEGACY, MODERN, Event, MCPFixture, Response, RPCFailure, tool
from mcp_server import CLIENT_CAPABILITIES, PROTOCOL_VERSION


class ScenarioTests(MCPFixture):
    """Each is named after its scenario."""

    def test_initialize(self) -> None:
        server = self.server()
        bridge = self.bridge(server, version=LEGACY)
        self.assertEqual(bridge.initialize()["serverInfo"]["name"], "scripted")
        bridge.call("tools/list")
        first = server.messages("initialize")[0]
        self.assertEqual(first.message["params"]["protocolVersion"], LEGACY)
        self.assertEqual(first.message["params"]["clientInfo"]["name"], "lanyard-tests")
        self.assertEqual(len(server.messages("notifications/initialized")), 1)

    def test_tools_call(self) -> None:
        for version in (MODERN, LEGACY):
            with self.subTest(version):
                server = self.server()
                bridge = self.bridge(server, version=version)
                if version == LEGACY:
                    bridge.initialize()
                self.assertIn("add_numbers", [tool["name"] for tool in bridge.call("tools/list")["tools"]])
                self.assertEqual(bridge.tool("add_numbers", a=5, b=3), "8")
                sent = server.messages("tools/call")[0].message["params"]["arguments"]
                self.assertEqual(sent, {"a": 5, "b": 3})

    def test_sse_retry(self) -> None:
        server = self.server()
        retry_seconds = 0.4
        pending = []
        closed = threading.Event()

        def slow(call):
            pending.append(call)
            yield Event("", id="event-1", retry=int(retry_seconds * 1000))
            closed.set()

        def resumed(request):
            if request.header("Last-Event-ID") is None:
                return
            yield Event("", id="event-2")
            yield Event(pending[0].text("after the reconnection"), id="event-3")

        server.calls["slow"] = slow
        server.get_stream = resumed
        bridge = self.bridge(server, version=LEGACY)
        bridge.initialize()
        self.assertEqual(bridge.tool("slow"), "after the reconnection")
        again = [request for request in server.requests("/mcp", "GET") if request.header("Last-Event-ID")]
        self.assertEqual([request.header("Last-Event-ID") for request in again], ["event-1"])
        waited = again[0].at - server.messages("tools/call")[0].at
        self.assertGreaterEqual(waited, retry_seconds - 0.05)
        self.assertLess(waited, 2 * retry_seconds + 0.4)
        self.assertEqual(len(server.messages("tools/call")), 1, "the call was sent again")

    def test_request_metadata(self) -> None:
        server = self.server()
        rejections = [True]

        def listed(call):
            if rejections:
                rejections.pop()
                raise RPCFailure(-32022, "Unsupported protocol version", 400, {"supported": [MODERN]})
            return call.result(call.complete({"tools": []}))

        server.methods["tools/list"] = listed
        bridge = self.bridge(server)
        refusal = self.refuses(lambda: bridge.call("tools/list"))
        self.assertEqual((refusal.code, refusal.data), (-32022, {"supported": [MODERN]}))
        self.assertEqual(bridge.call("tools/list")["tools"], [])
        for request in server.messages():
            meta = request.message["params"]["_meta"]
            self.assertEqual(request.header("MCP-Protocol-Version"), meta[PROTOCOL_VERSION])
            self.assertEqual(meta[CLIENT_CAPABILITIES], {})

    def test_http_standard_headers(self) -> None:
        server = self.server()
        for method in ("resources/list", "resources/read", "prompts/list", "prompts/get"):
            server.methods[method] = lambda call: call.result(call.complete({}))
        names = ["my-hyphenated-tool", "größe", " padded ", "=?base64?eA==?=", "line\nbreak", "a b", "\ttab"]
        server.calls.update({name: lambda call: call.text("done") for name in names})
        bridge = self.bridge(server)
        bridge.call("server/discover")
        bridge.call("tools/list")
        for name in names:
            self.assertEqual(bridge.tool(name), "done")
        bridge.call("resources/list")
        bridge.call("resources/read", {"uri": "file:///path/to/file%20name.txt"})
        bridge.call("resources/read", {"uri": "https://example.com/resource?id=123"})
        bridge.call("prompts/list")
        bridge.call("prompts/get", {"name": "test_prompt"})
        # The server compares each header with the body, and a complaint fails this test.
        plain = {request.message["params"]["name"]: request.header("Mcp-Name")
                 for request in server.messages("tools/call")}
        self.assertEqual(plain["my-hyphenated-tool"], "my-hyphenated-tool")
        self.assertEqual(plain["a b"], "a b")
        for name in ("größe", " padded ", "=?base64?eA==?=", "line\nbreak", "\ttab"):
            self.assertTrue(plain[name].startswith("=?base64?"), plain[name])
        for request in server.messages("tools/list") + server.messages("resources/list"):
            self.assertIsNone(request.header("Mcp-Name"))

    ARGUMENTS = {
        "region": ("string", "Region", "us-west1"), "priority": ("integer", "Priority", 42),
        "verbose": ("boolean", "Verbose", False), "debug": ("boolean", "Debug", True),
        "empty": ("string", "EmptyVal", ""), "method": ("string", "Method", "test-method"),
        "nonAscii": ("string", "NonAscii", "Hello, 世界"), "padded": ("string", "Whitespace", " padded "),
        "inner": ("string", "InternalSpace", "us west 1"), "lines": ("string", "ControlChar", "line1\nline2"),
        "crlf": ("string", "CrLf", "line1\r\nline2"), "tab": ("string", "Tab", "\tindented"),
        "sentinel": ("string", "Sentinel", "=?base64?literal?="), "negative": ("integer", "Negative", -7),
        "float": ("number", None, 3.14159), "query": ("string", None, "SELECT * FROM users"),
    }

    def annotated(self):
        """The server of `http-custom-headers`, whose one tool mirrors what `ARGUMENTS` says."""
        server = self.server()
        properties = {name: {"type": kind, **({"x-mcp-header": header} if header else {})}
                      for name, (kind, header, _) in self.ARGUMENTS.items()}
        properties["nested"] = {"type": "object", "properties": {"place": {"type": "string", "x-mcp-header": "Place"}}}
        server.tools.append(tool("annotated", properties))
        server.calls["annotated"] = lambda call: call.text("done")
        return server

    def test_http_custom_headers(self) -> None:
        server = self.annotated()
        bridge = self.bridge(server)
        bridge.call("tools/list")
        values = {name: value for name, (_, _, value) in self.ARGUMENTS.items()}
        bridge.tool("annotated", **values, nested={"place": "Köln"})
        bridge.tool("annotated", region="us-east1", priority=1, verbose=None, query="SELECT 1")
        first, second = server.messages("tools/call")
        # That each is there and equals the body is checked by the server.
        sent = {name.lower(): value for name, value in first.headers.items() if name.lower().startswith("mcp-param-")}
        self.assertEqual(len(sent), 15, sent)
        self.assertEqual(sent["mcp-param-region"], "us-west1")
        self.assertEqual(sent["mcp-param-priority"], "42")
        self.assertEqual(sent["mcp-param-verbose"], "false")
        self.assertEqual(sent["mcp-param-internalspace"], "us west 1")
        for name in ("nonascii", "whitespace", "controlchar", "crlf", "tab", "sentinel", "place"):
            self.assertTrue(sent[f"mcp-param-{name}"].startswith("=?base64?"), sent)
        self.assertEqual(first.header("Mcp-Method"), "tools/call")
        sent = {name.lower() for name in second.headers if name.lower().startswith("mcp-param-")}
        self.assertEqual(sent, {"mcp-param-region", "mcp-param-priority"})

    def test_http_custom_headers_of_a_tool_that_was_not_listed(self) -> None:
        server = self.annotated()
        bridge = self.bridge(server)
        call = lambda: bridge.tool("annotated", region="eu")  # noqa: E731
        # A client may know the tool from another connection. The server refuses a call without the headers; either the
        # bridge lists the tools by itself, or its client hears the error and lists them.
        self.expects_complaints = True
        try:
            self.assertEqual(call(), "done")
        except Exception as error:
            self.assertEqual(getattr(error, "code", None), -32020, error)
            bridge.call("tools/list")
            self.assertEqual(call(), "done")
        self.assertEqual(server.ran()[-1].header("Mcp-Param-Region"), "eu")

    def test_http_invalid_tool_headers(self) -> None:
        server = self.server()
        one = lambda kind, header: {"value": {"type": kind, "x-mcp-header": header}}  # noqa: E731
        invalid = {
            "empty": one("string", ""), "object": one("object", "Data"), "array": one("array", "Items"),
            "null": one("null", "Nil"), "number": one("number", "Float"), "space": one("string", "My Region"),
            "colon": one("string", "Region:Primary"), "non_ascii": one("string", "Région"),
            "control": one("string", "Region\t1"), "line": one("string", "Region\r\nX: 1"),
            "same": {"a": {"type": "string", "x-mcp-header": "Region"}, "b": {"type": "string", "x-mcp-header": "Region"}},
            "same_but_case": {"a": {"type": "string", "x-mcp-header": "My"}, "b": {"type": "string", "x-mcp-header": "my"}},
            "not_text": one("string", 7),
            "in_items": {"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "Item"}}},
        }
        valid = tool("valid_tool", one("string", "Region"))
        server.tools = [valid, *(tool(f"invalid_{name}", value) for name, value in invalid.items()), tool("echo")]
        server.calls["valid_tool"] = lambda call: call.text("called")
        bridge = self.bridge(server)
        self.assertEqual([known["name"] for known in bridge.call("tools/list")["tools"]], ["valid_tool", "echo"])
        self.assertEqual(bridge.tool("valid_tool", value="here"), "called")
        for name in invalid:
            bridge.wait_for_error(f"invalid_{name}\\b")

    def test_sep_2322_client_request_state(self) -> None:
        server = self.server()
        state = '{"nonce": "a\\u0062c",  "spaces":"kept"}'
        asked = {"resultType": "input_required", "requestState": state, "inputRequests": {
            "confirm": {"method": "elicitation/create", "params": {"message": "Really?"}}}}

        def confirmed(call):
            if "inputResponses" not in call.params:
                return call.result(asked)
            return call.text(call.params.get("requestState", "no state"))

        server.calls["confirmed"] = confirmed
        bridge = self.bridge(server)
        params = {"name": "confirmed", "arguments": {}}
        found = bridge.call("tools/call", params)
        self.assertEqual(found, asked)
        answers = {"confirm": {"action": "accept", "content": {"confirmed": True}}}
        again = {**params, "inputResponses": answers, "requestState": found["requestState"]}
        self.assertEqual(bridge.call("tools/call", again)["content"][0]["text"], state)
        self.assertEqual(bridge.call("tools/call", {**params, "inputResponses": answers})["content"][0]["text"], "no state")
        self.assertEqual(bridge.tool("echo"), "{}")
        first, second, third, other = [request.message for request in server.messages("tools/call")]
        self.assertNotEqual(first["id"], second["id"])
        self.assertNotIn("requestState", third["params"])
        self.assertNotIn("inputResponses", other["params"])

    def test_elicitation_sep1034_client_defaults(self) -> None:
        """The defaults are applied by the client above the bridge, which must get them whole, and whose answer must arrive."""
        server = self.server()
        asked = {"jsonrpc": "2.0", "id": "ask-1", "method": "elicitation/create", "params": {
            "message": "Please confirm", "requestedSchema": {"type": "object", "properties": {
                "name": {"type": "string", "default": "John Doe"}, "age": {"type": "integer", "default": 30},
                "score": {"type": "number", "default": 95.5}, "verified": {"type": "boolean", "default": True},
                "status": {"type": "string", "enum": ["active", "inactive"], "default": "active"}}}}}

        def asking(call):
            yield Event(asked)
            server.released.wait(15)
            answer = [request.message for request in server.messages() if "result" in (request.message or {})]
            yield Event(call.text(json.dumps(answer[0]["result"]["content"], sort_keys=True)))

        server.calls["asking"] = asking
        bridge = self.bridge(server, version=LEGACY)
        bridge.initialize()
        identity = bridge.send("tools/call", {"name": "asking"})
        request = bridge.next("elicitation/create")
        self.assertEqual(request, asked)
        defaults = {name: value["default"] for name, value in request["params"]["requestedSchema"]["properties"].items()}
        bridge.respond("ask-1", {"action": "accept", "content": defaults})
        self.until(lambda: [known for known in server.messages() if "result" in (known.message or {})], "the answer")
        server.released.set()
        self.assertEqual(json.loads(bridge.result(identity)["content"][0]["text"]), defaults)

    def test_json_schema_ref_no_deref(self) -> None:
        elsewhere = Listener()
        self.addCleanup(elsewhere.close)
        server = self.server()
        reference = {"$ref": f"{elsewhere.origin}/schema.json"}
        server.tools.append(tool("referring", {"value": reference}))
        bridge = self.bridge(server)
        found = bridge.call("tools/list")["tools"][-1]
        self.assertEqual(found["inputSchema"]["properties"]["value"], reference)
        bridge.tool("echo")
        self.assertEqual(elsewhere.requests(), [])

    def test_json_schema_2020_12_preservation(self) -> None:
        server = self.server()
        schema = {
            "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
            "$defs": {"address": {"$anchor": "here", "type": "object", "properties": {"street": {"type": "string"}}}},
            "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
                           "zahl": {"type": "number", "multipleOf": 0.1, "maximum": 1e300}},
            "allOf": [{"anyOf": [{"required": ["name"]}, {"required": ["address"]}]}],
            "if": {"properties": {"name": {"const": "x"}}}, "then": {"required": ["address"]}, "else": {},
            "unevaluatedProperties": False, "additionalProperties": False,
        }
        for version in (MODERN, LEGACY):
            with self.subTest(version):
                # The very bytes: member order, escapes and numbers as the server wrote them.
                raw = json.dumps(schema)[:-1] + ', "x-order": {"b": 1.0, "a": 10e-1, "c": "\\u00fc/\\/"}}'
                body = ('{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","tools":[{"name":"t","inputSchema":'
                        + raw + "}]}}")
                server.methods["tools/list"] = lambda call: Response(
                    200, (body % call.id).encode(), (("Content-Type", "application/json"),))
                bridge = self.bridge(server, version=version)
                if version == LEGACY:
                    bridge.initialize()
                found = bridge.call("tools/list")["tools"][0]["inputSchema"]
                self.assertEqual(found, json.loads(raw))
                self.assertIn(raw.encode(), bridge.lines[-1])


class IdTests(MCPFixture):
    IDS = ["0", "-7", "123456789012345678901234567890", "1.0", "1e2", '"a"', '"\\u0061\\/"', '"ü 世界"', '""', '"1"']

    def test_everyId_isEchoedByteForByte(self) -> None:
        server = self.server()
        bridge = self.bridge(server)
        for text in self.IDS:
            with self.subTest(text):
                params = json.dumps(bridge.params({"name": "echo", "arguments": {}}))
                before = len(bridge.lines)
                bridge.write(f'{{"jsonrpc":"2.0","id":{text},"method":"tools/call","params":{params}}}\n'.encode())
                self.until(lambda: len(bridge.lines) > before, f"an answer to {text}")
                self.assertRegex(bridge.lines[-1].decode(), f'"id" ?: ?{re.escape(text)}[,}}]')
                self.assertNotIn(b'"error"', bridge.lines[-1])

    def test_requestsWithEqualIds_ofTwoTypes_areToldApart(self) -> None:
        server = self.server()
        server.calls["one"] = lambda call: call.text("number")
        server.calls["two"] = lambda call: call.text("text")
        bridge = self.bridge(server)
        bridge.send("tools/call", {"name": "one"}, identity=1)
        bridge.send("tools/call", {"name": "two"}, identity="1")
        self.assertEqual(bridge.result(1)["content"][0]["text"], "number")
        self.assertEqual(bridge.result("1")["content"][0]["text"], "text")


class BadInputTests(MCPFixture):
    def test_aLineThatIsNoMessage_isAnsweredByAnError_andTheNextCallWorks(self) -> None:
        server = self.server()
        bridge = self.bridge(server)
        for line in (b"{", b"nonsense", b"[]", b"7", b'{"jsonrpc":"2.0","id":1}', b'\xff\xfe', b'{"a":1}{"b":2}'):
            with self.subTest(line):
                before = len(bridge.lines)
                bridge.write(line + b"\n")
                self.until(lambda: len(bridge.lines) > before, f"an answer to {line!r}")
                self.assertIn(json.loads(bridge.lines[-1])["error"]["code"], (-32700, -32600))
                bridge._answers.clear()
        bridge.write(b"\n\r\n")
        self.assertEqual(bridge.tool("echo", a=1), '{"a": 1}')
        self.assertEqual(len(server.messages()), 1, "something else reached the server")

    def test_halfAMessageAtTheEndOfTheInput_isNotSent(self) -> None:
        server = self.server()
        bridge = self.bridge(server)
        bridge.tool("echo")
        whole = json.dumps({"jsonrpc": "2.0", "id": 9, "method": "tools/list", "params": bridge.params()}).encode()
        bridge.write(whole[:-1])
        self.assertEqual(bridge.close(), 0)
        self.assertEqual(server.messages("tools/list"), [])

    def test_aLineOfManyMegabytes_passesWhole(self) -> None:
        server = self.server()
        bridge = self.bridge(server)
        text = "ü" * (2 << 20)
        self.assertEqual(len(bridge.tool("echo", text=text)), len(text) + len('{"text": ""}'))


if __name__ == "__main__":
    unittest.main()
