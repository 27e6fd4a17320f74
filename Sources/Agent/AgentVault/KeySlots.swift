package import AgentPorts
package import Secrets

/// Wraps the root key for one holder of a key, and unwraps it (docs/storage.md, Key slots).
///
/// There are two wrappings. The usual one needs the holder's key. At a rotation of the root key the keys of the other
/// slots are not available: for them the new root key is sealed in a box that only their key opens (`BoxKey`), and
/// wrapped as usual at the slot's next use.
package enum KeySlots {
  package enum Failure: Error { case wrongKey, damaged }

  /// The maximum number of slots. It is small, since each further passphrase opens everything.
  package static let most = 16

  package static func wrap(
    root: SealingKey, epoch: UInt32, by holder: SealingKey, number: Int, protection: String, parameters: [UInt8],
    databaseID: [UInt8]
  ) -> KeySlotRow {
    var row = KeySlotRow(
      number: number, protection: protection, parameters: parameters,
      commitment: commitment(holder, parameters), keyEpoch: epoch, wrappedRootKey: [])
    row.wrappedRootKey = holder.derive("lanyard slot wrap").seal(
      root.secret, additionalData: additionalData(row, databaseID))
    return row
  }

  /// Wraps a new root key for a slot without its holder's key. Nil if `boxKey` is not a valid key.
  package static func rewrap(_ row: KeySlotRow, root: SealingKey, epoch: UInt32, to boxKey: [UInt8]) -> KeySlotRow? {
    guard let box = BoxKey.seal(root.secret, to: boxKey) else { return nil }
    var row = row
    (row.keyEpoch, row.wrappedRootKey) = (epoch, box)
    return row
  }

  package static func isBoxed(_ row: KeySlotRow) -> Bool {
    row.wrappedRootKey.count == SealingKey.byteCount + BoxKey.overheadBytes
  }

  package static func boxKey(of holder: SealingKey) -> BoxKey { BoxKey(seed: holder.derive("lanyard slot box")) }

  /// The commitment is checked first: XChaCha20-Poly1305 alone does not bind a cipher text to one key, and a wrong
  /// passphrase must be distinguished from a damaged slot.
  package static func unwrap(_ row: KeySlotRow, by holder: SealingKey, databaseID: [UInt8]) throws(Failure)
    -> SealingKey
  {
    guard isHolder(holder, of: row) else { throw .wrongKey }
    do {
      let opened =
        isBoxed(row)
        ? try boxKey(of: holder).open(row.wrappedRootKey)
        : try holder.derive("lanyard slot wrap").open(
          row.wrappedRootKey, additionalData: additionalData(row, databaseID))
      guard let root = SealingKey(opened) else { throw Failure.damaged }
      return root
    } catch {
      throw .damaged
    }
  }

  /// True if the slot was made for this key, by the commitment.
  package static func isHolder(_ key: SealingKey, of row: KeySlotRow) -> Bool {
    commitment(key, row.parameters) == row.commitment
  }

  private static func commitment(_ holder: SealingKey, _ parameters: [UInt8]) -> [UInt8] {
    holder.digest("lanyard slot commitment", parameters)
  }

  private static func additionalData(_ row: KeySlotRow, _ databaseID: [UInt8]) -> [UInt8] {
    var fields = LengthPrefixed()
    fields.append("lanyard slot 1")
    fields.append(databaseID)
    fields.append(UInt64(bitPattern: Int64(row.number)))
    fields.append(row.protection)
    fields.append(row.parameters)
    fields.append(UInt64(row.keyEpoch))
    return fields.bytes
  }
}

/// The stored parameters of a passphrase slot: salt, passes, memory.
package struct PassphraseParameters {
  package var salt: [UInt8]
  package var stretching: PassphraseStretching

  package init(salt: [UInt8], stretching: PassphraseStretching = .least) {
    self.salt = salt
    self.stretching = stretching
  }

  /// New parameters with a random salt.
  package static func new() -> PassphraseParameters {
    PassphraseParameters(salt: SecretBytes(random: PassphraseStretching.saltBytes).withBytes { [UInt8]($0) })
  }

  /// Nil for an unknown layout, and for costs outside the bounds, so that no weaker parameters are accepted.
  package init?(bytes: [UInt8]) {
    guard bytes.count == PassphraseStretching.saltBytes + 16 else { return nil }
    func number(at offset: Int) -> UInt64 {
      bytes[offset..<offset + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    salt = Array(bytes.prefix(PassphraseStretching.saltBytes))
    guard let memory = Int(exactly: number(at: salt.count + 8)) else { return nil }
    stretching = PassphraseStretching(passes: number(at: salt.count), memoryBytes: memory)
    guard stretching.isWithinBounds else { return nil }
  }

  package var bytes: [UInt8] {
    func little(_ value: UInt64) -> [UInt8] { withUnsafeBytes(of: value.littleEndian) { Array($0) } }
    return salt + little(stretching.passes) + little(UInt64(stretching.memoryBytes))
  }
}
