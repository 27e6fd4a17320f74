import AgentCore
import AgentModel
import AgentPorts
internal import AgentRecords
import JSONRPC
import SQLiteStore
import SecretJSON
import Secrets
import StorageFaults
import Testing

import AgentSimulation
import AgentVault

/// Repeats of decisions that are counted beside the log (docs/storage.md, Repeats in a batch), on a real store.
@Suite struct CountedRepeatsTests {
  private static let start = Timestamp(year: 2030, month: 1, day: 1)
  private let disk = SimulatedDisk()
  private let root = SealingKey.random()

  private func vault() throws -> Vault {
    Vault(store: try SQLiteStore(path: "store", vfs: disk.vfsName), kinds: DeclaredKinds([]), root: root, epoch: 1)
  }

  /// A new process on the same disk. Returns it with what it found of the last one.
  private func restarted(boot: String = "boot") throws -> (vault: Vault, hasRepeats: Bool) {
    let vault = try vault()
    let hasRepeats = try vault.recoverRepeats(boot: boot)
    return (vault, hasRepeats)
  }

  private static func decision(_ capability: String, at seconds: Int64 = 0) -> VaultChange {
    .audit(
      AuditEntry(
        at: start + .seconds(seconds), event: .decision, outcome: "allow",
        facts: [.decision("dec_\(capability)"), .capability(capability)]
      ).append)
  }

  private static let counting = VaultChange.repeats(.inJournal(boot: "boot"))

  private static func entries(_ vault: Vault) throws -> [RecordedAuditEntry] {
    try vault.audit.rows(after: 0, limit: 10_000).map { row, plain in
      try #require(plain.flatMap { RecordedAuditEntry($0, sequence: row.sequence) })
    }
  }

  /// How often each capability was decided, by the log.
  private static func counts(_ vault: Vault) throws -> [String: Int64] {
    var counts: [String: Int64] = [:]
    for (_, plain) in try vault.audit.rows(after: 0, limit: 10_000) {
      let read = SecretJSON.read(try #require(plain)) { node in
        node["facts"]?["capability"]?.string.map { ($0, node["count"]?.integer ?? 1) }
      }
      let (name, count) = try #require(read)
      counts[name, default: 0] += count
    }
    return counts
  }

  private static func isIntact(_ vault: Vault) throws -> Bool {
    var walk = AuditVerifier(try vault.audit.chains())
    for (row, plain) in try vault.audit.rows(after: 0, limit: 10_000) {
      walk.visit(row.sequence, in: row.ring, link: row.link, opens: plain != nil) {
        vault.audit.link(of: row, after: $0)
      }
    }
    walk.finish()
    return walk.isIntact
  }

