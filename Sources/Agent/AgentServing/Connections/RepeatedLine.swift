internal import Glibc

/// The last line that was answered from memory. Most programs ask the same again and again, with another id: such a line
/// need not be scanned.
struct RepeatedLine: ~Copyable {
  /// The length of the longest line that is remembered.
  private static let bound = 256
  /// The digits of the longest id that is compared.
  private static let longestID = 18

  private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.bound, alignment: 8)
  /// What stands before the id, and after it; 0 while no line is remembered.
  private var (headCount, tailCount) = (0, 0)

  deinit { memory.deallocate() }

  /// The id of a line that is equal to the remembered one but for a number as its id; nil for any other line.
  func id(in line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    let idCount = line.count - headCount - tailCount
    guard headCount > 0, idCount > 0, idCount <= Self.longestID,
      let start = line.baseAddress, let kept = memory.baseAddress,
      memcmp(start, kept, headCount) == 0, memcmp(start + headCount + idCount, kept + headCount, tailCount) == 0
    else { return nil }
    let id = UnsafeRawBufferPointer(start: start + headCount, count: idCount)
    return Self.isPlainNumber(id) ? id : nil
  }

  /// Remembers a line, whose id stands in it. A line with an id of another kind is not remembered.
  mutating func remember(_ line: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) {
    forget()
    guard line.count <= Self.bound + id.count, let start = line.baseAddress, let idStart = id.baseAddress,
      Self.isPlainNumber(id)
    else { return }
    headCount = idStart - start
    tailCount = line.count - headCount - id.count
    memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: line[..<headCount]))
    UnsafeMutableRawBufferPointer(rebasing: memory[headCount...])
      .copyMemory(from: UnsafeRawBufferPointer(rebasing: line[(headCount + id.count)...]))
  }

  mutating func forget() { (headCount, tailCount) = (0, 0) }

  /// Digits that are a number of JSON: without a zero before others (RFC 8259 §6).
  private static func isPlainNumber(_ id: UnsafeRawBufferPointer) -> Bool {
    guard let first = id.first, first != UInt8(ascii: "0") || id.count == 1 else { return false }
    for digit in id where digit &- UInt8(ascii: "0") > 9 { return false }
    return true
  }
}
