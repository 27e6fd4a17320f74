internal import Synchronization
internal import Threads

/// What other threads report to the reading thread: clients with output to write, and the order to stop.
///
/// The thread is woken only while it sleeps: while it works, it finds the reports before it sleeps again.
package final class Announcements: Sendable {

  package init() {}
  struct Reports {
    var peers: [Peer] = []
    var ordersStop = false

    var isEmpty: Bool { peers.isEmpty && !ordersStop }
  }

  private struct State {
    var reports = Reports()
    var isAsleep = false
  }

  private let state = Mutex(State())
  /// Readable after a report to the sleeping thread.
  var descriptor: Int32 { wakeUp.descriptor }
  private let wakeUp = WakeUp()

  // MARK: from any thread

  func announce(_ peer: Peer) { report { $0.peers.append(peer) } }

  func stop() { report { $0.ordersStop = true } }

  private func report(_ body: (inout Reports) -> Void) {
    let wakes = state.withLock { state in
      body(&state.reports)
      defer { state.isAsleep = false }
      return state.isAsleep
    }
    if wakes { wakeUp.signal() }
  }

  // MARK: from the reading thread

  /// Takes the reports. If there are none the thread counts as asleep until `awake`.
  func takeOrSleep() -> Reports {
    state.withLock { state in
      defer { state.reports = Reports() }
      state.isAsleep = state.reports.isEmpty
      return state.reports
    }
  }

  /// The thread works again. `wasWoken`: `descriptor` is readable.
  func awake(wasWoken: Bool) {
    state.withLock { $0.isAsleep = false }
    if wasWoken { wakeUp.clear() }
  }
}
