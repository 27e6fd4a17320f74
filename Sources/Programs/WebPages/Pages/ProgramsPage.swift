package import AgentModel

/// Who may do what: the grants of programs and AI agents, and a form for a new one.
struct ProgramsPage {
  let frame: Frame
  let accounts: Accounts
  let grants: [Grant]
  private let lastRequests: [String: Timestamp]

  init(_ visit: PageVisit, _ answers: AgentAnswers) {
    frame = Frame(visit, answers)
    accounts = Accounts(answers)
    grants = answers["grants"]?["grants"]?.elements.compactMap { Grant($0) } ?? []
    lastRequests = AuditLogPage(answers).lastRequests
  }

  static let questions =
    Frame.questions + [AgentQuestion("grants", "grant.list"), AuditWindow.question(0, before: nil)]

  func html() -> String {
    frame.document { html in
      trust(&html)
      if grants.isEmpty {
        html.empty(
          "No grant yet", "A grant limits a program or an AI agent to some accounts and rights. Create one below.")
      } else {
        list(&html)
      }
      creation(&html)
    }
  }

  private func trust(_ html: inout HTML) {
    let live = grants.filter { !$0.isOver(at: frame.now) }
    let agents = live.count { $0.isAgent }
    html.literal("<ul class=\"figures\" aria-label=\"In short\">")
    html.figure(Int64(agents), agents == 1 ? "AI agent has a grant" : "AI agents have a grant")
    html.figure(Int64(live.count - agents), live.count - agents == 1 ? "other program" : "other programs")
    html.literal("</ul>\n")
    if frame.answers["status"]?["callersAreTrusted"]?.isTrue ?? false {
      html.literal(
        "<p class=\"hint\">Programs of yours that bring no grant are trusted with every account. In a sandbox they see nothing: <code>lanyard sandbox --grant NAME</code>.</p>\n"
      )
    }
  }

  private func list(_ html: inout HTML) {
    func place(_ grant: Grant) -> (Int, Int64, String) {
      let moment = lastRequest(of: grant) ?? grant.createdAt ?? frame.now
      return (grant.isOver(at: frame.now) ? 1 : 0, -moment.milliseconds, grant.id)
    }
    let sorted = grants.sorted { place($0) < place($1) }
    let pager = Pager(frame.visit.query, total: sorted.count, size: 100)
    let table = TableWriter(
      id: "grants", caption: "Grants",
      columns: ["Program", "Accounts", "May", "Servers", "Until", "Last request", "Actions"])
    table.write(to: &html) { html in
      for grant in sorted[pager.range] { row(&html, table, grant) }
    }
    pager.write(to: &html, path: WebPage.programs.path, query: [:])
  }

  private func row(_ html: inout HTML, _ table: TableWriter, _ grant: Grant) {
    let isOver = grant.isOver(at: frame.now)
    table.row(
      &html, id: "grant-\(grant.id)", tone: isOver ? .idle : nil,
      [
        { html in
          html.element("b", [:]) { $0.name(grant.client) }
          html.literal(" ")
          html.element("span", ["class": "tags"]) { html in
            if grant.isAgent { html.element("span", ["class": "tag on"], "AI agent") }
          }
          html.small { $0.name(grant.id) }
        },
        { html in html.name(Words.list(grant.accounts.map { accounts.label($0) })) },
        { html in
          html.name(Words.list(GrantAbility.words(of: grant.methods), most: 4))
          if grant.isAgent { html.small("requests only read, unless a policy says more") }
          if !grant.scopes.isEmpty {
            html.small { $0.name("scopes: \(Words.list(grant.scopes, most: 4))") }
          }
          if !grant.capabilities.isEmpty {
            html.small { $0.name("operations: \(Words.list(grant.capabilities, most: 4))") }
          }
          for addition in grant.additions { write(addition, to: &html) }
        },
        { html in
          if grant.origins.isEmpty {
            html.literal("all of the provider")
          } else {
            html.name(Words.list(grant.origins.map(Self.host)))
          }
          if !grant.passOrigins.isEmpty {
            html.small { $0.name("without a token: \(Words.list(grant.passOrigins.map(Self.host)))") }
          }
        },
        { html in
          guard let end = grant.expiresAt else { return html.literal("you revoke it") }
          if isOver { html.mark(.idle, "over") } else { html.moment(end, frame.time) }
        },
        { html in
          if let at = lastRequest(of: grant) { html.moment(at, frame.time) } else { html.literal("none known") }
        },
        { html in
          html.form(frame.visit, "revoke-grant", [("grant", grant.id)]) { html in
            html.element("button", ["class": "danger", "id": "revoke-\(grant.id)"]) { html in
              html.text("Revoke")
              html.element("span", ["class": "unseen"]) { html in
                html.literal(" ")
                html.name(grant.client)
              }
            }
          }
        },
      ])
  }

