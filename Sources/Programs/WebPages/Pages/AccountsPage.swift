internal import AgentModel

/// Which accounts there are, how they are, and what can be done with each.
struct AccountsPage {
  let frame: Frame
  let accounts: Accounts

  private static let perPage = 50
  private var visit: PageVisit { frame.visit }

  init(_ visit: PageVisit, _ answers: AgentAnswers) {
    frame = Frame(visit, answers)
    accounts = Accounts(answers)
  }

  static let questions =
    Frame.questions + [AgentQuestion("providers", "provider.list"), AuditWindow.question(0, before: nil)]

  /// The sessions of the accounts that are shown: of a long list, but for those that come first since their secret ends.
  static func furtherQuestions(_ query: [String: String], _ answers: AgentAnswers) -> [AgentQuestion] {
    shown(Accounts(answers).sorted(at: Timestamp(milliseconds: 0)), query).map {
      AgentQuestion("session-\($0.id)", "session.get", ["account": .string($0.id)])
    }
  }

  private static func matching(_ accounts: [Account], _ query: [String: String]) -> [Account] {
    let words = (query["find"] ?? "").lowercased()
    guard !words.isEmpty else { return accounts }
    return accounts.filter { account in
      [account.person, account.alias ?? "", account.address ?? "", account.provider, account.tenant ?? ""]
        .contains { $0.lowercased().contains(words) }
    }
  }

  private static func shown(_ accounts: [Account], _ query: [String: String]) -> [Account] {
    let matching = matching(accounts, query)
    return Array(matching[Pager(query, total: matching.count, size: perPage).range])
  }

  func html() -> String {
    frame.document { html in
      if let confirmation = SignOutConfirmation(visit, accounts) { return confirmation.write(to: &html, visit) }
      let sorted = accounts.sorted(at: frame.now)
      summary(&html)
      if accounts.all.isEmpty {
        html.empty("No account yet", "Sign in below, or with `lanyard login` in a terminal.")
      } else {
        list(&html, Self.matching(sorted, visit.query))
      }
      additions(&html)
    }
  }

  /// What is well and what is not, before everything else.
  private func summary(_ html: inout HTML) {
    let needing = accounts.all.filter { $0.needsPerson(at: frame.now) }
    let well = accounts.all.count { $0.state == .active && !$0.endsSoon(at: frame.now) }
    let offline = accounts.all.count { $0.state == .offlineStale }
    html.literal("<ul class=\"figures\" aria-label=\"In short\">")
    html.figure(Int64(well), well == 1 ? "account is well" : "accounts are well", .good)
    if offline > 0 { html.figure(Int64(offline), offline == 1 ? "is offline" : "are offline", .warn) }
    html.figure(
      Int64(needing.count), needing.count == 1 ? "needs you" : "need you", needing.isEmpty ? .idle : .bad)
    if frame.waiting.count > 0 {
      html.figure(
        Int64(frame.waiting.count),
        frame.waiting.count == 1 ? "request waits for your word" : "requests wait for your word",
        .bad, href: WebPage.approvals.path)
    }
    requests(&html)
    html.literal("</ul>\n")
  }

  /// What programs sent in the last hour. Its begin is named, since the page may stay open.
  private func requests(_ html: inout HTML) {
    let since = frame.now + .seconds(-3600)
    let lanes = RequestLanes(AuditLogPage(frame.answers).entries, since: since, until: frame.now, agents: []).lanes
    let (total, refused) = lanes.reduce((0, 0)) { ($0.0 + $1.total, $0.1 + $1.totalRefused) }
    guard total > 0 else { return }
    let words = "\(total == 1 ? "request" : "requests") of programs since \(frame.time.short(since))"
    html.figure(
      total, refused == 0 ? words : "\(words), \(refused.grouped) refused or failed", href: WebPage.activity.path)
  }

  private func list(_ html: inout HTML, _ matching: [Account]) {
    let pager = Pager(visit.query, total: matching.count, size: Self.perPage)
    let find = visit.query["find"] ?? ""
    if accounts.all.count > Self.perPage || !find.isEmpty {
      html.element("form", ["method": "get", "action": "/accounts", "class": "filters", "role": "search"]) { html in
        html.field("Find", id: "find") {
          $0.open("input", ["type": "search", "id": "find", "name": "find", "value": find])
        }
        html.element("button", ["id": "find-now"], "Find")
      }
    }
    let table = TableWriter(
      id: "accounts",
      caption: pager.count > 1
        ? "Accounts \(pager.range.lowerBound + 1) to \(pager.range.upperBound) of \(matching.count)" : "Your accounts",
      columns: ["Account", "State", "Provider", "Session", "Actions"])
    table.write(to: &html) { html in
      for account in matching[pager.range] { row(&html, table, account) }
    }
    pager.write(to: &html, path: WebPage.accounts.path, query: find.isEmpty ? [:] : ["find": find])
  }

