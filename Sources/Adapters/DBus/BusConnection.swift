public import AgentModel
internal import CBus
internal import Glibc

/// A connection to a message bus. Used by one thread at a time; closed when the object is released.
///
///     let bus = try BusConnection(to: .system)
///     try bus.watch("type='signal',sender='org.freedesktop.login1',member='PrepareForSleep'")
///     // poll(2) on bus.descriptor, and whenever it can be read:
///     while let signal = try bus.nextSignal() { … }
public final class BusConnection {
  /// Timeout of each call. A running service answers in a millisecond, one that the bus must start first in some
  /// hundred.
  public static let patience = Milliseconds.seconds(5)

  private let bus: OpaquePointer

  /// Connects, and waits for the bus to accept the connection.
  public init(
    to address: BusAddress?, takingDescriptors: Bool = false, timeout: Milliseconds = patience
  ) throws(BusFailure) {
    guard let address else { throw .unreachable(EDESTADDRREQ) }
    var bus: OpaquePointer?
    let result = cbus_connect(address.text, takingDescriptors, timeout.microseconds, &bus)
    if result == -ETIMEDOUT { throw .timedOut }
    if result == -ELIBACC { throw .noLibrary }
    guard result >= 0, let bus else { throw .unreachable(-result) }
    self.bus = bus
  }

  deinit { cbus_close(bus) }

  /// Sends a call and waits for its reply.
  public func call(
    _ destination: String, _ path: String, _ interface: String, _ member: String, timeout: Milliseconds = patience,
    _ fill: (BusMessage) throws(BusFailure) -> Void = { _ in }
  ) throws(BusFailure) -> BusMessage {
    var made: OpaquePointer?
    let result = cbus_new_call(bus, destination, path, interface, member, &made)
    guard result >= 0, let made else { throw result == -ENOTCONN ? .unreachable(ENOTCONN) : .malformed }
    let call = BusMessage(owning: made)
    try fill(call)
    return try send(call, timeout)
  }

  private func send(_ call: BusMessage, _ timeout: Milliseconds) throws(BusFailure) -> BusMessage {
    var reply: OpaquePointer?
    // The longest error name that the specification allows, and its terminating zero.
    var name = [CChar](repeating: 0, count: 256)
    let result = cbus_call(bus, call.message, timeout.microseconds, &reply, &name, name.count)
    if result >= 0, let reply { return BusMessage(owning: reply) }
    if let reply { cbus_free(reply) }
    let error = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    // sd-bus reports its own errors under the names that a bus would use.
    if result == -ETIMEDOUT || error == "org.freedesktop.DBus.Error.NoReply" || error.hasSuffix(".Timeout") {
      throw .timedOut
    }
    if [-ENOTCONN, -ECONNRESET, -EPIPE].contains(result) { throw .unreachable(-result) }
    throw error.isEmpty ? .malformed : .refused(name: error)
  }

  // MARK: signals

  /// Subscribes to the signals that `rule` matches (D-Bus Specification, Match Rules), until the connection is closed.
  public func watch(_ rule: String) throws(BusFailure) {
    _ = try call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "AddMatch") {
      (call) throws(BusFailure) in try call.append(rule)
    }
  }

  /// The next signal that has arrived; nil if none has. Never waits. Throws once the bus is gone.
  public func nextSignal() throws(BusFailure) -> BusMessage? {
    while true {
      var message: OpaquePointer?
      let result = cbus_next(bus, &message)
      guard result >= 0 else { throw .unreachable(-result) }
      if let message {
        let message = BusMessage(owning: message)
        if message.isSignal { return message }
      } else if result == 0 {
        return nil
      }
    }
  }

  /// Waits for a signal, for `timeout` at most; false as soon as `cancel` becomes readable, which ends the waiting.
  @discardableResult
  public func wait(_ timeout: Milliseconds, cancel: Int32 = -1) throws(BusFailure) -> Bool {
    let events = cbus_events(bus)
    guard events >= 0 else { throw .unreachable(-events) }
    var awaited = [
      pollfd(fd: cbus_descriptor(bus), events: Int16(events), revents: 0),
      pollfd(fd: cancel, events: Int16(POLLIN), revents: 0),
    ]
    let result = poll(&awaited, nfds_t(awaited.count), Int32(clamping: max(timeout.count, 0)))
    guard result >= 0 || errno == EINTR else { throw .unreachable(errno) }
    return result <= 0 || awaited[1].revents == 0
  }

  /// For poll(2) by a thread that waits for other descriptors too. A call may have read signals while it waited for its
  /// reply: drain `nextSignal` before the first poll.
  public var descriptor: Int32 { cbus_descriptor(bus) }
}

extension Milliseconds {
  fileprivate var microseconds: UInt64 { UInt64(max(count, 0)) * 1000 }
}
