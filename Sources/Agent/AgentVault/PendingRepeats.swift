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

/// Counts repeats of decisions between two commits, and keeps those whose commit failed.
package struct PendingRepeats {
  package let counter: RepeatCounter
  /// Repeats whose commit failed. They may be in the log all the same: the batch in the chain's record tells.
  private var owed: [RepeatCounter.Batch] = []
  /// True if a power cut may have taken repeats, and the log does not say so yet.
  package private(set) var lacksSome = false

  init(_ counter: RepeatCounter) { self.counter = counter }

  /// Takes what was counted until now.
  func take(_ counting: RepeatCounting?) -> CountedRepeats {
    let taken = counter.take(ends: counting == .inLog)
    var counted = CountedRepeats(batches: owed + [taken].compactMap { $0 })
    switch counting {
    case .inLog?: break
    case .inJournal(let boot)? where taken == nil && counter.canBegin(): counted.beginsIn = boot
    case .inJournal?, .unchanged?, nil: counted.goesOn = taken != nil
    }
    return counted
  }

  /// Keeps the repeats of a failed commit. From now on each repeat takes a commit, which tells whether the disk works.
  mutating func owe(_ counted: CountedRepeats) {
    owed = counted.batches + [counter.take(ends: true)].compactMap { $0 }
  }

  /// The repeats are in the log, with this memory after the commit.
  mutating func settle(_ counted: CountedRepeats, in memory: AuditMemory, by keys: VaultKeys) {
    owed = []
    lacksSome = memory.lacksRepeats
    if counted.beginsIn != nil { counter.begin(memory.chains.decisions.batch, key: keys.log, epoch: keys.epoch) }
  }

  /// Takes what an earlier process counted. A power cut takes what the kernel had not written: then `lacksSome` is set.
  mutating func recover(_ recorded: (batches: [RepeatCounter.Batch], isWhole: Bool), isOfThisBoot: Bool) {
    owed = recorded.batches
    lacksSome = !recorded.isWhole || !isOfThisBoot
  }
}

extension Vault {
  /// Finds the repeats that an earlier process counted and did not commit, for the next commit. False if there are
  /// none.
  package func recoverRepeats(boot: String) throws(VaultFailure) -> Bool {
    let chain = try audit.chains().decisions
    guard let countingBoot = chain.countingBoot else { return false }
    let recorded = repeats.counter.recorded(from: chain.batch) { self.audit.logKey(of: $0) }
    repeats.recover(recorded, isOfThisBoot: countingBoot == boot)
    return true
  }
}
