internal import Agent
internal import AgentModel
internal import AgentPorts
internal import AgentRecords
internal import AgentSessions
internal import JSONRPC

/// The fast path: answers from `TokenCache` and `DecisionCache` on the reading thread, to which it belongs.
///
/// The answers to a chunk are gathered here and handed over at once, by `flush`.
struct CachedAnswers: ~Copyable {
  private let agent: AgentService
  private let figures: FigureKeeper
  private let client: ConnectedClient
  private let dispatcher: RequestDispatcher
  private var answers = JSONWriter(capacity: 2048)
  private var found: Found?
  private var lastLine = RepeatedLine()
  private var lastQuestion: Question?
  /// The result of `lastQuestion` among the gathered answers, with the version of `TokenCache` for which it is so.
  private var lastResult: (range: Range<Int>, version: UInt64)?

  /// A request that may have an answer in memory.
  private enum Question {
    case token(Selected, minimum: Milliseconds)
    case decision(Selected, capability: String)

    var selected: Selected {
      switch self {
      case .token(let selected, _), .decision(let selected, _): selected
      }
    }
  }

  /// The account that a selector names.
  private struct Selected {
    var account: AccountID
    /// The version of `TokenCache` for which that is so; nil if the selector is an id.
    var version: UInt64?
  }

  private struct Found {
    var version: UInt64
    var selector: [UInt8]
    var account: AccountID
  }

  /// `minimumLifetimeSeconds` when it is not given (`Schemas/types/tokenRequest.json`).
  private static let standardMinimumLifetime = Milliseconds.seconds(60)
  /// The values of `timeoutSeconds` there.
  private static let timeouts: ClosedRange<Int64> = 0...3_600
  /// Answers are handed over from this length on, so that the client reads the first ones while the others are written.
  private static let handOverBytes = 32 << 10

  init(agent: AgentService, client: ConnectedClient, dispatcher: RequestDispatcher) {
    self.agent = agent
    figures = agent.environment.figures
    self.client = client
    self.dispatcher = dispatcher
  }

  // MARK: lines

  /// Answers a line that repeats the last one with another id; false for any other line.
  mutating func answerRepeated(_ line: UnsafeRawBufferPointer, at moment: () -> BootInstant) -> Bool {
    guard let (id, question) = repeatedQuestion(line) else { return false }
    return writeLine(id, question, at: moment(), isRepeated: true)
  }

  /// Answers a `token.get` of a fresh standard token, or a repeated `authorization.check`, on the reading thread.
  /// Returns false for every other request, which the method table then handles in full.
  mutating func answer(_ line: UnsafeRawBufferPointer, _ envelope: Envelope, at moment: () -> BootInstant) -> Bool {
    guard let (id, question) = question(envelope), writeLine(id, question, at: moment()) else { return false }
    lastLine.remember(line, id: id)
    lastQuestion = question
    return true
  }

  private mutating func writeLine(
    _ id: UnsafeRawBufferPointer, _ question: Question, at now: BootInstant, isRepeated: Bool = false
  ) -> Bool {
    guard write(id, question, at: now, isRepeated: isRepeated) else { return false }
    answers.byte(0x0A)
    if answers.count >= Self.handOverBytes { flush() }
    return true
  }

  /// Hands the answers over. Called at the end of a chunk, and before another request of it is begun.
  mutating func flush() {
    guard answers.count > 0 else { return }
    answers.withBytes { client.output.append($0) }
    reset()
  }

  private mutating func reset() {
    answers.reset()
    lastResult = nil
  }

  // MARK: batches

  /// Answers the first members of a batch, up to one that has no answer in memory. Nothing may be gathered at that time.
  /// The answers of a whole batch are handed over; those of a part are returned, joined by commas.
  mutating func answerBatch(_ root: JSONNode, at moment: () -> BootInstant) -> BatchBeginning {
    // In a batch of the same request many times, only the first member is read; the others are compared with it.
    if let first = root.elements.first(where: { _ in true }), let (id, question) = question(Envelope(first)) {
      lastLine.remember(first.raw, id: id)
      lastQuestion = question
      if answerRepeatedBatch(root.raw, at: moment) { return .whole }
    }
    var taken = 0
    var rest = root.elements
    answers.byte(UInt8(ascii: "["))
    while let member = rest.next() {
      let before = answers.count
      if taken > 0 { answers.byte(UInt8(ascii: ",")) }
      guard answerMember(member, at: moment) else {
        answers.drop(to: before)
        defer { reset() }
        let joined = answers.withBytes { WireBytes(UnsafeRawBufferPointer(rebasing: $0.dropFirst())) }
        return .part(taken, taken > 0 ? joined : nil)
      }
      taken += 1
    }
    guard taken > 0 else {
      reset()
      return .part(0, nil)
    }
    answers.byte(UInt8(ascii: "]"))
    answers.byte(0x0A)
    flush()
    return .whole
  }

