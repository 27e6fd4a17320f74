/// Which connections are open, and which one makes room for a new one (docs/protocol.md, Connections).
package struct ConnectionPlaces {
  /// Places beyond the limit for the owner's own command line, so that `lanyard lock` and `lanyard logout` reach an
  /// agent whose places are all taken.
  static let keptForOwner = 8
  /// Connections of one process: a program that leaks them leaves room for the others.
  static let ofOneProcess = 256

  package enum Verdict: Equatable {
    case admitted
    /// Admitted; this connection has to be closed.
    case inPlaceOf(UInt64)
    case refused
  }

  private let limit: Int
  private let limitOfOneProcess: Int
  private var processes: [UInt64: Int32?] = [:]
  private var counts: [Int32: Int] = [:]

  package init(limit: Int, ofOneProcess: Int = ConnectionPlaces.ofOneProcess) {
    self.limit = limit
    limitOfOneProcess = ofOneProcess
  }

  package var count: Int { processes.count }

  /// The process with the most connections, and their number; nil if no process is known. Of equals the lowest id.
  package var largestHolder: (process: Int32, count: Int)? {
    counts.max { ($0.value, $1.key) < ($1.value, $0.key) }.map { ($0.key, $0.value) }
  }

  /// Decides about a new connection, and enters it if it is admitted.
  ///
  /// - Parameters:
  ///   - process: the client's process; nil without a socket.
  ///   - isOwners: true for the owner's own command line; asked only when no other place is free.
  ///   - idleLongest: of the connections for which the condition holds, the one that was idle longest with nothing in
  ///     flight and no subscription; nil if there is none.
  package mutating func admit(
    _ id: UInt64, process: Int32?, isOwners: () -> Bool, idleLongest: ((UInt64) -> Bool) -> UInt64?
  ) -> Verdict {
    let hasOwnLimit = process.map { counts[$0, default: 0] >= limitOfOneProcess } ?? false
    guard hasOwnLimit || count >= limit else {
      enter(id, process)
      return .admitted
    }
    // A process over its own limit makes room by itself.
    let idle = idleLongest { !hasOwnLimit || processes[$0] == .some(process) }
    if let idle {
      leave(idle)
      enter(id, process)
      return .inPlaceOf(idle)
    }
    guard !hasOwnLimit, count < limit + Self.keptForOwner, isOwners() else { return .refused }
    enter(id, process)
    return .admitted
  }

  /// A connection is closed; no effect if it has left before.
  package mutating func leave(_ id: UInt64) {
    guard case .some(let process) = processes.removeValue(forKey: id), let process, let count = counts[process] else {
      return
    }
    counts[process] = count > 1 ? count - 1 : nil
  }

  private mutating func enter(_ id: UInt64, _ process: Int32?) {
    processes[id] = .some(process)
    if let process { counts[process, default: 0] += 1 }
  }
}
