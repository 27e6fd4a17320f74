internal import JSONRPC

/// The constraints of a string in the contract.
struct TextRule: Sendable {
  /// Length in code points (JSON Schema 2020-12 §6.3.1).
  let length: ClosedRange<Int>
  let pattern: TextPattern?

  init(_ length: ClosedRange<Int>, _ pattern: TextPattern? = nil) {
    self.length = length
    self.pattern = pattern
  }

  func allows(_ text: UnsafeRawBufferPointer) -> Bool {
    Self.fits(text, length) && pattern?.matches(text) ?? true
  }

  static func fits(_ text: UnsafeRawBufferPointer, _ length: ClosedRange<Int>) -> Bool {
    // A code point has 1 to 4 bytes, so most texts need no counting.
    if text.count <= length.upperBound, length.lowerBound <= (text.isEmpty ? 0 : 1) { return true }
    return length.contains(text.count { $0 & 0xC0 != 0x80 })
  }

  var expected: String {
    if let pattern { return "string like \(pattern.source)" }
    if length.lowerBound == 0 { return "string of at most \(length.upperBound) characters" }
    return "string of \(length.lowerBound) to \(length.upperBound) characters"
  }
}

/// A pattern of the dialect (Schemas/README.md). One greedy pass matches it, without backtracking.
struct TextPattern: Sendable {
  /// A set of ASCII characters as two bit masks, repeated `count` times.
  struct Run: Sendable {
    let low: UInt64
    let high: UInt64
    let count: ClosedRange<Int>

    init(_ low: UInt64, _ high: UInt64, _ count: ClosedRange<Int>) {
      self.low = low
      self.high = high
      self.count = count
    }

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
      byte < 64 ? low >> UInt64(byte) & 1 == 1 : byte < 128 && high >> UInt64(byte - 64) & 1 == 1
    }
  }

  let source: StaticString
  let forbiddenPrefix: StaticString
  let runs: [Run]

  init(_ source: StaticString, butNot forbiddenPrefix: StaticString = "", _ runs: [Run]) {
    self.source = source
    self.forbiddenPrefix = forbiddenPrefix
    self.runs = runs
  }

  func matches(_ text: UnsafeRawBufferPointer) -> Bool {
    let prefix = UnsafeRawBufferPointer(start: forbiddenPrefix.utf8Start, count: forbiddenPrefix.utf8CodeUnitCount)
    if !prefix.isEmpty, text.starts(with: prefix) { return false }
    var position = 0
    for run in runs {
      let start = position
      while position < text.count, position - start < run.count.upperBound, run.contains(text[position]) {
        position += 1
      }
      guard position - start >= run.count.lowerBound else { return false }
    }
    return position == text.count
  }
}
