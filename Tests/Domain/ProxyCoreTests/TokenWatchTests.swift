import ProxyCore
import Testing

struct TokenWatchTests {
  private let token = "eyJhbGciOi.secret-part/of+it"

  /// What goes on of a text in pieces of one size; `isFound` if it was cut off.
  private func passed(_ text: String, pieces: Int) -> (text: String, isFound: Bool) {
    var watch = TokenWatch(Array(token.utf8))
    var gone: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while true {
      let piece = Array(rest.prefix(pieces))
      rest = rest.dropFirst(pieces)
      let isClean = piece.withUnsafeBytes {
        watch.pass($0, isLast: rest.isEmpty) {
          gone += $0; return true
        }
      }
      if !isClean || rest.isEmpty { return (String(decoding: gone, as: UTF8.self), !isClean) }
    }
  }

  private var spellings: [String] {
    [
      token, token.map { "\\u00" + String($0.asciiValue!, radix: 16) }.joined(),
      token.map { "%" + String($0.asciiValue!, radix: 16, uppercase: true) }.joined(),
      token.split(separator: "/").joined(separator: "\\/"),
      // "user:" and the token, as in the credentials of RFC 7617.
      "dXNlcjpleUpoYkdjaU9pLnNlY3JldC1wYXJ0L29mK2l0",
    ]
  }

  @Test(arguments: [1, 2, 3, 5, 7, 64, 100_000]) func tokenIsFoundAcrossPiecesInEachSpelling(pieces: Int) {
    for spelling in spellings {
      let (text, isFound) = passed("before " + spelling + " after", pieces: pieces)
      #expect(isFound, "\(spelling)")
      // Of the token only what is the same in many has gone on.
      #expect("before ".utf8.count + 24 >= text.utf8.count, "\(text)")
      #expect(!text.contains("secret"), "\(text)")
    }
  }

  @Test(arguments: [1, 3, 8, 100_000]) func everythingElseGoesOnUnchanged(pieces: Int) {
    for text in [
      "", "hello", "eyJhbGciOi.other", "eyJhbGciOi.secret-part", "%65%79%4", "\\u0065\\u00", token.dropLast() + "!",
    ] {
      let (gone, isFound) = passed(text + " and more", pieces: pieces)
      #expect(!isFound, "\(text)")
      #expect(gone == text + " and more")
    }
  }

  @Test func textThatIsNoBeginningOfTheTokenIsNotHeldBack() {
    var watch = TokenWatch(Array(token.utf8))
    var gone = ""
    let event = Array("data: hello\n\n".utf8)
    let isClean = event.withUnsafeBytes {
      watch.pass($0) {
        gone += String(decoding: $0, as: UTF8.self); return true
      }
    }
    #expect(isClean)
    #expect(gone == "data: hello\n\n")
  }

  @Test func tokenInAFieldIsFound() {
    let watch = TokenWatch(Array(token.utf8))
    // `#expect` copies what it shows.
    let (isFound, isElsewhere) = (watch.occurs(in: "Bearer \(token)"), watch.occurs(in: "Bearer other"))
    #expect(isFound)
    #expect(!isElsewhere)
  }
}
