public import Secrets

/// Where a key slot's key comes from without a person: a key file, a credential, a keyring.
public protocol KeySource: Sendable {
  /// `keyFile`, `systemdCredential`, `secretService`.
  var protection: String { get }
  /// The key; nil if there is none yet. Throws if there is one that must not be trusted (mode, owner, length).
  func key() throws(KeySourceFailure) -> SealingKey?
  /// Makes a new key durable before it is returned.
  func createKey() throws(KeySourceFailure) -> SealingKey
  /// Removes the key, if it is one that `createKey` makes: nothing is sealed under it any more.
  func removeKey() throws(KeySourceFailure)
}

extension KeySource {
  /// Of a key that others look after.
  public func removeKey() throws(KeySourceFailure) {}
}

public enum KeySourceFailure: Error, Sendable { case unsafePermissions, damaged, unavailable }

/// A witness outside the store of how far it had come, so that an old copy is noticed.
public protocol RollbackAnchor: Sendable {
  /// The highest sequence witnessed for this database; nil if it was never seen.
  func sequence(databaseID: [UInt8]) throws(KeySourceFailure) -> UInt64?
  func advance(databaseID: [UInt8], to sequence: UInt64) throws(KeySourceFailure)
}
