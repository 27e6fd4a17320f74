public import AgentModel

extension TokenMachine {
  /// The provider wants the person.
  struct Interaction: Hashable {
    var claims: String?
    /// When the provider was last asked.
    var heardAt: BootInstant?
  }

  /// A request that the provider refuses, or answers with an error that the agent does not know.
  struct RejectedRequest: Hashable {
    var heardAt: BootInstant
    /// Until then it is refused from memory.
    var until: BootInstant
    /// The same for a caller's request.
    var callersUntil: BootInstant
    var failure: ExchangeFailure
    var times: Int

    /// The refusal of a request now; nil if it may be sent. Without a demand: for no caller in particular.
    func refusal(_ demand: Demand?, at now: BootInstant) -> Refusal? {
      let end =
        switch (demand, failure) {
        case (nil, _): until
        case (.forced, .misconfigured): min(until, heardAt + TokenMachine.recheckConfiguration)
        default: callersUntil
        }
      return now < end ? Refusal(failure, pause: end - now) : nil
    }
  }

  /// The facts about one resource and its scopes.
  struct Audience: Hashable {
    var token: TokenFacts?
    @Rare var interaction: Interaction? = nil
    /// The provider does not grant the request for this audience.
    @Rare var rejectedRequest: RejectedRequest? = nil
    /// When the token was made because the one before was rejected.
    var replacedAt: BootInstant?
    /// When it was last asked for.
    var lastWanted: BootInstant?

    var rejections: Int { rejectedRequest?.times ?? 0 }

    /// The token, if it has not expired.
    func liveToken(at now: BootInstant) -> TokenFacts? { token.flatMap { now < $0.expiresAt ? $0 : nil } }
  }

  /// The facts about every audience. Callers choose resources and scopes freely, so what is remembered of them is
  /// bounded.
  public struct Audiences: Sendable {
    /// More audiences of one account than programs have; a token that is forgotten costs one exchange.
    static let most = 64
    /// How often a request was rejected is remembered for this long beyond its pause.
    static let rejectionMemory = Milliseconds.seconds(600)

    /// Most accounts have one audience, so that a list takes a third of a dictionary's memory.
    private var known: [(key: TokenKey, facts: Audience)] = []
    /// The tokens that others have replaced, the newest last.
    private var retired: [(fingerprint: String, key: TokenKey)] = []

    subscript(key: TokenKey) -> Audience {
      get { known.first { $0.key == key }?.facts ?? Audience() }
      set {
        guard newValue != Audience() else { return known.removeAll { $0.key == key } }
        if let index = known.firstIndex(where: { $0.key == key }) {
          known[index].facts = newValue
        } else {
          known.append((key, newValue))
        }
      }
    }

    /// The audiences of which this is known, with it.
    private func all<Fact>(_ fact: KeyPath<Audience, Fact?>) -> [TokenKey: Fact] {
      Dictionary(
        uniqueKeysWithValues: known.compactMap { entry in entry.facts[keyPath: fact].map { (entry.key, $0) } })
    }

    /// The audiences that have a token, with it.
    var tokens: [TokenKey: TokenFacts] { all(\.token) }

    /// When the last access token expires; nil if none lives.
    func lastExpiry(at now: BootInstant) -> BootInstant? {
      known.compactMap(\.facts.token?.expiresAt).filter { now < $0 }.max()
    }

    /// The audiences for which the provider wants the person, with the claims that it asked for.
    var interactions: [TokenKey: String?] { all(\.interaction).mapValues(\.claims) }

    /// The token with this fingerprint was not replaced.
    public func hasCurrent(fingerprint: String) -> Bool {
      known.contains { $0.facts.token?.fingerprint == fingerprint }
    }

    /// The key of the token with this fingerprint; nil if it is none of the last.
    public func key(ofFingerprint fingerprint: String) -> TokenKey? {
      known.first { $0.facts.token?.fingerprint == fingerprint }?.key
        ?? retired.last { $0.fingerprint == fingerprint }?.key
    }

    /// An exchange brought this token: nothing stands against the audience any more.
    mutating func renew(_ key: TokenKey, with token: TokenFacts, wasRejected: Bool, at now: BootInstant) {
      let before = self[key]
      if let old = before.token { retire(old, of: key) }
      self[key] = Audience(token: token, replacedAt: wasRejected ? now : nil, lastWanted: before.lastWanted)
      forgetOld(but: key, at: now)
    }

    /// - Parameter callers: as of `RetryPause.hold`, where a caller's early attempt counts as little.
    mutating func reject(
      _ key: TokenKey, _ failure: ExchangeFailure, for pause: Milliseconds, callers: Milliseconds? = nil,
      at now: BootInstant
    ) {
      let last = self[key].rejectedRequest
      let callersUntil = now + min(pause, callers ?? pause)
      let isEarly = last.map { now < $0.until } ?? false
      let counts = !isEarly || failure.isUnexplained && !failure.isPage
      forget(\.rejectedRequest) { $0.until + Self.rejectionMemory <= now }
      self[key].rejectedRequest = RejectedRequest(
        heardAt: now, until: isEarly ? max(last?.until ?? now, callersUntil) : now + pause,
        callersUntil: callersUntil, failure: failure, times: (last?.times ?? 0) + (counts ? 1 : 0))
    }

    /// Forgets this fact of every audience, or only if it is old.
    mutating func forget<Fact>(_ fact: WritableKeyPath<Audience, Fact?>, if isOld: (Fact) -> Bool = { _ in true }) {
      for (key, audience) in known {
        if let value = audience[keyPath: fact], isOld(value) { self[key][keyPath: fact] = nil }
      }
    }

    /// The newest token is kept in any case: its waiters are about to be answered with it.
    private mutating func forgetOld(but newest: TokenKey, at now: BootInstant) {
      if interactions.count > Self.most { forget(\.interaction) }
      forget(\.replacedAt) { $0 + TokenMachine.breakerWindow <= now }
      let others = tokens.filter { $0.key != .standard && $0.key != newest }
      let soonestFirst = others.sorted { ($0.value.expiresAt, $0.value.serial) < ($1.value.expiresAt, $1.value.serial) }
      for (key, token) in soonestFirst where token.expiresAt <= now || tokens.count > Self.most {
        self[key].token = nil
      }
      for key in known.map(\.key) where self[key].token == nil { self[key].lastWanted = nil }
    }

    /// The provider does not stand by its tokens any more: none is served.
    mutating func retireTokens() {
      for (key, _) in tokens.sorted(by: { $0.value.serial < $1.value.serial }) { retireToken(of: key) }
    }

    mutating func retireToken(of key: TokenKey) {
      guard let token = self[key].token else { return }
      retire(token, of: key)
      self[key].token = nil
    }

    private mutating func retire(_ token: TokenFacts, of key: TokenKey) {
      retired.append((token.fingerprint, key))
      if retired.count > Self.most { retired.removeFirst() }
    }
  }
}
