import AgentModel
import AgentPorts
import Foundation
import Testing

import HTTPAdapter

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

  @Test(arguments: [
    ("gzip", "gzip.compress(d)"), ("deflate", "zlib.compress(d)"), ("x-gzip", "gzip.compress(d)"),
    ("GZip", "gzip.compress(d)"), ("identity, gzip", "gzip.compress(d)"),
    ("deflate", "zlib.compress(d)[2:-4]"),
    ("gzip", "gzip.compress(d[:5]) + gzip.compress(b'') + gzip.compress(d[5:])"),
    ("gzip", "gzip.compress(d) + bytes(20)"),
  ])
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

  @Test(arguments: [
    ("gzip", "gzip.compress(d)[:-1]"), ("gzip", "gzip.compress(d)[:-8]"), ("deflate", "zlib.compress(d)[:-4]"),
    ("gzip", "gzip.compress(d) + gzip.compress(b'')[:-9]"),
  ])
  func streamWithoutItsEnd_isUnknownWithWhatCame(encoding: String, how: String) async throws {
    let text = #"{"refresh_token":"rt","more":"abcdefghijklmnopqrstuvwxyz"}"#
    let server = server(encoding, try Self.compressed(text, how))
    let outcome = await makeExchange().send(get(server.url))
    #expect(outcome.summary == "unknown reset")
    #expect(outcome.partialText == text)
  }

  @Test(arguments: ["gzip.compress(d)[:len(d)//2]", "gzip.compress(d)[:1]", "gzip.compress(d) + gzip.compress(d)[:-9]"])
  func streamWithoutItsSecondHalf_isUnknown(how: String) async throws {
    let server = server("gzip", try Self.compressed(#"{"refresh_token":"rt"}"#, how))
    #expect(await makeExchange().send(get(server.url)).summary == "unknown reset")
  }

  @Test(arguments: [
    ("gzip", "gzip.compress(d)[:-8] + bytes(8)"), ("gzip, gzip", "gzip.compress(gzip.compress(d))"),
    ("deflate", "zlib.compress(d)[:-4] + bytes(4)"), ("br", "d"),
  ])
  func damagedStream_isUnknown(encoding: String, how: String) async throws {
    let server = server(
      encoding, try Self.compressed(#"{"refresh_token":"rt","more":"abcdefghijklmnopqrstuvwxyz"}"#, how))
    #expect(await makeExchange().send(get(server.url)).summary == "unknown malformed")
  }

  @Test func emptyResponseThatNamesACoding_isEmpty() async throws {
    let response = try #require(await makeExchange().send(get(server("gzip", Data()).url)).response)
    #expect(response.text == "")
  }

  @Test func streamOfEmptyPieces_isTooLarge() async throws {
    let server = server("gzip", try Self.compressed("", "gzip.compress(d) * 100_000"))
    #expect(await makeExchange().send(get(server.url, maximumResponseBytes: 3 << 20)).summary == "200 ")
    let endless = RawServer { connection in
      connection.readRequest()
      connection.send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n")
      let piece = (try? Self.compressed("", "gzip.compress(d) * 10_000")) ?? Data()
      piece.withUnsafeBytes {
        for _ in 0..<10 { _ = send(connection.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      }
    }
    #expect(await makeExchange().send(get(endless.url, maximumResponseBytes: 1000)).summary == "unknown tooLarge")
  }

  @Test func responseWithAnotherTransferCoding_isUnknown() async throws {
    let server = RawServer { connection in
      connection.readRequest()
      connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello")
    }
    #expect(await makeExchange().send(get(server.url)).response == nil)
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
