internal import AgentModel

/// What programs and AI agents did: the last hour in short, requests over time, then every entry of the audit log.
struct ActivityPage {
  let frame: Frame
  let accounts: Accounts
  let log: AuditLogPage
  let span: Span
  private let agents: Set<String>

  /// How much of the past is drawn.
  enum Span: String, CaseIterable {
    case hour, day, week

    var seconds: Int64 {
      switch self {
      case .hour: 3600
      case .day: 86_400
      case .week: 604_800
      }
    }
    var words: String {
      switch self {
      case .hour: "the last hour"
      case .day: "the last 24 hours"
      case .week: "the last 7 days"
      }
    }
  }

  private static let perPage = 50
  private var visit: PageVisit { frame.visit }
  private var since: Timestamp { frame.now + .seconds(-span.seconds) }

  init(_ visit: PageVisit, _ answers: AgentAnswers) {
    frame = Frame(visit, answers)
    accounts = Accounts(answers)
    log = AuditLogPage(answers)
    span = Self.span(visit.query)
    let grants = answers["grants"]?["grants"]?.elements.compactMap { Grant($0) } ?? []
    agents = Set(grants.filter(\.isAgent).map(\.client))
  }

  private static func span(_ query: [String: String]) -> Span {
    query["span"].flatMap { Span(rawValue: $0) } ?? .hour
  }

  static func questions(_ query: [String: String]) -> [AgentQuestion] {
    Frame.questions + [
      AgentQuestion("grants", "grant.list"), AuditWindow.question(0, before: query["before"].flatMap { Int64($0) }),
    ]
  }

  static func furtherQuestions(_ query: [String: String], _ answers: AgentAnswers) -> [AgentQuestion] {
    AuditWindow.further(answers)
  }

  func html() -> String {
    frame.document { html in
      if let failure = frame.answers.failure("audit-0") {
        html.empty("The audit log can't be read", failure.message)
        return
      }
      if visit.query["before"] == nil { picture(&html) }
      let entries = log.entries.filter(matches)
      filters(&html)
      list(&html, entries)
    }
  }

  private func matches(_ entry: AuditEntry) -> Bool {
    let query = visit.query
    if let program = query["program"], !program.isEmpty, entry.program != program { return false }
    if let verdict = query["verdict"], !verdict.isEmpty, entry.verdict.rawValue != verdict { return false }
    if let account = query["account"], !account.isEmpty, entry.account != account { return false }
    switch query["kind"] {
    case "requests": return entry.isRequest
    case "decisions": return entry.isDecision
    case "changes": return !entry.isRequest && !entry.isDecision
    default: return true
    }
  }

  // MARK: the picture

  private func picture(_ html: inout HTML) {
    let hour = RequestLanes(
      log.entries, since: frame.now + .seconds(-3600), until: frame.now, agents: agents)
    summary(&html, hour)
    let lanes = span == .hour ? hour : RequestLanes(log.entries, since: since, until: frame.now, agents: agents)
    html.literal(
      "<section class=\"panel\" aria-labelledby=\"over-time\"><div class=\"heading\"><h2 id=\"over-time\">Requests of ")
    html.text(span.words)
    html.literal("</h2><ul class=\"choices\" aria-label=\"Span\">")
    for choice in Span.allCases {
      html.element("li", [:]) { html in
        html.element(
          "a",
          [
            "href": Address.of("/activity", visit.query.merging(["span": choice.rawValue]) { _, new in new }),
            "aria-current": choice == span ? "true" : nil,
          ], Words.sentence(choice.rawValue))
      }
    }
    html.literal("</ul></div>")
    if lanes.lanes.isEmpty {
      html.element("p", ["class": "hint"], "No program sent a request in \(span.words).")
    } else {
      html.literal(
        "<p class=\"legend\"><span class=\"mark good\">allowed</span> <span class=\"mark bad\">refused or failed</span></p>"
      )
      lanes.write(to: &html, frame.time)
    }
    if let oldest = log.entries.last, log.entries.count >= Int(AuditWindow.perCall), oldest.at > since {
      html.literal("<p class=\"hint\">The picture has the newest entries alone, since ")
      html.moment(oldest.at, frame.time)
      html.literal(".</p>")
    }
    html.literal("</section>\n")
  }