  private func row(_ html: inout HTML, _ table: TableWriter, _ account: Account) {
    let session = Session(frame.answers["session-\(account.id)"])
    let needs = account.needsPerson(at: frame.now)
    table.row(
      &html, id: account.id, tone: needs ? .bad : nil,
      [
        { html in identity(&html, account) },
        { html in state(&html, account, session) },
        { html in
          html.name(account.provider)
          html.small { html in
            html.text(Self.words(ofKind: account.kind))
            if let tenant = account.tenant, !tenant.isEmpty {
              html.literal(" · ")
              html.name(tenant)
            }
          }
        },
        { html in ends(&html, account, session) },
        { html in actions(&html, account) },
      ])
  }

  private func identity(_ html: inout HTML, _ account: Account) {
    html.literal("<span class=\"identity\">")
    html.element(
      "span",
      [
        "class": "face face\(Self.colour(of: account.person))", "aria-hidden": "true",
        "data-initial": Self.initial(of: account.person),
      ], "")
    html.element("span", ["class": "who"]) { html in
      html.element("b", [:]) { $0.name(account.person) }
      if let address = account.address { html.small { $0.name(address) } }
      html.literal(" <span class=\"tags\">")
      if let alias = account.alias, alias != account.person {
        html.element("span", ["class": "tag"]) { $0.name(alias) }
        html.literal(" ")
      }
      if account.isActive { html.element("span", ["class": "tag on"], "active") }
      html.literal("</span>")
    }
    html.literal("</span>")
  }

  private func state(_ html: inout HTML, _ account: Account, _ session: Session?) {
    let words = account.stateWords
    let endsSoon = account.state == .active && account.endsSoon(at: frame.now)
    if endsSoon { html.mark(.warn, "ends soon") } else { html.mark(words.tone, words.short) }
    if !endsSoon, let since = session?.since {
      html.literal(" <small>since ")
      html.moment(since, frame.time)
      html.literal("</small>")
    }
    if words.tone == .bad {
      html.small { $0.prose(words.meaning) }
      if account.kind == "secret", account.state.needsSignIn {
        html.literal(" <small>In a terminal: <code>lanyard rotate ")
        html.name(account.label)
        html.literal("</code></small>")
      }
    } else if let error = session?.lastError, account.state != .signedOut {
      html.small { html in
        html.text("last refresh: \(Words.spaced(error.name))")
        if let reason = error.reason {
          html.literal(" (")
          html.name(Words.spaced(reason))
          html.literal(")")
        }
      }
    }
  }

  private func ends(_ html: inout HTML, _ account: Account, _ session: Session?) {
    var lines: [(StaticString, Timestamp)] = []
    if let end = account.expiresAt { lines.append(("key ends ", end)) }
    if account.state == .signedOut { return html.literal(" <small>none</small>") }
    if let end = session?.sessionEndsAt { lines.append(("session ends ", end)) }
    if account.kind == "openid", let end = session?.tokenEndsAt { lines.append(("token until ", end)) }
    if let end = session?.offlineUntil, account.state == .offlineStale { lines.append(("usable offline until ", end)) }
    if let confirmed = session?.lastConfirmedAt ?? account.lastConfirmedAt { lines.append(("confirmed ", confirmed)) }
    if lines.isEmpty { html.literal(" <small>no end is known</small>") }
    for (index, line) in lines.enumerated() {
      html.literal(index == 0 ? "<span class=\"line\">" : " <small>")
      html.literal(line.0)
      html.moment(line.1, frame.time)
      html.literal(index == 0 ? "</span>" : "</small>")
    }
  }

  private func actions(_ html: inout HTML, _ account: Account) {
    let values = [("account", account.id)]
    func button(
      _ html: inout HTML, _ action: String, _ words: String, _ more: [(String, String)] = [], look: String? = nil
    ) {
      html.form(visit, action, values + more) { html in
        html.element("button", ["class": look, "id": "\(action)-\(account.id)"]) { html in
          html.text(words)
          html.element("span", ["class": "unseen"]) { html in
            html.literal(" ")
            html.name(account.label)
          }
        }
      }
    }
    html.literal("<div class=\"buttons\">")
    let signsIn = account.kind == "openid" && (account.state.needsSignIn || account.state == .signedOut)
    if signsIn {
      // Whose account it was is known as long as it is not signed out: another person is refused then.
      let isSame = account.state.needsSignIn
      html.form(
        visit, "sign-in",
        [("provider", account.provider), ("flow", "browser")] + (isSame ? [("account", account.id)] : [])
      ) { html in
        html.element("button", ["class": "main", "id": "sign-in-\(account.id)"]) { html in
          html.text(isSame ? "Sign in again" : "Sign in")
          html.element("span", ["class": "unseen"]) { html in
            html.literal(" ")
            html.name(account.label)
          }
        }
      }
    }
    if account.state != .signedOut {
      if !account.isActive, !signsIn { button(&html, "switch-account", "Make active") }
      if !signsIn { button(&html, "check-account", "Refresh") }
      html.element("details", ["class": "menu", "id": "more-\(account.id)"]) { html in
        html.literal("<summary>Sign out…<span class=\"unseen\"> ")
        html.name(account.label)
        html.literal("</span></summary><div class=\"menu-items\">")
        button(&html, "sign-out", "Keep its data, sealed", [("mode", "soft")])
        html.element(
          "a",
          [
            "class": "button danger", "id": "erase-\(account.id)",
            "href": Address.of("/accounts", ["confirm": "sign-out", "account": account.id]),
          ], "Erase its data…")
        html.literal("</div>")
      }
    }
    html.literal("</div>")
  }

