import AgentCore
import AgentModel
import Testing

/// How a revocation continues after each answer (docs/sign-out.md, Outbox).
@Suite struct RevocationOutboxTests {
  private func verdict(_ status: Int, _ error: String? = nil) -> RevocationOutbox.Verdict {
    RevocationOutbox.verdict(.response(status: status, error: error, retryAfter: nil), attempts: 1, jitter: 0)
  }

  @Test(arguments: [401, 403]) func permissionThatIsDenied_isARefusal(status: Int) {
    #expect(verdict(status) == .refused(after: RevocationOutbox.parked))
  }

  @Test(arguments: ["invalid_client", "unauthorized_client"]) func errorAboutTheClient_isARefusal(error: String) {
    #expect(verdict(400, error) == .refused(after: RevocationOutbox.parked))
  }

  @Test func attemptThatAClockAheadPutOff_isDueOnceTheClockIsRight() {
    let now = Timestamp(milliseconds: 1_000_000)
    #expect(RevocationOutbox.isDue(now, at: now))
    #expect(!RevocationOutbox.isDue(now + Milliseconds(1), at: now))
    #expect(!RevocationOutbox.isDue(now + RevocationOutbox.parked, at: now), "no pause is longer")
    #expect(RevocationOutbox.isDue(now + RevocationOutbox.parked + Milliseconds(1), at: now))
  }

  @Test(arguments: [200, 202, 204]) func success_isAConfirmation(status: Int) {
    #expect(verdict(status) == .confirmed)
    #expect(verdict(status, "") == .confirmed)
    #expect(verdict(status, "invalid_token") == .confirmed)
  }

  /// Some servers tell every error with 200: the token may be alive.
  @Test func errorWithASuccess_isNoConfirmation() {
    #expect(verdict(200, "ratelimited") == .again(after: .seconds(15)))
    #expect(verdict(200, "server_error") == .again(after: .seconds(15)))
    #expect(verdict(200, "invalid_client") == .refused(after: RevocationOutbox.parked))
    #expect(verdict(200, "unsupported_token_type") == .unsupported)
  }

  @Test(arguments: ["invalid_token", "invalid_grant"]) func tokenThatIsDeadAlready_isConfirmed(error: String) {
    #expect(verdict(400, error) == .confirmed)
    #expect(verdict(401, error) == .refused(after: RevocationOutbox.parked), "the client's own proof may be meant")
  }

  @Test func unavailableServer_isAskedAgainAndNotRefused() {
    #expect(verdict(503, "invalid_client") == .again(after: .seconds(15)))
    #expect(verdict(400, "invalid_request") == .again(after: .seconds(15)))
  }

  /// docs/secrets.md, Revocation.
  @Test func revocationOfASecret_endsByTheProvidersWord() {
    func verdict(_ status: Int) -> RevocationOutbox.Verdict {
      RevocationOutbox.verdict(
        .response(status: status, error: nil, retryAfter: nil), toOwnRequest: true, attempts: 1, jitter: 0)
    }
    for status in [200, 202, 204, 404, 410] { #expect(verdict(status) == .confirmed) }
    for status in [401, 403] { #expect(verdict(status) == .refusedForGood) }
    for status in [302, 400, 429, 500, 503] { #expect(verdict(status) == .again(after: .seconds(15))) }
  }

  /// A service's own words may look like those of RFC 7009, and the secret may be alive.
  @Test(arguments: ["invalid_token", "invalid_grant", "unsupported_token_type", "invalid_client", "server_error"])
  func revocationOfASecret_isJudgedByTheStatusAlone(error: String) {
    func verdict(_ status: Int) -> RevocationOutbox.Verdict {
      RevocationOutbox.verdict(
        .response(status: status, error: error, retryAfter: nil), toOwnRequest: true, attempts: 1, jitter: 0)
    }
    for status in [200, 204, 404, 410] { #expect(verdict(status) == .confirmed) }
    for status in [401, 403] { #expect(verdict(status) == .refusedForGood) }
    for status in [400, 422, 429, 500] { #expect(verdict(status) == .again(after: .seconds(15))) }
  }

  /// A day after the token's told end.
  private func isOver(
    _ isRefreshToken: Bool, isAnswered: Bool = false, after age: Milliseconds = .seconds(86_400)
  ) -> Bool {
    let createdAt = Timestamp(milliseconds: 0)
    let end = RevocationOutbox.end(
      createdAt: createdAt, expiresAt: createdAt, isRefreshToken: isRefreshToken, isAnswered: isAnswered)
    return RevocationOutbox.isOver(after: age, createdAt: createdAt, end: end)
  }

  @Test func expiredRefreshToken_isOverOnceTheProviderAnswered() {
    #expect(!isOver(true))
    #expect(isOver(true, isAnswered: true))
    #expect(!isOver(true, after: RevocationOutbox.patience - .seconds(1)))
    #expect(isOver(true, after: RevocationOutbox.patience))
  }

  @Test func expiredAccessToken_isOver() { #expect(isOver(false)) }

  @Test func endOfTheAttempts_isTheLifetimeOnceTheProviderAnswered() {
    let createdAt = Timestamp(milliseconds: 0)
    func end(_ isRefreshToken: Bool, isAnswered: Bool) -> Timestamp {
      let expiresAt = createdAt + .seconds(60)
      return RevocationOutbox.end(
        createdAt: createdAt, expiresAt: expiresAt, isRefreshToken: isRefreshToken, isAnswered: isAnswered)
    }
    #expect(end(true, isAnswered: false) == createdAt + RevocationOutbox.patience)
    #expect(end(true, isAnswered: true) == createdAt + .seconds(60))
    #expect(end(false, isAnswered: false) == createdAt + .seconds(60))
  }

  @Test func tokenThatLives_isNotOver() {
    let now = Timestamp(milliseconds: 0)
    let end = RevocationOutbox.end(
      createdAt: now, expiresAt: now + .seconds(1), isRefreshToken: true, isAnswered: true)
    #expect(!RevocationOutbox.isOver(after: .zero, createdAt: now, end: end))
  }

  @Test func tokenTypeThatIsUnsupported_isNoRefusal() {
    #expect(verdict(400, "unsupported_token_type") == .unsupported)
    #expect(verdict(200) == .confirmed)
  }
}
