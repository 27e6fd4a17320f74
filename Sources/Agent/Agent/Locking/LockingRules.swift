public import AgentModel

/// When the agent locks the vault without a request. By default never: background programs would stop.
public struct LockingRules: Hashable, Sendable {
  /// No request used the vault for this long.
  public var idle: Milliseconds?
  public var onSleep: Bool
  public var onScreenLock: Bool

  public init(idle: Milliseconds? = nil, onSleep: Bool = false, onScreenLock: Bool = false) {
    self.idle = idle
    self.onSleep = onSleep
    self.onScreenLock = onScreenLock
  }
}
