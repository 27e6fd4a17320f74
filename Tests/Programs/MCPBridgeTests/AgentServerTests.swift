import JSONRPC
import MCPBridge
import Testing

/// What the agent's own server of MCP answers by itself, and how it reads the arguments of its tools.
@Suite struct AgentServerTests {
  private func reply(_ line: String) throws -> String? {
    var tape = JSONTape()
    return try Array(line.utf8).withUnsafeBytes { bytes in
      let message = try ClientMessage(bytes, &tape)
      guard case .request(let id) = message.kind else { return nil }
      return ServerReply.immediate(to: message, id, in: bytes, version: "1.2.3", &tape)
        .map { String(decoding: $0, as: UTF8.self) }
    }
  }

  private func withJSON<Result>(_ text: String, _ body: (JSONNode) throws -> Result) throws -> Result {
    var tape = JSONTape()
    return try Array(text.utf8).withUnsafeBytes { bytes in
      try JSONScanner.scan(bytes, onto: &tape)
      return try tape.withRoot(of: bytes) { try body($0) }
    }
  }

  private func arguments(_ tool: String, _ json: String) throws -> ToolArguments? {
    try withJSON(#"{"name":"\#(tool)","arguments":\#(json)}"#) { try ToolArguments($0) }
  }

  @Test(
    "initialize is answered in the client's version, or in the latest with a handshake",
    arguments: [
      ("2025-11-25", "2025-11-25"), ("2025-03-26", "2025-03-26"), ("2026-07-28", "2025-11-25"), ("1", "2025-11-25"),
    ])
  func negotiated(wanted: String, answered: String) throws {
    let line = #"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"\#(wanted)"}}"#
    let told = try #require(try reply(line))
    #expect(told.contains(#""id":7"#) && told.contains(#""protocolVersion":"\#(answered)""#))
    #expect(!told.contains("resultType") && !told.contains("\n"))
  }

  @Test func messagesThatNameTheirVersion_areAnsweredInIt() throws {
    func line(_ version: String, _ method: String) -> String {
      #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"\#(version)"}}}"#
    }
    let found = try #require(try reply(line("2026-07-28", "server/discover")))
    #expect(found.contains(#""resultType":"complete""#) && found.contains(#""supportedVersions":["2026-07-28","#))
    let refused = try #require(try reply(line("2030-01-01", "tools/list")))
    #expect(refused.contains("-32022") && refused.contains(#""requested":"2030-01-01""#))
    // Without a handshake there is no such method, and with one no such other.
    #expect(try reply(line("2026-07-28", "initialize"))?.contains("-32601") == true)
    #expect(try reply(#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#)?.contains("-32601") == true)
    #expect(try reply(line("2026-07-28", "tools/call")) == nil)
  }

  @Test("each argument of a schema is read by its type, and no other", arguments: AgentTool.allCases)
  func schema(of tool: AgentTool) throws {
    let list = try #require(try reply(#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#))
    let samples = [
      "string": #""text""#, "integer": "5", "array": #"["text"]"#, "object": #"{"Field":"value"}"#,
    ]
    let (types, required) = try withJSON(list) { root in
      let found = try #require(root["result"]?["tools"]?.elements.first { $0["name"]?.string == tool.rawValue })
      let schema = try #require(found["inputSchema"])
      #expect(schema["additionalProperties"]?.bool == false)
      let types = schema["properties"].map { properties in
        properties.members.map { ($0.key.string ?? "", $0.value["type"]?.string ?? "") }
      }
      return (types ?? [], schema["required"]?.elements.compactMap(\.string) ?? [])
    }
    // Two bodies are one too many.
    let members = types.filter { $0.0 != "bodyBase64" }.map { #""\#($0.0)":\#(samples[$0.1] ?? "")"# }
    #expect(throws: Never.self) { try arguments(tool.rawValue, "{\(members.joined(separator: ","))}") }
    for (name, type) in types {
      let other = type == "string" ? "5" : #""text""#
      #expect(throws: ToolArguments.Problem.self, "\(name)") {
        try arguments(tool.rawValue, #"{"\#(name)":\#(other)}"#)
      }
    }
    for name in required {
      let rest = members.filter { !$0.hasPrefix(#""\#(name)":"#) }
      #expect(throws: ToolArguments.Problem.self, "\(name)") {
        try arguments(tool.rawValue, "{\(rest.joined(separator: ","))}")
      }
    }
    #expect(throws: ToolArguments.Problem.self) { try arguments(tool.rawValue, #"{"token":"x"}"#) }
  }

  @Test(
    "a number is within the bounds of its schema",
    arguments: [("request", "timeoutSeconds"), ("ask_access", "waitSeconds")])
  func bounds(tool: String, name: String) throws {
    let list = try #require(try reply(#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#))
    let (least, most) = try withJSON(list) { root in
      let found = try #require(root["result"]?["tools"]?.elements.first { $0["name"]?.string == tool })
      let number = try #require(found["inputSchema"]?["properties"]?.members.first { $0.key.string == name }?.value)
      return (try #require(number["minimum"]?.integer), try #require(number["maximum"]?.integer))
    }
    func read(_ number: Int64) throws -> Int64? {
      let rest = tool == "request" ? #""url":"u""# : #""origins":["o"],"reason":"r""#
      return try arguments(tool, #"{\#(rest),"\#(name)":\#(number)}"#)?.number(name)
    }
    #expect(try read(least) == least && read(most) == most)
    for number in [least - 1, most + 1] {
      #expect(throws: ToolArguments.Problem.self) { try read(number) }
    }
  }

  @Test func anUnknownToolHasNoArguments() throws {
    #expect(try arguments("token", "{}") == nil)
    #expect(try arguments("accounts", "null")?.tool == .accounts)
  }

  @Test func progressNamesTheTokenAsTheClientWroteIt() throws {
    var tape = JSONTape()
    let line =
      #"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"can","_meta":{"progressToken":"\u0061"}}}"#
    let token = try Array(line.utf8).withUnsafeBytes { try ClientMessage($0, &tape).progressToken }
    let told = String(decoding: ServerReply.progress(try #require(token), 0.000_002, message: "m"), as: UTF8.self)
    try withJSON(told) { root in
      #expect(root["method"]?.string == "notifications/progress" && root["id"] == nil)
      #expect(root["params"]?["progress"]?.double == 0.000_002)
    }
    #expect(told.contains(#""progressToken":"\u0061""#))
  }

  @Test(
    "after a refusal an AI agent is told to ask, to stop or to wait, and never to look for a credential",
    arguments: [
      ("notPermitted", nil, "ask_access"), ("notPermitted", nil, "a body in a GET or HEAD"),
      ("notPermitted", "tokenRepeated", "Do not send it again"),
      ("notPermitted", "grantRefused", "Tell the person: `lanyard grant create`"),
      ("denied", "declined", "do not try another way"),
      ("denied", "notApproved", "send it again"), ("denied", "missingRole", "does not allow"),
      ("denied", "onlineRequired", "Send it again in a moment"), ("denied", "freshTokenRequired", "again in a moment"),
      ("overloaded", "responseTooLarge", "Ask for less at once"), ("overloaded", nil, "Try again later"),
      ("signedOut", nil, "never ask for a password"), ("somethingNew", nil, "Tell the person"),
    ] as [(String, String?, String)])
  func nextStep(name: String, reason: String?, words: String) {
    let text = NextStep.text(after: name, reason: reason, in: .request)
    #expect(text.contains(words))
  }

  @Test("a grant that has all of a wish is no yes of the person, and the words tell what can't be asked for")
  func nothingToAsk() {
    let text = NextStep.nothingToAsk("acr_1")
    #expect(text.hasPrefix("allowed: your grant has all of this now") && !text.contains("said yes"))
    #expect(text.contains("an account that your grant does not have") && text.hasSuffix("(acr_1)"))
  }

  @Test func refusalOfTheProxy_keepsItsWords() throws {
    func failure(_ body: String) -> BridgeFailure? {
      var tape = JSONTape()
      return Array(body.utf8).withUnsafeBytes { BridgeFailure(refusalOfProxy: $0, status: 403, &tape) }
    }
    let told = try #require(failure(#"{"error":{"name":"declined","message":"A person said no."}}"#))
    #expect(told.name == "declined" && told.message == "A person said no." && told.status == 403)
    #expect(failure(#"{"error":"access_denied"}"#) == nil && failure("no") == nil)
  }

  @Test func bytesOfAnAnswerAreAPictureOrAResource() throws {
    func content(_ type: String) throws -> String {
      let result = ToolResult([.bytes(base64: "AA==", mediaType: type, url: "https://api.example/a")])
      var tape = JSONTape()
      let id = try #require(
        try Array(#"{"jsonrpc":"2.0","id":1,"method":"x"}"#.utf8).withUnsafeBytes { bytes in
          if case .request(let id) = try ClientMessage(bytes, &tape).kind { id } else { nil }
        })
      return String(decoding: ServerReply.toolResult(result, to: id, isModern: true), as: UTF8.self)
    }
    #expect(try content("image/png").contains(#"{"type":"image","data":"AA==","mimeType":"image/png"}"#))
    #expect(try content("application/zip").contains(#""blob":"AA==""#))
  }
}
