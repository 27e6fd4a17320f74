internal import AgentModel
internal import AgentPorts
internal import JSONRPC
internal import Synchronization

/// Counts the bytes between a transport and the agent, so that the harness knows when the agent has read everything
/// that was sent, and when every answer has arrived. It changes nothing.
final class Tap: Sendable {
  struct Counts: Sendable {
    /// Bytes of the client that the agent has processed.
    var taken = 0
    /// Bytes that the agent has written for the client.
    var given = 0
    var hasSeenEnd = false
    /// The agent asked to close the connection.
    var isClosing = false
    /// The transport has released the client.
    var isOver = false
    /// Line deadlines judged so far; a closed line counts too.
    var deadline: BootInstant?
  }
  private let state = Mutex(Counts())
  private let onChange: @Sendable () -> Void

  init(onChange: @escaping @Sendable () -> Void) { self.onChange = onChange }

  var counts: Counts { state.withLock { $0 } }

  func note(_ change: (inout sending Counts) -> Void) {
    state.withLock { change(&$0) }
    onChange()
  }
}

/// The agent for a transport, with a tap on every conversation.
final class TappedHost: ConversationHost {
  private struct State {
    var taps: [Tap] = []
    var refused = 0
  }
  private let inner: any ConversationHost
  private let state = Mutex(State())
  private let onChange: @Sendable () -> Void

  init(_ inner: any ConversationHost, onChange: @escaping @Sendable () -> Void) {
    self.inner = inner
    self.onChange = onChange
  }

  /// The taps in the order of their clients; refused clients have none.
  var taps: [Tap] { state.withLock { $0.taps } }
  var refused: Int { state.withLock { $0.refused } }

  func begin(_ output: any ConnectionOutput) -> (any Conversation)? {
    let tap = Tap(onChange: onChange)
    guard let conversation = inner.begin(TappedOutput(output, tap)) else { return nil }
    state.withLock { $0.taps.append(tap) }
    onChange()
    return TappedConversation(conversation, tap)
  }

  var refusalLine: WireBytes {
    state.withLock { $0.refused += 1 }
    onChange()
    return inner.refusalLine
  }
}

private final class TappedConversation: Conversation {
  private let inner: any Conversation
  private let tap: Tap

  init(_ inner: any Conversation, _ tap: Tap) {
    self.inner = inner
    self.tap = tap
  }

  func received(_ chunk: UnsafeRawBufferPointer) {
    let count = chunk.count
    inner.received(chunk)
    tap.note { $0.taken += count }
  }

  func endOfInput() {
    inner.endOfInput()
    tap.note { $0.hasSeenEnd = true }
  }

  var hasRoom: Bool { inner.hasRoom }
  func takesMoreAnswers() { inner.takesMoreAnswers() }
  var lineDeadline: BootInstant? { inner.lineDeadline }
  func lineTimedOut() { inner.lineTimedOut() }
  func drained() { inner.drained() }

  func ended() {
    inner.ended()
    tap.note { $0.isOver = true }
  }
}

private final class TappedOutput: ConnectionOutput {
  private let inner: any ConnectionOutput
  private let tap: Tap

  init(_ inner: any ConnectionOutput, _ tap: Tap) {
    self.inner = inner
    self.tap = tap
  }

  func send(_ line: WireBytes) {
    let count = line.count
    tap.note { $0.given += count }
    inner.send(line)
  }

  func offer(_ line: WireBytes) -> Bool {
    let count = line.count
    // Counted first, so that the arrived bytes never exceed the written ones.
    tap.note { $0.given += count }
    let taken = inner.offer(line)
    if !taken { tap.note { $0.given -= count } }
    return taken
  }

  func append(_ lines: UnsafeRawBufferPointer) {
    let count = lines.count
    tap.note { $0.given += count }
    inner.append(lines)
  }

  var peerProcess: Int32? { inner.peerProcess }
  var hasUnreadInput: Bool { inner.hasUnreadInput }
  var takesMoreAnswers: Bool { inner.takesMoreAnswers }
  func resumeReading() { inner.resumeReading() }

  func closeAfterFlush() {
    tap.note { $0.isClosing = true }
    inner.closeAfterFlush()
  }

  func leave() {
    tap.note { $0.isClosing = true }
    inner.leave()
  }
}
