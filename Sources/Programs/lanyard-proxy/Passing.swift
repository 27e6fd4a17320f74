import AgentModel
import CommandSupport
import Glibc
import ProxyCore
import StreamingHTTP
import Threads

/// Lets one connection of a program through to a server without a token and without reading it (docs/proxy.md, What passes).
struct Passing {
  let client: ClientStream
  let proxy: Proxy
  let origin: HTTPURL
  let passage: Authorizer.Passage

  /// CONNECT: whatever the program speaks with the server.
  ///
  /// - Throws: before anything was answered.
  func tunnel() throws(Refusal) {
    let cancellation = HTTPCancellation()
    let server = try connection(isTunnel: true, cancellation)
    guard client.write(Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8)) else { return }
    var relay = BlindRelay()
    let (_, isCancelled) = proxy.hangUps.watch(client.socket, of: "", cancellation, endsWithClient: false) {
      relay.run(client: client.socket, server: server, cancellation: cancellation)
    }
    finish(relay, isCancelled: isCancelled)
  }

  /// A plain request of HTTP, with its answer until the server closes.
  ///
  /// - Throws: before anything was sent.
  func forward(_ request: PassedRequest, _ head: RequestHead) throws(Refusal) {
    let cancellation = HTTPCancellation()
    let server = try connection(isTunnel: false, cancellation)
    var relay = BlindRelay()
    let (_, isCancelled) = proxy.hangUps.watch(
      client.socket, of: "", cancellation, endsWithClient: !request.isUpgrade
    ) {
      let start = request.bytes(leadsToProxy: server.leadsToProxy, proxyCredentials: server.proxyCredentials)
      relay.count(sent: start.count)
      // A server may answer, and close, before it has read all of a body.
      if server.send(start), head.framing != .none { sendBody(head, to: server, &relay, cancellation) }
      relay.run(client: client.socket, server: server, cancellation: cancellation, isOneWay: !request.isUpgrade)
    }
    finish(relay, isCancelled: isCancelled)
  }

  private func sendBody(
    _ head: RequestHead, to server: OpenConnection, _ relay: inout BlindRelay, _ cancellation: HTTPCancellation
  ) {
    let reader = RequestBodyReader(head, client, form: nil)
    guard let body = reader.body()?.body else { return cancellation.cancel() }
    switch body {
    case .none: break
    case .bytes(let bytes):
      let all = bytes.withBytes { Array($0) }
      relay.count(sent: all.count)
      _ = server.send(all)
    case .stream(let stream):
      let isChunked = head.framing == .chunked
      var piece = [UInt8](repeating: 0, count: 64 << 10)
      while !cancellation.isCancelled {
        switch piece.withUnsafeMutableBytes({ stream.read($0) }) {
        case .bytes(let count):
          let bytes = Array(piece[..<count])
          let framed = isChunked ? Array("\(String(count, radix: 16))\r\n".utf8) + bytes + [0x0D, 0x0A] : bytes
          relay.count(sent: framed.count)
          guard server.send(framed) else { return }
        case .later: if !waitForClient() { return cancellation.cancel() }
        case .end:
          if isChunked { _ = server.send(Array("0\r\n\r\n".utf8)) }
          return
        // What the server got is no whole request.
        case .failed: return cancellation.cancel()
        }
      }
    }
  }

  private func waitForClient() -> Bool {
    var entry = pollfd(fd: client.socket, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, Self.patienceMilliseconds) > 0
  }

  /// A program that sends nothing of its body for so long is let go.
  private static let patienceMilliseconds: Int32 = 60_000

  private func connection(
    isTunnel: Bool, _ cancellation: HTTPCancellation
  ) throws(Refusal) -> OpenConnection {
    do throws(OpenConnection.Failure) {
      return try OpenConnection(
        to: origin, isTunnel: isTunnel, isPublic: passage.isPublic, trust: passage.trust, cancellation: cancellation)
    } catch {
      switch error {
      case .notPublic:
        throw Refusal(
          403, "addressNotPublic",
          "\(origin.hostText) has no public address, so it does not pass under *. Nothing was sent.")
      case .notReached(let reason): throw Refusal(reason, at: origin.origin)
      }
    }
  }

  private func finish(_ relay: BlindRelay, isCancelled: Bool) {
    if isCancelled, !proxy.isEnding {
      client.abort()
      proxy.notes.refused(
        origin.origin, Refusal(403, "notPermitted", "The grant ended, so the connection was cut off."))
    } else {
      client.finish()
    }
    if !proxy.authorizer.passed(origin, relay) { proxy.notes.unrecorded(origin.origin) }
  }
}
