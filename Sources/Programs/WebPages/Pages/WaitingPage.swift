internal import AgentModel

/// What waits for the network or for the person: operations that are to be delivered, and tokens that are to be revoked.
struct WaitingPage {
  let frame: Frame
  let accounts: Accounts
  let operations: [Operation]
  let revocations: [Revocation]

  /// Accounts whose operations are asked for: a call takes a third of a millisecond.
  private static let mostAccounts = 1024
  private static let perAccount: Int64 = 200

  init(_ visit: PageVisit, _ answers: AgentAnswers) {
    frame = Frame(visit, answers)
    let accounts = Accounts(answers)
    self.accounts = accounts
    operations = accounts.all.flatMap { answers["operations-\($0.id)"]?["operations"]?.elements ?? [] }
      .compactMap { Operation($0) }.filter { !$0.isOver }
    revocations = answers["revocations"]?["revocations"]?.elements.compactMap { Revocation($0) } ?? []
  }

  static let questions = Frame.questions + [AgentQuestion("revocations", "revocation.list")]

  /// The operations of each account. `pendingOperations` of the status does not say whether there are some: it does not count
  /// those that were refused, which are the person's to decide.
  static func furtherQuestions(_ answers: AgentAnswers) -> [AgentQuestion] {
    Accounts(answers).sorted(at: Timestamp(milliseconds: 0)).prefix(mostAccounts).map {
      AgentQuestion(
        "operations-\($0.id)", "operation.list", ["account": .string($0.id), "limit": .integer(perAccount)])
    }
  }

  func html() -> String {
    frame.document { html in
      if let confirmation = AbandonConfirmation(frame.visit, revocations) {
        return confirmation.write(to: &html, frame.visit, accounts)
      }
      html.literal("<ul class=\"figures\" aria-label=\"In short\">")
      html.figure(Int64(operations.count), operations.count == 1 ? "operation waits" : "operations wait")
      let stuck = operations.count { $0.words.tone == .bad || $0.words.tone == .warn }
      html.figure(Int64(stuck), "of them for you", stuck > 0 ? .bad : .idle)
      html.figure(
        Int64(revocations.count),
        revocations.count == 1 ? "token is still to be revoked" : "tokens are still to be revoked",
        revocations.isEmpty ? .idle : .warn)
      html.literal("</ul>\n")
      if operations.isEmpty, revocations.isEmpty {
        html.empty(
          "Nothing waits", "Operations that were queued offline and sign-outs that need the network appear here.")
      }
      if accounts.all.count > Self.mostAccounts {
        html.literal(
          "<p class=\"hint\">Accounts beyond the first 1024 are not asked: <code>lanyard operations</code>.</p>\n")
      }
      if !operations.isEmpty { operationList(&html) }
      if !revocations.isEmpty { revocationList(&html) }
    }
  }

  private func operationList(_ html: inout HTML) {
    let sorted = operations.sorted {
      ($0.words.tone == .bad ? 0 : 1, $0.enqueuedAt?.milliseconds ?? 0, $0.id)
        < ($1.words.tone == .bad ? 0 : 1, $1.enqueuedAt?.milliseconds ?? 0, $1.id)
    }
    let pager = Pager(frame.visit.query, total: sorted.count, size: 100)
    let table = TableWriter(
      id: "operations", caption: "Operations", columns: ["Operation", "Account", "Status", "When", "Actions"])
    table.write(to: &html) { html in
      for operation in sorted[pager.range] {
        let words = operation.words
        table.row(
          &html, id: operation.id, tone: words.tone == .bad ? .bad : nil,
          [
            { html in
              html.element("b", [:]) { $0.name(operation.label ?? operation.capability) }
              if let url = operation.url {
                html.small { $0.name("\(operation.method ?? "") \(url)") }
              } else if operation.label != nil {
                html.small { $0.name(operation.capability) }
              }
            },
            { html in html.name(accounts.label(operation.account)) },
            { html in
              html.mark(words.tone, words.short)
              if let problem = operation.problem { html.small { $0.name(problem) } }
            },
            { html in
              html.literal("<span class=\"line\">queued ")
              if let at = operation.enqueuedAt { html.moment(at, frame.time) }
              html.literal("</span>")
              if let next = operation.nextAttemptAt {
                html.literal(" <small>next try ")
                html.moment(next, frame.time)
                html.literal("</small>")
              }
              if let end = operation.expiresAt {
                html.literal(" <small>until ")
                html.moment(end, frame.time)
                html.literal("</small>")
              }
            },
            { html in
              let values = [("account", operation.account), ("operation", operation.id)]
              html.literal("<div class=\"buttons\">")
              if operation.canRetry {
                button(&html, "retry-operation", values, "Try again", operation.id, operation.label)
              }
              if operation.canAbandon {
                button(&html, "cancel-operation", values, "Abandon", operation.id, operation.label, look: "danger")
              }
              html.literal("</div>")
            },
          ])
      }
    }
    pager.write(to: &html, path: WebPage.waiting.path, query: [:])
  }

