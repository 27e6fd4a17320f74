internal import AgentModel
package import Secrets

/// The body of an answer as it goes to a caller: text where that is short, else Base64.
package struct WireBody {
  package private(set) var text: String?
  package private(set) var base64: String?

  /// Text in UTF-8 is passed on as text, unless the escapes of JSON would make it more than twice as long: a control
  /// character takes six bytes (`\u0001`), and in Base64 one and a third.
  package init(_ body: Secret) {
    text = body.withBytes { Self.isShortAsText($0) ? String(validating: $0, as: UTF8.self) : nil }
    base64 = text == nil ? body.withBytes { Base64.encode($0) } : nil
  }

  private static func isShortAsText(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var escaped = 0
    for byte in bytes {
      switch byte {
      case 0x22, 0x5C, 0x08, 0x09, 0x0A, 0x0C, 0x0D: escaped += 2
      case 0x00..<0x20: escaped += 6
      default: escaped += 1
      }
    }
    return escaped <= 2 * bytes.count
  }
}
