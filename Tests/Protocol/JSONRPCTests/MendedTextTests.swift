import JSONRPC
import Testing

/// What servers send as JSON in another encoding, or with bytes that JSON does not have.
@Suite struct MendedTextTests {
  private func mended(_ bytes: [UInt8]) -> [UInt8] {
    var mended: [UInt8] = []
    bytes.withUnsafeBytes { bytes in MendedText.mend(bytes) { mended.append($0) } }
    return mended
  }

  private func mended(_ text: String) -> String { String(decoding: mended(Array(text.utf8)), as: UTF8.self) }

  private func prefaceLength(_ text: String) -> Int {
    Array(text.utf8).withUnsafeBytes { MendedText.prefaceLength(of: $0) }
  }

  @Test(arguments: [
    "", "{}", #"{"a":"b","c":[1,null]}"#, #"{"name":"José \ud83d\ude00 \" \\ \/ \u00e9"}"#, " \n{\"a\":\t1}\r\n",
    #"{"a":"#, #"{"a":"\uFd3c \uD83D\uDe00"}"#,
  ])
  func json_isPassedOnUnchanged(text: String) { #expect(mended(text) == text) }

  @Test(arguments: [true, false], [true, false]) func utf16_isRead(isLittle: Bool, hasMark: Bool) {
    let text = #"{"issuer":"https://idp.test","name":"Jörg 😀"}"#
    let units = (hasMark ? [0xFEFF] : []) + Array(text.utf16)
    let bytes = units.flatMap { unit in
      isLittle ? [UInt8(unit & 0xFF), UInt8(unit >> 8)] : [UInt8(unit >> 8), UInt8(unit & 0xFF)]
    }
    #expect(String(decoding: mended(bytes), as: UTF8.self) == text)
    #expect(String(decoding: mended(bytes + [0]), as: UTF8.self) == text, "half a character at the end")
  }

  @Test func bytesThatAreNoUTF8_areReplaced() {
    let latin = Array(#"{"name":"Jos"#.utf8) + [0xE9] + Array(#"","sub":"alice"}"#.utf8)
    #expect(String(decoding: mended(latin), as: UTF8.self) == "{\"name\":\"Jos\u{FFFD}\",\"sub\":\"alice\"}")
  }

  @Test(arguments: [
    ("{\"a\":\"x\ny\tz\u{1}\"}", #"{"a":"x\u000ay\u0009z\u0001"}"#), (#"{"a":"\ud83d"}"#, #"{"a":"\ufffd"}"#),
    (#"{"a":"\ud83dx\ude00\n"}"#, #"{"a":"\ufffdx\ufffd\n"}"#),
    (#"{"a":"\ud83d\ud83d\ude00"}"#, #"{"a":"\ufffd\ud83d\ude00"}"#),
    (#"{"a":"\uD83D\n"}"#, #"{"a":"\ufffd\n"}"#), (#"{"a":"it\'s"}"#, #"{"a":"it's"}"#), ("\u{FEFF}{}\u{FEFF}", "{}"),
    ("{}\0\0", "{}"), ("{\"a\":\"\0\"}", #"{"a":"\u0000"}"#),
  ])
  func textThatIsNoJSON_isMended(text: String, expected: String) {
    #expect(mended(text) == expected)
    #expect(verdict(mended(text)) == .value)
  }

  @Test(arguments: [
    "{", #"{"a"}"#, #"{"a":1,}"#, "{'a':1}", #"{"a":"\x41"}"#, #"{"a":"\u12"}"#, #"{"a":"b\"#, "<html>", "a=b",
  ])
  func grammar_isNotMended(text: String) { #expect(verdict(mended(text)) != .value) }

  @Test(arguments: [
    ("{}", 0), ("\u{FEFF}{}", 3), (")]}'{}", 4), (" \n)]}',\n{}", 7), ("\u{FEFF})]}'", 7), (")]}", 0), ("", 0),
  ])
  func preface_isFound(text: String, length: Int) { #expect(prefaceLength(text) == length) }

  @Test(arguments: [
    ("{", true), (" \n[1]", true), ("\u{FEFF}{}", true), ("{\0}\0", true), ("\0{\0}", true), ("<html>{}", false),
    ("", false),
    ("a=b", false), ("\0\0", false), (#""text""#, false),
  ])
  func textThatMayBeJSON_beginsSo(text: String, mayBe: Bool) {
    #expect(Array(text.utf8).withUnsafeBytes { MendedText.mayBeJSON($0) } == mayBe)
  }

  @Test(arguments: [("alice", false), ("", false), ("al\u{FFFD}ce", true), ("\u{FFFD}", true), ("\u{FFFC}é", false)])
  func textWithAReplacement_isDoubtful(text: String, isDoubtful: Bool) {
    #expect(MendedText.isDoubtful(text) == isDoubtful)
    #expect(Array(text.utf8).withUnsafeBytes { MendedText.isDoubtful($0) } == isDoubtful)
  }
}
