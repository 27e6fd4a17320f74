public import JSONRPC

/// A message of the server: what the bridge has to know of it.
public struct ServerMessage: Sendable {
  public enum Kind: Sendable {
    /// `id` is nil for an error without one, or with null.
    case response(MessageID?)
    case request(MessageID)
    case notification
  }

  public var kind: Kind
  /// Where the id of a response stands.
  private var idRange = 0..<0
  public var method: String?
  /// The code of an error response.
  public var errorCode: Int64?
  /// `result.protocolVersion`, of the answer to `initialize`.
  public var negotiatedVersion: String?

  /// Nil for bytes that are no JSON-RPC 2.0 message.
  public init?(_ bytes: UnsafeRawBufferPointer, _ tape: inout JSONTape) {
    guard (try? JSONScanner.scan(bytes, onto: &tape, duplicateKeys: .allowed)) != nil else { return nil }
    let message = tape.withRoot(of: bytes) { root -> ServerMessage? in
      var message = ServerMessage(root)
      if let raw = root["id"]?.raw {
        let start = raw.baseAddress! - bytes.baseAddress!
        message?.idRange = start..<(start + raw.count)
      }
      return message
    }
    guard let message else { return nil }
    self = message
  }

  /// The response with the id as the client wrote it. `bytes` are those that the message was read from; nil if they
  /// have it already.
  public func spelled(_ id: MessageID, in bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    guard case .response(_?) = kind, !idRange.isEmpty, !bytes[idRange].elementsEqual(id.raw) else { return nil }
    return [UInt8](bytes[..<idRange.lowerBound]) + id.raw + bytes[idRange.upperBound...]
  }

  /// Nil for a value that is no JSON-RPC 2.0 message.
  public init?(_ root: JSONNode) {
    guard root.kind == .object, root["jsonrpc"]?.isText("2.0") == true, !Self.repeatsMember(root) else { return nil }
    let id = root["id"].flatMap { MessageID($0) }
    if let name = root["method"] {
      guard let text = name.string else { return nil }
      method = text
      if root["id"] == nil {
        kind = .notification
      } else {
        guard let id else { return nil }
        kind = .request(id)
      }
      return
    }
    if let error = root["error"] {
      guard error.kind == .object else { return nil }
      errorCode = error["code"]?.integer
      kind = .response(id)
      return
    }
    guard let result = root["result"], let id else { return nil }
    negotiatedVersion = result["protocolVersion"]?.string
    kind = .response(id)
  }

  /// The client could read another answer than the bridge, to another request.
  private static func repeatsMember(_ root: JSONNode) -> Bool {
    let names: [StaticString] = ["id", "method", "result", "error"]
    return names.contains { name in root.members.count { $0.key.isText(name) } > 1 }
  }

  /// An error of the server that names no request, as the answer to `id`. Nil for bytes that are no error response.
  public static func error(
    _ bytes: UnsafeRawBufferPointer, for id: MessageID, _ tape: inout JSONTape
  ) -> [UInt8]? {
    guard (try? JSONScanner.scan(bytes, onto: &tape, duplicateKeys: .allowed)) != nil else { return nil }
    return tape.withRoot(of: bytes) { root -> [UInt8]? in
      guard let error = root["error"], error.kind == .object, error["code"]?.integer != nil else { return nil }
      var writer = JSONWriter()
      writer.beginObject()
      writer.member("jsonrpc", "2.0")
      writer.key("id")
      id.raw.withUnsafeBytes { writer.raw($0) }
      writer.key("error")
      writer.raw(error.raw)
      writer.endObject()
      return writer.withBytes { [UInt8]($0) }
    }
  }
}

/// A message as one line.
public enum OneLine {
  /// The message without line breaks, which JSON has only between its values; the caller has scanned it.
  public static func of(_ message: UnsafeRawBufferPointer) -> [UInt8] {
    message.contains { $0 == 0x0A || $0 == 0x0D } ? message.filter { $0 != 0x0A && $0 != 0x0D } : [UInt8](message)
  }
}
