public import AgentModel

/// The requests that wait for a person, what persons allowed until a grant ends, and what they refused a moment ago. In
/// memory only: a start begins with none of it.
public struct Approvals: Hashable, Sendable {
  /// The contract's bound. A person who looks at more of them decides about none.
  public static let most = 64
  /// Callers that wait with one request: each holds its request in memory.
  public static let mostAskers = 64
  /// After a no: a program that asks in a loop must not wear the person down.
  public static let refusalPause = Milliseconds.seconds(60)

  /// What makes two requests the same: a yes counts for one account. A no counts for all accounts of the grant (`Refusal`).
  public struct Request: Hashable, Sendable {
    public var grant: String
    public var account: AccountID
    public var method: String
    /// For comparison.
    fileprivate var url: String

    public init(grant: String, account: AccountID, method: String, url: HTTPURL) {
      self.grant = grant
      self.account = account
      self.method = method
      self.url = url.comparableText
    }
  }

  /// What a caller asks for.
  public struct Wish: Hashable, Sendable {
    public var request: Request
    /// The name of the grant's client.
    public var client: String
    /// The capabilities that want a verdict, the closest first; not empty. The person sees the first: a verdict for the
    /// session is about that one, and approves this request alone for the others.
    public var capabilities: [String]
    /// For people and the audit log: the URL without the values of its query.
    public var shownURL: String
    public var origin: String
    /// The step-up that a verdict other than `deny` needs; nil for none.
    public var stepUp: StepUpMethod?
    public var wait: Milliseconds

    public init(
      request: Request, client: String, capabilities: [String], url: HTTPURL, stepUp: StepUpMethod?,
      wait: Milliseconds
    ) {
      self.request = request
      self.client = client
      self.capabilities = capabilities
      shownURL = url.withoutValues
      origin = url.origin
      self.stepUp = stepUp
      self.wait = wait
    }
  }

  /// A request that waits.
  public struct Entry: Hashable, Sendable {
    public let id: String
    public let wish: Wish
    public let requestedAt: Timestamp
    public var expiresAt: Timestamp { requestedAt + wish.wait }
    public fileprivate(set) var machine: ApprovalMachine
  }

  public enum Answer: Hashable, Sendable {
    /// A person allowed it until the grant ends.
    case allowed
    /// A person said no a moment ago.
    case refused(left: Milliseconds)
    /// A bound was reached.
    case full
    /// The same request waits already, and the caller waits with it.
    case joins(String)
    /// Nothing like it waits: `begin` has it wait.
    case isNew
  }

  public enum Effect: Hashable, Sendable {
    case record(Entry, ApprovalMachine.Verdict, ApprovalMachine.Basis)
    case answer(ApprovalMachine.Asker, ApprovalMachine.End)
    case tell(Entry, ApprovalMachine.End)
  }

  private struct Allowance: Hashable {
    var grant: String
    var account: AccountID
    var capability: String
  }

  /// What a person refused. The account is no part of it: a program must not ask again with another account of its grant.
  private struct Refusal: Hashable {
    var grant: String
    var method: String
    var url: String

    init(of request: Request) { (grant, method, url) = (request.grant, request.method, request.url) }
  }

  /// In the order in which they came.
  public private(set) var entries: [Entry] = []
  private var allowances: [Allowance: ApprovalMachine.Basis] = [:]
  private var refusals: [Refusal: BootInstant] = [:]

  public init() {}

  // MARK: questions

  public subscript(id: String) -> Entry? { entries.first { $0.id == id } }

  /// Those that want a verdict.
  public var waiting: [Entry] { entries.filter(\.machine.isWaiting) }

  public func isAllowed(_ capability: String, of account: AccountID, for grant: String) -> Bool {
    allowance(of: capability, account, grant) != nil
  }

  private func allowance(of capability: String, _ account: AccountID, _ grant: String) -> ApprovalMachine.Basis? {
    allowances[Allowance(grant: grant, account: account, capability: capability)]
  }

  /// All grants that something is kept for.
  public var grants: Set<String> {
    Set(entries.map(\.wish.request.grant)).union(allowances.keys.map(\.grant)).union(refusals.keys.map(\.grant))
  }

  public var nextMoment: BootInstant? { entries.compactMap(\.machine.nextMoment).min() }

  // MARK: callers

  /// What a caller gets. It waits from now on if the same request does; a new one waits with `begin`.
  public mutating func asks(_ wish: Wish, by asker: ApprovalMachine.Asker, at now: BootInstant) -> Answer {
    refusals = refusals.filter { $0.value > now }
    let request = wish.request
    if wish.capabilities.allSatisfy({ isAllowed($0, of: request.account, for: request.grant) }) { return .allowed }
    if let until = refusals[Refusal(of: request)] { return .refused(left: until - now) }
    if let place = entries.firstIndex(where: { $0.wish.request == request && !$0.machine.hasEnded }) {
      guard entries[place].machine.askers.count < Self.mostAskers else { return .full }
      return entries[place].machine.joined(by: asker) ? .joins(entries[place].id) : .isNew
    }
    return entries.count < Self.most ? .isNew : .full
  }

