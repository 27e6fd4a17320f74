/// A place in a JSON file for people, both numbers from 1. Columns are characters, as editors count them.
public struct JSONTextPosition: Hashable, Sendable {
  public var line: Int
  public var column: Int

  /// The place of a byte. An offset past the end is the place after the last character.
  public init(ofOffset offset: Int, in bytes: UnsafeRawBufferPointer) {
    let before = bytes.prefix(min(offset, bytes.count))
    line = before.count { $0 == 0x0A } + 1
    let lineStart = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
    column = String(decoding: before[lineStart...], as: UTF8.self).count + 1
  }

  /// The place at which the text stops being JSON; nil if it is JSON.
  public init?(ofErrorIn bytes: UnsafeRawBufferPointer) {
    guard let offset = JSONScanner.failurePosition(in: bytes) else { return nil }
    self.init(ofOffset: offset, in: bytes)
  }
}
