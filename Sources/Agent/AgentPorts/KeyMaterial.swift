public import Secrets

/// Where a key slot's key comes from without a person: a key file, a credential, a keyring.
public protocol KeySource: Sendable {
  /// `keyFile`, `systemdCredential`, `secretService`.
  var protection: String { get }
  /// The key; nil if there is none yet. Asks nobody. Throws if there is one that must not be trusted (mode, owner, length).
  func key() throws(KeySourceFailure) -> SealingKey?
  /// Makes a new key durable before it is returned.
  func createKey() throws(KeySourceFailure) -> SealingKey
  /// Removes the key, if it is one that `createKey` makes: nothing is sealed under it any more.
  func removeKey() throws(KeySourceFailure)
  /// Has the person asked for what holds the key, if that is locked; `key()` has it then. May take as long as a person
  /// takes. Throws `locked` if they did not want to.
  func unlock() async throws(KeySourceFailure)
}

extension KeySource {
  /// Of a key that others look after.
  public func removeKey() throws(KeySourceFailure) {}

  /// Of a key that needs nobody.
  public func unlock() async throws(KeySourceFailure) {}
}

public enum KeySourceFailure: Error, Sendable {
  case unsafePermissions, damaged, unavailable
  /// It is there, or may be, and takes a person: `KeySource.unlock()` asks them.
  case locked
}

/// A witness outside the store of how far it had come, so that an old copy is noticed.
public protocol RollbackAnchor: Sendable {
  /// The highest sequence witnessed for this database; nil if it was never seen.
  func sequence(databaseID: [UInt8]) throws(KeySourceFailure) -> UInt64?
  func advance(databaseID: [UInt8], to sequence: UInt64) throws(KeySourceFailure)
}
