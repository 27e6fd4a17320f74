package import AgentCore
package import AgentModel
package import AgentRecords
internal import AgentStore
internal import Synchronization

/// The policies in memory, so that no decision of `PolicyDecisionPoint` waits for the store. Filled while the vault is
/// open.
package final class PolicyCache: Sendable {
  /// The policy of providers that name none, if there is one of this name.
  static let defaultName = "default"

  fileprivate struct State {
    /// Nil stands for a policy with an unreadable document.
    var documents: [String: PolicyDocument?] = [:]
    /// The name of the policy that each provider configures.
    var names: [ProviderName: String] = [:]
    /// The service that each provider is, by its name in the catalogue.
    var services: [ProviderName: String] = [:]
    /// What was read of these in the catalogue.
    var reads: [ProviderName: KnownReads?] = [:]
    /// The policies of an organisation by their origin and name. They do not depend on the vault.
    var managed: [ManagedPolicyOrigin: [String: ManagedPolicy]] = [:]
    /// The administrator's files that can't be used and whose policies are not known, by the policies' names.
    var unread: [String: String] = [:]
    /// An administrator's file can't be used that may describe the policy of any name.
    var mayBeAny = false
    /// What is known of the organisation's bundle; nil without a source, and while the vault is locked.
    var sourced: SourcedPolicies?

    func managed(_ name: String) -> ManagedPolicy? {
      for origin in ManagedPolicyOrigin.allCases {
        if let found = managed[origin]?[name] { return found }
      }
      return nil
    }
  }
  private let state = Mutex(State())
  private let decisions: DecisionCache
  /// The time since a moment, by the trusted time.
  private let elapsed: @Sendable (TrustedInstant) -> Milliseconds
  /// Where the organisation's policies come from; nil without one.
  let source: PolicySource?

  package init(
    decisions: DecisionCache, source: PolicySource? = nil,
    elapsed: @escaping @Sendable (TrustedInstant) -> Milliseconds = { _ in .zero }
  ) {
    self.decisions = decisions
    self.source = source
    self.elapsed = elapsed
  }

  /// A cache of its own.
  package convenience init() { self.init(decisions: DecisionCache()) }

  package func fill(_ documents: [String: PolicyDocument?], named names: [ProviderName: String]) {
    fill(documents, named: names, sourced: nil)
  }

  package func fill(
    _ documents: [String: PolicyDocument?], named names: [ProviderName: String],
    services: [ProviderName: String] = [:], sourced: SourcedPolicies?
  ) {
    change { state in
      state.documents = documents
      state.names = names
      (state.services, state.reads) = (services, [:])
      state.source(sourced)
    }
  }

  /// Drops what the vault holds, the bundle too; the managed policies of files stay.
  package func clear() {
    change { state in
      state = State(managed: state.managed, unread: state.unread, mayBeAny: state.mayBeAny)
      state.source(nil)
    }
  }

  /// The source confirmed its bundle at `moment`; `bundled` is another one that it brought.
  package func sourceConfirmed(_ bundled: BundledPolicies?, at moment: TrustedInstant) {
    change { state in
      guard var sourced = state.sourced else { return }
      sourced.confirmed = moment
      if let bundled { sourced.bundled = bundled }
      state.source(sourced)
    }
  }

  /// Replaces the managed policies of one origin.
  package func setManaged(_ policies: [ManagedPolicy], of origin: ManagedPolicyOrigin) {
    change { $0.managed[origin] = Self.byName(policies) }
  }

  /// Takes what the administrator's files say now. `unread`: the files whose policies deny everything, by policy.
  /// `mayBeAny`: a file that can't be read may describe any policy.
  package func setManaged(_ policies: [ManagedPolicy], unread: [String: String], mayBeAny: Bool) {
    change { state in
      state.managed[.files] = Self.byName(policies)
      state.unread = unread
      state.mayBeAny = mayBeAny
    }
  }

  /// Of two policies with one name the first counts.
  private static func byName(_ policies: [ManagedPolicy]) -> [String: ManagedPolicy] {
    Dictionary(policies.map { ($0.policy.name, $0) }) { first, _ in first }
  }

  /// The administrator's file that should describe the policy of this name and can't be used: everything is denied.
  func unreadFile(of name: String) -> String? { state.withLock { $0.unread[name] } }

  /// The managed policies that decide, by name: of two origins the stronger one's.
  package var managed: [String: ManagedPolicy] {
    state.withLock { state in
      ManagedPolicyOrigin.allCases.reduce(into: [:]) { found, origin in
        found.merge(state.managed[origin] ?? [:]) { stronger, _ in stronger }
      }
    }
  }

  func put(_ document: PolicyDocument) { change { $0.documents[document.name] = .some(document) } }

  package func set(_ name: String?, service: String?, of provider: ProviderName) {
    change { state in
      state.names[provider] = name
      state.services[provider] = service
      state.reads[provider] = nil
    }
  }

  /// True if a GET of this URL only reads, as far as the catalogue knows.
  package func isReading(_ url: HTTPURL, at provider: ProviderName) -> Bool {
    let reads = state.withLock { state -> KnownReads? in
      if let known = state.reads[provider] { return known }
      let read = state.services[provider].flatMap(KnownReads.init(of:))
      state.reads[provider] = .some(read)
      return read
    }
    return reads?.contains(url) ?? true
  }

  private func change(_ body: (inout State) -> Void) {
    state.withLock { body(&$0) }
    decisions.withdrawAll()
  }

  /// The policy of a provider's accounts: the one that the provider names, otherwise the default policy.
  package func policy(of provider: ProviderName) -> PolicyEngine.Policy {
    let age = sourceAge
    return state.withLock { state in
      let named = state.names[provider]
      let name = named ?? Self.defaultName
      guard state.unread[name] == nil else { return .unreadable(name: name) }
      if let managed = state.managed(name) {
        if case .bundle = managed.source, !state.isYoung(age) { return .unreadable(name: name) }
        return managed.document.map { .document($0) } ?? .unreadable(name: managed.policy.name)
      }
      // Before the first bundle, and where the administrator's files are not known, any name may be the organisation's.
      let mayBeBundled = state.sourced.map { $0.bundled == nil } ?? false
      guard !state.mayBeAny, !mayBeBundled else { return .unreadable(name: name) }
      guard let found = state.documents[name] else {
        // A name that leads nowhere is an error in the configuration, and nothing to fall back from.
        return named.map { .unreadable(name: $0) } ?? .none
      }
      return found.map { .document($0) } ?? .unreadable(name: name)
    }
  }

  /// For how long the policy of a provider's accounts allows anything offline in this state; nil if it allows nothing.
  package func longestOfflineWindow(of provider: ProviderName, in state: PolicyFacts.State) -> Milliseconds? {
    guard case .document(let policy) = policy(of: provider) else { return nil }
    return policy.longestOfflineWindow(in: state)
  }

  // MARK: the organisation's bundle

  /// Since the last confirmation by the source; nil without a source or a confirmation.
  private var sourceAge: Milliseconds? { state.withLock { $0.sourced?.confirmed }.map(elapsed) }

  /// What is on trial beside the policy of a provider's accounts: it decides nothing.
  package func shadow(of provider: ProviderName) -> PolicyDocument? {
    let age = sourceAge
    return state.withLock { state in
      guard state.isYoung(age) else { return nil }
      return state.sourced?.bundled?.shadows[state.names[provider] ?? Self.defaultName]
    }
  }

  /// For how long the policy of a provider's accounts still counts if the source confirms nothing; nil if it does not
  /// come from the source.
  package func sourceTimeLeft(for provider: ProviderName) -> Milliseconds? {
    let age = sourceAge
    return state.withLock { state in
      guard let sourced = state.sourced, let age,
        case .bundle? = state.managed(state.names[provider] ?? Self.defaultName)?.source
      else { return nil }
      return max(.zero, sourced.maxAge - age)
    }
  }
}

extension PolicyCache.State {
  /// Takes the bundle's policies in, in place of those before.
  fileprivate mutating func source(_ sourced: SourcedPolicies?) {
    self.sourced = sourced
    managed[.bundle] = sourced?.managed
  }

  /// False if the source's last confirmation is too long ago.
  fileprivate func isYoung(_ age: Milliseconds?) -> Bool {
    guard let sourced, let age else { return false }
    return age < sourced.maxAge
  }
}
