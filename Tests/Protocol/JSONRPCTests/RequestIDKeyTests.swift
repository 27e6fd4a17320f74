import JSONRPC
import Testing

/// Ids that are equal have one key, and others have another.
@Suite struct RequestIDKeyTests {
  private static func key(_ id: String) -> [UInt8] { RequestIDKey.of(Array(id.utf8)) }

  @Test(
    arguments: [
      [#""A""#, #""\u0041""#], [#""a/b""#, #""a\/b""#], [#""é""#, #""\u00e9""#, #""\u00E9""#],
      [#""😀""#, #""\ud83d\ude00""#], [#""\n\"""#, #""\u000a\u0022""#],
      ["0", "-0", "0.0", "0e7", "-0.00E-3"], ["1", "1.0", "1e0", "10e-1", "0.1E+1", "1.000e0"],
      ["100", "1e2", "1.00e2", "1000E-1"], ["-5", "-5.0", "-50e-1"], ["0.1", "1e-1", "0.10", "10E-2"],
      ["123456789012345678901234567890", "1.2345678901234567890123456789e29", "123456789012345678901234567890.0"],
      ["1e40", "10e39", "1" + String(repeating: "0", count: 40)],
    ] as [[String]])
  func idsThatAreEqual_haveOneKey(spellings: [String]) {
    let keys = Set(spellings.map(Self.key))
    #expect(keys.count == 1, "\(keys.map { String(decoding: $0, as: UTF8.self) })")
  }

  @Test func idsThatDiffer_haveOtherKeys() {
    let ids = [
      "0", "1", "-1", "10", "0.1", "1.5", "15", "1e40", "1e41", "-1e40", "1e-400", "1e400", "null", "\"\"", #""0""#,
      #""1""#,
      #""a""#, #""A""#, #""\u0041\u0041""#, #""null""#, #""\"\"""#, #""e\u0301""#, #""\u00e9""#,
    ]
    #expect(Set(ids.map(Self.key)).count == ids.count)
  }

  /// The key of almost every id is the id itself, and no copy of it.
  @Test(arguments: [#""7f3c-A""#, "\"\"", "17", "-17", "0", "null"]) func plainId_isItsOwnKey(id: String) {
    let bytes = Array(id.utf8)
    let key = RequestIDKey.of(bytes)
    let isSame = key.withUnsafeBytes { $0.baseAddress } == bytes.withUnsafeBytes { $0.baseAddress }
    #expect(key == bytes && isSame)
    let copied = bytes.withUnsafeBytes { RequestIDKey.of($0) }
    #expect(copied == bytes)
  }

  @Test(arguments: ["{}", "[1]", "true", "-", "", "1x", "\"", "1e", "1e12345678901234567890", "e5", "--1"])
  func whatIsNoUsualId_isItsOwnKey(text: String) { #expect(Self.key(text) == Array(text.utf8)) }
}
