import AgentCore
import AgentModel
import AgentPorts
internal import AgentRecords
import SQLiteStore
import Secrets
import StorageFaults
import Testing

import AgentVault

/// The audit log on a real store under a small bound: rotation drops the oldest entries, and the rest stays verified.
@Suite struct AuditRotationTests {
  private static let bound = AuditChain.Bound(.entries(20), segment: 5)
  private let disk = SimulatedDisk()
  private let root = SealingKey.random()

  private static let year = AuditChain.Bound(.age(.seconds(366 * 86_400)), segment: 5)

  private func vault() throws -> Vault {
    Vault(
      store: try SQLiteStore(path: "store", vfs: disk.vfsName), kinds: DeclaredKinds([]), root: root, epoch: 1,
      auditBounds: [.security: Self.year, .decisions: Self.bound])
  }

  private static let start = Timestamp(year: 2030, month: 1, day: 1)

  private static func decision(_ capability: String, after delay: Milliseconds = .zero) -> VaultChange {
    .audit(AuditEntry(at: start + delay, event: .decision, outcome: "allow", facts: [.capability(capability)]).append)
  }

  private static func switched(day: Int64 = 0) -> VaultChange {
    .audit(AuditEntry(at: start + .seconds(day * 86_400), event: .accountSwitch).append)
  }

  /// The entries as they are listed.
  private static func listed(_ vault: Vault) throws -> [RecordedAuditEntry] {
    try vault.audit.rows(after: 0, limit: 10_000).map { row, plain in
      try #require(plain.flatMap { RecordedAuditEntry($0, sequence: row.sequence) }, "entry \(row.sequence) opens")
    }
  }

  private static func entries(_ count: Int) -> [VaultChange] {
    // Each is another decision, so that none is counted in another entry.
    (0..<count).map { _ in decision("capability\(UInt64.random(in: 0 ... .max))") }
  }

  private static func firstBroken(_ vault: Vault) throws -> Int64? {
    var walk = AuditVerifier(try vault.audit.chains())
    for (row, plain) in try vault.audit.rows(after: 0, limit: 10_000) {
      walk.visit(row.sequence, in: row.ring, link: row.link, opens: plain != nil) {
        vault.audit.link(of: row, after: $0)
      }
    }
    walk.finish()
    return walk.firstBroken
  }

