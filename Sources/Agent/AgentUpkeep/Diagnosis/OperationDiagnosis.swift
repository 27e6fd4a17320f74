internal import AgentCore
internal import AgentModel
internal import AgentRecords
internal import AgentStore

/// Finds operations that wait for the person, and a queue that is nearly full.
struct OperationDiagnosis {
  let vault: OpenVault

  func findings(_ findings: inout Findings) {
    for profile in vault.directory.sortedProfiles {
      // Without its PIN, or while it is signed out, the account's operations can't be read, and none is sent.
      guard let readable = try? vault.operations.readable(.id(profile.id)),
        let operations = try? vault.operations.all(of: readable), !operations.isEmpty
      else { continue }
      unfinished(operations, of: profile, &findings)
      if operations.count >= OperationBounds.mostOfAccount / 10 * 9, !makesRoom(operations) {
        findings.problem(
          "operations",
          "The queue holds \(operations.count) operations, of \(OperationBounds.mostOfAccount) that it may hold.",
          subject: profile.name, account: profile.id,
          "`lanyard operations -u \(profile.name)` shows them; `lanyard operations cancel` takes one out.")
      }
      let limited = operations.boundsEntries.count { $0.isLimited && !$0.mayLeave }
      if limited >= OperationBounds.mostOfLimitedCallers / 10 * 9 {
        findings.notice(
          "operations", of: profile,
          "Programs under grants have queued \(limited) operations, of \(OperationBounds.mostOfLimitedCallers) that all of them may have queued.",
          "`lanyard operations -u \(profile.name)` shows them; `lanyard operations cancel` takes one out.")
      }
    }
    let bytes = vault.operationTallies.values.reduce(0) { $0 + $1.bytes }
    if bytes >= OperationBounds.mostBytes / 10 * 9 {
      findings.problem(
        "operations",
        "The queues of all accounts hold \(bytes >> 20) MiB, of \(OperationBounds.mostBytes >> 20) MiB that they may hold.",
        "`lanyard operations` shows those of an account; `lanyard operations cancel` takes one out.")
    }
  }

  /// Delivered operations leave a full queue by themselves.
  private func makesRoom(_ operations: QueuedOperations) -> Bool {
    operations.count { !$0.machine.mayLeave } < OperationBounds.mostOfAccount / 10 * 9
  }

  private func unfinished(_ operations: QueuedOperations, of profile: AccountProfile, _ findings: inout Findings) {
    func count(_ matches: (OperationMachine.State) -> Bool) -> Int { operations.count { matches($0.machine.state) } }
    let rejected = count { if case .rejected = $0 { true } else { false } }
    let unknown = count { $0 == .unknown(retryAt: nil) }
    let waiting = operations.filter { $0.machine.state == .needsInteraction }
    let orphaned = count { $0 == .orphaned }
    let list = "`lanyard operations -u \(profile.name)`"
    if rejected > 0 {
      findings.notice(
        "operations", of: profile, "\(Self.number(rejected)) rejected, and kept for you.",
        "\(list) says why. `lanyard operations export` gives a payload, `retry` sends it again, `cancel` erases it.")
    }
    if unknown > 0 {
      findings.notice(
        "operations", of: profile, "\(Self.number(unknown)) sent without an answer: it may have been carried out.",
        "Look at the server whether it was. \(list) shows it; `lanyard operations retry` sends it again, `cancel` erases it."
      )
    }
    if !waiting.isEmpty {
      let needsSignIn = waiting.contains { $0.decision.decision.reason != .stepUpRequired }
      findings.notice(
        "operations", of: profile, "\(Self.number(waiting.count)) held up until you act, with all behind it.",
        needsSignIn
          ? "`lanyard login -u \(profile.name)` signs in again."
          : "`lanyard step-up -u \(profile.name)` proves that it is you.")
    }
    if orphaned > 0 {
      findings.notice(
        "operations", of: profile, "\(Self.number(orphaned)) never delivered: the account was erased before.",
        "`lanyard operations cancel` takes it out of the list; `lanyard forget` takes out all, with the account.")
    }
  }

  private static func number(_ count: Int) -> String {
    count == 1 ? "One operation was" : "\(count) operations were"
  }
}
