import CommandSupport
import JSONRPC

/// What waits for a person: a request of a program (`approval.list`), or a wish for more than its grant covers
/// (`access.list`).
struct WaitingDecision {
  enum Kind { case request, access }

  let kind: Kind
  let id: String
  /// The client of the grant.
  let client: String
  /// The id of the account.
  let account: String?
  /// When a request is refused without a verdict, on the clock of the account's provider.
  let expiresAt: Moment?
  /// How many callers wait with the same request: a yes sends those of all of them.
  let callers: Int64
  /// The method of the step-up that a yes needs; nil: none.
  let stepUp: String?
  private let capability, method, url, reason: String?
  let origins: [String]
  private let methods, capabilities: [String]
  /// The agent's JSON, for `--json`.
  let json: String

  /// Nil for an entry without an id.
  init?(_ node: JSONNode, _ kind: Kind) {
    guard let id = (kind == .request ? node["approval"] : node["request"])?.string else { return nil }
    func texts(_ list: JSONNode?) -> [String] { list?.elements.compactMap(\.string) ?? [] }
    self.kind = kind
    self.id = id
    client = node["client"]?.string ?? "a program"
    account = node["account"]?.string
    expiresAt = node["expiresAt"]?.string.flatMap { Moment($0) }
    callers = node["waiting"]?.integer ?? 1
    stepUp = node["stepUp"]?.string
    capability = node["capability"]?.string
    method = node["method"]?.string
    url = node["url"]?.string
    reason = node["reason"]?.string
    (origins, methods, capabilities) = (texts(node["origins"]), texts(node["methods"]), texts(node["capabilities"]))
    json = node.text
  }

  /// What is asked for, in one line. What the program chose is in it, so that it is shown by `Text.shown` only.
  ///
  /// - Parameter label: how commands name the account.
  func wish(as label: String?) -> String {
    switch kind {
    case .request:
      let account = label.map { " as \($0)" } ?? ""
      return "\(method ?? "-") \(url ?? "-")\(account)" + (capability.map { " (\($0))" } ?? "")
        + (callers > 1 ? ", \(callers) times" : "")
    case .access:
      var parts = [origins.isEmpty ? "more" : origins.joined(separator: ", ")]
      if !methods.isEmpty { parts.append("with \(methods.joined(separator: ", "))") }
      if let label { parts.append("as \(label)") }
      if !capabilities.isEmpty { parts.append("for \(capabilities.joined(separator: ", "))") }
      return parts.joined(separator: " ") + said
    }
  }

  /// The program's own words, marked as such.
  private var said: String { reason.map { "; it says: “\(Self.quoted($0))”" } ?? "" }

  /// Text that neither ends its own quotation nor leaves blanks that would move its rest to a line of its own.
  private static func quoted(_ text: String) -> String {
    let words = text.split { $0.isWhitespace || $0 == "\u{2800}" }
    return String(words.joined(separator: " ").map { $0 == "“" || $0 == "”" ? "\"" : $0 })
  }

  /// Several lines for a person who is asked to decide.
  func lines(as label: String?, now: Moment) -> [String] {
    let asks = kind == .request ? "wants to send this request" : "asks for more than its grant covers"
    var lines = ["\(client) \(asks):", "  \(wish(as: label))"]
    if stepUp != nil { lines.append("  A yes needs your PIN, as by `lanyard step-up`.") }
    lines.append("  \(id)" + (expiresAt.map { ", refused \($0.relative(to: now)) without your yes" } ?? ""))
    return lines.map(Text.shown)
  }
}

/// All that waits, oldest first, with the names of its accounts.
struct WaitingDecisions {
  let all: [WaitingDecision]
  /// The vault is locked, which ends what waits.
  let isLocked: Bool

  /// What waits; nothing while the vault is locked, for a command that goes on until then.
  static func now(via agent: inout AgentConnection) throws(CommandFailure) -> WaitingDecisions {
    do throws(CommandFailure) {
      return try WaitingDecisions(via: &agent)
    } catch {
      guard error.name == "agentLocked" else { throw error }
      return WaitingDecisions()
    }
  }

  private init() {
    all = []
    isLocked = true
  }

  init(via agent: inout AgentConnection) throws(CommandFailure) {
    var all = try agent.call("approval.list") { result in
      result["approvals"]?.elements.compactMap { WaitingDecision($0, .request) } ?? []
    }
    all += try agent.call("access.list") { result in
      result["requests"]?.elements.compactMap { WaitingDecision($0, .access) } ?? []
    }
    self.all = all
    isLocked = false
  }

  func named(_ id: String) -> WaitingDecision? { all.first { $0.id == id } }

  /// One line: `{"approvals": […], "requests": […]}`.
  var json: String {
    func list(_ kind: WaitingDecision.Kind) -> String {
      all.filter { $0.kind == kind }.map(\.json).joined(separator: ",")
    }
    return #"{"approvals":["# + list(.request) + #"],"requests":["# + list(.access) + "]}"
  }
}

/// What a text about a decision needs of its account: how commands name it, and the time of its provider.
struct DecisionAccounts {
  private let labels: [String: String]

  /// Without names if the caller may not list accounts.
  init(via agent: inout AgentConnection) {
    let accounts = (try? AccountInfo.all(via: &agent)) ?? []
    labels = Dictionary(accounts.map { ($0.id, $0.label) }, uniquingKeysWith: { first, _ in first })
  }

  func label(of decision: WaitingDecision) -> String? { decision.account.map { labels[$0] ?? $0 } }

  func now(for decision: WaitingDecision, via agent: inout AgentConnection) -> Moment {
    guard let account = decision.account, decision.expiresAt != nil else { return .now }
    return SessionInfo.now(of: account, via: &agent)
  }
}
