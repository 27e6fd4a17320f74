internal import Agent
internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore
internal import AgentWire
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
/// What is the same for all methods stands in `Admission`. The compiler makes no code of its own for each handler here: it took a
/// third of this module's build.
struct ServedMethod: Sendable {
  let info: MethodInfo
  /// What it reaches.
  let reached: [ReachedKind]
  let prepare: @Sendable (JSONNode?) throws(ParamsProblem) -> PreparedCall

  @_semantics("optimize.sil.specialize.generic.never")
  init<Handler: MethodHandler>(
    _ handler: Handler.Type, reaches first: Reached<Handler.Method.Params>, _ more: Reached<Handler.Method.Params>...
  ) {
    let admission = Admission(Handler.Method.info, first, more)
    let handler = ErasedHandler { (params, call) async throws(AgentFailure) in
      try await Handler.handle(params as! Handler.Method.Params, call)
    }
    self.init(admission) { (node) throws(ParamsProblem) in
      .concurrent(
        admission.run(handler, try Handler.Method.Params.read(node)),
        isBarrier: admission.info.ordering == .connection, begin: nil)
    }
  }

  @_semantics("optimize.sil.specialize.generic.never")
  init<Handler: LongAnswerHandler>(
    long handler: Handler.Type, reaches first: Reached<Handler.Method.Params>,
    _ more: Reached<Handler.Method.Params>...
  ) {
    let admission = Admission(Handler.Method.info, first, more)
    let handler = ErasedHandler { (params, call) async throws(AgentFailure) in
      counted(try await Handler.handle(params as! Handler.Method.Params, call))
    }
    self.init(admission) { (node) throws(ParamsProblem) in
      let params = try Handler.Method.Params.read(node)
      return .concurrent(
        admission.run(handler, params), isBarrier: admission.info.ordering == .connection
      ) { call, cancellation, ended in
        guard case .trusted = call.access else { return false }
        return Handler.begin(params, call, cancellation) { ended($0.map({ counted($0) }, { RPCError($0) })) }
      }
    }
  }

  /// The reading thread checks none of what params name: such a method has its own way.
  @_semantics("optimize.sil.specialize.generic.never")
  init<Handler: OrderedMethodHandler>(ordered handler: Handler.Type, reaches reached: Reached<Handler.Method.Params>) {
    let info = Handler.Method.info
    precondition(reached.require == nil, "\(info.name) reaches what is checked in a task")
    precondition(info.ordering == .connection, "\(info.name) is served in an order that its schema does not say")
    let admission = Admission(info, reached, [])
    self.init(admission) { (node) throws(ParamsProblem) in
      let params = try Handler.Method.Params.read(node)
      let run: @Sendable (Call) throws(RPCError) -> any WireWritable = { (call) throws(RPCError) in
        let params = try admission.admitted(params, call)
        do throws(AgentFailure) {
          return try Handler.handle(params as! Handler.Method.Params, call)
        } catch {
          throw call.access.redacted(RPCError(error), at: call.now)
        }
      }
      return .ordered(run) { result, call in
        if let result = result as? Handler.Method.Result { Handler.answered(result, call) }
      }
    }
  }

  private init(
    _ admission: Admission, prepare: @escaping @Sendable (JSONNode?) throws(ParamsProblem) -> PreparedCall
  ) {
    info = admission.info
    reached = admission.reached
    self.prepare = prepare
  }
}

extension WireReadable {
  /// Params may be omitted (JSON-RPC 2.0 §4.2), which stands for an object without members.
  fileprivate static func read(_ node: JSONNode?) throws(ParamsProblem) -> Self {
    guard let node else { return try .none() }
    return try Self(from: node)
  }
}
