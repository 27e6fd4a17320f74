package import AgentModel
package import AgentPorts
internal import JSONRPC
internal import SecretJSON
package import Secrets

extension DeclaredKind {
  /// A backup's manifest (`BackupManifest`).
  package static let backup = DeclaredKind(33, under: .vault)
}

/// The format of a backup: a store with a mark that is readable without a key, one key slot of its own kind, and a
/// `BackupManifest`.
///
/// It has its own root key, and so its own keys: the passphrase of a backup opens that file only, and a change of the
/// live store's keys does not affect the file.
package enum BackupFormat {
  /// Raise it when earlier agents can't read the format any more.
  package static let version: UInt8 = 1
  private static let mark = "backup"
  /// Bound into the slot's seal, so that a live store does not open as a backup, nor a backup as a live store.
  private static let protection = "backup"
  /// The costs of one guess, most of a second and 256 MiB: backups leave the machine, and are opened rarely.
  private static let stretching = PassphraseStretching(passes: 6, memoryBytes: 256 << 20)

  package enum Failure: Error {
    case notABackup, newer, damaged, wrongPassphrase, noMemory
    case store(StoreFailure)
  }

  /// Turns an empty store into a backup under this passphrase. Takes about a second.
  package static func seal(
    _ store: any Store, _ kinds: DeclaredKinds, by passphrase: Secret
  ) throws(Failure) -> Vault {
    let parameters = PassphraseParameters(
      salt: SecretBytes(random: PassphraseStretching.saltBytes).withBytes { [UInt8]($0) }, stretching: stretching)
    guard let holder = stretching.key(from: passphrase, salt: parameters.salt) else { throw .noMemory }
    let root = SealingKey.random()
    let slot = KeySlots.wrap(
      root: root, epoch: 1, by: holder, number: 0, protection: protection, parameters: parameters.bytes,
      databaseID: store.databaseID)
    try onStore { () throws(StoreFailure) in
      try store.commit([.putMetadata(name: mark, value: [version]), .putKeySlot(slot)])
    }
    return Vault(store: store, kinds: kinds, root: root, epoch: 1)
  }

  /// Checks the key slot before the key derivation, since its parameters may be an attack.
  package static func slot(of store: any Store) throws(Failure) -> (KeySlotRow, PassphraseParameters) {
    guard let found = try onStore({ () throws(StoreFailure) in try store.metadata(mark) }) else { throw .notABackup }
    guard found.count == 1 else { throw .damaged }
    guard found[0] <= version else { throw .newer }
    let slots = try onStore { () throws(StoreFailure) in try store.keySlots() }
    guard slots.count == 1, slots[0].protection == protection,
      let parameters = PassphraseParameters(bytes: slots[0].parameters)
    else { throw .damaged }
    return (slots[0], parameters)
  }

  package static func open(
    _ store: any Store, _ kinds: DeclaredKinds, by passphrase: Secret
  ) throws(Failure) -> Vault {
    let (slot, parameters) = try slot(of: store)
    guard let holder = parameters.stretching.key(from: passphrase, salt: parameters.salt) else { throw .noMemory }
    do {
      let root = try KeySlots.unwrap(slot, by: holder, databaseID: store.databaseID)
      return Vault(store: store, kinds: kinds, root: root, epoch: slot.keyEpoch)
    } catch {
      switch error {
      case .wrongKey: throw .wrongPassphrase
      case .damaged: throw .damaged
      }
    }
  }

  private static func onStore<Result>(_ body: () throws(StoreFailure) -> Result) throws(Failure) -> Result {
    do {
      return try body()
    } catch {
      throw .store(error)
    }
  }
}

/// The backup's own record: its creation time.
package struct BackupManifest: Sendable {
  package var createdAt: Timestamp

  package var record: Secret { SecretJSON.write { $0.member("createdAt", createdAt.milliseconds) } }

  package init(createdAt: Timestamp) { self.createdAt = createdAt }

  package init?(_ plain: Secret) {
    guard let createdAt = SecretJSON.read(plain, { $0["createdAt"]?.timestamp }) else { return nil }
    self.createdAt = createdAt
  }
}
