internal import Glibc

/// The last line that was answered from memory. Most programs ask the same again and again, with another id: such a line
/// need not be scanned.
package struct RepeatedLine: ~Copyable {

  package init() {}
  /// The length of the longest line that is remembered.
  private static let bound = 256
  /// The digits of the longest id that is compared.
  private static let longestID = 18

  private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.bound, alignment: 8)
  /// What stands before the id, and after it; 0 while no line is remembered.
  private var (headCount, tailCount) = (0, 0)

  deinit { memory.deallocate() }

  /// The id of a line that is equal to the remembered one but for a number as its id; nil for any other line.
  package func id(in line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    let idCount = line.count - headCount - tailCount
    guard headCount > 0, idCount > 0, idCount <= Self.longestID,
      let start = line.baseAddress, let kept = memory.baseAddress,
      memcmp(start, kept, headCount) == 0, memcmp(start + headCount + idCount, kept + headCount, tailCount) == 0
    else { return nil }
    let id = UnsafeRawBufferPointer(start: start + headCount, count: idCount)
    return Self.isPlainNumber(id) ? id : nil
  }

  /// The ids of a batch, if each of its members is equal to the remembered line but for a number as its id; nil for any
  /// other line.
  package func ids(inBatch line: UnsafeRawBufferPointer) -> [UnsafeRawBufferPointer]? {
    guard headCount > 0, line.first == UInt8(ascii: "["), line.last == UInt8(ascii: "]") else { return nil }
    var ids: [UnsafeRawBufferPointer] = []
    var rest = line.dropFirst()
    while !rest.isEmpty {
      guard let id = idOfFirstMember(UnsafeRawBufferPointer(rebasing: rest)) else { return nil }
      ids.append(id)
      rest = rest.dropFirst(headCount + id.count + tailCount + 1)
    }
    return ids
  }

  /// The id of the member at the beginning of `rest`, which goes on with another member or with the end of the batch.
  private func idOfFirstMember(_ rest: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    var idCount = 0
    while headCount + idCount < rest.count, rest[headCount + idCount] &- UInt8(ascii: "0") <= 9 { idCount += 1 }
    let end = headCount + idCount + tailCount
    guard end < rest.count, rest[end] == (end == rest.count - 1 ? UInt8(ascii: "]") : UInt8(ascii: ",")) else {
      return nil
    }
    return id(in: UnsafeRawBufferPointer(rebasing: rest[..<end]))
  }

  /// Remembers a line, whose id stands in it. A line with an id of another kind is not remembered.
  package mutating func remember(_ line: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) {
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

  package mutating func forget() { (headCount, tailCount) = (0, 0) }

  /// Digits that are a number of JSON: without a zero before others (RFC 8259 §6).
  private static func isPlainNumber(_ id: UnsafeRawBufferPointer) -> Bool {
    guard let first = id.first, first != UInt8(ascii: "0") || id.count == 1 else { return false }
    for digit in id where digit &- UInt8(ascii: "0") > 9 { return false }
    return true
  }
}
