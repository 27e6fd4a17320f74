internal import Agent

/// The bounds of the wire, listed by `agent.hello` (docs/protocol.md, Limits).
enum Limits {
  /// A line. Requests are small; 64 KiB is what one read takes.
  static let lineBytes = 64 << 10
  /// A line of a method that carries bodies.
  static let bodyLineBytes = 1 << 20
  static let nesting = 64
  /// Requests in flight a connection: enough for any pipelining, few enough that one client can't fill the agent.
  static let requestsInFlight = 128
  static let connections = 64
  /// From a line's first byte to its newline.
  static let lineSeconds: Int64 = 10
  /// Events that wait for a client which does not read.
  static let eventBacklogBytes = 1 << 20
}
