internal import Secrets

/// Finds the refresh token in an answer that can't be read as a whole: a name that is no UTF-8, a neighbour nested
/// beyond the bound, a member that stands twice, an end that is missing, also since the response was cut. Nothing else
/// of such an answer is believed, but the successor of a token that was spent is the only one that lives.
///
/// Only the members of the outermost object, or of the first in an array, are looked at, each taken whole, and the name
/// must stand there once.
struct LenientTokenReader {
  private let bytes: UnsafeRawBufferPointer
  private var index = 0

  /// Nil if there is none, or two that differ.
  static func refreshToken(in body: Secret) -> Secret? {
    body.withBytes { bytes in
      var reader = LenientTokenReader(bytes: bytes)
      return reader.find().map { Secret(copying: UnsafeRawBufferPointer(rebasing: bytes[$0])) }
    }
  }

  private mutating func find() -> Range<Int>? {
    var found: Range<Int>?
    skipBlanks()
    if take("[") { skipBlanks() }
    guard take("{") else { return nil }
    repeat {
      skipBlanks()
      guard let name = string() else { break }
      skipBlanks()
      guard take(":") else { break }
      skipBlanks()
      if isText(name, "refresh_token") {
        // RFC 6749 Appendix A.17: printable ASCII; one that needs an escape is none.
        guard let value = string(), !value.isEmpty, bytes[value].allSatisfy(Self.isTokenByte) else { return nil }
        if let found, !bytes[found].elementsEqual(bytes[value]) { return nil }
        found = value
      } else {
        guard skipValue() else { break }
      }
      skipBlanks()
    } while take(",")
    return found
  }

  /// The bytes between two quotes.
  private mutating func string() -> Range<Int>? {
    guard take("\"") else { return nil }
    let start = index
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\""):
        index += 1
        return start..<(index - 1)
      case UInt8(ascii: "\\"): index += 2
      default: index += 1
      }
    }
    return nil
  }

  /// Passes over one value, however deep, without recursion; false if it has no end.
  private mutating func skipValue() -> Bool {
    var depth = 0
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\""):
        guard string() != nil else { return false }
        continue
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        if depth == 0 { return true }
        depth -= 1
      case UInt8(ascii: ",") where depth == 0: return true
      default: break
      }
      index += 1
    }
    return false
  }

  private mutating func skipBlanks() {
    while index < bytes.count, bytes[index] <= 0x20 { index += 1 }
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard index < bytes.count, bytes[index] == UInt8(ascii: character) else { return false }
    index += 1
    return true
  }

  private func isText(_ range: Range<Int>, _ text: StaticString) -> Bool {
    text.withUTF8Buffer { bytes[range].elementsEqual($0) }
  }

  private static func isTokenByte(_ byte: UInt8) -> Bool { (0x20...0x7E).contains(byte) && byte != UInt8(ascii: "\\") }
}
