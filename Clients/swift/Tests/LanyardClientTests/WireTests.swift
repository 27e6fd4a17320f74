import Foundation
import Testing

@testable import LanyardClient

@Suite("JSON on the wire") struct WireTests {
  @Test(
    "A text that is JSON is read",
    arguments: [
      ("null", JSON.null), (" [1, -0.5, 1e3, true] ", [1, -0.5, 1000.0, true]),
      (#"{"a\u0062":"\ud83d\uDD11\/\n\u0000"}"#, ["ab": "🔑/\n\0"]), ("9007199254740991", 9_007_199_254_740_991),
      ("-9223372036854775808", JSON.integer(Int.min)), (#""grüße \u2028 🗝""#, "grüße \u{2028} 🗝"), ("{}", [:]),
      ("[]", []),
    ] as [(String, JSON)])
  func reads(text: String, value: JSON) throws {
    #expect(try JSON(parsing: text) == value)
    #expect(try JSON(parsing: value.text) == value)
  }

  @Test(
    "A text that is not JSON is refused",
    arguments: [
      "", "{", "[1,]", "{\"a\":1,}", "01", "1.", "-", "+1", "NaN", "\"\u{1}\"", "\"\\x\"", "\"\\ud800\"", "\"\\udc00\"",
      "tru", "1 2", "{\"a\" 1}", "{1:2}", "\"a", "\u{FEFF}1", String(repeating: "[", count: 300),
    ])
  func refuses(text: String) {
    #expect(throws: LanyardError.self) { try JSON(parsing: text) }
  }

  @Test(
    "Bytes that are not UTF-8 are refused",
    arguments: [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82], [0xF5, 0x80, 0x80, 0x80]] as [[UInt8]])
  func refusesBytes(bytes: [UInt8]) {
    let buffer = WireBuffer()
    for byte in [0x22] + bytes + [0x22] { buffer.append(byte) }
    #expect(throws: LanyardError.self) { try WireDocument(parsing: buffer) }
  }

  @Test("Lines are split in whatever pieces they come", arguments: [1, 2, 3, 7, 100])
  func splitsLines(size: Int) throws {
    let bytes = Array("{\"a\":\"ö€🗝\"}\n\n\r\n[1]\r\n2\nrest".utf8)
    var reader = LineReader()
    var lines: [String] = []
    for start in stride(from: 0, to: bytes.count, by: size) {
      reader.fill(with: Array(bytes[start..<min(start + size, bytes.count)]))
      while let line = try reader.next() { lines.append(line.text) }
    }
    #expect(lines == ["{\"a\":\"ö€🗝\"}", "[1]\r", "2"])
  }

  @Test("A line of 64 MiB is read, and a longer one refused")
  func longLines() throws {
    var reader = LineReader()
    let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
    for _ in 0..<64 { reader.fill(with: piece) }
    #expect(try reader.next() == nil)
    reader.fill(with: [0x0A])
    #expect(try reader.next()?.count == 64 << 20)
    for _ in 0..<65 { reader.fill(with: piece) }
    #expect(throws: LanyardError.self) { try reader.next() }
  }

  @Test(
    "Instants keep their milliseconds",
    arguments: [
      "1970-01-01T00:00:00.000Z", "2030-01-01T00:05:00.001Z", "1969-12-31T23:59:59.999Z", "2024-02-29T12:34:56.789Z",
      "2100-03-01T00:00:00.500Z", "0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z",
    ])
  func instants(text: String) throws {
    #expect(Instant.text(try #require(Instant.date(text))) == text)
  }

  @Test("Other spellings of an instant are read")
  func otherInstants() {
    #expect(Instant.date("2030-01-01t02:00:00+02:00") == Date(timeIntervalSince1970: 1_893_456_000))
    #expect(Instant.date("2030-01-01T00:00:60Z") == Date(timeIntervalSince1970: 1_893_456_059))
    for text in ["", "2030-01-01", "2030-02-30T00:00:00Z", "2030-01-01T24:00:00Z", "2030-01-01T00:00:00", "x"] {
      #expect(Instant.date(text) == nil)
    }
  }
}

@Suite("Values of the contract") struct ValueTests {
  private func token(_ members: [String: JSON] = [:]) throws -> Token {
    try Token(json: .object(ScriptedAgent.token.object!.merging(members) { $1 }))
  }

  @Test("Members and words that the client does not know survive")
  func unknownSurvives() throws {
    let token = try token(["later": ["deep": 1], "source": "fromTheFuture"])
    #expect(token.extra["later"] == ["deep": 1])
    #expect(token.source == "fromTheFuture")
    #expect(!TokenSource.known.contains(token.source))
    let written = token.json(revealingSecrets: true)
    #expect(written["later"] == ["deep": 1])
    #expect(written["source"] == "fromTheFuture")
    #expect(try Token(json: written) == token)
  }

  @Test("A member that is missing or of another type is told by its place alone")
  func wrongMembers() {
    for (members, place): ([String: JSON], String) in [
      (["generation": "not-a-real-secret"], "/generation"), (["scopes": [1]], "/scopes/0"),
      (["account": nil], "account"),
      (["expiresAt": "soon"], "/expiresAt"), (["generation": 1.5], "/generation"),
    ] {
      #expect {
        try token(members)
      } throws: { error in
        "\(error)".contains(place) && !"\(error)".contains("not-a-real-secret")
      }
    }
  }

  @Test("No way of printing shows a secret")
  func secretsDoNotPrint() throws {
    let token = try token(["accessToken": "hidden-1", "later": ["idToken": "hidden-2"]])
    #expect(token.accessToken.reveal() == "hidden-1")
    var dumped = ""
    dump(token, to: &dumped)
    for text in [dumped, "\(token)", String(reflecting: token), "\(token.accessToken)", "\(token.extra)"] {
      #expect(!text.contains("hidden"))
    }
    #expect(dumped.contains("f1"))
    #expect(token.json(revealingSecrets: false)["accessToken"] == .null)
    #expect(token.accessToken == Secret("hidden-1"))
    #expect(token.accessToken != Secret("hidden-3"))
  }

  @Test("Absent differs from empty")
  func absentOrEmpty() throws {
    let empty = SessionExpiredData(reason: "idle", remedies: [])
    #expect(empty.json(revealingSecrets: true) == ["reason": "idle", "remedies": []])
    #expect(SessionExpiredData(reason: "idle").json(revealingSecrets: true) == ["reason": "idle"])
    #expect(try SessionExpiredData(json: ["reason": "idle", "remedies": nil]).remedies == nil)
  }

  @Test("An error shows nothing of its data")
  func errorsDoNotPrint() {
    let error = LanyardError(
      .offline, "no way to the provider", data: ["retryable": true, "retryAfterMs": 500, "later": "hidden"])
    var dumped = ""
    dump(error, to: &dumped)
    for text in [dumped, "\(error)", String(reflecting: error), error.localizedDescription] {
      #expect(!text.contains("hidden"))
    }
    #expect("\(error)" == "no way to the provider [offline (3001)]")
    #expect((error.retryable, error.retryAfterMs) == (true, 500))
  }
}
