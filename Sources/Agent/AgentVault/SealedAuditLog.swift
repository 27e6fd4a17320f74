package import AgentCore
package import AgentModel
package import AgentPorts
internal import JSONRPC
internal import SecretJSON
package import Secrets

extension Vault {
  package var audit: SealedAuditLog { SealedAuditLog(vault: self) }
}

/// An entry for the audit log.
package struct AuditAppend: Sendable {
  package var ring: AuditRing
  package var at: Timestamp
  /// The account that the entry is about, by its id; nil for the agent as a whole.
  package var account: String?
  /// Two entries are repeats of each other if these bytes are equal.
  package var sameness: [UInt8]
  /// Tells the entry from others to its client: a decision's id.
  package var name: String
  /// True if the entry is counted in an equal one among the newest of its ring.
  package var coalesces: Bool
  /// The client that causes the entry, as `AuditQuota` knows it; empty for the agent itself.
  package var clients: Set<String>
  /// True if the operation may be refused because its client has added too many entries.
  package var isRefusable: Bool
  /// The plain text of the entry that stands for so many.
  package var record: @Sendable (AuditRepeats) -> Secret

  package init(
    ring: AuditRing, at: Timestamp, account: String?, sameness: [UInt8], name: String, coalesces: Bool,
    clients: Set<String>, isRefusable: Bool, record: @escaping @Sendable (AuditRepeats) -> Secret
  ) {
    self.ring = ring
    self.at = at
    self.account = account
    self.sameness = sameness
    self.name = name
    self.coalesces = coalesces
    self.clients = clients
    self.isRefusable = isRefusable
    self.record = record
  }
}

/// The newest entries of a ring, into which repeats are counted. In memory only: after a start, an unlock and a failed
/// commit the first repeat is an entry of its own.
struct AuditTail {
  struct Entry {
    var append: AuditAppend
    var repeats: AuditRepeats
    var row: AuditRow
    var isChanged = true
    /// False once something else happened to the account: a repeat would stand before it.
    var isOpen = true
  }

  /// The link before the first entry.
  var base: [UInt8]
  var entries: [Entry] = []

  /// A change writes the rows after it again, since their links change. 256 rows take about 100 KB.
  static let most = 256

  /// The entry that counts `append`.
  func place(of append: AuditAppend) -> Int? {
    guard append.coalesces else { return nil }
    return entries.lastIndex {
      var repeats = $0.repeats
      return $0.isOpen && $0.append.sameness == append.sameness && repeats.add(at: append.at)
    }
  }

  mutating func trim() {
    guard entries.count > Self.most else { return }
    let first = entries.count - Self.most
    base = entries[first - 1].row.link
    entries.removeFirst(first)
  }
}

/// The audit log as the vault knows it: the rings' bounds and newest entries.
struct AuditMemory {
  var chains: AuditChains
  var tails: [AuditRing: AuditTail] = [:]
  /// The names of the last commit's entries, in their order. A repeat has the name of the entry that counts it.
  var names: [String] = []

  /// Counts a repeat in an entry that is there, and returns its name; nil if there is none.
  mutating func count(_ append: AuditAppend) -> String? {
    guard let index = tails[append.ring]?.place(of: append) else { return nil }
    _ = tails[append.ring]!.entries[index].repeats.add(at: append.at)
    tails[append.ring]!.entries[index].isChanged = true
    return tails[append.ring]!.entries[index].append.name
  }

  /// No repeat is counted in a decision that stands before an event about its account.
  mutating func close(before event: AuditAppend) {
    guard var tail = tails[.decisions] else { return }
    for index in tail.entries.indices
    where event.account == nil || tail.entries[index].append.account == event.account {
      tail.entries[index].isOpen = false
    }
    tails[.decisions] = tail
  }
}

