internal import Agent
public import AgentModel
public import AgentPorts
internal import AgentProtocol
internal import AgentSessions
internal import AgentWire
internal import JSONRPC

/// One client over any transport: bytes in, lines out.
///
/// The transport's reading thread calls `received`, `endOfInput` and `lineTimedOut`, one at a time. It answers a fresh
/// token and a repeated decision itself, by `CachedAnswers`; `RequestDispatcher` takes every other request.
public final class Connection: Conversation, @unchecked Sendable {
  // The variables belong to the reading thread; the rest is immutable or locks itself.
  private var framer = LineFramer(limit: Limits.bodyLineBytes)
  private var tape = JSONTape()
  private var lineBegan: BootInstant?
  /// True if a line of the last chunk was not answered by `CachedAnswers`.
  public private(set) var mayHaveLeftSecretsOnStack = false
  /// Read once for all the lines of a chunk.
  private var chunkTime: BootInstant?
  /// The length of an unfinished line at which its method is searched; longer than any line once the method was found.
  private var judgesPrefixAt = Limits.lineBytes
  private var cached: CachedAnswers
  private let client: ConnectedClient
  private let dispatcher: RequestDispatcher
  private let connections: OpenConnections
  private let methods: ServedMethods

  init(_ client: ConnectedClient, of connections: OpenConnections, methods: ServedMethods) {
    (self.connections, self.methods) = (connections, methods)
    self.client = client
    dispatcher = RequestDispatcher(connections, methods, client: client)
    cached = CachedAnswers(agent: connections.agent, client: client, dispatcher: dispatcher)
  }

  /// The moment of the chunk, from the first line that needs it.
  private func readTime() -> BootInstant {
    let time = chunkTime ?? connections.agent.environment.clock.boot()
    chunkTime = time
    return time
  }

  // MARK: reports of the transport

  /// Bytes from the client, in any chunks. The caller wipes its buffer afterwards.
  public func received(_ chunk: UnsafeRawBufferPointer) {
    mayHaveLeftSecretsOnStack = false
    chunkTime = nil
    client.used()
    let outcome = framer.push(chunk) { line in
      lineBegan = nil
      judgesPrefixAt = Limits.lineBytes
      return take(line)
    }
    cached.flush()
    switch outcome {
    case .stopped: return refuseLine()
    case .overLimit: return refuseLine(FixedErrors.bodyLineTooLong)
    case .wantsMore: break
    }
    guard framer.waiting > 0 else { return lineBegan = nil }
    mayHaveLeftSecretsOnStack = true
    if lineBegan == nil { lineBegan = readTime() }
    // A `\r` before the newline is not part of the line.
    let length = framer.withWaiting { $0.last == 0x0D ? $0.count - 1 : $0.count }
    if length > judgesPrefixAt { judgePrefix() }
  }

  /// Past 64 KiB only a method that carries a body may go on. The method may stand anywhere in the line, so it is
  /// looked for each time the line has doubled: a line that comes byte by byte is still read only a few times.
  private func judgePrefix() {
    let mayGoOn = framer.withWaiting { prefix -> Bool? in
      do {
        return try Envelope.method(ofPrefix: prefix).map { carriesBody($0) }
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
  public func lineTimedOut() { refuseLine(FixedErrors.lineTooSlow) }

  /// The client will send no more. Its requests are finished and answered before the connection closes.
  public func endOfInput() {
    let isPartial = framer.withWaiting { !Self.isBlank($0) }
    if isPartial { refuse(FixedErrors.unfinishedLine) }
    framer.clear()
    lineBegan = nil
    dispatcher.inputEnded()
  }

  /// The client is gone: cancels its requests and ends its subscriptions.
  public func ended() {
    dispatcher.connectionEnded()
    connections.ended(client.id)
  }

  /// False while the client's waiting requests are over their bound.
  public var hasRoom: Bool { client.requests.hasRoom }

  /// Requests that waited for the client to read its answers may begin.
  public func takesMoreAnswers() { client.requests.resume() }

  /// The client has read its backlog.
  public func drained() { connections.events.drained(client.id) }

  /// Sends the error once and closes. The unfinished line is dropped, so that it has no deadline any more.
  private func refuseLine(_ error: RPCError = FixedErrors.lineTooLong) {
    framer.clear()
    lineBegan = nil
    refuse(error)
    client.output.closeAfterFlush()
  }

  private func refuse(_ error: RPCError) {
    AnswerSlot.line(client.output).fill(AnswerObject.error(id: nil, error))
  }

  // MARK: lines

  /// Takes one line; false if it is longer than a line of its kind may be.
  private func take(_ line: UnsafeRawBufferPointer) -> Bool {
    if cached.answerRepeated(line, at: readTime) || cached.answerRepeatedBatch(line, at: readTime) { return true }
    do {
      try JSONScanner.scan(line, onto: &tape, duplicateKeys: .allowed)
    } catch {
      mayHaveLeftSecretsOnStack = true
      cached.flush()
      let method = try? Envelope.method(ofPrefix: line)
      if line.count > Limits.lineBytes, !carriesBody(method) { return false }
      if Self.isBlank(line) { return true }
      client.unserved(unreadable: line, method)
      refuse(FixedErrors.parseError)
      return true
    }
    return tape.withRoot(of: line) { root in
      if line.count > Limits.lineBytes, !mayBeLong(root) { return false }
      root.kind == .array ? takeBatch(root) : takeRequest(line, root)
      return true
    }
  }

  private func takeRequest(_ line: UnsafeRawBufferPointer, _ root: JSONNode) {
    let envelope = Envelope(root)
    if cached.answer(line, envelope, at: readTime) { return }
    mayHaveLeftSecretsOnStack = true
    cached.flush()
    dispatcher.take(envelope, of: root, slot: .line(client.output))
  }

  private func takeBatch(_ root: JSONNode) {
    cached.flush()
    guard case .part(let taken, let answers) = cached.answerBatch(root, at: readTime) else { return }
    mayHaveLeftSecretsOnStack = true
    dispatcher.takeBatch(root, answered: taken, answers) { cached.object($0, at: readTime) }
  }

  private static func isBlank(_ line: UnsafeRawBufferPointer) -> Bool {
    line.allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == 0x0D }
  }

  private func mayBeLong(_ root: JSONNode) -> Bool {
    let requests = root.kind == .array ? Array(root.elements) : [root]
    return requests.allSatisfy { carriesBody($0["method"]?.string) }
  }

  private func carriesBody(_ method: String?) -> Bool { method.flatMap { methods.carriesBody($0) } == true }
}
