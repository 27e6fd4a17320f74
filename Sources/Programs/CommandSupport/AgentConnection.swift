internal import CPlatform
internal import Glibc
public import JSONRPC

/// One connection to the agent, used by one thread: it makes one call at a time, or waits for events.
public struct AgentConnection: ~Copyable {
  private let socket: Int32
  private var lines: LineReader
  private var tape = JSONTape()
  /// The id of the request that was sent last.
  private(set) var lastID: Int64 = 0
  /// The id of the request that was answered last.
  private var answeredID: Int64 = 0
  /// How long `result` waits for an answer; nil: as long as it takes.
  public var patienceMilliseconds: Int32?
  /// False for a connection of a program that serves others: its terminal shows no `WaitingLine`.
  public var tellsWaiting = true
  /// For whom `WaitingLine` says that the command waits, where no parameter of the request tells.
  public var waitsFor: String?
  /// What else a call heeds while it waits for its answer.
  public var watch = CallWatch()
  /// The milliseconds that the first answer was waited for before this value was made.
  private var waited: Int32 = 0

  /// Takes a connected socket. `deinit` closes it.
  init(socket: Int32) {
    self.socket = socket
    lines = LineReader()
  }

  /// Takes a connection on which the request `id` was sent, and the beginning of its answer.
  ///
  /// - Parameter waited: the milliseconds for which no byte of it came.
  public init(socket: Int32, sent id: Int64, received: UnsafeRawBufferPointer, waited: Int32) {
    self.socket = socket
    self.waited = waited
    lines = LineReader(received: received)
    lastID = id
  }

  deinit { close(socket) }

