public import JSONRPC

/// One line of the client: what the bridge has to know of it. The line itself goes to the server unchanged.
public struct ClientMessage: Sendable {
  public enum Kind: Sendable {
    case request(MessageID)
    case notification
    /// The answer to a request of the server.
    case response(MessageID?)
  }

  public var kind: Kind
  /// Empty for a response.
  public var method: String
  /// `params._meta["io.modelcontextprotocol/protocolVersion"]`: the message is of a revision without sessions. Nil for a
  /// message of 2025-11-25 or earlier.
  public var version: String?
  /// What `Mcp-Name` tells: the tool, the prompt or the resource. Nil for a method without it.
  public var target: String?
  /// The request that `notifications/cancelled` ends.
  public var cancelled: MessageID?
  /// `params._meta.progressToken`: the client is told of the request's progress under this name. Nil without one.
  public var progressToken: MessageID?
  /// The request is for a page of a list after the first one.
  public var hasCursor = false

  /// The longest message in bytes, of either side. A tool call with a large file has some megabytes, and JSON in ASCII
  /// writes some of its characters in six bytes.
  public static let maximumBytes = 64 << 20

  /// Reads a line.
  ///
  /// - Throws: `BridgeFailure` with the error of JSON-RPC 2.0 §5.1 for a line that is no message, or that can be read in
  ///   two ways: with a repeated key the header and the server could disagree.
  public init(_ line: UnsafeRawBufferPointer, _ tape: inout JSONTape) throws(UnreadableMessage) {
    do {
      try JSONScanner.scan(line, onto: &tape, duplicateKeys: .allowed)
    } catch {
      throw UnreadableMessage(nil, .parseError(isTooDeep: error == .tooDeep))
    }
    self = try tape.withRoot(of: line) { (root) throws(UnreadableMessage) in try ClientMessage(root) }
  }

  private init(_ root: JSONNode) throws(UnreadableMessage) {
    guard root.kind == .object else {
      throw UnreadableMessage(nil, .invalidRequest(root.kind == .array ? .batch : .noMessage))
    }
    let id = root["id"].flatMap { MessageID($0) }
    guard !root.hasDuplicateKeys else { throw UnreadableMessage(id, .invalidRequest(.repeatedKey)) }
    guard root["jsonrpc"]?.isText("2.0") == true else { throw UnreadableMessage(id, .invalidRequest(.noMessage)) }
    guard let method = root["method"] else {
      guard root["result"] != nil || root["error"] != nil else {
        throw UnreadableMessage(id, .invalidRequest(.noMessage))
      }
      kind = .response(id)
      self.method = ""
      return
    }
    guard let name = method.string else { throw UnreadableMessage(id, .invalidRequest(.noMessage)) }
    self.method = name
    if root["id"] != nil {
      guard let id else { throw UnreadableMessage(nil, .invalidRequest(.invalidID)) }
      kind = .request(id)
    } else {
      kind = .notification
    }
    guard let params = root["params"], params.kind == .object else { return }
    version = params["_meta"]?["io.modelcontextprotocol/protocolVersion"]?.string
    progressToken = params["_meta"]?["progressToken"].flatMap { MessageID($0) }
    hasCursor = params["cursor"] != nil
    switch name {
    case "tools/call", "prompts/get": target = params["name"]?.string
    case "resources/read": target = params["uri"]?.string
    case "notifications/cancelled": cancelled = params["requestId"].flatMap { MessageID($0) }
    default: break
    }
  }
}

/// A line that is no message of the client, and the error that answers it.
public struct UnreadableMessage: Error {
  /// The request's id, if it could be read.
  public let id: MessageID?
  public let failure: BridgeFailure

  init(_ id: MessageID?, _ failure: BridgeFailure) {
    self.id = id
    self.failure = failure
  }
}
