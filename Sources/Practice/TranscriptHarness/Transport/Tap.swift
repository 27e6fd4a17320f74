internal import AgentModel
internal import AgentPorts
internal import JSONRPC
internal import Synchronization

/// Counts what passes between a transport and the agent, so that the harness knows when everything that was sent has
/// been taken, and everything that was answered has arrived. It changes nothing.
final class Tap: Sendable {
  struct Counts: Sendable {
    /// Bytes of the client's that the agent has dealt with.
    var taken = 0
    /// Bytes that the agent has given out for the client.
    var given = 0
    var hasSeenEnd = false
    /// The agent asked for the connection to be closed.
    var isClosing = false
    /// The transport has let the client go.
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

/// The agent as a transport sees it, with a tap on every conversation.
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

  /// The taps in the order in which clients came; those who found no place are not among them.
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
    // Counted first, so that what has arrived is never more than what was given.
    tap.note { $0.given += count }
    let taken = inner.offer(line)
    if !taken { tap.note { $0.given -= count } }
    return taken
  }

  func append(_ line: UnsafeRawBufferPointer) {
    let count = line.count
    tap.note { $0.given += count }
    inner.append(line)
  }

  func closeAfterFlush() {
    tap.note { $0.isClosing = true }
    inner.closeAfterFlush()
  }
}
