import JSONRPC
import Testing

@Suite struct NodeTests {
  static func integer(_ text: String) throws -> Int64? { try withNode(text) { $0.integer } }

  @Test(
    arguments: [
      ("0", 0), ("-0", 0), ("1", 1), ("-1", -1), ("10", 10), ("100", 100), ("1.0", 1), ("1.000", 1), ("-1.0", -1),
      ("1e0", 1), ("1e3", 1000), ("1E3", 1000), ("1e+3", 1000), ("1.5e1", 15), ("1.50e1", 15), ("12.30e2", 1230),
      ("1000e-3", 1), ("10e-1", 1), ("0.001e3", 1), ("0e400", 0), ("0.0e-400", 0), ("0e99999999999999999999", 0),
      ("9007199254740991", 9_007_199_254_740_991), ("-9007199254740991", -9_007_199_254_740_991),
      ("9007199254740991.0", 9_007_199_254_740_991), ("9.007199254740991e15", 9_007_199_254_740_991),
      ("90071992547409910e-1", 9_007_199_254_740_991), ("0.9007199254740991e16", 9_007_199_254_740_991),
      ("1e15", 1_000_000_000_000_000), ("9e15", 9_000_000_000_000_000),
      ("100000000000000000000e-20", 1), ("0.00000000000000000001e20", 1),
    ] as [(String, Int64)])
  func integer_isReadInEverySpelling(text: String, value: Int64) throws { #expect(try Self.integer(text) == value) }

  @Test(arguments: [
    "9007199254740992", "-9007199254740992", "9007199254740993", "9007199254740991.5", "9007199254740990.5",
    "9.007199254740992e15", "1e16", "1e400", "-1e400", "1e99999999999999999999", "10000000000000000000000000000000",
    "0.5", "1.5", "-1.1", "1e-1", "15e-1", "1e-400", "1e-99999999999999999999", "0.99999999999999999999",
    "1.00000000000000000001", "true", "null", "\"1\"", "[1]", "{}",
  ])
  func numberThatIsNoInteger_isRefused(text: String) throws { #expect(try Self.integer(text) == nil) }

  @Test func numberWithAMillionZeros_isReadInLinearTime() throws {
    let zeros = String(repeating: "0", count: 1_000_000)
    #expect(try Self.integer("1" + zeros) == nil)
    #expect(try Self.integer("0." + zeros + "1") == nil)
    #expect(try Self.integer("1." + zeros) == 1)
    #expect(try Self.integer("1" + zeros + "e-1000000") == 1)
    #expect(try Self.integer("1e" + zeros + "2") == 100)
  }

  @Test func randomIntegers_agreeWithIntegerArithmetic() throws {
    var random = Seeded(1)
    for _ in 0..<20_000 {
      let value = Int64.random(in: -(1 << 53)...(1 << 53), using: &random) >> Int64.random(in: 0...52, using: &random)
      let places = Int.random(in: 0...20, using: &random)
      let zeros = String(repeating: "0", count: places)
      let expected = value.magnitude <= 1 << 53 - 1 ? value : nil
      for text in [
        "\(value)", "\(value).\(zeros)0", "\(value).0\(zeros)e0", "\(value)0e-1", "\(value)\(zeros)e-\(places)",
      ]
      where value != 0 || !text.contains("0e-") {
        if try Self.integer(text) != expected { Issue.record("\(text)") }
      }
    }
  }

  @Test func doubles_areRead() throws {
    for (text, value) in [("1.5", 1.5), ("-0.25e2", -25), ("0", 0), ("1e400", .infinity)] as [(String, Double)] {
      #expect(try withNode(text) { $0.double } == value)
    }
    #expect(try withNode("\"1\"") { $0.double } == nil)
  }

  // MARK: strings

  @Test(arguments: [
    (#""""#, ""), (#""plain""#, "plain"), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"), (#""\u0000a""#, "\0a"),
    (#""wörk 😀""#, "wörk 😀"), (#""\u00e9\u20AC\ud83d\ude00x""#, "é€😀x"), (#""a\\u0041""#, "a\\u0041"),
  ])
  func strings_areUnescaped(text: String, value: String) throws {
    try withNode(text) { node in
      #expect(node.string == value)
      #expect(node.utf8 == [UInt8](value.utf8))
      #expect(node.textCapacity >= value.utf8.count)
      // As for a secret: into the caller's memory, and never beyond its bound.
      var memory = [UInt8](repeating: 0xEE, count: node.textCapacity + 8)
      let count = memory.withUnsafeMutableBytes { buffer in
        node.copyText(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<node.textCapacity]))
      }
      #expect(Array(memory[..<count]) == [UInt8](value.utf8))
      #expect(memory[node.textCapacity...].allSatisfy { $0 == 0xEE })
      #expect((node.plainText == nil) == text.contains("\\"))
      #expect(node.plainText.map { $0.elementsEqual(value.utf8) } ?? true)
    }
  }

  @Test(arguments: ["1", "true", "null", "[]", "{}"])
  func nodeThatIsNoString_hasNoText(text: String) throws {
    try withNode(text) { node in
      #expect(node.string == nil && node.utf8 == nil && node.plainText == nil && node.textCapacity == 0)
      #expect(node.copyText(into: UnsafeMutableRawBufferPointer(start: nil, count: 0)) == 0)
      #expect(!node.isText("1"))
    }
  }

  @Test func isText_comparesTextsAndNotSpellings() throws {
    try withNode(#"["jsonrpc","json\u0072pc","jsonrpcx","jsonrp",""]"#) { node in
      #expect(node.elements.map { $0.isText("jsonrpc") } == [true, true, false, false, false])
      #expect(node.elements.map { $0.isText("") } == [false, false, false, false, true])
    }
  }

  // MARK: containers

  @Test func members_keepTheirOrder() throws {
    try withNode(#"{"a":[1,{"x":[]}],"b":{"c":true},"\u0064":null}"#) { node in
      #expect(node.members.map { $0.key.string! } == ["a", "b", "d"])
      #expect(node.members.map { $0.value.kind } == [.array, .object, .null])
      #expect(node["a"]?.elements.map(\.kind) == [.number, .object])
      #expect(node["b"]?["c"]?.bool == true)
      #expect(node["d"]?.kind == .null && node["e"] == nil && node["a"]?["x"] == nil)
      #expect(node["b"]?.raw.elementsEqual(#"{"c":true}"#.utf8) == true)
      #expect(node["a"]?.raw.elementsEqual(#"[1,{"x":[]}]"#.utf8) == true)
      #expect(Array(node.elements.map(\.kind)).isEmpty)
      #expect(node["a"]?.members.map(\.key.kind).isEmpty == true)
    }
  }

  @Test func booleans_areRead() throws {
    try withNode("[true,false,null,0,\"true\"]") { node in
      #expect(node.elements.map(\.bool) == [true, false, nil, nil, nil])
    }
  }
}