  /// Answers a batch whose members all repeat the last request for a token with other ids, without a scan: the token is
  /// looked up once, and their answers share one copy of it. False for any other line; nothing is handed over then.
  mutating func answerRepeatedBatch(_ line: UnsafeRawBufferPointer, at moment: () -> BootInstant) -> Bool {
    guard let lastQuestion, case .token(let selected, _) = lastQuestion, isCurrent(selected) else { return false }
    guard line.count <= Limits.lineBytes, let ids = lastLine.ids(inBatch: line), !ids.isEmpty,
      ids.allSatisfy({ dispatcher.mayAnswerNow($0) })
    else { return false }
    flush()
    let now = moment()
    guard writeResult(lastQuestion, at: now) else { return false }
    let result = SharedBytes(answers.withBytes { WireBytes($0) })
    reset()
    var batch = JSONWriter(capacity: ids.count * 64)
    for (index, id) in ids.enumerated() {
      batch.byte(index == 0 ? UInt8(ascii: "[") : UInt8(ascii: ","))
      Self.begin(id, in: &batch)
      batch.verbatim(result)
      batch.byte(UInt8(ascii: "}"))
    }
    batch.byte(UInt8(ascii: "]"))
    batch.byte(0x0A)
    agent.idle.used(at: now)
    for _ in ids.dropFirst() { figures.tokenCameFromMemory() }
    client.output.send(batch.finish())
    return true
  }

  private mutating func answerMember(_ member: JSONNode, at moment: () -> BootInstant) -> Bool {
    if let (id, question) = repeatedQuestion(member.raw) {
      return write(id, question, at: moment(), isRepeated: true)
    }
    guard let (id, question) = question(Envelope(member)), write(id, question, at: moment()) else { return false }
    lastLine.remember(member.raw, id: id)
    lastQuestion = question
    return true
  }

  /// A member of a batch, whose first ones were answered: returns its answer, or nil.
  mutating func object(_ member: Envelope, at moment: () -> BootInstant) -> WireBytes? {
    defer { reset() }
    guard let (id, question) = question(member), write(id, question, at: moment()) else { return nil }
    return answers.withBytes { WireBytes($0) }
  }

  // MARK: questions

  /// The question of a request that repeats the last one with another id; nil for any other request.
  private func repeatedQuestion(_ request: UnsafeRawBufferPointer) -> (id: UnsafeRawBufferPointer, Question)? {
    guard let lastQuestion, let id = lastLine.id(in: request), isCurrent(lastQuestion.selected),
      dispatcher.mayAnswerNow(id)
    else { return nil }
    return (id, lastQuestion)
  }

  private mutating func question(_ envelope: Envelope) -> (id: UnsafeRawBufferPointer, Question)? {
    guard case .request(let id?, let method, let params?) = envelope else { return nil }
    let isToken = method.isText("token.get")
    guard isToken || method.isText("authorization.check"), params.kind == .object, dispatcher.mayAnswerNow(id),
      let question = isToken ? tokenQuestion(params) : decisionQuestion(params)
    else { return nil }
    return (id, question)
  }

  private mutating func tokenQuestion(_ params: JSONNode) -> Question? {
    var selector: UnsafeRawBufferPointer?
    var minimum = Self.standardMinimumLifetime
    for (key, value) in params.members {
      if key.isText("account") {
        selector = value.plainText
      } else if key.isText("minimumLifetimeSeconds") {
        guard let seconds = value.integer, (0...86_400).contains(seconds) else { return nil }
        minimum = .seconds(seconds)
      } else if key.isText("timeoutSeconds") {
        // What is in memory is answered within any time.
        guard let seconds = value.integer, Self.timeouts.contains(seconds) else { return nil }
      } else {
        return nil
      }
    }
    return selector.flatMap { account($0) }.map { .token($0, minimum: minimum) }
  }

