package import AgentPorts
package import Secrets

extension DeclaredKind {
  /// Names the records of its partition and their generations.
  static let head = DeclaredKind(1, under: .head)
}

/// The records of a partition with their generations, by which a deleted, added or replayed row is detected.
package struct VaultHead {
  package struct Entry: Hashable {
    package var kind: RecordKind
    package var id: [UInt8]

    init(kind: RecordKind, id: [UInt8]) { (self.kind, self.id) = (kind, id) }

    init(kind: DeclaredKind, id: [UInt8]) { self.init(kind: kind.number, id: id) }
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
    // Every commit writes a head, which may name some thousand records: each line is built once, and only numbers move
    // while they are sorted.
    var lines: [UInt8] = []
    lines.reserveCapacity(generations.count * 40)
    var places: [Place] = []
    places.reserveCapacity(generations.count)
    for (entry, written) in generations {
      let start = lines.count
      withUnsafeBytes(of: entry.kind.rawValue.littleEndian) { lines.append(contentsOf: $0) }
      withUnsafeBytes(of: UInt16(entry.id.count).littleEndian) { lines.append(contentsOf: $0) }
      lines.append(contentsOf: entry.id)
      withUnsafeBytes(of: written.littleEndian) { lines.append(contentsOf: $0) }
      let first = entry.id.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      let id = start + 4..<start + 4 + entry.id.count
      places.append(Place(kind: entry.kind.rawValue, first: first, line: start..<lines.count, id: id))
    }
    lines.withUnsafeBytes { lines in
      places.sort { $0.precedes($1, in: lines) }
      for place in places { builder.append(UnsafeRawBufferPointer(rebasing: lines[place.line])) }
    }
    return builder.finish()
  }

  /// Where an entry is written, and the first bytes of its id.
  private struct Place {
    var kind: UInt16
    var first: UInt64
    var line: Range<Int>
    var id: Range<Int>

    private func bytes(in lines: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer> { lines[id] }

    /// By kind, then by id.
    func precedes(_ other: Place, in lines: UnsafeRawBufferPointer) -> Bool {
      if kind != other.kind { return kind < other.kind }
      if first != other.first, id.count >= 8, other.id.count >= 8 { return first < other.first }
      return bytes(in: lines).lexicographicallyPrecedes(other.bytes(in: lines))
    }
  }
}