  /// Sign in with a provider, or add a key at one of keys.
  private func additions(_ html: inout HTML) {
    let providers = frame.answers["providers"]?["providers"]?.elements ?? []
    let signIns = providers.filter { ($0["kind"]?.string ?? "openid") == "openid" }.compactMap { $0["name"]?.string }
    let keys = providers.filter { $0["kind"]?.string == "secret" }.compactMap { $0["name"]?.string }
    html.literal("<section class=\"panel\" aria-labelledby=\"add\"><h2 id=\"add\">Add an account</h2>")
    if signIns.isEmpty {
      html.literal(
        "<p>No provider to sign in at yet. Add one in a terminal: <code>lanyard provider add</code>.</p>")
    } else {
      html.form(visit, "sign-in", isInline: false) { html in
        html.field("Provider", id: "sign-in-provider") {
          $0.choice(id: "sign-in-provider", name: "provider", signIns.sorted().map { ($0, $0) })
        }
        html.field("How", id: "sign-in-flow") {
          $0.choice(
            id: "sign-in-flow", name: "flow",
            [("browser", "in this browser"), ("device", "with a code, on another device")])
        }
        aliasField(&html, id: "sign-in-alias")
        html.element("button", ["class": "main", "id": "sign-in"], "Sign in")
      }
    }
    html.literal("</section>\n<section class=\"panel\" aria-labelledby=\"add-key-title\">")
    html.literal("<h2 id=\"add-key-title\">Add a key or a password</h2>")
    if keys.isEmpty {
      html.literal(
        "<p>No service with keys yet. Add one in a terminal, which asks for the key too: <code>lanyard login openai</code>.</p>"
      )
    } else {
      keyForm(&html, keys.sorted())
    }
    html.literal("</section>\n")
  }

  private func keyForm(_ html: inout HTML, _ providers: [String]) {
    html.form(visit, "add-key", isInline: false) { html in
      html.field("Service", id: "key-provider") {
        $0.choice(id: "key-provider", name: "provider", providers.map { ($0, $0) })
      }
      html.field("Key or password", id: "key-secret") {
        $0.open(
          "input",
          [
            "id": "key-secret", "name": "secret", "type": "password", "required": "required", "maxlength": "65536",
            "autocomplete": "off", "spellcheck": "false",
          ])
      }
      html.field("User name (if it needs one)", id: "key-username") {
        $0.open("input", ["id": "key-username", "name": "username", "maxlength": "256", "autocomplete": "off"])
      }
      html.field("Ends on (if it does)", id: "key-expires") {
        $0.open("input", ["id": "key-expires", "name": "expires", "type": "date"])
      }
      aliasField(&html, id: "key-alias")
      html.element("button", ["class": "main", "id": "add-key"], "Add the key")
    }
  }

  private func aliasField(_ html: inout HTML, id: String) {
    html.field("Alias (optional)", id: id) {
      $0.open(
        "input",
        [
          "id": id, "name": "alias", "maxlength": "64", "autocomplete": "off", "type": "text",
          "pattern": "[A-Za-z0-9][A-Za-z0-9._@\\-]*",
          "title": "Letters, digits and . _ @ -, beginning with a letter or digit",
        ])
    }
  }

  static func words(ofKind kind: String) -> String {
    switch kind {
    case "secret": "key"
    case "client": "machine"
    default: "sign-in"
    }
  }

  private static func initial(of name: String) -> String {
    name.first { $0.isLetter || $0.isNumber }.map { String($0).uppercased() } ?? "·"
  }

  /// The same for a name on every page, in every run.
  private static func colour(of name: String) -> Int {
    Int(name.utf8.reduce(UInt32(5381)) { ($0 &* 33) ^ UInt32($1) } % 4)
  }
}

/// The question before a hard sign-out, as a page of its own: it needs no script.
struct SignOutConfirmation {
  let account: Account

  init?(_ visit: PageVisit, _ accounts: Accounts) {
    guard visit.query["confirm"] == "sign-out", let account = visit.query["account"].flatMap({ accounts[$0] }) else {
      return nil
    }
    self.account = account
  }

  func write(to html: inout HTML, _ visit: PageVisit) {
    html.literal("<section class=\"panel confirm\"><h2>Sign out and erase the data of ")
    html.name(account.label)
    html.literal(
      """
      ?</h2>
      <p>Its tokens are revoked, and everything that Lanyard keeps for it on this machine is erased: secrets, settings, \
      operations that wait. This can't be undone.</p><div class="buttons">
      """)
    html.form(visit, "sign-out", [("account", account.id), ("mode", "hard")]) {
      $0.element("button", ["class": "danger", "id": "erase"], "Sign out and erase")
    }
    html.literal("<a class=\"button\" href=\"/accounts\">Keep it</a></div></section>\n")
  }
}
