package import AgentModel
package import AgentStore
internal import AgentVault

/// Recognises people whose accounts were erased (docs/sign-out.md, Modes).
extension OpenVault {
  /// The identity that stays of a person in an erased account.
  func erased(_ identity: Identity, at provider: ProviderName) throws(AgentFailure) -> Identity {
    Identity(erased: try digest(of: identity, at: provider), issuer: identity.issuer)
  }

  func digest(of identity: Identity, at provider: ProviderName) throws(AgentFailure) -> [UInt8] {
    try withRecords { (records) throws(VaultFailure) in try records.places().digest(of: identity, at: provider) }
  }

  /// The account that a person has at a provider, signed in or not, erased or not.
  package func profile(of identity: Identity, at provider: ProviderName) throws(AgentFailure) -> AccountProfile? {
    if let named = directory.namedProfile(of: identity, at: provider) { return named }
    let candidates = directory.erasedProfiles(at: provider)
    guard !candidates.isEmpty else { return nil }
    let erased = try erased(identity, at: provider)
    return candidates.first { $0.identity == erased }
  }
}

extension RecordPlaces {
  /// A digest by which an erased person is recognised and can't be read: without the vault's key a subject can't be
  /// guessed from it. It outlives the root key, like all places.
  fileprivate func digest(of identity: Identity, at provider: ProviderName) -> [UInt8] {
    let parts = [provider.text, identity.issuer, identity.tenant ?? "", identity.subject]
    // Each with its length, so that no two identities read the same.
    return place("erased identity", parts.map { "\($0.utf8.count):\($0)" }.joined())
  }
}
