package import AgentCore
package import AgentModel
package import AgentPorts
internal import JSONRPC
internal import SecretJSON
package import Secrets

extension DeclaredKind {
  /// The bounds of the audit log's rings: of security events, and of decisions.
  static let auditChain = DeclaredKind(22, under: .vault)
  static let decisionChain = DeclaredKind(34, under: .vault)
  /// The log keys of earlier root keys: entries under them are not sealed again.
  static let logKeys = DeclaredKind(26, under: .vault)
}

extension Vault {
  package var audit: SealedAuditLog { SealedAuditLog(vault: self) }
}

/// The audit log (docs/storage.md, Audit): sealed entries in two rings, each a chain, and the chains' ends in sealed
/// records.
package struct SealedAuditLog {
  package let vault: Vault

  /// Adds the entries to a batch, and removes the oldest ones from a full ring. Takes in the repeats that were counted
  /// before. Returns the memory after the commit.
  func append(
    _ entries: [AuditAppend], after repeats: [RepeatTally] = [], to batch: inout [StoreWrite]
  ) throws(VaultFailure) -> AuditMemory {
    var memory = AuditMemory(chains: try chains())
    if let known = vault.auditMemory { memory = known }
    memory.lacksRepeats = false
    for tally in repeats where !memory.count(tally) {
      if let summary = try summary(of: tally) {
        _ = try add(summary, &memory, &batch)
      } else {
        memory.lacksRepeats = true
      }
    }
    memory.places = []
    for entry in entries {
      if entry.ring == .security { memory.close(before: entry) }
      if let place = memory.count(entry) {
        memory.places.append(place)
      } else {
        memory.places.append(try add(entry, &memory, &batch))
      }
    }
    for ring in AuditRing.allCases { write(ring, &memory, &batch) }
    return memory
  }

  private func add(
    _ entry: AuditAppend, _ memory: inout AuditMemory, _ batch: inout [StoreWrite]
  ) throws(VaultFailure) -> AuditPlace {
    let row = AuditRow(
      ring: entry.ring, sequence: memory.chains.last + 1, keyEpoch: vault.keys.epoch, link: [], sealed: [])
    let base = memory.chains[entry.ring].link
    memory.tails[entry.ring, default: AuditTail(base: base)].entries.append(
      AuditTail.Entry(append: entry, repeats: AuditRepeats(at: entry.at), row: row))
    memory.chains[entry.ring].append([], as: row.sequence)
    try endSegment(of: entry.ring, at: entry.at, &memory, &batch)
    return AuditPlace(name: entry.name, sequence: row.sequence)
  }

  /// An entry for the repeats of one that changes no more: a copy of it, with their count and times. Nil if it is not
  /// there, or damaged.
  private func summary(of tally: RepeatTally) throws(VaultFailure) -> AuditAppend? {
    guard let row = try rows(after: tally.sequence - 1, limit: 1).first, row.row.sequence == tally.sequence,
      let plain = row.plain
    else { return nil }
    return AuditAppend(ring: row.row.ring, copying: plain, with: tally.repeats)
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
    guard let first = memory.tails[ring]?.firstChange, var tail = memory.tails.removeValue(forKey: ring) else { return }
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
  package func closeEntries() { vault.auditMemory?.tails = [:] }

  /// The entry that would count this one; nil if it would be one of its own.
  package func place(of entry: AuditAppend) -> (place: AuditPlace, lastAt: Timestamp)? {
    guard let tail = vault.auditMemory?.tails[entry.ring], let index = tail.place(of: entry) else { return nil }
    let found = tail.entries[index]
    return (found.place, found.repeats.lastAt)
  }

  /// The number of the first decision in which repeats are counted once `new` entries were added; that of the next
  /// entry if there is none.
  package func firstOpenDecision(afterAdding new: Int) -> Int64 {
    // Where the chains can't be read, nothing can be added either.
    let next = ((try? chains())?.last ?? 0) + 1
    guard let memory = vault.auditMemory, let entries = memory.tails[.decisions]?.entries,
      memory.chains.decisions.unsegmented + Int64(new) < vault.auditBounds[.decisions]!.segment
    else { return next }
    let leaving = max(0, entries.count + new - AuditTail.most)
    return leaving < entries.count ? entries[leaving].row.sequence : next
  }

  /// The places of the last commit's entries, in their order.
  package var lastPlaces: [AuditPlace] { vault.auditMemory?.places ?? [] }

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
  func logKey(of epoch: UInt32) -> SealingKey? {
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
    var fields = LengthPrefixed(capacity: row.sealed.count + 128)
    fields.append(vault.store.databaseID)
    fields.append(previous)
    fields.append(UInt64(bitPattern: row.sequence))
    fields.append(UInt64(row.keyEpoch))
    fields.append(row.sealed)
    return logKey(of: row.keyEpoch)?.digest("audit link", fields.bytes) ?? []
  }

  private func additionalData(_ row: AuditRow) -> [UInt8] {
    var fields = LengthPrefixed()
    fields.append(row.ring == .security ? "lanyard audit 1" : "lanyard audit decisions 1")
    fields.append(vault.store.databaseID)
    fields.append(UInt64(bitPattern: row.sequence))
    fields.append(UInt64(row.keyEpoch))
    return fields.bytes
  }
}

extension AuditRing {
  /// The kind of the record of the ring's bounds.
  var chainKind: DeclaredKind {
    switch self {
    case .security: .auditChain
    case .decisions: .decisionChain
    }
  }
}
