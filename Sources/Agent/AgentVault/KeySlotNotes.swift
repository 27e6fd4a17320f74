package import AgentModel
package import AgentPorts
internal import JSONRPC
internal import SecretJSON
package import Secrets

extension DeclaredKind {
  /// The vault's notes on its key slots (`KeySlotNotes`).
  package static let keySlotNotes = DeclaredKind(31, under: .vault, .counted)
}

/// The vault's own sealed notes on its key slots: the creation time of each, its holder's box key, and a digest of its
/// row. A row that was restored or inserted from outside has no note.
package struct KeySlotNotes {
  package struct Note {
    package var createdAt: Timestamp
    /// Encrypts another root key for this slot's holder (`KeySlots.rewrap`).
    package var boxKey: [UInt8]
    package var digest: [UInt8]
  }

  package private(set) var notes: [Int: Note] = [:]

  package init() {}

  package subscript(number: Int) -> Note? { notes[number] }

  /// Adds a note for a slot with this row.
  package mutating func note(_ row: KeySlotRow, holder: SealingKey, at now: Timestamp) {
    notes[row.number] = Note(
      createdAt: notes[row.number]?.createdAt ?? now, boxKey: KeySlots.boxKey(of: holder).publicKey,
      digest: Self.digest(row))
  }

  /// Updates the note after a change of the slot's row.
  package mutating func note(_ row: KeySlotRow) { notes[row.number]?.digest = Self.digest(row) }

  package mutating func remove(_ number: Int) { notes[number] = nil }

  package func knows(_ row: KeySlotRow) -> Bool { notes[row.number]?.digest == Self.digest(row) }

  private static func digest(_ row: KeySlotRow) -> [UInt8] {
    var fields = LengthPrefixed()
    fields.append(UInt64(bitPattern: Int64(row.number)))
    fields.append(row.protection)
    fields.append(row.parameters)
    fields.append(row.commitment)
    fields.append(UInt64(row.keyEpoch))
    fields.append(row.wrappedRootKey)
    return fields.bytes.withUnsafeBytes { sha256($0) }
  }

  package var record: Secret {
    SecretJSON.write { writer in
      writer.key("slots")
      writer.beginArray()
      for (number, note) in notes.sorted(by: { $0.key < $1.key }) {
        writer.beginObject()
        writer.member("slot", Int64(number))
        writer.member("createdAt", note.createdAt.milliseconds)
        writer.member("boxKey", Base64URL.encode(note.boxKey))
        writer.member("digest", Base64URL.encode(note.digest))
        writer.endObject()
      }
      writer.endArray()
    }
  }

  package init?(_ plain: Secret) {
    let read = SecretJSON.read(plain) { node -> [Int: Note]? in
      var notes: [Int: Note] = [:]
      for entry in node["slots"]?.elements.map({ $0 }) ?? [] {
        guard let number = entry["slot"]?.integer, let createdAt = entry["createdAt"]?.timestamp,
          let boxKey = entry["boxKey"]?.string.flatMap({ Base64URL.decode($0) }),
          let digest = entry["digest"]?.string.flatMap({ Base64URL.decode($0) })
        else { return nil }
        notes[Int(number)] = Note(createdAt: createdAt, boxKey: boxKey, digest: digest)
      }
      return notes
    }
    guard let read else { return nil }
    notes = read
  }
}

extension KeySlotNotes {
  /// The notes of a vault, which has them since it was created.
  package static func stored(in vault: Vault) throws(VaultFailure) -> KeySlotNotes {
    guard let notes = try vault.read(.vault, .keySlotNotes).flatMap({ KeySlotNotes($0) }) else { throw .integrity }
    return notes
  }
}
