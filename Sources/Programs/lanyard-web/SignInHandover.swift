internal import CommandSupport
internal import LoopbackHTTP
internal import PageGate

/// Leads the browser on to the page of a provider.
///
/// It is a page and no redirect: `form-action` of the page with the form forbids a redirect to another origin.
enum SignInHandover {
  static func response(to address: String) -> HTTPResponse {
    guard Browser.isWebAddress(address) else {
      return .refusal(.foreignAddress)
    }
    let shown = address.escapedForHTML
    var response = HTTPResponse.page(
      """
      <!doctype html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width">
      <title>Sign in</title>
      <link rel="stylesheet" href="/style.css">
      <link rel="icon" href="/icon.svg" type="image/svg+xml">
      </head>
      <body>
      <main>
      <h1>Sign in</h1>
      <p><a href="\(shown)">Go on at your provider</a>. Afterwards the page with your accounts shows the new one.</p>
      <p><a href="/accounts">Back to the accounts</a></p>
      </main>
      </body>
      </html>

      """)
    response.headers.append(("Refresh", "0; url=\(address)"))
    return response
  }
}

extension String {
  /// For text and for values in double quotes.
  fileprivate var escapedForHTML: String {
    reduce(into: "") { text, character in
      switch character {
      case "&": text += "&amp;"
      case "<": text += "&lt;"
      case ">": text += "&gt;"
      case "\"": text += "&quot;"
      case "'": text += "&#39;"
      default: text.append(character)
      }
    }
  }
}
