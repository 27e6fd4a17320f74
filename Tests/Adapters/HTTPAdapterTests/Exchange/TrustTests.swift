import AgentModel
import AgentPorts
import Foundation
import HTTPAdapter
import Testing

/// The server's certificate is always verified, pinned on request, and no request goes to an untrusted server.
@Suite struct TrustTests {
  let identity: TLSIdentity
  let other: TLSIdentity

  init() throws {
    _ = ProxyEnvironment.proxy
    identity = try TLSIdentity.localhost.get()
    other = try TLSIdentity.other.get()
  }

  var trusting: CurlExchange { makeExchange(certificateAuthorities: identity.certificate) }

  @Test func serverWithATrustedCertificate_isAnswered() async throws {
    let server = try TLSServer(identity)
    #expect(await trusting.send(get(server.url + "/token")).summary == "200 /token")
    #expect(server.requests == 1)
  }

  @Test func serverWithAnUnknownAuthority_isUntrusted() async throws {
    let server = try TLSServer(identity)
    #expect(await makeExchange().send(get(server.url)).summary == "untrusted")
    #expect(
      await makeExchange(certificateAuthorities: other.certificate).send(get(server.url)).summary == "untrusted")
    #expect(server.requests == 0, "nothing of a request was sent")
  }

  @Test func certificateOfAnotherHostName_isUntrusted() async throws {
    let server = try TLSServer(identity)
    #expect(await trusting.send(get("https://127.0.0.1:\(server.port)/")).summary == "untrusted")
    #expect(server.requests == 0)
  }

  @Test func oneMatchingPin_isEnough() async throws {
    let server = try TLSServer(identity)
    for pins in [[identity.pin], [other.pin, identity.pin], ["nonsense", identity.pin]] {
      #expect(await trusting.send(get(server.url, pins: pins)).summary == "200 /")
    }
  }

  @Test func pinsWithoutAMatch_areUntrusted() async throws {
    let server = try TLSServer(identity)
    let short = String(identity.pin.dropLast(5)) + "="
    for pin in [other.pin, "nonsense", "sha256/", "sha256//" + identity.pin.dropFirst(7), short, identity.key, ""] {
      #expect(await trusting.send(get(server.url, pins: [pin])).summary == "untrusted")
    }
    #expect(server.requests == 0)
  }

  @Test func matchingPinWithAnUntrustedCertificate_isUntrusted() async throws {
    let server = try TLSServer(identity)
    #expect(await makeExchange().send(get(server.url, pins: [identity.pin])).summary == "untrusted")
  }

  @Test func pinnedRequestOverPlainHTTP_isUntrusted() async {
    let server = RawServer(answering: "HTTP/1.1 200 OK\r\n\r\n")
    #expect(await trusting.send(get(server.url, pins: [identity.pin])).summary == "untrusted")
    #expect(server.connections == 0)
  }

  @Test func tlsBelow12_isUntrusted() async throws {
    let server = try TLSServer(identity, newestVersion: "TLSv1_1")
    #expect(await trusting.send(get(server.url)).summary == "untrusted")
    let newer = try TLSServer(identity, newestVersion: "TLSv1_2")
    #expect(await trusting.send(get(newer.url)).summary == "200 /")
  }

  @Test func serverWithoutTLS_isUntrusted() async {
    let server = RawServer { connection in
      connection.send("HTTP/1.1 200 OK\r\n\r\n")
      connection.waitUntilPeerCloses()
    }
    let url = "https://localhost:\(server.port)/"
    #expect(await trusting.send(get(url)).summary == "untrusted")
  }

  @Test(arguments: [false, true]) func handshakeThatBreaksOff_isNotConnected(reset: Bool) async {
    let server = RawServer { connection in
      var buffer = [UInt8](repeating: 0, count: 4096)
      _ = read(connection.descriptor, &buffer, buffer.count)
      if reset { connection.resetOnClose() }
    }
    #expect(await trusting.send(get("https://localhost:\(server.port)/")).summary == "notConnected other")
  }

  @Test func handshakeThatHangs_isNotConnected() async {
    let server = RawServer { $0.waitUntilPeerCloses() }
    var request = get("https://localhost:\(server.port)/")
    request.timeout = Milliseconds(150)
    #expect(await trusting.send(request).summary == "notConnected timedOut")
  }
}
