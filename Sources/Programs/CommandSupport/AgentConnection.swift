internal import CPlatform
internal import Glibc
public import JSONRPC

/// One connection to the agent, spoken over by one thread: a call at a time, or a wait for events.
public struct AgentConnection: ~Copyable {
  private let socket: Int32
  private var lines = LineReader()
  private var tape = JSONTape()
  private var lastID: Int64 = 0

  /// Over a connected socket, which is closed with this value.
  init(socket: Int32) { self.socket = socket }

  deinit { close(socket) }

  /// Calls a method, whose parameters `params` writes as members, and lends its result.
  ///
  /// Notifications that come meanwhile are dropped. Throws the agent's refusal, or that it went away.
  @discardableResult
  public mutating func call<Result>(
    _ method: String, params: (inout JSONWriter) -> Void = { _ in }, result: (JSONNode) throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result {
    let id = try send(method, params: params)
    return try self.result(of: method, id: id, result)
  }

  /// Waits for the answer to a request that was sent, and lends its result.
  @discardableResult
  public mutating func result<Result>(
    of method: String, id: Int64, _ result: (JSONNode) throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result {
    while true {
      if let answer = try answer(to: id, of: method, result) { return answer }
      _ = try wait(interruption: nil, milliseconds: -1)
    }
  }

  /// Calls a method for its effect.
  public mutating func perform(
    _ method: String, params: (inout JSONWriter) -> Void = { _ in }
  ) throws(CommandFailure) {
    try call(method, params: params) { (_) throws(CommandFailure) in }
  }

  /// Sends a request and returns its id.
  public mutating func send(
    _ method: String, params: (inout JSONWriter) -> Void = { _ in }
  ) throws(CommandFailure) -> Int64 {
    try request(method) { writer in
      writer.key("params")
      writer.beginObject()
      params(&writer)
      writer.endObject()
    }
  }

  /// Sends a request whose member `params` is written whole, or left out.
  public mutating func request(
    _ method: String, writingParams: (inout JSONWriter) -> Void
  ) throws(CommandFailure) -> Int64 {
    lastID += 1
    var line = JSONWriter()
    line.beginObject()
    line.key("jsonrpc")
    line.string("2.0")
    line.key("id")
    line.integer(lastID)
    line.key("method")
    line.string(method)
    writingParams(&line)
    line.endObject()
    line.byte(UInt8(ascii: "\n"))
    guard line.withBytes({ Output.write($0, to: socket) }) else { throw .wentAway }
    return lastID
  }

  /// The answer to a request, if it has arrived: its result is lent, its error thrown. Events before it are dropped.
  public mutating func answer<Result>(
    to id: Int64, of method: String, _ result: (JSONNode) throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result? {
    var answer: Result?
    while answer == nil {
      let arrived = try nextMessage { (message) throws(CommandFailure) in
        let isOurs = message["id"]?.integer == id
        // An error without an id is the agent's word on the connection itself: too many, or not understood.
        if let error = message["error"], isOurs || message["id"]?.kind == .null {
          throw CommandFailure(error: error, of: method)
        }
        guard isOurs else { return }
        guard let node = message["result"] else { throw CommandFailure.notUnderstood }
        answer = try result(node)
      }
      guard arrived else { return nil }
    }
    return answer
  }

  /// The next event, if one has arrived: the `params` of its notification.
  public mutating func event<Result>(_ body: (JSONNode) throws(CommandFailure) -> Result) throws(CommandFailure)
    -> Result?
  {
    var event: Result?
    while event == nil {
      let arrived = try nextMessage { (message) throws(CommandFailure) in
        if message["method"]?.isText("event") == true, let params = message["params"] { event = try body(params) }
      }
      guard arrived else { return nil }
    }
    return event
  }

  private mutating func nextMessage(
    _ body: (JSONNode) throws(CommandFailure) -> Void
  ) throws(CommandFailure) -> Bool {
    var failure: CommandFailure?
    let arrived: Void? = lines.next { line in
      do throws(CommandFailure) {
        do {
          try JSONScanner.scan(line, onto: &tape)
        } catch {
          throw CommandFailure.notUnderstood
        }
        try tape.withRoot(of: line) { (root) throws(CommandFailure) in try body(root) }
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return arrived != nil
  }

  /// What ended a wait.
  public enum Wakeup: Sendable { case bytes, timeout, interrupted }

  /// Waits until the agent has said something, a signal came, or the time is over (-1: for ever).
  public mutating func wait(
    interruption: Interruption?, milliseconds: Int32
  ) throws(CommandFailure) -> Wakeup {
    var watched = [pollfd(fd: socket, events: Int16(POLLIN), revents: 0)]
    if let signals = interruption?.descriptor {
      watched.append(pollfd(fd: signals, events: Int16(POLLIN), revents: 0))
    }
    let ready = poll(&watched, nfds_t(watched.count), milliseconds)
    if ready == 0 { return .timeout }
    if ready < 0 { return .timeout }
    if watched.count > 1, watched[1].revents != 0 { return .interrupted }
    switch lines.fill(from: socket) {
    case .bytes: return .bytes
    case .wouldBlock: return .timeout
    case .tooLong: throw .notUnderstood
    case .endOfFile, .failed: throw .wentAway
    }
  }
}

extension CommandFailure {
  static let wentAway = CommandFailure(
    .noAgent, name: "wentAway", "The agent closed the connection before it answered.",
    hints: ["Whether it did what was asked is not known: `lanyard status` shows how things stand."])

  public static let notUnderstood = CommandFailure(
    .noAgent, name: "noAgent", "What answers at the agent's socket does not speak its protocol.")
}
