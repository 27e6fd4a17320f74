internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore
internal import AgentWire
internal import JSONRPC
internal import Synchronization

/// Begins the requests of one connection in the order that their methods demand, and answers each once.
final class RequestDispatcher: Sendable {
  private let connections: OpenConnections
  private let methods: ServedMethods
  private let client: ConnectedClient
  private let requests: RequestsInFlight
  private let gate = OrderingGate()
  private let end = Mutex(End.open)
  private enum End { case open, halfClosed, gone }

  init(_ connections: OpenConnections, _ methods: ServedMethods, client: ConnectedClient) {
    (self.connections, self.methods) = (connections, methods)
    self.client = client
    requests = client.requests
  }

  private var agent: AgentService { connections.agent }

  /// True if a request with this id may be answered at once: none comes before it, and none has its id.
  func mayAnswerNow(_ id: UnsafeRawBufferPointer) -> Bool {
    // The gate last: a request that waited for its place is in the gate before the queue is empty.
    !agent.isShuttingDown && requests.mayOvertake(id) && !gate.isHeld
  }

  /// The client will send no more. Its requests are finished and answered before the connection closes.
  func inputEnded() {
    end.withLock { $0 = .halfClosed }
    if requests.isEmpty { client.output.closeAfterFlush() }
  }

  /// The client is gone.
  func connectionEnded() {
    end.withLock { $0 = .gone }
    client.ended()
  }

  // MARK: requests

  /// Takes the members of a batch as if each came on its own line.
  ///
  /// - Parameters:
  ///   - answered: how many members, the first ones, were answered before; `answers` are theirs, joined by commas.
  ///   - cached: answers a member from memory, or returns nil.
  func takeBatch(_ root: JSONNode, answered: Int, _ answers: WireBytes?, cached: (Envelope) -> WireBytes?) {
    guard root.elements.contains(where: { _ in true }) else {
      return AnswerSlot.line(client.output).fill(nil, FixedErrors.invalidRequest)
    }
    // Members that were answered before stand in the batch as one.
    var index = 0
    let places = root.elements.count { Envelope($0).isAnswered } - answered + (answers == nil ? 0 : 1)
    let batch = BatchAnswers(count: places, output: client.output)
    if let answers {
      batch.fill(index, answers)
      index += 1
    }
    for element in root.elements.dropFirst(answered) {
      let envelope = Envelope(element)
      if let answer = cached(envelope) {
        batch.fill(index, answer)
      } else {
        take(envelope, of: element, slot: .batch(batch, index: index))
      }
      if envelope.isAnswered { index += 1 }
    }
  }

  /// - Parameter node: the whole request.
  func take(_ envelope: Envelope, of node: JSONNode, slot: AnswerSlot) {
    switch envelope {
    case .invalid(let rawID):
      client.unserved(invalid: node)
      slot.fill(rawID, FixedErrors.invalidRequest)
    case .request(nil, let method, let params): takeNotification(node, method.string ?? "", params)
    case .request(let rawID?, let method, let params): takeRequest(node, rawID, method.string ?? "", params, slot)
    }
  }

  private func takeRequest(
    _ node: JSONNode, _ rawID: UnsafeRawBufferPointer, _ name: String, _ params: JSONNode?, _ slot: AnswerSlot
  ) {
    // Check this first: the client would take any answer with this id for the answer to the request in flight.
    guard !requests.contains(rawID) else {
      client.unserved(name, params)
      return slot.fill(AnswerObject.error(id: nil, FixedErrors.duplicateID))
    }
    let id = Array(rawID)
    guard let method = methods[name] else {
      return slot.fill(AnswerObject.error(id: rawID, FixedErrors.methodNotFound))
    }
    if agent.isShuttingDown { return slot.fill(AnswerObject.error(id: rawID, Self.refusal(.shuttingDown, of: name))) }
    let share: MemoryBudget.Share?
    do throws(RPCError) {
      share = try self.share(for: node, name)
    } catch {
      client.unserved(name, params)
      return slot.fill(AnswerObject.error(id: rawID, error))
    }
    let prepared: PreparedCall
    do throws(ParamsProblem) {
      prepared = try method.prepare(params)
    } catch {
      client.unserved(name, params)
      return slot.fill(AnswerObject.error(id: rawID, .invalidParams(error.path, expected: error.expected)))
    }
    // A request that limits the connection is served, also if it is cancelled while it waits.
    let began = agent.environment.clock.boot()
    let cancelled: RequestsInFlight.Work = { [self] in
      answer(name, id, slot, since: began, .failure(Self.refusal(.cancelled, of: name)))
      finished()
    }
    let isCancellable = !client.wouldLimit(name, params)
    requests.submit(id, bytes: Self.cost(node), cancelled: isCancellable ? cancelled : nil) { [self] in
      serve(prepared, name, id, slot, share, since: began)
    }
  }

  /// What a request counts while it waits.
  private static func cost(_ node: JSONNode) -> Int { max(node.raw.count, Limits.leastWaitingBytes) }

  /// What a request counts among those of all connections until it was served; nil for a short one. Throws if there is
  /// no room, before the request is read.
  private func share(for node: JSONNode, _ name: String) throws(RPCError) -> MemoryBudget.Share? {
    let bytes = node.raw.count
    guard bytes > Limits.uncountedBytes else { return nil }
    if let share = agent.environment.requests.shareAtOnce(bytes, isLimited: !client.isTrusted) { return share }
    throw Self.refusal(.overloaded("bytes of requests that run or wait"), of: name)
  }

