package import AgentModel

/// The places of the records that the vault looks up by a name.
extension Vault {
  package func place(of provider: ProviderName) throws(VaultFailure) -> [UInt8] { try index("provider", provider.text) }

  package func place(ofPolicy name: String) throws(VaultFailure) -> [UInt8] { try index("policy", name) }

  /// Of a value that a client program keeps, in any account.
  package func place(ofSecret name: String) throws(VaultFailure) -> [UInt8] { try index("client secret", name) }
}
