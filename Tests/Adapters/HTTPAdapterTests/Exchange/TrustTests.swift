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
    #expect(await makeExchange().send(get(server.url)).summary == "untrusted unknownAuthority")
    #expect(
      await makeExchange(certificateAuthorities: other.certificate).send(get(server.url)).summary
        == "untrusted unknownAuthority")
    #expect(
      await makeExchange(certificateAuthorities: "/nowhere.pem").send(get(server.url)).summary
        == "untrusted unknownAuthority")
    #expect(server.requests == 0, "nothing of a request was sent")
  }

  @Test func authoritiesOfTheRequest_countInsteadOfTheDefaults() async throws {
    let server = try TLSServer(identity)
    var request = get(server.url)
    request.certificateAuthorities = identity.certificate
    #expect(await makeExchange(certificateAuthorities: other.certificate).send(request).summary == "200 /")
    request.certificateAuthorities = other.certificate
    #expect(await trusting.send(request).summary == "untrusted unknownAuthority")
  }

  @Test func environment_namesAuthorities() {
    func defaults(_ variables: [String: String]) -> ConnectionDefaults {
      ConnectionDefaults { variables[$0] }
    }
    #expect(defaults([:]).authorities == CertificateAuthorities())
    #expect(defaults(["SSL_CERT_FILE": "/a"]).authorities == CertificateAuthorities(file: "/a"))
    #expect(defaults(["SSL_CERT_DIR": "/d"]).authorities == CertificateAuthorities(directory: "/d"))
    #expect(
      defaults(["SSL_CERT_FILE": "/a", "SSL_CERT_DIR": "/d", "CURL_CA_BUNDLE": "/b"]).authorities
        == CertificateAuthorities(file: "/b", directory: "/d"))
  }

  @Test func expiredCertificate_isToldAsExpired() async throws {
    let expired = try TLSIdentity.expired.get()
    let server = try TLSServer(expired)
    #expect(
      await makeExchange(certificateAuthorities: expired.certificate).send(get(server.url)).summary
        == "untrusted expired")
  }

  @Test func certificateOfAnotherHostName_isUntrusted() async throws {
    let server = try TLSServer(identity)
    #expect(await trusting.send(get("https://127.0.0.1:\(server.port)/")).summary == "untrusted wrongName")
    #expect(server.requests == 0)
  }

  @Test func oneMatchingPin_isEnough() async throws {
    let server = try TLSServer(identity)
    for pins in [[identity.pin], [other.pin, identity.pin], ["nonsense", identity.pin]] {
      #expect(await trusting.send(get(server.url, pins: pins)).summary == "200 /")
    }
  }

  @Test func serverKey_isReadWithoutARequest() async throws {
    let server = try TLSServer(identity)
    guard case .pin(let pin) = await trusting.serverKey(for: get(server.url, pins: [other.pin])) else {
      Issue.record("no key was read")
      return
    }
    #expect(pin == identity.pin)
    #expect(server.requests == 0)
  }

  @Test func serverKeyOfAnUntrustedServer_isNotTold() async throws {
    let server = try TLSServer(identity)
    guard case .failed(let outcome) = await makeExchange().serverKey(for: get(server.url)) else {
      Issue.record("a key was told")
      return
    }
    #expect(outcome.summary == "untrusted unknownAuthority")
  }

  @Test func pinsWithoutAMatch_areUntrusted() async throws {
    let server = try TLSServer(identity)
    let short = String(identity.pin.dropLast(5)) + "="
    for pin in [other.pin, "nonsense", "sha256/", "sha256//" + identity.pin.dropFirst(7), short, identity.key, ""] {
      #expect(await trusting.send(get(server.url, pins: [pin])).summary == "untrusted pinMismatch")
    }
    #expect(server.requests == 0)
  }

  @Test func matchingPinWithAnUntrustedCertificate_isUntrusted() async throws {
    let server = try TLSServer(identity)
    #expect(await makeExchange().send(get(server.url, pins: [identity.pin])).summary == "untrusted unknownAuthority")
  }

  @Test func pinnedRequestOverPlainHTTP_isUntrusted() async {
    let server = RawServer(answering: "HTTP/1.1 200 OK\r\n\r\n")
    #expect(await trusting.send(get(server.url, pins: [identity.pin])).summary == "untrusted pinMismatch")
    #expect(server.connections == 0)
  }

  @Test func tlsBelow12_isUntrusted() async throws {
    let server = try TLSServer(identity, newestVersion: "TLSv1_1")
    #expect(await trusting.send(get(server.url)).summary == "untrusted tls")
    let newer = try TLSServer(identity, newestVersion: "TLSv1_2")
    #expect(await trusting.send(get(newer.url)).summary == "200 /")
  }

  @Test func serverWithoutTLS_isUntrusted() async {
    let server = RawServer { connection in
      connection.send("HTTP/1.1 200 OK\r\n\r\n")
      connection.waitUntilPeerCloses()
    }
    let url = "https://localhost:\(server.port)/"
    #expect(await trusting.send(get(url)).summary == "untrusted tls")
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
