import AgentServing
import AgentPorts
import Foundation
import JSONRPC
import Synchronization

/// A client without a transport: keeps the lines that it receives from the agent.
final class RecordedClient: ConnectionOutput {
  private struct State {
    var bytes: [UInt8] = []
    var isClosed = false
    var resumed = 0
    var waiting: [(Int, CheckedContinuation<Void, Never>)] = []
    var lineCount: Int { bytes.count { $0 == 0x0A } }
  }
  private let state = Mutex(State())
  private let conversation = Mutex<(any Conversation)?>(nil)

  init(_ agent: AgentUnderTest) throws {
    guard let begun = agent.service.begin(self) else { throw NoPlace() }
    conversation.withLock { $0 = begun }
  }

  struct NoPlace: Error {}

  var talk: any Conversation { conversation.withLock { $0! } }
  var isClosed: Bool { state.withLock { $0.isClosed } }
  /// How often the agent has said that it reads again.
  var resumed: Int { state.withLock { $0.resumed } }
  var lines: [String] {
    state.withLock { $0.bytes.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) } }
  }

  /// The answers and events as JSON values.
  var objects: [Answer] { lines.map(Answer.init) }

  /// Sends these bytes to the agent, `piece` at a time, until the agent closes.
  func send(_ text: String, piece: Int = .max) { send([UInt8](text.utf8), piece: piece) }

  func send(_ bytes: [UInt8], piece: Int = .max) {
    var rest = bytes[...]
    while !rest.isEmpty, !isClosed {
      rest.prefix(piece).withUnsafeBytes { talk.received($0) }
      rest = rest.dropFirst(piece)
    }
  }

  /// Returns when at least `count` lines have arrived.
  func waitForLines(_ count: Int) async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.lineCount >= count { return true }
        state.waiting.append((count, continuation))
        return false
      }
      if isThere { continuation.resume() }
    }
  }

  private func take(_ bytes: UnsafeRawBufferPointer) {
    let copy = [UInt8](bytes)
    let due = state.withLock { state in
      state.bytes += copy
      let count = state.lineCount
      defer { state.waiting.removeAll { $0.0 <= count } }
      return state.waiting.filter { $0.0 <= count }.map(\.1)
    }
    for continuation in due { continuation.resume() }
  }

  // MARK: ConnectionOutput

  func send(_ line: WireBytes) { line.withBytes { take($0) } }
  func offer(_ line: WireBytes) -> Bool {
    line.withBytes { take($0) }
    return true
  }
  func append(_ lines: UnsafeRawBufferPointer) { take(lines) }
  func resumeReading() { state.withLock { $0.resumed += 1 } }
  func closeAfterFlush() { state.withLock { $0.isClosed = true } }
}

/// One line of the agent, as JSON.
struct Answer {
  let text: String
  let object: [String: Any]

  init(_ text: String) {
    self.text = text
    object = (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any] ?? [:]
  }

  /// The code of an error; 0 for a result.
  var code: Int { (object["error"] as? [String: Any])?["code"] as? Int ?? 0 }
  var data: [String: Any] { (object["error"] as? [String: Any])?["data"] as? [String: Any] ?? [:] }
  var result: [String: Any] { object["result"] as? [String: Any] ?? [:] }
  var id: Int? { object["id"] as? Int }
  var hasNullID: Bool { object["id"] is NSNull }
}
