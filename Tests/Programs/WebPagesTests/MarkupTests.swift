import Testing
import WebPages

/// What holds of every page, whatever it shows.
struct MarkupTests {
  @Test("Every tag of every page is closed in its place", arguments: Sample.addresses)
  func wellFormed(_ page: WebPage, _ query: [String: String]) {
    #expect(Markup(Sample.html(page, query)).problem == nil)
  }

  @Test("No page has a script, a style or a handler of its own", arguments: Sample.addresses)
  func nothingInline(_ page: WebPage, _ query: [String: String]) {
    let tags = Markup(Sample.html(page, query)).tags
    #expect(tags.filter { $0.name == "script" }.map { $0.attributes["src"] } == ["/live.js"])
    #expect(!tags.contains { $0.name == "style" || $0.name == "iframe" || $0.name == "img" })
    #expect(!tags.contains { $0.attributes.keys.contains { $0 == "style" || $0.hasPrefix("on") } })
  }

  @Test(
    "Every page has its language, one title, one heading, landmarks and a link past them", arguments: Sample.addresses)
  func frame(_ page: WebPage, _ query: [String: String]) {
    let html = Sample.html(page, query)
    let tags = Markup(html).tags
    #expect(tags.first?.attributes["lang"] == "en")
    #expect(html.contains("<title>(2) \(page.title) – Lanyard</title>"))
    for name in ["h1", "main", "header"] { #expect(tags.count { $0.name == name } == 1, "\(name)") }
    #expect(tags.first { $0.name == "a" }?.attributes["href"] == "#main")
    let current = tags.filter { $0.attributes["aria-current"] == "page" }
    #expect(current.map { $0.attributes["href"] } == [page.path])
    #expect(html.contains("<span class=\"count\">2<span class=\"unseen\"> waiting</span></span>"))
  }

  @Test("No id stands twice, and what an attribute names is there", arguments: Sample.addresses)
  func ids(_ page: WebPage, _ query: [String: String]) {
    let tags = Markup(Sample.html(page, query)).tags
    let ids = tags.compactMap { $0.attributes["id"] }
    #expect(ids.count == Set(ids).count)
    for tag in tags {
      for name in ["for", "aria-labelledby", "list"] {
        for id in (tag.attributes[name] ?? "").split(separator: " ") {
          #expect(ids.contains(String(id)), "\(tag.name) \(name)=\(id)")
        }
      }
    }
  }

  @Test(
    "Every field has a label, every table a caption, every heading of a table its scope", arguments: Sample.addresses)
  func labels(_ page: WebPage, _ query: [String: String]) {
    let html = Sample.html(page, query)
    let tags = Markup(html).tags
    let labelled = Set(tags.compactMap { $0.attributes["for"] })
    for tag in tags where ["input", "select", "textarea"].contains(tag.name) {
      guard tag.attributes["type"] != "hidden", tag.attributes["type"] != "checkbox" else { continue }
      #expect(labelled.contains(tag.attributes["id"] ?? ""), "\(tag)")
    }
    #expect(tags.count { $0.name == "table" } == tags.count { $0.name == "caption" })
    #expect(tags.filter { $0.name == "th" }.allSatisfy { $0.attributes["scope"] != nil })
    // A picture has its words.
    for tag in tags where tag.name == "svg" { #expect(tag.attributes["role"] == "img") }
    #expect(tags.count { $0.name == "svg" } == html.components(of: "<svg").withTitle)
  }

  @Test("Every form that changes something is one of the actions and carries the token", arguments: Sample.addresses)
  func forms(_ page: WebPage, _ query: [String: String]) {
    var inForm: String?
    var hasToken = true
    for tag in Markup(Sample.html(page, query)).tags {
      if tag.name == "form" {
        #expect(hasToken, "\(inForm ?? "") has no token")
        inForm = tag.attributes["action"]
        hasToken = tag.attributes["method"] == "get"
        if !hasToken {
          let name = String((inForm ?? "").dropFirst("/do/".count))
          #expect(inForm?.hasPrefix("/do/") == true && WebAction.named(name) != nil, "\(inForm ?? "")")
        }
      }
      if tag.attributes["name"] == "token" { hasToken = tag.attributes["value"] == "form-token" }
      // What is kept over a change is kept by its id.
      if tag.name == "button" || tag.name == "details" { #expect(tag.attributes["id"] != nil, "\(tag)") }
    }
    #expect(hasToken)
  }

  @Test("Every action has a form on some page")
  func noActionWithoutForm() {
    let forms = Sample.addresses.flatMap { Markup(Sample.html($0.0, $0.1)).tags }
      .compactMap { $0.attributes["action"] }
    let locked = Markup(Sample.html(.accounts, failing: ["account.list": (1001, "The vault is locked.")])).tags
      .compactMap { $0.attributes["action"] }
    #expect(
      Set((forms + locked).filter { $0.hasPrefix("/do/") }.map { String($0.dropFirst(4)) }) == Set(WebAction.names))
  }

  @Test(
    "A locked vault and an agent that is gone say so on every page, with the command that helps",
    arguments: WebPage.allCases)
  func trouble(_ page: WebPage) {
    let locked = Sample.html(page, failing: ["account.list": (1001, "The vault is locked.")])
    #expect(locked.contains("The vault is locked</h2>") && locked.contains("lanyard unlock"))
    #expect(Markup(locked).problem == nil)
    let gone = Sample.html(page, failing: ["agent.status": (0, "No agent <answers>: `lanyard status`.")])
    #expect(gone.contains("No agent &lt;answers&gt;: <code>lanyard status</code>.") && gone.contains("lanyard doctor"))
  }

  @Test("The opening pages are whole, and escape why")
  func opening() {
    for html in [
      OpeningPage.html, OpeningPage.refused("<b>late</b>"), OpeningPage.handover(to: "https://idp.example/?a=1&b=\""),
    ] {
      #expect(Markup(html).problem == nil)
      #expect(!html.contains("<b>late") && !html.contains("&b=\""))
    }
    #expect(OpeningPage.html.contains("<form method=\"post\" action=\"/open\""))
  }

  @Test("What pages load is there, and nothing else")
  func assets() {
    for path in ["/style.css", "/live.js", "/icon.svg"] { #expect(WebAsset.named(path)?.bytes.isEmpty == false) }
    for path in ["/", "/style.css/", "/../style.css", "/live.js?x", ""] { #expect(WebAsset.named(path) == nil) }
    let script = String(decoding: WebAsset.named("/live.js")!.bytes, as: UTF8.self)
    #expect(script.split(separator: "\n", omittingEmptySubsequences: false).count < 120)
    let style = String(decoding: WebAsset.named("/style.css")!.bytes, as: UTF8.self)
    #expect(style.contains("prefers-color-scheme: dark") && style.contains("prefers-reduced-motion"))
    #expect(!style.contains("url(") && !style.contains("@import"))
  }
}

extension String {
  /// The parts that begin with a text.
  fileprivate func components(of text: String) -> [Substring] {
    var parts: [Substring] = []
    var rest = self[...]
    while let range = rest.firstRange(of: text) {
      rest = rest[range.upperBound...]
      parts.append(rest)
    }
    return parts
  }
}

extension [Substring] {
  /// Those whose first element is a title.
  fileprivate var withTitle: Int { count { $0.drop { $0 != ">" }.dropFirst().hasPrefix("<title") } }
}
