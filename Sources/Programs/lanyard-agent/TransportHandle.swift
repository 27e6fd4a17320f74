internal import Synchronization
internal import UnixTransport

/// A value that one thread sets and another reads.
final class Box<Value: Sendable>: Sendable {
  private let content = Mutex<Value?>(nil)
  var value: Value? {
    get { content.withLock { $0 } }
    set { content.withLock { $0 = newValue } }
  }
}

/// Lets the agent stop the server, which is created after the agent.
final class TransportHandle: Sendable {
  private let box = Box<LineServer>()
  var server: LineServer? {
    get { box.value }
    set { box.value = newValue }
  }

  func stop() { server?.stop() }
}
