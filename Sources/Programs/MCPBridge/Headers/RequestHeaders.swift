/// The header fields that the transport demands of a POST, beside those of the credential.
public enum RequestHeaders {
  public static let accept = "application/json, text/event-stream"

  /// For a message of a revision without sessions (MCP 2026-07-28, Streamable HTTP, Request Metadata).
  public static func modern(
    _ message: ClientMessage, version: String, parameters: [(name: String, value: String)]
  ) -> [(name: String, value: String)] {
    var fields = [
      ("MCP-Protocol-Version", HeaderValue.encode(version)), ("Mcp-Method", HeaderValue.encode(message.method)),
    ]
    if let target = message.target { fields.append(("Mcp-Name", HeaderValue.encode(target))) }
    return fields + parameters
  }

  /// For a message of 2025-11-25 or earlier (Streamable HTTP, Session Management, Protocol Version Header).
  public static func legacy(_ session: LegacySession) -> [(name: String, value: String)] {
    var fields: [(String, String)] = []
    if let version = session.version { fields.append(("MCP-Protocol-Version", version)) }
    if let id = session.id { fields.append(("Mcp-Session-Id", id)) }
    return fields
  }
}
