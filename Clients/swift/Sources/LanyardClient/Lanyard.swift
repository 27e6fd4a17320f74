/// A connection to the agent, for any number of tasks.
///
/// ```swift
/// let lanyard = Lanyard()
/// let token = try await lanyard.token.get(account: "@active", minimumLifetimeSeconds: 120)
/// request.setValue("\(token.tokenType) \(token.accessToken.reveal())", forHTTPHeaderField: "Authorization")
/// ```
///
/// It connects at the first call (or at ``connect()``) and sends `agent.hello`; where no agent runs, it starts one. If
/// a call finds the connection closed, it connects again. A call that was in flight is never sent twice: it throws
/// ``LanyardError/connectionLost``.
///
/// Copies share the connection. It ends with ``close()``, or when the last copy is released.
///
/// The end of a task cancels its call in the agent, too; the call throws `CancellationError`.
public struct Lanyard: Sendable {
  /// The limit of every call that is made by this value; nil for the agent's own limits alone.
  public let callTimeout: Duration?

  private let core: ClientCore

  /// Makes a client, which connects at its first call.
  ///
  /// - Parameters:
  ///   - socketPath: The agent's socket. Nil for the one that the commands use.
  ///   - callTimeout: The limit of every call. Nil for the agent's own limits alone.
  ///   - grant: The secret of a grant, which limits what this connection may do.
  ///   - name: The name by which the agent's audit log calls this program.
  ///   - version: The version of this program, for the audit log.
  ///   - start: Whether to start the agent where none runs. Nil: only if `socketPath` is nil, as the commands do. True:
  ///     also at `socketPath`. False: never. The variable `LANYARD_NO_START` forbids it in any case.
  public init(
    socketPath: String? = nil, callTimeout: Duration? = nil, grant: Secret? = nil, name: String = "lanyard-swift",
    version: String = Lanyard.version, start: Bool? = nil
  ) {
    self.callTimeout = callTimeout
    core = ClientCore(
      dialer: Dialer(socketPath: socketPath, start: start, name: name, version: version, grant: grant))
  }

  private init(core: ClientCore, callTimeout: Duration?) {
    self.core = core
    self.callTimeout = callTimeout
  }

  /// The version of this client.
  public static let version = "1.0.0"

  /// Connects now, and returns the answer to `agent.hello`: the agent's name, version, features and limits.
  ///
  /// - Throws: ``LanyardError``: ``LanyardError/agentNotRunning``, ``LanyardError/agentStartFailed``,
  ///   ``LanyardError/untrustedAgent``, ``LanyardError/callTimeout``, or an error of the agent.
  @discardableResult
  public func connect() async throws -> AgentHelloResult {
    _ = try await withDeadline(callTimeout) { [core] in try await core.connection(startsAgent: true) }
    guard let hello = core.hello else { throw Connection.wentAway }
    return hello
  }

  /// This client with another limit for each call: `lanyard.within(.seconds(2)).token.get(account: "work")`.
  ///
  /// It shares the connection.
  public func within(_ timeout: Duration?) -> Lanyard { Lanyard(core: core, callTimeout: timeout) }

  /// Makes a raw call, in JSON as on the wire.
  ///
  /// The result is not typed: printing it shows secrets that it holds.
  ///
  /// - Throws: ``LanyardError``, or `CancellationError`.
  public func call(_ method: String, _ params: JSON? = nil) async throws -> JSON {
    var writer: WireWriter?
    if let params {
      writer = WireWriter()
      writer?.value(params)
    }
    return try await core.call(method, params: writer, limit: callTimeout).result.json
  }

  /// Subscribes, and returns a sequence of events that survives reconnections.
  ///
  /// - Parameters:
  ///   - types: The types of events wanted. Nil for all.
  ///   - accounts: The accounts whose events are wanted. Nil for all.
  ///   - since: A ``EventStream/position`` of an earlier stream: events after it are replayed. Those that the agent no
  ///     longer has are told by one event of the type ``EventType/eventGap``.
  /// - Throws: ``LanyardError``, or `CancellationError`.
  public func events(
    types: [EventType]? = nil, accounts: [String]? = nil, since: EventPosition? = nil
  ) async throws -> EventStream {
    try await EventStream(client: core, feed: EventFeed(types: types, accounts: accounts, since: since))
  }

  /// Ends the connection. Calls in flight throw ``LanyardError/clientClosed``, and streams of events end.
  public func close() { core.close() }

  /// Makes a typed call, for the generated methods.
  package func invoke<Result: WireRecord>(
    _ method: String, _ params: (inout WireWriter) -> Void = { _ in }
  ) async throws -> Result {
    var writer = WireWriter()
    writer.beginObject()
    params(&writer)
    writer.endObject()
    let isEmpty = writer.buffer.count == 2
    let answer = try await core.call(method, params: isEmpty ? nil : writer, limit: callTimeout)
    return try Result(answer.result, at: "")
  }
}

extension Lanyard: CustomStringConvertible, CustomReflectable {
  /// `Lanyard(open)`, or `Lanyard(closed)`.
  public var description: String { core.isClosed ? "Lanyard(closed)" : "Lanyard(open)" }
  /// A mirror without children: the client may hold the secret of a grant.
  public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}
