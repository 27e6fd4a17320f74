import AgentCore
import AgentModel
import AgentPorts
import Secrets
import Testing

import AgentOAuth

@Suite struct RoleExchangeTests {
  private static let now = Timestamp(year: 2030, month: 1, day: 1)

  private func read(_ body: String, status: Int = 200, date: String? = nil) -> RoleExchange.Answer {
    let sent = BootInstant(milliseconds: 1000)
    let response = HTTPResponse(
      status: status, fields: date.map { [("Date", $0)] } ?? [], body: Secret.of(Array(body.utf8)), sentAt: sent,
      receivedAt: sent)
    return RoleExchange.read(response, now: Self.now)
  }

  private func answer(
    key: String = "ASIA1", secret: String = "s3/+", session: String = "tok==", end: String = "2030-01-01T01:00:00Z"
  ) -> String {
    """
    <r xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Credentials>
      <AccessKeyId>\(key)</AccessKeyId><SecretAccessKey>\(secret)</SecretAccessKey>
      <SessionToken>
        \(session)
      </SessionToken><Expiration>\(end)</Expiration></Credentials></r>
    """
  }

  @Test func credentials_areRead() throws {
    guard case .credentials(let credentials, _) = read(answer()) else { throw Unexpected() }
    #expect(credentials.accessKeyID == "ASIA1")
    #expect(credentials.secretAccessKey.equals(Secret.of(Array("s3/+".utf8))))
    #expect(credentials.sessionToken.equals(Secret.of(Array("tok==".utf8))))
    #expect(credentials.lifetime == .seconds(3600))
  }

  @Test func lifetime_isByTheServicesClock() throws {
    let ahead = read(answer(end: "2031-06-01T00:15:00.123Z"), date: "Sun, 01 Jun 2031 00:00:00 GMT")
    guard case .credentials(let credentials, _) = ahead else { throw Unexpected() }
    #expect(credentials.lifetime == .seconds(900))
    guard case .credentials(let long, _) = read(answer(end: "2039-01-01T00:00:00Z")) else { throw Unexpected() }
    #expect(long.lifetime == .seconds(3600))
  }

  @Test(arguments: [
    "", "{}", "<AccessKeyId>a</AccessKeyId>", "<html>captive portal</html>",
  ])
  func anythingElse_isNoAnswer(_ body: String) { #expect(word(read(body)) == "failed malformedAnswer") }

  @Test func damagedValues_areNoAnswer() {
    let bodies = [
      answer(key: ""), answer(key: "a&lt;b"), answer(secret: "<b>x</b>"), answer(session: "line\r\nInjected: yes"),
      answer(end: "2030-02-30T00:00:00Z"), answer(end: "soon"), answer() + answer(),
    ]
    for body in bodies { #expect(word(read(body)) == "failed malformedAnswer", "\(body)") }
  }

  @Test(arguments: [
    ("ExpiredTokenException", 400, "tokenRefused ExpiredTokenException"),
    ("InvalidIdentityToken", 400, "tokenRefused InvalidIdentityToken"), ("AccessDenied", 403, "refused AccessDenied"),
    ("Throttling", 400, "failed Throttling"), ("InternalFailure", 500, "failed InternalFailure"),
  ])
  func refusals_areSorted(_ code: String, _ status: Int, _ told: String) {
    let body = "<ErrorResponse><Error><Type>Sender</Type><Code>\(code)</Code></Error></ErrorResponse>"
    #expect(word(read(body, status: status)) == told)
  }

  @Test func statusWithoutACode_isAFailureThatMayPass() {
    #expect(word(read("busy", status: 503)) == "failed status503")
    #expect(word(read("", status: 302)) == "failed status302")
  }

  private func word(_ answer: RoleExchange.Answer) -> String {
    switch answer {
    case .credentials: return "credentials"
    case .tokenRefused(let code): return "tokenRefused \(code)"
    case .refused(let code): return "refused \(code)"
    case .failed(let failure):
      if case .transient(let reason, _) = failure { return "failed \(reason)" }
      return "failed"
    }
  }

  private struct Unexpected: Error {}
}
