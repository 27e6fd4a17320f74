import AgentCore
import AgentModel
import Testing

/// A server that repeats the token that it was sent.
struct RepeatedTokenTests {
  private static let token = "eyJhbGciOi/J9+abc=.x_y-z~0123456789"

  private static func occurs(_ text: String, _ token: String = token) -> Bool {
    Array(text.utf8).withUnsafeBytes { text in
      Array(token.utf8).withUnsafeBytes { RepeatedToken.occurs($0, in: text) }
    }
  }

  private static func base64(_ text: String) -> String { Array(text.utf8).withUnsafeBytes { Base64.encode($0) } }

  @Test func tokenInTheText_isFound() {
    #expect(Self.occurs(Self.token))
    #expect(Self.occurs("{\"authorization\":\"Bearer \(Self.token)\"}"))
    #expect(!Self.occurs(""))
    #expect(!Self.occurs("{\"authorization\":\"Bearer \(Self.token.dropLast())\"}"))
  }

  @Test func eachOfManyTokens_isFoundInEachSpelling() {
    let tokens = (10..<40).map { Array("eyJhbGciOiJSUzI1NiJ9.\($0).a/b+c".utf8) }
    let memory = tokens.map { token in
      let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: token.count, alignment: 1)
      bytes.copyBytes(from: token)
      return bytes
    }
    defer { for bytes in memory { bytes.deallocate() } }
    let search = RepeatedToken(memory.map { UnsafeRawBufferPointer($0) })
    func occurs(_ text: String) -> Bool { Array(text.utf8).withUnsafeBytes { search.occurs(in: $0) } }
    for token in tokens.map({ String(decoding: $0, as: UTF8.self) }) {
      let escaped = token.replacing("/", with: "\\/").replacing("e", with: "%65")
      let wide = token.map { "\($0)\0" }.joined()
      for text in [token, escaped, wide, Self.base64(token), Self.base64("a" + token), Self.base64("ab" + token)] {
        #expect(occurs("eyJ eyJhbGciOiJSUzI1NiJ9. " + text), "\(text)")
      }
    }
    #expect(!occurs("eyJhbGciOiJSUzI1NiJ9.41.a/b+c " + Self.base64("eyJhbGciOiJSUzI1NiJ9.41.a/b+c")))
  }

  @Test("a token with the escapes of JSON or percent-encoding is found")
  func escaped() {
    #expect(Self.occurs("a" + Self.token.replacing("/", with: "\\/")))
    #expect(Self.occurs(Self.token.replacing("+", with: "\\u002B").replacing("=", with: "\\u003d")))
    #expect(Self.occurs("token=" + Self.token.replacing("+", with: "%2b").replacing("/", with: "%2F") + "&a=b"))
    #expect(Self.occurs("%65" + Self.token.dropFirst()))
    #expect(!Self.occurs(Self.token.replacing("+", with: "\\u")))
    #expect(!Self.occurs(Self.token.dropLast() + "%3"))
  }

  @Test(
    "A secret that looks like an escape is found as it stands, and escaped",
    arguments: [
      "pass%41word", "%41%42%43%44", "a\\/b\\/c\\/d", "say \"yes\" 8", "back\\slash\\", "\\u0041bcdefg",
      "100%25%25sure", "p\u{E4}ssw\u{F6}rter", "\u{1F511}\u{1F512}key", "%2525%25%252541",
      String(repeating: "\\", count: 40),
    ])
  func secretThatLooksLikeAnEscape_isFound(secret: String) {
    let percent = secret.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let json = secret.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    let units = secret.utf16.map { unit in
      let digits = String(unit, radix: 16)
      return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }.joined()
    let halves = secret.replacing("%", with: "%25")
    for text in [secret, percent, json, units, json.replacing("/", with: "\\/"), Self.base64("u:" + secret), halves] {
      #expect(Self.occurs("{\"a\":\"" + text + "\"}", secret), "\(text)")
      #expect(!Self.occurs("{\"a\":\"" + text.dropLast() + "!\"}", secret + "x"), "\(text)")
    }
  }

  /// Each backslash may stand for itself, or begin an escape.
  @Test(.timeLimit(.minutes(1))) func textThatReadsInTooManyWays_countsAsOneWithTheSecret() {
    let secret = String(repeating: "\\", count: 64) + "x"
    #expect(!Self.occurs(String(repeating: "\\", count: 60), secret))
    #expect(Self.occurs(String(repeating: "\\", count: 200_000), secret))
  }

  @Test("the Base64 of a text with the token is found wherever the token stands in it", arguments: 0..<7, 0..<4)
  func encoded(before: Int, after: Int) {
    let text = String(repeating: "u", count: before) + Self.token + String(repeating: "e", count: after)
    let encoded = Self.base64(text)
    #expect(Self.occurs("Basic " + encoded))
    #expect(Self.occurs(encoded.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")))
    #expect(!Self.occurs(Self.base64(text.replacing("0123", with: "0132"))))
  }

  @Test(
    "a token in UTF-16 or UTF-32 of either order is found, also escaped or in Base64", arguments: [2, 4], [true, false])
  func wide(width: Int, isLittle: Bool) {
    func wide(_ text: String, before: [UInt8] = []) -> [UInt8] {
      before + text.utf8.flatMap { isLittle ? [$0] + zeros : zeros + [$0] }
    }
    let zeros = [UInt8](repeating: 0, count: width - 1)
    func occurs(_ text: [UInt8]) -> Bool {
      text.withUnsafeBytes { text in Array(Self.token.utf8).withUnsafeBytes { RepeatedToken.occurs($0, in: text) } }
    }
    for before in [[], [0xFE, 0xFF], [1], [1, 2, 3]] as [[UInt8]] {
      #expect(occurs(wide("token: \(Self.token)!", before: before)))
    }
    #expect(occurs(wide(Self.token.replacing("/", with: "\\/"))))
    #expect(occurs(wide(Self.base64("a" + Self.token))))
    #expect(!occurs(wide(Self.token.replacing("0123", with: "0132"))))
  }

  @Test("a token of a few characters is not searched for: it occurs by chance")
  func short() {
    #expect(!Self.occurs("abc", "abc"))
    #expect(Self.occurs("abcd", "abcd"))
    for before in ["", "a", "ab"] { #expect(Self.occurs(Self.base64(before + "key1"), "key1"), "\(before)") }
    #expect(!Self.occurs(Self.base64("kex1"), "key1"))
  }
}
