internal import AgentModel

/// What every page has: the head, the navigation with the number of decisions that wait, and the place of the content.
struct Frame {
  let visit: PageVisit
  let answers: AgentAnswers
  let waiting: WaitingDecisions
  let time: LocalTime

  init(_ visit: PageVisit, _ answers: AgentAnswers) {
    (self.visit, self.answers) = (visit, answers)
    waiting = WaitingDecisions(answers)
    time = LocalTime(now: visit.now, secondsFromUTC: visit.secondsFromUTC)
  }

  var now: Timestamp { visit.now }

  /// The calls that every page needs.
  static let questions = [
    AgentQuestion("status", "agent.status"), AgentQuestion("approvals", "approval.list"),
    AgentQuestion("access", "access.list"), AgentQuestion("accounts", "account.list"),
  ]

  /// The whole document around the content of the page.
  func document(_ content: (inout HTML) -> Void) -> String {
    var html = HTML(capacity: 32_768)
    html.head("\(waiting.count > 0 ? "(\(waiting.count)) " : "")\(visit.page.title)")
    html.literal(
      """
      <body>
      <a class="skip" href="#main">Skip to the content</a>
      <header class="top">
      <a class="brand" href="/accounts"><span class="badge" aria-hidden="true"></span>Lanyard</a>

      """)
    standing(&html)
    html.literal("</header>\n")
    navigation(&html)
    html.open("main", ["id": "main", "tabindex": "-1", "data-page": visit.page.rawValue])
    html.element("h1", [:], visit.page.title)
    if let notice = visit.notice, !notice.isEmpty {
      html.element("p", ["class": "notice", "role": "status"]) { $0.prose(notice) }
    }
    if let trouble { trouble.write(to: &html, visit) } else { content(&html) }
    html.literal(
      """
      </main>
      <p id="ended" class="notice bad" role="status" hidden></p>
      </body>
      </html>

      """)
    return html.document
  }

  /// Network and lock, at the top of every page.
  private func standing(_ html: inout HTML) {
    html.literal("<div class=\"standing\" id=\"standing\">")
    if let status = answers["status"] {
      let isLocked = status["locked"]?.isTrue ?? false
      switch status["connectivity"]?.string {
      case "online": html.mark(.good, "online")
      case "offline": html.mark(.warn, "offline")
      default: html.mark(.idle, "network unknown")
      }
      html.form(visit, isLocked ? "unlock" : "lock") { html in
        html.element("button", ["class": "quiet", "id": "lock"], isLocked ? "Unlock" : "Lock")
      }
    }
    html.literal("</div>\n")
  }

  private func navigation(_ html: inout HTML) {
    html.literal("<nav class=\"pages\" id=\"pages\" aria-label=\"Pages\"><ul>")
    for page in WebPage.allCases {
      html.literal("<li>")
      html.element("a", ["href": page.path, "aria-current": page == visit.page ? "page" : nil]) { html in
        html.text(page.title)
        if page == .approvals, waiting.count > 0 {
          html.literal(" ")
          html.element("span", ["class": "count"]) { html in
            html.number(Int64(waiting.count))
            html.literal("<span class=\"unseen\"> waiting</span>")
          }
        }
      }
      html.literal("</li>")
    }
    html.literal("</ul></nav>\n")
  }

  /// Why there is nothing to show.
  private var trouble: Trouble? {
    let failures = ["status", "accounts"].compactMap { answers.failure($0) }
    if answers["status"]?["locked"]?.isTrue ?? false || failures.contains(where: { $0.code == 1001 }) { return .locked }
    return failures.first.map { .failed($0.message) }
  }

  private enum Trouble {
    case locked
    case failed(String)

    func write(to html: inout HTML, _ visit: PageVisit) {
      switch self {
      case .locked:
        html.literal(
          """
          <section class="empty"><h2>The vault is locked</h2>
          <p>Accounts, grants and what waits are sealed until you unlock it. Programs get no tokens.</p>

          """)
        html.form(visit, "unlock") { $0.element("button", ["class": "main", "id": "unlock"], "Unlock…") }
        html.literal(
          "<p>If a passphrase protects it, the agent asks for it in its own window. In a terminal: <code>lanyard unlock</code>.</p></section>"
        )
      case .failed(let message):
        html.literal("<section class=\"empty\"><h2>The agent did not answer</h2>")
        html.element("p", [:]) { $0.prose(message) }
        html.literal("<p>In a terminal, <code>lanyard doctor</code> finds out why.</p></section>")
      }
    }
  }
}

extension HTML {
  /// Writes a form that asks for an action, with the hidden values it needs.
  mutating func form(
    _ visit: PageVisit, _ action: String, _ values: [(String, String)] = [], isInline: Bool = true,
    _ content: (inout HTML) -> Void
  ) {
    element("form", ["method": "post", "action": "/do/\(action)", "class": isInline ? "inline" : "fields"]) { html in
      html.open("input", ["type": "hidden", "name": "token", "value": visit.formToken])
      for (name, value) in values { html.open("input", ["type": "hidden", "name": name, "value": value]) }
      content(&html)
    }
  }
}
