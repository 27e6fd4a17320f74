import AgentModel
import CPlatform
import Glibc
import LoopbackHTTP
import ProxyCore
import TLSServing
import Threads

/// One connection of a program of the sandbox, from its first byte to its last.
struct ClientConnection {
  let client: ClientStream
  let proxy: Proxy

  /// A program sends its head at once; a slower one would hold a thread.
  private static let headMilliseconds: Int = 30_000
  /// So long a connection is kept for another request.
  private static let idleMilliseconds: Int = 60_000
  private static let handshakeMilliseconds: Int = 15_000

  func serve() {
    // The socket is open until it is watched no more: a later connection may get its number.
    withExtendedLifetime(client) { proxy.hangUps.connected(client.socket) { serveRequests() } }
  }

  private func serveRequests() {
    while let head = nextHead() {
      guard isProved(head) else {
        let isKept = head.keepsAlive && head.framing == .none
        refuse(
          Refusal(
            407, "proxySecretMissing", "This proxy needs its secret, which is in the URL that it printed at its start."),
          head, closes: !isKept)
        // A client may ask first what is wanted, and come back on the same connection.
        if isKept { continue }
        return client.finish()
      }
      if case .tunnel(let named) = head.target { return tunnel(to: named, head) }
      guard forward(head, tunnel: nil) else { return client.finish() }
    }
    client.finish()
  }

  /// CONNECT: from here on the client speaks TLS, which ends at this proxy, or plain HTTP where only that is allowed.
  private func tunnel(to named: HTTPURL, _ head: RequestHead) {
    let origin = proxy.scope.origins.tunnelled(to: named)
    do throws(Refusal) {
      let passage = try proxy.authorizer.pass(to: named)
      if passage == nil { try proxy.authorizer.checkTunnel(to: origin) }
      guard head.framing == .none, !client.hasBuffered else {
        throw .malformed("The client sent data before the tunnel was open.")
      }
      if let host = head.host, let named = HTTPURL("https://" + host), named.host != origin.host {
        throw Refusal(421, "misdirectedRequest", "The Host field does not name the host of CONNECT.")
      }
      if let passage {
        let passing = Passing(client: client, proxy: proxy, origin: named, passage: passage)
        return try proxy.transfer { () throws(Refusal) in try passing.tunnel() }
      }
    } catch {
      // Before the answer: `lanyard exec` ends the proxy as soon as a program that was refused has ended.
      proxy.notes.refused(origin.origin, error)
      refuse(error, head)
      return client.finish()
    }
    if origin.scheme == .http {
      guard client.write(Self.established) else { return }
      return serve(origin)
    }
    guard let leaf = proxy.authority?.leaf(for: origin.host, now: Int64(MonotonicTime.now.milliseconds / 1000)) else {
      refuse(Refusal(502, "noCertificate", "The proxy could not make a certificate for \(origin.hostText)."), head)
      return client.finish()
    }
    guard client.write(Self.established), client.startTLS(leaf, milliseconds: Self.handshakeMilliseconds) else {
      return
    }
    serve(origin)
  }

  private static let established = Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8)

  /// The requests of an open tunnel.
  private func serve(_ origin: HTTPURL) {
    while let head = nextHead() { guard forward(head, tunnel: origin) else { break } }
    client.finish()
  }

  /// False if the connection must end.
  private func forward(_ head: RequestHead, tunnel: HTTPURL?) -> Bool {
    let request: ForwardedRequest
    do throws(Refusal) {
      if tunnel == nil, case .absolute(let url) = head.target, url.scheme == .http,
        let passage = try proxy.authorizer.pass(to: url)
      {
        let passing = Passing(client: client, proxy: proxy, origin: url, passage: passage)
        let passed = try PassedRequest(head, to: url)
        try proxy.transfer { () throws(Refusal) in try passing.forward(passed, head) }
        return false
      }
      request = try ForwardedRequest(
        head, tunnel: tunnel, serverName: client.serverName, secretPaths: proxy.scope.secretPaths)
    } catch {
      refuse(error, head)
      return false
    }
    let forwarding = Forwarding(client: client, proxy: proxy, head: head, request: request)
    return proxy.transfer { proxy.isEnding ? false : forwarding.run() }
  }

  /// Nil if the client ends, is too slow, or was refused.
  private func nextHead() -> RequestHead? {
    var reader = HeadReader()
    var piece = [UInt8](repeating: 0, count: 16 << 10)
    var deadline = MonotonicTime.now.milliseconds + Self.idleMilliseconds
    while true {
      let reading = piece.withUnsafeMutableBytes { client.readWaiting(into: $0, until: deadline) }
      guard case .bytes(let count) = reading else {
        if case .later = reading, reader.hasBegun {
          refuse(.malformed("The head of the request did not come in time.", status: 408), nil)
        }
        return nil
      }
      if !reader.hasBegun { deadline = MonotonicTime.now.milliseconds + Self.headMilliseconds }
      switch piece.withUnsafeBytes({ reader.receive(UnsafeRawBufferPointer(rebasing: $0[..<count])) }) {
      case .needsMore: continue
      case .head(let head, let rest):
        client.putBack(rest)
        return head
      case .refused(let refusal):
        refuse(refusal, nil)
        return nil
      }
    }
  }

  /// A unix socket needs no secret: its directory and the kernel keep others out.
  private func isProved(_ head: RequestHead) -> Bool {
    proxy.secret?.isProved(by: head.value("proxy-authorization")) ?? true
  }

  private func refuse(_ refusal: Refusal, _ head: RequestHead?, closes: Bool = true) {
    _ = client.write(
      refusal.response(asJSON: head?.acceptsJSON ?? false, isHead: head?.method == "HEAD", closes: closes))
  }
}
