internal import AgentModel

/// An account's id as numbers: found without a String, and compared without a look elsewhere in memory. Two texts are
/// one key only if they are one text.
struct AccountKey: Hashable {
  /// The 26 digits of base 32, five bits each.
  private let first, second: UInt64
  private let last: UInt16

  /// From the text of the wire; nil for what is no account's id.
  init?(_ text: UnsafeRawBufferPointer) {
    guard text.count == 30, text[0] == UInt8(ascii: "a"), text[1] == UInt8(ascii: "c"), text[2] == UInt8(ascii: "c"),
      text[3] == UInt8(ascii: "_"), let first = Self.number(text[4..<16]), let second = Self.number(text[16..<28]),
      let last = Self.number(text[28..<30])
    else { return nil }
    self.first = first
    self.second = second
    self.last = UInt16(truncatingIfNeeded: last)
  }

  init(_ id: AccountID) {
    var text = id.text
    self = text.withUTF8 { AccountKey(UnsafeRawBufferPointer($0))! }
  }

  /// Ids are random, and nobody else makes them: a part of one is as good a hash as all of it.
  func hash(into hasher: inout Hasher) { hasher.combine(first) }

  private static func number(_ digits: Slice<UnsafeRawBufferPointer>) -> UInt64? {
    var number: UInt64 = 0
    for byte in digits {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"): number = number << 5 | UInt64(byte - UInt8(ascii: "a"))
      case UInt8(ascii: "2")...UInt8(ascii: "7"): number = number << 5 | UInt64(byte - UInt8(ascii: "2") + 26)
      default: return nil
      }
    }
    return number
  }
}
