import Foundation

/// Base64 for URLs without padding (RFC 4648 section 5, RFC 7515 section 2). A second opinion, by Foundation, beside
/// the agent's `Base64URL` of `AgentModel`.
package enum Base64URL {
  package static func encode(_ bytes: some Sequence<UInt8>) -> String {
    let characters = Data(bytes).base64EncodedString().utf8.compactMap { character -> UInt8? in
      switch character {
      case UInt8(ascii: "+"): UInt8(ascii: "-")
      case UInt8(ascii: "/"): UInt8(ascii: "_")
      case UInt8(ascii: "="): nil
      default: character
      }
    }
    return String(decoding: characters, as: UTF8.self)
  }

  package static func decode(_ text: String) -> [UInt8]? {
    guard !text.contains(where: { "+/=".contains($0) }) else { return nil }
    let plain = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
    let padded = plain + String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)
    return Data(base64Encoded: padded).map { [UInt8]($0) }
  }
}
