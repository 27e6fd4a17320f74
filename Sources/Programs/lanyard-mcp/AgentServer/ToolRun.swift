internal import CommandSupport
internal import Glibc
internal import JSONRPC
internal import MCPBridge
internal import Threads

/// Runs one tool call: asks the agent, and tells the client of the progress while it waits.
struct ToolRun {
  let server: AgentServer
  let call: ToolCall

  private var arguments: ToolArguments { call.arguments }

  /// The agent's longest wait for a person, and a refresh and an answer after it.
  private static let patienceSeconds = 420
  private static let usualAccessSeconds: Int64 = 120
  /// How often the agent is asked what became of a wish: a grant for requests alone gets no events.
  private static let accessPauseMilliseconds: Int32 = 2_000
  /// As `CallWatch` has it: clients give up a call of which they are told nothing, many after a minute.
  private static let progressMilliseconds = 5_000

  func result() -> ToolResult {
    do throws(CommandFailure) {
      return switch arguments.tool {
      case .accounts: try accounts()
      case .can: try can()
      case .request: try request()
      case .askAccess: try askAccess()
      case .operations: try operations()
      }
    } catch {
      return Self.result(of: error, in: arguments.tool)
    }
  }

  private static func result(of failure: CommandFailure, in tool: AgentTool) -> ToolResult {
    let reason = failure.denialReason
    let told = Text.shown(failure.message + (reason.map { " Reason: \($0)." } ?? ""))
    // The tools' arguments have the names of the contract's parameters.
    let expected = failure.problem.map { " " + Text.shown($0.parameterHint) } ?? ""
    let hints = failure.hints.filter { $0 != failure.problem?.hint }.map { Text.shown($0) }
    let forPerson = hints.isEmpty ? "" : "\nFor the person: " + hints.joined(separator: " ")
    let next = NextStep.text(after: failure.name, reason: reason, in: tool) + expected
    return ToolResult("\(told) (\(failure.name))\nNext: \(next)\(forPerson)", isError: true)
  }

  private var account: String { arguments.text("account") ?? server.options.account }

  /// The call ends with the client's wish for it; until then the client is told that it waits.
  private var watch: CallWatch { CallWatch(end: call.cancelled.descriptor) { seconds in tell(seconds) } }

  private func tell(_ seconds: Int) {
    guard let token = call.progressToken, !call.answer.isGivenUp else { return }
    server.output.write(ServerReply.progress(token, Double(seconds), message: Self.waitingWords(arguments.tool)))
  }

  private static func waitingWords(_ tool: AgentTool) -> String {
    switch tool {
    case .request: "Waiting for the server, or for the person's yes."
    case .askAccess: "Waiting for the person."
    case .accounts, .can, .operations: "Waiting for the agent."
    }
  }

  // MARK: the tools

  private func accounts() throws(CommandFailure) -> ToolResult {
    try server.agent.call("account.list", watch: watch) { list in
      let names: [StaticString] = ["id", "alias", "provider", "state", "active", "displayName", "email"]
      return ToolResult(
        Self.json("accounts", list["accounts"]) { account, writer in
          Self.copy(names, of: account, to: &writer)
        })
    }
  }

  private func can() throws(CommandFailure) -> ToolResult {
    try server.agent.call("policy.explain", watch: watch) { writer in
      writer.member("account", account)
      writer.member("capability", arguments.text("capability"))
    } result: { decision in
      let words = NextStep.words(for: decision["effect"]?.string ?? "deny", reason: decision["reason"]?.string)
      var writer = JSONWriter()
      writer.beginObject()
      Self.copy(["capability", "effect", "reason", "failed", "remedies", "validForSeconds"], of: decision, to: &writer)
      writer.endObject()
      return ToolResult(words + "\n" + writer.withBytes { String(decoding: $0, as: UTF8.self) })
    }
  }

  private func request() throws(CommandFailure) -> ToolResult {
    let url = arguments.text("url") ?? ""
    let own = arguments.number("timeoutSeconds")
    return try server.agent.call(
      "request.send", isRepeatable: false, patienceSeconds: own.map { Int($0) } ?? Self.patienceSeconds, watch: watch
    ) { writer in
      writer.member("account", account)
      writer.member("method", (arguments.text("method") ?? "GET").uppercased())
      writer.member("url", url)
      if !arguments.headers.isEmpty {
        writer.key("headers")
        writer.beginObject()
        for field in arguments.headers {
          writer.key(field.name)
          writer.string(field.value)
        }
        writer.endObject()
      }
      writer.member("body", arguments.text("body"))
      writer.member("bodyBase64", arguments.text("bodyBase64"))
      writer.member("idempotencyKey", arguments.text("idempotencyKey"))
      writer.member("timeoutSeconds", own)
    } result: { (answer) throws(CommandFailure) in
      guard let status = answer["status"]?.integer else { throw .notUnderstood }
      return ToolResult(Self.content(of: answer, status, url), isError: status >= 400)
    }
  }

