public import AgentModel
public import JSONRPC

/// Where the lines of one client go. Called from any thread; never blocks.
public protocol ConnectionOutput: AnyObject, Sendable {
  /// Queues a line: answers are never dropped, the client that does not read them is not read from.
  func send(_ line: WireBytes)
  /// Queues an event; false if the client's backlog is over its bound, and the event is not queued.
  func offer(_ line: WireBytes) -> Bool
  /// Queues a line on the reading thread; it leaves when the chunk in hand has been read through.
  func append(_ line: UnsafeRawBufferPointer)
  /// What the program at the other end calls itself, for people alone: nobody vouches for it, and nothing may be decided
  /// by it. Nil where that can't be told.
  var peerName: String? { get }
  /// Closes when everything that is queued has been written.
  func closeAfterFlush()
}

extension ConnectionOutput {
  public var peerName: String? { nil }
}

/// One client as its transport sees it: bytes in, lines out. All calls come from the reading thread, one at a time.
public protocol Conversation: AnyObject, Sendable {
  /// Bytes of the client's, in any chunks. The caller wipes its buffer afterwards.
  func received(_ chunk: UnsafeRawBufferPointer)
  /// The client will send no more; what it asked is finished and answered, then the output is closed.
  func endOfInput()
  /// When the line that has begun must have ended; nil if none has.
  var lineDeadline: BootInstant? { get }
  func lineTimedOut()
  /// The client has read its backlog.
  func drained()
  /// The client is gone.
  func ended()
}

/// What answers the clients of a transport.
public protocol ConversationHost: AnyObject, Sendable {
  /// A new client; nil if there are as many as the agent takes.
  func begin(_ output: any ConnectionOutput) -> (any Conversation)?
  /// What a client is told for whom there is no place.
  var refusalLine: WireBytes { get }
}
