internal import CCurl

/// The request's fields as lines in memory that is wiped, and the linked list of them that libcurl reads in place.
final class HeaderList {
  private let lines: WipedBytes
  private let nodes: UnsafeMutableBufferPointer<curl_slist>
  /// A field is a secret.
  let hasSecret: Bool

  /// The head of the list.
  var list: UnsafeMutablePointer<curl_slist> { nodes.baseAddress! }

  /// Leaves out fields about the connection, which libcurl decides (RFC 9110 §7.6.1). Nil for a field that would end
  /// its line or begin another (RFC 9110 §5.5).
  init?(_ fields: [RequestField]) {
    let lines = WipedBytes(capacity: 2048)
    var starts: [Int] = []
    var names: Set<String> = []
    var hasSecret = false
    for field in fields {
      let name = field.name.lowercased()
      guard FieldSyntax.isToken(name) else { return nil }
      guard !Self.ownedByConnection.contains(name) else { continue }
      names.insert(name)
      starts.append(lines.count)
      let valid: Bool
      switch field.value {
      case .text(var text): valid = text.withUTF8 { Self.append(field.name, UnsafeRawBufferPointer($0), to: lines) }
      case .secret(let secret):
        hasSecret = true
        valid = secret.withBytes { Self.append(field.name, $0, to: lines) }
      }
      guard valid else { return nil }
    }
    // A name with nothing after the colon removes a field that libcurl adds by itself.
    for own in ["Expect", "Content-Type", "User-Agent", "Accept"] where !names.contains(own.lowercased()) {
      starts.append(lines.count)
      lines.append(own == "User-Agent" ? "User-Agent: lanyard/1" : own + ":")
      lines.append(0)
    }
    self.lines = lines
    self.hasSecret = hasSecret
    nodes = .allocate(capacity: starts.count)
    // The address stays valid as long as `lines`, which is written no more.
    let base = lines.withBytes { UnsafeMutableRawPointer(mutating: $0.baseAddress!) }
    for (index, start) in starts.enumerated() {
      let next = index + 1 < starts.count ? nodes.baseAddress! + index + 1 : nil
      nodes.initializeElement(
        at: index, to: curl_slist(data: (base + start).assumingMemoryBound(to: CChar.self), next: next))
    }
  }

  deinit { nodes.deallocate() }

  private static func append(_ name: String, _ value: UnsafeRawBufferPointer, to lines: WipedBytes) -> Bool {
    guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else { return false }
    lines.append(name)
    if value.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) {
      lines.append(";")  // libcurl's spelling of a field without a value
    } else {
      lines.append(": ")
      lines.append(value)
    }
    lines.append(0)
    return true
  }

  private static let ownedByConnection: Set<String> = [
    "connection", "content-length", "expect", "host", "keep-alive", "proxy-authorization", "proxy-connection", "te",
    "trailer", "transfer-encoding", "upgrade",
  ]
}

/// The syntax of names in HTTP.
enum FieldSyntax {
  /// RFC 9110 §5.6.2.
  static func isToken(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { isAlphanumeric($0) || "!#$%&'*+-.^_`|~".utf8.contains($0) }
  }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    byte &- UInt8(ascii: "0") < 10 || (byte | 0x20) &- UInt8(ascii: "a") < 26
  }
}