  /// The error of a request that was not begun. That of `request.send` says that nothing was sent.
  private static func refusal(_ failure: AgentFailure, of name: String) -> RPCError {
    RPCError(name == RequestSend.name ? .unsent(failure) : failure)
  }

  private func takeNotification(_ node: JSONNode, _ name: String, _ params: JSONNode?) {
    if name == "$/cancel" {
      guard let id = params?["id"] else { return }
      return requests.cancel(Array(id.raw))
    }
    guard let method = methods[name], !agent.isShuttingDown else { return }
    do {
      let share = try share(for: node, name)
      let prepared = try method.prepare(params)
      let began = agent.environment.clock.boot()
      requests.submit(nil, bytes: Self.cost(node)) { [self] in
        serve(prepared, name, nil, nil, share, since: began)
      }
    } catch {
      client.unserved(name, params)
    }
  }

  /// `share`: what the request counts, given back once it was served. `began`: when it came.
  private func serve(
    _ prepared: PreparedCall, _ name: String, _ id: [UInt8]?, _ slot: AnswerSlot?, _ share: MemoryBudget.Share?,
    since began: BootInstant
  ) {
    if agent.isShuttingDown {  // since it waited for its place
      requests.release(id)
      answer(name, id, slot, since: began, .failure(Self.refusal(.shuttingDown, of: name)))
      return finished()
    }
    // A refused client does not keep the vault open.
    let usesVault = client.access.isServed && methods[name]?.info.usesVault == true
    if usesVault { agent.idle.began() }
    switch prepared {
    case .ordered(let run, let answered):
      gate.submit(isBarrier: false) { [self] in
        defer {
          share?.shrink(to: 0)
          if usesVault { agent.idle.ended() }
        }
        let call = Call(connections: connections, client: client, access: client.access)
        do throws(RPCError) {
          let result = try run(call)
          requests.release(id)
          answer(name, id, slot, since: began, .success(result))
          answered(result, call)
          // A request that waited for its turn may outlive its client; its subscriptions must not.
          if end.withLock({ $0 == .gone }) { connections.events.connectionEnded(client.id) }
        } catch {
          requests.release(id)
          answer(name, id, slot, since: began, .failure(error))
        }
        finished()
      }
    case .concurrent(let run, let isBarrier, let begin):
      gate.submit(isBarrier: isBarrier) { [self] in
        let call = Call(connections: connections, client: client, access: client.access)
        let finish: @Sendable (Result<any WireWritable, RPCError>) -> Void = { [self] result in
          share?.shrink(to: 0)
          requests.release(id)
          answer(name, id, slot, since: began, result)
          if isBarrier { gate.release() }
          if usesVault { agent.idle.ended() }
          finished()
        }
        if let begin, serveWithoutTask(begin, call, id, finish) { return }
        serveByTask(run, call, id, otherwise: Self.refusal(.shuttingDown, of: name), finish)
      }
    }
  }

  private typealias Finish = @Sendable (Result<any WireWritable, RPCError>) -> Void

  /// `otherwise`: the error if no task can be started any more.
  private func serveByTask(
    _ run: @escaping PreparedCall.Run, _ call: Call, _ id: [UInt8]?, otherwise: RPCError,
    _ finish: @escaping Finish
  ) {
    let started = agent.background.start { [self] in
      finish(
        await requests.run(id) { [self] in
          await Caller.$current.withValue(
            Caller(name: client.name, access: client.access, process: client.process)
          ) {
            do throws(RPCError) {
              return .success(try await run(call))
            } catch {
              return .failure(error)
            }
          }
        })
    }
    if !started { finish(.failure(otherwise)) }
  }

  /// False if the call needs a task from the beginning.
  private func serveWithoutTask(
    _ begin: PreparedCall.Begin, _ call: Call, _ id: [UInt8]?, _ finish: @escaping Finish
  ) -> Bool {
    guard agent.background.beginWithoutTask() else { return false }
    let hasBegun = begin(call, requests.cancellation(of: id)) { [self] course in
      switch course {
      case .ended(let result): finish(result)
      case .goesOn(let otherwise, let work):
        serveByTask({ (_) async throws(RPCError) in try await work() }, call, id, otherwise: otherwise, finish)
      }
      agent.background.endWithoutTask()
    }
    if !hasBegun { agent.background.endWithoutTask() }
    return hasBegun
  }

  private func answer(
    _ name: String, _ id: [UInt8]?, _ slot: AnswerSlot?, since began: BootInstant,
    _ result: Result<any WireWritable, RPCError>
  ) {
    let log = agent.environment.log
    var failed: String?
    if case .failure(let error) = result { failed = error.kind.rawValue }
    agent.environment.figures.requestEnded(RequestKind(method: name), since: began, error: failed)
    switch result {
    case .success:
      log.log(.debug, "served", [(.method, .name(name)), (.connection, .number(Int64(client.id)))])
    case .failure(let error):
      log.log(
        .debug, "refused",
        [
          (.method, .name(name)), (.connection, .number(Int64(client.id))),
          (.code, .number(Int64(error.kind.code))),
        ])
    }
    guard let id, let slot else { return }
    id.withUnsafeBytes { id in
      switch result {
      case .success(let value): slot.fill(AnswerObject.result(id: id, value))
      case .failure(let error): slot.fill(AnswerObject.error(id: id, error))
      }
    }
  }

  private func finished() {
    client.used()
    if requests.end(), end.withLock({ $0 == .halfClosed }) { client.output.closeAfterFlush() }
  }
}

extension Envelope {
  /// True for everything but a notification, also for an invalid request.
  fileprivate var isAnswered: Bool { if case .request(nil, _, _) = self { false } else { true } }
}
