internal import Agent
internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore
internal import JSONRPC

/// The context of a request beside its parameters.
struct Call: Sendable {
  let connections: OpenConnections
  let client: ConnectedClient
  /// The caller's access when the request began.
  let access: CallerAccess

  var agent: AgentService { connections.agent }
}

/// Serves one method. The handlers of a feature stand in one file of `Handlers`.
protocol MethodHandler: SendableMetatype {
  associatedtype Method: RPCMethod & SendableMetatype
  static func handle(_ params: Method.Params, _ call: Call) async throws(AgentFailure) -> Method.Result
}

/// Serves a method whose answers may be long: they count among all answers of the agent until they are written.
protocol LongAnswerHandler: SendableMetatype {
  associatedtype Method: RPCMethod & SendableMetatype
  /// The result, and what counts it.
  typealias Answer = (Method.Result, MemoryBudget.Share?)
  static func handle(_ params: Method.Params, _ call: Call) async throws(AgentFailure) -> Answer
  /// Serves a call of a client that nothing limits without a task, if all that it needs is in memory, and calls `ended`
  /// once. Returns false if not: then nothing happened, and `handle` serves the call.
  static func begin(
    _ params: Method.Params, _ call: Call, _ cancellation: Cancellation,
    ended: @escaping @Sendable (Course<Answer, AgentFailure>) -> Void
  ) -> Bool
}

extension LongAnswerHandler {
  static func begin(
    _ params: Method.Params, _ call: Call, _ cancellation: Cancellation,
    ended: @escaping @Sendable (Course<Answer, AgentFailure>) -> Void
  ) -> Bool { false }
}

/// A result whose line keeps its share of the memory for answers.
private struct CountedResult: WireWritable {
  let result: any WireWritable
  let share: MemoryBudget.Share

  func write(to writer: inout JSONWriter) {
    writer.kept.append(share)
    result.write(to: &writer)
  }
}

private func counted(_ answer: (some WireWritable & Sendable, MemoryBudget.Share?)) -> any WireWritable {
  answer.1.map { CountedResult(result: answer.0, share: $0) } ?? answer.0
}

/// Serves a method whose calls are ordered on their connection: on the reading thread, in the order of the lines.
protocol OrderedMethodHandler: SendableMetatype {
  associatedtype Method: RPCMethod & SendableMetatype
  static func handle(_ params: Method.Params, _ call: Call) throws(AgentFailure) -> Method.Result
  /// Called when the answer is in the connection's queue.
  static func answered(_ result: Method.Result, _ call: Call)
}

extension OrderedMethodHandler {
  static func answered(_ result: Method.Result, _ call: Call) {}
}

/// A request with valid parameters.
enum PreparedCall: Sendable {
  case ordered(
    @Sendable (Call) throws(RPCError) -> any WireWritable, answered: @Sendable (any WireWritable, Call) -> Void)
  /// `isBarrier`: later requests of the connection begin only when this one has been answered. `begin` tries to serve the
  /// call without a task.
  case concurrent(Run, isBarrier: Bool, begin: Begin?)

  typealias Run = @Sendable (Call) async throws(RPCError) -> any WireWritable
  typealias Begin =
    @Sendable (Call, Cancellation, @escaping @Sendable (Course<any WireWritable, RPCError>) -> Void) -> Bool
}

/// A method of this agent: the reader of its params, and its handler.
///
/// Most methods reach one thing, which stands by itself: an array of it would be a type that each start makes.
struct ServedMethod: Sendable {
  let info: MethodInfo
  /// What it reaches.
  let reached: [ReachedKind]
  let prepare: @Sendable (JSONNode?) throws(ParamsProblem) -> PreparedCall

  init<Handler: MethodHandler>(
    _ handler: Handler.Type, reaches first: Reached<Handler.Method.Params>, _ more: Reached<Handler.Method.Params>...
  ) {
    let isBarrier = Handler.Method.info.ordering == .connection
    let prepare: @Sendable (JSONNode?) throws(ParamsProblem) -> PreparedCall = { (node) throws(ParamsProblem) in
      let params = try Self.params(Handler.Method.self, node)
      let run: @Sendable (Call) async throws(RPCError) -> any WireWritable = { (call) async throws(RPCError) in
        try await Self.admitted(Handler.Method.self, params, first, more, call) { (params) async throws(AgentFailure) in
          try await Handler.handle(params, call)
        }
      }
      return .concurrent(run, isBarrier: isBarrier, begin: nil)
    }
    info = Handler.Method.info
    reached = [first.kind] + more.map(\.kind)
    self.prepare = prepare
  }

