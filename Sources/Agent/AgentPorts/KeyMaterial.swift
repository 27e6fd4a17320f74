public import AgentModel
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
public enum KeySourceFailure: Error, Sendable, Hashable {
  /// The key file has the wrong owner or mode.
  case unsafePermissions
  /// The key has the wrong length or encoding.
  case damaged
  /// The source can't be reached, or reading it failed.
  case unavailable
  /// The source is reached by this library of the system, which is missing.
  case missingLibrary(SystemLibrary)
  /// The key's container is locked; `KeySource.unlock()` asks the person.
  case locked
}

/// Names a root key without telling it: a keyed hash that the key gives, and that gives no key.
public struct RootPrint: Hashable, Sendable {
  /// Length of a digest in bytes.
  public static let digestBytes = 16

  /// The epoch of the root key; each rotation raises it by one.
  public var epoch: UInt32
  /// `digestBytes` bytes.
  public var digest: [UInt8]

  public init(epoch: UInt32, digest: [UInt8]) {
    self.epoch = epoch
    self.digest = digest
  }
}

/// Remembers, outside the store, the highest sequence of a database and its root key, so that the agent detects a
/// restored older copy and a store that was made with a root key that the database no longer has.
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
  /// The root keys under which the database may be opened: one, or two while a rotation begins. Empty if none was
  /// recorded.
  ///
  /// - Throws: `KeySourceFailure` if the anchor can't be read.
  func rootPrints(databaseID: [UInt8]) throws(KeySourceFailure) -> [RootPrint]
  /// Records the root keys in place of those recorded before, durable when this returns. Writes nothing if they are
  /// recorded already.
  ///
  /// - Throws: `KeySourceFailure` if the anchor can't be written.
  func record(_ prints: [RootPrint], databaseID: [UInt8]) throws(KeySourceFailure)
  /// Tells the protections of the vault's key slots: an anchor that lies where such a key lies takes part while there
  /// is a slot of that protection. The default does nothing.
  func slotsChanged(to protections: Set<String>)
  /// The database that was last opened in this state directory; nil if none is known. The default is nil: an anchor need
  /// not know of directories.
  ///
  /// - Throws: `KeySourceFailure` if the anchor can't be read.
  func databaseHere() throws(KeySourceFailure) -> [UInt8]?
  /// True if a recorded sequence outlasts a restart of the machine. The default is true.
  var outlastsRestarts: Bool { get }
  /// True if this sequence or a higher one is recorded, so that it outlasts a restart if any does. The default asks
  /// `sequence`.
  func holds(_ sequence: UInt64, databaseID: [UInt8]) -> Bool
}

extension RollbackAnchor {
  public var outlastsRestarts: Bool { true }

  public func holds(_ sequence: UInt64, databaseID: [UInt8]) -> Bool {
    guard let known = try? self.sequence(databaseID: databaseID) else { return false }
    return known >= sequence
  }

  public func databaseHere() throws(KeySourceFailure) -> [UInt8]? { nil }

  public func slotsChanged(to protections: Set<String>) {}
}
