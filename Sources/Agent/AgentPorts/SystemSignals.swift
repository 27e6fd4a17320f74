/// What the machine tells of its own accord, without anybody asking.
public enum SystemSignal: Sendable, Hashable {
  /// A way to the providers may have opened or closed: an address, a default route or a link came or went.
  case networkChanged
  /// The wall clock was set, or the machine woke from sleep.
  case clockChanged
  /// The machine is about to sleep, and waits a moment for `readyToSleep`.
  case sleeps
  /// The person's screen was locked.
  case screenLocked
}

/// Tells when the machine changed in a way that matters to tokens.
public protocol SystemSignals: Sendable {
  /// From now on `onSignal` is called, from any thread, for each change; changes that come in a burst are told once. A
  /// machine that can't tell some of them leaves those out: this never fails, and the agent works without.
  func start(_ onSignal: @escaping @Sendable (SystemSignal) -> Void)
  /// Nothing is told any more, but for a call that is under way.
  func stop()
  /// After `sleeps`: what had to be done before it is done.
  func readyToSleep()
}

extension SystemSignals {
  public func readyToSleep() {}
}

/// A machine that tells nothing.
public struct NoSystemSignals: SystemSignals {
  public init() {}
  public func start(_ onSignal: @escaping @Sendable (SystemSignal) -> Void) {}
  public func stop() {}
}