  private func revocationList(_ html: inout HTML) {
    let table = TableWriter(
      id: "revocations", caption: "Tokens that are still to be revoked",
      columns: ["Account", "Provider", "Tried", "Next", "Actions"])
    table.write(to: &html) { html in
      for revocation in revocations.prefix(200) {
        table.row(
          &html, id: revocation.id,
          [
            { html in html.element("b", [:]) { $0.name(accounts.label(revocation.account)) } },
            { html in html.name(revocation.issuer) },
            { html in
              html.text(revocation.attempts == 0 ? "not yet" : Words.count(revocation.attempts, "time"))
              if let problem = revocation.problem { html.small { $0.name(problem) } }
            },
            { html in
              if let next = revocation.nextAttemptAt { html.moment(next, frame.time) }
              if let end = revocation.expiresAt {
                html.literal(" <small>given up ")
                html.moment(end, frame.time)
                html.literal("</small>")
              }
            },
            { html in
              html.literal("<div class=\"buttons\">")
              button(
                &html, "retry-revocation", [("revocation", revocation.id)], "Try again", revocation.id,
                accounts.label(revocation.account))
              html.element(
                "a",
                [
                  "class": "button danger", "id": "abandon-\(revocation.id)",
                  "href": Address.of("/waiting", ["confirm": "abandon", "revocation": revocation.id]),
                ], "Abandon…")
              html.literal("</div>")
            },
          ])
      }
    }
  }

  private func button(
    _ html: inout HTML, _ action: String, _ values: [(String, String)], _ words: String, _ id: String, _ what: String?,
    look: String? = nil
  ) {
    html.form(frame.visit, action, values) { html in
      html.element("button", ["class": look, "id": "\(action)-\(id)"]) { html in
        html.text(words)
        html.element("span", ["class": "unseen"]) { html in
          html.literal(" ")
          html.name(what ?? id)
        }
      }
    }
  }
}

/// The question before a revocation is abandoned.
struct AbandonConfirmation {
  let revocation: Revocation

  init?(_ visit: PageVisit, _ revocations: [Revocation]) {
    guard visit.query["confirm"] == "abandon",
      let revocation = revocations.first(where: { $0.id == visit.query["revocation"] })
    else { return nil }
    self.revocation = revocation
  }

  func write(to html: inout HTML, _ visit: PageVisit, _ accounts: Accounts) {
    html.literal("<section class=\"panel confirm\"><h2>Abandon the revocation for ")
    html.name(accounts.label(revocation.account))
    html.literal("?</h2><p>Its token is erased here and never revoked: it stays good at ")
    html.name(revocation.issuer)
    html.literal(" until it ends there.</p><div class=\"buttons\">")
    html.form(visit, "abandon-revocation", [("revocation", revocation.id)]) {
      $0.element("button", ["class": "danger", "id": "abandon"], "Abandon it")
    }
    html.literal("<a class=\"button\" href=\"/waiting\">Keep trying</a></div></section>\n")
  }
}