/// The audit log (docs/storage.md, Audit): sealed entries in two rings, each a chain, and the chains' ends in sealed
/// records.
package struct SealedAuditLog {
  package let vault: Vault

  /// Adds the entries to a batch, and removes the oldest ones from a full ring. Returns the memory after the commit.
  func append(_ entries: [AuditAppend], to batch: inout [StoreWrite]) throws(VaultFailure) -> AuditMemory {
    var memory = AuditMemory(chains: try chains())
    if let known = vault.auditMemory { memory = known }
    memory.names = []
    for entry in entries {
      if entry.ring == .security { memory.close(before: entry) }
      if let name = memory.count(entry) {
        memory.names.append(name)
        continue
      }
      let row = AuditRow(
        ring: entry.ring, sequence: memory.chains.last + 1, keyEpoch: vault.keys.epoch, link: [], sealed: [])
      let base = memory.chains[entry.ring].link
      memory.tails[entry.ring, default: AuditTail(base: base)].entries.append(
        AuditTail.Entry(append: entry, repeats: AuditRepeats(at: entry.at), row: row))
      memory.names.append(entry.name)
      memory.chains[entry.ring].append([], as: row.sequence)
      try endSegment(of: entry.ring, at: entry.at, &memory, &batch)
    }
    for ring in AuditRing.allCases { write(ring, &memory, &batch) }
    return memory
  }

  /// Ends a full segment. Its entries change no more, so that the segment's link stays. Then removes the oldest
  /// segments from a full ring.
  private func endSegment(
    of ring: AuditRing, at now: Timestamp, _ memory: inout AuditMemory, _ batch: inout [StoreWrite]
  ) throws(VaultFailure) {
    let bound = vault.auditBounds[ring]!
    var ended = memory.chains
    if ended[ring].endSegment(of: bound, at: now) {
      write(ring, &memory, &batch)
      _ = memory.chains[ring].endSegment(of: bound, at: now)
      memory.tails[ring] = nil
    } else if case .age = bound.retention {
      return
    }
    while let segment = memory.chains[ring].excess(over: bound, at: now) {
      let isStored = try storedLink(segment.through, in: ring, batch) == segment.link
      memory.chains[ring].dropSegment(link: isStored ? segment.link : AuditChain.origin)
      batch.append(.deleteAudit(ring, through: segment.through))
      if case .age = bound.retention { return }
    }
  }

  /// Seals the changed entries of a ring's tail, and chains them and the entries after them again.
  private func write(_ ring: AuditRing, _ memory: inout AuditMemory, _ batch: inout [StoreWrite]) {
    guard var tail = memory.tails[ring], let first = tail.entries.firstIndex(where: \.isChanged) else { return }
    var previous = first == 0 ? tail.base : tail.entries[first - 1].row.link
    for index in first..<tail.entries.count {
      var entry = tail.entries[index]
      if entry.isChanged {
        entry.row.keyEpoch = vault.keys.epoch
        entry.row.sealed = vault.keys.log.seal(
          entry.append.record(entry.repeats), additionalData: additionalData(entry.row))
        entry.isChanged = false
      }
      entry.row.link = link(of: entry.row, after: previous)
      previous = entry.row.link
      batch.append(.appendAudit(entry.row))
      tail.entries[index] = entry
    }
    tail.trim()
    memory.tails[ring] = tail
    memory.chains[ring].link = previous
  }

  /// The link of a row as stored; the next entry does not follow from a changed or missing row.
  private func storedLink(
    _ sequence: Int64, in ring: AuditRing, _ batch: [StoreWrite]
  ) throws(VaultFailure) -> [UInt8]? {
    for case .appendAudit(let row) in batch.reversed() where row.sequence == sequence && row.ring == ring {
      return row.link
    }
    let rows = try vault.onStore { () throws(StoreFailure) in
      try vault.store.auditRows(after: sequence - 1, limit: 2)
    }
    return rows.first { $0.sequence == sequence && $0.ring == ring }?.link
  }

  /// The chains' ends in their sealed records.
  package func chains() throws(VaultFailure) -> AuditChains {
    if let known = vault.auditMemory { return known.chains }
    var chains = AuditChains()
    for ring in AuditRing.allCases {
      guard let plain = try vault.read(.vault, ring.chainKind) else { continue }
      guard let chain = AuditChain(plain) else { throw .integrity }
      chains[ring] = chain
    }
    return chains
  }

  /// From now on no entry that is there changes. For readers: what was listed or verified stays so.
  package func closeEntries() { vault.closeAuditEntries() }

  /// True if the entry would be counted in one that is there.
  package func isRepeat(_ entry: AuditAppend) -> Bool {
    vault.auditMemory?.tails[entry.ring]?.place(of: entry) != nil
  }

  /// The names of the last commit's entries, in their order. A repeat has the name of the entry that counts it.
  package var lastNames: [String] { vault.auditMemory?.names ?? [] }

  /// The entries after a number, in order, with their contents; nil for one that does not open.
  package func rows(
    after sequence: Int64, limit: Int
  ) throws(VaultFailure) -> [(row: AuditRow, plain: Secret?)] {
    try vault.onStore { () throws(StoreFailure) in try vault.store.auditRows(after: sequence, limit: limit) }.map {
      row in
      (row, try? logKey(of: row.keyEpoch)?.open(row.sealed, additionalData: additionalData(row)))
    }
  }

  /// The log key derived from the root key of an epoch; nil if there is none.
  private func logKey(of epoch: UInt32) -> SealingKey? {
    if let keys = try? vault.seals.keys(of: epoch) { return keys.log }
    return (try? earlierLogKeys())?[epoch]
  }

  /// The earlier log keys, by the epoch of their root key.
  func earlierLogKeys() throws(VaultFailure) -> [UInt32: SealingKey] {
    guard let plain = try vault.read(.vault, .logKeys) else { return [:] }
    let size = 4 + SealingKey.byteCount
    return plain.withBytes { bytes in
      var found: [UInt32: SealingKey] = [:]
      for start in stride(from: 0, through: bytes.count - size, by: size) {
        let epoch = bytes[start..<start + 4].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        found[epoch] = SealingKey(
          Secret(copying: UnsafeRawBufferPointer(rebasing: bytes[start + 4..<start + size])))
      }
      return found
    }
  }

  package static func record(of logKeys: [UInt32: SealingKey]) -> Secret {
    var builder = SecretBuilder()
    for (epoch, key) in logKeys.sorted(by: { $0.key < $1.key }) {
      withUnsafeBytes(of: epoch.littleEndian) { builder.append($0) }
      builder.append(key.secret)
    }
    return builder.finish()
  }

  /// The expected link of this row; empty, and so equal to no link, if its key is not known.
  package func link(of row: AuditRow, after previous: [UInt8]) -> [UInt8] {
    var fields = LengthPrefixed()
    fields.append(vault.store.databaseID)
    fields.append(previous)
    fields.append(UInt64(bitPattern: row.sequence))
    fields.append(UInt64(row.keyEpoch))
    fields.append(row.sealed)
    return logKey(of: row.keyEpoch)?.digest("audit link", fields.bytes) ?? []
  }

  private func additionalData(_ row: AuditRow) -> [UInt8] {
    var fields = LengthPrefixed()
    fields.append(Array((row.ring == .security ? "lanyard audit 1" : "lanyard audit decisions 1").utf8))
    fields.append(vault.store.databaseID)
    fields.append(UInt64(bitPattern: row.sequence))
    fields.append(UInt64(row.keyEpoch))
    return fields.bytes
  }
}

