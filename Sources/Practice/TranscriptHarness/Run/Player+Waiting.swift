internal import AgentSimulation
internal import Foundation
internal import Glibc

/// Waits for the agent without a fixed time.
extension Player {
  /// The time that the player waits for results that need no virtual time: enough for a busy machine.
  private static let patienceSeconds = 30.0

  /// Waits until everything that needs no virtual time has happened.
  func settle() throws {
    try wait("all to be quiet") { self.isQuiet }
  }

  private var isQuiet: Bool {
    // In this order: input is read before it starts tasks, and tasks end before their output is counted.
    let clients = wires.values.filter { !$0.isClosed }
    guard clients.allSatisfy({ $0.hasTakenAll }) else { return false }
    machine?.world.settle()
    for client in clients { client.read() }
    return clients.allSatisfy { $0.hasReceivedAll }
  }

  /// Checks `condition` whenever something moved, until it holds.
  func wait(_ what: String, until condition: () -> Bool) throws {
    let deadline = ProcessInfo.processInfo.systemUptime + Self.patienceSeconds
    while true {
      wakeSignal.clear()
      machine?.world.settle()
      machine?.stopTransportIfShutDown()
      for client in wires.values { client.read() }
      if condition() { return }
      guard ProcessInfo.processInfo.systemUptime < deadline else {
        throw Unreadable("waited \(Int(Self.patienceSeconds)) s for \(what)")
      }
      var ready = [pollfd(fd: wakeSignal.descriptor, events: Int16(POLLIN), revents: 0)]
      ready += wires.values.map { pollfd(fd: $0.isClosed ? -1 : $0.wire.descriptor, events: Int16(POLLIN), revents: 0) }
      _ = poll(&ready, nfds_t(ready.count), 1000)
    }
  }
}
