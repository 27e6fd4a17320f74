internal import AgentModel
public import AgentPorts
internal import CPlatform
public import DBus
internal import Glibc
internal import Synchronization
internal import Threads

/// `SystemSignals` from NetworkManager, which finds out by itself whether a portal is in the way
/// (org.freedesktop.NetworkManager, `Connectivity`): `networkChanged` when it says that the whole network can be reached,
/// since the kernel tells nothing of a portal that lets a machine through.
///
/// Until a request fails for want of the network there is no connection to the bus. Then one thread blocks on it. A
/// machine without the bus or without NetworkManager has none of these signals.
public final class NetworkManagerSignals: SystemSignals {
  private let bus: BusAddress?
  private let log: any AgentLog
  private let stopping: Int32
  private let state = Mutex(State())

  private struct State {
    var onSignal: (@Sendable (SystemSignal) -> Void)?
    var isWatching = false
  }

  public init(bus: BusAddress? = .system, log: any AgentLog) {
    self.bus = bus
    self.log = log
    stopping = lanyard_eventfd()
  }

  deinit { if stopping >= 0 { close(stopping) } }

  public func start(_ onSignal: @escaping @Sendable (SystemSignal) -> Void) {
    state.withLock { $0.onSignal = onSignal }
  }

  public func stop() { if stopping >= 0 { lanyard_eventfd_signal(stopping) } }

  public func networkIsMissed() {
    let onSignal = state.withLock { state -> (@Sendable (SystemSignal) -> Void)? in
      guard stopping >= 0, !state.isWatching, let onSignal = state.onSignal else { return nil }
      state.isWatching = true
      return onSignal
    }
    guard let onSignal else { return }
    if !DetachedThread.start({ self.watch(onSignal) }) { state.withLock { $0.isWatching = false } }
  }

  private func watch(_ onSignal: @Sendable (SystemSignal) -> Void) {
    do throws(BusFailure) {
      try listen(to: NetworkManager(bus), onSignal)
    } catch {
      // The next failure for want of the network tries again, as after a restart of the bus.
      log.log(.info, "no signals of NetworkManager", [])
      state.withLock { $0.isWatching = false }
    }
  }

  /// Returns when the object is stopped.
  private func listen(
    to manager: NetworkManager, _ onSignal: @Sendable (SystemSignal) -> Void
  ) throws(BusFailure) {
    var last = manager.connectivity()
    // The request may have failed a moment before.
    if last == .full { onSignal(.networkChanged) }
    var descriptors = [stopping, manager.descriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    while true {
      while let told = try manager.next() {
        if told == .full, last != .full { onSignal(.networkChanged) }
        last = told
      }
      _ = poll(&descriptors, nfds_t(descriptors.count), -1)
      if descriptors[0].revents != 0 { return }
    }
  }
}

/// The part of NetworkManager that says what can be reached. One connection to the system bus; used by one thread.
private struct NetworkManager {
  private static let name = "org.freedesktop.NetworkManager"
  private static let path = "/org/freedesktop/NetworkManager"
  private static let properties = "org.freedesktop.DBus.Properties"

  /// NMConnectivityState; the other values are `other`.
  enum Reach: Equatable {
    case full, other
    init(_ state: UInt32) { self = state == 4 ? .full : .other }
  }

  private let bus: BusConnection

  init(_ address: BusAddress?) throws(BusFailure) {
    bus = try BusConnection(to: address)
    let signal = "type='signal',sender='\(Self.name)',path='\(Self.path)'"
    try bus.watch("\(signal),interface='\(Self.properties)',member='PropertiesChanged',arg0='\(Self.name)'")
  }

  var descriptor: Int32 { bus.descriptor }

  /// What NetworkManager says now; `other` where it does not answer.
  func connectivity() -> Reach {
    let reply = try? bus.call(Self.name, Self.path, Self.properties, "Get") { (call) throws(BusFailure) in
      try call.append(Self.name)
      try call.append("Connectivity")
    }
    let state = try? reply?.inside(.variant, of: "u") { () throws(BusFailure) in try reply?.uint32() ?? 0 }
    return Reach(state ?? 0)
  }

  /// The next word about what can be reached; nil if none has arrived.
  func next() throws(BusFailure) -> Reach? {
    while let signal = try bus.nextSignal() {
      guard signal.interface == Self.properties, signal.member == "PropertiesChanged" else { continue }
      if let reach = try? Self.reach(in: signal) { return reach }
    }
    return nil
  }

  /// Nil if the signal is about other properties.
  private static func reach(in signal: BusMessage) throws(BusFailure) -> Reach? {
    try signal.skip("s")
    return try signal.elements(.dictionaryEntry, of: "sv") { () throws(BusFailure) -> Reach? in
      guard try signal.text() == "Connectivity" else {
        try signal.skip("v")
        return nil
      }
      return Reach(try signal.inside(.variant, of: "u") { () throws(BusFailure) in try signal.uint32() })
    }.compactMap { $0 }.first
  }
}
