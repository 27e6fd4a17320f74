import Glibc

/// Writes a line of JSON into memory that is wiped on release, so that a token never passes through a `String` or an
/// `Array`.
public struct JSONWriter: ~Copyable {
  private var memory: UnsafeMutableRawBufferPointer
  /// Number of bytes written, without referred ones.
  public private(set) var count = 0
  private var needsComma = false
  /// Bytes that are referred to instead of copied, in order.
  private var inserts: [WireBytes.Insert] = []
  /// What the finished line keeps.
  public var kept: [any AnyObject & Sendable] = []

  /// An empty writer with room for `capacity` bytes; it grows when needed.
  public init(capacity: Int = 512) {
    memory = .allocate(byteCount: max(capacity, 64), alignment: 8)
  }

  deinit { release() }

  /// Bytes after the first `count` were never written, or are wiped.
  private func release() {
    guard let base = memory.baseAddress else { return }
    explicit_bzero(base, count)
    memory.deallocate()
  }

  /// Lends the bytes written so far. The line must not refer to `SharedBytes`.
  public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    precondition(inserts.isEmpty)
    return body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<count]))
  }

  /// The finished line, without a copy.
  public consuming func finish() -> WireBytes {
    defer { memory = UnsafeMutableRawBufferPointer(start: nil, count: 0) }
    return WireBytes(memory: memory, count: count, inserts: inserts, keeping: kept)
  }

  /// Wipes the content and keeps the memory for another line, unless it has become large.
  public mutating func reset() {
    explicit_bzero(memory.baseAddress!, count)
    count = 0
    if !inserts.isEmpty { inserts = [] }
    if !kept.isEmpty { kept = [] }
    needsComma = false
    guard memory.count > Self.keptBytes else { return }
    memory.deallocate()
    memory = .allocate(byteCount: 4096, alignment: 8)
  }

  /// More memory is given back by `reset`.
  private static let keptBytes = 64 << 10

  /// What is written next stands by itself, and not behind a value of the line before.
  public mutating func beginLine() { needsComma = false }

  /// Wipes what was written after the first `count` bytes. The line must not refer to `SharedBytes`.
  public mutating func drop(to count: Int) {
    precondition(inserts.isEmpty && count <= self.count)
    explicit_bzero(memory.baseAddress! + count, self.count - count)
    self.count = count
  }

  private mutating func reserve(_ more: Int) {
    guard count + more > memory.count else { return }
    let larger = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(memory.count * 2, count + more), alignment: 8)
    larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<count]))
    release()
    memory = larger
  }

  // MARK: bytes

  /// Writes bytes that are JSON, such as an id as received or a prepared line.
  public mutating func verbatim(_ bytes: UnsafeRawBufferPointer) {
    reserve(bytes.count)
    UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: bytes)
    count += bytes.count
  }

  /// Writes some of the written bytes again. The line must not refer to `SharedBytes`.
  public mutating func again(_ range: Range<Int>) {
    precondition(inserts.isEmpty && range.upperBound <= count)
    reserve(range.count)
    verbatim(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[range]))
  }

  /// Writes constant text that is JSON.
  public mutating func verbatim(_ text: StaticString) {
    verbatim(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// Refers to bytes that are JSON.
  public mutating func verbatim(_ piece: SharedBytes) {
    inserts.append(WireBytes.Insert(position: count, piece: piece))
  }

  /// Writes one byte.
  public mutating func byte(_ byte: UInt8) {
    reserve(1)
    memory[count] = byte
    count += 1
  }

  // MARK: structure

  private mutating func separate() {
    if needsComma { byte(UInt8(ascii: ",")) }
    needsComma = true
  }

  public mutating func beginObject() { open(UInt8(ascii: "{")) }
  public mutating func endObject() { close(UInt8(ascii: "}")) }
  public mutating func beginArray() { open(UInt8(ascii: "[")) }
  public mutating func endArray() { close(UInt8(ascii: "]")) }

  private mutating func open(_ bracket: UInt8) {
    separate()
    byte(bracket)
    needsComma = false
  }

  private mutating func close(_ bracket: UInt8) {
    byte(bracket)
    needsComma = true
  }

  /// Writes the name of the next member, which needs no escapes.
  public mutating func key(_ name: StaticString) {
    separate()
    byte(UInt8(ascii: "\""))
    verbatim(name)
    verbatim("\":")
    needsComma = false
  }

  /// Writes the name of the next member, escaped as needed.
  public mutating func key(_ name: String) {
    string(name)
    byte(UInt8(ascii: ":"))
    needsComma = false
  }

  // MARK: values

  public mutating func null() { value("null") }
  public mutating func bool(_ bool: Bool) { value(bool ? "true" : "false") }

  private mutating func value(_ text: StaticString) {
    separate()
    verbatim(text)
  }

  /// Writes a value that is JSON.
  public mutating func raw(_ bytes: UnsafeRawBufferPointer) {
    separate()
    verbatim(bytes)
  }

  /// Refers to a constant value.
  public mutating func raw(_ value: SharedBytes) {
    separate()
    verbatim(value)
  }

  /// Writes a value from an earlier line, including its references.
  public mutating func raw(_ value: WireBytes) {
    separate()
    kept += value.kept
    value.forEachPiece { piece in
      switch piece {
      case .own(let bytes): verbatim(bytes)
      case .shared(let piece): verbatim(piece)
      }
    }
  }

  public mutating func integer(_ value: Int64) {
    separate()
    digits(value)
  }

  public mutating func integer(_ value: Int) { integer(Int64(value)) }

  /// Writes a finite number; others become `null`, because JSON has no form for them.
  public mutating func number(_ value: Double) {
    guard value.isFinite else { return null() }
    if value.rounded() == value, value.magnitude < 1e15 { return integer(Int64(value)) }
    separate()
    var text = value.description
    text.withUTF8 { verbatim(UnsafeRawBufferPointer($0)) }
  }

  /// Writes digits without a separator, for lines that are assembled by hand.
  public mutating func digits(_ value: Int64) {
    if value < 0 { byte(UInt8(ascii: "-")) }
    var magnitude = value.magnitude
    reserve(20)
    let start = count
    repeat {
      memory[count] = UInt8(ascii: "0") + UInt8(magnitude % 10)
      magnitude /= 10
      count += 1
    } while magnitude > 0
    var (low, high) = (start, count - 1)
    while low < high {
      memory.swapAt(low, high)
      low += 1
      high -= 1
    }
  }

  public mutating func string(_ text: String) {
    var text = text
    text.withUTF8 { string(utf8: UnsafeRawBufferPointer($0)) }
  }

  /// Writes a string from UTF-8 bytes, such as a secret in guarded memory.
  public mutating func string(utf8: UnsafeRawBufferPointer) {
    separate()
    byte(UInt8(ascii: "\""))
    var clean = 0
    for position in 0..<utf8.count where utf8[position] < 0x20 || utf8[position] == 0x22 || utf8[position] == 0x5C {
      verbatim(UnsafeRawBufferPointer(rebasing: utf8[clean..<position]))
      escape(utf8[position])
      clean = position + 1
    }
    verbatim(UnsafeRawBufferPointer(rebasing: utf8[clean...]))
    byte(UInt8(ascii: "\""))
  }

  private mutating func escape(_ byte: UInt8) {
    switch byte {
    case 0x22: verbatim("\\\"")
    case 0x5C: verbatim("\\\\")
    case 0x0A: verbatim("\\n")
    case 0x0D: verbatim("\\r")
    case 0x09: verbatim("\\t")
    default:
      verbatim("\\u00")
      self.byte(byte >> 4 == 0 ? UInt8(ascii: "0") : UInt8(ascii: "1"))
      let low = byte & 0xF
      self.byte(low < 10 ? UInt8(ascii: "0") + low : UInt8(ascii: "a") + low - 10)
    }
  }
}
