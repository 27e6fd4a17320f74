/// The bounds of the wire that a configuration may change.
public struct ServingLimits: Hashable, Sendable {
  /// A person's programs at the same time, with room for some that leak connections.
  public var connections = 1024
  /// That run at once, for each connection: enough for any pipelining, few enough that one client can't fill the agent.
  public var requestsInFlight = 128

  public init() {}
}

/// The bounds of the wire, listed by `agent.hello` (docs/protocol.md, Limits).
enum Limits {
  /// A line. Requests are small; 64 KiB is what one read takes.
  static let lineBytes = 64 << 10
  /// A line of a method that carries bodies.
  static let bodyLineBytes = 1 << 20
  static let nesting = 64
  /// From a line's first byte to its newline.
  static let lineSeconds: Int64 = 10
  /// Lines of one connection that wait for a place: as much as the longest line.
  static let waitingBytes = 1 << 20
  /// What a line counts at least while it waits: about the memory of a request with few params.
  static let leastWaitingBytes = 256
  /// Requests up to this length do not count among those of all connections: the places and the queue of each connection
  /// bound them.
  static let uncountedBytes = 1 << 10
  /// Events that wait for a client which does not read.
  static let eventBacklogBytes = 1 << 20
}
