public import AgentModel
public import AgentPorts
public import JSONRPC
public import PracticeProvider
internal import Synchronization

/// A client in memory on the agent's real connection: bytes in, lines out.
///
///     let client = try world.client()
///     let answer = await client.call("token.get", #"{"account":"work"}"#)
public final class SimulatedClient: ConnectionOutput {
  private struct State {
    var conversation: (any Conversation)?
    var ids = 0
    var waiting: [Int: CheckedContinuation<[UInt8]?, Never>] = [:]
    var answers: [Int: [UInt8]] = [:]
    var lines: [[UInt8]] = []
    var closing = false
    var isClosed = false
    var readsEvents = true
  }
  private let state = Mutex(State())
  private let life: ProcessLife
  /// Called once an answer was read.
  private let wasAnswered: @Sendable () async -> Void

  init?(
    host: any ConversationHost, life: ProcessLife, wasAnswered: @escaping @Sendable () async -> Void = {}
  ) {
    self.life = life
    self.wasAnswered = wasAnswered
    guard let conversation = host.begin(self) else { return nil }
    state.withLock { $0.conversation = conversation }
    life.atEnd { [weak self] in self?.closed() }
  }

  // MARK: calling

  /// Sends a request and waits for its answer.
  public func call(_ method: String, _ params: String = "{}") async -> SimulatedAnswer {
    await answer(to: send(method, params))
  }

  /// Sends a request and returns its id; `answer(to:)` waits for the answer.
  @discardableResult
  public func send(_ method: String, _ params: String = "{}") -> Int {
    let id = state.withLock { state in
      state.ids += 1
      return state.ids
    }
    write(#"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":\#(params)}"# + "\n")
    return id
  }

  public func answer(to id: Int) async -> SimulatedAnswer {
    let line: [UInt8]? = await withCheckedContinuation { waiter in
      let known: [UInt8]?? = state.withLock { state in
        if let line = state.answers.removeValue(forKey: id) { return .some(line) }
        if state.isClosed { return .some(nil) }
        state.waiting[id] = waiter
        return nil
      }
      if let known { waiter.resume(returning: known) }
    }
    await wasAnswered()
    return SimulatedAnswer(line: line)
  }

  public func notify(_ method: String, _ params: String = "{}") {
    write(#"{"jsonrpc":"2.0","method":"\#(method)","params":\#(params)}"# + "\n")
  }

  public func cancel(_ id: Int) { notify("$/cancel", #"{"id":\#(id)}"#) }

  // MARK: bytes

  /// Sends bytes unchanged, in one chunk.
  public func write(_ text: String) { write(Array(text.utf8)) }

  public func write(_ bytes: [UInt8]) {
    guard let conversation = open else { return }
    bytes.withUnsafeBytes { conversation.received($0) }
    closeIfAsked()
  }

  /// Ends the client's input; the client still reads.
  public func endOfInput() {
    open?.endOfInput()
    closeIfAsked()
  }

  /// Judges, as a transport does, a line that took too long; no effect if no line has begun.
  public func lineTimedOut() {
    guard let conversation = open, conversation.lineDeadline != nil else { return }
    conversation.lineTimedOut()
    closeIfAsked()
  }

  /// When the current line must have ended; nil if none has begun.
  public var lineDeadline: BootInstant? { open?.lineDeadline }

  /// Closes the connection from the client's side.
  public func disconnect() {
    guard let conversation = open else { return }
    closed()
    conversation.ended()
  }

  /// All lines since the last call, answers and events, in their order.
  public func takeLines() -> [String] {
    state.withLock { state in
      defer { state.lines = [] }
      return state.lines.map { String(decoding: $0, as: UTF8.self) }
    }
  }

  /// The events so far, oldest first.
  public var events: [PracticeJSON] {
    state.withLock { state in
      state.lines.compactMap { PracticeJSON(line: $0) }.filter { $0["method"]?.stringValue == "event" }
        .compactMap { $0["params"] }
    }
  }

  public var isClosed: Bool { state.withLock { $0.isClosed } }

  /// While false, the client refuses events, like a transport whose client does not read.
  public var readsEvents: Bool {
    get { state.withLock { $0.readsEvents } }
    set {
      state.withLock { $0.readsEvents = newValue }
      if newValue { open?.drained() }
    }
  }

  private var open: (any Conversation)? {
    life.isAlive ? state.withLock { $0.isClosed ? nil : $0.conversation } : nil
  }

  // MARK: what the agent writes

  public func send(_ line: WireBytes) { line.withBytes { take($0) } }

  public func offer(_ line: WireBytes) -> Bool {
    guard state.withLock({ $0.readsEvents }) else { return false }
    line.withBytes { take($0) }
    return true
  }

  public func append(_ lines: UnsafeRawBufferPointer) { take(lines) }

  public func closeAfterFlush() {
    state.withLock { $0.closing = true }
    closeIfAsked()
  }

  /// Everything is flushed at once here, so a requested close is due.
  private func closeIfAsked() {
    guard state.withLock({ $0.closing && !$0.isClosed }) else { return }
    let conversation = state.withLock { $0.conversation }
    closed()
    conversation?.ended()
  }

  private func take(_ bytes: UnsafeRawBufferPointer) {
    guard life.isAlive else { return }
    for line in bytes.split(separator: 0x0A) { take(Array(line)) }
  }

  private func take(_ line: [UInt8]) {
    let id = Self.id(of: line)
    let waiter = state.withLock { state -> CheckedContinuation<[UInt8]?, Never>? in
      guard !state.isClosed else { return nil }
      state.lines.append(line)
      guard let id else { return nil }
      let waiter = state.waiting.removeValue(forKey: id)
      if waiter == nil { state.answers[id] = line }
      return waiter
    }
    waiter?.resume(returning: line)
  }

  /// The id of an answer; the agent writes it at the front of the line.
  private static func id(of line: [UInt8]) -> Int? {
    let head = Array(#"{"jsonrpc":"2.0","id":"#.utf8)
    guard line.starts(with: head) else { return nil }
    return Int(String(decoding: line[head.count...].prefix { $0 >= 0x30 && $0 <= 0x39 }, as: UTF8.self))
  }

  private func closed() {
    let waiting = state.withLock { state in
      state.isClosed = true
      state.conversation = nil
      defer { state.waiting = [:] }
      return state.waiting.sorted { $0.key < $1.key }.map(\.value)
    }
    for waiter in waiting { waiter.resume(returning: nil) }
  }
}
