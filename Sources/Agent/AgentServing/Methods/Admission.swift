internal import Agent
internal import AgentModel
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore
internal import AgentWire

/// A handler of any method. A class, so that the compiler does not see through to the handler: it would make a copy of
/// `Admission.run` for each one.
final class ErasedHandler: Sendable {
  typealias Handle = @Sendable (_ params: any Sendable, Call) async throws(AgentFailure) -> any WireWritable

  let handle: Handle

  init(_ handle: @escaping Handle) { self.handle = handle }
}

/// What is checked before each handler runs, and after it.
struct Admission: Sendable {
  let info: MethodInfo
  let reached: [ReachedKind]
  private let requirements: [Requirement]

  /// Most methods reach one thing, which stands by itself: an array of it would be a type that each start makes.
  init<Params>(_ info: MethodInfo, _ first: Reached<Params>, _ more: [Reached<Params>]) {
    self.info = info
    reached = [first.kind] + more.map { $0.kind }
    requirements = (first.require.map { [$0] } ?? []) + more.compactMap { $0.require }
  }

  /// Runs the handler for a caller that may have it run.
  @inline(never) func run(_ handler: ErasedHandler, _ params: any Sendable) -> PreparedCall.Run {
    { (call) async throws(RPCError) in
      let params = try admitted(params, call)
      do throws(AgentFailure) {
        if let limits = call.limits { try await require(params, limits, call.agent) }
        let result = try await handler.handle(params, call)
        // A grant that ended during the handler's work gets no answer.
        try call.requireOpen()
        return result
      } catch {
        throw call.access.redacted(RPCError(await call.agent.explained(error)), at: call.now)
      }
    }
  }

  /// The check of a caller's permission, before the handler, by the contract's table; what else the params name is
  /// checked by `Reached`. The handler of a limited caller gets the id of the checked account.
  func admitted(_ params: any Sendable, _ call: Call) throws(RPCError) -> any Sendable {
    if case .trusted = call.access { return params }
    var scoped = params as? any AccountScopedParams
    do throws(AgentFailure) {
      guard let account = try call.access.admit(info, scoped?.account, call.agent) else { return params }
      scoped?.account = .id(account)
    } catch {
      throw RPCError(error)
    }
    return scoped ?? params
  }

  /// Not inlined: what it needs would take its place in the memory of every caller that waits.
  @inline(never) private func require(
    _ params: any Sendable, _ limits: EffectiveGrant, _ agent: AgentService
  ) async throws(AgentFailure) {
    for requirement in requirements { try await requirement(params, limits, agent) }
  }
}
