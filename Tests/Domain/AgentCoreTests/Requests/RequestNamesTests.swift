import AgentCore
import AgentModel
import Foundation
import Testing

@Suite struct RequestNamesTests {
  private let names = RequestNames()

  @Test(arguments: [
    "Accept", "content-type", "If-None-Match", "User-Agent", "X-Request-Id", "traceparent", "Idempotency-Key",
    "Git-Protocol", "X-GitHub-Api-Version", "Notion-Version", "Stripe-Version", "X-MS-Client-Request-Id", "X-Trace",
    "X-Note", "X-Custom-Format", "Sec-Fetch-Mode", "sec-ch-ua-platform", "Mcp-Session-Id", "Mcp-Protocol-Version",
    "X-Upload-Content-Type", "Dropbox-API-Arg", "X-Stainless-Lang", "x-b3-traceid", "Client-Id", "Lock-Token",
  ])
  func plainField_goesOn(name: String) {
    #expect(names.field(name) == .plain)
  }

  @Test(arguments: [
    "X-MS-Client-Principal", "X-MS-CLIENT-PRINCIPAL-ID", "X-MS-Token-AAD-Access-Token", "X-Amzn-Oidc-Identity",
    "x-amzn-oidc-data", "Cf-Access-Jwt-Assertion", "Cf-Access-Client-Secret", "Cf-Access-Token",
    "X-Goog-IAP-JWT-Assertion",
    "X-Goog-Authenticated-User-Email", "X-Forwarded-Client-Cert", "X-SSL-Client-Cert", "Ssl-Client-Verify",
    "X-Client-Cert", "Client-Cert-Chain", "X-Auth-Request-Email", "X-Authentik-Username", "X-WebAuth-User",
    "Remote-User", "Remote_Groups", "Tailscale-User-Login", "X-Pomerium-Jwt-Assertion", "Dropbox-API-Select-User",
    "X-Switch-User", "Impersonate-User", "Impersonate-Extra-Scopes", "Sudo", "X-Sudo", "X-Run-As", "X-Act-As",
    "X-On-Behalf-Of", "Private-Token", "X-Api-Key", "Ocp-Apim-Subscription-Key", "DD-APPLICATION-KEY", "X-Vault-Token",
    "X-JFrog-Art-Api-Key", "X-HTTP-Method-Override", "X-RestLi-Method", "SOAPAction", "X-Amz-Target", "X-Original-URL",
    "X-Rewrite-URL", "X-Forwarded-Path", "X-Forwarded-Prefix", "X-Forwarded-Host", "X-Host", "Destination",
    "X-Amz-Copy-Source", "Forwarded", "X-Real-IP", "X-Client-IP", "True-Client-IP", "Signature", "X-CSRF-Token",
  ])
  func fieldThatTellsOfCredentialPersonMethodOrPath_isTelling(name: String) {
    for spelling in [name, name.uppercased(), name.replacing("-", with: "_"), name.replacing("-", with: ".")] {
      guard case .telling = names.field(spelling) else {
        Issue.record("\(spelling): \(names.field(spelling))")
        continue
      }
    }
  }

  @Test(arguments: ["X-JFrog-Art-Api", "X-Vendor-Thing", "Foo", "X-A", "X-Tenant-Id", "OpenAI-Organization"])
  func fieldThatIsNotKnown_isNotPlain(name: String) {
    #expect(names.field(name) == .unknown)
  }

  @Test(arguments: ["Authorization", "_authorization", "COOKIE", "Transfer_Encoding", "Proxy-Anything"])
  func fieldOfTheAgentOrTheConnection_canNotBeAllowed(name: String) {
    let all = RequestNames(allowed: ["Authorization", "Cookie", "Transfer-Encoding", "proxy-anything"])
    #expect(all.field(name) == .reserved)
    #expect(!RequestNames.canBeAllowed(name))
  }

  @Test func credentialFieldOfAnAPI_canBeAllowed() {
    #expect(names.field("x.Authorization") == .telling(.credential))
    #expect(RequestNames.canBeAllowed("X-Authorization"))
    #expect(RequestNames(allowed: ["X-Authorization"]).field("x.Authorization") == .plain)
  }

  @Test(arguments: ["Range", "If-Range", "Accept-Encoding", "accept_charset", "Request-Range", "A-IM"])
  func fieldThatHidesAToken_isHiding(name: String) {
    #expect(names.field(name) == .hiding)
    #expect(!RequestNames.canBeAllowed(name))
  }

