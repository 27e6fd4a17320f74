internal import Agent
internal import AgentModel
internal import AgentPorts
internal import JSONRPC

/// The fast path: answers from `TokenCache` and `DecisionCache` on the reading thread, to which it belongs.
struct CachedAnswers: ~Copyable {
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

  /// Answers a `token.get` of a fresh standard token, or a repeated `authorization.check`, on the reading thread.
  /// Returns false for every other request, which the method table then handles in full.
  mutating func answer(_ root: JSONNode, at moment: () -> BootInstant) -> Bool {
    defer { scratch.reset() }
    guard write(root, at: moment) else { return false }
    scratch.byte(0x0A)
    scratch.withBytes { client.output.append($0) }
    return true
  }

  /// The same for a member of a batch: returns its answer, or nil.
  mutating func object(_ member: JSONNode, at moment: () -> BootInstant) -> WireBytes? {
    defer { scratch.reset() }
    return write(member, at: moment) ? scratch.withBytes { WireBytes($0) } : nil
  }

  private mutating func write(_ root: JSONNode, at moment: () -> BootInstant) -> Bool {
    guard case .request(let id?, let method, let params?) = Envelope(root) else { return false }
    let isToken = method.isText("token.get")
    guard isToken || method.isText("authorization.check"), params.kind == .object, dispatcher.mayAnswerNow(id) else {
      return false
    }
    let now = moment()
    scratch.verbatim("{\"jsonrpc\":\"2.0\",\"id\":")
    scratch.verbatim(id)
    scratch.verbatim(",\"result\":")
    guard isToken ? writeToken(params, at: now) : writeDecision(params, at: now) else { return false }
    scratch.byte(UInt8(ascii: "}"))
    agent.idle.used(at: now)
    return true
  }

  private mutating func writeToken(_ params: JSONNode, at now: BootInstant) -> Bool {
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
    guard let selector, let account = account(selector),
      client.isTrusted || client.access.coversToken(of: account, at: now)
    else { return false }
    return agent.tokenCache.withFresh(account, minimum: minimum, at: now) { $0.write(at: now, to: &scratch) }
  }

  private mutating func writeDecision(_ params: JSONNode, at now: BootInstant) -> Bool {
    var (selector, capability): (UnsafeRawBufferPointer?, String?)
    for (key, value) in params.members {
      if key.isText("account") {
        selector = value.plainText
      } else if key.isText("capability") {
        capability = value.string
      } else {
        return false
      }
    }
    guard let selector, let capability, let account = account(selector),
      client.isTrusted || client.access.coversCheck(of: account, at: now)
    else { return false }
    return agent.decisionCache.repeated(
      account, capability, for: client.name, at: now, wall: agent.environment.clock.wall(), to: &scratch)
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
