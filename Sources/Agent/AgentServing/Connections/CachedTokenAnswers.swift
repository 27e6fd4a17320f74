internal import Agent
internal import AgentModel
internal import AgentPorts
internal import JSONRPC

/// The fast path: answers from `TokenCache` on the reading thread, to which it belongs.
struct CachedTokenAnswers: ~Copyable {
  private let agent: AgentService
  private let client: ConnectedClient
  private let dispatcher: RequestDispatcher
  private var scratch = JSONWriter(capacity: 4096)
  private var found: Found?

  private struct Found {
    var version: UInt64
    var selector: [UInt8]
    var account: AccountID
  }

  /// `minimumLifetimeSeconds` when it is not given (`Schemas/types/tokenRequest.json`).
  private static let standardMinimumLifetime = Milliseconds.seconds(60)

  init(agent: AgentService, client: ConnectedClient, dispatcher: RequestDispatcher) {
    self.agent = agent
    self.client = client
    self.dispatcher = dispatcher
  }

  /// Answers a `token.get` of a fresh standard token on the reading thread. Returns false for every other request,
  /// which the method table then handles in full.
  mutating func answer(_ root: JSONNode, at moment: () -> BootInstant) -> Bool {
    guard case .request(let id?, let method, let params?) = Envelope(root), method.isText("token.get"),
      params.kind == .object, dispatcher.mayAnswerNow(id)
    else { return false }
    var selector: UnsafeRawBufferPointer?
    var minimum = Self.standardMinimumLifetime
    for (key, value) in params.members {
      if key.isText("account") {
        selector = value.plainText
      } else if key.isText("minimumLifetimeSeconds") {
        guard let seconds = value.integer, (0...86_400).contains(seconds) else { return false }
        minimum = .seconds(seconds)
      } else {
        return false
      }
    }
    guard let selector, let account = account(selector) else { return false }
    let now = moment()
    guard client.isTrusted || client.access.coversToken(of: account, at: now) else { return false }
    let isAnswered = agent.tokenCache.withFresh(account, minimum: minimum, at: now) { token in
      scratch.verbatim("{\"jsonrpc\":\"2.0\",\"id\":")
      scratch.verbatim(id)
      scratch.verbatim(",\"result\":")
      token.write(at: now, to: &scratch)
      scratch.verbatim("}\n")
    }
    guard isAnswered else { return false }
    agent.idle.used(at: now)
    scratch.withBytes { client.output.append($0) }
    scratch.reset()
    return true
  }

  /// Finds the account of a selector. An id is read directly. An alias takes a look-up, and most programs ask for one
  /// account, so its result is kept until `TokenCache` changes.
  private mutating func account(_ selector: UnsafeRawBufferPointer) -> AccountID? {
    if let account = AccountID(utf8: selector) { return account }
    let version = agent.tokenCache.version
    if let found, found.version == version, found.selector.elementsEqual(selector) { return found.account }
    let named = AccountSelector(String(decoding: selector, as: UTF8.self))
    guard let id = agent.tokenCache.account(selector: named) else { return nil }
    found = Found(version: version, selector: Array(selector), account: id)
    return id
  }
}
