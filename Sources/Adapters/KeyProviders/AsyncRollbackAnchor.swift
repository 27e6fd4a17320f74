public import AgentModel
public import AgentPorts
internal import Glibc
internal import Synchronization

/// Writes to a slow anchor in the background, so that a commit does not wait: always the newest count, one write at a
/// time. Takes part while the vault has a key slot of the anchor's protection.
///
/// A count that is lost because the agent ends leaves the anchor behind the store. That is safe: a lower anchor raises
/// no false alarm.
public final class AsyncRollbackAnchor: RollbackAnchor {
  private let anchor: any RollbackAnchor
  private let protection: String?
  private let patience: Milliseconds
  private let start: @Sendable (@escaping @Sendable () -> Void) -> Void

  /// What is known of a database.
  private struct Known {
    var sequence: UInt64?
    var prints: [RootPrint] = []
  }

  private enum Reading {
    case underWay
    case failed(KeySourceFailure)
    case done
  }

  private struct State {
    var takesPart: Bool
    var isBusy = false
    var newest: (databaseID: [UInt8], sequence: UInt64)?
    var prints: (databaseID: [UInt8], prints: [RootPrint])?
    /// What each database's anchor holds, once it was read or told.
    var known: [[UInt8]: Known] = [:]
    var readings: [[UInt8]: Reading] = [:]
  }
  private let state: Mutex<State>

  /// - Parameters:
  ///   - protection: of the key slots that lie with this anchor; nil if it takes part without one.
  ///   - patience: how long the opening of a store waits for the anchor. A service that hangs must not keep the vault
  ///     closed.
  ///   - start: runs a piece of work that may block for some seconds, soon and on another thread.
  public init(
    _ anchor: any RollbackAnchor, besideSlotsOf protection: String? = nil, patience: Milliseconds = .seconds(2),
    start: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
  ) {
    self.anchor = anchor
    self.protection = protection
    self.patience = patience
    self.start = start
    state = Mutex(State(takesPart: protection == nil))
  }

  /// False: a count that was told need not be written yet.
  public var outlastsRestarts: Bool { false }

  public func slotsChanged(to protections: Set<String>) {
    guard let protection else { return }
    state.withLock { $0.takesPart = protections.contains(protection) }
  }

  // MARK: reading

  /// Asks the slow anchor until it answers once, for the opening of a store. Later calls return the newest count that
  /// this process knows, so that no exchange waits. An answer that comes after `patience` counts from then on.
  public func sequence(databaseID: [UInt8]) throws(KeySourceFailure) -> UInt64? {
    try known(databaseID)?.sequence
  }

  public func rootPrints(databaseID: [UInt8]) throws(KeySourceFailure) -> [RootPrint] {
    try known(databaseID)?.prints ?? []
  }

  /// Nil while this anchor takes no part.
  private func known(_ databaseID: [UInt8]) throws(KeySourceFailure) -> Known? {
    enum Next { case answer(Known?), read, fail }
    let next = state.withLock { state -> Next in
      guard state.takesPart else { return .answer(nil) }
      if let known = state.known[databaseID] { return .answer(known) }
      // An earlier call waited in vain.
      if case .underWay = state.readings[databaseID] { return .fail }
      state.readings[databaseID] = .underWay
      return .read
    }
    switch next {
    case .answer(let known): return known
    case .fail: throw .unavailable
    case .read:
      start { [self] in read(databaseID) }
      return try wait(for: databaseID)
    }
  }

  private func read(_ databaseID: [UInt8]) {
    let answer: Result<Known, KeySourceFailure>
    do throws(KeySourceFailure) {
      let sequence = try anchor.sequence(databaseID: databaseID)
      answer = .success(Known(sequence: sequence, prints: try anchor.rootPrints(databaseID: databaseID)))
    } catch {
      answer = .failure(error)
    }
    state.withLock { state in
      switch answer {
      case .success(let read):
        var known = state.known[databaseID] ?? read
        known.sequence = [known.sequence, read.sequence].compactMap(\.self).max()
        state.known[databaseID] = known
        state.readings[databaseID] = .done
      case .failure(let failure): state.readings[databaseID] = .failed(failure)
      }
    }
  }

  private func wait(for databaseID: [UInt8]) throws(KeySourceFailure) -> Known? {
    for _ in 0...max(0, patience.count) {
      let (reading, known) = state.withLock { ($0.readings[databaseID], $0.known[databaseID]) }
      switch reading {
      case .underWay: usleep(1_000)
      case .failed(let failure): throw failure
      case .done, nil: return known
      }
    }
    throw .unavailable
  }

  // MARK: writing

  /// Always true, and never throws: the result of the write comes too late for the caller.
  @discardableResult
  public func advance(databaseID: [UInt8], to sequence: UInt64) throws(KeySourceFailure) -> Bool {
    tell { state in
      state.newest = (databaseID, sequence)
      var known = state.known[databaseID] ?? Known()
      known.sequence = max(known.sequence ?? 0, sequence)
      state.known[databaseID] = known
    }
    return true
  }

  /// Before a rotation is committed, with the old and the new root key, this waits for the anchor as an opening does: if
  /// it were the only anchor left and named the old one alone, the rotated store would count as an old copy.
  ///
  /// Never throws: an anchor that was out of reach is overruled by the others, which know a later root key.
  public func record(_ prints: [RootPrint], databaseID: [UInt8]) throws(KeySourceFailure) {
    tell { state in
      // What was not read yet is compared at the next opening, and not replaced before.
      if case .underWay = state.readings[databaseID] { return }
      state.prints = (databaseID, prints)
      state.known[databaseID, default: Known()].prints = prints
    }
    if prints.count > 1 { waitUntilTold() }
  }

  private func waitUntilTold() {
    for _ in 0...max(0, patience.count) {
      guard state.withLock({ $0.isBusy }) else { return }
      usleep(1_000)
    }
  }

  private func tell(_ change: (inout State) -> Void) {
    let mustStart = state.withLock { state -> Bool in
      guard state.takesPart else { return false }
      change(&state)
      guard !state.isBusy, state.newest != nil || state.prints != nil else { return false }
      state.isBusy = true
      return true
    }
    if mustStart { start { [self] in write() } }
  }

  private func write() {
    while let next = next() {
      if let newest = next.newest { _ = try? anchor.advance(databaseID: newest.databaseID, to: newest.sequence) }
      if let told = next.prints { try? anchor.record(told.prints, databaseID: told.databaseID) }
    }
  }

  private func next() -> State? {
    state.withLock { state in
      guard state.newest != nil || state.prints != nil else {
        state.isBusy = false
        return nil
      }
      defer { (state.newest, state.prints) = (nil, nil) }
      return state
    }
  }
}
