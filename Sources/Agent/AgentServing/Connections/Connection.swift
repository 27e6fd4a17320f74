internal import Agent
public import AgentModel
public import AgentPorts
internal import AgentProtocol
internal import JSONRPC
internal import Secrets
internal import Synchronization

/// One client over any transport: bytes in, lines out.
///
/// The transport's reading thread calls `received`, `endOfInput` and `lineTimedOut`, one at a time. It answers a fresh
/// token itself, from `TokenCache`; every other request becomes work of the agent.
public final class Connection: Conversation, @unchecked Sendable {
  // `framer`, `tape` and `scratch` belong to the reading thread; the rest is immutable or locks itself.
  private var framer = LineFramer(limit: Limits.bodyLineBytes)
  private var tape = JSONTape()
  private var scratch = JSONWriter(capacity: 4096)
  private var lineBegan: BootInstant?
  /// True if a line of the last chunk was not answered from `TokenCache`.
  public private(set) var mayHaveLeftSecretsOnStack = false
  private var found: Found?
  /// Read once for all the lines of a chunk.
  private var chunkTime: BootInstant?
  /// The length of an unfinished line at which its method is searched; longer than any line once the method was found.
  private var judgesPrefixAt = Limits.lineBytes
  private let end = Mutex(End.open)
  private enum End { case open, halfClosed, gone }

  let id: UInt64
  let output: any ConnectionOutput
  let requests: RequestsInFlight
  private let introduced = Mutex<String??>(nil)
  private let gate = OrderingGate()
  private let server: AgentServer
  private let known: Mutex<CallerAccess>
  /// True while no grant limits the client: one atomic load instead of a lock.
  private let isTrusted: Atomic<Bool>

  init(id: UInt64, output: any ConnectionOutput, server: AgentServer) {
    self.id = id
    self.output = output
    self.server = server
    requests = RequestsInFlight(limit: server.limits.requestsInFlight)
    known = Mutex(server.agent.callerGrants.isStrict ? .unknown : .trusted)
    isTrusted = Atomic(!server.agent.callerGrants.isStrict)
  }

  /// The client's name from `agent.hello`; before that the name of its program, if the transport knows it.
  var clientName: String? {
    get {
      introduced.withLock { name in
        if name == nil { name = .some(output.peerName) }
        return name ?? nil
      }
    }
    set { introduced.withLock { $0 = .some(newValue) } }
  }

  private var agent: AgentService { server.agent }

  // MARK: access

  /// The client's current access.
  var access: CallerAccess { isTrusted.load(ordering: .acquiring) ? .trusted : known.withLock { $0 } }

  /// Sets the access; false if the connection was refused before. It stays refused, also if a grant opens meanwhile.
  @discardableResult private func set(_ access: CallerAccess) -> Bool {
    known.withLock { known in
      if case .refused = known { return false }
      known = access
      let trusts = if case .trusted = access { true } else { false }
      isTrusted.store(trusts, ordering: .releasing)
      return true
    }
  }

  /// Limits the connection to the grant with this secret. Any failure refuses the connection: a client that asked to be
  /// limited is never served without a limit.
  func present(_ secret: Secret) throws(AgentFailure) {
    do throws(AgentFailure) {
      let new = try agent.callerGrants.open(secret, on: id, from: access) { [weak self] in self?.refuseAll() }
      guard set(new) else { throw .caller(.grantRefused) }
      if case .limited(let limits) = new { server.events.narrow(id, to: limits.permission) }
    } catch {
      refuseAll()
      throw error
    }
  }

  /// Refuses the connection for good. Requests that began under a limit end without an answer.
  private func refuseAll() {
    if case .limited = access { requests.cancelAll() }
    set(.refused)
    agent.callerGrants.connectionEnded(id)
    server.events.connectionEnded(id)
  }

  /// Refuses the connection if an unserved request would have limited it.
  private func unserved(_ name: String, _ params: JSONNode?) {
    if name == AgentHello.name, params?.kind == .object, params?["grant"] != nil { refuseAll() }
  }

  // MARK: reports of the transport

