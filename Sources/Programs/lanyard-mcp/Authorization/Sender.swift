internal import AgentCore
internal import AgentModel
internal import CurlTransfers
internal import MCPBridge
internal import StreamingHTTP

/// Sends requests with the credential of the account, and has a refused credential renewed once.
final class Sender: Sendable {
  let authorizer: Authorizer
  private let url: HTTPURL

  init(_ options: Options) {
    url = options.url
    authorizer = Authorizer(options)
  }

  /// Sends the request. A request that the server refused for its credential was not processed, so it may be sent again.
  ///
  /// - Parameter onEvent: called with each event of a stream; false ends the request.
  func send(_ outgoing: Outgoing, onEvent: @escaping ([UInt8], Reply) -> Bool) -> Sent {
    var attempt = AuthorizationAttempt()
    while true {
      let (credential, trust): (Credential?, TrustSettings)
      do throws(BridgeFailure) {
        credential = try authorizer.credential(for: outgoing, &attempt)
        if let credential { trust = credential.trust } else { trust = try authorizer.trust() }
      } catch {
        return .failed(error)
      }
      let reply = Reply(token: credential?.token, onEvent: onEvent)
      let result = perform(outgoing, credential, trust, reply)
      if outgoing.cancellation.isCancelled { return .cancelled }
      guard let head = reply.head else { return .failed(failure(result)) }
      authorizer.take(nonceOf: head)
      if reply.isSuccess, credential != nil { authorizer.succeeded(outgoing.operation) }
      guard head.status == 401 || head.status == 403 else { return .replied(reply, result) }
      do throws(BridgeFailure) {
        guard try authorizer.mayRepeat(outgoing, after: head, credential, &attempt) else {
          return .replied(reply, result)
        }
      } catch {
        return .failed(error)
      }
    }
  }

  private func perform(
    _ outgoing: Outgoing, _ credential: Credential?, _ trust: TrustSettings, _ reply: Reply
  ) -> HTTPResult {
    var request = OutgoingRequest(outgoing.method, url)
    request.fields = outgoing.fields.map { RequestField($0.name, $0.value) }
    credential?.add(to: &request)
    request.trust = trust
    return authorizer.client.perform(
      request, body: outgoing.body.map { .bytes($0) } ?? .none, cancellation: outgoing.cancellation,
      onHead: { head in
        outgoing.onHead?()
        return reply.take(head)
      }, onBody: { reply.take($0) })
  }

  private func failure(_ result: HTTPResult) -> BridgeFailure {
    switch result {
    case .notSent(let reason): .notSent(reason, to: url)
    case .lost, .stopped, .complete: .lost
    }
  }
}

extension BridgeFailure {
  /// Nothing was sent.
  static func notSent(_ reason: HTTPResult.NotSent, to url: HTTPURL) -> BridgeFailure {
    let (word, text): (String, String) =
      switch reason {
      case .notConnected(.nameNotFound): ("nameNotFound", "The name \(url.host) was not found.")
      case .notConnected(.refused): ("connectionRefused", "\(url.origin) refuses the connection.")
      case .notConnected(.unreachable): ("unreachable", "\(url.origin) can't be reached.")
      case .notConnected(.timedOut): ("timedOut", "\(url.origin) did not accept the connection in time.")
      case .untrusted(let failure):
        ("untrusted", "\(url.origin) could not be trusted: \(explanation(failure)).")
      case .noLibrary: ("noLibrary", SystemLibrary.missingForRequests.missing)
      case .invalid: ("invalid", "The request can't be sent in HTTP.")
      case .notConnected(.proxy(let failure)): (failure.word, failure.explanation)
      case .cancelled, .notConnected: ("notConnected", "The connection to \(url.origin) failed.")
      }
    return BridgeFailure(Code.notSent, word, "\(text) The request was not sent.")
  }

  private static func explanation(_ failure: TrustFailure) -> String {
    switch failure {
    case .unknownAuthority: "\(failure.explanation) (`--ca-file` names another)"
    case .wrongName, .expired, .pinMismatch, .tls: failure.explanation
    }
  }
}
