import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import Testing

/// The audit log is changed in the file while no agent runs: `audit.verify` reports where, and the agent works on.
@Suite struct AuditTamperTests {
  enum Damage: String, CaseIterable {
    case edited, linkEdited, epochEdited, removedFirst, removedMiddle, removedLast, cutTail, cutAll, swapped, duplicated
    case addedPastTheEnd, olderCopy

    /// The rows after the damage, and the first row that differs from what was written.
    func done(to rows: [AuditRow]) -> (rows: [AuditRow], firstBroken: Int64) {
      var rows = rows
      let (middle, last) = (rows.count / 2, rows.count - 1)
      let end = Int64(rows.count)
      switch self {
      case .edited:
        rows[middle].sealed[30] ^= 1
        return (rows, rows[middle].sequence)
      case .linkEdited:
        rows[middle].link[3] ^= 1
        return (rows, rows[middle].sequence)
      case .epochEdited:
        rows[middle].keyEpoch += 1
        return (rows, rows[middle].sequence)
      case .removedFirst: return (Array(rows.dropFirst()), 1)
      case .removedMiddle:
        rows.remove(at: middle)
        return (rows, Int64(middle) + 1)
      case .removedLast: return (rows.dropLast(), end)
      case .cutTail: return (rows.dropLast(3), end - 2)
      case .cutAll: return ([], 1)
      case .swapped:
        (rows[middle].sequence, rows[last].sequence) = (rows[last].sequence, rows[middle].sequence)
        return (rows, Int64(middle) + 1)
      case .duplicated:
        var again = rows[middle]
        again.sequence = rows[last].sequence
        rows[last] = again
        return (rows, end)
      case .addedPastTheEnd:
        var more = rows[last]
        more.sequence += 1
        return (rows + [more], end + 1)
      // A copy older by four entries, in the table as in that file.
      case .olderCopy: return (rows.dropLast(4), end - 3)
      }
    }
  }

  @Test(arguments: Damage.allCases) func tamperedAuditLog_isReportedAndTheAgentWorksOn(damage: Damage) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      for number in 1...8 { #expect(try await AuditTests.check(scene, "order.number\(number)").error == nil) }
      #expect(try await AuditTests.firstBroken(world) == nil)
      world.crash()
      let expected = try world.tamper { store in
        let rows = try store.auditRows(after: 0, limit: 1000)
        let (changed, firstBroken) = damage.done(to: rows)
        try store.commit(AuditRing.allCases.map { .deleteAudit($0, through: .max) } + changed.map { .appendAudit($0) })
        return firstBroken
      }
      try await world.restart()
      #expect(try await AuditTests.firstBroken(world) == expected)
      // Tokens and accounts still work, and the log grows.
      #expect(scene.works(try await scene.token()))
      if damage != .addedPastTheEnd {
        #expect(try await AuditTests.check(scene).error == nil)
        #expect(try await AuditTests.firstBroken(world) == expected, "more entries hide nothing")
      }
      let bob = try await world.signIn("bob", at: scene.provider, alias: "home")
      #expect(scene.works(try await scene.tokenOf(bob)))
      #expect(try await AuditTests.check(scene).error == nil)
      try await world.restart()
      #expect(scene.works(try await scene.token()))
      let found = try await AuditTests.firstBroken(world)
      // Entries past the end are gone: the agent wrote its own in their place.
      #expect(found == (damage == .addedPastTheEnd ? nil : expected))
    }
  }

  /// The head of the log is a record of the vault: entries that do not open are not listed.
  @Test func auditList_leavesOutEntriesThatDoNotOpen() throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      #expect(try await AuditTests.check(scene).error == nil)
      world.crash()
      try world.tamper { store in
        var row = try #require(try store.auditRows(after: 0, limit: 1).first)
        row.sealed[40] ^= 1
        try store.commit([.appendAudit(row)])
      }
      try await world.restart()
      let client = try world.client()
      defer { client.disconnect() }
      #expect(await client.call("audit.list").code == 5002)
      let rest = await client.call("audit.list", #"{"after":1}"#)
      #expect(rest.result?["entries"]?.arrayValue?.isEmpty == false, "\(rest)")
    }
  }
}