  private mutating func decisionQuestion(_ params: JSONNode) -> Question? {
    var (selector, capability): (UnsafeRawBufferPointer?, String?)
    for (key, value) in params.members {
      if key.isText("account") {
        selector = value.plainText
      } else if key.isText("capability") {
        capability = value.string
      } else {
        return nil
      }
    }
    guard let selector, let capability else { return nil }
    return account(selector).map { .decision($0, capability: capability) }
  }

  /// Finds the account of a selector. An id is read directly. An alias takes a look-up, and most programs ask for one
  /// account, so its result is kept until `TokenCache` changes.
  private mutating func account(_ selector: UnsafeRawBufferPointer) -> Selected? {
    if let account = AccountID(utf8: selector) { return Selected(account: account) }
    let version = agent.tokenCache.version
    if let found, found.version == version, found.selector.elementsEqual(selector) {
      return Selected(account: found.account, version: version)
    }
    let named = AccountSelector(String(decoding: selector, as: UTF8.self))
    guard let id = agent.tokenCache.account(selector: named) else { return nil }
    found = Found(version: version, selector: Array(selector), account: id)
    return Selected(account: id, version: version)
  }

  private func isCurrent(_ selected: Selected) -> Bool {
    selected.version.map { $0 == agent.tokenCache.version } ?? true
  }

  // MARK: answers

  /// Adds the answer to those that are gathered; false if the question has none in memory: then nothing is added.
  ///
  /// - Parameter isRepeated: the question is the last one.
  private mutating func write(
    _ id: UnsafeRawBufferPointer, _ question: Question, at now: BootInstant, isRepeated: Bool = false
  ) -> Bool {
    let before = answers.count
    Self.begin(id, in: &answers)
    guard isRepeated && repeatResult(question, at: now) || writeResult(question, at: now) else {
      answers.drop(to: before)
      return false
    }
    answers.byte(UInt8(ascii: "}"))
    agent.idle.used(at: now)
    return true
  }

  /// Writes what stands before a result.
  private static func begin(_ id: UnsafeRawBufferPointer, in writer: inout JSONWriter) {
    writer.beginLine()
    writer.verbatim("{\"jsonrpc\":\"2.0\",\"id\":")
    writer.verbatim(id)
    writer.verbatim(",\"result\":")
  }

  /// Copies the last result, which a line of the same chunk got, unless a token has changed since.
  private mutating func repeatResult(_ question: Question, at now: BootInstant) -> Bool {
    guard let lastResult, lastResult.version == agent.tokenCache.version, mayHaveToken(of: question.selected, at: now)
    else { return false }
    answers.again(lastResult.range)
    figures.tokenCameFromMemory()
    return true
  }

  private func mayHaveToken(of selected: Selected, at now: BootInstant) -> Bool {
    client.isTrusted || client.access.coversToken(of: selected.account, at: now)
  }

  private mutating func writeResult(_ question: Question, at now: BootInstant) -> Bool {
    switch question {
    case .token(let selected, let minimum):
      guard mayHaveToken(of: selected, at: now) else { return false }
      // First: a change meanwhile makes the result an old one.
      let version = agent.tokenCache.version
      let start = answers.count
      let isFresh = agent.tokenCache.withFresh(selected.account, minimum: minimum, at: now) {
        $0.write(at: now, to: &answers)
      }
      guard isFresh else { return false }
      lastResult = (start..<answers.count, version)
      figures.tokenCameFromMemory()
      return true
    case .decision(let selected, let capability):
      lastResult = nil
      guard client.isTrusted || client.access.coversCheck(of: selected.account, at: now) else { return false }
      return agent.decisionCache.repeated(
        selected.account, capability, for: client.name, at: now, wall: agent.environment.clock.wall(), to: &answers)
    }
  }
}

/// What `CachedAnswers` has answered of a batch.
enum BatchBeginning {
  case whole
  /// So many members, with their answers.
  case part(Int, WireBytes?)
}
