import JSONRPC
import Testing

@Suite struct ScannerTests {
  @Test(arguments: [
    "null", "true", "false", "0", "-0", "\"\"", "[]", "{}", " \t\r\n[ ] \t\r\n", "[1,2]", "{\"a\":1}",
    "{\"a\":{\"b\":[1,{\"c\":null}]}}", "{ \"a\" : 1 , \"b\" : [ true , false ] }",
    "\"a\u{7F}b\"", "\"\u{0080}\u{07FF}\u{0800}\u{FFFF}\u{10000}\u{10FFFF}\"", "[[],{},\"\",0,null]",
    // Canonically equivalent spellings are two keys: the scanner compares bytes.
    "{\"\u{E9}\":1,\"e\u{301}\":2}", "{\"\":1,\" \":2}", "{\"a\":1,\"A\":2}",
  ])
  func validJSON_isAccepted(text: String) { #expect(verdict(text) == .value) }

  @Test(arguments: [
    // the rows of the contract
    "[1,]", "{\"a\":1,}", "[,1]", "{,}", "[1 2]", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "{a:1}", "{'a':1}", "{1:2}",
    "\u{FEFF}{}", "{}\u{FEFF}", "01", "-01", "00", "+1", ".5", "-.5", "1.e1", "1..2", "--1", "0x1", "1e5.5",
    "NaN", "Infinity", "-Infinity", "undefined", "nul1", "True", "nullx", "truefalse",
    "\"a\nb\"", "\"\t\"", "\"\u{0}\"", "\"\u{1F}\"",
    "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800x\"", "\"\\ud800\\n\"", "\"\\ud800\\u0041\"", "\"\\udc00\\ud800\"",
    "\"\\ud800\\ud800\"", "\"\\ud83dx\\ude00\"",
    "\"\\x\"", "\"\\'\"", "\"\\U0041\"", "\"\\u12g4\"", "\"\\u+123\"", "\"\\u 123\"", "\"\\\n\"", "\"\\0\"", "\"\\a\"",
    "]", "}", ",", ":", "[}", "{]", "[1}", "{\"a\":1]", "{} {}", "[][]", "1 2", "null,", "{\"a\":}", "{:1}",
    "{\"a\":1,,\"b\":2}", "[1,,2]", "{\"a\"::1}", "//x\n1", "/**/1", "#1", "\u{0B}1", "\u{0C}1", "\u{A0}1",
    "1\u{0}", "{}\u{0}", "\u{2028}1", "[1]x",
    // in a member that is not read
    "{\"jsonrpc\":\"2.0\",\"ignored\":[01]}", "{\"jsonrpc\":\"2.0\",\"ignored\":\"\\ud800\"}",
  ])
  func malformedJSON_isRefused(text: String) { #expect(verdict(text) == .refused(.malformed)) }

  @Test(arguments: [
    "", " ", "\n", "[", "{", "[1", "[1,", "[[]", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "\"", "\"a",
    "\"\\", "\"\\u", "\"\\u1", "\"\\u12", "\"\\u123", "\"\\u1234", "\"\\ud83d", "\"\\ud83d\\", "\"\\ud83d\\u",
    "\"\\ud83d\\ude0", "t", "tru", "f", "fals", "n", "nul", "-", "1.", "1e", "1e+", "1E-", "-0.", " [ ",
  ])
  func unfinishedJSON_isIncomplete(text: String) { #expect(verdict(text) == .refused(.incomplete)) }

  /// Each prefix of a value is incomplete or, where a number or a space ends it, a value itself: never malformed.
  @Test(arguments: [
    #"{"jsonrpc":"2.0","id":-1.5e+3,"method":"token.get","params":{"account":"wörk 😀","a":[true,null,"\ud83d\ude00"]}}"#,
    #" [ 1 , -0.0 , 1E-2 , "\"\\\/\b\f\n\r\t\u00e9" , { } ] "#,
  ])
  func everyPrefixOfAValue_isIncomplete(text: String) {
    let bytes = [UInt8](text.utf8)
    #expect(verdict(bytes) == .value)
    let end = bytes.lastIndex { $0 == UInt8(ascii: "}") || $0 == UInt8(ascii: "]") }!
    for count in 0...end {
      #expect(verdict([UInt8](bytes[..<count])) == .refused(.incomplete), "\(count) bytes")
    }
  }

  @Test(arguments: [
    "0", "-0", "7", "10", "0.0", "-0.10", "1.25", "1e1", "1E1", "1e+1", "1e-1", "0e0", "0E-0", "1.5e300", "1e400",
    "123456789012345678901234567890", "-9007199254740993", "1e00", "1e01",
  ])
  func numbers_areKeptAsWritten(text: String) throws {
    try withNode(text) { node in
      #expect(node.kind == .number)
      #expect(node.raw.elementsEqual(text.utf8))
    }
    #expect(verdict("[\(text),\(text)]") == .value)
  }

  // MARK: nesting

  @Test(arguments: [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":", "}]")])
  func nesting_isBounded(open: String, close: String) {
    func nested(_ depth: Int) -> String {
      let levels = open.first == "[" && open.count > 1 ? depth / 2 : depth
      return String(repeating: open, count: levels) + "1" + String(repeating: close, count: levels)
    }
    #expect(JSONScanner.maximumDepth == 64)
    #expect(verdict(nested(64)) == .value)
    #expect(verdict(nested(66)) == .refused(.tooDeep))
    #expect(verdict(nested(100_000)) == .refused(.tooDeep))
    if open.count == 1 || open.first == "{" { #expect(verdict(nested(65)) == .refused(.tooDeep)) }
    // The bound limits the depth, not the number of containers.
    #expect(verdict("[" + Array(repeating: nested(63 / 2 * 2), count: 10).joined(separator: ",") + "]") == .value)
  }

  @Test func nestingInIgnoredMembers_isBounded() {
    let deep = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
    #expect(verdict("{\"jsonrpc\":\"2.0\",\"ignored\":\(deep)}") == .refused(.tooDeep))
  }

  // MARK: duplicate keys

  @Test(arguments: [
    #"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#, #"{"\u0061":1,"a":2}"#, #"{"\u0061":1,"\u0061":2}"#,
    #"{"":1,"":2}"#, #"{"b":{"a":1,"a":1}}"#, #"[{"a":1,"a":1}]"#, #"{"x":[[{"a":1,"b":2,"a":3}]]}"#,
    #"{"😀":1,"\ud83d\ude00":2}"#, #"{"\/":1,"/":2}"#, #"{"\"":1,"\u0022":2}"#, #"{"a":{},"b":[],"a":[]}"#,
    #"{"é":1,"\u00E9":2}"#, #"{"\u00e9":1,"\u00E9":2}"#,
  ])
  func duplicateKey_isNoticed(text: String) throws {
    #expect(verdict(text) == .duplicateKeys)
    try withNode(text) { #expect($0.hasDuplicateKeys) }
  }

  @Test(arguments: [2, 11, 12, 13, 14, 100, 4000])
  func duplicateKeyAmongMany_isNoticed(count: Int) {
    let keys = (0..<count).map { "\"k\($0)\":{}" }
    #expect(verdict("{" + keys.joined(separator: ",") + "}") == .value)
    for twin in ["\"k0\":1", "\"k\(count - 1)\":1", "\"\\u006b\(count / 2)\":1"] {
      #expect(verdict("{" + (keys + [twin]).joined(separator: ",") + "}") == .duplicateKeys)
      #expect(verdict("{" + ([twin] + keys).joined(separator: ",") + "}") == .duplicateKeys)
    }
  }

  @Test func duplicateKey_isAttributedToItsElement() throws {
    try withNode(#"[{"a":1},{"a":1,"a":2},{"b":{"c":1,"c":2}}]"#) { node in
      #expect(node.elements.map(\.hasDuplicateKeys) == [false, true, true])
    }
  }

  /// Characters are looked at eight at a time.
  @Test func everyByte_isJudgedAtEveryPlaceOfALongString() {
    for place in 0..<20 {
      for byte in UInt8.min...UInt8.max {
        var text = [UInt8](repeating: UInt8(ascii: "~"), count: 20)
        text[place] = byte
        let line = Array("[\"".utf8) + text + Array("\"]".utf8)
        let isPlain = byte >= 0x20 && byte < 0x80 && byte != 0x22 && byte != 0x5C
        // A quote ends the string, and what follows is no JSON; no escape is named `~`, and none of the bytes above 0x7F
        // is a character by itself. A backslash before the last quote escapes it.
        let expected: Verdict =
          isPlain
          ? .value : byte == UInt8(ascii: "\\") && place == 19 ? .refused(.incomplete) : .refused(.malformed)
        #expect(verdict(line) == expected, "byte \(byte) at \(place)")
      }
    }
  }

  @Test func refusedDuplicateKeys_leaveTheWholeTextOnTheTape() throws {
    var tape = JSONTape()
    let text = [UInt8](#"{"a":1,"a":2,"b":[3]}"#.utf8)
    text.withUnsafeBytes { bytes in
      #expect(throws: JSONScanner.Failure.duplicateKeys) { try JSONScanner.scan(bytes, onto: &tape) }
      tape.withRoot(of: bytes) { #expect($0["b"]?.elements.map(\.integer) == [3]) }
    }
    // What is no JSON at all is told first.
    #expect(verdict(#"{"a":1,"a":2"#) == .refused(.incomplete))
    #expect(verdict(#"{"a":1,"a":2}}"#) == .refused(.malformed))
  }

  @Test func tape_isReusedForAnotherLine() {
    var tape = JSONTape()
    for (text, twice) in [(#"{"a":1,"a":2}"#, true), ("[", false), (#"{"a":1}"#, false), ("x", false)] {
      _ = [UInt8](text.utf8).withUnsafeBytes { try? JSONScanner.scan($0, onto: &tape) }
      #expect(tape.hasDuplicateKeys == twice)
    }
  }

  @Test func emptyBuffer_isIncomplete() {
    var tape = JSONTape()
    let empty = UnsafeRawBufferPointer(start: nil, count: 0)
    #expect(throws: JSONScanner.Failure.incomplete) { try JSONScanner.scan(empty, onto: &tape) }
  }
}
