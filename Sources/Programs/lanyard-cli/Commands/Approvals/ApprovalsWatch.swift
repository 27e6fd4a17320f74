import CommandSupport
import Glibc
import JSONRPC
import Threads

/// `lanyard approvals --watch`: shows what waits as it comes and ends, and on a terminal asks about it. It sleeps until the
/// agent, the person or a signal says something.
struct ApprovalsWatch: ~Copyable {
  private let common: CommonOptions
  /// A question on stderr can be answered, and stdout shows what it is about.
  private let asks: Bool
  private var waiting: [WaitingDecision] = []
  /// Those that the person leaves for later.
  private var passedOver: Set<String> = []
  /// The question on the terminal.
  private var asked: WaitingDecision?
  /// Of which the lines above the question are.
  private var shown: String?
  /// What became of those that ended, by the events.
  private var ends: [String: String] = [:]
  private var input = LineReader()
  /// The person can still answer.
  private var isInputOpen = true
  private var lastJSON: String?
  private var isLocked = false

  init(_ common: CommonOptions) {
    self.common = common
    asks = Terminal.canAsk && Terminal.showsAnswers && !common.json
  }

  mutating func run() throws(CommandFailure) {
    var interruption = try Interruption()
    // Two connections: a call drops events that arrive before its answer.
    var events = try common.connect()
    var agent = try common.connect()
    try events.perform("event.subscribe")
    if Terminal.showsAnswers, !common.json { Output.note("Waiting for what needs your yes. Ctrl-C ends this.") }
    while true {
      try update(via: &agent, &events, interruption)
      guard !Output.takesNothing else { return }
      ask(via: &agent)
      let stdin = asked != nil && isInputOpen ? STDIN_FILENO : -1
      switch try events.wait(interruption: interruption, milliseconds: -1, orReadable: stdin) {
      case .interrupted: throw Interruption.failure
      case .bytes, .timeout: try drain(&events)
      case .other:
        guard let verdict = readAnswer() else { continue }
        // The PIN may be asked for, and Ctrl-C then ends the command at once.
        interruption.end()
        try give(verdict, via: &agent)
        interruption = try Interruption()
        try drain(&events)
      }
    }
  }

  private mutating func drain(_ events: inout AgentConnection) throws(CommandFailure) {
    while let end = try events.event({ (event) in Self.end(in: event) }) {
      if let end { ends[end.id] = end.words }
    }
  }

  /// What an event says of the end of one that waited; nil for another event.
  private static func end(in event: JSONNode) -> (id: String, words: String)? {
    guard let data = event["data"] else { return nil }
    if event["type"]?.isText("approval.decided") == true, let id = data["approval"]?.string {
      return (id, words(of: data["verdict"]?.string ?? data["outcome"]?.string ?? ""))
    }
    if event["type"]?.isText("access.decided") == true, let id = data["request"]?.string {
      return (id, words(of: data["verdict"]?.string ?? "grantEnded"))
    }
    return nil
  }

  /// A verdict or an outcome of the contract.
  private static func words(of verdict: String) -> String {
    switch verdict {
    case "once": "allowed once"
    case "session": "allowed for the session"
    case "allow": "allowed"
    case "deny": "denied"
    case "timedOut": "refused, since no answer came in time"
    case "withdrawn": "given up by the program"
    case "grantEnded": "its grant has ended"
    case "locked": "the vault was locked"
    default: Text.words(verdict)
    }
  }

  // MARK: what waits

  private mutating func update(
    via agent: inout AgentConnection, _ events: inout AgentConnection, _ interruption: Interruption
  ) throws(CommandFailure) {
    let now = try WaitingDecisions.now(via: &agent)
    if !common.json { try hearEnds(of: waiting.map(\.id).filter { now.named($0) == nil }, &events, interruption) }
    if now.isLocked, !isLocked {
      withdrawQuestion()
      Output.note("The vault is locked, so nothing waits: `lanyard unlock` opens it.")
    }
    isLocked = now.isLocked
    if common.json {
      if now.json != lastJSON { Output.answer(json: now.json) }
      lastJSON = now.json
      return
    }
    for former in waiting where now.named(former.id) == nil {
      withdrawQuestion()
      passedOver.remove(former.id)
      Output.answer(text: Text.shown("  \(former.id) is over: \(ends[former.id] ?? "it does not wait any more")."))
    }
    ends = [:]
    let new = now.all.filter { decision in !waiting.contains { $0.id == decision.id } }
    waiting = now.all
    guard !new.isEmpty else { return }
    // Where a person is asked, each is shown when its turn comes, just above its question.
    guard asks, isInputOpen else { return show(new, via: &agent) }
    guard asked != nil else { return }
    withdrawQuestion()
    for decision in new { Output.answer(text: Text.shown("  \(decision.id) of \(decision.client) waits too.")) }
  }