  /// Bytes from the client, in any chunks. The caller wipes its buffer afterwards.
  public func received(_ chunk: UnsafeRawBufferPointer) {
    mayHaveLeftSecretsOnStack = false
    chunkTime = nil
    let outcome = framer.push(chunk) { line in
      lineBegan = nil
      judgesPrefixAt = Limits.lineBytes
      return take(line)
    }
    switch outcome {
    case .stopped, .overLimit: return refuseLine()
    case .wantsMore: break
    }
    guard framer.waiting > 0 else { return lineBegan = nil }
    mayHaveLeftSecretsOnStack = true
    if lineBegan == nil { lineBegan = chunkTime ?? agent.environment.clock.boot() }
    // A `\r` before the newline is not part of the line.
    let length = framer.withWaiting { $0.last == 0x0D ? $0.count - 1 : $0.count }
    if length > judgesPrefixAt { judgePrefix() }
  }

  /// Past 64 KiB only a method that carries a body may go on. The method may stand anywhere in the line, so it is
  /// looked for each time the line has doubled: a line that comes byte by byte is still read only a few times.
  private func judgePrefix() {
    let mayGoOn = framer.withWaiting { prefix -> Bool? in
      do {
        return try Envelope.method(ofPrefix: prefix).map { server.methods.carriesBody($0) == true }
      } catch {
        return false
      }
    }
    guard let mayGoOn else { return judgesPrefixAt = framer.waiting * 2 }
    judgesPrefixAt = .max
    if !mayGoOn { refuseLine() }
  }

  /// The deadline of the unfinished line; nil if there is none.
  public var lineDeadline: BootInstant? { lineBegan.map { $0 + .seconds(Limits.lineSeconds) } }

  /// The line took too long: refuses it and closes the connection.
  public func lineTimedOut() { refuseLine(Self.lineTooSlow) }

  /// The client will send no more. Its requests are finished and answered before the connection closes.
  public func endOfInput() {
    let isPartial = framer.withWaiting { !Self.isBlank($0) }
    if isPartial { refuse(Self.parseError) }
    framer.clear()
    lineBegan = nil
    end.withLock { $0 = .halfClosed }
    if requests.isEmpty { output.closeAfterFlush() }
  }

  /// The client is gone: cancels its requests and ends its subscriptions.
  public func ended() {
    end.withLock { $0 = .gone }
    requests.cancelAll()
    server.events.connectionEnded(id)
    agent.callerGrants.connectionEnded(id)
    server.connectionEnded()
  }

  /// The client has read its backlog.
  public func drained() { server.events.drained(id) }

  /// Sends the error once and closes. The unfinished line is dropped, so that it has no deadline any more.
  private func refuseLine(_ error: RPCError = Connection.lineTooLong) {
    framer.clear()
    lineBegan = nil
    refuse(error)
    output.closeAfterFlush()
  }

  private func refuse(_ error: RPCError, id: UnsafeRawBufferPointer? = nil) {
    AnswerSlot.line(output).fill(AnswerObject.error(id: id, error))
  }

  // MARK: lines

  /// Takes one line; false if it is longer than a line of its kind may be.
  private func take(_ line: UnsafeRawBufferPointer) -> Bool {
    do {
      try JSONScanner.scan(line, onto: &tape)
    } catch {
      mayHaveLeftSecretsOnStack = true
      if line.count > Limits.lineBytes { return false }
      if Self.isBlank(line) { return true }
      refuse(Self.parseError)
      return true
    }
    return tape.withRoot(of: line) { root in
      if line.count > Limits.lineBytes, !mayBeLong(root) { return false }
      if root.kind != .array, answeredFromCache(root) { return true }
      mayHaveLeftSecretsOnStack = true
      if root.kind == .array {
        takeBatch(root)
      } else {
        takeRequest(root, slot: .line(output))
      }
      return true
    }
  }

