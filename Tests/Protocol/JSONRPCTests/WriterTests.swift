import Foundation
import JSONRPC
import Testing

@Suite struct WriterTests {
  @Test func writer_writesNestedStructure() {
    let text = written { writer in
      writer.beginObject()
      writer.key("empty")
      writer.beginObject()
      writer.endObject()
      writer.key("list")
      writer.beginArray()
      writer.integer(1)
      writer.beginArray()
      writer.endArray()
      writer.null()
      writer.bool(true)
      writer.bool(false)
      writer.string("x")
      writer.raw(UnsafeRawBufferPointer(start: nil, count: 0))
      writer.endArray()
      writer.key(String("last\n"))
      writer.number(0.5)
      writer.endObject()
    }
    #expect(text == #"{"empty":{},"list":[1,[],null,true,false,"x",],"last\n":0.5}"#)
  }

  @Test func writer_escapesOnlyControlCharactersQuotesAndBackslashes() {
    for byte in UInt8(0)..<0x20 {
      let text = written { $0.string(String(Unicode.Scalar(byte))) }
      let escaped =
        [8: #""\u0008""#, 9: #""\t""#, 10: #""\n""#, 12: #""\u000c""#, 13: #""\r""#][Int(byte)]
        ?? "\"\\u00" + (byte < 16 ? "0" : "") + String(byte, radix: 16) + "\""
      #expect(text == escaped)
    }
    #expect(written { $0.string("\"\\/\u{7F}\u{2028}é😀") } == "\"\\\"\\\\/\u{7F}\u{2028}é😀\"")
  }

  @Test(
    arguments: [
      (0, "0"), (7, "7"), (-7, "-7"), (10, "10"), (1_000_000, "1000000"), (.max, "9223372036854775807"),
      (.min, "-9223372036854775808"), (9_007_199_254_740_991, "9007199254740991"),
    ] as [(Int64, String)])
  func writer_writesIntegers(value: Int64, text: String) { #expect(written { $0.integer(value) } == text) }

  @Test(
    arguments: [
      (0, "0"), (-0.0, "0"), (1.5, "1.5"), (-25, "-25"), (1e14, "100000000000000"), (.infinity, "null"), (.nan, "null"),
      (-.infinity, "null"),
    ] as [(Double, String)])
  func writer_writesNumbers(value: Double, text: String) { #expect(written { $0.number(value) } == text) }

  @Test(arguments: [1e15, 1e16, 1e300, .leastNonzeroMagnitude, -1.7976931348623157e308, 0.1, 1.0 / 3])
  func extremeNumbers_areReadBack(value: Double) throws {
    #expect(try withNode(written { $0.number(value) }) { $0.double } == value)
  }

  @Test(arguments: [1, 63, 64, 65, 1000, 100_000])
  func writer_growsBeyondItsCapacity(length: Int) throws {
    let value = String(repeating: "a\"é\n", count: length)
    let text = written(capacity: 1) { writer in
      writer.beginArray()
      writer.string(value)
      for number in 0..<Int64(min(length, 500)) { writer.integer(-number) }
      writer.verbatim(" ")
      writer.endArray()
    }
    try withNode(text) { node in
      #expect(node.elements.first { _ in true }?.string == value)
      #expect(node.elements.compactMap(\.integer) == (0..<Int64(min(length, 500))).map { -$0 })
    }
  }

  @Test func resetWriter_isEmpty() {
    var writer = JSONWriter(capacity: 8)
    writer.beginArray()
    writer.integer(1)
    writer.reset()
    #expect(writer.count == 0)
    writer.beginObject()
    writer.endObject()
    let bytes = writer.finish()
    #expect(bytes.withBytes { $0.elementsEqual("{}".utf8) })
  }

  @Test func programBytes_areReferencedAndNotCopied() {
    let document = SharedBytes("{\"long\":true}")
    func answer() -> WireBytes {
      var writer = JSONWriter(capacity: 64)
      writer.beginArray()
      writer.integer(1)
      writer.raw(document)
      writer.raw(document)
      writer.endArray()
      return writer.finish()
    }
    var outer = JSONWriter()
    outer.beginObject()
    outer.key("answer")
    outer.raw(answer())
    outer.endObject()
    let line = outer.finish()
    let expected = #"{"answer":[1,{"long":true},{"long":true}]}"#
    #expect(line.withBytes { String(decoding: $0, as: UTF8.self) } == expected)
    #expect(line.count == expected.utf8.count)
    var referred: [UnsafeRawPointer?] = []
    line.forEachPiece { if case .shared(let piece) = $0 { referred.append(piece.bytes.baseAddress) } }
    #expect(referred == [document.bytes.baseAddress, document.bytes.baseAddress])
  }

  @Test func sharedLine_livesAsLongAsALineThatRefersToIt() throws {
    weak var body: WireBytes?
    var lines: [WireBytes] = []
    do {
      let shared = WireBytes(Array("true".utf8))
      body = shared
      for name in ["a", "b"] {
        var writer = JSONWriter(capacity: 64)
        writer.beginObject()
        writer.key(name)
        writer.raw(SharedBytes(shared))
        writer.endObject()
        lines.append(writer.finish())
      }
    }
    #expect(lines.map { $0.withBytes { String(decoding: $0, as: UTF8.self) } } == [#"{"a":true}"#, #"{"b":true}"#])
    lines.removeFirst()
    #expect(body != nil)
    lines = []
    #expect(body == nil)
  }

  @Test func programBytes_areWrittenOnce() {
    let piece = SharedBytes { $0.string("always the same") }
    #expect(piece.bytes.elementsEqual(#""always the same""#.utf8))
  }

  @Test func secretText_isWrittenByteForByte() throws {
    let secret: [UInt8] = Array("to\"ken\\\u{1}é".utf8)
    let text = written { writer in secret.withUnsafeBytes { writer.string(utf8: $0) } }
    #expect(try withNode(text) { $0.utf8 } == secret)
  }

  /// Foundation and the scanner both read what the writer wrote.
  @Test func writtenJSON_isReadByTheScannerAndFoundation() throws {
    var random = Seeded(2)
    for _ in 0..<5_000 {
      let value = Tree.random(depth: 4, &random)
      let text = written(capacity: 1) { value.write(to: &$0) }
      #expect(try withNode(text) { Tree($0) } == value)
      let object = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
      if Tree(object) != value { Issue.record("\(text)") }
    }
  }
}

/// A JSON value in a test.
indirect enum Tree: Equatable {
  case null
  case bool(Bool)
  case integer(Int64)
  case string(String)
  case array([Tree])
  case object([String: Tree])

  static func random(depth: Int, _ random: inout Seeded) -> Tree {
    switch Int.random(in: 0..<(depth > 0 ? 6 : 4), using: &random) {
    case 0: return .null
    case 1: return .bool(.random(using: &random))
    case 2: return .integer(.random(in: -(1 << 53 - 1)...(1 << 53 - 1), using: &random))
    case 3: return .string(text(&random))
    case 4:
      return .array((0..<Int.random(in: 0...4, using: &random)).map { _ in Tree.random(depth: depth - 1, &random) })
    default:
      var members: [String: Tree] = [:]
      for _ in 0..<Int.random(in: 0...4, using: &random) {
        members[text(&random)] = Tree.random(depth: depth - 1, &random)
      }
      return .object(members)
    }
  }

  static func text(_ random: inout Seeded) -> String {
    var text = ""
    for _ in 0..<Int.random(in: 0...8, using: &random) {
      let ranges: [ClosedRange<UInt32>] = [0...0x1F, 0x20...0x7F, 0x20...0x7F, 0x80...0xD7FF, 0x10000...0x10FFFF]
      let scalar = UInt32.random(in: ranges.randomElement(using: &random)!, using: &random)
      text.unicodeScalars.append(Unicode.Scalar(scalar)!)
    }
    return text.precomposedStringWithCanonicalMapping  // Swift compares keys by canonical equivalence
  }

  init(_ node: JSONNode) {
    switch node.kind {
    case .null: self = .null
    case .true, .false: self = .bool(node.bool!)
    case .number: self = .integer(node.integer!)
    case .string: self = .string(node.string!)
    case .array: self = .array(node.elements.map { Tree($0) })
    case .object:
      self = .object(Dictionary(node.members.map { ($0.key.string!, Tree($0.value)) }, uniquingKeysWith: { $1 }))
    }
  }

  init(_ object: Any) {
    switch object {
    case let list as [Any]: self = .array(list.map { Tree($0) })
    case let members as [String: Any]: self = .object(members.mapValues { Tree($0) })
    case let text as String: self = .string(text)
    case let number as NSNumber:
      self = number.isBoolean ? .bool(number.boolValue) : .integer(number.int64Value)
    default: self = .null
    }
  }

  func write(to writer: inout JSONWriter) {
    switch self {
    case .null: writer.null()
    case .bool(let value): writer.bool(value)
    case .integer(let value): writer.integer(value)
    case .string(let value): writer.string(value)
    case .array(let items):
      writer.beginArray()
      for item in items { item.write(to: &writer) }
      writer.endArray()
    case .object(let members):
      writer.beginObject()
      for name in members.keys.sorted() {
        writer.key(name)
        members[name]!.write(to: &writer)
      }
      writer.endObject()
    }
  }
}

extension NSNumber {
  /// Foundation keeps booleans as one-byte numbers, and uses those for booleans only.
  fileprivate var isBoolean: Bool { String(cString: objCType) == "c" }
}
