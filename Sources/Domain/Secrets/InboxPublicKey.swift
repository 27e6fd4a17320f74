/// Takes secrets in while nobody here can open anything: what an agent that is locked still holds.
///
/// It seals to a public key, so that whoever has all of this memory opens nothing of what was dropped before. Since
/// anybody can seal to a public key, around that is a seal by a second one: what somebody else wrote into the file does
/// not open.
public struct InboxPublicKey: Sendable {
  private let publicKey: [UInt8]
  private let mark: SealingKey

  fileprivate init(publicKey: [UInt8], mark: SealingKey) {
    self.publicKey = publicKey
    self.mark = mark
  }

  /// Opens again by the `InboxKey` of this box, and with the same additional data.
  public func seal(_ plain: Secret, additionalData: [UInt8]) -> [UInt8] {
    // The key pair's own public key is one.
    BoxKey.seal(plain, to: publicKey)!.withUnsafeBytes { mark.seal($0, additionalData: additionalData) }
  }
}

/// Opens what was dropped; never in memory while the agent is locked.
public struct InboxKey: Sendable {
  private let pair: BoxKey
  private let mark: SealingKey

  /// The box that belongs to a key, always the same.
  public init(_ key: SealingKey) {
    pair = BoxKey(seed: key.derive("drop key pair"))
    mark = key.derive("drop mark")
  }

  public var box: InboxPublicKey { InboxPublicKey(publicKey: pair.publicKey, mark: mark) }

  /// Opens into guarded memory, or says that the seal is broken.
  public func open(_ sealed: [UInt8], additionalData: [UInt8]) throws(DecryptionFailed) -> Secret {
    try pair.open(mark.open(sealed, additionalData: additionalData).withBytes { [UInt8]($0) })
  }
}
