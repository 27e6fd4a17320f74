internal import AgentCore
package import AgentModel
package import AgentPorts
internal import Secrets
internal import Synchronization

/// Counts repeats of audit entries between two commits (docs/storage.md, Repeats in a batch).
///
/// A count is in the journal when `count` returns, so that a kill of the agent loses none. Commits take the counts into
/// the log, and each begins a new batch: the journal's two halves hold the batch before a commit and the one after it,
/// so that either is there whether the commit took place or not. Any thread may count.
package final class RepeatCounter: Sendable {
  /// The counts of one batch.
  struct Batch: Sendable {
    var number: Int64
    var tallies: [RepeatTally]
  }

  private struct Counting {
    var number: Int64
    var key: SealingKey
    var keyEpoch: UInt32
    var tallies: [RepeatTally] = []
    /// The slot of an entry, by its number.
    var slots: [Int64: Int] = [:]
    var additionalData: [[UInt8]] = []
    var nonces = NoncePool()
    /// When the batch had its first count.
    var begunAt: Timestamp?

    mutating func count(
      _ sequence: Int64, at now: Timestamp, _ journal: (any RepeatJournal)?, _ databaseID: [UInt8]
    ) -> Bool {
      let slot = slots[sequence] ?? tallies.count
      guard slot < RepeatCounter.batchSlots else { return false }
      var tally = RepeatTally(sequence: sequence, repeats: AuditRepeats(at: now))
      if slot < tallies.count {
        tally = tallies[slot]
        guard tally.repeats.add(at: now) else { return false }
      }
      let place = Int(number & 1) * RepeatCounter.batchSlots + slot
      if slot == additionalData.count { additionalData.append(RepeatSlot.additionalData(databaseID, place)) }
      let content = RepeatSlot(batch: number, tally: tally)
        .sealed(by: key, epoch: keyEpoch, additionalData[slot], &nonces)
      guard journal?.write(content, slot: place) == true else { return false }
      if slot == tallies.count {
        tallies.append(tally)
        slots[sequence] = slot
      } else {
        tallies[slot] = tally
      }
      return true
    }

    /// Goes on with the next batch.
    mutating func next() {
      number += 1
      tallies = []
      slots = [:]
      additionalData = []
      begunAt = nil
    }
  }

  /// Nil while every repeat takes a commit.
  private let state = Mutex<Counting?>(nil)
  private let journal: (any RepeatJournal)?
  private let databaseID: [UInt8]
  /// Called with the first count of each batch.
  private let began: @Sendable () -> Void

  static let batchSlots = RepeatJournalSize.slots / 2

  package init(journal: (any RepeatJournal)?, databaseID: [UInt8], began: @escaping @Sendable () -> Void) {
    self.journal = journal
    self.databaseID = databaseID
    self.began = began
  }

  package var isOpen: Bool { state.withLock { $0 != nil } }

  package var isEmpty: Bool { state.withLock { $0?.tallies.isEmpty ?? true } }

  /// Counts a repeat of the entry with this number. False if it must be committed instead: no batch is open, or the
  /// batch had its first count `longest` ago, the journal is full or takes nothing, or the entry has stood for an hour.
  package func count(_ sequence: Int64, at now: Timestamp, longest: Milliseconds? = nil) -> Bool {
    var isFirst = false
    let isCounted = state.withLock { state -> Bool in
      // In place: a copy of the counts would be made anew for each one.
      guard state != nil else { return false }
      if let longest, let begunAt = state!.begunAt, now < begunAt || now - begunAt >= longest { return false }
      guard state!.count(sequence, at: now, journal, databaseID) else { return false }
      isFirst = state!.begunAt == nil
      if isFirst { state!.begunAt = now }
      return true
    }
    if isFirst { began() }
    return isCounted
  }

  /// True if the journal is there and takes counts.
  func canBegin() -> Bool { journal?.write([], slot: 0) == true }

  /// Begins to count, once the commit that says so is durable.
  func begin(_ number: Int64, key: SealingKey, epoch: UInt32) {
    state.withLock { $0 = Counting(number: number, key: key, keyEpoch: epoch) }
  }

  /// The counts for a commit. Counts go on in the next batch, or not at all if `ends`. Nil if no batch is open.
  func take(ends: Bool) -> Batch? {
    state.withLock { state in
      guard let counting = state else { return nil }
      state?.next()
      if ends { state = nil }
      return Batch(number: counting.number, tallies: counting.tallies)
    }
  }

  /// The counts in the journal of the batches from `first` on; not whole if the journal is gone, or if a slot of it does
  /// not open. `key` finds the log key of an epoch.
  func recorded(from first: Int64, key: (UInt32) -> SealingKey?) -> (batches: [Batch], isWhole: Bool) {
    guard let slots = journal?.read() else { return ([], false) }
    var found: [Int64: Batch] = [:]
    var isWhole = true
    for (place, bytes) in slots.enumerated() where bytes.contains(where: { $0 != 0 }) {
      guard let epoch = RepeatSlot.epoch(of: bytes), let key = key(epoch),
        let slot = RepeatSlot(bytes, by: key, databaseID, place)
      else {
        isWhole = false
        continue
      }
      guard slot.batch >= first else { continue }
      found[slot.batch, default: Batch(number: slot.batch, tallies: [])].tallies.append(slot.tally)
    }
    return (found.values.sorted { $0.number < $1.number }, isWhole)
  }
}

