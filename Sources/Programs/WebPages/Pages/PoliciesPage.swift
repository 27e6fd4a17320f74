internal import AgentModel
internal import JSONRPC

/// What the policies say, who they apply to, and what they would say: a try changes nothing.
struct PoliciesPage {
  let frame: Frame
  let accounts: Accounts
  private var visit: PageVisit { frame.visit }

  init(_ visit: PageVisit, _ answers: AgentAnswers) {
    frame = Frame(visit, answers)
    accounts = Accounts(answers)
  }

  static func questions(_ query: [String: String]) -> [AgentQuestion] {
    var questions =
      Frame.questions + [AgentQuestion("policies", "policy.list"), AgentQuestion("providers", "provider.list")]
    if let trial = PolicyTrial(query) { questions.append(trial.question) }
    return questions
  }

  /// The document of the policy that is shown: of the address, of the tried account's provider, else the first.
  static func furtherQuestions(_ query: [String: String], _ answers: AgentAnswers) -> [AgentQuestion] {
    guard let name = shownPolicy(query, answers) else { return [] }
    return [AgentQuestion("policy", "policy.get", ["name": .string(name)])]
  }

  private static func shownPolicy(_ query: [String: String], _ answers: AgentAnswers) -> String? {
    let names = answers["policies"]?["policies"]?.elements.compactMap { $0["name"]?.string } ?? []
    let tried = answers["trial"]?["policy"]?["name"]?.string
    return [query["policy"], tried].compactMap { $0 }.first { names.contains($0) } ?? names.first
  }

  func html() -> String {
    frame.document { html in
      trial(&html)
      list(&html)
      document(&html)
    }
  }

  // MARK: a try

  private func trial(_ html: inout HTML) {
    let query = visit.query
    html.literal("<section class=\"panel\" aria-labelledby=\"try\"><h2 id=\"try\">What if…</h2>")
    guard !accounts.all.isEmpty else {
      html.literal("<p class=\"hint\">A policy is tried for an account: sign in first.</p></section>\n")
      return
    }
    let active = accounts.all.first(where: \.isActive)?.id
    html.element("form", ["method": "get", "action": "/policies", "class": "fields"]) { html in
      html.field("Account", id: "try-account") {
        $0.choice(
          id: "try-account", name: "account",
          accounts.all.map { ($0.id, $0.label) }.sorted { $0.1 < $1.1 }.prefix(1000).map { (value: $0.0, words: $0.1) },
          chosen: query["account"] ?? active)
      }
      html.field("wants to", id: "try-capability") { html in
        html.open(
          "input",
          [
            "id": "try-capability", "name": "capability", "type": "text", "required": "", "maxlength": "128",
            "list": "capabilities", "autocomplete": "off", "value": query["capability"] ?? capabilities.first ?? "",
          ])
        html.element("datalist", ["id": "capabilities"]) { html in
          for capability in capabilities { html.element("option", ["value": capability], "") }
        }
      }
      html.field("while", id: "try-offline") {
        $0.choice(
          id: "try-offline", name: "offline", PolicyTrial.spans(frame.time), chosen: query["offline"])
      }
      html.field("and you", id: "try-step-up") {
        $0.choice(
          id: "try-step-up", name: "stepUp",
          [("", "as it is now"), ("yes", "have just confirmed that it is you"), ("no", "have not confirmed it")],
          chosen: query["stepUp"])
      }
      html.element("button", ["class": "main", "id": "try-now"], "Try")
    }
    if PolicyTrial(query) != nil { outcome(&html) }
    html.literal("</section>\n")
  }

  private func outcome(_ html: inout HTML) {
    if let failure = frame.answers.failure("trial") {
      html.element("p", ["class": "notice bad", "role": "status"]) { $0.prose(failure.message) }
    }
    guard let decision = frame.answers["trial"] else { return }
    let effect = decision["effect"]?.string ?? "deny"
    let (tone, words): (Tone, String) =
      switch effect {
      case "allow": (.good, "It may.")
      case "readOnly": (.warn, "It may only read.")
      default: (.bad, "It may not.")
      }
    html.element("div", ["class": "verdict \(tone.rawValue)", "role": "status", "id": "verdict"]) { html in
      html.element("p", ["class": "answer"]) { html in
        html.element("b", [:], words)
        html.literal(" ")
        if effect != "allow" { html.text(Words.sentence(Words.spaced(decision["reason"]?.string ?? "")) + ".") }
        if let end = decision["validUntil"]?.moment {
          html.literal(" It stays so until ")
          html.moment(end, frame.time)
          html.literal(" if only time passes.")
        }
      }
      let failed = decision["failed"]?.elements ?? []
      // The sentence above has the reason of the only one already.
      let isAlone = failed.count == 1 && failed[0]["reason"] == decision["reason"]
      if !failed.isEmpty {
        html.element("ul", ["class": isAlone ? "checks alone" : "checks"]) { html in
          for check in failed {
            html.element("li", [:]) { html in
              if !isAlone { html.name(Words.sentence(Words.spaced(check["reason"]?.string ?? ""))) }
              let facts =
                check["facts"]?.members.compactMap { fact in
                  Self.words(of: fact.name, fact.value)
                } ?? []
              if !facts.isEmpty { html.small { $0.name(facts.joined(separator: " · ")) } }
            }
          }
        }
      }
      html.element("p", ["class": "hint"]) { html in
        if let name = decision["policy"]?["name"]?.string, !name.isEmpty {
          html.literal("By the policy ")
          html.name(name)
          html.text(", version \(decision["policy"]?["version"]?.integer ?? 0). ")
        } else {
          html.literal("No policy applies to this account: without one every capability is denied. ")
        }
        html.literal("Nothing was changed, and nothing was asked of anyone.")
      }
    }
  }

