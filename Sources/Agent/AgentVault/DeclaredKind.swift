package import AgentPorts

/// A kind of records as a feature declares it, in its own folder. `AgentTables` lists those of all features.
///
/// The number is part of the sealed format, and is never used for another kind, also after this one is gone.
package struct DeclaredKind: Sendable {
  package let number: RecordKind
  package let keyClass: KeyClass
  package let traits: Traits
  /// Goes into the ids of records that are found by a name (`RecordPlaces`), and so is of the format. Empty for others.
  package let label: StaticString

  package init(_ number: UInt16, under keyClass: KeyClass, _ traits: Traits = [], named label: StaticString = "") {
    self.number = RecordKind(rawValue: number)
    self.keyClass = keyClass
    self.traits = traits
    self.label = label
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
    /// A backup takes the record over, and knows no more of it than its name: it may be under the person's PIN.
    package static let copied = Traits(rawValue: 16)
  }

  var isCounted: Bool { traits.contains(.counted) }
  var answersForItself: Bool { traits.contains(.answersForItself) }
}

extension RecordKey {
  init(partition: PartitionID, kind: DeclaredKind, id: [UInt8] = []) {
    self.init(partition: partition, kind: kind.number, id: id)
  }
}

extension DeclaredKind: Equatable {
  package static func == (a: DeclaredKind, b: DeclaredKind) -> Bool { a.number == b.number }
}
