public import JSONRPC

/// An error that the bridge itself answers to a request (docs/mcp.md, Errors).
public struct BridgeFailure: Error, Sendable {
  /// JSON-RPC 2.0 §5.1, or of the range that MCP leaves to implementations (-32000 to -32019).
  public let code: Int64
  /// `data.name`.
  public let name: String
  /// For the person: what happened and what to do.
  public var message: String
  /// Further members of `data`.
  public var data: [(String, String)] = []
  /// `data.status`: of HTTP.
  public var status: Int?

  public init(_ code: Int64, _ name: String, _ message: String) {
    self.code = code
    self.name = name
    self.message = message
  }

  /// The codes of the bridge.
  public enum Code {
    public static let signInNeeded: Int64 = -32001
    public static let notSent: Int64 = -32010
    public static let outcomeUnknown: Int64 = -32011
    public static let refused: Int64 = -32012
    public static let sessionEnded: Int64 = -32013
    public static let limit: Int64 = -32014
    public static let authorizationFailed: Int64 = -32015
  }

  /// Why a line is no message.
  enum InvalidRequest: String {
    case batch = "A line holds one message, not a batch of them."
    case noMessage = "The line is not a JSON-RPC 2.0 message."
    case repeatedKey = "The message repeats a key, so that it could be read in two ways."
    case invalidID = "The id of a request is a string or a number."
  }

  static func parseError(isTooDeep: Bool) -> BridgeFailure {
    let most = JSONScanner.maximumDepth
    return isTooDeep
      ? BridgeFailure(-32700, "tooDeep", "The message is nested deeper than \(most) levels.")
      : BridgeFailure(-32700, "parseError", "The line is not JSON.")
  }

  static func invalidRequest(_ why: InvalidRequest) -> BridgeFailure {
    BridgeFailure(-32600, "\(why)", why.rawValue)
  }

  public static let tooLong = BridgeFailure(
    -32600, "tooLong", "The message is longer than \(ClientMessage.maximumBytes >> 20) MiB. It was not sent.")
  public static let repeatedID = BridgeFailure(
    -32600, "repeatedId", "A request with this id is still being worked on. This one was not sent.")
  public static let tooMany = BridgeFailure(
    Code.limit, "tooManyRequests", "Too many requests are being worked on. This one was not sent; try again later.")
  public static let ending = BridgeFailure(Code.notSent, "ending", "The bridge is ending. The request was not sent.")
  public static let lost = BridgeFailure(
    Code.outcomeUnknown, "lost",
    "The connection ended before the answer. The server may have carried out the request; it was not sent again.")
  public static let unanswered = BridgeFailure(
    Code.outcomeUnknown, "unanswered",
    "The server ended its answer without a response. It may have carried out the request; it was not sent again.")
  public static let sessionEnded = BridgeFailure(
    Code.sessionEnded, "sessionEnded",
    "The server has ended the session. Initialize again: most clients do that when the server is restarted in them.")
  public static let malformed = BridgeFailure(
    Code.refused, "malformed", "The server's answer is not an MCP message. It may have carried out the request.")
  public static let tooLarge = BridgeFailure(
    Code.limit, "tooLarge",
    "The server's answer is longer than \(ClientMessage.maximumBytes >> 20) MiB. It may have carried out the request.")
  public static let repeatsToken = BridgeFailure(
    Code.refused, "repeatsToken",
    "The server's answer repeats the access token, so it was dropped. The server may have carried out the request.")

  public static func methodNotFound(_ name: String) -> BridgeFailure {
    BridgeFailure(-32601, "methodNotFound", "This server has no method \(name).")
  }
  public static func invalidParams(_ what: String) -> BridgeFailure { BridgeFailure(-32602, "invalidParams", what) }

  public static func refused(status: Int) -> BridgeFailure {
    var failure = BridgeFailure(
      Code.refused, "refused", "The server answered with the HTTP status \(status) and without an MCP message.")
    failure.status = status
    return failure
  }

  /// The refusal of Lanyard's proxy (docs/proxy.md, Decisions), whose sentence says what helps. Nil for another body.
  public init?(refusalOfProxy body: UnsafeRawBufferPointer, status: Int, _ tape: inout JSONTape) {
    guard (try? JSONScanner.scan(body, onto: &tape)) != nil else { return nil }
    let told = tape.withRoot(of: body) { root -> (String, String)? in
      guard let name = root["error"]?["name"]?.string, let text = root["error"]?["message"]?.string else { return nil }
      return (name, text)
    }
    guard let (name, text) = told else { return nil }
    self.init(Code.authorizationFailed, name, text)
    self.status = status
  }

  /// A whole line, without its newline. `id` is nil where the request could not be read.
  public func line(id: MessageID?) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("jsonrpc", "2.0")
    writer.key("id")
    if let id { id.raw.withUnsafeBytes { writer.raw($0) } } else { writer.null() }
    writer.key("error")
    writer.beginObject()
    writer.member("code", code)
    writer.member("message", message)
    writer.key("data")
    writer.beginObject()
    writer.member("name", name)
    writer.member("status", status.map { Int64($0) })
    for (name, value) in data {
      writer.key(name)
      writer.string(value)
    }
    writer.endObject()
    writer.endObject()
    writer.endObject()
    return writer.withBytes { [UInt8]($0) }
  }
}