  /// Calls a method and passes its result to `result`. `params` writes the members of the parameters.
  ///
  /// Drops notifications that arrive before the answer.
  ///
  /// - Throws: the agent's error, `wentAway`, after `patienceMilliseconds` `agentSilent`, or `withdrawn` at the end that
  ///   `watch` names.
  @discardableResult
  public mutating func call<Result>(
    _ method: String, params: (inout JSONWriter) -> Void = { _ in }, result: (JSONNode) throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result {
    let id = try send(method, params: params)
    do throws(CommandFailure) {
      return try self.result(of: id, waitingFor: { WrittenParams.read(params) { WaitedFor($0).name } }, result)
    } catch {
      var failure = error
      if error.namesUnknown { failure.asked = WrittenParams.read(params) { AskedNames($0, method: method) } }
      throw failure
    }
  }

  /// Waits for the answer to the request `id` and passes its result to `result`.
  ///
  /// - Parameter waitingFor: whom a person is told to be waiting for; asked if it takes long.
  @discardableResult
  public mutating func result<Result>(
    of id: Int64, waitingFor: () -> String? = { nil }, _ result: (JSONNode) throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result {
    let deadline = patienceMilliseconds.map { ReadableDescriptor.Deadline.after(milliseconds: $0) }
    var line = WaitingLine(isAllowed: tellsWaiting, waited: waited)
    waited = 0
    watch.begin()
    while true {
      if let answer = try answer(to: id, result) { return answer }
      if deadline?.left == 0 { throw .silent }
      line.show { waitsFor ?? waitingFor() }
      let pauses = [line.pause, deadline?.left ?? -1, watch.pause].filter { $0 >= 0 }
      switch try wait(interruption: nil, milliseconds: pauses.min() ?? -1, orReadable: watch.end) {
      case .bytes: line.clear()
      case .other:
        cancel(id)
        throw .withdrawn
      case .timeout, .interrupted: break
      }
      watch.tellIfDue()
    }
  }

  /// Has the agent give up the request `id`. It still answers it.
  private func cancel(_ id: Int64) {
    var line = JSONWriter()
    line.beginObject()
    line.key("jsonrpc")
    line.string("2.0")
    line.key("method")
    line.string("$/cancel")
    line.key("params")
    line.beginObject()
    line.key("id")
    line.integer(id)
    line.endObject()
    line.endObject()
    line.byte(UInt8(ascii: "\n"))
    // A connection that is gone has withdrawn it, too.
    _ = line.withBytes { Output.write($0, to: socket) }
  }

  /// Calls a method and ignores its result.
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

  /// Sends a request. `writingParams` writes the member `params`, or nothing.
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
    // The agent closes the connection on a longer line.
    guard line.withBytes(\.count) <= SecretInput.largestBytes else { throw .tooLarge }
    line.byte(UInt8(ascii: "\n"))
    guard line.withBytes({ Output.write($0, to: socket) }) else { throw .wentAway }
    return lastID
  }

  /// Passes the result of the request `id` to `result`; returns nil if the answer has not arrived. Earlier events go to
  /// `event`, which drops them by default.
  ///
  /// - Throws: the error of the answer.
  public mutating func answer<Result>(
    to id: Int64, event: (JSONNode) -> Void = { _ in }, _ result: (JSONNode) throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result? {
    var answer: Result?
    var isAnswered = false
    defer { if isAnswered { answeredID = id } }
    while answer == nil {
      let arrived = try nextMessage { (message) throws(CommandFailure) in
        let isOurs = message["id"]?.integer == id && message["method"] == nil
        if isOurs { isAnswered = true }
        // An error without an id concerns the connection: too many connections, or a line that is not JSON.
        if let error = message["error"], isOurs || message["id"]?.kind == .null {
          throw CommandFailure(error: error)
        }
        guard isOurs else {
          if message["method"]?.isText("event") == true, let params = message["params"] { event(params) }
          return
        }
        guard let node = message["result"] else { throw CommandFailure.notUnderstood }
        answer = try result(node)
      }
      guard arrived else { return nil }
    }
    return answer
  }

  /// Passes the `params` of the next event to `body`; returns nil if none has arrived.
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
      guard line.contains(where: { $0 > 0x20 }) else { return }
      do throws(CommandFailure) {
        do {
          try JSONScanner.scan(line, onto: &tape)
        } catch {
          throw CommandFailure.notUnderstood
        }
        try tape.withRoot(of: line) { (root) throws(CommandFailure) in
          guard root.kind == .object else { throw CommandFailure.notUnderstood }
          try body(root)
        }
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return arrived != nil
  }

  /// What is known of an agent that was told to end.
  public enum End: Sendable {
    case ended
    /// It still runs when the time is over.
    case runs
    /// Its process can't be watched, and it has not closed the connection.
    case unknown
  }

  /// Has the agent end, and waits for the end of its process. Where that can't be watched, waits until the agent closes
  /// the connection.
  public mutating func shutDown(waiting milliseconds: Int32) throws(CommandFailure) -> End {
    let deadline = ReadableDescriptor.Deadline.after(milliseconds: milliseconds)
    let process = AgentProcess.ofPeer(at: socket)
    let id = try send("agent.shutdown")
    // An agent that hangs answers nothing, and one that is ending closes the connection without an answer.
    var hasAnswered = false
    var line = WaitingLine()
    while !hasAnswered {
      guard line.waits(for: socket, until: deadline) else { return process == nil ? .unknown : .runs }
      guard case .bytes = lines.fill(from: socket) else { break }
      hasAnswered = try answer(to: id) { (_) throws(CommandFailure) in true } ?? false
    }
    if let process { return process.hasEnded(until: deadline, telling: &line) ? .ended : .runs }
    guard hasAnswered else { return .ended }
    guard line.waits(for: socket, until: deadline) else { return .unknown }
    // No event comes on a connection without a subscription: what is readable is its end.
    if case .endOfFile = lines.fill(from: socket) { return .ended }
    return .unknown
  }

  /// Why `wait` returned.
  public enum Wakeup: Sendable { case bytes, timeout, interrupted, other }

  /// Waits for bytes from the agent, for a signal, or for the timeout; -1 waits without one.
  ///
  /// - Parameter other: another descriptor that ends the waiting when it can be read.
  public mutating func wait(
    interruption: Interruption?, milliseconds: Int32, orReadable other: Int32 = -1
  ) throws(CommandFailure) -> Wakeup {
    var watched = [pollfd(fd: socket, events: Int16(POLLIN), revents: 0)]
    // poll(2) passes over a negative descriptor.
    watched.append(pollfd(fd: interruption?.descriptor ?? -1, events: Int16(POLLIN), revents: 0))
    watched.append(pollfd(fd: other, events: Int16(POLLIN), revents: 0))
    let ready = poll(&watched, nfds_t(watched.count), milliseconds)
    if ready <= 0 { return .timeout }
    if watched[1].revents != 0 { return .interrupted }
    if watched[0].revents == 0 { return .other }
    switch lines.fill(from: socket) {
    case .bytes: return .bytes
    case .wouldBlock: return .timeout
    case .tooLong: throw .notUnderstood
    // Without an open request it only waited for events.
    case .endOfFile, .failed: throw answeredID == lastID ? .tellsNoMore : .wentAway
    }
  }
}

extension CommandFailure {
  static let wentAway = CommandFailure(
    .noAgent, name: "wentAway", "The agent closed the connection before it answered.",
    hints: ["The command may have taken effect: `lanyard status` shows the state now."])

  static let tellsNoMore = CommandFailure(
    .noAgent, name: "wentAway", "The agent has ended, or has closed this connection. It tells of nothing more here.")

  /// The agent was stopped, or the machine is too busy.
  static let silent = CommandFailure(
    .noAgent, name: "agentSilent", "The agent did not answer in time.",
    hints: ["The request may have taken effect.", "`lanyard doctor` looks for the cause."])

  static let tooLarge = CommandFailure.usage(
    "The request is too large: its whole JSON has at most 1 MiB. Nothing was sent.",
    hints: ["A body that is not UTF-8 text has at most about 768 KiB, since it is sent in Base64."])

  public static let notUnderstood = CommandFailure(
    .noAgent, name: "noAgent", "The program at the agent's socket does not speak its protocol.")
}
