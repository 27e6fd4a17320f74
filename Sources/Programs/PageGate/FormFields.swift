/// The names and values of a form or of an address's query (`application/x-www-form-urlencoded`), read strictly.
package struct FormFields: Sendable {
  /// By name; of a name that comes twice the last.
  package private(set) var values: [String: String] = [:]

  private static let most = 64

  /// Which control characters a value may have.
  package enum Lines: Sendable {
    /// None: the query of an address.
    case none
    /// Line ends and tabs, as a text field sends them.
    case allowed
  }

  /// Nil for what no form sends: an escape that is none, text that is not UTF-8, a control character, too many fields.
  package init?(_ bytes: some Sequence<UInt8>, lines: Lines) {
    let fields = Array(bytes).split(separator: UInt8(ascii: "&"))
    guard fields.count <= Self.most else { return nil }
    for field in fields {
      let mark = field.firstIndex(of: UInt8(ascii: "=")) ?? field.endIndex
      guard let name = Self.text(field[..<mark], lines: .none),
        let value = Self.text(field[mark...].dropFirst(), lines: lines)
      else { return nil }
      values[name] = value
    }
  }

  package subscript(name: String) -> String? { values[name] }

  private static func text(_ bytes: ArraySlice<UInt8>, lines: Lines) -> String? {
    var plain: [UInt8] = []
    plain.reserveCapacity(bytes.count)
    var rest = bytes
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "+"): plain.append(0x20)
      case UInt8(ascii: "%"):
        guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else { return nil }
        plain.append(high << 4 | low)
      default: plain.append(byte)
      }
    }
    let isClean = plain.allSatisfy { byte in
      byte >= 0x20 && byte != 0x7F || lines == .allowed && [0x09, 0x0A, 0x0D].contains(byte)
    }
    return isClean ? String(validating: plain, as: UTF8.self) : nil
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
