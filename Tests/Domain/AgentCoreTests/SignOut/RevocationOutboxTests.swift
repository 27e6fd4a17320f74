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

  @Test func unavailableServer_isAskedAgainAndNotRefused() {
    #expect(verdict(503, "invalid_client") == .again(after: .seconds(15)))
    #expect(verdict(400, "invalid_request") == .again(after: .seconds(15)))
  }

  @Test func tokenTypeThatIsUnsupported_isNoRefusal() {
    #expect(verdict(400, "unsupported_token_type") == .unsupported)
    #expect(verdict(200) == .confirmed)
  }
}
