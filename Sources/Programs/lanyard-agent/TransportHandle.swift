internal import Synchronization
internal import UnixTransport

/// A value that one thread leaves for another.
final class Box<Value: Sendable>: Sendable {
  private let content = Mutex<Value?>(nil)
  var value: Value? {
    get { content.withLock { $0 } }
    set { content.withLock { $0 = newValue } }
  }
}

/// The agent is made before its transport, and ends it.
final class TransportHandle: Sendable {
  private let box = Box<LineServer>()
  var server: LineServer? {
    get { box.value }
    set { box.value = newValue }
  }

  func stop() { server?.stop() }
}