/// One slot of the journal: the epoch of the root key, then the sealed count.
private struct RepeatSlot {
  var batch: Int64
  var tally: RepeatTally

  private static let numbers = 5
  /// Nonce, numbers and tag.
  private static let sealedBytes = 24 + numbers * 8 + 16

  init(batch: Int64, tally: RepeatTally) {
    self.batch = batch
    self.tally = tally
  }

  func sealed(
    by key: SealingKey, epoch: UInt32, _ additionalData: [UInt8], _ nonces: inout NoncePool
  ) -> [UInt8] {
    let numbers = (
      batch.littleEndian, tally.sequence.littleEndian, tally.repeats.count.littleEndian,
      tally.repeats.firstAt.milliseconds.littleEndian, tally.repeats.lastAt.milliseconds.littleEndian
    )
    let sealed = withUnsafeBytes(of: numbers) { key.seal($0, additionalData: additionalData, nonces: &nonces) }
    var content: [UInt8] = []
    content.reserveCapacity(4 + sealed.count)
    withUnsafeBytes(of: epoch.littleEndian) { content.append(contentsOf: $0) }
    content.append(contentsOf: sealed)
    return content
  }

  static func epoch(of bytes: [UInt8]) -> UInt32? {
    guard bytes.count >= 4 + sealedBytes else { return nil }
    let epoch = bytes[..<4].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    return epoch == 0 ? nil : epoch
  }

  init?(_ bytes: [UInt8], by key: SealingKey, _ databaseID: [UInt8], _ place: Int) {
    let sealed = Array(bytes[4..<4 + Self.sealedBytes])
    guard let plain = try? key.open(sealed, additionalData: Self.additionalData(databaseID, place)) else { return nil }
    let numbers = plain.withBytes { plain in
      (0..<Self.numbers).map { Int64(littleEndian: plain.loadUnaligned(fromByteOffset: $0 * 8, as: Int64.self)) }
    }
    guard numbers[2] > 0 else { return nil }
    batch = numbers[0]
    tally = RepeatTally(
      sequence: numbers[1], repeats: AuditRepeats(at: Timestamp(milliseconds: numbers[3])))
    tally.repeats.count = numbers[2]
    tally.repeats.lastAt = Timestamp(milliseconds: numbers[4])
  }

  static func additionalData(_ databaseID: [UInt8], _ place: Int) -> [UInt8] {
    var fields = LengthPrefixed()
    fields.append("lanyard repeats 1")
    fields.append(databaseID)
    fields.append(UInt64(place))
    return fields.bytes
  }
}
