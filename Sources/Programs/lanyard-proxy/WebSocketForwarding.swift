import AgentModel
import ProxyCore
import Secrets
import StreamingHTTP

/// A WebSocket of a program: the handshake gets the token, then messages go both ways until an end closes or the grant ends
/// (docs/proxy.md, What goes on). What the server sends is looked into.
struct WebSocketForwarding {
  let forwarding: Forwarding
  /// Those of the program, of the handshake too.
  let fields: [(name: String, value: String)]
  let authorization: Authorizer.Authorization

  private static let answerMilliseconds = 60_000

  /// An answer of the server to the handshake.
  struct Answered {
    let answer: HandshakeAnswer
    let server: OpenConnection
    let cancellation: HTTPCancellation
    var status: Int { answer.status }
  }

  /// Sends the handshake.
  ///
  /// - Throws: while nothing has gone to the client.
  func shakeHands() throws(Refusal) -> Answered {
    let cancellation = HTTPCancellation()
    let (result, isCancelled) = forwarding.proxy.hangUps.watch(
      forwarding.client.socket, of: authorization.account, cancellation
    ) { () -> Result<Answered, Refusal> in
      do throws(Refusal) {
        let server = try connection(cancellation)
        guard server.send(head) else { throw ServerAnswer.lost(origin) }
        let answer = try ServerAnswer.read(
          from: server, at: origin, milliseconds: Self.answerMilliseconds, cancellation
        ) { (bytes) throws(Refusal) in
          while let answer = try HandshakeAnswer(bytes) {
            guard answer.status < 200, answer.status != 101 else { return answer }
            // An interim response.
            bytes = answer.rest
          }
          return nil
        }
        return .success(Answered(answer: answer, server: server, cancellation: cancellation))
      } catch {
        return .failure(error)
      }
    }
    guard !isCancelled || forwarding.proxy.isEnding else { throw Forwarding.Attempt.revoked }
    return try result.get()
  }

  /// Passes on the server's answer, and then the messages of an open WebSocket. The connection ends with it.
  func run(_ answered: Answered) throws(Refusal) {
    let answer = answered.answer
    let watch = TokenWatch(tokens)
    guard !answer.fields.contains(where: { watch.occurs(in: $0.name) || watch.occurs(in: $0.value) }) else {
      throw ResponseRelay.repeated
    }
    guard answer.status == 101 else {
      throw Refusal(
        (400...599).contains(answer.status) ? answer.status : 502, "webSocketRefused",
        "\(origin) refused the WebSocket with the status \(answer.status).")
    }
    guard answer.isOpen else {
      throw Refusal(
        502, "malformedResponse", "The server's response can't be passed on: it opens no WebSocket without extensions.")
    }
    guard forwarding.client.write(answer.bytes) else { return }
    var relay = WebSocketRelay(client: forwarding.client, server: answered.server, tokens: tokens)
    var refusal: Refusal?
    let (_, isCancelled) = forwarding.proxy.hangUps.watch(
      forwarding.client.socket, of: authorization.account, answered.cancellation, endsWithClient: false
    ) { refusal = relay.run(answer.rest, answered.cancellation) }
    if isCancelled, !forwarding.proxy.isEnding { refusal = Forwarding.Attempt.revoked }
    guard let refusal else { return forwarding.client.finish() }
    forwarding.client.abort()
    forwarding.proxy.notes.refused(origin, refusal)
  }

  private var origin: String { forwarding.request.url.origin }
  private var tokens: [Secret] { [authorization.token] + authorization.others }

  private func connection(_ cancellation: HTTPCancellation) throws(Refusal) -> OpenConnection {
    do throws(OpenConnection.Failure) {
      return try OpenConnection(for: forwarding.request.url, trust: authorization.trust, cancellation: cancellation)
    } catch {
      switch error {
      case .notReached(let reason): throw Refusal(reason, at: origin)
      case .notPublic: throw Refusal(.notConnected(.other), at: origin)
      }
    }
  }

  /// The handshake on the wire.
  private var head: WipedBytes {
    let url = forwarding.request.url
    let bytes = WipedBytes(capacity: 4096)
    let placement = authorization.placement
    bytes.append("GET ")
    authorization.token.withBytes { placement.writeTarget(of: url, $0) { bytes.append($0) } }
    bytes.append(" HTTP/1.1\r\n")
    bytes.append("Host: \(url.hostText)\(url.port == url.scheme.defaultPort ? "" : ":\(url.port)")\r\n")
    bytes.append("Connection: Upgrade\r\nUpgrade: websocket\r\n")
    for field in fields { bytes.append("\(field.name): \(field.value)\r\n") }
    if let name = placement.fieldName {
      bytes.append("\(name): ")
      authorization.token.withBytes { placement.writeField($0) { bytes.append($0) } }
      bytes.append("\r\n")
    }
    if let proof = authorization.proof {
      bytes.append("DPoP: ")
      proof.withBytes { bytes.append($0) }
      bytes.append("\r\n")
    }
    bytes.append("\r\n")
    return bytes
  }
}
