internal import AgentModel

/// The head of a server's answer to a request that passes. Its bytes go on as they are, but for the fields about the connection.
public struct PassedAnswer: Sendable {
  public let status: Int
  /// The head on the wire.
  public let bytes: [UInt8]
  /// The bytes behind the head.
  public let rest: [UInt8]

  /// The final answer is still to come (RFC 9110 section 15.2).
  public var isInterim: Bool { status < 200 && status != 101 }

  /// Nil as long as the head is not whole.
  ///
  /// - Throws: for a head that can't be read, and for an answer that the program did not ask for: another protocol than a
  ///   WebSocket's, or chunks in HTTP/1.0.
  public init?(_ received: [UInt8], to request: PassedRequest) throws(Refusal) {
    let start = Array("HTTP/1.".utf8)
    guard received.starts(with: start.prefix(received.count)) else { throw HandshakeAnswer.malformed }
    guard let (lines, end) = Self.lines(received) else {
      guard received.count <= HandshakeAnswer.mostBytes else { throw HandshakeAnswer.malformed }
      return nil
    }
    let words = lines[0].split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
    guard words.count >= 2, words[1].count == 3, let status = Int(String(decoding: words[1], as: UTF8.self)),
      status >= 100, status != 101 || request.isWebSocket
    else { throw HandshakeAnswer.malformed }
    let fields = Self.fields(lines.dropFirst())
    guard request.isHTTP11 || !fields.contains(where: { $0.name == "transfer-encoding" }) else {
      throw HandshakeAnswer.malformed
    }
    (self.status, rest) = (status, Array(received[end...]))
    var dropped: Set<String> = []
    // The fields of a 101 are about the protocol that the connection has from now on.
    if status != 101 {
      dropped = Self.ofConnection
      for field in fields where field.name == "connection" {
        let value = field.bytes.drop { $0 != UInt8(ascii: ":") }.dropFirst()
        dropped.formUnion(FieldSyntax.tokens(of: String(decoding: value, as: UTF8.self)))
      }
      // They frame the body, which goes on as it is.
      dropped.subtract(["content-length", "transfer-encoding"])
    }
    var bytes = lines[0] + Self.lineEnd
    for field in fields where !dropped.contains(field.name) { bytes += field.bytes + Self.lineEnd }
    // A client must not send its next request on this connection: it might be for another server.
    if status >= 200 { bytes += Array("Connection: close".utf8) + Self.lineEnd }
    self.bytes = Array(bytes + Self.lineEnd)
  }

  private static let ofConnection: Set<String> = ["connection", "keep-alive", "proxy-connection", "upgrade"]
  private static let lineEnd: [UInt8] = [0x0D, 0x0A]

  /// The lines before the empty one, and where the body begins. RFC 9112 section 2.2: a line may end in a bare LF.
  private static func lines(_ bytes: [UInt8]) -> (lines: [ArraySlice<UInt8>], end: Int)? {
    var lines: [ArraySlice<UInt8>] = []
    var start = 0
    while let end = bytes[start...].firstIndex(of: 0x0A) {
      let line = bytes[start..<end]
      start = end + 1
      if line.isEmpty || line.elementsEqual([0x0D]) { return (lines, start) }
      lines.append(line.last == 0x0D ? line.dropLast() : line)
    }
    return nil
  }

  /// Each field with its name in lower case. A folded line belongs to the field before it.
  private static func fields(_ lines: ArraySlice<ArraySlice<UInt8>>) -> [(name: String, bytes: ArraySlice<UInt8>)] {
    var fields: [(name: String, bytes: ArraySlice<UInt8>)] = []
    for line in lines {
      if let first = line.first, FieldSyntax.isBlank(first), let last = fields.popLast() {
        fields.append((last.name, last.bytes + lineEnd + line))
      } else {
        let name = line.prefix { $0 != UInt8(ascii: ":") && !FieldSyntax.isBlank($0) }
        fields.append((String(decoding: name.map(FieldSyntax.lowered), as: UTF8.self), line))
      }
    }
    return fields
  }
}
