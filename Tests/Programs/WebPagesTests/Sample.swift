import AgentModel
import JSONRPC
import WebPages

/// An agent with a person's accounts, of which one of each kind needs something, and two AI agents at work.
enum Sample {
  /// 2030-11-29T13:05:00Z, a Friday.
  static let now = Timestamp(year: 2030, month: 11, day: 29, hour: 13, minute: 5)

  static func json(_ text: String) -> JSONValue {
    var tape = JSONTape()
    return Array(text.utf8).withUnsafeBytes { bytes in
      do { try JSONScanner.scan(bytes, onto: &tape) } catch { fatalError("the sample is no JSON: \(text)") }
      return tape.withRoot(of: bytes) { JSONValue($0) }
    }
  }

  /// The results by method, or by method and account.
  static let results: [String: JSONValue] = [
    "agent.status": json(
      #"{"locked":false,"connectivity":"online","protection":"keyFile","memoryLocked":true,"confinement":"landlock","connections":3,"pendingOperations":2,"pendingRevocations":1,"startedAt":"2030-11-27T13:05:00.000Z","version":"1.0.0","callersAreTrusted":true}"#
    ),
    "account.list": json(
      #"""
      {"active":"acc_work","accounts":[
      {"id":"acc_work","account":"acc_work","alias":"work","provider":"idp","issuer":"https://idp.example","tenant":"acme","subject":"1","displayName":"Alice Example","email":"alice@acme.example","state":"active","active":true,"createdAt":"2030-01-01T00:00:00.000Z","lastOnlineAuthAt":"2030-11-29T13:00:00.000Z"},
      {"id":"acc_key","account":"acc_key","alias":"hosting","kind":"secret","provider":"hosting","issuer":"https://api.hosting.example","subject":"secret:ab12","state":"active","active":false,"createdAt":"2030-01-01T00:00:00.000Z","expiresAt":"2030-12-01T13:05:00.000Z"},
      {"id":"acc_over","account":"acc_over","provider":"idp","issuer":"https://idp.example","subject":"2","displayName":"Bob Example","state":"reauthenticationRequired","active":false,"createdAt":"2030-01-01T00:00:00.000Z"},
      {"id":"acc_out","account":"acc_out","provider":"idp","issuer":"https://idp.example","subject":"erased:zz","state":"signedOut","active":false,"createdAt":"2030-01-01T00:00:00.000Z"}]}
      """#),
    "session.get acc_work": json(
      #"{"account":"acc_work","state":"active","since":"2030-11-29T08:00:00.000Z","accessTokenExpiresAt":"2030-11-29T13:30:00.000Z","refreshTokenExpiresAt":"2030-12-20T00:00:00.000Z","refresh":{"phase":"idle","attempts":0},"clock":"trusted","serverTimeOffsetMs":-2000}"#
    ),
    "session.get acc_over": json(
      #"{"account":"acc_over","state":"reauthenticationRequired","since":"2030-11-26T13:05:00.000Z","refresh":{"phase":"idle","attempts":0,"lastError":{"name":"reauthenticationRequired","at":"2030-11-26T13:05:00.000Z","reason":"invalid_grant"}},"clock":"trusted"}"#
    ),
    "provider.list": json(
      #"{"providers":[{"name":"idp","kind":"openid","policy":"assistant"},{"name":"hosting","kind":"secret"}]}"#),
    "approval.list": json(
      #"{"approvals":[{"approval":"apr_1","grant":"grt_5","client":"claude","account":"acc_work","capability":"ticket.comment","method":"POST","url":"https://api.example/tickets/17?notify","requestedAt":"2030-11-29T13:04:30.000Z","expiresAt":"2030-11-29T13:06:30.000Z","stepUp":"pin","waiting":2}]}"#
    ),
    "access.list": json(
      #"{"requests":[{"request":"acr_1","grant":"grt_5","client":"claude","origins":["https://tickets.example"],"methods":["POST"],"capabilities":[],"reason":"To comment on tickets.","requestedAt":"2030-11-29T13:04:00.000Z"}]}"#
    ),
    "grant.list": json(
      #"{"grants":[{"grant":"grt_5","client":"claude","accounts":["acc_work"],"methods":["request.send"],"agent":true,"origins":["https://api.example"],"createdAt":"2030-11-29T00:00:00.000Z","expiresAt":"2030-11-30T00:00:00.000Z"},{"grant":"grt_1","client":"ci","accounts":["acc_key"],"methods":["token.*"],"createdAt":"2030-11-01T00:00:00.000Z","expiresAt":"2030-11-02T00:00:00.000Z"}]}"#
    ),
    "audit.list": json(
      #"""
      {"entries":[
      {"sequence":7,"at":"2030-11-29T12:00:00.000Z","event":"grant.create","outcome":"ok","client":"lanyard","facts":{"grant":"grt_5","grantee":"claude"}},
      {"sequence":8,"at":"2030-11-29T12:30:00.000Z","event":"request.send","outcome":"allow","account":"acc_work","client":"lanyard-mcp","count":40,"firstAt":"2030-11-29T12:30:00.000Z","lastAt":"2030-11-29T12:40:00.000Z","facts":{"method":"GET","origin":"https://api.example","grantee":"claude","grant":"grt_5","capability":"ticket.read"}},
      {"sequence":9,"at":"2030-11-29T13:00:00.000Z","event":"request.authorize","outcome":"deny","account":"acc_work","client":"lanyard-proxy","facts":{"method":"DELETE","origin":"https://api.example","grantee":"claude","grant":"grt_5","reason":"forbidden"}},
      {"sequence":10,"at":"2030-11-29T13:01:00.000Z","event":"authorization.check","outcome":"allow","account":"acc_key","client":"ci","facts":{"capability":"deploy.start"}}]}
      """#),
    "operation.list acc_work": json(
      #"{"account":"acc_work","more":false,"operations":[{"operation":"op_1","account":"acc_work","status":"queued","capability":"order.note","label":"Note on 17","delivery":"agent","request":{"method":"POST","url":"https://api.example/notes?secret=1"},"enqueuedAt":"2030-11-29T09:00:00.000Z","updatedAt":"2030-11-29T09:00:00.000Z","attempts":1,"nextAttemptAt":"2030-11-29T13:10:00.000Z"},{"operation":"op_2","account":"acc_work","status":"rejected","capability":"order.close","delivery":"agent","enqueuedAt":"2030-11-29T09:00:00.000Z","updatedAt":"2030-11-29T09:00:00.000Z","attempts":1,"rejection":{"reason":"response","response":{"status":409}}}]}"#
    ),
    "operation.list": json(#"{"operations":[],"more":false}"#),
    "revocation.list": json(
      #"{"revocations":[{"id":"rev_1","issuer":"https://idp.example","accountLabel":"old","attempts":2,"nextAttemptAt":"2030-11-29T13:10:00.000Z","expiresAt":"2030-12-06T13:05:00.000Z","lastError":{"name":"providerUnavailable","at":"2030-11-29T13:00:00.000Z"}}]}"#
    ),
    "policy.list": json(#"{"policies":[{"name":"assistant","version":3}]}"#),
    "policy.get": json(
      #"{"name":"assistant","version":3,"policy":{"name":"assistant","version":3,"capabilities":{"ticket.comment":{"kind":"write","approve":{"waitSeconds":120},"offlineWindowSeconds":172800,"requests":[{"origin":"https://api.example","methods":["POST"],"path":"/tickets/*"}]}}}}"#
    ),
    "policy.explain": json(
      #"{"decisionId":"dec_1","effect":"deny","capability":"ticket.comment","reason":"offlineWindowExpired","failed":[{"check":"window","reason":"offlineWindowExpired","facts":{"offlineWindowSeconds":172800}}],"obligations":[],"remedies":["connect"],"policy":{"name":"assistant","version":3},"snapshotVersion":1,"time":{"now":"2030-11-29T13:05:00.000Z","basis":"server","clock":"trusted"},"account":"acc_work"}"#
    ),
    "connectivity.get": json(#"{"state":"online","since":"2030-11-29T08:00:00.000Z","basis":"exchange"}"#),
    "metrics.read": json(
      #"{"at":"2030-11-29T13:05:00.000Z","counters":[{"name":"lanyard_exchanges","help":"x","samples":[{"labels":{"outcome":"renewed"},"value":41}]}],"gauges":[],"histograms":[{"name":"lanyard_exchange_duration_seconds","help":"x","unit":"seconds","boundsMs":[100,250,1000],"samples":[{"labels":{},"counts":[1,30,10,0],"count":41,"sumMs":8200}]}]}"#
    ),
    "agent.diagnose": json(
      #"{"findings":[{"check":"accountSession","severity":"problem","account":"acc_over","message":"The session has ended.","remedies":["Sign in again: lanyard login"]},{"check":"storeIntegrity","severity":"ok","message":"sound","remedies":[]}]}"#
    ),
  ]

  /// What the agent answers to a page's questions, and the page.
  static func html(
    _ page: WebPage, _ query: [String: String] = [:], notice: String? = nil,
    changing change: (JSONValue) -> JSONValue = { $0 }, failing failures: [String: (Int, String)] = [:]
  ) -> String {
    var answers = AgentAnswers()
    func ask(_ questions: [AgentQuestion]) {
      for question in questions {
        if let failure = failures[question.method] {
          answers.set(question.name, failureCode: failure.0, message: failure.1)
          continue
        }
        let account = question.params["account"]?.string.map { "\(question.method) \($0)" }
        if let result = account.flatMap({ results[$0] }) ?? results[question.method] {
          answers.set(question.name, result: change(result))
        } else {
          answers.set(question.name, failureCode: 2001, message: "There is no such account.")
        }
      }
    }
    ask(page.questions(query))
    ask(page.furtherQuestions(query, answers))
    return page.html(
      PageVisit(page: page, query: query, formToken: "form-token", now: now, notice: notice), answers)
  }

  /// The pages with the addresses that show something else.
  static let addresses: [(WebPage, [String: String])] =
    WebPage.allCases.map { ($0, [:]) } + [
      (.accounts, ["confirm": "sign-out", "account": "acc_work"]), (.activity, ["span": "week", "verdict": "refused"]),
      (.activity, ["before": "9"]), (.waiting, ["confirm": "abandon", "revocation": "rev_1"]),
      (.policies, ["account": "acc_work", "capability": "ticket.comment", "offline": "432000", "stepUp": "no"]),
      (.health, ["ask": "providers"]), (.accounts, ["find": "alice"]),
    ]
}

/// The tags of a document. It fails where one is not closed, or closed in another's place.
struct Markup {
  struct Tag {
    var name: String
    var attributes: [String: String]
  }
  private(set) var tags: [Tag] = []
  private(set) var problem: String?

  init(_ html: String) {
    let void: Set<String> = ["meta", "link", "input"]
    var open: [String] = []
    for piece in html.split(separator: "<", omittingEmptySubsequences: true).dropFirst(html.hasPrefix("<") ? 0 : 1) {
      guard let end = piece.firstIndex(of: ">") else {
        problem = problem ?? "a tag has no end: \(piece.prefix(60))"
        return
      }
      let inside = piece[..<end]
      if inside.hasPrefix("!") { continue }
      if inside.hasPrefix("/") {
        let name = String(inside.dropFirst())
        if open.popLast() != name { problem = problem ?? "</\(name)> closes another tag" }
        continue
      }
      let name = String(inside.prefix { $0 != " " && $0 != "/" })
      tags.append(Tag(name: name, attributes: Self.attributes(inside.dropFirst(name.count))))
      if !void.contains(name), !inside.hasSuffix("/") { open.append(name) }
    }
    if let left = open.last { problem = problem ?? "<\(left)> is not closed" }
  }

  private static func attributes(_ text: Substring) -> [String: String] {
    var found: [String: String] = [:]
    var rest = text
    while true {
      rest = rest.drop { $0 == " " || $0 == "\n" || $0 == "/" }
      guard !rest.isEmpty else { return found }
      let name = String(rest.prefix { $0 != "=" && $0 != " " })
      rest = rest.dropFirst(name.count)
      guard rest.hasPrefix("=\"") else {
        found[name] = ""
        continue
      }
      let value = rest.dropFirst(2).prefix { $0 != "\"" }
      found[name] = String(value)
      rest = rest.dropFirst(value.count + 3)
    }
  }
}