  /// A new request waits. As `asks` where the same one, or too many, began to wait meanwhile.
  public mutating func begin(
    _ wish: Wish, id: String, by asker: ApprovalMachine.Asker, at now: BootInstant, wall: Timestamp,
    grantEndsAt: BootInstant?
  ) -> Answer {
    let answer = asks(wish, by: asker, at: now)
    guard answer == .isNew else { return answer }
    entries.append(
      Entry(
        id: id, wish: wish, requestedAt: wall,
        machine: ApprovalMachine(askedBy: asker, until: now + wish.wait, grantEndsAt: grantEndsAt)))
    return .isNew
  }

  public mutating func left(_ asker: ApprovalMachine.Asker, at now: BootInstant) -> [Effect] {
    changeAll(at: now) { $0.left(asker) }
  }

  // MARK: verdicts

  /// Nil if no such request waits: another verdict, or its end, came first.
  public mutating func decided(
    _ id: String, _ verdict: ApprovalMachine.Verdict, by basis: ApprovalMachine.Basis
  ) -> [Effect]? {
    guard let place = entries.firstIndex(where: { $0.id == id }),
      let effects = entries[place].machine.decided(verdict, by: basis)
    else { return nil }
    let entry = entries[place]
    return effects.compactMap {
      if case .record(let verdict, let basis) = $0 { .record(entry, verdict, basis) } else { nil }
    }
  }

  public mutating func recorded(_ id: String, at now: BootInstant) -> [Effect] {
    change(id, at: now) { $0.recorded() } + endAllowed(at: now)
  }

  public mutating func notRecorded(_ id: String, at now: BootInstant) -> [Effect] {
    change(id, at: now) { $0.notRecorded() } + endAllowed(at: now)
  }

  /// A verdict for the session is about all requests of the capability, also those that wait already.
  private mutating func endAllowed(at now: BootInstant) -> [Effect] {
    waiting.flatMap { entry in
      let request = entry.wish.request
      let bases = entry.wish.capabilities.map { allowance(of: $0, request.account, request.grant) }
      guard let basis = bases[0], !bases.contains(nil) else { return [Effect]() }
      return change(entry.id, at: now) { $0.allowed(by: basis) }
    }
  }

  // MARK: ends

  public mutating func passed(to now: BootInstant) -> [Effect] { changeAll(at: now) { $0.passed(to: now) } }

  /// These grants cover nothing any more.
  public mutating func grantsEnded(_ grants: Set<String>, at now: BootInstant) -> [Effect] {
    allowances = allowances.filter { !grants.contains($0.key.grant) }
    refusals = refusals.filter { !grants.contains($0.key.grant) }
    return entries.filter { grants.contains($0.wish.request.grant) }.flatMap { entry in
      change(entry.id, at: now) { $0.grantEnded() }
    }
  }

  public mutating func locked(at now: BootInstant) -> [Effect] { changeAll(at: now) { $0.locked() } }

  public mutating func shutDown(at now: BootInstant) -> [Effect] { changeAll(at: now) { $0.shutDown() } }

  // MARK: entries

  private mutating func changeAll(
    at now: BootInstant, _ body: (inout ApprovalMachine) -> [ApprovalMachine.Effect]
  ) -> [Effect] {
    entries.map(\.id).flatMap { change($0, at: now, body) }
  }

  private mutating func change(
    _ id: String, at now: BootInstant, _ body: (inout ApprovalMachine) -> [ApprovalMachine.Effect]
  ) -> [Effect] {
    guard let place = entries.firstIndex(where: { $0.id == id }) else { return [] }
    let effects = body(&entries[place].machine)
    let entry = entries[place]
    if entry.machine.hasEnded { entries.remove(at: place) }
    return effects.compactMap { perform($0, of: entry, at: now) }
  }

  private mutating func perform(
    _ effect: ApprovalMachine.Effect, of entry: Entry, at now: BootInstant
  ) -> Effect? {
    let request = entry.wish.request
    switch effect {
    case .record(let verdict, let basis): return .record(entry, verdict, basis)
    case .answer(let asker, let end): return .answer(asker, end)
    case .tell(let end): return .tell(entry, end)
    case .keepAllowance(let basis):
      let shown = entry.wish.capabilities[0]
      allowances[Allowance(grant: request.grant, account: request.account, capability: shown)] = basis
      return nil
    case .keepRefusal:
      refusals[Refusal(of: request)] = now + Self.refusalPause
      return nil
    }
  }
}

extension HTTPURL {
  /// What a person sees of it: the values of a query are data, and may be secrets.
  fileprivate var withoutValues: String {
    guard let query else { return Self.cut(origin + path) }
    let names = query.split(separator: "&", omittingEmptySubsequences: false).map { $0.prefix { $0 != "=" } }
    return Self.cut(origin + path + "?" + names.joined(separator: "&"))
  }

  /// The bound of the contract; a redirect may lead to a longer one.
  private static func cut(_ text: String) -> String { text.utf8.count <= 4096 ? text : text.prefix(4000) + "[...]" }
}
