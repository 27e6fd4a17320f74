import AgentCore
import AgentModel
import AgentPorts
import SQLiteStore
import Secrets
import StorageFaults
import Testing

@testable import Agent

/// The audit log on a real store under a small bound: rotation drops the oldest entries, and the rest stays verified.
@Suite struct AuditRotationTests {
  private static let bound = AuditChain.Bound(entries: 20, rotated: 5)
  private let disk = SimulatedDisk()
  private let root = SealingKey.random()

  private func vault() throws -> Vault {
    Vault(store: try SQLiteStore(path: "store", vfs: disk.vfsName), root: root, epoch: 1, auditBound: Self.bound)
  }

  private static func entries(_ count: Int) -> [VaultChange] {
    (0..<count).map { _ in .audit(AuditEntry(at: Timestamp(milliseconds: 1), event: .agentLock)) }
  }

  private static func firstBroken(_ vault: Vault) throws -> Int64? {
    let chain = try vault.auditChain()
    var walk = AuditVerifier(chain)
    for (row, plain) in try vault.auditRows(after: 0, limit: 10_000) {
      walk.visit(row.sequence, link: row.link, opens: plain != nil) { vault.auditLink(of: row, after: $0) }
    }
    walk.finish()
    return walk.firstBroken
  }

  /// Entries one by one, in batches, and in batches larger than the bound.
  @Test(arguments: [1, 3, 7, 20, 21, 64]) func rotatedAuditLog_staysVerified(group: Int) throws {
    var vault = try vault()
    for turn in 1...30 {
      try vault.apply(Self.entries(group))
      let rows = try vault.auditRows(after: 0, limit: 10_000)
      #expect(rows.count <= Self.bound.entries && rows.last?.row.sequence == Int64(turn * group))
      #expect(try Self.firstBroken(vault) == nil, "turn \(turn)")
      guard turn % 7 == 0 else { continue }
      // A new process reads the same entries.
      vault.store.close()
      vault = try self.vault()
      #expect(try Self.firstBroken(vault) == nil)
    }
    vault.store.close()
  }

  /// An entry was removed or changed before the rotation that drops it: the change still shows afterwards.
  @Test(arguments: [true, false]) func rotationAfterTampering_stillShowsTheChange(isRemoved: Bool) throws {
    let vault = try vault()
    try vault.apply(Self.entries(20))
    let rows = try vault.auditRows(after: 0, limit: 100).map(\.row)
    if isRemoved {
      try vault.store.commit([.deleteAudit(through: 5)])
    } else {
      var row = rows[4]
      row.link[0] ^= 1
      try vault.store.commit([.appendAudit(row)])
    }
    try vault.apply(Self.entries(1))
    #expect(try vault.auditChain().first == 6)
    #expect(try Self.firstBroken(vault) == 6)
    vault.store.close()
  }

  @Test func rotatedEntryPutBack_breaksTheAuditLog() throws {
    let vault = try vault()
    try vault.apply(Self.entries(20))
    let old = try #require(try vault.auditRows(after: 0, limit: 1).first?.row)
    try vault.apply(Self.entries(1))
    #expect(try Self.firstBroken(vault) == nil)
    try vault.store.commit([.appendAudit(old)])
    #expect(try Self.firstBroken(vault) == 1)
    vault.store.close()
  }

  /// A failed commit leaves the chain unchanged, also when it rotates.
  @Test func failedRotation_leavesTheAuditLogUnchanged() throws {
    var vault = try vault()
    try vault.apply(Self.entries(20))
    disk.plan(.fail(.full, once: false), at: disk.operations + 1, seed: 1)
    #expect(throws: VaultFailure.self) { try vault.apply(Self.entries(1)) }
    vault.store.close()
    disk.revive()
    vault = try self.vault()
    #expect(try vault.auditChain().first == 1 && vault.auditChain().last == 20)
    #expect(try Self.firstBroken(vault) == nil)
    try vault.apply(Self.entries(1))
    #expect(try vault.auditChain().first == 6)
    #expect(try Self.firstBroken(vault) == nil)
    vault.store.close()
  }
}
