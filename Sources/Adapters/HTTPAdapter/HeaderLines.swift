internal import AgentPorts
internal import CCurl
internal import Secrets

/// The request's fields as lines in guarded memory, and the linked list of them that libcurl reads in place.
final class HeaderLines: @unchecked Sendable {
  // Written in init only; the list is lent to the one thread that runs the transfer.
  private let lines: Secret
  private let nodes: UnsafeMutableBufferPointer<curl_slist>

  /// The head of the list.
  var list: UnsafeMutablePointer<curl_slist> { nodes.baseAddress! }

  /// Leaves out fields about the connection, which this adapter decides (RFC 9110 §7.6.1). Nil for a field that would
  /// end its line or begin another (RFC 9110 §5.5).
  init?(_ fields: [HTTPField]) {
    var builder = SecretBuilder(capacity: 1024)
    var starts: [Int] = []
    var names: Set<String> = []
    for field in fields {
      guard FieldSyntax.isToken(field.name) else { return nil }
      guard !Self.ownedByConnection.contains(field.name.lowercased()) else { continue }
      names.insert(field.name.lowercased())
      starts.append(builder.count)
      let valid =
        switch field.value {
        case .text(var text): text.withUTF8 { Self.append(field.name, UnsafeRawBufferPointer($0), to: &builder) }
        case .secret(let secret): secret.withBytes { Self.append(field.name, $0, to: &builder) }
        }
      guard valid else { return nil }
    }
    // A name with nothing after the colon removes a field that libcurl adds by itself.
    var own = ["Expect:"]
    if !names.contains("content-type") { own.append("Content-Type:") }
    if !names.contains("user-agent") { own.append("User-Agent: lanyard/1") }
    for line in own {
      starts.append(builder.count)
      builder.append(line)
      builder.append(0)
    }
    lines = builder.finish()
    nodes = .allocate(capacity: starts.count)
    // The address stays valid as long as `lines`, which only this object references.
    let base = lines.withBytes { UnsafeMutableRawPointer(mutating: $0.baseAddress!) }
    for (index, start) in starts.enumerated() {
      let next = index + 1 < starts.count ? nodes.baseAddress! + index + 1 : nil
      nodes.initializeElement(
        at: index, to: curl_slist(data: (base + start).assumingMemoryBound(to: CChar.self), next: next))
    }
  }

  deinit { nodes.deallocate() }

  private static func append(
    _ name: String, _ value: UnsafeRawBufferPointer, to builder: inout SecretBuilder
  ) -> Bool {
    guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else { return false }
    builder.append(name)
    if value.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) {
      builder.append(";")  // libcurl's spelling of a field without a value
    } else {
      builder.append(": ")
      builder.append(value)
    }
    builder.append(0)
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

  static func isAlphanumeric(_ byte: UInt8) -> Bool {
    byte &- UInt8(ascii: "0") < 10 || (byte | 0x20) &- UInt8(ascii: "a") < 26
  }
}
