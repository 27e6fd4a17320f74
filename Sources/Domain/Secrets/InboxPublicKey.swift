/// Encrypts a secret for the vault while the vault is locked. A locked agent keeps this key in memory.
///
/// The inner seal uses a public key, so a copy of the agent's memory opens no earlier record. The outer seal uses the
/// symmetric key `authentication`, so a record that another program wrote into the file fails to open.
public struct InboxPublicKey: Sendable {
  private let publicKey: [UInt8]
  private let authentication: SealingKey

  fileprivate init(publicKey: [UInt8], authentication: SealingKey) {
    self.publicKey = publicKey
    self.authentication = authentication
  }

  /// Encrypts `plain`. `InboxKey.open` needs the same additional data.
  public func seal(_ plain: Secret, additionalData: [UInt8]) -> [UInt8] {
    // `publicKey` comes from `InboxKey`, so it always has the right length.
    BoxKey.seal(plain, to: publicKey)!.withUnsafeBytes { authentication.seal($0, additionalData: additionalData) }
  }
}

/// Decrypts inbox records. It is never in memory while the vault is locked.
public struct InboxKey: Sendable {
  private let pair: BoxKey
  private let authentication: SealingKey

  /// Derives the key pair from `key`, always the same one.
  public init(_ key: SealingKey) {
    pair = BoxKey(seed: key.derive("drop key pair"))
    authentication = key.derive("drop mark")
  }

  /// The key that encrypts for this inbox.
  public var publicKey: InboxPublicKey { InboxPublicKey(publicKey: pair.publicKey, authentication: authentication) }

  /// Decrypts into guarded memory.
  ///
  /// - Throws: `DecryptionFailed` if the record was altered, was made for another key, or has other additional data.
  public func open(_ sealed: [UInt8], additionalData: [UInt8]) throws(DecryptionFailed) -> Secret {
    try pair.open(authentication.open(sealed, additionalData: additionalData).withBytes { [UInt8]($0) })
  }
}
