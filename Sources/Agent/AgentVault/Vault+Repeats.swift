internal import AgentCore

/// Repeats of decisions that were counted outside the log, for the next commit (docs/storage.md, Repeats in a batch).
struct CountedRepeats {
  /// Of commits that failed, and of the current batch.
  var batches: [RepeatCounter.Batch]
  /// True if the current batch gives way to another one.
  var goesOn = false
  /// The boot in which repeats are counted from this commit on; nil if the commit changes nothing of that.
  var beginsIn: String?

  /// The repeats that are in no commit. `recorded`: the batch in the chain's record, whose predecessors are in the log.
  func tallies(since recorded: Int64) -> [RepeatTally] {
    batches.filter { $0.number >= recorded }.flatMap(\.tallies)
  }

  /// Writes into the chain's record how repeats are counted after the commit.
  func settle(_ chain: inout AuditChain) {
    guard chain.countingBoot != nil || beginsIn != nil else { return }
    chain.batch = max(chain.batch, batches.map(\.number).max() ?? 0) + 1
    chain.countingBoot = beginsIn ?? (goesOn ? chain.countingBoot : nil)
  }
}

extension [VaultChange] {
  package var repeatCounting: RepeatCounting? {
    for case .repeats(let counting) in self { return counting }
    return nil
  }
}

extension Vault {
  /// Takes what was counted until now.
  func takeRepeats(_ counting: RepeatCounting?) -> CountedRepeats {
    let taken = repeats.take(ends: counting == .inLog)
    var counted = CountedRepeats(batches: owedRepeats + [taken].compactMap { $0 })
    switch counting {
    case .inLog?: break
    case .inJournal(let boot)? where taken == nil && repeats.canBegin(): counted.beginsIn = boot
    case .inJournal?, .unchanged?, nil: counted.goesOn = taken != nil
    }
    return counted
  }

  /// Keeps the repeats of a failed commit. From now on each repeat takes a commit, which tells whether the disk works.
  func owe(_ counted: CountedRepeats) {
    owedRepeats = counted.batches + [repeats.take(ends: true)].compactMap { $0 }
  }

  /// Finds the repeats that an earlier process counted and did not commit, for the next commit. False if there are
  /// none. A power cut takes what the kernel had not written: then `lacksRepeats` is set.
  package func recoverRepeats(boot: String) throws(VaultFailure) -> Bool {
    let chain = try audit.chains().decisions
    guard let countingBoot = chain.countingBoot else { return false }
    let recorded = repeats.recorded(from: chain.batch) { self.audit.logKey(of: $0) }
    owedRepeats = recorded.batches
    lacksRepeats = !recorded.isWhole || countingBoot != boot
    return true
  }

  /// No entry of the audit log that is there changes from now on.
  func closeAuditEntries() { auditMemory?.tails = [:] }
}