  @Test func repeats_areTakenIntoTheirEntryByTheNextCommit() throws {
    let vault = try vault()
    try vault.apply([Self.decision("a"), Self.decision("b"), Self.counting])
    for second in 1...3 { #expect(vault.repeats.counter.count(1, at: Self.start + .seconds(Int64(second)))) }
    #expect(vault.repeats.counter.count(2, at: Self.start + .seconds(9)))
    #expect(try Self.counts(vault) == ["a": 1, "b": 1])
    try vault.apply([.repeats(.unchanged)])
    #expect(try Self.counts(vault) == ["a": 4, "b": 2])
    let first = try #require(try Self.entries(vault).first?.repeats)
    #expect(first.firstAt == Self.start && first.lastAt == Self.start + .seconds(3))
    #expect(vault.repeats.counter.isOpen && vault.repeats.counter.isEmpty)
    try vault.apply([.repeats(.inLog)])
    #expect(!vault.repeats.counter.isOpen && !vault.repeats.counter.count(1, at: Self.start + .seconds(10)))
    #expect(try Self.isIntact(vault))
    vault.store.close()
  }

  @Test func countsOfAKilledProcess_areInTheLogOfTheNext() throws {
    var vault = try vault()
    try vault.apply([Self.decision("a"), Self.counting])
    for second in 1...5 { #expect(vault.repeats.counter.count(1, at: Self.start + .seconds(Int64(second)))) }
    vault.store.close()
    disk.die(.kill)
    disk.revive()
    let hasRepeats: Bool
    (vault, hasRepeats) = try restarted()
    #expect(hasRepeats && !vault.repeats.lacksSome)
    try vault.apply([.repeats(.inLog)])
    #expect(try Self.counts(vault) == ["a": 6])
    let entry = try #require(try Self.entries(vault).last)
    #expect(entry.sequence == 2 && entry.at == Self.start + .seconds(1) && entry.outcome == "allow")
    #expect(try Self.isIntact(vault))
    vault.store.close()
    (vault, _) = try restarted()
    #expect(try Self.counts(vault) == ["a": 6], "taken in once")
    vault.store.close()
  }

  @Test(arguments: [true, false]) func countsThatAPowerCutMayHaveTaken_areMissed(isJournalGone: Bool) throws {
    var vault = try vault()
    try vault.apply([Self.decision("a"), Self.counting])
    #expect(vault.repeats.counter.count(1, at: Self.start + .seconds(1)))
    vault.store.close()
    if isJournalGone { disk.overwrite("store-repeats", at: 0, with: [UInt8](repeating: 0, count: 1 << 16)) }
    (vault, _) = try restarted(boot: "another")
    #expect(vault.repeats.lacksSome)
    try vault.apply([.repeats(.inLog)])
    #expect(try !vault.repeats.lacksSome && Self.counts(vault)["a"] == (isJournalGone ? 1 : 2))
    let again: Bool
    vault.store.close()
    (vault, again) = try restarted(boot: "another")
    #expect(!again && !vault.repeats.lacksSome, "told once")
    vault.store.close()
  }

  @Test func endedCounting_isMissedByNoOtherBoot() throws {
    var vault = try vault()
    try vault.apply([Self.decision("a"), Self.counting])
    #expect(vault.repeats.counter.count(1, at: Self.start + .seconds(1)))
    try vault.apply([.repeats(.inLog)])
    vault.store.close()
    let hasRepeats: Bool
    (vault, hasRepeats) = try restarted(boot: "another")
    #expect(!hasRepeats && !vault.repeats.lacksSome)
    vault.store.close()
  }

  @Test func moreEntriesThanTheJournalHolds_takeCommits() throws {
    let vault = try vault()
    try vault.apply((0..<300).map { Self.decision("c\($0)") } + [Self.counting])
    let counted = (1...300).count { vault.repeats.counter.count($0, at: Self.start + .seconds(1)) }
    #expect(counted == 256)
    try vault.apply([.repeats(.unchanged)])
    #expect(try Self.counts(vault).values.reduce(0, +) == 556)
    #expect(try Self.isIntact(vault))
    vault.store.close()
  }

  @Test func entryThatHasStoodForAnHour_countsNoMore() throws {
    let vault = try vault()
    try vault.apply([Self.decision("a"), Self.counting])
    #expect(vault.repeats.counter.count(1, at: Self.start + .seconds(1)))
    #expect(!vault.repeats.counter.count(1, at: Self.start + .seconds(1 + 3_600)))
    #expect(!vault.repeats.counter.count(1, at: Self.start), "the clock was set back")
    vault.store.close()
  }

  /// Kills and failing commits at random moments: the log tells what was told, but for the one decision of a commit
  /// whose outcome is unknown.
  @Test(arguments: 0..<60) func countsAcrossKillsAndFailures_areThoseThatWereTold(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var vault = try vault()
    var told: [String: Int64] = [:]
    var sequences: [String: Int64] = [:]
    func restart(unsure: String? = nil) throws {
      vault.store.close()
      disk.die(.kill)
      disk.revive()
      (vault, _) = try restarted()
      try vault.apply([.repeats(.inLog)])
      let counts = try Self.counts(vault)
      if let unsure, counts[unsure] == told[unsure, default: 0] + 1 { told[unsure] = counts[unsure] }
      #expect(counts == told)
      #expect(try Self.isIntact(vault))
      sequences = [:]
    }
    for second in 1...150 {
      let name = ["a", "b", "c"].randomElement(using: &random)!
      let now = Self.start + .seconds(Int64(second))
      switch Int.random(in: 0..<20, using: &random) {
      case 0..<12:
        if let sequence = sequences[name], vault.repeats.counter.count(sequence, at: now) { told[name]! += 1 }
      case 12..<15:
        do throws(VaultFailure) {
          try vault.apply([Self.decision(name, at: Int64(second)), Self.counting])
          told[name, default: 0] += 1
          if vault.repeats.counter.isOpen { sequences[name] = vault.audit.lastPlaces[0].sequence }
        } catch {
          try restart(unsure: name)
        }
      case 15..<17:
        let fault: SimulatedDisk.Fault =
          Bool.random(using: &random)
          ? .die(.kill) : .fail(Bool.random(using: &random) ? .inputOutput : .full, once: Bool.random(using: &random))
        disk.plan(fault, at: disk.operations + Int.random(in: 1...12, using: &random), seed: seed)
      case 17..<19:
        // Without a kill the counts wait in memory for the next commit.
        do throws(VaultFailure) {
          try vault.apply([.repeats(.unchanged)])
        } catch {
          disk.withdrawPlan()
          if Bool.random(using: &random) { try restart() }
        }
      default: try restart()
      }
    }
    try restart()
    vault.store.close()
  }

  /// The power is cut while repeats are counted: the log is intact, tells no more than was told, and says that repeats
  /// may be missing.
  @Test(arguments: 0..<40) func powerCut_leavesAnIntactLogThatSaysSo(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var vault = try vault()
    try vault.apply([Self.decision("a"), Self.counting])
    var told: Int64 = 1
    for second in 1...Int64.random(in: 2...30, using: &random) {
      if Int.random(in: 0..<6, using: &random) == 0 { try vault.apply([.repeats(.unchanged)]) }
      if vault.repeats.counter.count(1, at: Self.start + .seconds(second)) { told += 1 }
    }
    let committed = try Self.counts(vault)["a"] ?? 0
    vault.store.close()
    disk.die(.powerLoss(seed: seed))
    disk.revive()
    let hasRepeats: Bool
    (vault, hasRepeats) = try restarted(boot: "another")
    #expect(hasRepeats && vault.repeats.lacksSome)
    try vault.apply([.repeats(.inLog)])
    #expect((committed...told).contains(try Self.counts(vault)["a"] ?? 0))
    #expect(try Self.isIntact(vault))
    vault.store.close()
  }
}
