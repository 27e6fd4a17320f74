import LoopbackHTTP
import Testing

import PageGate

/// Which requests are served. What a browser and a socket make of it is in `Tests/Programs/Web/test_attacks.py`.
@Suite struct PageGateTests {
  private static let port: UInt16 = 8123
  private let gate = PageGate(port: port) { $0 == "/style.css" }
  private let session = PageSession(secret: "secret", formToken: "form-token", port: port)

  private func request(
    _ method: String, _ path: String, query: String = "", body: String = "",
    _ fields: KeyValuePairs<String, String> = [:]
  ) -> HTTPRequest {
    var fields = fields.map { (name: $0.key, value: $0.value) }
    if !fields.contains(where: { $0.name == "Host" }) { fields.append(("Host", "127.0.0.1:8123")) }
    if !fields.contains(where: { $0.name == "Cookie" }) { fields.append(("Cookie", "lanyard-8123=secret")) }
    return HTTPRequest(method: method, path: path, query: query, headers: fields, body: Array(body.utf8))
  }

  private func post(
    _ path: String, body: String = "token=form-token", _ fields: KeyValuePairs<String, String> = [:]
  ) -> HTTPRequest {
    var form = request("POST", path, body: body, fields)
    form.headers.append(("Content-Type", "application/x-www-form-urlencoded"))
    return form
  }

  private func status(_ request: HTTPRequest, in session: PageSession?) -> Int {
    do throws(GateRefusal) {
      _ = try gate.admit(request, session: session)
      return 200
    } catch {
      return error.status
    }
  }

  private func status(_ request: HTTPRequest) -> Int { status(request, in: session) }