  private static let eventMilliseconds = 500

  /// The list may be ahead of the events that say what became of these.
  private mutating func hearEnds(
    of over: [String], _ events: inout AgentConnection, _ interruption: Interruption
  ) throws(CommandFailure) {
    let deadline = MonotonicTime.now + Self.eventMilliseconds
    while over.contains(where: { ends[$0] == nil }) {
      let left = deadline - MonotonicTime.now
      guard left > 0 else { return }
      guard case .bytes = try events.wait(interruption: interruption, milliseconds: Int32(left)) else { return }
      try drain(&events)
    }
  }

  private mutating func show(_ decisions: [WaitingDecision], via agent: inout AgentConnection) {
    let accounts = DecisionAccounts(via: &agent)
    for decision in decisions {
      let lines = decision.lines(as: accounts.label(of: decision), now: accounts.now(for: decision, via: &agent))
      Output.answer(text: lines.joined(separator: "\n"))
      shown = decision.id
    }
  }

  // MARK: the question

  private mutating func ask(via agent: inout AgentConnection) {
    guard asks, isInputOpen, asked == nil,
      let next = waiting.first(where: { !passedOver.contains($0.id) })
    else { return }
    if shown != next.id { show([next], via: &agent) }
    asked = next
    // An answer to a question that the person has not seen would be a yes by accident.
    Terminal.forgetTyped()
    let keys =
      next.kind == .request
      ? "o once, s for the session, d deny, n not now" : "a allow, or for a time such as 8h; d deny, n not now"
    Output.write(Text.shown("\(next.id): \(keys)? "), to: STDERR_FILENO)
  }

  /// Takes the question off the terminal; it may come again.
  private mutating func withdrawQuestion() {
    guard asked != nil else { return }
    asked = nil
    Output.write("\n", to: STDERR_FILENO)
  }

  /// The verdict that the person typed; nil for none.
  private mutating func readAnswer() -> Verdict? {
    guard let decision = asked else { return nil }
    switch input.fill(from: STDIN_FILENO) {
    case .bytes, .wouldBlock: break
    case .endOfFile, .failed, .tooLong:
      isInputOpen = false
      withdrawQuestion()
      return nil
    }
    let typed = input.next { line in String(decoding: line, as: UTF8.self) }
    guard let typed else { return nil }
    let word = typed.lowercased().filter { !$0.isWhitespace }
    if ["n", "skip", "notnow"].contains(word) {
      asked = nil
      passedOver.insert(decision.id)
      Output.instruction("It waits on: `lanyard approvals allow \(decision.id)` says yes later.")
      return nil
    }
    guard let verdict = Self.verdict(word, for: decision.kind) else {
      // Asked again by `ask`.
      asked = nil
      return nil
    }
    return verdict
  }

  private static func verdict(_ word: String, for kind: WaitingDecision.Kind) -> Verdict? {
    switch (word, kind) {
    case ("d", _), ("deny", _): .deny
    case ("o", .request), ("once", .request): .allow
    case ("s", .request), ("session", .request): .allowSession
    case ("a", .access), ("allow", .access): .allow
    case (_, .access): DurationArgument.seconds(word).flatMap { $0 > 0 ? .allowFor(seconds: $0) : nil }
    default: nil
    }
  }

  private mutating func give(_ verdict: Verdict, via agent: inout AgentConnection) throws(CommandFailure) {
    guard let decision = asked else { return }
    asked = nil
    do throws(CommandFailure) {
      _ = try verdict.give(decision, via: &agent)
      Output.instruction(verdict.words(for: decision.kind))
      waiting.removeAll { $0.id == decision.id }
    } catch {
      // The person is asked again while it waits; without an agent there is nothing to ask about.
      guard error.wire != nil else { throw error }
      Output.tell(error, json: false)
    }
  }
}
