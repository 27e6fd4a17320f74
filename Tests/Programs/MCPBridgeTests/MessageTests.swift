import JSONRPC
import MCPBridge
import Testing

/// Lines of the client and messages of the server.
@Suite struct MessageTests {
  private func read(_ line: String) -> Result<ClientMessage, UnreadableMessage> {
    var tape = JSONTape()
    return Array(line.utf8).withUnsafeBytes { bytes in
      do throws(UnreadableMessage) { return .success(try ClientMessage(bytes, &tape)) } catch { return .failure(error) }
    }
  }

  @Test func request_tellsItsVersionAndItsTarget() throws {
    let line =
      #"{"jsonrpc":"2.0","id":"\u0061","method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#
    let message = try read(line).get()
    #expect(message.version == "2026-07-28" && message.target == "t" && message.method == "tools/call")
    guard case .request(let id) = message.kind else { Issue.record("no request"); return }
    #expect(String(decoding: id.raw, as: UTF8.self) == #""\u0061""#)
  }

  @Test(
    "a line that is no message, or can be read in two ways, is answered by an error of JSON-RPC",
    arguments: [
      ("{", -32700), ("7", -32600), ("[]", -32600), (#"[{"jsonrpc":"2.0","id":1,"method":"x"}]"#, -32600),
      (#"{"jsonrpc":"2.0","id":1}"#, -32600), (#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, -32600),
      (#"{"id":1,"method":"x"}"#, -32600), (#"{"jsonrpc":"2.0","id":1,"method":"x","method":"y"}"#, -32600),
      (String(repeating: "[", count: 100), -32700),
    ])
  func unreadable(line: String, code: Int) {
    guard case .failure(let error) = read(line) else { Issue.record("read"); return }
    #expect(error.failure.code == Int64(code))
  }

  private func id(_ text: String) -> MessageID? {
    var tape = JSONTape()
    return Array(text.utf8).withUnsafeBytes { bytes in
      try? JSONScanner.scan(bytes, onto: &tape)
      return tape.withRoot(of: bytes) { MessageID($0) }
    }
  }

  @Test func ids_areComparedByTheirValues() {
    #expect(id("1") == id("1.0") && id(#""a""#) == id(#""\u0061""#))
    #expect(id("1") != id(#""1""#) && id("123456789012345678901") != id("123456789012345678902"))
    #expect(id("null") == nil && id("true") == nil)
  }

  @Test func response_getsTheIdAsTheClientWroteIt() throws {
    var tape = JSONTape()
    let own = try #require(id(#""\u0061""#))
    try Array(#"{"result":{"id":"a"}, "id" : "a","jsonrpc":"2.0"}"#.utf8).withUnsafeBytes { bytes in
      let message = try #require(ServerMessage(bytes, &tape))
      let spelled = try #require(message.spelled(own, in: bytes))
      #expect(String(decoding: spelled, as: UTF8.self) == #"{"result":{"id":"a"}, "id" : "\u0061","jsonrpc":"2.0"}"#)
      #expect(message.spelled(try #require(id(#""a""#)), in: bytes) == nil)
    }
  }

  @Test("lines come out whole, however the input is cut", arguments: [1, 2, 5, 100])
  func lines(size: Int) {
    var splitter = LineSplitter(limit: 8)
    var seen: [String] = []
    let bytes = Array("one\r\n\n  \nüü\n123456789\n12345678\ncut".utf8)
    for start in stride(from: 0, to: bytes.count, by: size) {
      bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { piece in
        splitter.push(piece) { line in
          switch line {
          case .whole(let bytes): seen.append(String(decoding: bytes, as: UTF8.self))
          case .tooLong: seen.append("too long")
          }
        }
      }
    }
    #expect(seen == ["one", "üü", "too long", "12345678"])
  }
}
