import Testing
import WebPages

/// Text from outside is text, wherever it stands.
struct HostileTextTests {
  private static let hostile = "\"><script>alert('x')</script>&\u{202E}\u{200B}\u{0}\nevil"

  @Test("Text is escaped, and what a person would not see is replaced")
  func escaping() {
    var html = HTML()
    html.text("<a href=\"x\">'&' \u{202E}\u{00AD}\u{7}é漢字 ok")
    #expect(html.document == "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39; \u{FFFD}\u{FFFD}\u{FFFD}é漢字 ok")
    html = HTML()
    html.name("שלום")
    #expect(html.document == "<bdi>שלום</bdi>")
    html = HTML()
    html.element("a", ["href": "/x?a=\"b\"&c", "class": nil, "hidden": .flag(true)], "<")
    #expect(html.document == "<a href=\"/x?a=&quot;b&quot;&amp;c\" hidden=\"\">&lt;</a>")
    html = HTML()
    html.lines("a\n<b>")
    #expect(html.document == "a\n&lt;b&gt;")
  }

  @Test("A page whose every text is hostile has the same tags as with kind ones", arguments: Sample.addresses)
  func everywhere(_ page: WebPage, _ query: [String: String]) {
    let html = Sample.html(page, query, notice: Self.hostile, changing: Self.spoilt)
    #expect(Markup(html).problem == nil)
    #expect(!html.contains("<script>") && !html.contains("alert('"))
    for hidden in ["\u{202E}", "\u{200B}", "\u{0}"] { #expect(!html.contains(hidden)) }
    let tags = Markup(html).tags
    #expect(tags.count { $0.name == "script" } == 1)
    #expect(!tags.contains { $0.attributes.keys.contains { $0.hasPrefix("on") || $0 == "style" } })
    // No address leads elsewhere, whatever a program calls itself.
    #expect(tags.allSatisfy { $0.attributes["href"].map { $0.hasPrefix("/") || $0 == "#main" } ?? true })
    #expect(tags.allSatisfy { $0.attributes["action"].map { $0.hasPrefix("/") } ?? true })
  }

  @Test("A hostile address changes no markup and names no other page", arguments: WebPage.allCases)
  func query(_ page: WebPage) {
    let names = [
      "find", "page", "before", "span", "program", "kind", "verdict", "account", "confirm", "policy", "capability",
      "offline",
      "stepUp", "ask", "revocation",
    ]
    let html = Sample.html(page, Dictionary(uniqueKeysWithValues: names.map { ($0, Self.hostile) }))
    #expect(Markup(html).problem == nil && !html.contains("<script>"))
    let numbers = Sample.html(page, ["page": "99999999999999999999", "before": "-5", "offline": "1e9"])
    #expect(Markup(numbers).problem == nil)
  }

  @Test("A token or secret in an answer is not copied")
  func secrets() {
    let value = Sample.json(
      #"{"accessToken":"t1","secret":"t2","endSessionUrl":"t3","grant":"grt_1","deep":[{"refreshToken":"t4","idToken":"t5"}]}"#
    )
    #expect(value == ["grant": "grt_1", "deep": [[:]]])
  }

  @Test("No page asks for what answers with a token")
  func methods() {
    let questions = Sample.addresses.flatMap { page, query in page.questions(query) }
    let reading = [".list", ".get", ".status", ".read", ".diagnose", ".explain"]
    #expect(questions.allSatisfy { question in reading.contains { question.method.hasSuffix($0) } })
    for method in ["token.get", "identity.get", "secret.get", "secret.list"] {
      #expect(!questions.contains { $0.method == method })
    }
  }

  /// Every text but those that say what kind of thing it is, which the agent chooses.
  private static func spoilt(_ value: JSONValue) -> JSONValue {
    switch value {
    case .string(let text):
      if value.moment != nil || kept.contains(text) { return value }
      return .string(text + hostile)
    case .array(let elements): return .array(elements.map(spoilt))
    case .object(let members): return .object(members.mapValues(spoilt))
    default: return value
    }
  }

  private static let kept: Set<String> = [
    "active", "reauthenticationRequired", "signedOut", "secret", "openid", "queued", "rejected", "allow", "deny",
    "problem",
    "ok", "request.send", "request.authorize", "grant.create", "authorization.check", "lanyard_exchanges",
    "lanyard_exchange_duration_seconds", "online", "acc_work", "acc_key", "acc_over", "acc_out", "rev_1",
  ]
}
