import AgentModel
import CurlTransfers
import ProxyCore
import Secrets
import StreamingHTTP
import Threads

/// One request: asks the agent, sends it, passes on the response. After a 401 it is sent once more with another token, if its
/// body was kept.
struct Forwarding {
  let client: ClientStream
  let proxy: Proxy
  let head: RequestHead
  let request: ForwardedRequest

  /// A server may think for minutes before it answers; then pieces may be far apart, as in a stream of events.
  private static let headMilliseconds = 600_000
  private static let idleMilliseconds = 900_000

  /// False if the connection must end.
  func run() -> Bool {
    do throws(Refusal) {
      let account = try proxy.authorizer.account(for: request.url)
      let fields = try request.fields(under: account.names)
      let reader = RequestBodyReader(head, client, form: try request.form(sentWith: fields, under: account.names))
      let authorization = try authorization(for: account)
      if request.isWebSocket {
        try webSocket(fields, authorization, account)
        return false
      }
      for field in fields.leftOut { proxy.notes.leftOut(field, of: request.url.origin, account.allowance) }
      // A short body is read before anything is sent, and its program may be slow.
      let (read, isCancelled) = proxy.hangUps.watch(
        client.socket, of: account.id, endsWithClient: false, cancel: {}
      ) { reader.body() }
      guard !isCancelled else { throw endedBefore }
      guard let (body, canBeSentAgain) = read else {
        throw reader.refusal ?? .malformed("The body of the request did not come in time.", status: 408)
      }
      let first = Attempt(self, fields, authorization, reader, keepsRefusal: canBeSentAgain)
      try first.send(body)
      guard first.relay.status == 401 else { return try first.end() }
      guard canBeSentAgain else {
        proxy.authorizer.reject(authorization.fingerprint, of: account)
        return try first.end()
      }
      guard
        let next = try renewed(
          after: authorization, challenge: first.relay.challenge, nonce: first.relay.nonce, account)
      else { return try first.end() }
      let second = Attempt(self, fields, next, reader, keepsRefusal: false)
      try second.send(body)
      return try second.end()
    } catch {
      return refuse(error)
    }
  }

  /// The agent's answer, which may take as long as a person does. The program's hang-up withdraws the request, and so does the
  /// end of the grant or of the account.
  private func authorization(
    for account: ProxyScope.Account, after refused: Authorizer.Refused? = nil
  ) throws(Refusal) -> Authorizer.Authorization {
    let ended = WakeUp()
    let (result, isCancelled) = proxy.hangUps.watch(client.socket, of: account.id, cancel: { ended.signal() }) {
      () -> Result<Authorizer.Authorization, Refusal> in
      do throws(Refusal) {
        return .success(
          try proxy.authorizer.authorize(request, for: account, after: refused, endedBy: ended.descriptor))
      } catch {
        return .failure(error)
      }
    }
    guard !isCancelled else { throw endedBefore }
    return try result.get()
  }

  /// Why a request that waited is not sent. Of the end of this proxy no person has to be told.
  private var endedBefore: Refusal {
    proxy.isEnding
      ? Refusal(503, Refusal.withdrawn, "The proxy ended while the request waited. Nothing was sent.")
      : Refusal(
        403, "notPermitted",
        "The grant ended or the account was signed out while the request waited. Nothing was sent.")
  }

  private func webSocket(
    _ fields: ForwardedFields, _ authorization: Authorizer.Authorization, _ account: ProxyScope.Account
  ) throws(Refusal) {
    for field in fields.leftOut { proxy.notes.leftOut(field, of: request.url.origin, account.allowance) }
    let all = fields.all + request.handshakeFields(under: account.names)
    var webSocket = WebSocketForwarding(forwarding: self, fields: all, authorization: authorization)
    var answered = try webSocket.shakeHands()
    if answered.status == 401,
      let next = try renewed(
        after: authorization, challenge: answered.answer.values("www-authenticate").joined(separator: ", "),
        nonce: answered.answer.values("dpop-nonce").first, account)
    {
      webSocket = WebSocketForwarding(forwarding: self, fields: all, authorization: next)
      answered = try webSocket.shakeHands()
    }
    try webSocket.run(answered)
  }

  /// Another token, or a proof with the server's nonce. Nil: the 401 goes on to the client.
  private func renewed(
    after authorization: Authorizer.Authorization, challenge: String?, nonce: String?, _ account: ProxyScope.Account
  ) throws(Refusal) -> Authorizer.Authorization? {
    // RFC 9449 section 9: the token is good, and only the nonce is missing.
    let wantsNonce = nonce != nil && challenge?.contains("use_dpop_nonce") == true
    let refused = Authorizer.Refused(
      fingerprint: wantsNonce ? nil : authorization.fingerprint,
      challenge: challenge.flatMap { (1...4096).contains($0.utf8.count) ? $0 : nil },
      nonce: nonce.flatMap { (1...1024).contains($0.utf8.count) ? $0 : nil })
    do throws(Refusal) {
      let next = try self.authorization(for: account, after: refused)
      return wantsNonce || next.fingerprint != authorization.fingerprint ? next : nil
    } catch {
      // Where a person has to do something, the program is told that. Otherwise the server's own answer tells more.
      guard error.status == 403 else { return nil }
      throw error
    }
  }