  @Test func allowedName_isPlainInEverySpelling_andNoOther() {
    let allowed = RequestNames(allowed: ["X-Api-Key", "page.key"])
    for name in ["X-Api-Key", "x_api_key", "XApiKey"] { #expect(allowed.field(name) == .plain) }
    #expect(allowed.field("Api-Key") == .telling(.credential))
    #expect(allowed.parameter("x-api-key".utf8) == nil)
    #expect(allowed.parameter("api_key".utf8) == .credential)
  }

  @Test(arguments: [
    ("token", RequestNames.Meaning.credential), ("api_token", .credential), ("apiToken", .credential),
    ("jwt", .credential),
    ("access_token", .credential), ("access.token", .credential), ("access%20token", .credential),
    ("+access_token", .credential),
    ("access_token[]", .credential), ("[access_token]", .credential), ("access%5Ftoken", .credential),
    ("%61ccess_token", .credential), ("%2561ccess_token", .credential), ("%u0061ccess_token", .credential),
    ("access_token%00", .credential), ("_method%00x", .method), ("sudo%00x", .person), ("otp%2500x", .credential),
    ("client_assertion", .credential), ("X-Amz-Security-Token", .credential),
    ("X-Amz-Signature", .credential), ("AWSAccessKeyId", .credential), ("PHPSESSID", .credential),
    ("doAs", .person), ("doas", .person), ("_switch_user", .person), ("sudo", .person), ("user.name", .person),
    ("as_user_id", .person), ("impersonateUser", .person), ("runAs", .person), ("authuser", .person),
    ("_method", .method), ("_METHOD", .method), (".method", .method), ("$httpMethod", .method),
    ("%24httpHeaders", .method),
    ("X-HTTP-Method-Override", .method), ("x-http-method", .method), ("_method[]", .method), ("_url", .path),
    ("rest_route", .path),
  ])
  func parameterThatTells_isFound(written: String, meaning: RequestNames.Meaning) {
    #expect(names.parameter(written.utf8) == meaning)
  }

  @Test(arguments: [
    "q", "method", "url", "path", "user", "user_name", "username", "assignee", "email", "account_id", "role",
    "page_token",
    "pageToken", "nextPageToken", "continuationToken", "$skiptoken", "$filter", "max_tokens", "sort_key", "issue_key",
    "key_id", "author", "authority", "state", "code", "session", "host", "action", "destination", "100%", "", "é", "_",
  ])
  func parameterOfAnAPI_isPlain(written: String) {
    #expect(names.parameter(written.utf8) == nil)
  }

  @Test func query_isReadAsServersPartIt() {
    #expect(query("a=b;Access_Token=c") == .credential)
    #expect(query("a&$httpHeaders=Authorization%3AA") == .method)
    #expect(query("q=access_token&x=_method=DELETE") == nil)
  }

  private func query(_ text: String) -> RequestNames.Meaning? {
    HTTPURL("https://api.test/?" + text).flatMap { names.parameter(in: $0)?.meaning }
  }

  @Test(arguments: [
    "/a;jsessionid=b", "/a;x=1;access_token=b/c", "/;sudo/c", "/a%3Bjwt=b", "/a%253b_method=PUT", "/a;%6Awt=b",
    "/a/%3Bx%2Fc;api_key=1",
  ])
  func parameterOfAPath_isFound(path: String) throws {
    let url = try #require(HTTPURL("https://api.test" + path))
    #expect(names.parameter(in: url) != nil)
  }

  @Test(arguments: ["/access_token=b/jwt", "/a;v=1/c;page_token=2", "/a;", "/token", "/100%25", "/a%2Fb?q=;x=1"])
  func pathOfAnAPI_isPlain(path: String) throws {
    let url = try #require(HTTPURL("https://api.test" + path))
    #expect(names.parameter(in: url) == nil)
  }

  // MARK: against the second reading

  /// `LANYARD_NAME_CASES=10000000` tries as many names: `make nightly` does.
  private static let cases = ProcessInfo.processInfo.environment["LANYARD_NAME_CASES"].flatMap { Int($0) } ?? 20_000

  @Test func rule_agreesWithTheTableInEverySpelling() {
    let seed = UInt64.random(in: 0 ... .max)
    var random = NameRandom(state: seed)
    for _ in 0..<Self.cases {
      if let wrong = Self.disagreement(&random, names) {
        Issue.record("seed \(seed): \(wrong)")
        return
      }
    }
  }

  /// A parameter is judged alike wherever a request has it: in the query, in the path and in a form of either type.
  @Test func everyPlaceOfAParameter_agreesWithTheTable() throws {
    let seed = UInt64.random(in: 0 ... .max)
    var random = NameRandom(state: seed)
    let telling = RequestNamesTable.telling.filter { $0.parameter != nil } + RequestNamesTable.tellingAlone
    for _ in 0..<(Self.cases / 10) {
      var parameters = (0..<Int.random(in: 0...3, using: &random)).map { _ in
        random.spelled([RequestNamesTable.plain.randomElement(using: &random)!], isParameter: true)
      }
      let isTelling = Bool.random(using: &random)
      if isTelling {
        let name = random.spelled(telling.randomElement(using: &random)!.words, isParameter: true)
        parameters.insert(name, at: Int.random(in: 0...parameters.count, using: &random))
      }
      let place = Place.allCases.randomElement(using: &random)!
      let isFound = try place.finds(parameters, names)
      // Parts of a path have no brackets.
      guard isFound != isTelling, let isFound else { continue }
      Issue.record("seed \(seed): \(parameters) in \(place): \(isFound)")
      return
    }
  }

  private enum Place: CaseIterable {
    case query, path, encoded, untyped, multipart

    /// True if the rule finds one that tells something; nil if no request can have them there.
    func finds(_ parameters: [String], _ names: RequestNames) throws -> Bool? {
      let joined = parameters.map { $0 + "=1" }.joined(separator: "&")
      switch self {
      case .query: return names.parameter(in: try #require(HTTPURL("https://api.test/a?x&" + joined))) != nil
      case .path:
        return HTTPURL("https://api.test/a" + parameters.map { ";\($0)=1" }.joined() + "/b").map {
          names.parameter(in: $0) != nil
        }
      case .encoded: return Self.refuses(joined, "application/x-www-form-urlencoded", names)
      case .untyped: return Self.refuses(joined, nil, names)
      case .multipart:
        let parts = parameters.map { "--b\r\nContent-Disposition: form-data; name=\"\($0)\"\r\n\r\n1\r\n" }
        return Self.refuses(parts.joined() + "--b--\r\n", "multipart/form-data; boundary=b", names)
      }
    }

    private static func refuses(_ body: String, _ type: String?, _ names: RequestNames) -> Bool {
      var body = body
      return body.withUTF8 { bytes in
        do throws(FormNames.Refusal) {
          let fields = type.map { [(name: "Content-Type", value: $0)] } ?? []
          var form = try FormNames(fields, under: names)
          try form?.takeAll(UnsafeRawBufferPointer(bytes))
          return false
        } catch {
          return true
        }
      }
    }
  }

  /// A name that the rule and the table read differently; nil if they agree.
  private static func disagreement(_ random: inout NameRandom, _ names: RequestNames) -> String? {
    let plain = (0..<Int.random(in: 0...2, using: &random)).map { _ in
      RequestNamesTable.plain.randomElement(using: &random)!
    }
    let split = Int.random(in: 0...plain.count, using: &random)
    if Int.random(in: 0..<4, using: &random) == 0 {
      let (name, meaning) = RequestNamesTable.marked.randomElement(using: &random)!
      let parameter = random.disguised(name)
      return names.parameter(parameter.utf8) == meaning ? nil : parameter
    }
    if Int.random(in: 0..<4, using: &random) == 0 {
      let words = plain.isEmpty ? ["note"] : plain
      let field = random.spelled(words, isParameter: false)
      let parameter = random.spelled(words, isParameter: true)
      if case .telling = names.field(field) { return field }
      return names.parameter(parameter.utf8) == nil ? nil : parameter
    }
    let isAlone = Int.random(in: 0..<4, using: &random) == 0
    let row = (isAlone ? RequestNamesTable.tellingAlone : RequestNamesTable.telling).randomElement(using: &random)!
    let words = isAlone ? row.words : Array(plain[..<split]) + row.words + Array(plain[split...])
    let field = random.spelled(words, isParameter: false)
    switch (names.field(field), row.field) {
    case (.plain, _): return field
    case (let found, let wanted?) where found != wanted:
      // A name with two tellings tells the first of them.
      guard case .telling = found else { return field }
    default: break
    }
    guard row.parameter != nil else { return nil }
    let parameter = random.spelled(words, isParameter: true)
    return names.parameter(parameter.utf8) == nil ? parameter : nil
  }
}

/// Names in the spellings that servers take for the same.
private struct NameRandom: RandomNumberGenerator {
  var state: UInt64

  /// SplitMix64.
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Each word keeps its letters; a mark, a hump or nothing parts it from the next one.
  mutating func spelled(_ words: [String], isParameter: Bool) -> String {
    let marks = isParameter ? ["_", "-", ".", "%20", "%5F", "%2D", "%255f"] : ["-", "_", ".", "--", "+", "|"]
    var name = Bool.random(using: &self) && !isParameter ? "X-" : ""
    for (index, word) in words.enumerated() {
      var word = word
      switch Int.random(in: 0..<3, using: &self) {
      case 0: word = word.uppercased()
      case 1: word = word.prefix(1).uppercased() + word.dropFirst()
      default: break
      }
      if isParameter, Int.random(in: 0..<3, using: &self) == 0 { word = escaped(word) }
      name += word
      // A word without a mark behind it can only be read where the next one begins with a capital.
      if index + 1 < words.count { name += marks.randomElement(using: &self)! }
    }
    return isParameter ? padded(name) : name
  }

  /// A name of which each byte counts, its mark too.
  mutating func disguised(_ name: String) -> String {
    padded(["", "", "+", "%20%20", "[", "%5B"].randomElement(using: &self)! + escaped(name))
  }

  /// With what servers leave out behind a name.
  private mutating func padded(_ name: String) -> String {
    guard Int.random(in: 0..<4, using: &self) == 0 else { return name }
    return name + ["[]", "[0]", "[a][b]", "%00", "%00note", "%2500time", "%00[]"].randomElement(using: &self)!
  }

  private mutating func escaped(_ word: String) -> String {
    word.utf8.map { byte in
      guard Int.random(in: 0..<4, using: &self) == 0 else { return String(UnicodeScalar(byte)) }
      let hex = String(byte, radix: 16, uppercase: Bool.random(using: &self))
      return (Bool.random(using: &self) ? "%" : "%25") + hex
    }.joined()
  }
}
