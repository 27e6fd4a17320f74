/// The protocol of one connection, without I/O: ids, answers, limits, events. Its owner holds a lock around each use.
struct ConnectionCore {
  /// The longest line that the client reads. Answers to `request.send` hold whole bodies.
  static let largestAnswerBytes = 64 << 20
  /// The number of events kept that arrive before the answer with their subscription.
  static let largestStrays = 1024

  /// The agent's limits for a client; the defaults of docs/protocol.md until `agent.hello` tells them.
  struct Limits: Sendable, Equatable {
    var requestsInFlight = 128
    var lineBytes = 64 << 10
    var bodyLineBytes = 1 << 20
  }

  /// The end of a call, performed after the lock was released.
  struct Ending {
    let call: PendingCall
    let result: Result<Answer, any Error>

    func perform() { call.end(result) }
  }

  /// A request in flight.
  private enum Waiting {
    case call(PendingCall)
    /// The call was cancelled: its answer is ignored.
    case cancelled
    /// A call for a subscription was cancelled: a subscription that is granted all the same is ended.
    case cancelledSubscribing

    var call: PendingCall? {
      guard case .call(let call) = self else { return nil }
      return call
    }
  }

  var limits = Limits()
  private var lastID = 0
  private var waiting: [Int: Waiting] = [:]
  private var subscribing: [Int: EventFeed] = [:]
  private var feeds: [String: EventFeed] = [:]
  private var strays: [Event] = []
  /// Subscriptions that came after their caller gave up, to be ended in the agent.
  private var orphans: [String] = []

  /// True if one more request fits the agent's limit. A cancelled request counts until it is answered.
  var hasRoom: Bool { waiting.count < limits.requestsInFlight }

  /// The id and the line of a new request.
  ///
  /// - Throws: `requestTooLarge`: the agent would close the connection, which other callers may share.
  mutating func request(
    _ method: String, params: WireWriter?, call: PendingCall?, feed: EventFeed? = nil
  ) throws(LanyardError) -> (id: Int, line: WireBuffer) {
    lastID += 1
    let line = Self.line(id: lastID, method: method, params: params)
    let limit = ContractTable.methodsWithBodies.contains(method) ? limits.bodyLineBytes : limits.lineBytes
    guard line.count <= limit else {
      throw LanyardError(.requestTooLarge, "the request has \(line.count) bytes; the agent's limit is \(limit)")
    }
    waiting[lastID] = call.map(Waiting.call) ?? .cancelled
    subscribing[lastID] = feed
    return (lastID, line)
  }

  private static func line(id: Int?, method: String, params: WireWriter?) -> WireBuffer {
    var writer = WireWriter()
    writer.beginObject()
    writer.member("jsonrpc", "2.0")
    writer.member("id", id)
    writer.member("method", method)
    if let params {
      writer.key("params")
      writer.written(params)
    }
    writer.endObject()
    writer.buffer.append(UInt8(ascii: "\n"))
    return writer.buffer
  }

  /// Cancels a request. Returns the line that tells the agent, or nil if the request was answered already.
  mutating func cancel(_ id: Int) -> WireBuffer? {
    guard waiting[id] != nil else { return nil }
    waiting[id] = subscribing.removeValue(forKey: id) == nil ? .cancelled : .cancelledSubscribing
    var params = WireWriter()
    params.beginObject()
    params.member("id", id)
    params.endObject()
    return Self.line(id: nil, method: "$/cancel", params: params)
  }

  /// Forgets a request that was never sent. Returns its call, unless that was cancelled.
  @discardableResult
  mutating func unsend(_ id: Int) -> PendingCall? {
    subscribing[id] = nil
    return waiting.removeValue(forKey: id)?.call
  }

  /// The id of a call in flight.
  func id(of call: PendingCall) -> Int? { waiting.first { $0.value.call === call }?.key }

  /// Forgets a subscription: its events are dropped.
  mutating func unsubscribe(_ subscription: String) { feeds[subscription] = nil }

  /// Handles a line. After an error the connection can't be used.
  mutating func lineArrived(_ message: WireNode) throws(LanyardError) -> Ending? {
    guard message.mark.kind == .object else {
      throw LanyardError(.protocolError, "a line of the agent is not an object")
    }
    if let method = message["method"] {
      guard method.isText("event") else { return nil }
      guard let params = message["params"] else { throw .unexpected("/params", "not an object") }
      eventArrived(try Event(params, at: "/params"))
      return nil
    }
    guard let id = message["id"], !id.isNull else {
      // An error without an id belongs to no call, so some call would wait for ever. End the connection.
      throw LanyardError(message["error"])
    }
    guard let number = id.integer, let entry = waiting.removeValue(forKey: number) else { return nil }
    let feed = subscribing.removeValue(forKey: number)
    if case .cancelledSubscribing = entry, let late = message["result"]?["subscription"]?.string {
      orphans.append(late)
    }
    guard let call = entry.call else { return nil }
    return Ending(call: call, result: result(of: message, for: feed))
  }

  private mutating func result(of message: WireNode, for feed: EventFeed?) -> Result<Answer, any Error> {
    if let error = message["error"] { return .failure(LanyardError(error)) }
    guard let result = message["result"], result.mark.kind == .object else {
      return .failure(LanyardError(.protocolError, "a result of the agent is not an object"))
    }
    if let feed {
      do throws(LanyardError) {
        feeds[try feed.subscribed(result)] = feed
      } catch {
        return .failure(error)
      }
      let early = strays
      strays = []
      for event in early { eventArrived(event) }
    }
    return .success(Answer(result: result))
  }

  private mutating func eventArrived(_ event: Event) {
    if let feed = feeds[event.subscription] {
      feed.receive(event)
    } else if !subscribing.isEmpty, strays.count < Self.largestStrays {
      strays.append(event)
    }
  }

  /// The subscriptions that nothing wants any more; each is told once.
  mutating func takeOrphans() -> [String] {
    defer { orphans = [] }
    return orphans
  }

  /// Ends the connection: every call that waits fails.
  mutating func lost(_ error: LanyardError) -> [Ending] {
    let endings = waiting.values.compactMap(\.call).map { Ending(call: $0, result: .failure(error)) }
    waiting = [:]
    subscribing = [:]
    for feed in feeds.values { feed.connectionEnded() }
    feeds = [:]
    return endings
  }
}
