import AgentModel
import AgentPorts
import Foundation
import HTTPAdapter
import Testing

/// A response that is cut in its body is a failure that carries what arrived.
@Suite struct PartialResponseTests {
  static let json = #"{"refresh_token":"rt"}"#
  static let chunk = String(json.utf8.count, radix: 16) + "\r\n" + json + "\r\n"

  @Test(arguments: [
    // The last chunk is missing, a chunk is cut, the length is too long by 1 and by 2,000.
    ("Transfer-Encoding: chunked", chunk), ("Transfer-Encoding: chunked", "fff\r\n" + json),
    ("Content-Length: \(json.utf8.count + 1)", json), ("Content-Length: \(json.utf8.count + 2000)", json),
  ])
  func responseCutInItsBody_carriesWhatArrived(field: String, body: String) async {
    let server = RawServer(answering: "HTTP/1.1 200 OK\r\nX-A: b\r\n\(field)\r\n\r\n\(body)")
    let outcome = await makeExchange().send(get(server.url))
    #expect(outcome.summary == "unknown reset")
    #expect(outcome.partialText == Self.json)
    guard case .unknown(_, partial: let partial?) = outcome else { return }
    #expect(partial.status == 200 && partial.field("x-a") == "b")
    #expect(partial.sentAt < partial.receivedAt)
  }

  @Test func responseFollowedByAReset_carriesWhatArrived() async {
    let server = RawServer { connection in
      connection.readRequest()
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" + Self.json)
      connection.resetOnClose()
    }
    let outcome = await makeExchange().send(get(server.url))
    #expect(outcome.summary == "unknown reset")
    #expect(outcome.partialText == Self.json)
  }

  @Test func responseThatStops_carriesWhatArrivedAtTheTimeout() async {
    let server = RawServer { connection in
      connection.readRequest()
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" + Self.json)
      connection.waitUntilPeerCloses()
    }
    var request = get(server.url)
    request.timeout = Milliseconds(300)
    let outcome = await makeExchange().send(request)
    #expect(outcome.summary == "unknown timedOut")
    #expect(outcome.partialText == Self.json)
  }

  @Test func compressedResponseCutInItsBody_carriesWhatCouldBeDecoded() async throws {
    let body = try run(
      "python3", "-c", "import sys,gzip; sys.stdout.buffer.write(gzip.compress(sys.stdin.buffer.read()))",
      input: Data(Self.json.utf8))
    let server = RawServer { connection in
      connection.readRequest()
      connection.send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(body.count + 1)\r\n\r\n")
      body.withUnsafeBytes { _ = send(connection.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }
    let outcome = await makeExchange().send(get(server.url))
    #expect(outcome.summary == "unknown reset")
    #expect(outcome.partialText == Self.json)
  }

  @Test(arguments: [
    "", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    // Over the limit: nothing of it is kept.
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + String(repeating: "x", count: 1001),
  ])
  func responseCutBeforeItsBodyOrOverTheLimit_carriesNothing(answer: String) async {
    let server = RawServer(answering: answer)
    let outcome = await makeExchange().send(get(server.url, maximumResponseBytes: 1000))
    #expect(outcome.summary.hasPrefix("unknown "))
    #expect(outcome.partialText == nil)
  }
}
