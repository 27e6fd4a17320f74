internal import AgentModel

/// What waits for the person's word: requests of programs to servers, and for more access. What a program wrote is text here, in
/// a place of its own.
struct ApprovalsPage {
  let frame: Frame
  let accounts: Accounts

  init(_ visit: PageVisit, _ answers: AgentAnswers) {
    frame = Frame(visit, answers)
    accounts = Accounts(answers)
  }

  func html() -> String {
    frame.document { html in
      for name in ["approvals", "access"] {
        guard let failure = frame.answers.failure(name) else { continue }
        html.element("p", ["class": "notice bad"]) { $0.prose(failure.message) }
      }
      let waiting = frame.waiting
      if waiting.count == 0 {
        html.empty(
          "Nothing waits for you",
          "Requests that a policy wants you to approve appear here at once, and requests of programs for more access.")
        return
      }
      if !waiting.approvals.isEmpty {
        html.literal(
          "<section aria-labelledby=\"requests\"><h2 id=\"requests\">Requests that wait</h2><div class=\"cards\">\n")
        // The newest last: a new one moves no button of another.
        for approval in waiting.approvals.sorted(by: { ($0.requestedAt ?? frame.now) < ($1.requestedAt ?? frame.now) })
        {
          write(approval, to: &html)
        }
        html.literal("</div></section>\n")
      }
      if !waiting.access.isEmpty {
        html.literal(
          "<section aria-labelledby=\"access\"><h2 id=\"access\">Requests for more access</h2><div class=\"cards\">\n")
        for request in waiting.access { write(request, to: &html) }
        html.literal("</div></section>\n")
      }
    }
  }

  private func write(_ approval: Approval, to html: inout HTML) {
    let target = approval.target
    html.element("article", ["class": "card ask", "aria-labelledby": "ask-\(approval.id)"]) { html in
      html.element("h3", ["id": "ask-\(approval.id)"]) { html in
        html.name(approval.client)
        html.literal(" wants to send")
      }
      html.literal("<p class=\"request\">")
      html.element("b", ["class": "method"], approval.method)
      html.literal(" ")
      html.element("span", ["class": "host"]) { $0.name(target.host) }
      html.element("span", ["class": "path"]) { $0.name(target.path) }
      html.literal("</p><dl>")
      fact(&html, "As") { $0.name(accounts.label(approval.account)) }
      fact(&html, "Capability") { $0.name(approval.capability) }
      fact(&html, "Grant") { $0.name(approval.grant) }
      if approval.callers > 1 { fact(&html, "Callers") { $0.text("\(approval.callers.grouped) wait with it") } }
      if let end = approval.expiresAt {
        fact(&html, "Refused") { html in
          html.literal("at ")
          html.moment(end, frame.time)
          html.literal(" without your word")
        }
      }
      html.literal("</dl>")
      if approval.needsStepUp {
        html.literal("<p class=\"hint\">A yes needs you to confirm that it is you: <code>lanyard step-up -u ")
        html.name(accounts.label(approval.account))
        html.literal("</code> first.</p>")
      }
      html.element("p", ["class": "hint"]) { html in
        html.literal("For the session: every ")
        html.name(approval.capability)
        html.literal(" of this grant as ")
        html.name(accounts.label(approval.account))
        html.literal(", until the grant or the agent ends.")
      }
      html.literal("<div class=\"buttons\">")
      decide(&html, approval, "once", "Allow once", "main")
      decide(&html, approval, "session", "Allow for the session", nil)
      decide(&html, approval, "deny", "Deny", "danger")
      html.literal("</div>")
    }
    html.literal("\n")
  }

  private func decide(_ html: inout HTML, _ approval: Approval, _ verdict: String, _ words: String, _ look: String?) {
    html.form(frame.visit, "decide-approval", [("approval", approval.id), ("verdict", verdict)]) { html in
      html.element("button", ["class": look, "id": "\(verdict)-\(approval.id)"]) { html in
        html.text(words)
        unseen(&html, "\(approval.method) \(approval.target.host)", approval.client)
      }
    }
  }

  private func unseen(_ html: inout HTML, _ what: String, _ client: String) {
    html.element("span", ["class": "unseen"]) { html in
      html.text(": ")
      html.name(what)
      html.text(", for ")
      html.name(client)
    }
  }

  private func write(_ request: AccessRequest, to html: inout HTML) {
    let wanted = Words.list(request.origins.isEmpty ? request.methods + request.capabilities : request.origins)
    html.element("article", ["class": "card ask", "aria-labelledby": "more-\(request.id)"]) { html in
      html.element("h3", ["id": "more-\(request.id)"]) { html in
        html.name(request.client)
        html.literal(" asks for more")
      }
      html.literal("<dl>")
      for (label, values) in [
        ("Servers", request.origins), ("Methods", request.methods), ("Capabilities", request.capabilities),
      ] where !values.isEmpty {
        fact(&html, label) { html in
          for (index, value) in values.enumerated() {
            if index > 0 { html.literal(", ") }
            html.name(value)
          }
        }
      }
      fact(&html, "Grant") { $0.name(request.grant) }
      if let at = request.requestedAt { fact(&html, "Asked") { $0.moment(at, frame.time) } }
      html.literal(
        "</dl><figure class=\"said\"><figcaption>Its own words, which nobody has checked</figcaption><blockquote>")
      html.name(request.reason)
      html.literal("</blockquote></figure><div class=\"buttons\">")
      html.form(frame.visit, "decide-access", [("request", request.id), ("verdict", "allow")]) { html in
        html.element("label", ["for": "for-\(request.id)", "class": "unseen"], "For how long")
        html.choice(id: "for-\(request.id)", name: "expiresInSeconds", Lifetimes.options)
        html.element("button", ["class": "main", "id": "allow-\(request.id)"]) { html in
          html.text("Allow")
          unseen(&html, wanted, request.client)
        }
      }
      html.form(frame.visit, "decide-access", [("request", request.id), ("verdict", "deny")]) { html in
        html.element("button", ["class": "danger", "id": "deny-\(request.id)"]) { html in
          html.text("Deny")
          unseen(&html, wanted, request.client)
        }
      }
      html.literal("</div>")
    }
    html.literal("\n")
  }

  private func fact(_ html: inout HTML, _ label: String, _ content: (inout HTML) -> Void) {
    html.element("dt", [:], label)
    html.element("dd", [:], content)
  }
}

/// How long something is allowed, as forms offer it.
enum Lifetimes {
  static let options = [
    ("3600", "for an hour"), ("28800", "for 8 hours"), ("86400", "for a day"), ("604800", "for a week"),
    ("", "until the grant ends"),
  ].map { (value: $0.0, words: $0.1) }
}
