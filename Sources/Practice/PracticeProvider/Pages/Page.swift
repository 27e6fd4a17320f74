import LoopbackHTTP

/// The frame of every page: one card, one style sheet, no scripts, nothing loaded from elsewhere.
enum Page {
  /// - Parameters:
  ///   - about: the purpose of the page, in HTML; on a wide screen at the left.
  ///   - form: the user's form, at the right or below. Text from outside must be escaped already.
  ///   - formTargets: origins where a form of this page may end, besides the provider itself. Browsers apply
  ///     `form-action` to the redirects after a form, too.
  static func response(
    title: String,
    about: String,
    form: String? = nil,
    status: Int = 200,
    formTargets: [String] = [],
    headers: [(name: String, value: String)] = []
  ) -> HTTPResponse {
    let page = """
      <!doctype html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <title>\(escape(title)) · Practice Provider</title>
      <style>\(Stylesheet.text)</style>
      </head>
      <body>
      <main\(form == nil ? "" : " class=\"wide\"")>
      <div class="about">
      <p class="mark"><span class="badge" aria-hidden="true"></span>Practice Provider</p>
      \(about)
      </div>
      \(form ?? "")
      <p class="foot">For practice, on this machine only.</p>
      </main>
      </body>
      </html>

      """
    var response = HTTPResponse.html(page, status: status)
    response.headers += securityHeaders(formTargets: formTargets) + headers
    return response
  }

  private static func securityHeaders(formTargets: [String]) -> [(name: String, value: String)] {
    let policy = [
      "default-src 'none'", "style-src '\(Stylesheet.hash)'",
      "form-action \((["'self'"] + formTargets).joined(separator: " "))", "frame-ancestors 'none'", "base-uri 'none'",
    ]
    return [
      ("Content-Security-Policy", policy.joined(separator: "; ")),
      // The URL of an authorization page carries its parameters, which other sites must not see.
      ("Referrer-Policy", "no-referrer"),
      ("X-Content-Type-Options", "nosniff"),
      ("X-Frame-Options", "DENY"),
      ("Cache-Control", "no-store"),
    ]
  }

  /// For text and for attribute values in double quotes. A second opinion beside the agent's `SignInPage.escape`.
  static func escape(_ text: String) -> String {
    var escaped = ""
    for character in text.unicodeScalars {
      switch character {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "'": escaped += "&#39;"
      default: escaped.unicodeScalars.append(character)
      }
    }
    return escaped
  }

  static func message(_ title: String, _ text: String, status: Int = 200, isGood: Bool) -> HTTPResponse {
    response(
      title: title,
      about: """
        <div class="\(isGood ? "sign good" : "sign bad")" aria-hidden="true">\(isGood ? "✓" : "!")</div>
        <h1>\(escape(title))</h1>
        <p class="lead">\(escape(text))</p>
        """,
      status: status
    )
  }
}
