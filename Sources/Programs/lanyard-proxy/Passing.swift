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
  /// - Throws: while no answer has gone to the client.
  func forward(_ request: PassedRequest, _ head: RequestHead) throws(Refusal) {
    // They would go to the server once the WebSocket is open, and might be for another one.
    guard !request.isWebSocket || !client.hasBuffered else {
      throw .malformed("The client sent data before the WebSocket was open.")
    }
    let cancellation = HTTPCancellation()
    let server = try connection(isTunnel: false, cancellation)
    var relay = BlindRelay()
    let (answer, hasEnded) = proxy.hangUps.watch(client.socket, of: "", cancellation) {
      () -> Result<PassedAnswer, Refusal> in
      do throws(Refusal) {
        let start = request.bytes(leadsToProxy: server.leadsToProxy, proxyCredentials: server.proxyCredentials)
        relay.count(sent: start.count)
        // A server may answer, and close, before it has read all of a body.
        if server.send(start), head.framing != .none { try sendBody(head, to: server, &relay, cancellation) }
        return .success(try self.answer(to: request, head, from: server, &relay, cancellation))
      } catch {
        return .failure(error)
      }
    }
    guard !hasEnded else { return finish(relay, isCancelled: true) }
    switch answer {
    case .success(let answer):
      let isOpen = answer.status == 101
      let (_, isCancelled) = proxy.hangUps.watch(client.socket, of: "", cancellation, endsWithClient: !isOpen) {
        relay.count(received: answer.bytes.count + answer.rest.count)
        guard client.write(answer.bytes + answer.rest) else { return }
        relay.run(client: client.socket, server: server, cancellation: cancellation, isOneWay: !isOpen)
      }
      finish(relay, isCancelled: isCancelled)
    case .failure(let refusal):
      record(relay)
      throw refusal
    }
  }

  private func answer(
    to request: PassedRequest, _ head: RequestHead, from server: OpenConnection, _ relay: inout BlindRelay,
    _ cancellation: HTTPCancellation
  ) throws(Refusal) -> PassedAnswer {
    try ServerAnswer.read(
      from: server, at: origin.origin, milliseconds: BlindRelay.idleMilliseconds, cancellation
    ) { (bytes) throws(Refusal) in
      while let answer = try PassedAnswer(bytes, to: request) {
        guard answer.isInterim else { return answer }
        // RFC 9110 section 15.2: a client of HTTP/1.0 knows none.
        if head.isHTTP11 {
          relay.count(received: answer.bytes.count)
          _ = client.write(answer.bytes)
        }
        bytes = answer.rest
      }
      return nil
    }
  }

  /// - Throws: for a body that does not come whole: what the server got is no whole request.
  private func sendBody(
    _ head: RequestHead, to server: OpenConnection, _ relay: inout BlindRelay, _ cancellation: HTTPCancellation
  ) throws(Refusal) {
    let reader = RequestBodyReader(head, client, form: nil)
    let late = Refusal.malformed("The body of the request did not come in time.", status: 408)
    guard let body = reader.body()?.body else { throw reader.refusal ?? late }
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
        case .later: if !waitForClient() { throw late }
        case .end:
          if isChunked { _ = server.send(Array("0\r\n\r\n".utf8)) }
          return
        case .failed: throw reader.refusal ?? late
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
    // First: the end of the connection may take a moment, which the end of this process does not wait for.
    record(relay)
    if isCancelled, !proxy.isEnding {
      client.abort()
      proxy.notes.refused(
        origin.origin, Refusal(403, "notPermitted", "The grant ended, so the connection was cut off."))
    } else {
      client.finish()
    }
  }

  private func record(_ relay: BlindRelay) {
    if !proxy.authorizer.passed(origin, relay) { proxy.notes.unrecorded(origin.origin) }
  }
}
