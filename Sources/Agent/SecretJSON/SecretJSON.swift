package import AgentModel
package import JSONRPC
package import Secrets

/// JSON with secrets in it: records before they are sealed, and the answers of providers. The text and its secret
/// members stand in guarded memory only.
package enum SecretJSON {
  package static func write(_ body: (inout JSONWriter) -> Void) -> Secret {
    var writer = JSONWriter(capacity: 1024)
    writer.beginObject()
    body(&writer)
    writer.endObject()
    return writer.withBytes { Secret(copying: $0) }
  }

  /// Nil if the text is no JSON, or if `body` returns nil. Unknown members are passed over.
  package static func read<Result>(
    _ plain: Secret, duplicateKeys: JSONScanner.DuplicateKeys = .refused, _ body: (JSONNode) -> Result?
  ) -> Result? {
    plain.withBytes { bytes in
      var tape = JSONTape()
      guard (try? JSONScanner.scan(bytes, onto: &tape, duplicateKeys: duplicateKeys)) != nil else { return nil }
      return tape.withRoot(of: bytes) { body($0) }
    }
  }
}

extension JSONNode {
  /// The text of a string, moved into guarded memory without a copy between.
  package var secret: Secret? {
    guard kind == .string else { return nil }
    return Secret(SecretBytes(capacity: textCapacity) { copyText(into: $0) })
  }

  package var strings: [String]? {
    guard kind == .array else { return nil }
    return elements.compactMap(\.string)
  }

  /// The pairs of an object below this one; none if it is not there.
  package func members(of name: StaticString) -> [(key: JSONNode, value: JSONNode)] {
    self[name].map { Array($0.members) } ?? []
  }

  package var timestamp: Timestamp? { integer.map(Timestamp.init(milliseconds:)) }
}

extension JSONWriter {
  package mutating func member(_ name: StaticString, _ secret: Secret?) {
    guard let secret else { return }
    key(name)
    secret.withBytes { string(utf8: $0) }
  }
}
