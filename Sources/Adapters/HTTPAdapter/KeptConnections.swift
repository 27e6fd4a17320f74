internal import AgentModel
internal import CurlTransfers
internal import Synchronization

/// The loops whose connections stay open between requests: one for each user and each way of reaching and trusting
/// servers, so that requests that differ in any of them can't share a connection.
package final class KeptConnections: Sendable {
  struct Key: Hashable {
    var user: String
    var trust: TrustSettings
    var certificates: [UInt8]?

    init(user: String, _ plan: TransferPlan) {
      self.user = user
      trust = plan.request.trust
      certificates = plan.request.certificates
    }
  }

  /// One loop costs a thread and up to `CurlLoop.maximumIdleConnections` sockets. More accounts than these rarely act
  /// within seconds; the loop that was used least recently makes room.
  package static let maximumLoops = 16

  private struct Entry {
    var loop: CurlLoop
    var lastUse: UInt64
  }
  private struct State {
    var entries: [Key: Entry] = [:]
    var uses: UInt64 = 0
  }
  private let state = Mutex(State())
  private let lingerMilliseconds: Int32

  init(lingerMilliseconds: Int32) { self.lingerMilliseconds = lingerMilliseconds }

  func loop(for key: Key) -> CurlLoop {
    let (loop, displaced) = state.withLock { state -> (CurlLoop, CurlLoop?) in
      state.uses += 1
      if let index = state.entries.index(forKey: key) {
        state.entries.values[index].lastUse = state.uses
        return (state.entries.values[index].loop, nil)
      }
      var displaced: CurlLoop?
      if state.entries.count >= Self.maximumLoops {
        let oldest = state.entries.min { $0.value.lastUse < $1.value.lastUse }
        displaced = oldest.flatMap { state.entries.removeValue(forKey: $0.key) }?.loop
      }
      let loop = CurlLoop(lingerMilliseconds: lingerMilliseconds, keepsConnections: true)
      state.entries[key] = Entry(loop: loop, lastUse: state.uses)
      return (loop, displaced)
    }
    displaced?.retire()
    return loop
  }

  /// Nil: of all users.
  func close(of user: String?) {
    let closed = state.withLock { state in
      let closed = state.entries.filter { user == nil || $0.key.user == user }
      for key in closed.keys { state.entries[key] = nil }
      return closed.values.map(\.loop)
    }
    for loop in closed { loop.retire() }
  }
}
