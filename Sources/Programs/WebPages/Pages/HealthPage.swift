internal import AgentModel

/// Whether all is well with the agent itself: what it finds, the network, time, the store, its refreshes and its sessions.
struct HealthPage {
  let frame: Frame
  let accounts: Accounts
  /// Accounts whose sessions are drawn: those that need the person come first.
  private static let mostLines = 24

  init(_ visit: PageVisit, _ answers: AgentAnswers) {
    frame = Frame(visit, answers)
    accounts = Accounts(answers)
  }

  static func questions(_ query: [String: String]) -> [AgentQuestion] {
    Frame.questions + [
      AgentQuestion("connectivity", "connectivity.get"), AgentQuestion("metrics", "metrics.read"),
      AgentQuestion("findings", "agent.diagnose", query["ask"] == "providers" ? ["askProviders": true] : [:]),
    ]
  }

  static func furtherQuestions(_ answers: AgentAnswers) -> [AgentQuestion] {
    Accounts(answers).sorted(at: Timestamp(milliseconds: 0)).prefix(mostLines).map {
      AgentQuestion("session-\($0.id)", "session.get", ["account": .string($0.id)])
    }
  }

  private func session(_ id: String) -> Session? { Session(frame.answers["session-\(id)"]) }
  private var drawn: [Account] { Array(accounts.sorted(at: Timestamp(milliseconds: 0)).prefix(Self.mostLines)) }

  func html() -> String {
    frame.document { html in
      findings(&html)
      html.literal("<div class=\"columns\">")
      agent(&html)
      refreshes(&html)
      html.literal("</div>\n")
      sessions(&html)
    }
  }

  // MARK: findings

  private func findings(_ html: inout HTML) {
    if let failure = frame.answers.failure("findings") {
      html.element("p", ["class": "notice bad"]) { $0.prose(failure.message) }
      return
    }
    let findings = frame.answers["findings"]?["findings"]?.elements ?? []
    func all(_ severity: String) -> [JSONValue] { findings.filter { $0["severity"]?.string == severity } }
    let (problems, notices, good) = (all("problem"), all("notice"), all("ok"))
    html.literal("<ul class=\"figures\" aria-label=\"In short\">")
    html.figure(Int64(problems.count), problems.count == 1 ? "problem" : "problems", problems.isEmpty ? .good : .bad)
    html.figure(Int64(notices.count), notices.count == 1 ? "thing worth knowing" : "things worth knowing")
    html.figure(Int64(good.count), good.count == 1 ? "check passed" : "checks passed")
    html.literal("</ul>\n")
    for finding in (problems + notices).prefix(100) {
      let isProblem = finding["severity"]?.string == "problem"
      html.element("section", ["class": "finding \(isProblem ? Tone.bad.rawValue : Tone.idle.rawValue)"]) { html in
        html.element("h2", [:]) { html in
          html.mark(isProblem ? .bad : .idle, isProblem ? "problem" : "notice")
          html.literal(" ")
          html.name(Words.spaced(finding["check"]?.string ?? ""))
          if let id = finding["account"]?.string {
            html.literal(": ")
            html.name(accounts.label(id))
          }
        }
        html.element("p", [:]) { $0.prose(finding["message"]?.string ?? "") }
        for remedy in finding["remedies"]?.strings.prefix(3) ?? [] {
          html.element("p", ["class": "hint"]) { $0.prose(remedy) }
        }
      }
    }
    html.literal("<p>")
    html.element(
      "a", ["class": "button", "href": "/health?ask=providers", "id": "ask-providers"], "Ask the providers too")
    html.literal("</p>\n")
  }

  // MARK: the agent

