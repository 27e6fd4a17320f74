import AgentModel
import Testing

/// Where a credential stands in a request (docs/secrets.md, Placement).
@Suite struct SecretPlacementTests {
  private func field(_ placement: SecretPlacement, _ secret: String) -> String {
    var bytes: [UInt8] = []
    Array(secret.utf8).withUnsafeBytes { placement.writeField($0) { bytes.append(contentsOf: $0) } }
    return String(decoding: bytes, as: UTF8.self)
  }

  private func target(_ placement: SecretPlacement, _ url: String, _ secret: String) throws -> String {
    var bytes: [UInt8] = []
    let url = try #require(HTTPURL(url))
    Array(secret.utf8).withUnsafeBytes { placement.writeTarget(of: url, $0) { bytes.append($0) } }
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test func headerTemplate_holdsTheSecretAsItIs() {
    #expect(field(.bearer, "k/1") == "Bearer k/1")
    #expect(field(.dpop, "k") == "DPoP k")
    let token = SecretPlacement.header(name: "X-Key", SecretTemplate(before: "Token token=\"", after: "\""))
    #expect(field(token, "k") == "Token token=\"k\"")
  }

  /// RFC 7617 §2.
  @Test func basic_isTheExampleOfTheStandard() {
    #expect(field(.basic(username: "Aladdin"), "open sesame") == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
    #expect(field(.basic(username: nil), "k") == "Basic Oms=")
  }

  @Test func accountsUserName_beatsThePlacements() {
    #expect(SecretPlacement.basic(username: "bot").of(username: "pat") == .basic(username: "pat"))
    #expect(SecretPlacement.basic(username: "bot").of(username: nil) == .basic(username: "bot"))
    #expect(SecretPlacement.bearer.of(username: "pat") == .bearer)
  }

  @Test func query_keepsWhatIsThereAndEscapesTheSecret() throws {
    let key = SecretPlacement.query(name: "key")
    #expect(try target(key, "https://a.test/x", "a&b=c") == "/x?key=a%26b%3Dc")
    #expect(try target(key, "https://a.test/x?n=1", "k") == "/x?n=1&key=k")
    #expect(try target(key, "https://a.test/x?", "k") == "/x?key=k")
  }

  @Test func path_putsTheSecretBeforeThePathAndCantLeaveItsSegment() throws {
    let bot = SecretPlacement.path(SecretTemplate(before: "/bot", after: ""))
    #expect(try target(bot, "https://a.test/getMe?n=1", "12:AB") == "/bot12:AB/getMe?n=1")
    #expect(try target(bot, "https://a.test/getMe", "../x?y#z") == "/bot..%2Fx%3Fy%23z/getMe")
  }

  @Test(arguments: [
    "Connection", "te", "Transfer-Encoding", "Content-Length", "host", "Cookie", "Proxy-Authorization", "Upgrade",
    "a b", "Content_Length", "proxy_authorization", "TRANSFER_ENCODING",
  ]) func fieldOfTheConnection_isRefused(name: String) {
    #expect(throws: SecretPlacement.Refusal.self) { try SecretPlacement.header(name: name, .bearer).check() }
  }

  @Test func template_namesTheSecretOnce() {
    #expect(SecretTemplate("Bearer {secret}") == .bearer)
    #expect(SecretTemplate("Bearer") == nil && SecretTemplate("{secret}{secret}") == nil)
  }

  @Test(arguments: ["bot{secret}", "/a?b={secret}", "/../{secret}", "/x{secret}#y", "//evil/{secret}"])
  func pathThatIsNone_isRefused(format: String) throws {
    let template = try #require(SecretTemplate(format))
    #expect(throws: SecretPlacement.Refusal.self) { try SecretPlacement.path(template).check() }
  }

  @Test func userNameWithAColon_isRefused() {
    #expect(throws: SecretPlacement.Refusal.self) { try SecretPlacement.basic(username: "a:b").check() }
  }
}
