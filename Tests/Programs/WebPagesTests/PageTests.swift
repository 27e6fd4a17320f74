import AgentModel
import JSONRPC
import Testing
import WebPages

/// What each page tells.
struct PageTests {
  @Test("Accounts: what needs the person comes first, each with its state, since when, and its ends")
  func accounts() throws {
    let html = Sample.html(.accounts)
    // Bob's session is over, the key ends in two days; then the active one, then who is signed out.
    let order = ["acc_over", "acc_key", "acc_work", "acc_out"].map {
      html.firstRange(of: "<tr role=\"row\" id=\"\($0)\"")
    }
    #expect(order.allSatisfy { $0 != nil })
    #expect(order.compactMap { $0?.lowerBound } == order.compactMap { $0?.lowerBound }.sorted())
    for text in [
      "sign in again", "Its session has ended. Programs get no tokens until you sign in again.", "ends soon",
      "signed out",
      "title=\"Fri 29 Nov 2030, 08:00\">08:00</time>", "title=\"Fri 20 Dec 2030, 00:00\">20 Dec</time>",
      "alice@acme.example",
      "<b>2</b> <span>need you</span>", "<b>1</b> <span>account is well</span>",
      "<a href=\"/activity\"><b>41</b> <span>requests of programs since 12:05, 1 refused or failed</span>",
    ] { #expect(html.contains(text), "\(text)") }
    // What nobody told is not shown as if it were known.
    #expect(html.contains("An account at idp") && !html.contains("secret:ab12") && !html.contains("erased:zz"))
    // To sign in again is for the same person; who was erased may be another.
    #expect(html.contains("name=\"account\" value=\"acc_over\"><button class=\"main\" id=\"sign-in-acc_over\""))
    #expect(!html.contains("name=\"account\" value=\"acc_out\""))
    // The active one is signed out softly with a button, and erased by a page that asks first.
    #expect(html.contains("href=\"/accounts?account=acc_work&amp;confirm=sign-out\""))
    #expect(!html.contains("value=\"hard\""))
    #expect(
      Sample.html(.accounts, ["confirm": "sign-out", "account": "acc_work"]).contains("name=\"mode\" value=\"hard\""))
    #expect(!Sample.html(.accounts, ["confirm": "sign-out", "account": "acc_gone"]).contains("value=\"hard\""))
  }

  @Test("Activity: the last hour in short, a lane for each program, every entry newest first")
  func activity() {
    let html = Sample.html(.activity)
    #expect(html.contains("<b>41</b> <span>requests in the last hour</span>"))
    #expect(html.contains("<b>1</b> <span>refused or failed</span>"))
    #expect(html.contains("<b>1</b> <span>AI agent at work</span>"))
    #expect(html.contains("From 12:05 to 13:05: 41 requests, 1 refused."))
    // 40 repeats of ten minutes are drawn over those: bars 25 to 35 of 60, each of 3 or 4.
    let bars = Markup(html).tags.filter { $0.name == "rect" && $0.attributes["class"] == "allow" }
    #expect(bars.compactMap { $0.attributes["x"].flatMap { Int($0) } } == (25...35).map { $0 * 4 })
    #expect(html.firstRange(of: "deploy.start")!.lowerBound < html.firstRange(of: "DELETE api.example")!.lowerBound)
    let refused = Sample.html(.activity, ["verdict": "refused"])
    #expect(refused.contains("DELETE api.example") && !refused.contains("<bdi>deploy.start</bdi>"))
    // A change is done; only requests and decisions are allowed or not.
    let changes = Sample.html(.activity, ["kind": "changes"])
    #expect(changes.contains("<span class=\"mark idle\">done</span>"))
    #expect(changes.contains("Grant created") && !changes.contains("<bdi>DELETE api.example</bdi>"))
  }

