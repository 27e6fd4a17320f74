/// A change of the machine that affects tokens or the vault.
public enum SystemSignal: Sendable, Hashable {
  /// Connectivity may have changed: an address, a default route or a link appeared or disappeared.
  case networkChanged
  /// The wall clock was set, or the machine woke from sleep.
  case clockChanged
  /// The machine is about to sleep and waits briefly for `readyToSleep`.
  case sleeps
  /// The person locked the screen.
  case screenLocked
  /// The program of the agent was removed from the machine, and none took its place.
  case programRemoved
  /// The agent's socket was removed or replaced: no client can connect any more.
  case socketRemoved
}

/// Reports changes of the machine.
public protocol SystemSignals: Sendable {
  /// Calls `onSignal` for each change from now on, from any thread; a burst of changes gives one call. It never fails:
  /// a machine that can't observe a change does not report it.
  func start(_ onSignal: @escaping @Sendable (SystemSignal) -> Void)
  /// Ends the reports; a call that is running completes.
  func stop()
  /// Answers `sleeps`: the agent has finished its preparations. The default does nothing.
  func readyToSleep()
  /// A request failed for want of the network, or met a portal: watches what tells when that ends. The default does
  /// nothing.
  func networkIsMissed()
}

extension SystemSignals {
  public func readyToSleep() {}
  public func networkIsMissed() {}
}

/// A platform without signals.
public struct NoSystemSignals: SystemSignals {
  public init() {}
  public func start(_ onSignal: @escaping @Sendable (SystemSignal) -> Void) {}
  public func stop() {}
}
