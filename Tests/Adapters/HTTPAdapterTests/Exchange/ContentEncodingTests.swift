import AgentModel
import AgentPorts
import Foundation
import Testing

@testable import HTTPAdapter

/// Compressed responses are decoded, and bounded as decoded.
@Suite struct ContentEncodingTests {
  private func server(_ encoding: String, _ body: Data) -> RawServer {
    RawServer { connection in
      connection.readRequest()
      connection.send("HTTP/1.1 200 OK\r\nContent-Encoding: \(encoding)\r\nContent-Length: \(body.count)\r\n\r\n")
      body.withUnsafeBytes { _ = send(connection.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }
  }

  private static func compressed(_ text: String, _ how: String) throws -> Data {
    try run(
      "python3", "-c", "import sys,zlib,gzip; d=sys.stdin.buffer.read(); sys.stdout.buffer.write(\(how))",
      input: Data(text.utf8))
  }

  @Test(arguments: [("gzip", "gzip.compress(d)"), ("deflate", "zlib.compress(d)"), ("x-gzip", "gzip.compress(d)")])
  func compressedResponse_isDecoded(encoding: String, how: String) async throws {
    let text = #"{"refresh_token":"rt"}"#
    let server = server(encoding, try Self.compressed(text, how))
    let response = try #require(await makeExchange().send(get(server.url)).response)
    #expect(response.text == text)
    #expect(response.field("Content-Encoding") == nil)
    #expect(response.field("Content-Length") == nil)
  }

  @Test func responseThatGrowsOverTheSizeLimit_isUnknown() async throws {
    let text = String(repeating: "x", count: 100_000)
    let server = server("gzip", try Self.compressed(text, "gzip.compress(d)"))
    #expect(await makeExchange().send(get(server.url, maximumResponseBytes: 99_999)).summary == "unknown tooLarge")
    #expect(await makeExchange().send(get(server.url, maximumResponseBytes: 100_000)).summary == "200 " + text)
  }

  @Test func responseThatDoesNotDecode_isUnknown() async {
    #expect(await makeExchange().send(get(server("gzip", Data("hello".utf8)).url)).summary == "unknown malformed")
    #expect(await makeExchange().send(get(server("unknown", Data("hello".utf8)).url)).summary == "unknown malformed")
  }

  @Test func requestThatNamesEncodings_getsTheResponseAsItCame() async throws {
    let server = server("gzip", Data("raw".utf8))
    var request = get(server.url)
    request.fields = [HTTPField("Accept-Encoding", "gzip")]
    let response = try #require(await makeExchange().send(request).response)
    #expect(response.text == "raw")
    #expect(response.field("Content-Encoding") == "gzip")
  }
}
