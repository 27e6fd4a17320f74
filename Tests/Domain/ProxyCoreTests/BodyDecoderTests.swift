import ProxyCore
import Testing

struct BodyDecoderTests {
  /// Decodes a body from pieces of one size, into room of another.
  private func decoded(
    _ text: String, _ framing: RequestHead.Framing, pieces: Int, room: Int
  ) throws(Refusal) -> (body: String, rest: String, isComplete: Bool) {
    var decoder = BodyDecoder(framing)
    var (input, body): (ArraySlice<UInt8>, [UInt8]) = (Array(text.utf8)[...], [])
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: room, alignment: 1)
    defer { memory.deallocate() }
    while !input.isEmpty, !decoder.isComplete {
      let (taken, copied) = try decoder.take(input.prefix(pieces), into: memory)
      body += memory[..<copied]
      input = input.dropFirst(taken)
    }
    return (String(decoding: body, as: UTF8.self), String(decoding: input, as: UTF8.self), decoder.isComplete)
  }

  @Test(arguments: [1, 2, 5, 1000], [1, 3, 1000]) func bodyIsTakenFromPiecesOfAnySize(pieces: Int, room: Int) throws {
    let chunked = "5\r\nhello\r\nA;name=\"v\"\r\n0123456789\r\n00\r\nX-Trailer: a\r\n\r\nGET"
    let one = try decoded(chunked, .chunked, pieces: pieces, room: room)
    #expect(one == ("hello0123456789", "GET", true))
    let two = try decoded("helloGET", .length(5), pieces: pieces, room: room)
    #expect(two == ("hello", "GET", true))
  }

  @Test func requestWithoutABodyTakesNothing() throws {
    #expect(BodyDecoder(.none).isComplete)
  }

  @Test func bodyThatIsCutIsNotComplete() throws {
    for text in ["", "5", "5\r\nhel", "5\r\nhello\r\n", "5\r\nhello\r\n0\r\n", "0\r\nA: b\r\n"] {
      #expect(try !decoded(text, .chunked, pieces: 1, room: 10).isComplete, "\(text)")
    }
  }

  @Test(arguments: [
    "g\r\n", "\r\n", "-1\r\n", "+1\r\n", "0x1\r\n", "1\na\r\n", "1\r\nab\r\n", "1\r\na\n", "ffffffffffffffff\r\n",
    "1;\u{0}\r\n", "0\r\nA\n\r\n", "0\r\n b: c\r\n\r\n",
  ]) func malformedChunkIsRefused(text: String) {
    for pieces in [1, 1000] {
      #expect(throws: Refusal.self) { try decoded(text, .chunked, pieces: pieces, room: 100) }
    }
  }

  @Test func extensionOverTheBoundIsRefused() {
    #expect(throws: Refusal.self) {
      try decoded("1;" + String(repeating: "x", count: 300) + "\r\na\r\n", .chunked, pieces: 10, room: 10)
    }
  }
}
