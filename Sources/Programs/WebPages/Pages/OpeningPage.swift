/// The page at `/open`: it sends the code of the address's fragment to the server. A browser sends a fragment to no server, and
/// keeps it out of the next page's `Referer`.
package enum OpeningPage {
  package static let html = sheet("Open Lanyard") { html in
    html.literal(
      """
      <h1>Open Lanyard</h1>
      <form method="post" action="/open" class="fields" id="open">
      <div class="field"><label for="code">The code at the end of the address</label>
      <input id="code" name="code" type="text" required autocomplete="off" autocapitalize="off" spellcheck="false"></div>
      <button class="main" id="open-now">Open</button>
      </form>
      <p class="hint"><code>lanyard ui</code> prints the address. It opens once, within a minute.</p>
      """)
  }

  /// The page for a code that does not open.
  package static func refused(_ why: String) -> String {
    sheet("Not opened") { html in
      html.literal("<div class=\"sign bad\" aria-hidden=\"true\">!</div><h1>This page does not open</h1>")
      html.element("p", [:]) { $0.prose(why) }
      if !why.contains("lanyard ui") {
        html.literal("<p class=\"hint\">In a terminal, <code>lanyard ui</code> opens a new one.</p>")
      }
    }
  }

  /// The page between a form and a provider: it leads on by a link, since `form-action` allows no redirect elsewhere.
  package static func handover(to address: String) -> String {
    sheet("Sign in") { html in
      html.literal("<h1>Sign in</h1><p class=\"buttons\">")
      html.element("a", ["class": "button main", "href": address], "Go on at your provider")
      html.literal(
        "</p><p class=\"hint\">Afterwards the page with your accounts shows the new one. <a href=\"/accounts\">Back to the accounts</a></p>"
      )
    }
  }

  /// One card in the middle, as the pages of a sign-in are.
  private static func sheet(_ title: String, _ content: (inout HTML) -> Void) -> String {
    var html = HTML(capacity: 2048)
    html.head(title)
    html.literal(
      """
      <body class="sheet">
      <main class="panel">
      <p class="brand"><span class="badge" aria-hidden="true"></span>Lanyard</p>

      """)
    content(&html)
    html.literal("\n</main>\n</body>\n</html>\n")
    return html.document
  }
}