  private func summary(_ html: inout HTML, _ hour: RequestLanes) {
    let total = hour.lanes.reduce(0) { $0 + $1.total }
    let refused = hour.lanes.reduce(0) { $0 + $1.totalRefused }
    let programs = hour.lanes.filter { !$0.isAgent }.count
    let agentCount = hour.lanes.count - programs
    html.literal("<ul class=\"figures\" aria-label=\"The last hour\">")
    html.figure(total, total == 1 ? "request in the last hour" : "requests in the last hour")
    html.figure(refused, "refused or failed", refused > 0 ? .bad : .idle)
    html.figure(Int64(agentCount), agentCount == 1 ? "AI agent at work" : "AI agents at work")
    html.figure(Int64(programs), programs == 1 ? "other program" : "other programs")
    html.literal("</ul>\n")
  }

  // MARK: the list

  private func filters(_ html: inout HTML) {
    let query = visit.query
    let programs = Set(log.entries.map(\.program)).sorted()
    html.element("form", ["method": "get", "action": "/activity", "class": "filters"]) { html in
      html.field("Program", id: "program") {
        $0.choice(
          id: "program", name: "program", [("", "all")] + programs.map { ($0, $0) }, chosen: query["program"])
      }
      html.field("What", id: "kind") {
        $0.choice(
          id: "kind", name: "kind",
          [("", "everything"), ("requests", "requests"), ("decisions", "decisions"), ("changes", "changes")],
          chosen: query["kind"])
      }
      html.field("Verdict", id: "verdict") {
        $0.choice(
          id: "verdict", name: "verdict",
          [("", "all")] + AuditEntry.Verdict.allCases.map { ($0.rawValue, $0.rawValue) }, chosen: query["verdict"])
      }
      html.field("Account", id: "account") {
        $0.choice(
          id: "account", name: "account",
          [("", "all")] + accounts.all.map { ($0.id, $0.label) }.sorted { $0.1 < $1.1 }.prefix(200),
          chosen: query["account"])
      }
      if span != .hour { html.open("input", ["type": "hidden", "name": "span", "value": span.rawValue]) }
      html.element("button", ["id": "filter"], "Show")
    }
  }

  private func list(_ html: inout HTML, _ entries: [AuditEntry]) {
    guard !entries.isEmpty else {
      html.empty("Nothing to show", "No entry of the audit log is like that.")
      return
    }
    let pager = Pager(visit.query, total: entries.count, size: Self.perPage)
    let shown = entries[pager.range]
    let table = TableWriter(
      id: "entries", caption: "The audit log, newest first", columns: ["What", "Program", "Account", "Verdict", "When"])
    table.write(to: &html) { html in
      for entry in shown {
        table.row(
          &html,
          [
            { html in EntryText(entry).write(to: &html) },
            { html in
              html.name(entry.program)
              if agents.contains(entry.program) {
                html.literal(" ")
                html.element("span", ["class": "tag"], "AI agent")
              }
            },
            entry.account.map { id in { html in html.name(accounts.label(id)) } },
            { html in
              html.mark(entry.verdict.tone, entry.verdict.rawValue)
              if let reason = entry.fact("reason"), entry.verdict == .refused || entry.verdict == .failed {
                html.small { $0.name(Words.spaced(reason)) }
              } else if entry.verdict == .failed {
                html.small { $0.name(Words.spaced(entry.outcome)) }
              }
            },
            { html in
              html.moment(entry.at, frame.time)
              if entry.count > 1 {
                html.small { html in
                  html.text("\(entry.count.grouped) times, until ")
                  html.moment(entry.lastAt, frame.time)
                }
              }
            },
          ])
      }
    }
    pager.write(to: &html, path: WebPage.activity.path, query: visit.query.filter { $0.key != "page" })
    older(&html)
  }

  /// What the first calls did not bring.
  private func older(_ html: inout HTML) {
    guard let oldest = log.entries.last, oldest.sequence > 1, log.entries.count >= Int(AuditWindow.perCall) else {
      return
    }
    html.literal("<p>")
    html.element(
      "a",
      [
        "class": "button", "id": "older",
        "href": Address.of(
          "/activity",
          visit.query.filter { $0.key != "page" }.merging(["before": String(oldest.sequence)]) { _, new in new }),
      ], "Older entries")
    html.literal("</p>\n")
  }
}
