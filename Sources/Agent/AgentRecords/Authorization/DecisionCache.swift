package import AgentCore
package import AgentModel
internal import AgentPorts
package import AgentStore
package import AgentVault
package import JSONRPC
internal import Synchronization

/// Decisions that the reading thread repeats without asking an actor (docs/offline.md, Repeated checks).
///
/// An entry is withdrawn with every change of what it was decided from, and before a change is written down. A repeat
/// is counted in the audit log's entry within the same lock, so that none is counted after a withdrawal.
package final class DecisionCache: Sendable {

  package init() {}
  /// A decision about an account is repeated for its capability and client, since the log counts it for these.
  private struct Key: Hashable {
    var capability: String
    var client: String?
  }

  /// Counts changes: a decision is published only if nothing changed since its facts were read.
  package struct Ticket: Sendable { fileprivate var changes: UInt64 }

  /// What a decision needs to be published.
  package struct Offer: Sendable {
    package var decision: RecordedDecision
    var client: String?
    var ticket: Ticket
    var decidedAt: BootInstant
    var wall: Timestamp

    package init(
      decision: RecordedDecision, client: String? = nil, ticket: Ticket, decidedAt: BootInstant, wall: Timestamp
    ) {
      self.decision = decision
      self.client = client
      self.ticket = ticket
      self.decidedAt = decidedAt
      self.wall = wall
    }
  }

  private struct State {
    var entries: [AccountID: [Key: PublishedDecision]] = [:]
    var count = 0
    var changes: UInt64 = 0
    /// The number of the last change that concerned all accounts, and those of single ones since.
    var lastOfAll: UInt64 = 0
    var last: [AccountID: UInt64] = [:]
    /// No published decision has an entry of the log before this number.
    var oldest: Int64 = 0
    /// The repeats since the agent's start.
    var repeats = DecisionCounts()

    mutating func empty() {
      entries = [:]
      count = 0
      oldest = 0
    }
  }
  private let state = Mutex(State())

  /// Bounds the memory. A full cache is emptied: its entries live for seconds.
  private static let most = 4_096

  /// How often decisions were repeated from memory since the agent's start.
  package var repeats: DecisionCounts { state.withLock { $0.repeats } }

  package func ticket() -> Ticket { state.withLock { Ticket(changes: $0.changes) } }

  /// False if something changed since that decisions about this account are made from.
  package func isCurrent(_ ticket: Ticket, of account: AccountID) -> Bool {
    state.withLock { max($0.lastOfAll, $0.last[account] ?? 0) <= ticket.changes }
  }

  /// Publishes a decision that the log counts under `sequence`, unless something changed since its facts were read.
  package func publish(_ offer: Offer, sequence: Int64, counter: RepeatCounter) {
    let account = offer.decision.account
    guard let decision = PublishedDecision(offer, sequence: sequence, counter: counter) else { return }
    state.withLock { state in
      guard max(state.lastOfAll, state.last[account] ?? 0) <= offer.ticket.changes, sequence >= state.oldest else {
        return
      }
      if state.count >= Self.most { state.empty() }
      let key = Key(capability: offer.decision.decision.capability, client: offer.client)
      let previous = state.entries[account, default: [:]].updateValue(decision, forKey: key)
      if previous == nil { state.count += 1 }
    }
  }

  /// Something that decisions about this account are made from changes.
  package func withdraw(_ account: AccountID) {
    state.withLock { state in
      state.changes += 1
      state.last[account] = state.changes
      state.count -= state.entries.removeValue(forKey: account)?.count ?? 0
    }
  }

  /// Something that all decisions are made from changes: a policy, the time, the network.
  package func withdrawAll() {
    state.withLock { state in
      state.changes += 1
      state.lastOfAll = state.changes
      state.last = [:]
      state.empty()
    }
  }

  /// The log's entries before this number change no more: a repeat of their decisions is an entry of its own, which its
  /// client's quota counts.
  package func withdraw(before sequence: Int64) {
    state.withLock { state in
      guard state.oldest < sequence else { return }
      state.oldest = sequence
      for (account, decisions) in state.entries {
        let kept = decisions.filter { $0.value.sequence >= sequence }
        state.count -= decisions.count - kept.count
        state.entries[account] = kept.isEmpty ? nil : kept
      }
    }
  }

  /// Counts a repeat and writes its decision; false if the actors must decide.
  package func repeated(
    _ account: AccountID, _ capability: String, for client: String?, at now: BootInstant, wall: Timestamp,
    to writer: inout JSONWriter
  ) -> Bool {
    let key = Key(capability: capability, client: client)
    return state.withLock { state in
      guard let decision = state.entries[account]?[key] else { return false }
      guard decision.holds(at: now, wall: wall), decision.count(at: wall) else {
        state.entries[account]?[key] = nil
        state.count -= 1
        return false
      }
      decision.write(at: now, to: &writer)
      state.repeats.count(decision.cell)
      return true
    }
  }
}

