package import AgentPorts
package import Secrets

extension DeclaredKind {
  /// The count of changes that an old copy must not undo.
  static let sequence = DeclaredKind(25, under: .vault)
  /// The generations of some partitions' heads.
  static let mark = DeclaredKind(30, under: .vault, .answersForItself)
}

/// The generation of every partition's head, and a count of the changes that an old copy must not undo
/// (docs/storage.md, Heads and ledger). Sealed with the vault's own records.
///
/// A head shows that a row was restored, but not that all rows of its partition were: the head is one of them. The
/// ledger shows that, and the count, compared with the anchor outside the store, shows whether the ledger is an old
/// one.
package struct VaultLedger {
  /// The number of marks: few enough for the vault's head, and enough to keep a mark at 4 KB with ten thousand
  /// accounts.
  static let marks = 64

  package private(set) var sequence: UInt64 = 0
  private var heads = [[PartitionID: UInt64]](repeating: [:], count: marks)

  package init() {}

  /// The partitions that must exist.
  package var partitions: [PartitionID] { heads.flatMap(\.keys) }

  /// How many there are.
  package var count: Int { heads.reduce(0) { $0 + $1.count } }

  package func generation(of partition: PartitionID) -> UInt64? { heads[Self.mark(of: partition)][partition] }

  /// Sets a generation; nil removes the partition. Returns the mark that must be written again.
  package mutating func set(_ generation: UInt64?, of partition: PartitionID) -> Int {
    let mark = Self.mark(of: partition)
    heads[mark][partition] = generation
    return mark
  }

  package mutating func advance() { sequence += 1 }

  /// Raises the count to the anchor's, so that the next change is above it.
  package mutating func pass(_ anchored: UInt64) { sequence = max(sequence, anchored) }

  // The bytes of a partition's id are random.
  static func mark(of partition: PartitionID) -> Int { Int(partition.firstByte) % marks }

  // MARK: records

  var sequenceRecord: Secret {
    var builder = SecretBuilder()
    withUnsafeBytes(of: sequence.littleEndian) { builder.append($0) }
    return builder.finish()
  }

  /// Sorted, so that the same mark has the same bytes.
  package func record(of mark: Int) -> Secret {
    var builder = SecretBuilder(capacity: heads[mark].count * (PartitionID.byteCount + 8) + 8)
    for (partition, generation) in heads[mark].sorted(by: { $0.key < $1.key }) {
      partition.bytes.withUnsafeBytes { builder.append($0) }
      withUnsafeBytes(of: generation.littleEndian) { builder.append($0) }
    }
    return builder.finish()
  }

  /// Nil for a record that this agent did not write.
  package init?(sequence: Secret) {
    guard let count = sequence.withBytes(Self.number) else { return nil }
    self.sequence = count
  }

  /// Takes in the record of one mark; false, with nothing taken in, for one that this agent did not write.
  package mutating func read(_ plain: Secret) -> Bool {
    let size = PartitionID.byteCount + 8
    let generations = plain.withBytes { bytes -> [(PartitionID, UInt64)]? in
      guard bytes.count % size == 0 else { return nil }
      var found: [(PartitionID, UInt64)] = []
      for start in stride(from: 0, to: bytes.count, by: size) {
        let end = start + PartitionID.byteCount
        guard let partition = PartitionID(UnsafeRawBufferPointer(rebasing: bytes[start..<end])),
          let generation = Self.number(UnsafeRawBufferPointer(rebasing: bytes[end..<start + size]))
        else { return nil }
        found.append((partition, generation))
      }
      return found
    }
    guard let generations else { return false }
    for (partition, generation) in generations { _ = set(generation, of: partition) }
    return true
  }

  /// Closes a partition for good: no head is ever of the generation that the ledger asks for then. The mark that must
  /// be written again.
  package mutating func close(_ partition: PartitionID) -> Int { set(.max, of: partition) }

  private static func number(_ bytes: UnsafeRawBufferPointer) -> UInt64? {
    bytes.count == 8 ? bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } : nil
  }
}
