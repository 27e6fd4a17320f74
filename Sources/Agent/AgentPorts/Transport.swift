public import AgentModel
public import JSONRPC

/// Writes lines to one client. Methods may be called from any thread and never block.
public protocol ConnectionOutput: AnyObject, Sendable {
  /// Queues a response. Responses are never dropped; a client with a full backlog is not read from.
  func send(_ line: WireBytes)
  /// Queues an event; false if the client's backlog is over its bound, and the event is dropped.
  func offer(_ line: WireBytes) -> Bool
  /// Writes or queues whole lines, from the reading thread. What is queued is written when the current chunk has been
  /// read completely.
  func append(_ lines: UnsafeRawBufferPointer)
  /// The name of the client's program, for display only: any program can choose its name, so no decision may depend on
  /// it. Nil if unknown.
  var peerName: String? { get }
  /// The id of the process that connected; nil if unknown. It only counts connections: the process may have given its
  /// connection to another one.
  var peerProcess: Int32? { get }
  /// True if the client is the command line that was installed with this agent. Read only when all places are taken.
  var isOwnersCommandLine: Bool { get }
  /// True if bytes of the client were not read yet.
  var hasUnreadInput: Bool { get }
  /// Closes the connection once the queue is written.
  func closeAfterFlush()
  /// Closes an idle connection, which makes room for another one: at once if the client has not read its queue.
  func leave()
  /// False while the client has many answers to read. The conversation then begins no request that waits, and is told by
  /// `takesMoreAnswers` when that has changed.
  var takesMoreAnswers: Bool { get }
  /// The conversation's `hasRoom` has become true. Called from any thread.
  func resumeReading()
}

extension ConnectionOutput {
  public var peerName: String? { nil }
  public var peerProcess: Int32? { nil }
  public var isOwnersCommandLine: Bool { false }
  public var hasUnreadInput: Bool { false }
  public var takesMoreAnswers: Bool { true }
  public func leave() { closeAfterFlush() }
  public func resumeReading() {}
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
  /// False while more requests wait than the agent keeps for one connection: the transport reads no more from it, until
  /// `ConnectionOutput.resumeReading`.
  var hasRoom: Bool { get }
  /// The output has said before that it takes no more answers; now it does.
  func takesMoreAnswers()
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
  public var hasRoom: Bool { true }
  public func takesMoreAnswers() {}
}

/// Accepts connections from a transport.
public protocol ConversationHost: AnyObject, Sendable {
  /// Starts a conversation, if need be in place of an idle one; nil if the agent has the maximum number of connections.
  func begin(_ output: any ConnectionOutput) -> (any Conversation)?
  /// The line that a refused client gets.
  var refusalLine: WireBytes { get }
}