  @Test func pagesAndForms() throws {
    guard
      case .page("/accounts", let query) = try gate.admit(
        request("GET", "/accounts", query: "a=1&b=x+y%20z"), session: session)
    else { return #expect(Bool(false)) }
    #expect(query == ["a": "1", "b": "x y z"])
    guard case .action("lock", let form) = try gate.admit(post("/do/lock"), session: session) else {
      return #expect(Bool(false))
    }
    #expect(form == ["token": "form-token"])
    guard case .start = try gate.admit(request("GET", "/"), session: session) else { return #expect(Bool(false)) }
    guard case .live("activity") = try gate.admit(request("GET", "/live", query: "page=activity"), session: session)
    else { return #expect(Bool(false)) }
  }

  @Test func nothingOfThePersonWithoutASession() throws {
    for path in ["/", "/accounts", "/live", "/nothing"] { #expect(status(request("GET", path), in: nil) == 401) }
    #expect(status(post("/do/lock"), in: nil) == 401)
    guard case .opening = try gate.admit(request("GET", "/open"), session: nil) else { return #expect(Bool(false)) }
    guard case .asset("/style.css") = try gate.admit(request("GET", "/style.css"), session: nil) else {
      return #expect(Bool(false))
    }
    guard case .redeem("abc") = try gate.admit(post("/open", body: "code=abc"), session: nil) else {
      return #expect(Bool(false))
    }
  }

  @Test(arguments: [
    "evil.example", "evil.example:8123", "127.0.0.1", "127.0.0.1:8124", "127.0.0.2:8123", "localhost", "LOCALHOST:8123",
    "127.0.0.1:08123", "127.0.0.1:8123.evil.example", "[::1]:8123", "",
  ])
  func otherHosts(host: String) {
    #expect(status(request("GET", "/accounts", ["Host": host])) == 421)
    #expect(status(post("/do/lock", ["Host": host])) == 421)
  }

  @Test func bothNamesOfThisHost() {
    for host in ["127.0.0.1:8123", "localhost:8123"] {
      #expect(status(post("/do/lock", ["Host": host, "Origin": "http://\(host)"])) == 200)
    }
    #expect(status(post("/do/lock", ["Host": "localhost:8123", "Origin": "http://127.0.0.1:8123"])) == 403)
  }

  @Test func noHost() {
    let bare = HTTPRequest(method: "GET", path: "/accounts", headers: [("Cookie", "lanyard-8123=secret")])
    #expect(status(bare) == 421)
  }

  @Test func absoluteTarget_namesTheSameHost() {
    var absolute = request("GET", "/accounts")
    absolute.targetAuthority = "127.0.0.1:8123"
    #expect(status(absolute) == 200)
    for authority in ["127.0.0.1:8124", "127.0.0.1", "localhost:8123", "evil.example", "evil.example:8123", ""] {
      absolute.targetAuthority = authority
      #expect(status(absolute) == 421)
    }
  }

  /// Also where both say the same: a browser sends one.
  @Test func fieldThatComesTwice_isMalformed() {
    let own = "http://127.0.0.1:8123"
    for second in [own, "http://evil.example", "null"] {
      #expect(status(post("/do/lock", ["Origin": own, "Origin": second])) == 400)
      #expect(status(request("GET", "/accounts", ["origin": own, "ORIGIN": second])) == 400)
    }
    for second in ["same-origin", "cross-site", ""] {
      #expect(status(post("/do/lock", ["Sec-Fetch-Site": "same-origin", "sec-fetch-site": second])) == 400)
      #expect(status(request("GET", "/accounts", ["Sec-Fetch-Site": "same-origin", "Sec-Fetch-Site": second])) == 400)
    }
    #expect(status(post("/do/lock", ["Content-Type": "text/plain"])) == 400)
    #expect(status(request("GET", "/accounts", ["Accept": "text/html", "Accept": "text/css"])) == 200)
  }

  @Test(arguments: ["HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get"])
  func otherMethods(method: String) { #expect(status(request(method, "/accounts")) == 405) }

  @Test func otherSites() {
    for origin in ["http://evil.example", "https://127.0.0.1:8123", "http://127.0.0.1:8124", "http://127.0.0.1", ""] {
      #expect(status(post("/do/lock", ["Origin": origin])) == 403)
      #expect(status(request("GET", "/accounts", ["Origin": origin])) == 403)
    }
    for site in ["cross-site", "same-site", ""] {
      #expect(status(post("/do/lock", ["Sec-Fetch-Site": site])) == 403)
      #expect(status(request("GET", "/accounts", ["Sec-Fetch-Site": site])) == 403)
      #expect(status(request("GET", "/open", ["Sec-Fetch-Site": site])) == 403)
    }
  }

  /// The person opens an address by hand, but posts no form by hand.
  @Test func whatThePersonOpened() {
    #expect(status(request("GET", "/accounts", ["Sec-Fetch-Site": "none"])) == 200)
    #expect(status(post("/do/lock", ["Sec-Fetch-Site": "none"])) == 403)
  }

  /// `Referrer-Policy: no-referrer` makes browsers say `null` with a form to the same origin.
  @Test func nullOrigin() {
    #expect(status(post("/do/lock", ["Origin": "null"])) == 403)
    #expect(status(post("/do/lock", ["Origin": "null", "Sec-Fetch-Site": "cross-site"])) == 403)
    #expect(status(post("/do/lock", ["Origin": "null", "Sec-Fetch-Site": "same-origin"])) == 200)
  }

  @Test func actionsAreNoPages() {
    #expect(status(request("GET", "/do/lock")) == 405)
    #expect(status(request("GET", "/do/lock", query: "token=form-token")) == 405)
    var inAddress = post("/do/lock")
    inAddress.query = "x=1"
    #expect(status(inAddress) == 400)
  }

  @Test(arguments: [
    "", "token=", "token=form-toke", "token=form-tokenx", "token=form-token&token=x", "Token=form-token",
  ])
  func otherForms(body: String) { #expect(status(post("/do/lock", body: body)) == 403) }

  @Test func otherTypesOfForms() {
    for type in ["text/plain", "multipart/form-data", "application/json", "application/x-www-form-urlencodedx"] {
      let form = request("POST", "/do/lock", body: "token=form-token", ["Content-Type": type])
      #expect(status(form) == 415)
    }
    #expect(status(request("POST", "/do/lock", body: "token=form-token")) == 415)
  }

  @Test(arguments: [
    "", "lanyard-8123", "lanyard-8123=", "lanyard-8123=secre", "lanyard-8123=secretx", "lanyard-8124=secret",
    "xlanyard-8123=secret", "lanyard-8123=SECRET",
  ])
  func otherCookies(cookie: String) { #expect(status(request("GET", "/accounts", ["Cookie": cookie])) == 401) }

  @Test func theCookieAmongOthers() {
    #expect(status(request("GET", "/accounts", ["Cookie": "a=b; lanyard-8123=x; lanyard-8123=secret; c"])) == 200)
    #expect(session.cookie == "lanyard-8123=secret; Path=/; HttpOnly; SameSite=Strict")
  }

  @Test func upgradesAndBodies() {
    #expect(status(request("GET", "/live", ["Upgrade": "websocket"])) == 400)
    #expect(status(request("GET", "/accounts", body: "x")) == 400)
    #expect(status(post("/accounts")) == 404)
    #expect(status(post("/style.css")) == 405)
  }

  @Test(arguments: ["x=%0d%0aA:b", "x=%00", "x=%7f", "x=%", "x=%4", "x=%zz", "x=%ff", "%0a=x"])
  func queriesThatNoPageMade(query: String) { #expect(status(request("GET", "/accounts", query: query)) == 400) }
}

@Suite struct FormFieldsTests {
  @Test func values() {
    let form = FormFields("a=1&b=%C3%A4+%26&c&d=&a=2".utf8, lines: .none)
    #expect(form?.values == ["a": "2", "b": "ä &", "c": "", "d": ""])
    #expect(FormFields("".utf8, lines: .none)?.values == [:])
    #expect(FormFields("&&a=b=c&".utf8, lines: .none)?.values == ["a": "b=c"])
  }

  @Test func linesOfATextField() {
    #expect(FormFields("a=x%0D%0Ay%09".utf8, lines: .allowed)?["a"] == "x\r\ny\t")
    #expect(FormFields("a=x%0D%0Ay".utf8, lines: .none) == nil)
    #expect(FormFields("a%0A=x".utf8, lines: .allowed) == nil)
    #expect(FormFields("a=%1B".utf8, lines: .allowed) == nil)
  }

  @Test func most() {
    let most = (0..<64).map { "f\($0)=x" }.joined(separator: "&")
    #expect(FormFields(most.utf8, lines: .none)?.values.count == 64)
    #expect(FormFields((most + "&g=x").utf8, lines: .none) == nil)
  }
}

@Suite struct OpeningCodeTests {
  private func code() -> OpeningCode { OpeningCode("right", endsAt: 60_000) }

  @Test func once() {
    var code = code()
    #expect(code.redeem("right", at: 59_999) == .opened)
    #expect(code.redeem("right", at: 59_999) == .used)
    #expect(code.redeem("wrong", at: 0) == .used)
  }

  @Test func late() {
    var code = code()
    #expect(code.redeem("right", at: 60_000) == .late)
    #expect(code.redeem("right", at: 70_000) == .late)
  }

  @Test func guessed() {
    var code = code()
    for _ in 0..<10 { #expect(code.redeem("wrong", at: 0) == .wrong) }
    #expect(code.redeem("right", at: 0) == .closed)
    var other = self.code()
    for wrong in ["", "r", "righ", "rightx", "RIGHT", "right ", "\u{0}", "left!", "wrong"] {
      #expect(other.redeem(wrong, at: 0) == .wrong)
    }
    #expect(other.redeem("right", at: 0) == .opened)
  }

  @Test func comparing() {
    #expect(ConstantTime.equal([1, 2, 3], [1, 2, 3]))
    #expect(!ConstantTime.equal([1, 2, 3], [1, 2, 4]))
    #expect(!ConstantTime.equal([0, 2, 3], [1, 2, 3]))
    #expect(!ConstantTime.equal([1, 2], [1, 2, 3]))
    #expect(ConstantTime.equal([UInt8](), [UInt8]()))
  }
}

@Suite struct AllowedMethodsTests {
  @Test func nothingThatGivesATokenOrASecret() {
    for method in [
      "token.get", "token.refresh", "token.reject", "token.exchange", "token.proof", "identity.get", "secret.get",
      "secret.list",
      "secret.put", "secret.remove", "snapshot.get", "credential.aws", "exec.begin", "request.send",
      "request.authorize",
      "request.pass", "agent.backup", "agent.restore", "agent.shutdown", "rpc.discover", "provider.add", "policy.set",
      "",
      "Account.list", "account.list ",
    ] {
      #expect(!AllowedMethods.isRead(method) && !AllowedMethods.isChange(method), "\(method)")
      #expect(!AllowedMethods.keeps("account", of: method))
    }
  }

  @Test func aPageChangesNothing() {
    for method in AllowedMethods.changes.keys { #expect(!AllowedMethods.isRead(method)) }
    for method in AllowedMethods.reads { #expect(!AllowedMethods.isChange(method)) }
  }

  @Test func theSecretOfAGrantStaysInItsLine() {
    #expect(AllowedMethods.keeps("grant", of: "grant.create"))
    // The notice says by them how a program is started under the grant.
    #expect(AllowedMethods.keeps("methods", of: "grant.create"))
    #expect(!AllowedMethods.keeps("secret", of: "grant.create"))
    #expect(!AllowedMethods.keeps("claims", of: "snapshot.refresh"))
    #expect(AllowedMethods.keeps("accounts", of: "account.list"))
  }
}