  /// `offline window: 7 days` for `offlineWindowSeconds`.
  private static func words(of name: String, _ value: JSONValue) -> String? {
    let shown: String? =
      switch value {
      case .integer(let number):
        name.hasSuffix("Seconds") ? Milliseconds.seconds(number).words : number.grouped
      case .string(let text): text
      case .array: value.strings.joined(separator: ", ")
      case .bool(let flag): flag ? "yes" : "no"
      default: nil
      }
    let bare = name.hasSuffix("Seconds") ? String(name.dropLast(7)) : name
    return shown.map { "\(factNames[bare] ?? Words.spaced(bare)): \($0)" }
  }

  private static let factNames = [
    "lastOnlineAuthAge": "since it was last confirmed online", "snapshotAge": "since its roles were last read",
    "offlineWindow": "allowed offline for",
  ]

  // MARK: the policies

  private var capabilities: [String] {
    frame.answers["policy"]?["policy"]?["capabilities"]?.members.map(\.name) ?? []
  }

  private func list(_ html: inout HTML) {
    let policies = frame.answers["policies"]?["policies"]?.elements ?? []
    guard !policies.isEmpty else {
      html.empty(
        "No policy yet",
        "Without one every capability is denied, and requests need none. `lanyard policy draft` writes one from the catalogue."
      )
      return
    }
    let providers = frame.answers["providers"]?["providers"]?.elements ?? []
    let table = TableWriter(id: "policies", caption: "Policies", columns: ["Policy", "Version", "Applies to", "From"])
    table.write(to: &html) { html in
      for policy in policies {
        guard let name = policy["name"]?.string else { continue }
        let users = providers.filter { $0["policy"]?.string == name }.compactMap { $0["name"]?.string }
        let people = accounts.all.filter { users.contains($0.provider) }
        table.row(
          &html,
          [
            { html in
              html.element(
                "a",
                [
                  "href": Address.of("/policies", ["policy": name]),
                  "aria-current": name == frame.answers["policy"]?["name"]?.string ? "true" : nil,
                ]
              ) { $0.name(name) }
            },
            { html in html.text(String(policy["version"]?.integer ?? 1)) },
            { html in
              if users.isEmpty { return html.literal("no provider") }
              html.name(Words.list(users.sorted()))
              html.small { $0.name(people.isEmpty ? "no account" : Words.list(people.map(\.label))) }
            },
            { html in
              if let source = policy["source"]?.string {
                html.literal("your organisation")
                html.small { $0.name(source) }
              } else {
                html.literal("you")
              }
            },
          ])
      }
    }
  }

  private func document(_ html: inout HTML) {
    guard let policy = frame.answers["policy"], let name = policy["name"]?.string, let text = policy["policy"] else {
      return
    }
    let capabilities = text["capabilities"]?.members ?? []
    if !capabilities.isEmpty {
      let table = TableWriter(
        id: "capability-list", caption: "What the policy \(name) names",
        columns: ["Capability", "Kind", "Wants", "Requests"])
      table.write(to: &html) { html in
        for (capability, rules) in capabilities.map({ ($0.name, $0.value) }) {
          let tier = rules["tier"]?.string.flatMap { text["tiers"]?[$0] }
          let wants = Self.wants(rules, tier)
          let requests = rules["requests"]?.elements ?? []
          table.row(
            &html,
            [
              { html in html.name(capability) },
              { html in html.name(rules["kind"]?.string ?? "") },
              wants.isEmpty ? nil : { html in html.name(wants.joined(separator: " · ")) },
              requests.isEmpty
                ? nil
                : { html in
                  for request in requests.prefix(3) {
                    html.element("span", ["class": "line"]) {
                      $0.name(
                        "\(request["methods"]?.strings.joined(separator: ", ") ?? "") \(request["origin"]?.string ?? "")\(request["path"]?.string ?? "")"
                      )
                    }
                  }
                },
            ])
        }
      }
    }
    html.element("details", ["id": "document", "class": "panel"]) { html in
      html.literal("<summary>The document of ")
      html.name(name)
      html.literal("</summary>")
      html.element("pre", ["tabindex": "0", "aria-label": "The policy \(name)"]) { $0.lines(text.laidOut) }
    }
  }

