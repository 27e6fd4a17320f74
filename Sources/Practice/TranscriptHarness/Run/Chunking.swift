/// The division of sent bytes into writes.
public enum Chunking: String, CaseIterable, Sendable {
  /// One line at a time.
  case whole
  /// One byte at a time.
  case bytes
  /// All consecutive lines of a script at once.
  case coalesced

  /// The writes of one line.
  func pieces(_ bytes: [UInt8]) -> [[UInt8]] {
    guard self == .bytes else { return [bytes] }
    // The middle of a very long text is sent in larger pieces of an odd size.
    let edge = 1500
    guard bytes.count > 2 * edge else { return bytes.map { [$0] } }
    let middle = Array(bytes[edge..<(bytes.count - edge)])
    let large = stride(from: 0, to: middle.count, by: 4093).map { Array(middle[$0..<min($0 + 4093, middle.count)]) }
    return bytes.prefix(edge).map { [$0] } + large + bytes.suffix(edge).map { [$0] }
  }
}
