internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
internal import AgentStore
internal import JSONRPC

/// The page that the browser ends on. It loads nothing, runs nothing, and looks right on a phone and on a desktop.
enum SignInPage {
  static func signedIn(_ profile: AccountProfile) -> RedirectPage {
    let name = profile.displayName ?? profile.email ?? profile.alias?.text ?? profile.identity.subject
    var rows = [("Account", name)]
    if let email = profile.email, email != name { rows.append(("E-mail", email)) }
    if let tenant = profile.identity.tenant { rows.append(("Tenant", tenant)) }
    rows.append(("Provider", profile.provider.text))
    if let alias = profile.alias { rows.append(("Alias", alias.text)) }
    return page(
      200, title: "You are signed in", sign: "✓", tone: "good", rows: rows,
      closing: "You can close this page and go back to your program.")
  }

  static func failed(_ error: AgentFailure, provider: String) -> RedirectPage {
    page(
      400, title: "You are not signed in", sign: "!", tone: "bad", rows: [("Provider", provider)],
      closing: error.message + " You can close this page.")
  }

  /// The hyphen does not break: on a phone the line would end in it.
  static func ended() -> RedirectPage {
    page(
      410, title: "This sign\u{2011}in is over", sign: "!", tone: "bad", rows: [],
      closing: "It was answered, cancelled or took too long. Begin a new one; you can close this page.")
  }

  /// An answer that is for no sign-in which waits here. `error`: what the provider says, as a name of the standards.
  static func foreign(error: String?) -> RedirectPage {
    page(
      400, title: "This answer belongs to no sign\u{2011}in", sign: "!", tone: "bad",
      rows: error.map { [("Error", $0)] } ?? [],
      closing:
        "Nothing was changed. A sign-in that waits goes on: finish it in the page that it opened, or begin it again.")
  }

  private static func page(
    _ status: Int, title: String, sign: String, tone: String, rows: [(String, String)], closing: String
  ) -> RedirectPage {
    let list = rows.map { "<dt>\(escape($0.0))</dt><dd>\(escape($0.1))</dd>" }.joined()
    let html = """
      <!doctype html>
      <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
      <meta name="color-scheme" content="light dark"><title>\(escape(title)) – Lanyard</title><style>
      :root{--ground:#f4f5f7;--card:#fff;--ink:#1c2126;--soft:#5d6771;--line:#e3e6ea;--good:#177245;--bad:#b3261e}
      @media(prefers-color-scheme:dark){:root{--ground:#14171a;--card:#1e2226;--ink:#eef0f2;--soft:#a3adb7;--line:#31373d;\
      --good:#5fce96;--bad:#ff8a80}}
      *{box-sizing:border-box}body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.25rem;\
      background:var(--ground);color:var(--ink);font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
      main{width:100%;max-width:27rem;background:var(--card);border:1px solid var(--line);border-radius:1rem;padding:2rem}
      .sign{width:3rem;height:3rem;border-radius:50%;display:grid;place-items:center;font-size:1.5rem;font-weight:700;\
      color:var(--card);margin-bottom:1.25rem}.good{background:var(--good)}.bad{background:var(--bad)}
      h1{font-size:1.5rem;line-height:1.25;margin:0 0 1.25rem;text-wrap:balance}
      dl{display:grid;grid-template-columns:auto 1fr;gap:.5rem 1.25rem;margin:0 0 1.25rem;padding:1rem 0;\
      border-block:1px solid var(--line)}dt{color:var(--soft)}dd{margin:0;font-weight:600;overflow-wrap:anywhere}
      p{margin:0;color:var(--soft)}
      </style></head><body><main><div class="sign \(tone)" aria-hidden="true">\(sign)</div>
      <h1>\(escape(title))</h1>\(list.isEmpty ? "" : "<dl>\(list)</dl>")<p>\(escape(closing))</p></main></body></html>
      """
    return RedirectPage(status: status, html: html)
  }

  /// Names come from the provider: they are text here, never markup.
  private static func escape(_ text: String) -> String {
    var escaped = ""
    for character in text.unicodeScalars {
      switch character {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "'": escaped += "&#39;"
      default: escaped.unicodeScalars.append(character.isHidden ? "\u{FFFD}" : character)
      }
    }
    return escaped
  }
}
