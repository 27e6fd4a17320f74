public import Secrets

/// A source of a key slot's key that needs no passphrase: a key file, a systemd credential, a keyring.
public protocol KeySource: Sendable {
  /// The kind of source: `keyFile`, `systemdCredential` or `secretService`.
  var protection: String { get }
  /// Reads the key without asking the person; nil if none exists yet.
  ///
  /// - Throws: `KeySourceFailure` if the key exists and can't be read, or must not be trusted (mode, owner, length).
  func key() throws(KeySourceFailure) -> SealingKey?
  /// Makes a new key, durable when this returns.
  ///
  /// - Throws: `KeySourceFailure` if the key can't be made or stored.
  func createKey() throws(KeySourceFailure) -> SealingKey
  /// Removes the key that `createKey` made, once no key slot uses it. The default does nothing, for a key that another
  /// program manages.
  ///
  /// - Throws: `KeySourceFailure` if the key can't be removed.
  func removeKey() throws(KeySourceFailure)
  /// Asks the person to unlock the key's container; afterwards `key()` returns the key. It waits as long as the person
  /// takes. The default does nothing, for a source that is never locked.
  ///
  /// - Throws: `KeySourceFailure.locked` if the person refuses.
  func unlock() async throws(KeySourceFailure)
}

extension KeySource {
  public func removeKey() throws(KeySourceFailure) {}

  public func unlock() async throws(KeySourceFailure) {}
}

/// Why a key source gave no key.
public enum KeySourceFailure: Error, Sendable {
  /// The key file has the wrong owner or mode.
  case unsafePermissions
  /// The key has the wrong length or encoding.
  case damaged
  /// The source can't be reached, or reading it failed.
  case unavailable
  /// The key's container is locked; `KeySource.unlock()` asks the person.
  case locked
}

/// Remembers, outside the store, the highest sequence of a database, so that the agent detects a restored older copy.
public protocol RollbackAnchor: Sendable {
  /// The highest sequence recorded for this database; nil if none was recorded.
  ///
  /// - Throws: `KeySourceFailure` if the anchor can't be read.
  func sequence(databaseID: [UInt8]) throws(KeySourceFailure) -> UInt64?
  /// Records `sequence`, durable when this returns. False, and nothing is changed, if this sequence or a higher one is
  /// recorded already: then another copy of the store has used it. Of two copies that record the same sequence at once,
  /// one is told true.
  ///
  /// - Throws: `KeySourceFailure` if the anchor can't be written.
  @discardableResult
  func advance(databaseID: [UInt8], to sequence: UInt64) throws(KeySourceFailure) -> Bool
}
