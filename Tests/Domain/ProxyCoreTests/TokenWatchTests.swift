import ProxyCore
import Secrets
import Testing

struct TokenWatchTests {
  private let token = "eyJhbGciOi.secret-part/of+it"
  private let earlier = "another-token-that-is-valid"

  /// What goes on of a text in pieces of one size; `isFound` if it was cut off.
  private func passed(_ text: String, pieces: Int) -> (text: String, isFound: Bool) {
    var watch = TokenWatch([token, earlier].map { Secret(text: $0) })
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
      earlier, token.map { "\($0)\0" }.joined(), token.map { "\0\0\0\($0)" }.joined(),
    ]
  }

  @Test(arguments: [1, 2, 3, 5, 7, 64, 100_000]) func tokenIsFoundAcrossPiecesInEachSpelling(pieces: Int) {
    for spelling in spellings {
      let (text, isFound) = passed("before " + spelling + " after", pieces: pieces)
      #expect(isFound, "\(spelling)")
      #expect("before ".hasPrefix(text), "\(text)")
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

  /// What goes on of a piece before the next one has come.
  private func passedAtOnce(_ piece: String) -> String {
    var watch = TokenWatch([token, earlier].map { Secret(text: $0) })
    var gone = ""
    let isClean = Array(piece.utf8).withUnsafeBytes {
      watch.pass($0) {
        gone += String(decoding: $0, as: UTF8.self); return true
      }
    }
    #expect(isClean)
    return gone
  }

  @Test func textAtWhoseEndNoTokenBeginsPassesAtOnce() {
    for text in ["data: hello\n\n", "{\"a\":1}", token.dropLast() + "!"] { #expect(passedAtOnce(text) == text) }
  }

  @Test func whatIsHeldBackDoesNotTellARightGuessFromAWrongOne() {
    for guess in ["eyJh", "eyJi", "eyJhbGciOi.s", "eyJhbGciOi.t", "%65", "%66", "\\u0065", "\\u0066", "ZXlK", "ZXlL"] {
      #expect(passedAtOnce("a guess: \(guess)") == "a guess: ", "\(guess)")
    }
  }

  /// A body is searched once, however long the tokens are: what has gone on is looked at no more.
  @Test func tokenBehindALongTextIsFound_alsoWhereAllBytesCouldSpellOne() {
    for filler in [String(repeating: "A", count: 5_000), String(repeating: "A\0", count: 5_000)] {
      for spelling in spellings {
        #expect(passed(filler + spelling, pieces: 7).isFound, "\(spelling)")
        #expect(!passed(filler + spelling.dropLast(2), pieces: 7).isFound)
      }
    }
  }

  @Test func tokenInAFieldIsFound() {
    let watch = TokenWatch([token, earlier].map { Secret(text: $0) })
    // `#expect` copies what it shows.
    let (isFound, isElsewhere) = (watch.occurs(in: "Bearer \(token)"), watch.occurs(in: "Bearer other"))
    #expect(isFound)
    #expect(!isElsewhere)
  }
}
