package import AgentModel

/// The places of the records that the vault looks up by a name.
extension Vault {
  package func place(of provider: ProviderName) throws(VaultFailure) -> [UInt8] { try index("provider", provider.text) }

  /// A digest by which an erased person is recognised and can't be read: without the vault's key a subject can't be
  /// guessed from it. It outlives the root key, like all places.
  package func digest(of identity: Identity, at provider: ProviderName) throws(VaultFailure) -> [UInt8] {
    let parts = [provider.text, identity.issuer, identity.tenant ?? "", identity.subject]
    // Each with its length, so that no two identities read the same.
    return try index("erased identity", parts.map { "\($0.utf8.count):\($0)" }.joined())
  }

  package func place(ofPolicy name: String) throws(VaultFailure) -> [UInt8] { try index("policy", name) }

  /// Of a value that a client program keeps, in any account.
  package func place(ofSecret name: String) throws(VaultFailure) -> [UInt8] { try index("client secret", name) }
}