  @Test("Activity: older entries are asked for by the number of the oldest, more calls only behind a full one")
  func older() {
    #expect(WebPage.activity.questions([:]).last?.params == ["before": 9_007_199_254_740_991, "limit": 1000])
    #expect(WebPage.activity.questions(["before": "9"]).last?.params == ["before": 9, "limit": 1000])
    var answers = AgentAnswers()
    answers.set("audit-0", result: Sample.results["audit.list"]!)
    #expect(WebPage.activity.furtherQuestions([:], answers).isEmpty)
    answers.set("audit-0", result: Self.log(from: 2501, count: 1000))
    #expect(
      WebPage.activity.furtherQuestions([:], answers).map { $0.params["before"] } == [2501, 1501, 501])
    let html = WebPage.activity.html(
      PageVisit(page: .activity, query: [:], formToken: "t", now: Sample.now), answers)
    #expect(html.contains("href=\"/activity?before=2501\"") && html.contains("1 of 20"))
  }

  private static func log(from first: Int, count: Int) -> JSONValue {
    let entries = (first..<first + count).map { sequence -> JSONValue in
      [
        "sequence": .integer(Int64(sequence)), "at": "2030-11-29T13:00:00.000Z", "event": "request.send",
        "outcome": "allow",
        "client": "ci",
      ]
    }
    return ["entries": .array(entries)]
  }

  @Test(
    "Approvals: what waits, until when, and the three verdicts; a request for access with its reason as a quotation")
  func approvals() {
    let html = Sample.html(.approvals)
    for text in [
      "<bdi>claude</bdi> wants to send", "<b class=\"method\">POST</b>", "<bdi>api.example</bdi>",
      "<bdi>/tickets/17?notify</bdi>",
      "13:06</time> without your word", "2 wait with it",
      "every <bdi>ticket.comment</bdi> of this grant as <bdi>work</bdi>, until the grant or the agent ends.",
      "<code>lanyard step-up -u <bdi>work</bdi></code>", "value=\"once\"", "value=\"session\"",
      "value=\"deny\"", "<blockquote><bdi>To comment on tickets.</bdi></blockquote>", "value=\"allow\"",
    ] { #expect(html.contains(text), "\(text)") }
    let none = Sample.html(.approvals) { value in
      if case .object(var members) = value {
        for name in ["approvals", "requests"] where members[name] != nil { members[name] = [] }
        return .object(members)
      }
      return value
    }
    #expect(none.contains("Nothing waits for you") && none.contains("<title>Approvals – Lanyard</title>"))
    #expect(!none.contains("class=\"count\""))
  }

  @Test("Programs: what each may, where, until when; a grant that is over comes last")
  func programs() {
    let html = Sample.html(.programs)
    for text in [
      "<bdi>claude</bdi>", "AI agent", "send requests, without seeing tokens", "<bdi>api.example</bdi>",
      "have access tokens",
      "all of the provider", "over", "none known", "name=\"account.acc_work\"",
    ] { #expect(html.contains(text), "\(text)") }
    #expect(
      html.firstRange(of: "id=\"grant-grt_5\"")!.lowerBound < html.firstRange(of: "id=\"grant-grt_1\"")!.lowerBound)
    // The agent's grants do not say when they were used: the audit log does.
    let unused = Sample.html(.programs) { value in
      guard case .object(var members) = value, members["grants"] != nil else { return value }
      members["grants"] = .array([
        [
          "grant": "grt_5", "client": "claude", "accounts": ["acc_work"], "methods": ["request.send"],
          "additions": [
            [
              "origins": ["https://api.example"], "methods": ["DELETE"], "capabilities": [],
              "expiresAt": "2030-11-29T15:00:00.000Z",
            ]
          ],
        ]
      ])
      return .object(members)
    }
    #expect(unused.contains("title=\"Fri 29 Nov 2030, 13:00\">13:00</time>") && !unused.contains("none known"))
    #expect(unused.contains("you allowed besides: <bdi>DELETE · api.example</bdi> until <time"))
    // Who is signed out is not granted.
    #expect(!html.contains("account.acc_out"))
  }

  @Test("Programs: a grant's methods are told by the words that stand for them, and the others by their names")
  func rights() {
    let methods = GrantAbility.methods(of: [.tokens, .status]) + ["audit.list"]
    let html = Sample.html(.programs) { value in
      guard case .object(var members) = value, members["grants"] != nil else { return value }
      members["grants"] = .array([
        [
          "grant": "grt_5", "client": "claude", "accounts": ["acc_work"],
          "methods": .array(methods.map { .string($0) }),
        ]
      ])
      return .object(members)
    }
    for text in ["have access tokens, ID tokens", "see the accounts and their state", "audit.list"] {
      #expect(html.contains(text), "\(text)")
    }
    for name in ["account.get", "exec.begin", "agent.status"] { #expect(!html.contains(name), "\(name)") }
    // A part of an ability is told by its methods.
    #expect(GrantAbility.words(of: ["token.get", "credential.aws"]) == ["credential.aws", "have access tokens"])
  }

  @Test("Waiting: operations with why they wait, and tokens that are to be revoked; no query of a URL is shown")
  func waiting() {
    let html = Sample.html(.waiting)
    for text in [
      "Note on 17", "POST https://api.example/notes", "the server answered 409", "provider unavailable", "2 times",
      "action=\"/do/retry-operation\"", "action=\"/do/cancel-operation\"", "action=\"/do/retry-revocation\"",
    ] { #expect(html.contains(text), "\(text)") }
    #expect(!html.contains("secret=1"))
    #expect(!html.contains("/do/abandon-revocation"))
    // The agent does not count refused operations as pending: each account is asked all the same.
    var answers = AgentAnswers()
    answers.set("accounts", result: Sample.results["account.list"]!)
    answers.set("status", result: ["pendingOperations": 0])
    #expect(WebPage.waiting.furtherQuestions([:], answers).count == 4)
    // The label of a revocation is the account's id once its data is erased.
    let erased = Sample.html(.waiting) { value in
      guard value["revocations"] != nil else { return value }
      return ["revocations": [["id": "rev_1", "issuer": "https://idp.example", "accountLabel": "acc_out"]]]
    }
    #expect(erased.contains("<b><bdi>An account at idp</bdi></b>"))
  }

  @Test("Policies: what a policy wants, and what it would say to somebody who is offline since Sunday")
  func policies() {
    let query = ["account": "acc_work", "capability": "ticket.comment", "offline": "432000", "stepUp": "no"]
    #expect(
      WebPage.policies.questions(query).last?.params == [
        "account": "acc_work", "capability": "ticket.comment",
        "assume": [
          "online": false, "lastOnlineAuthAgeSeconds": 432_000, "snapshotAgeSeconds": 432_000, "stepUp": false,
        ],
      ])
    #expect(!WebPage.policies.questions([:]).contains { $0.method == "policy.explain" })
    let html = Sample.html(.policies, query)
    for text in [
      "offline since Sun 24 Nov (5 days)", "<b>It may not.</b> Offline window expired.",
      "<small><bdi>allowed offline for: 2 days",
      "your approval", "offline for 2 days", "POST https://api.example/tickets/*", "&quot;waitSeconds&quot;: 120",
    ] { #expect(html.contains(text), "\(text)") }
    let withoutRequests = Sample.html(.policies, query) { value in
      guard case .object(var members) = value, members["policy"]?["capabilities"] != nil else { return value }
      members["policy"] = [
        "name": "assistant", "version": 3,
        "capabilities": ["ticket.comment": ["kind": "write", "approve": ["waitSeconds": 120]]],
      ]
      return .object(members)
    }
    #expect(!withoutRequests.contains("your approval"), "nothing waits")
    // The one check that failed says nothing twice.
    #expect(!html.contains("<li><bdi>Offline window expired"))
    let bare = Sample.html(.policies, query) { value in
      guard case .object(var members) = value, members["effect"] != nil else { return value }
      members["policy"] = ["name": "", "version": 0]
      return .object(members)
    }
    #expect(bare.contains("No policy applies to this account") && !bare.contains("version 0"))
  }

  @Test("Accounts: a key that ended wants a new key and no sign-in; a machine is not signed in either")
  func otherKinds() {
    func html(_ kind: JSONValue) -> String {
      Sample.html(.accounts) { value in
        guard value["accounts"] != nil else { return value }
        return [
          "accounts": [
            [
              "id": "acc_key", "alias": "hosting", "kind": kind, "provider": "hosting",
              "state": "reauthenticationRequired",
            ]
          ]
        ]
      }
    }
    let key = html("secret")
    #expect(key.contains("needs a new key") && key.contains("<code>lanyard rotate <bdi>hosting</bdi></code>"))
    let machine = html("client")
    #expect(machine.contains("<code>lanyard doctor</code>"))
    for text in [key, machine] { #expect(!text.contains("sign in again") && !text.contains("sign-in-acc_key")) }
  }

  @Test("Health: findings with their remedies, the network, refreshes and how long they took, ends of sessions")
  func health() {
    let html = Sample.html(.health)
    for text in [
      "<b>1</b> <span>problem</span>", "The session has ended.", "Sign in again: lanyard login", "online",
      "as the last request to a provider showed", "2 s ahead of", "41 renewed", "up to 250 ms", "On average 200 ms.",
      "has ended", "Ends of work", "token 13:30, session 20 Dec",
    ] { #expect(html.contains(text), "\(text)") }
    #expect(WebPage.health.questions(["ask": "providers"]).contains { $0.params == ["askProviders": true] })
    #expect(!WebPage.health.questions([:]).contains { $0.params == ["askProviders": true] })
  }

  @Test("Health: where the provider has told no time, a suspect clock is behind what was known before")
  func suspectClock() {
    func html(isTold: Bool) -> String {
      Sample.html(.health) { value in
        guard case .object(var members) = value, members["account"] == "acc_work", members["clock"] != nil else {
          return value
        }
        members["clock"] = "suspect"
        members["clockBehindSeconds"] = 259_200
        members["serverTimeOffsetMs"] = isTold ? 259_200_000 : nil
        return .object(members)
      }
    }
    let known = html(isTold: false)
    #expect(known.contains("clock disagrees with the time that was known before"))
    #expect(known.contains("259200 s behind that time"))
    let told = html(isTold: true)
    #expect(told.contains("259200 s behind a provider") && !told.contains("known before"))
  }

  @Test(
    "Moments are of this machine's zone: today the time, within a week the day too, else the date",
    arguments: [
      ("2030-11-29T13:05:00.000Z", 0, "13:05"), ("2030-11-29T23:30:00.000Z", 3600, "Sat 00:30"),
      ("2030-11-29T23:30:00.000Z", -3600, "22:30"), ("2030-11-23T00:00:00.000Z", 0, "Sat 00:00"),
      ("2030-11-22T00:00:00.000Z", 0, "22 Nov"), ("2032-02-29T12:00:00.000Z", 0, "29 Feb 2032"),
      ("1969-12-31T23:00:00.000Z", 0, "31 Dec 1969"),
    ])
  func moments(_ text: String, _ offset: Int, _ shown: String) {
    var answers = AgentAnswers()
    answers.set("connectivity", result: ["state": "online", "since": .string(text)])
    let html = WebPage.health.html(
      PageVisit(page: .health, query: [:], formToken: "t", now: Sample.now, secondsFromUTC: offset), answers)
    #expect(html.contains("<time datetime=\"\(text)\"") && html.contains("\">\(shown)</time>"))
  }

  @Test(
    "A moment that is none is not shown",
    arguments: ["", "2030-11-29", "2030-13-29T13:05:00.000Z", "x030-11-29T13:05:00.000Z"])
  func noMoment(_ text: String) { #expect(JSONValue.string(text).moment == nil) }

  @Test("A thousand accounts are shown in parts, and only those of a part are asked about")
  func parts() {
    let accounts = (0..<1000).map { number -> JSONValue in
      [
        "id": .string("acc_\(number)"), "provider": "idp", "subject": .string("\(number)"), "state": "active",
        "displayName": .string("Person \(1000 + number)"),
      ]
    }
    var answers = AgentAnswers()
    answers.set("accounts", result: ["accounts": .array(accounts)])
    let further = WebPage.accounts.furtherQuestions(["page": "2"], answers)
    #expect(further.count == 50 && further.first?.params == ["account": "acc_50"])
    let visit = PageVisit(page: .accounts, query: ["page": "2"], formToken: "t", now: Sample.now)
    let html = WebPage.accounts.html(visit, answers)
    #expect(html.contains("Person 1050") && !html.contains("Person 1049") && !html.contains("Person 1100"))
    #expect(html.contains("Accounts 51 to 100 of 1000") && html.contains("href=\"/accounts?page=3\""))
    let found = WebPage.accounts.html(
      PageVisit(page: .accounts, query: ["find": "person 1777"], formToken: "t", now: Sample.now), answers)
    #expect(found.contains("Person 1777") && !found.contains("Person 1778"))
  }

  @Test("A thousand accounts and four thousand entries are a page within a second, unoptimised and on a busy machine")
  func size() {
    let accounts = (0..<1000).map { number -> JSONValue in
      ["id": .string("acc_\(number)"), "provider": "idp", "subject": .string("\(number)"), "state": "active"]
    }
    var answers = AgentAnswers()
    answers.set("accounts", result: ["accounts": .array(accounts)])
    for part in 0..<4 { answers.set("audit-\(part)", result: Self.log(from: 1 + part * 1000, count: 1000)) }
    let visit = PageVisit(page: .activity, query: [:], formToken: "t", now: Sample.now)
    // Twice: the first pays for what is set up once.
    let seconds = (0..<2).map { _ in ContinuousClock().measure { _ = WebPage.activity.html(visit, answers) } }
    #expect(seconds.min()! < .seconds(1))
    #expect(WebPage.activity.html(visit, answers).utf8.count < 100_000)
  }

  @Test("Events change the pages that show what happened")
  func events() {
    #expect(WebPage.changes(event: "approval.requested") == Set(WebPage.allCases))
    #expect(WebPage.changes(event: "operation.statusChanged") == [.waiting, .activity])
    #expect(WebPage.changes(event: "token.refreshed") == [.accounts, .health])
    #expect(WebPage.changes(event: "stepUp.granted").isEmpty)
    #expect(WebPage.changes(event: "of.tomorrow") == Set(WebPage.allCases))
  }
}
