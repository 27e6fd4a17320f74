package import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentRecords
package import AgentStore
internal import AgentVault
internal import Secrets

extension OpenVault {
  package var policySource: PolicySourceStore { PolicySourceStore(vault: self) }
}

/// The bundle in force and what is known of its source, sealed in the vault.
package struct PolicySourceStore {
  /// What a fetch brought.
  package enum Fetched: Sendable {
    /// The answer was 304: the bundle is the one that is kept.
    case unchanged
    /// A bundle with a good signature.
    case bundle([UInt8], PolicyBundle, entityTag: String?)
  }

  package let vault: OpenVault

  /// The bundle that is kept, if it is signed by this key. One that does not open is none: until the next fetch
  /// decisions are denied.
  package func kept(by key: MinisignKey) throws(AgentFailure) -> KeptBundle? {
    guard let plain = try readable(.policyBundle), let kept = KeptBundle(plain), kept.key == key.text else {
      return nil
    }
    return kept
  }

  /// Nil before the first fetch.
  package func state() throws(AgentFailure) -> PolicySourceState? {
    try readable(.policySource).flatMap { PolicySourceState($0) }
  }

  private func readable(_ kind: DeclaredKind) throws(AgentFailure) -> Secret? {
    try vault.withRecords { (records) throws(VaultFailure) in try records.readEach(kind).first?.plain }
  }

  /// Gives this agent its id, if it has none.
  package func identify() throws(AgentFailure) -> ChangeSet<Void> {
    guard try state() == nil else { return .unchanged }
    let id = "agt_" + Base32.encode(vault.entropy.bytes(PolicySourceState.agentIDBytes))
    return ChangeSet([.put(.vault, .policySource, PolicySourceState(agent: id).record)])
  }

  /// Takes in what the source brought. `moment`: before the request was sent, so that no answer counts as younger than
  /// it is. Results in the refusal, or in the policies that are new.
  package func admit(
    _ fetched: Fetched, from source: PolicySource, at moment: TrustedInstant
  ) throws(AgentFailure) -> ChangeSet<Result<[PolicyDocument], BundleRefusal>> {
    guard var state = try state() else { return .unchanged(.failure(.notStored)) }
    let kept = try kept(by: source.publicKey)
    let key = source.publicKey.text
    let known = [kept?.edition, state.confirmation.flatMap { $0.key == key ? $0.edition : nil }]
    let newest = known.compactMap { $0 }.max { $0.version < $1.version }
    var (records, brought): ([VaultChange], [PolicyDocument]) = ([], [])
    var bundled: BundledPolicies?
    switch fetched {
    case .unchanged:
      guard kept != nil, state.confirmation?.key == key else { return .unchanged(.failure(.notStored)) }
    case .bundle(let bytes, let bundle, let entityTag):
      let edition = BundleAdmission.Edition(bundle, bytes)
      let admission: BundleAdmission
      do throws(BundleRefusal) {
        admission = try BundleAdmission(of: edition, after: newest)
      } catch {
        return .unchanged(.failure(error))
      }
      if admission == .new || kept == nil {
        bundled = BundledPolicies(bundle, for: state.agent)
        let before = kept.flatMap { try? PolicyBundle(parsing: $0.bytes) }.map { BundledPolicies($0, for: state.agent) }
        brought = bundled!.policies.values.map(\.document).filter { before?.policies[$0.name]?.document != $0 }.sorted {
          $0.name < $1.name
        }
        records = [
          .put(.vault, .policyBundle, KeptBundle(key: key, edition: edition, bytes: bytes).record),
          vault.audited(.policyBundleAccept, .bundleVersion(edition.version)),
        ]
      }
      state.confirmation = .init(
        key: key, url: source.url.text, at: moment, edition: edition,
        entityTag: entityTag.flatMap { EntityTag.isUsable($0) ? $0 : nil })
    }
    state.confirmation?.at = moment
    records.append(.put(.vault, .policySource, state.record))
    // Ages count from it: without the time record, a restart would forget how long this vault has run.
    if let time = vault.time.record() { records.append(.put(.vault, .trustedTime, time.sealable)) }
    return ChangeSet(
      records, memory: [.sourceConfirmed(bundled, at: moment)], result: .success(brought))
  }

  /// Tells the log of a bundle that was offered and refused.
  package func refuse(_ refusal: BundleRefusal) -> ChangeSet<Void> {
    ChangeSet([
      vault.dependencies.audited(
        .policyBundleRefuse, outcome: "refused",
        [.reason(refusal.word)] + (refusal.offeredVersion.map { [.bundleVersion($0)] } ?? []))
    ])
  }
}
