internal import AgentModel
internal import CCurl

/// The request's fields as lines in memory that is wiped, and the linked list of them that libcurl reads in place.
package final class HeaderList: @unchecked Sendable {
  // Written in init only; the list is lent to the one thread that runs the transfer.
  private let lines: any TransferMemory
  private let nodes: UnsafeMutableBufferPointer<curl_slist>
  /// A field is a secret.
  package let hasSecret: Bool

  /// The head of the list.
  var list: UnsafeMutablePointer<curl_slist> { nodes.baseAddress! }

  /// Leaves out fields about the connection, which libcurl decides (RFC 9110 §7.6.1). Nil for a field that would end
  /// its line or begin another (RFC 9110 §5.5).
  ///
  /// - Parameters:
  ///   - memory: for the lines.
  ///   - removing: fields that libcurl adds by itself and that are not wanted, unless they are among `fields`.
  package init?(
    _ fields: [(name: String, value: TransferFieldValue)], in memory: any TransferMemory.Type,
    removing: [StaticString] = ["Content-Type"]
  ) {
    var (pieces, hasSecret): ([Line], Bool) = ([], false)
    for (name, value) in fields {
      guard FieldSyntax.isToken(name) else { return nil }
      guard !Self.ownedByConnection.contains(name.lowercased()) else { continue }
      let line = Line(name, value)
      guard line.isValid else { return nil }
      if case .secret = value { hasSecret = true }
      pieces.append(line)
    }
    func isPresent(_ lowercased: String) -> Bool { pieces.contains { FieldSyntax.isName($0.name, lowercased) } }
    if !isPresent("user-agent") { pieces.append(Line("User-Agent", .text("lanyard/1"))) }
    for own in (["Expect"] + removing).map(\.description) where !isPresent(own.lowercased()) {
      pieces.append(Line(removing: own))
    }
    lines = memory.filled(count: pieces.reduce(0) { $0 + $1.count }) { buffer in
      var rest = buffer[...]
      for piece in pieces { piece.write(to: &rest) }
    }
    self.hasSecret = hasSecret
    nodes = .allocate(capacity: pieces.count)
    // The address stays valid as long as `lines`, which is written no more.
    var start = UnsafeMutableRawPointer(mutating: lines.bytes.baseAddress!)
    for (index, piece) in pieces.enumerated() {
      let next = index + 1 < pieces.count ? nodes.baseAddress! + index + 1 : nil
      nodes.initializeElement(at: index, to: curl_slist(data: start.assumingMemoryBound(to: CChar.self), next: next))
      start += piece.count
    }
  }

  deinit { nodes.deallocate() }

  private static let ownedByConnection: Set<String> = [
    "connection", "content-length", "expect", "host", "keep-alive", "proxy-authorization", "proxy-connection", "te",
    "trailer", "transfer-encoding", "upgrade",
  ]
}

/// A line in libcurl's spelling, and the NUL that ends it.
private struct Line {
  let name: String
  private let separator: String
  private let value: TransferFieldValue

  init(_ name: String, _ value: TransferFieldValue) {
    (self.name, self.value) = (name, value)
    let isEmpty = Self.lend(value) { $0.allSatisfy(FieldSyntax.isBlank) }
    separator = isEmpty ? ";" : ": "
  }

  /// A name with nothing after the colon removes a field that libcurl adds by itself.
  init(removing name: String) { (self.name, separator, value) = (name, ":", .text("")) }

  var isValid: Bool { Self.lend(value) { FieldSyntax.isValue($0) } }
  var count: Int { name.utf8.count + separator.utf8.count + valueCount + 1 }
  private var valueCount: Int { separator == ";" ? 0 : Self.lend(value) { $0.count } }

  /// Writes the line to the front of `buffer`, and leaves the rest.
  func write(to buffer: inout Slice<UnsafeMutableRawBufferPointer>) {
    var place = UnsafeMutableRawBufferPointer(rebasing: buffer[..<(buffer.startIndex + count)])
    buffer = buffer[(buffer.startIndex + count)...]
    for text in [name, separator] {
      place.copyBytes(from: text.utf8)
      place = UnsafeMutableRawBufferPointer(rebasing: place[text.utf8.count...])
    }
    Self.lend(value) { place.copyBytes(from: $0.prefix(valueCount)) }
    place[valueCount] = 0
  }

  private static func lend<Result>(
    _ value: TransferFieldValue, _ body: (UnsafeRawBufferPointer) -> Result
  ) -> Result {
    switch value {
    case .text(var text): text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    case .secret(let memory): memory.withBytes(body)
    }
  }
}
