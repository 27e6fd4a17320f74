import JSONRPC
import Testing

@Suite struct FramerTests {
  /// Pushes the chunks; returns the lines, and the outcome of the last chunk.
  static func lines(
    _ chunks: [[UInt8]], limit: Int = 64, stopAfter: Int = .max
  ) -> (lines: [String], outcome: LineFramer.Outcome, waiting: Int) {
    var framer = LineFramer(limit: limit)
    var lines: [String] = []
    var outcome = LineFramer.Outcome.wantsMore
    for chunk in chunks where outcome == .wantsMore {
      outcome = chunk.withUnsafeBytes { bytes in
        framer.push(bytes) { line in
          lines.append(String(decoding: line, as: UTF8.self))
          return lines.count < stopAfter
        }
      }
    }
    return (lines, outcome, framer.waiting)
  }

  static func split(_ text: String, _ size: Int) -> [[UInt8]] {
    let bytes = [UInt8](text.utf8)
    return stride(from: 0, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, bytes.count)]) }
  }

  @Test(arguments: Array(1...40))
  func chunksOfAnySize_giveTheSameLines(size: Int) {
    let text = "{\"a\":\"wörk 😀\"}\r\n\n\r\n\r\r\na\rb\u{2028}c\u{85}d\u{0B}\nlast"
    let (lines, outcome, waiting) = Self.lines(Self.split(text, size))
    #expect(lines == ["{\"a\":\"wörk 😀\"}", "", "", "\r", "a\rb\u{2028}c\u{85}d\u{0B}"])
    #expect(outcome == .wantsMore && waiting == 4)
  }

  @Test func randomChunks_giveTheSameLines() {
    var random = Seeded(3)
    for _ in 0..<500 {
      let bytes = (0..<Int.random(in: 0...300, using: &random)).map { _ in
        [0x0A, 0x0D, 0x61, 0xC3].randomElement(using: &random)! as UInt8
      }
      let whole = Self.lines([bytes], limit: 400)
      var chunks: [[UInt8]] = []
      var rest = bytes[...]
      while !rest.isEmpty {
        let size = Int.random(in: 0...20, using: &random)
        chunks.append(Array(rest.prefix(size)))
        rest = rest.dropFirst(size)
      }
      let split = Self.lines(chunks, limit: 400)
      #expect(split.lines == whole.lines && split.waiting == whole.waiting)
    }
  }

  @Test(arguments: [1, 3, 7, 8, 9, 100])
  func lineAtTheLimit_fitsAndOneByteMoreDoesNot(size: Int) {
    for ending in ["\n", "\r\n"] {
      let fits = Self.lines(Self.split("12345678" + ending + "x", size), limit: 8)
      #expect(fits.lines == ["12345678"] && fits.outcome == .wantsMore && fits.waiting == 1)
      let over = Self.lines(Self.split("123456789" + ending, size), limit: 8)
      #expect(over.lines.isEmpty && over.outcome == .overLimit)
    }
    #expect(Self.lines(Self.split("12345678\r", size), limit: 8).outcome == .wantsMore)
    #expect(Self.lines(Self.split("12345678\rx", size), limit: 8).outcome == .overLimit)
    #expect(Self.lines(Self.split("12345678\r\r\n", size), limit: 8).outcome == .overLimit)
  }

  @Test func overlongLine_isReportedBeforeItsNewline() {
    #expect(Self.lines([[UInt8](repeating: 0x61, count: 9)], limit: 8).outcome == .overLimit)
    #expect(Self.lines(Self.split("ok\n123456789", 4), limit: 8).lines == ["ok"])
  }

  @Test func stoppedFramer_dropsTheRestOfTheChunk() {
    let stopped = Self.lines([Array("a\nb\nc\nd".utf8)], stopAfter: 2)
    #expect(stopped.lines == ["a", "b"] && stopped.outcome == .stopped && stopped.waiting == 0)
    let split = Self.lines(Self.split("a\nb\nc\nd", 3), stopAfter: 2)
    #expect(split.lines == ["a", "b"] && split.outcome == .stopped && split.waiting == 0)
  }

  @Test(arguments: [4095, 4096, 4097, 65_535, 65_536, 65_537, 1 << 20])
  func longLine_keepsEveryByte(length: Int) {
    let text = String((0..<length).map { Character(Unicode.Scalar(UInt8(0x61 + $0 % 26))) })
    for size in [1000, 4096, 65_536] {
      let (lines, outcome, waiting) = Self.lines(Self.split(text + "\nnext\n", size), limit: 1 << 20)
      #expect(lines == [text, "next"] && outcome == .wantsMore && waiting == 0)
    }
  }

  @Test func partialLine_canBeReadAndCleared() {
    var framer = LineFramer(limit: 64)
    _ = Array("begun".utf8).withUnsafeBytes { framer.push($0) { _ in true } }
    #expect(framer.waiting == 5 && framer.withWaiting { $0.elementsEqual("begun".utf8) })
    framer.clear()
    #expect(framer.waiting == 0)
    var lines: [String] = []
    _ = Array("x\n".utf8).withUnsafeBytes { bytes in
      framer.push(bytes) { line in
        lines.append(String(decoding: line, as: UTF8.self))
        return true
      }
    }
    #expect(lines == ["x"])
    let nothing = framer.push(UnsafeRawBufferPointer(start: nil, count: 0)) { _ in true }
    #expect(nothing == .wantsMore)
  }
}
