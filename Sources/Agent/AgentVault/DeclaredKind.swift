package import AgentPorts
internal import JSONRPC
internal import SecretJSON
package import Secrets

/// A kind of records as a feature declares it, in its own folder. `AgentTables` lists those of all features.
///
/// The number is part of the sealed format, and is never used for another kind, also after this one is gone.
package struct DeclaredKind: Sendable {
  package let number: RecordKind
  package let keyClass: KeyClass
  package let traits: Traits
  private let copying: Copying

  package init(_ number: UInt16, under keyClass: KeyClass, _ traits: Traits = [], copied copying: Copying = .none) {
    self.number = RecordKind(rawValue: number)
    self.keyClass = keyClass
    self.traits = traits
    self.copying = copying
  }

  /// The class of the key that seals a record of this kind. `data` is for secrets of a person's programs: with a PIN, a
  /// soft sign-out leaves this key under it alone.
  package enum KeyClass: Sendable { case head, directory, token, data, vault, outbox }

  package struct Traits: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// An old copy of the store must not restore an earlier version of this record.
    package static let counted = Traits(rawValue: 1)
    /// The vault opens without a damaged record of this kind, and what depends on it fails with `.integrity`. Any other
    /// damaged record of the vault's own keeps it closed.
    package static let answersForItself = Traits(rawValue: 2)
    /// An account has it only while it is signed in.
    package static let untilSignOut = Traits(rawValue: 4)
    /// It has the account's data key under the person's PIN.
    package static let wrapsDataKey = Traits(rawValue: 8)
  }

  /// How a backup takes over records that it does not read, and can't while they are under a PIN.
  package enum Copying: Sendable {
    /// Not at all, or by a plan of its own (`BackupWriter`).
    case none
    /// An account has one.
    case single
    /// The content has a name, by which another vault finds the record.
    case named(@Sendable (RecordPlaces, String) -> [UInt8])
  }
}

extension RecordKey {
  init(partition: PartitionID, kind: DeclaredKind, id: [UInt8] = []) {
    self.init(partition: partition, kind: kind.number, id: id)
  }
}

extension DeclaredKind: Equatable {
  package static func == (a: DeclaredKind, b: DeclaredKind) -> Bool { a.number == b.number }
}

extension DeclaredKind {
  var isCounted: Bool { traits.contains(.counted) }
  var answersForItself: Bool { traits.contains(.answersForItself) }
  var isCopied: Bool { if case .none = copying { false } else { true } }

  /// The id in another vault of a record that a backup took over.
  package func id(of plain: Secret, by places: RecordPlaces) throws(VaultFailure) -> [UInt8] {
    switch copying {
    case .none: throw .integrity
    case .single: return []
    case .named(let place):
      guard let name = SecretJSON.read(plain, { $0["name"]?.string }) else { throw .integrity }
      return place(places, name)
    }
  }
}
