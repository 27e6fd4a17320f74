package import AgentCore
internal import AgentModel
package import AgentPorts
internal import JSONRPC
internal import SecretJSON
package import Secrets

extension Vault {
  package var audit: SealedAuditLog { SealedAuditLog(vault: self) }
}

/// The audit log (docs/storage.md, Audit): sealed entries in a chain, and the chain's ends in a sealed record.
package struct SealedAuditLog {
  package let vault: Vault

  /// Adds the entries to a batch, and removes the oldest ones from a full log. Returns the chain after the commit.
  package func append(_ entries: [Secret], to batch: inout [StoreWrite]) throws(VaultFailure) -> AuditChain {
    var chain = try chain()
    let (stored, origin) = (chain.last, chain.link)
    var links: [[UInt8]] = []
    for entry in entries {
      let row = seal(entry, after: chain)
      batch.append(.appendAudit(row))
      chain.append(row.link)
      links.append(row.link)
    }
    guard let through = chain.excess(over: vault.auditBound) else { return chain }
    batch.append(.deleteAudit(through: through))
    switch through {
    case stored: chain.drop(through: through, link: origin)
    case ...stored: chain.drop(through: through, link: try storedLink(through))
    default: chain.drop(through: through, link: links[Int(through - stored - 1)])
    }
    return chain
  }

  /// The link of a row as stored; the next entry does not follow from a changed or missing row.
  private func storedLink(_ sequence: Int64) throws(VaultFailure) -> [UInt8] {
    let row = try vault.onStore { () throws(StoreFailure) in try vault.store.auditRows(after: sequence - 1, limit: 1) }
      .first
    return row.flatMap { $0.sequence == sequence ? $0.link : nil } ?? AuditChain.origin
  }

  /// The chain's ends in their sealed record.
  package func chain() throws(VaultFailure) -> AuditChain {
    if let known = vault.knownAuditChain { return known }
    guard let plain = try vault.read(.vault, .auditChain) else { return AuditChain() }
    guard let chain = AuditChain(plain) else { throw .integrity }
    return chain
  }

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

  private func seal(_ entry: Secret, after chain: AuditChain) -> AuditRow {
    var row = AuditRow(sequence: chain.last + 1, keyEpoch: vault.keys.epoch, link: [], sealed: [])
    row.sealed = vault.keys.log.seal(entry, additionalData: additionalData(row))
    row.link = link(of: row, after: chain.link)
    return row
  }

  private func additionalData(_ row: AuditRow) -> [UInt8] {
    var fields = LengthPrefixed()
    fields.append(Array("lanyard audit 1".utf8))
    fields.append(vault.store.databaseID)
    fields.append(UInt64(bitPattern: row.sequence))
    fields.append(UInt64(row.keyEpoch))
    return fields.bytes
  }
}

extension AuditChain {
  package var record: Secret {
    SecretJSON.write { writer in
      writer.member("first", first)
      writer.member("before", Base64URL.encode(before))
      writer.member("last", last)
      writer.member("link", Base64URL.encode(link))
    }
  }

  package init?(_ plain: Secret) {
    let read = SecretJSON.read(plain) { node -> AuditChain? in
      func link(_ name: StaticString) -> [UInt8]? {
        node[name]?.plainText.flatMap { Base64URL.decode($0) }.flatMap { $0.count == Self.linkBytes ? $0 : nil }
      }
      guard let first = node["first"]?.integer, let before = link("before"), let last = node["last"]?.integer,
        let end = link("link")
      else { return nil }
      var chain = AuditChain()
      (chain.first, chain.before, chain.last, chain.link) = (first, before, last, end)
      return chain
    }
    guard let read else { return nil }
    self = read
  }
}
