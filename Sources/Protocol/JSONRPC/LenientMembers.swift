/// The members of the outermost object, or of the first one in an array, in a text that can't be read as a whole: a name
/// that is no UTF-8, a neighbour nested beyond the bound, an end that is missing. Each member is taken whole.
///
/// For the few members whose loss would be worse than a reading of a broken text; all others need `JSONScanner`.
public struct LenientMembers: Sequence, IteratorProtocol {
  public enum Value: Sendable {
    /// The bytes between two quotes, escapes as they stand.
    case text(Range<Int>)
    /// A number, a list, an object or a word.
    case other(Range<Int>)
    /// The text ends within it.
    case cut
  }

  private let bytes: UnsafeRawBufferPointer
  private var index = 0
  private var isOver = false

  public init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
    skipBlanks()
    if take("[") { skipBlanks() }
    isOver = !take("{")
  }

  /// The bytes of the name between its quotes, and the value.
  public mutating func next() -> (name: Range<Int>, value: Value)? {
    guard !isOver else { return nil }
    isOver = true
    skipBlanks()
    guard let name = string() else { return nil }
    skipBlanks()
    guard take(":") else { return nil }
    skipBlanks()
    let isText = index < bytes.count && bytes[index] == UInt8(ascii: "\"")
    let value: Value
    if isText {
      guard let text = string() else { return (name, .cut) }
      value = .text(text)
    } else {
      let start = index
      guard skipValue() else { return (name, .cut) }
      var end = index
      while end > start, bytes[end - 1] <= 0x20 { end -= 1 }
      value = .other(start..<end)
    }
    skipBlanks()
    isOver = !take(",")
    return (name, value)
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
}
