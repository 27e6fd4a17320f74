public import AgentModel
public import JSONRPC

/// Writes lines to one client. Methods may be called from any thread and never block.
public protocol ConnectionOutput: AnyObject, Sendable {
  /// Queues a response. Responses are never dropped; a client with a full backlog is not read from.
  func send(_ line: WireBytes)
  /// Queues an event; false if the client's backlog is over its bound, and the event is dropped.
  func offer(_ line: WireBytes) -> Bool
  /// Queues a line from the reading thread; it is written when the current chunk has been read completely.
  func append(_ line: UnsafeRawBufferPointer)
  /// The name of the client's program, for display only: any program can choose its name, so no decision may depend on
  /// it. Nil if unknown.
  var peerName: String? { get }
  /// Closes the connection once the queue is written.
  func closeAfterFlush()
}

extension ConnectionOutput {
  public var peerName: String? { nil }
}

/// The agent's side of one connection: bytes in, lines out. The reading thread makes all calls, one at a time.
public protocol Conversation: AnyObject, Sendable {
  /// Takes bytes from the client, in chunks of any size. The caller wipes its buffer afterwards.
  func received(_ chunk: UnsafeRawBufferPointer)
  /// True if the last chunk had other requests than those answered from memory: their calls may have left a secret on
  /// the stack of the reading thread, which then wipes it.
  var mayHaveLeftSecretsOnStack: Bool { get }
  /// The client closed its side. Its requests are answered, then the output is closed.
  func endOfInput()
  /// When an incomplete line times out; nil if no line has begun.
  var lineDeadline: BootInstant? { get }
  /// `lineDeadline` has passed.
  func lineTimedOut()
  /// The client has read its backlog.
  func drained()
  /// The connection is closed.
  func ended()
}

extension Conversation {
  public var mayHaveLeftSecretsOnStack: Bool { true }
}

/// Accepts connections from a transport.
public protocol ConversationHost: AnyObject, Sendable {
  /// Starts a conversation; nil if the agent has the maximum number of connections.
  func begin(_ output: any ConnectionOutput) -> (any Conversation)?
  /// The line that a refused client gets.
  var refusalLine: WireBytes { get }
}