  private func agent(_ html: inout HTML) {
    let status = frame.answers["status"] ?? [:]
    let connectivity = frame.answers["connectivity"]
    html.literal(
      "<section class=\"panel\" aria-labelledby=\"agent\"><h2 id=\"agent\">The agent</h2><dl class=\"facts\">")
    func fact(_ label: String, _ content: (inout HTML) -> Void) {
      html.element("dt", [:], label)
      html.element("dd", [:], content)
    }
    fact("Network") { html in
      let state = connectivity?["state"]?.string ?? status["connectivity"]?.string ?? "unknown"
      html.mark(state == "online" ? .good : state == "offline" ? .warn : .idle, state)
      if let since = connectivity?["since"]?.moment {
        html.literal(" since ")
        html.moment(since, frame.time)
      }
      if let basis = connectivity?["basis"]?.string { html.small(Self.words(ofBasis: basis)) }
    }
    fact("Time") { html in
      let sessions = drawn.compactMap { session($0.id) }
      let suspects = sessions.filter(\.isClockSuspect)
      let farthest = sessions.max { ($0.clockOffsetMs ?? 0).magnitude < ($1.clockOffsetMs ?? 0).magnitude }
      if !suspects.isEmpty {
        let known = suspects.contains(where: \.isTimeTold) ? "a provider's time" : "the time that was known before"
        html.mark(.bad, "this machine's clock disagrees with \(known)")
      } else if sessions.isEmpty {
        html.mark(.idle, "no provider has told its time")
      } else {
        html.mark(.good, "the clock is trusted")
      }
      if let farthest, let offset = farthest.clockOffsetMs, offset.magnitude >= 1000 {
        let known = farthest.isTimeTold ? "a provider's time at most" : "that time"
        html.small("\(LatencyBars.duration(Int64(offset.magnitude))) \(offset < 0 ? "ahead of" : "behind") \(known)")
      }
    }
    fact("Store") { html in
      let stores = (frame.answers["findings"]?["findings"]?.elements ?? []).filter {
        ($0["check"]?.string ?? "").lowercased().contains("store") && $0["severity"]?.string == "problem"
      }
      html.mark(stores.isEmpty ? .good : .bad, stores.isEmpty ? "sealed, no finding" : "see above")
      html.small(
        "opened by \(Words.spaced(status["protection"]?.string ?? "an unknown way").lowercased())")
    }
    fact("Memory") { html in
      let isLocked = status["memoryLocked"]?.isTrue ?? false
      html.mark(isLocked ? .good : .warn, isLocked ? "secrets never left RAM" : "secrets may have reached swap")
      if let bytes = gauge("lanyard_resident_memory_bytes") {
        html.small("\(bytes / 1_048_576) MiB in use")
      }
    }
    fact("Confined by") { $0.text(status["confinement"]?.string ?? "unknown") }
    fact("Programs") { $0.text(Words.count(status["connections"]?.integer ?? 0, "connection")) }
    fact("Running") { html in
      html.text("version \(status["version"]?.string ?? "?")")
      if let at = status["startedAt"]?.moment {
        html.literal(" since ")
        html.moment(at, frame.time)
      }
    }
    html.literal("</dl></section>\n")
  }

  private func gauge(_ name: String) -> Int64? {
    frame.answers["metrics"]?["gauges"]?.elements.first { $0["name"]?.string == name }?["samples"]?.elements.first?[
      "value"]?
      .integer
  }

  private static func words(ofBasis basis: String) -> String {
    switch basis {
    case "report": "as a program told"
    case "exchange": "as the last request to a provider showed"
    case "interface": "as the machine's network says"
    default: "nothing has told yet"
    }
  }

  // MARK: refreshes

  private func refreshes(_ html: inout HTML) {
    html.literal("<section class=\"panel\" aria-labelledby=\"refreshes\"><h2 id=\"refreshes\">Refreshes</h2>")
    let outcomes = outcomes
    if outcomes.isEmpty {
      html.literal("<p class=\"hint\">No token was refreshed since the agent's start.</p>")
    } else {
      html.literal("<ul class=\"outcomes\">")
      for (outcome, count) in outcomes {
        html.element("li", [:]) { html in
          html.mark(outcome == "renewed" ? .good : .warn, "\(count.grouped) \(Words.spaced(outcome))")
        }
      }
      html.literal("</ul>")
    }
    if let bars = LatencyBars(frame.answers["metrics"]) {
      bars.write(to: &html)
      html.element("p", ["class": "hint"], "On average \(LatencyBars.duration(bars.meanMs)).")
    }
    html.literal("</section>\n")
  }

  private var outcomes: [(String, Int64)] {
    var sums: [String: Int64] = [:]
    let figure = frame.answers["metrics"]?["counters"]?.elements.first { $0["name"]?.string == "lanyard_exchanges" }
    for sample in figure?["samples"]?.elements ?? [] {
      guard let outcome = sample["labels"]?["outcome"]?.string, let value = sample["value"]?.integer, value > 0 else {
        continue
      }
      sums[outcome, default: 0] += value
    }
    return sums.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { ($0.key, $0.value) }
  }

  // MARK: sessions

  private func sessions(_ html: inout HTML) {
    let lines = SessionLines(drawn, session)
    guard !lines.lines.isEmpty else { return }
    html.literal(
      "<section class=\"panel\" aria-labelledby=\"ends\"><h2 id=\"ends\">Sessions and their ends</h2><p class=\"legend\"><span class=\"key token\">token, renewed by itself</span> <span class=\"key session\">session or key</span> <span class=\"key offline\">usable offline until</span></p>"
    )
    lines.write(to: &html, frame.time)
    if accounts.all.count > Self.mostLines {
      html.element("p", ["class": "hint"], "\(Self.mostLines) of \(accounts.all.count) accounts.")
    }
    html.literal("</section>\n")
  }
}
