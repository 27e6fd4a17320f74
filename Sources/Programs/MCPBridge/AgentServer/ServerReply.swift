public import JSONRPC

/// The lines that the agent's own server writes, each a whole JSON-RPC message without its newline.
public enum ServerReply {
  /// For how long a client may keep a list: the tools never change while the program runs.
  private static let keptMilliseconds: Int64 = 3_600_000

  /// The answer to a request that needs no agent. Nil: `tools/call`, which does.
  ///
  /// - Parameters:
  ///   - line: the message; `message` was read from it.
  ///   - version: the version of this program.
  public static func immediate(
    to message: ClientMessage, _ id: MessageID, in line: UnsafeRawBufferPointer, version: String,
    _ tape: inout JSONTape
  ) -> [UInt8]? {
    if let wanted = message.version, wanted != ProtocolVersion.modern { return unsupported(wanted, id) }
    let isModern = message.version != nil
    switch message.method {
    case "tools/call": return nil
    case "initialize" where !isModern:
      // The message was scanned when it was read.
      var wanted: String?
      if (try? JSONScanner.scan(line, onto: &tape)) != nil {
        wanted = tape.withRoot(of: line) { $0["params"]?["protocolVersion"]?.string }
      }
      return result(id, isModern: false) { writer in
        writer.member("protocolVersion", ProtocolVersion.negotiated(wanted))
        about(version, &writer)
      }
    case "server/discover" where isModern:
      return result(id, isModern: true) { writer in
        writer.member("supportedVersions", ProtocolVersion.all)
        about(version, &writer)
        cached(&writer)
      }
    case "ping": return result(id, isModern: isModern) { _ in }
    case "tools/list":
      return result(id, isModern: isModern) { writer in
        writer.key("tools")
        writer.beginArray()
        for tool in AgentTool.allCases { tool.write(to: &writer) }
        writer.endArray()
        if isModern { cached(&writer) }
      }
    default: return BridgeFailure.methodNotFound(message.method).line(id: id)
    }
  }

  /// The result of a tool.
  public static func toolResult(_ result: ToolResult, to id: MessageID, isModern: Bool) -> [UInt8] {
    self.result(id, isModern: isModern) { result.write(to: &$0) }
  }

  /// `notifications/progress` (2025-11-25, Progress): `progress` grows with each.
  public static func progress(_ token: MessageID, _ progress: Double, message: String) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("jsonrpc", "2.0")
    writer.member("method", "notifications/progress")
    writer.key("params")
    writer.beginObject()
    writer.key("progressToken")
    token.raw.withUnsafeBytes { writer.raw($0) }
    writer.key("progress")
    writer.number(progress)
    writer.member("message", message)
    writer.endObject()
    writer.endObject()
    return writer.withBytes { [UInt8]($0) }
  }

  private static func result(_ id: MessageID, isModern: Bool, _ members: (inout JSONWriter) -> Void) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("jsonrpc", "2.0")
    writer.key("id")
    id.raw.withUnsafeBytes { writer.raw($0) }
    writer.key("result")
    writer.beginObject()
    if isModern { writer.member("resultType", "complete") }
    members(&writer)
    writer.endObject()
    writer.endObject()
    return writer.withBytes { [UInt8]($0) }
  }

  private static func about(_ version: String, _ writer: inout JSONWriter) {
    writer.key("capabilities")
    writer.beginObject()
    writer.key("tools")
    writer.beginObject()
    writer.endObject()
    writer.endObject()
    writer.key("serverInfo")
    writer.beginObject()
    writer.member("name", "lanyard")
    writer.member("title", "Lanyard: the person's accounts")
    writer.member("version", version)
    writer.endObject()
    writer.member("instructions", AgentTool.instructions)
  }

  private static func cached(_ writer: inout JSONWriter) {
    writer.member("ttlMs", keptMilliseconds)
    writer.member("cacheScope", "private")
  }

  /// 2026-07-28, Protocol Version Negotiation.
  private static func unsupported(_ wanted: String, _ id: MessageID) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("jsonrpc", "2.0")
    writer.key("id")
    id.raw.withUnsafeBytes { writer.raw($0) }
    writer.key("error")
    writer.beginObject()
    writer.member("code", -32022)
    writer.member("message", "This server does not speak that version of MCP.")
    writer.key("data")
    writer.beginObject()
    writer.member("supported", ProtocolVersion.all)
    writer.member("requested", wanted)
    writer.endObject()
    writer.endObject()
    writer.endObject()
    return writer.withBytes { [UInt8]($0) }
  }
}