  private static func isBlank(_ line: UnsafeRawBufferPointer) -> Bool {
    line.allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == 0x0D }
  }

  private func mayBeLong(_ root: JSONNode) -> Bool {
    let requests = root.kind == .array ? Array(root.elements) : [root]
    return requests.allSatisfy { request in
      request["method"]?.string.flatMap { server.methods.carriesBody($0) } == true
    }
  }

  private func takeBatch(_ root: JSONNode) {
    guard root.elements.contains(where: { _ in true }) else {
      return AnswerSlot.line(output).fill(nil, Self.invalidRequest)
    }
    let batch = BatchAnswers(count: root.elements.count(where: Self.isAnswered), output: output)
    var index = 0
    for element in root.elements {
      takeRequest(element, slot: .batch(batch, index: index))
      if Self.isAnswered(element) { index += 1 }
    }
  }

  /// True for everything but a notification, also for an invalid request.
  private static func isAnswered(_ element: JSONNode) -> Bool {
    if case .request(nil, _, _) = Envelope(element) { false } else { true }
  }

  private func takeRequest(_ node: JSONNode, slot: AnswerSlot) {
    guard case .request(let rawID, let methodNode, let params) = Envelope(node) else {
      guard case .invalid(let rawID) = Envelope(node) else { return }
      return slot.fill(rawID, Self.invalidRequest)
    }
    let name = methodNode.string ?? ""
    guard let rawID else { return takeNotification(name, params) }
    // Check this first: the client would take any answer with this id for the answer to the request in flight.
    guard !requests.contains(rawID) else {
      unserved(name, params)
      return slot.fill(AnswerObject.error(id: nil, Self.duplicateID))
    }
    let id = Array(rawID)
    guard let method = server.methods[name] else {
      return slot.fill(AnswerObject.error(id: rawID, Self.methodNotFound))
    }
    if agent.isShuttingDown { return slot.fill(AnswerObject.error(id: rawID, .shuttingDown)) }
    do throws(RequestsInFlight.Refusal) {
      try requests.begin(id)
    } catch .duplicateID {
      unserved(name, params)
      return slot.fill(AnswerObject.error(id: nil, Self.duplicateID))
    } catch {
      unserved(name, params)
      return slot.fill(AnswerObject.error(id: rawID, .overloaded("requests in flight on one connection")))
    }
    let prepared: PreparedCall
    do throws(ParamsProblem) {
      prepared = try method.prepare(params)
    } catch {
      requests.release(id)
      unserved(name, params)
      slot.fill(AnswerObject.error(id: rawID, .invalidParams(error.path, expected: error.expected)))
      return finished()
    }
    serve(prepared, name, id, slot)
  }

  private func takeNotification(_ name: String, _ params: JSONNode?) {
    if name == "$/cancel" {
      guard let id = params?["id"] else { return }
      return requests.cancel(Array(id.raw))
    }
    guard let method = server.methods[name], !agent.isShuttingDown else { return }
    guard let prepared = try? method.prepare(params), (try? requests.begin(nil)) != nil else {
      return unserved(name, params)
    }
    serve(prepared, name, nil, nil)
  }

  private func serve(_ prepared: PreparedCall, _ name: String, _ id: [UInt8]?, _ slot: AnswerSlot?) {
    // A refused client does not keep the vault open.
    let usesVault = access.isServed && server.methods[name]?.info.usesVault == true
    if usesVault { agent.idle.began() }
    switch prepared {
    case .ordered(let run, let answered):
      gate.submit(isBarrier: false) { [self] in
        defer { if usesVault { agent.idle.ended() } }
        let call = Call(server: server, connection: self, access: access)
        do throws(RPCError) {
          let result = try run(call)
          requests.release(id)
          answer(name, id, slot, .success(result))
          answered(result, call)
          // A request that waited for its turn may outlive its client; its subscriptions must not.
          if end.withLock({ $0 == .gone }) { server.events.connectionEnded(self.id) }
        } catch {
          requests.release(id)
          answer(name, id, slot, .failure(error))
        }
        finished()
      }
    case .concurrent(let run, let isBarrier):
      gate.submit(isBarrier: isBarrier) { [self] in
        let call = Call(server: server, connection: self, access: access)
        let finish: @Sendable (Result<any WireWritable, RPCError>) -> Void = { [self] result in
          requests.release(id)
          answer(name, id, slot, result)
          if isBarrier { gate.release() }
          if usesVault { agent.idle.ended() }
          finished()
        }
        let started = agent.background.start { [self] in
          finish(
            await requests.run(id) { [self] in
              await Caller.$current.withValue(Caller(name: clientName, access: access)) {
                do throws(RPCError) {
                  return .success(try await run(call))
                } catch {
                  return .failure(error)
                }
              }
            })
        }
        if !started { finish(.failure(.shuttingDown)) }
      }
    }
  }

  private func answer(
    _ name: String, _ id: [UInt8]?, _ slot: AnswerSlot?, _ result: Result<any WireWritable, RPCError>
  ) {
    let log = agent.environment.log
    switch result {
    case .success:
      log.log(.debug, "served", [(.method, .name(name)), (.connection, .number(Int64(self.id)))])
    case .failure(let error):
      log.log(
        .debug, "refused",
        [(.method, .name(name)), (.connection, .number(Int64(self.id))), (.code, .number(Int64(error.code.rawValue)))])
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
    if requests.end(), end.withLock({ $0 == .halfClosed }) { output.closeAfterFlush() }
  }

  // MARK: the fast path

  /// Answers a `token.get` of a fresh standard token on the reading thread. Returns false for every other request,
  /// which the method table then handles in full.
  private func answeredFromCache(_ root: JSONNode) -> Bool {
    guard case .request(let id?, let method, let params?) = Envelope(root), method.isText("token.get"),
      params.kind == .object, !agent.isShuttingDown, !gate.isHeld, !requests.contains(id)
    else { return false }
    var selector: UnsafeRawBufferPointer?
    var minimum = Self.standardMinimumLifetime
    for (key, value) in params.members {
      if key.isText("account") {
        selector = value.plainText
      } else if key.isText("minimumLifetimeSeconds") {
        guard let seconds = value.integer, (0...86_400).contains(seconds) else { return false }
        minimum = .seconds(seconds)
      } else {
        return false
      }
    }
    guard let selector, let account = account(selector) else { return false }
    let now = chunkTime ?? agent.environment.clock.boot()
    chunkTime = now
    guard isTrusted.load(ordering: .acquiring) || access.coversToken(of: account, at: now) else { return false }
    let isAnswered = agent.tokenCache.withFresh(account, minimum: minimum, at: now) { token in
      scratch.verbatim("{\"jsonrpc\":\"2.0\",\"id\":")
      scratch.verbatim(id)
      scratch.verbatim(",\"result\":")
      token.write(at: now, to: &scratch)
      scratch.verbatim("}\n")
    }
    guard isAnswered else { return false }
    agent.idle.used(at: now)
    scratch.withBytes { output.append($0) }
    scratch.reset()
    return true
  }

  /// Finds the account of a selector. An id is read directly. An alias takes a look-up, and most programs ask for one
  /// account, so its result is kept until `TokenCache` changes.
  private func account(_ selector: UnsafeRawBufferPointer) -> AccountID? {
    if let account = AccountID(utf8: selector) { return account }
    let version = agent.tokenCache.version
    if let found, found.version == version, found.selector.elementsEqual(selector) { return found.account }
    let named = AccountSelector(String(decoding: selector, as: UTF8.self))
    guard let id = agent.tokenCache.account(selector: named) else { return nil }
    found = Found(version: version, selector: Array(selector), account: id)
    return id
  }

  private struct Found {
    var version: UInt64
    var selector: [UInt8]
    var account: AccountID
  }

  /// `minimumLifetimeSeconds` when it is not given (`Schemas/types/tokenRequest.json`).
  static let standardMinimumLifetime = Milliseconds.seconds(60)

  // MARK: fixed errors

  private static let parseError = RPCError(
    .parseError, "This line is not JSON. Nothing was done; the connection stays open.")
  private static let invalidRequest = FixedRefusal(
    RPCError(.invalidRequest, "This is not a JSON-RPC 2.0 request. Nothing was done."))
  private static let methodNotFound = RPCError(
    .methodNotFound, "This agent has no such method. `agent.hello` lists its features, `rpc.discover` its methods.")
  private static let duplicateID = RPCError(
    .invalidRequest, "A request with this id is still in flight on this connection. The second one was not begun."
  ).with { $0.details = [("duplicateId", .flag(true))] }
  private static let lineTooLong = RPCError(
    .invalidRequest, "The line is over the limit. Nothing of it was done, and the connection closes."
  ).with {
    $0.reason = "lineTooLong"
    $0.details = [("limit", .number(Int64(Limits.lineBytes)))]
  }
  private static let lineTooSlow = RPCError(
    .invalidRequest, "The line did not end in time. Nothing of it was done, and the connection closes."
  ).with {
    $0.reason = "lineTooSlow"
    $0.details = [("limit", .number(Limits.lineSeconds))]
  }
}
