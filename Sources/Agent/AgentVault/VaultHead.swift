package import AgentPorts
package import Secrets

/// The records of a partition with their generations, by which a deleted, added or replayed row is detected.
package struct VaultHead {
  package struct Entry: Hashable {
    package var kind: RecordKind
    package var id: [UInt8]
  }

  var generations: [Entry: UInt64] = [:]
  /// Counts the writes of the head itself.
  package var generation: UInt64 = 0

  package init() {}

  package init?(_ plain: Secret, generation: UInt64) {
    self.generation = generation
    let bytes = plain.withBytes { [UInt8]($0) }
    var position = 0
    func read(_ count: Int) -> ArraySlice<UInt8>? {
      guard position + count <= bytes.count else { return nil }
      defer { position += count }
      return bytes[position..<position + count]
    }
    func number(_ count: Int) -> UInt64? {
      read(count).map { $0.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
    }
    while position < bytes.count {
      guard let kind = number(2), let length = number(2), let id = read(Int(length)), let written = number(8) else {
        return nil
      }
      generations[Entry(kind: RecordKind(rawValue: UInt16(kind)), id: Array(id))] = written
    }
  }

  /// Sorted, so that the same head has the same bytes.
  package var plain: Secret {
    var builder = SecretBuilder(capacity: generations.count * 40 + 64)
    let sorted = generations.sorted {
      $0.key.kind != $1.key.kind ? $0.key.kind < $1.key.kind : $0.key.id.lexicographicallyPrecedes($1.key.id)
    }
    for (entry, written) in sorted {
      withUnsafeBytes(of: entry.kind.rawValue.littleEndian) { builder.append($0) }
      withUnsafeBytes(of: UInt16(entry.id.count).littleEndian) { builder.append($0) }
      entry.id.withUnsafeBytes { builder.append($0) }
      withUnsafeBytes(of: written.littleEndian) { builder.append($0) }
    }
    return builder.finish()
  }
}
