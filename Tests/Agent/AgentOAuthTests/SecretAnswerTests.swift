import AgentCore
import AgentModel
import Secrets
import Testing

import AgentOAuth

/// What the answers of `whoami` and of revocations say (docs/secrets.md; docs/sign-out.md, Outbox).
@Suite struct SecretAnswerTests {
  private typealias Server = DocumentTests.Server

  private static let page = "<!DOCTYPE html><html>Sign in to the network</html>"
  private static let place = "https://idp.test/key"

  private func client(_ answer: Server.Answer, _ change: (inout Provider) -> Void = { _ in }) -> ProviderClient {
    Server([Self.place: answer]).client { provider in
      provider.configuration.kind = .secret
      var settings = SecretSettings()
      settings.whoami = .init(url: Self.place, subject: "/id")
      settings.revoke = .init(method: "DELETE", url: Self.place)
      provider.configuration.secret = settings
      change(&provider)
    }
  }

  /// In words, since answers are not compared.
  private func whoami(_ answer: Server.Answer) async -> String {
    switch await client(answer).whoami(Secret(text: "key"), username: nil) {
    case .confirmed(let owner): "confirmed \(owner.subject)"
    case .refused: "refused"
    case .unnamed: "unnamed"
    case .failed(.transient(let word, _)): "transient \(word)"
    case .failed(.misconfigured(let word)): "misconfigured \(word)"
    case .failed: "failed"
    }
  }

  @Test(arguments: [
    (200, #"{"id":"u1"}"#, "confirmed u1"), (200, #"{"id":41}"#, "confirmed 41"), (401, "{}", "refused"),
    (403, "{}", "refused"), (200, "{}", "unnamed"), (200, #"{"id":null}"#, "unnamed"), (200, #"{"id":""}"#, "unnamed"),
    (200, "[]", "unnamed"), (200, #"{"ok":false,"error":"invalid_auth"}"#, "unnamed"),
  ])
  func answerOfTheService_saysWhetherItStandsByTheSecret(status: Int, body: String, meaning: String) async {
    #expect(await whoami(.init(status: status, body: body)) == meaning)
  }

  /// Two services may write one number in two ways; one service writes each of its numbers in one.
  @Test(arguments: ["1.0", "1.5", "1e3", "-7", "0", "12345678901234567890123456789", "1E-400"])
  func numberOfAPerson_isTakenAsItIsWritten(number: String) async {
    #expect(await whoami(.init(body: #"{"id":\#(number)}"#)) == "confirmed \(number)")
  }

  @Test(arguments: [page, "<html>", "", "  ", "OK", "null", "{", "1"], ["text/html", "application/json"])
  func successThatIsNoDocument_saysNothingOfTheSecret(body: String, type: String) async {
    #expect(await whoami(.init(body: body, type: type)) == "transient notAnOAuthAnswer")
  }

  /// Two people could become one account, or one could be taken for another.
  @Test(arguments: [
    #"{"id":"j\ud800rg"}"#, #"{"id":"u1","id":"u2"}"#, #"{"id":"u2","id":"u1"}"#, #"{"id":"u1","\u0069d":"u2"}"#,
    #"{"id":"secret:a"}"#, #"{"id":"unproven:a"}"#,
  ])
  func subjectThatIsReplacedOrDoubled_isNoneAndRefusesNoSecret(body: String) async {
    #expect(await whoami(.init(body: body)) == "misconfigured noSubject")
  }

  @Test(arguments: [0xF6, 0xFC] as [UInt8]) func subjectInLatin1_isNone(letter: UInt8) async {
    let body: [UInt8] = Array(#"{"id":"j"#.utf8) + [letter] + Array(#"rg"}"#.utf8)
    #expect(await whoami(.init(bytes: body)) == "misconfigured noSubject")
  }

  // MARK: revocations

  /// The answers to a secret's own request, and to one of RFC 7009.
  private func revocations(_ answer: Server.Answer) async -> [RevocationOutbox.Answer] {
    let standard = client(answer) {
      $0.configuration.kind = .openid
      $0.configuration.endpoints.revocation = Self.place
    }
    return [
      await client(answer).revokeSecret(Secret(text: "key"), username: nil),
      await standard.revoke(Secret(text: "rt"), .refreshToken),
    ]
  }

  @Test(arguments: [200, 201, 203], [page, "\u{FEFF}\n <HTML>"])
  func pageWithASuccess_isNoAnswerToARevocation(status: Int, body: String) async {
    for type in ["text/html", "application/json"] {
      #expect(await revocations(.init(status: status, body: body, type: type)) == [.none, .none])
    }
  }

  /// RFC 7009 §2.2: the body of a success is ignored. Many servers call each answer a page.
  @Test(arguments: ["", "OK", "{}", "revoked"], ["text/html", "application/json"])
  func successWithAnotherBody_answersARevocation(body: String, type: String) async {
    let success = RevocationOutbox.Answer.response(status: 200, error: nil, retryAfter: nil)
    #expect(await revocations(.init(body: body, type: type)) == [success, success])
  }
}