  /// The status and the header fields, then the body.
  private static func content(of answer: JSONNode, _ status: Int64, _ url: String) -> [ToolResult.Content] {
    var lines = ["HTTP \(status)"]
    var mediaType = "application/octet-stream"
    for field in answer["headers"].map({ Array($0.members) }) ?? [] {
      guard let name = field.key.string, let value = field.value.string else { continue }
      lines.append("\(name): \(value)")
      if name.lowercased() == "content-type", let type = value.split(separator: ";").first {
        mediaType = type.lowercased().filter { !$0.isWhitespace }
      }
    }
    var content: [ToolResult.Content] = [.text(lines.joined(separator: "\n"))]
    if let body = answer["body"]?.string, !body.isEmpty { content.append(.text(body)) }
    if let body = answer["bodyBase64"]?.string, !body.isEmpty {
      content.append(.bytes(base64: body, mediaType: mediaType, url: url))
    }
    return content
  }

  private func askAccess() throws(CommandFailure) -> ToolResult {
    let wait = Int(arguments.number("waitSeconds") ?? Self.usualAccessSeconds) * 1_000
    let began = MonotonicTime.now
    var toldAt = began
    var hasWaited = false
    while true {
      let (request, status) = try askOnce()
      let now = MonotonicTime.now
      if status == "allowed", !hasWaited { return ToolResult(NextStep.nothingToAsk(request)) }
      hasWaited = true
      guard status == "waiting", now - began < wait else { return Self.access(request, status) }
      if now - toldAt >= Self.progressMilliseconds {
        toldAt = now
        tell((now - began) / 1_000)
      }
      // The wait between two calls ends with the call, too.
      var entry = pollfd(fd: call.cancelled.descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&entry, 1, Self.accessPauseMilliseconds) == 0 else { return Self.access(request, status) }
    }
  }

  private func askOnce() throws(CommandFailure) -> (request: String, status: String) {
    try server.agent.call("access.request", watch: CallWatch(end: call.cancelled.descriptor)) { writer in
      writer.member("origins", arguments.list("origins"))
      for name in ["methods", "capabilities"] as [String] where !arguments.list(name).isEmpty {
        writer.key(name)
        writer.beginArray()
        for text in arguments.list(name) { writer.string(text) }
        writer.endArray()
      }
      writer.member("reason", arguments.text("reason"))
    } result: { (answer) throws(CommandFailure) in
      guard let request = answer["request"]?.string, let status = answer["status"]?.string else { throw .notUnderstood }
      return (request, status)
    }
  }

  private static func access(_ request: String, _ status: String) -> ToolResult {
    switch status {
    case "allowed": ToolResult("allowed: the person said yes, and your grant covers it now. (\(request))")
    case "denied":
      ToolResult("denied: the person said no. Do not ask again and do not try another way. (\(request))")
    default:
      ToolResult(
        """
        \(status): the person has not decided yet, and it waits on. They can decide with `lanyard approvals allow \(request)`. \
        Call ask_access again with the same arguments to go on waiting.
        """)
    }
  }

  private func operations() throws(CommandFailure) -> ToolResult {
    try server.agent.call("operation.list", watch: watch) { writer in
      writer.member("account", account)
      writer.member("status", arguments.text("status"))
    } result: { list in
      // Without payloads, bodies and answers, which may be another program's.
      let names: [StaticString] = [
        "operation", "status", "capability", "label", "attempts", "enqueuedAt", "nextAttemptAt",
      ]
      return ToolResult(
        Self.json("operations", list["operations"]) { operation, writer in
          Self.copy(names, of: operation, to: &writer)
          if let request = operation["request"] { Self.copy(["method", "url"], of: request, to: &writer) }
          writer.member("rejected", operation["rejection"]?["reason"]?.string)
          writer.member("lastError", operation["lastError"]?["name"]?.string)
        })
    }
  }

  // MARK: writing

  private static func copy(_ names: [StaticString], of node: JSONNode, to writer: inout JSONWriter) {
    for name in names {
      guard let value = node[name] else { continue }
      writer.key(name)
      writer.raw(value.raw)
    }
  }

  /// `{name: [each element as `write` has it]}`.
  private static func json(
    _ name: StaticString, _ list: JSONNode?, _ write: (JSONNode, inout JSONWriter) -> Void
  ) -> String {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key(name)
    writer.beginArray()
    for element in list.map({ Array($0.elements) }) ?? [] {
      writer.beginObject()
      write(element, &writer)
      writer.endObject()
    }
    writer.endArray()
    writer.endObject()
    return writer.withBytes { String(decoding: $0, as: UTF8.self) }
  }
}