  private func write(_ addition: Grant.Addition, to html: inout HTML) {
    let parts = [addition.methods, addition.capabilities, addition.origins.map(Self.host)].filter { !$0.isEmpty }
    html.small { html in
      html.literal("you allowed besides: ")
      html.name(parts.map { Words.list($0) }.joined(separator: " · "))
      guard let end = addition.expiresAt else { return }
      html.literal(" until ")
      html.moment(end, frame.time)
    }
  }

  /// The newest in the part of the audit log that was asked for.
  private func lastRequest(of grant: Grant) -> Timestamp? { lastRequests[grant.id] }

  private static func host(_ origin: String) -> String {
    origin.hasPrefix("https://") ? String(origin.dropFirst(8)) : origin
  }

  private func creation(_ html: inout HTML) {
    html.literal("<section class=\"panel\" aria-labelledby=\"new\"><h2 id=\"new\">A new grant</h2>")
    let usable = accounts.sorted(at: frame.now).filter { $0.state != .signedOut }
    guard !usable.isEmpty else {
      html.literal("<p>A grant covers accounts: sign in first.</p></section>")
      return
    }
    html.form(frame.visit, "create-grant", isInline: false) { html in
      html.field("Program", id: "grant-client") {
        $0.open(
          "input",
          [
            "id": "grant-client", "name": "client", "type": "text", "required": "", "maxlength": "128",
            "autocomplete": "off", "placeholder": "claude",
          ])
      }
      html.literal("<fieldset><legend>Accounts</legend><div class=\"ticks\">")
      // A grant covers 64 accounts at most.
      for account in usable.prefix(64) {
        html.element("label", ["class": "tick"]) { html in
          html.open(
            "input",
            [
              "type": "checkbox", "name": "account.\(account.id)", "id": "covers-\(account.id)",
              "checked": .flag(account.isActive),
            ])
          html.name(account.label)
        }
      }
      html.literal("</div>")
      if usable.count > 64 {
        html.literal(
          "<p class=\"hint\">These are the first 64 accounts. In a terminal: <code>lanyard grant create</code>.</p>")
      }
      html.literal("</fieldset><fieldset><legend>It may</legend><div class=\"ticks\">")
      for right in GrantAbility.offered {
        html.element("label", ["class": "tick"]) { html in
          html.open(
            "input",
            [
              "type": "checkbox", "name": "can.\(right.rawValue)", "id": "can-\(right.rawValue)",
              "checked": .flag(right == .requests),
            ])
          html.text(right.words)
        }
      }
      html.literal("</div></fieldset>")
      html.field("Servers (optional, one a line)", id: "grant-origins") {
        $0.element(
          "textarea",
          ["id": "grant-origins", "name": "origins", "rows": "2", "placeholder": "https://api.example"], "")
      }
      html.field("Until", id: "grant-lifetime") {
        $0.choice(
          id: "grant-lifetime", name: "expiresInSeconds",
          Lifetimes.options.filter { !$0.value.isEmpty } + [("2592000", "for 30 days"), ("", "until you revoke it")],
          chosen: "86400")
      }
      html.literal(
        "<label class=\"tick\"><input type=\"checkbox\" name=\"agent\" id=\"grant-agent\" checked>It is an AI agent: its requests only read, unless a policy says more</label>"
      )
      html.element("button", ["class": "main", "id": "create-grant"], "Create the grant")
    }
    html.literal(
      """
      <p class="hint">No secret is shown here. A grant for requests or tokens serves by its name or id, <code>lanyard sandbox --grant NAME -- COMMAND</code>; \
      for a program that needs the secret itself: <code>lanyard grant create</code>.</p></section>

      """)
  }
}

extension GrantAbility {
  /// The order on the page. A program of this page keeps no secrets for accounts.
  static let offered: [GrantAbility] = [.requests, .tokens, .operations, .decisions, .status]

  var words: String {
    switch self {
    case .requests: "send requests, without seeing tokens"
    case .tokens: "have access tokens, ID tokens and cloud credentials"
    case .operations: "queue operations"
    case .decisions: "ask what is allowed"
    case .status: "see the accounts and their state"
    case .secrets: "keep secrets of the accounts"
    }
  }

  /// For a grant that has the method that it is about, and not all of the others.
  private var wordsOfFirst: String { self == .tokens ? "have access tokens" : words }

  /// The namespace of the method that it is about: `token.`
  private var namespace: String { String(methods[0].prefix { $0 != "." }) + "." }

  /// What a grant's methods amount to: those that are of no whole ability by their names.
  package static func words(of methods: [String]) -> [String] {
    if methods.contains("*") { return ["everything"] }
    let abilities = (offered + [.secrets]).filter { ability in
      methods.contains(ability.namespace + "*") || Set(ability.methods).isSubset(of: methods)
    }
    let rest = methods.filter { method in
      !abilities.contains { $0.methods.contains(method) || method == $0.namespace + "*" }
    }
    return abilities.map(\.words)
      + rest.sorted().map { method in allCases.first { $0.methods[0] == method }?.wordsOfFirst ?? method }
  }
}