  private static func wants(_ rules: JSONValue, _ tier: JSONValue?) -> [String] {
    func value(_ name: String) -> JSONValue? { rules[name] ?? tier?[name] }
    var wants: [String] = []
    // Requests alone wait.
    if value("approve") != nil, rules["requests"] != nil { wants.append("your approval") }
    if let method = value("stepUp")?["method"]?.string {
      wants.append(method == "pin" ? "your PIN" : "your confirmation")
    }
    if let window = value("offlineWindowSeconds")?.integer {
      wants.append("offline for \(Milliseconds.seconds(window).words)")
    }
    if let online = value("onlineWithinSeconds")?.integer {
      wants.append("confirmed within \(Milliseconds.seconds(online).words)")
    }
    if value("token")?.string == "fresh" { wants.append("a fresh token") }
    if let most = value("budget")?["perHour"]?.integer { wants.append("\(most.grouped) an hour at most") }
    for (_, names) in rules["requires"]?.members ?? [] { wants += names.strings }
    return wants
  }
}

/// A question to `policy.explain`, as the form asks it.
struct PolicyTrial {
  let question: AgentQuestion

  /// Nil if the form was not sent.
  init?(_ query: [String: String]) {
    guard let account = query["account"], !account.isEmpty, let capability = query["capability"], !capability.isEmpty
    else { return nil }
    var assume: [String: JSONValue] = [:]
    if let seconds = query["offline"].flatMap({ Int64($0) }), (0...31_536_000).contains(seconds) {
      assume["online"] = .bool(seconds == 0)
      if seconds > 0 {
        assume["lastOnlineAuthAgeSeconds"] = .integer(seconds)
        assume["snapshotAgeSeconds"] = .integer(seconds)
      }
    }
    if let stepUp = query["stepUp"], !stepUp.isEmpty { assume["stepUp"] = .bool(stepUp == "yes") }
    var params: [String: JSONValue] = ["account": .string(account), "capability": .string(capability)]
    if !assume.isEmpty { params["assume"] = .object(assume) }
    question = AgentQuestion("trial", "policy.explain", .object(params))
  }

  /// Since when the provider could not be reached, in seconds before now, with the names of the last days.
  static func spans(_ time: LocalTime) -> [(value: String, words: String)] {
    let days = (1...6).map { day -> (value: String, words: String) in
      let seconds = Int64(day) * 86_400
      return (
        String(seconds),
        "offline since \(time.day(time.now + .seconds(-seconds))) (\(Milliseconds.seconds(seconds).words))"
      )
    }
    return [("", "as it is now"), ("0", "online"), ("3600", "offline for an hour"), ("28800", "offline for 8 hours")]
      + days
      + [("604800", "offline for a week"), ("2592000", "offline for 30 days")]
  }
}

extension JSONValue {
  /// A line for each member, for a person.
  var laidOut: String { Self.laidOut(self, margin: "") }

  private static func laidOut(_ value: JSONValue, margin: String) -> String {
    let inner = margin + "  "
    switch value {
    case .object(let members) where !members.isEmpty:
      let lines = value.members.map { "\(inner)\(quoted($0.name)): \(laidOut($0.value, margin: inner))" }
      return "{\n" + lines.joined(separator: ",\n") + "\n\(margin)}"
    case .array(let elements) where elements.contains { !$0.members.isEmpty || !$0.elements.isEmpty }:
      return "[\n" + elements.map { inner + laidOut($0, margin: inner) }.joined(separator: ",\n") + "\n\(margin)]"
    case .array(let elements): return "[\(elements.map { laidOut($0, margin: inner) }.joined(separator: ", "))]"
    case .object: return "{}"
    case .string(let text): return quoted(text)
    case .integer(let number): return String(number)
    case .number(let number): return String(number)
    case .bool(let flag): return flag ? "true" : "false"
    case .null: return "null"
    }
  }

  private static func quoted(_ text: String) -> String {
    var writer = JSONWriter()
    writer.string(text)
    return writer.withBytes { String(decoding: $0, as: UTF8.self) }
  }
}