  /// Entries one by one, in batches, and in batches larger than the bound.
  @Test(arguments: [1, 3, 7, 20, 21, 64]) func rotatedAuditLog_staysVerified(group: Int) throws {
    var vault = try vault()
    for turn in 1...30 {
      try vault.apply(Self.entries(group))
      let rows = try vault.audit.rows(after: 0, limit: 10_000)
      #expect(rows.count <= 20 && rows.last?.row.sequence == Int64(turn * group))
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
    let rows = try vault.audit.rows(after: 0, limit: 100).map(\.row)
    if isRemoved {
      try vault.store.commit([.deleteAudit(.decisions, through: 5)])
    } else {
      var row = rows[4]
      row.link[0] ^= 1
      try vault.store.commit([.appendAudit(row)])
    }
    try vault.apply(Self.entries(1))
    #expect(try vault.audit.chains().decisions.first == 6)
    #expect(try Self.firstBroken(vault) == 6)
    vault.store.close()
  }

  @Test func rotatedEntryPutBack_breaksTheAuditLog() throws {
    let vault = try vault()
    try vault.apply(Self.entries(20))
    let old = try #require(try vault.audit.rows(after: 0, limit: 1).first?.row)
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
    #expect(try vault.audit.chains().decisions.first == 1 && vault.audit.chains().last == 20)
    #expect(try Self.firstBroken(vault) == nil)
    try vault.apply(Self.entries(1))
    #expect(try vault.audit.chains().decisions.first == 6)
    #expect(try Self.firstBroken(vault) == nil)
    vault.store.close()
  }

  @Test func decisions_neverDisplaceSecurityEvents() throws {
    var vault = try vault()
    try vault.apply([Self.switched()])
    for _ in 1...20 { try vault.apply(Self.entries(13)) }
    try vault.apply([Self.switched()])
    let events = try Self.listed(vault).filter { $0.event == "account.switch" }
    #expect(events.map(\.sequence) == [1, 262])
    #expect(try Self.firstBroken(vault) == nil)
    vault.store.close()
    vault = try self.vault()
    #expect(try Self.firstBroken(vault) == nil)
    // The first one stands far before the oldest decision: its removal shows all the same.
    try vault.store.commit([.deleteAudit(.security, through: 1)])
    #expect(try Self.firstBroken(vault) == 1)
    vault.store.close()
  }

  @Test func securityEvents_areKeptForAYear() throws {
    let vault = try vault()
    for day in 0..<367 { try vault.apply([Self.switched(day: Int64(day))]) }
    #expect(try Self.listed(vault).count == 367)
    #expect(try Self.firstBroken(vault) == nil)
    for day in 367..<800 { try vault.apply([Self.switched(day: Int64(day))]) }
    let kept = try Self.listed(vault)
    let oldest = try #require(kept.first)
    #expect(oldest.at > Self.start + .seconds(400 * 86_400) && kept.count >= 366)
    #expect(try Self.firstBroken(vault) == nil)
    vault.store.close()
  }

  /// A clock that stands wrong once must not empty the ring.
  @Test func clockAheadOnce_removesOneSegmentAtMost() throws {
    let vault = try vault()
    for _ in 1...50 { try vault.apply([Self.switched()]) }
    try vault.apply([Self.switched(day: 4_000)])
    #expect(try Self.listed(vault).count >= 46)
    vault.store.close()
  }

  @Test func repeatedDecision_isCountedInOneEntry() throws {
    var vault = try vault()
    try vault.apply([Self.switched(), Self.decision("a"), Self.decision("b")])
    try vault.apply([Self.decision("a", after: .seconds(5)), Self.decision("a", after: .seconds(9))])
    try vault.apply([Self.decision("b", after: .seconds(20))])
    func check(_ vault: Vault) throws {
      let entries = try Self.listed(vault)
      #expect(entries.map(\.sequence) == [1, 2, 3])
      #expect(entries.map { $0.repeats?.count } == [nil, 3, 2])
      #expect(entries[1].repeats?.firstAt == Self.start && entries[1].repeats?.lastAt == Self.start + .seconds(9))
      #expect(try Self.firstBroken(vault) == nil)
    }
    try check(vault)
    vault.store.close()
    vault = try self.vault()
    try check(vault)
    // A new process counts in an entry of its own.
    try vault.apply([Self.decision("a", after: .seconds(30))])
    #expect(try Self.listed(vault).count == 4)
    #expect(try Self.firstBroken(vault) == nil)
    vault.store.close()
  }

  @Test func repeatAfterAnHour_isAnEntryOfItsOwn() throws {
    let vault = try vault()
    for minute in [0, 59, 60] as [Int64] { try vault.apply([Self.decision("a", after: .seconds(minute * 60))]) }
    #expect(try Self.listed(vault).map { $0.repeats?.count } == [2, nil])
    vault.store.close()
  }

  /// A repeat never stands before what happened in between, and never changes what a reader got.
  @Test func repeatAfterASecurityEventOrAReader_isAnEntryOfItsOwn() throws {
    let vault = try vault()
    try vault.apply([Self.decision("a")])
    try vault.apply([Self.switched()])
    try vault.apply([Self.decision("a")])
    vault.audit.closeEntries()
    try vault.apply([Self.decision("a")])
    #expect(try Self.listed(vault).map { $0.repeats?.count } == [nil, nil, nil, nil])
    #expect(try Self.firstBroken(vault) == nil)
    vault.store.close()
  }

  @Test func failedRepeat_leavesTheCountUnchanged() throws {
    let vault = try vault()
    try vault.apply([Self.decision("a"), Self.decision("b")])
    disk.plan(.fail(.full, once: false), at: disk.operations + 1, seed: 1)
    #expect(throws: VaultFailure.self) { try vault.apply([Self.decision("a")]) }
    disk.withdrawPlan()
    #expect(try Self.listed(vault).map { $0.repeats?.count } == [nil, nil])
    try vault.apply([Self.decision("a")])
    #expect(try Self.firstBroken(vault) == nil)
    vault.store.close()
  }
}