extension AuditRing {
  /// The kind of the record of the ring's bounds.
  var chainKind: RecordKind {
    switch self {
    case .security: .auditChain
    case .decisions: .decisionChain
    }
  }
}

extension AuditChain {
  package var record: Secret {
    SecretJSON.write { writer in
      writer.member("first", first)
      writer.member("before", Base64URL.encode(before))
      writer.member("last", last)
      writer.member("link", Base64URL.encode(link))
      writer.member("count", count)
      guard !segments.isEmpty else { return }
      writer.key("segments")
      writer.beginArray()
      for segment in segments {
        writer.beginObject()
        writer.member("through", segment.through)
        writer.member("link", Base64URL.encode(segment.link))
        writer.member("count", segment.count)
        writer.member("newest", segment.newest.milliseconds)
        writer.endObject()
      }
      writer.endArray()
    }
  }

  package init?(_ plain: Secret) {
    let read = SecretJSON.read(plain) { node -> AuditChain? in
      guard let first = node["first"]?.integer, let before = Self.link(node["before"]),
        let last = node["last"]?.integer, let end = Self.link(node["link"]), first >= 1, last >= first - 1, last < .max
      else { return nil }
      var chain = AuditChain()
      (chain.first, chain.before, chain.last, chain.link) = (first, before, last, end)
      // A record from before there were rings has no count: its numbers have no gap.
      chain.count = node["count"]?.integer ?? last - first + 1
      for segment in node["segments"].map({ Array($0.elements) }) ?? [] {
        guard let through = segment["through"]?.integer, let link = Self.link(segment["link"]),
          let count = segment["count"]?.integer, let newest = segment["newest"]?.timestamp
        else { return nil }
        chain.segments.append(Segment(through: through, link: link, count: count, newest: newest))
      }
      return chain
    }
    guard let read else { return nil }
    self = read
  }

  private static func link(_ node: JSONNode?) -> [UInt8]? {
    node?.plainText.flatMap { Base64URL.decode($0) }.flatMap { $0.count == linkBytes ? $0 : nil }
  }
}