/// A decision in the form of its answer. The members that change with time stand where the pieces of it meet.
private struct PublishedDecision {
  private let answer: [UInt8]
  /// Where the value of `validForSeconds` belongs, if the decision ends by itself.
  private let durationAt: Int
  /// Where the value of `time.now` belongs.
  private let nowAt: Int
  private let decidedAt: BootInstant
  /// The decision's own time, in which it tells `now`.
  private let now: Timestamp
  /// How far the wall clock was ahead of the boot clock.
  private let wallOffset: Int64
  /// When the decision ends by itself; nil if it does not.
  private let endsAt: BootInstant?
  let sequence: Int64
  /// Where it is counted.
  let cell: DecisionCounts.Cell
  private let counter: RepeatCounter

  /// Facts that change with time alone, such as an account's state, are read again after so long.
  private static let longest = Milliseconds.seconds(5)
  /// A batch of counted repeats is committed after 100 ms. While a commit takes longer, repeats wait for it.
  private static let longestBatch = Milliseconds(200)
  /// The wall clock may be corrected by so much while an entry is there.
  private static let wallTolerance: Int64 = 1_000

  /// Nil for a denial, which starts a confirmation, and for a decision that tells ages.
  init?(_ offer: DecisionCache.Offer, sequence: Int64, counter: RepeatCounter) {
    let (recorded, decision) = (offer.decision, offer.decision.decision)
    guard decision.effect != .deny, decision.failed.allSatisfy(\.facts.isEmpty) else { return nil }
    self.sequence = sequence
    cell = DecisionCounts.Cell(decision.effect, decision.reason)
    self.counter = counter
    decidedAt = offer.decidedAt
    now = recorded.now
    wallOffset = offer.wall.milliseconds - offer.decidedAt.milliseconds
    endsAt = decision.validFor.map { offer.decidedAt + $0 }
    var writer = JSONWriter(capacity: 768)
    writer.beginObject()
    writer.member("decisionId", recorded.id)
    writer.member("effect", decision.effect.rawValue)
    writer.member("capability", decision.capability)
    writer.member("reason", decision.reason.rawValue)
    writer.key("failed")
    writer.beginArray()
    for failure in decision.failed {
      writer.beginObject()
      writer.member("check", failure.check.rawValue)
      writer.member("reason", failure.reason.rawValue)
      writer.endObject()
    }
    writer.endArray()
    writer.member("obligations", decision.obligations)
    writer.member("remedies", decision.remedies.map(\.rawValue))
    if let validUntil = recorded.validUntil {
      writer.key("validUntil")
      writer.string(validUntil.rfc3339)
      writer.key("validForSeconds")
      durationAt = writer.count
      writer.verbatim(",")
    } else {
      durationAt = 0
    }
    writer.key("policy")
    writer.beginObject()
    writer.member("name", decision.policyName)
    writer.member("version", decision.policyVersion)
    writer.endObject()
    writer.member("snapshotVersion", Int64(clamping: decision.snapshotVersion))
    writer.key("time")
    writer.beginObject()
    writer.key("now")
    nowAt = writer.count
    writer.verbatim(",")
    writer.member("basis", recorded.basis.rawValue)
    writer.member("clock", recorded.clock == .suspect ? "suspect" : "trusted")
    writer.endObject()
    writer.member("account", recorded.account.text)
    writer.endObject()
    answer = writer.withBytes { Array($0) }
  }

  func holds(at instant: BootInstant, wall: Timestamp) -> Bool {
    let moved = wall.milliseconds - instant.milliseconds - wallOffset
    return instant >= decidedAt && instant - decidedAt < Self.longest && endsAt.map { instant < $0 } ?? true
      && abs(moved) < Self.wallTolerance
  }

  func count(at wall: Timestamp) -> Bool { counter.count(sequence, at: wall, longest: Self.longestBatch) }

  func write(at instant: BootInstant, to writer: inout JSONWriter) {
    answer.withUnsafeBytes { answer in
      func piece(_ range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: answer[range]) }
      writer.verbatim(piece(0..<durationAt))
      if let endsAt { writer.digits((endsAt - instant).wholeSeconds) }
      writer.verbatim(piece(durationAt..<nowAt))
      writer.string((now + (instant - decidedAt)).rfc3339)
      writer.verbatim(piece(nowAt..<answer.count))
    }
  }
}