  init<Handler: LongAnswerHandler>(
    long handler: Handler.Type, reaches first: Reached<Handler.Method.Params>,
    _ more: Reached<Handler.Method.Params>...
  ) {
    let prepare: @Sendable (JSONNode?) throws(ParamsProblem) -> PreparedCall = { (node) throws(ParamsProblem) in
      let params = try Self.params(Handler.Method.self, node)
      let run: @Sendable (Call) async throws(RPCError) -> any WireWritable = { (call) async throws(RPCError) in
        try await Self.admitted(Handler.Method.self, params, first, more, call) { (params) async throws(AgentFailure) in
          counted(try await Handler.handle(params, call))
        }
      }
      return .concurrent(run, isBarrier: false) { call, cancellation, ended in
        guard case .trusted = call.access else { return false }
        return Handler.begin(params, call, cancellation) { ended($0.map({ counted($0) }, { RPCError($0) })) }
      }
    }
    info = Handler.Method.info
    reached = [first.kind] + more.map(\.kind)
    self.prepare = prepare
  }

  /// The reading thread checks none of what params name: such a method has its own way.
  init<Handler: OrderedMethodHandler>(ordered handler: Handler.Type, reaches reached: Reached<Handler.Method.Params>) {
    precondition(reached.require == nil, "\(Handler.Method.info.name) reaches what is checked in a task")
    let prepare: @Sendable (JSONNode?) throws(ParamsProblem) -> PreparedCall = { (node) throws(ParamsProblem) in
      let params = try Self.params(Handler.Method.self, node)
      let run: @Sendable (Call) throws(RPCError) -> any WireWritable = { (call) throws(RPCError) in
        let params = try Self.admit(Handler.Method.self, params, call)
        do throws(AgentFailure) {
          return try Handler.handle(params, call)
        } catch {
          throw call.access.redacted(RPCError(error), at: call.now)
        }
      }
      let answered: @Sendable (any WireWritable, Call) -> Void = { result, call in
        if let result = result as? Handler.Method.Result { Handler.answered(result, call) }
      }
      return .ordered(run, answered: answered)
    }
    info = Handler.Method.info
    self.reached = [reached.kind]
    self.prepare = prepare
  }

  /// The check of a caller's permission, before the handler, by the contract's table; what else the params name is
  /// checked by `Reached`. The handler of a limited caller gets the id of the checked account.
  private static func admit<Method: RPCMethod>(
    _ method: Method.Type, _ params: Method.Params, _ call: Call
  ) throws(RPCError) -> Method.Params {
    if case .trusted = call.access { return params }
    var scoped = params as? any AccountScopedParams
    let account: AccountID?
    do throws(AgentFailure) {
      account = try call.access.admit(Method.info, scoped?.account, call.agent)
    } catch {
      throw RPCError(error)
    }
    guard let account else { return params }
    scoped?.account = .id(account)
    return scoped as? Method.Params ?? params
  }

  private static func admitted<Method: RPCMethod, Answer>(
    _ method: Method.Type, _ params: Method.Params, _ first: Reached<Method.Params>, _ more: [Reached<Method.Params>],
    _ call: Call, _ serve: (Method.Params) async throws(AgentFailure) -> Answer
  ) async throws(RPCError) -> Answer {
    let params = try admit(method, params, call)
    do throws(AgentFailure) {
      if let limits = call.limits { try await require(first, more, params, limits, call.agent) }
      let result = try await serve(params)
      // A grant that ended during the handler's work gets no answer.
      try call.requireOpen()
      return result
    } catch {
      throw call.access.redacted(RPCError(await call.agent.explained(error)), at: call.now)
    }
  }

  /// Not inlined: what it needs would take its place in the memory of every caller that waits.
  @inline(never) private static func require<Params>(
    _ first: Reached<Params>, _ more: [Reached<Params>], _ params: Params, _ limits: EffectiveGrant,
    _ agent: AgentService
  ) async throws(AgentFailure) {
    try await first.require?(params, limits, agent)
    for one in more { try await one.require?(params, limits, agent) }
  }

  private static func params<Method: RPCMethod>(
    _ method: Method.Type, _ node: JSONNode?
  ) throws(ParamsProblem) -> Method.Params {
    if let node { return try Method.Params(from: node) }
    // Params may be omitted (JSON-RPC 2.0 §4.2), which stands for an object without members.
    let none: StaticString = "{}"
    let bytes = UnsafeRawBufferPointer(start: none.utf8Start, count: none.utf8CodeUnitCount)
    var tape = JSONTape()
    guard (try? JSONScanner.scan(bytes, onto: &tape)) != nil else { throw ParamsProblem(expected: "object") }
    return try tape.withRoot(of: bytes) { (root) throws(ParamsProblem) in try Method.Params(from: root) }
  }
}
