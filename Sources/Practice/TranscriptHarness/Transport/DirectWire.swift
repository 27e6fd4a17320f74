internal import AgentPorts
internal import JSONRPC
internal import Synchronization

/// A client in the same process: passes bytes straight to the conversation, as a transport's reading thread does.
final class DirectWire: Wire {
  /// Receives the agent's lines; an object of its own, since the wire belongs to one thread.
  final class Inbox: ConnectionOutput {
    private struct State {
      var bytes: [UInt8] = []
      var isClosed = false
    }
    private let state = Mutex(State())

    func send(_ line: WireBytes) { take(line.withBytes { [UInt8]($0) }) }

    func offer(_ line: WireBytes) -> Bool {
      take(line.withBytes { [UInt8]($0) })
      return true
    }

    func append(_ lines: UnsafeRawBufferPointer) { take([UInt8](lines)) }
    func closeAfterFlush() { state.withLock { $0.isClosed = true } }

    private func take(_ line: [UInt8]) { state.withLock { $0.bytes += line } }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    func empty() -> [UInt8] {
      state.withLock { state in
        defer { state.bytes = [] }
        return state.bytes
      }
    }
  }

  let tap: Tap?
  private let inbox: Inbox
  private let conversation: any Conversation
  private var isOver = false

  init(_ conversation: any Conversation, inbox: Inbox, tap: Tap?) {
    self.conversation = conversation
    self.inbox = inbox
    self.tap = tap
  }

  var hasEnded: Bool { inbox.isClosed || isOver }
  var descriptor: Int32 { -1 }

  func send(_ bytes: [UInt8]) {
    guard !hasEnded else { return }
    bytes.withUnsafeBytes { conversation.received($0) }
  }

  func halfClose() { if !hasEnded { conversation.endOfInput() } }

  func close() {
    guard !isOver else { return }
    isOver = true
    conversation.ended()
  }

  func receive() -> [UInt8] { inbox.empty() }

  /// Judges the line's deadline, as a reading thread does when its clock has moved.
  func judgeDeadline(_ isDue: (any Conversation) -> Bool) {
    if !hasEnded, isDue(conversation) { conversation.lineTimedOut() }
  }
}

/// A client that was refused for lack of room.
final class RefusedWire: Wire {
  private var line: [UInt8]
  init(_ line: WireBytes) { self.line = line.withBytes { [UInt8]($0) } }

  var tap: Tap? { nil }
  var hasEnded: Bool { true }
  var descriptor: Int32 { -1 }
  func send(_ bytes: [UInt8]) {}
  func halfClose() {}
  func close() {}

  func receive() -> [UInt8] {
    defer { line = [] }
    return line
  }
}
