internal import AgentModel
internal import Secrets

/// A token answer as a form (`application/x-www-form-urlencoded`), which some servers send though JSON was asked for.
/// Values stand in guarded memory.
struct FormAnswer {
  private var pairs: [(name: String, value: Secret)] = []

  /// More members are none of a token answer.
  private static let mostMembers = 64

  /// Nil if the body is no form: it begins with no name, or a member has no `=`.
  init?(_ body: Secret) {
    let isForm = body.withBytes { bytes in
      var text = bytes[...].drop { $0 <= 0x20 }
      while let last = text.last, last <= 0x20 { text = text.dropLast() }
      guard let first = text.first, Self.isOfName(first) else { return false }
      let members = text.split(separator: UInt8(ascii: "&"), maxSplits: Self.mostMembers)
      guard members.count <= Self.mostMembers else { return false }
      for member in members {
        guard let mark = member.firstIndex(of: UInt8(ascii: "=")), member[..<mark].allSatisfy(Self.isOfName) else {
          return false
        }
        var value = SecretBuilder(capacity: member.count)
        // A value that can't be decoded is none; it spoils no other.
        guard PercentCoding.decode(member[(mark + 1)...], form: true, { value.append($0) }) else { continue }
        pairs.append((String(decoding: member[..<mark], as: UTF8.self), value.finish()))
      }
      return true
    }
    guard isForm else { return nil }
  }

  /// Nil if it is missing or empty.
  subscript(name: String) -> Secret? { pairs.first { $0.name == name && $0.value.count > 0 }?.value }

  func text(_ name: String) -> String? { self[name]?.withBytes { String(validating: $0, as: UTF8.self) } }

  func count(of name: String) -> Int { pairs.count { $0.name == name } }

  /// The names of a token answer are letters, digits, `_`, `-` and `.` (RFC 6749 §8.2).
  private static func isOfName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
      true
    default: false
    }
  }
}