  /// Answers in place of the server. False: the connection ends.
  private func refuse(_ refusal: Refusal) -> Bool {
    // The program has hung up, or the proxy ends: neither the program nor the person wants to be told of it.
    guard refusal.name != Refusal.withdrawn else { return false }
    let closes = !head.keepsAlive || head.framing != .none
    proxy.notes.refused(request.url.origin, refusal)
    return client.write(
      refusal.response(asJSON: head.acceptsJSON, isHead: head.method == "HEAD", closes: closes)) && !closes
  }

  /// One sending.
  final class Attempt {
    let authorization: Authorizer.Authorization
    let relay: ResponseRelay
    private let forwarding: Forwarding
    private let fields: ForwardedFields
    private let reader: RequestBodyReader
    private var result = HTTPResult.notSent(.notConnected(.other))
    private var isRevoked = false

    init(
      _ forwarding: Forwarding, _ fields: ForwardedFields, _ authorization: Authorizer.Authorization,
      _ reader: RequestBodyReader, keepsRefusal: Bool
    ) {
      self.forwarding = forwarding
      self.fields = fields
      self.authorization = authorization
      self.reader = reader
      relay = ResponseRelay(
        forwarding.client, forwarding.head, [authorization.token] + authorization.others, keepsRefusal: keepsRefusal,
        mayKeepAlive: { reader.isComplete })
    }

    /// - Throws: while nothing of a response has gone to the client.
    func send(_ body: RequestBody) throws(Refusal) {
      let proxy = forwarding.proxy
      guard let http = proxy.scope.clients[authorization.account] else {
        throw Refusal(502, "accountUnknown", "The agent answered for an account that this proxy does not serve.")
      }
      var fields = self.fields.all.map { RequestField($0.name, $0.value) }
      // The proxy looks for the token in the answer, so the answer must not be compressed.
      fields.append(RequestField("Accept-Encoding", "identity"))
      if let proof = authorization.proof { fields.append(RequestField("DPoP", secret: proof)) }
      var outgoing = OutgoingRequest(forwarding.request.method, forwarding.request.url, fields: fields)
      authorization.token.withBytes { outgoing.place($0, at: authorization.placement) }
      outgoing.trust = authorization.trust
      outgoing.headMilliseconds = Forwarding.headMilliseconds
      outgoing.idleMilliseconds = Forwarding.idleMilliseconds
      let cancellation = HTTPCancellation()
      let isCancelled: Bool
      (result, isCancelled) = proxy.hangUps.watch(
        forwarding.client.socket, of: authorization.account, cancellation
      ) {
        http.perform(
          outgoing, body: body, cancellation: cancellation, onHead: { self.relay.take($0) },
          onBody: { self.relay.take($0) })
      }
      isRevoked = isCancelled && !proxy.isEnding
      if let refusal = reader.refusal ?? relay.refusal, isUnanswered { throw refusal }
      if result != .complete, isUnanswered { throw unanswered }
    }

    /// Ends the response. False if the connection must end.
    func end() throws(Refusal) -> Bool {
      guard result == .complete, relay.finish() else {
        if isUnanswered, let refusal = relay.refusal { throw refusal }
        // Part of a response has gone to the client: it learns by the end of the connection that the rest is missing.
        forwarding.client.abort()
        if let refusal = isRevoked ? Self.revoked : relay.refusal {
          forwarding.proxy.notes.refused(forwarding.request.url.origin, refusal)
        }
        return false
      }
      return !relay.closes
    }

    static let revoked = Refusal(
      403, "notPermitted",
      "The grant ended or the account was signed out while the request ran. It was sent once and may have had its effect."
    )

    private var isUnanswered: Bool { if case .relaying = relay.state { false } else { true } }

    private var unanswered: Refusal {
      let server = forwarding.request.url.origin
      if isRevoked { return Self.revoked }
      switch result {
      case .notSent(let reason): return Refusal(reason, at: server)
      case .lost(.timedOut):
        return Refusal(
          504, "timedOut", "\(server) did not answer in time. The request was sent once and may have had its effect.")
      case .complete, .lost, .stopped:
        return Refusal(
          502, "responseLost",
          "The response of \(server) was lost. The request was sent once and may have had its effect.")
      }
    }
  }
}

extension Refusal {
  /// Nothing was sent to a server.
  init(_ reason: HTTPResult.NotSent, at server: String) {
    switch reason {
    case .untrusted(let failure):
      self.init(
        502, "untrustedServer", "\(server) could not be trusted: \(failure.explanation). Nothing was sent.")
    case .notConnected(.proxy(let failure)):
      self.init(502, failure.word, "\(failure.explanation) Nothing was sent to \(server).")
    case .noLibrary:
      self.init(502, "noLibrary", "\(SystemLibrary.missingForRequests.missing) Nothing was sent to \(server).")
    case .notConnected(.timedOut):
      self.init(504, "timedOut", "\(server) did not answer in time. Nothing was sent.")
    default: self.init(502, "notSent", "\(server) could not be reached. Nothing was sent.")
    }
  }
}
