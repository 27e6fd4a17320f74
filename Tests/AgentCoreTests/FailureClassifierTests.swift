import AgentCore
import AgentModel
import Testing

/// Every row of what a token endpoint can answer, and what it means.
@Suite struct FailureClassifierTests {
  typealias Row = (status: Int, error: String?, suberror: String?, claims: String?, failure: ExchangeFailure)

  static let refused = ExchangeFailure.reauthenticate(reason: "refused")

  @Test(
    arguments: [
      // by status
      (408, nil, nil, nil, .transient("status408", retryAfter: nil)),
      (425, nil, nil, nil, .transient("status425", retryAfter: nil)),
      (429, nil, nil, nil, .transient("throttled", retryAfter: .seconds(60))),
      (500, nil, nil, nil, .transient("status500", retryAfter: nil)),
      (502, nil, nil, nil, .transient("status502", retryAfter: nil)),
      (503, nil, nil, nil, .transient("status503", retryAfter: nil)),
      (599, nil, nil, nil, .transient("status599", retryAfter: nil)),
      // a server's trouble is not the token's end, whatever it says beside
      (500, "invalid_grant", nil, nil, .transient("status500", retryAfter: nil)),
      (429, "invalid_grant", nil, nil, .transient("throttled", retryAfter: .seconds(60))),
      // by error (RFC 6749 §5.2), whatever the status of the refusal
      (400, "invalid_grant", nil, nil, refused), (401, "invalid_grant", nil, nil, refused),
      (403, "invalid_grant", nil, nil, refused),
      (400, "invalid_grant", nil, "{}", .interaction(claims: "{}")),
      (400, "interaction_required", nil, nil, .interaction(claims: nil)),
      (400, "interaction_required", nil, "{}", .interaction(claims: "{}")),
      (400, "login_required", nil, nil, .interaction(claims: nil)),
      (400, "consent_required", nil, nil, .interaction(claims: nil)),
      (400, "mfa_required", nil, nil, .interaction(claims: nil)),
      (401, "insufficient_user_authentication", nil, nil, .interaction(claims: nil)),
      (400, "invalid_client", nil, nil, .misconfigured("invalid_client")),
      (401, "invalid_client", nil, nil, .misconfigured("invalid_client")),
      (400, "unauthorized_client", nil, nil, .misconfigured("unauthorized_client")),
      (400, "unsupported_grant_type", nil, nil, .misconfigured("unsupported_grant_type")),
      (400, "invalid_scope", nil, nil, .misconfigured("invalid_scope")),
      (400, "invalid_target", nil, nil, .misconfigured("invalid_target")),
      (400, "temporarily_unavailable", nil, nil, .transient("temporarily_unavailable", retryAfter: nil)),
      (400, "server_error", nil, nil, .transient("server_error", retryAfter: nil)),
      (400, "slow_down", nil, nil, .transient("slow_down", retryAfter: nil)),
      (400, "account_disabled", nil, nil, .locked), (403, "user_disabled", nil, nil, .locked),
      // by suberror
      (400, "invalid_grant", "consent_required", nil, .interaction(claims: nil)),
      (400, "invalid_grant", "basic_action", "{}", .interaction(claims: "{}")),
      (400, "interaction_required", "additional_action", nil, .interaction(claims: nil)),
      (400, "interaction_required", "message_only", nil, .interaction(claims: nil)),
      (400, "invalid_grant", "bad_token", nil, refused), (400, "invalid_grant", "token_expired", nil, refused),
      (400, "interaction_required", "protection_policy_required", nil, refused),
      (400, "invalid_grant", "no_such_word", nil, refused),
      // seen on real servers: a dead token answered so
      (400, nil, nil, nil, .unexplained(status: 400)), (400, "invalid_request", nil, nil, .unexplained(status: 400)),
      // what is no OAuth answer
      (401, nil, nil, nil, .unexplained(status: 401)), (403, nil, nil, nil, .unexplained(status: 403)),
      (404, nil, nil, nil, .unexplained(status: 404)), (302, nil, nil, nil, .unexplained(status: 302)),
      (204, nil, nil, nil, .unexplained(status: 204)), (400, "", nil, nil, .unexplained(status: 400)),
      (400, "no_such_word", nil, nil, .unexplained(status: 400)),
    ] as [Row])
  func everyRow(row: Row) {
    let refusal = TokenEndpointRefusal(
      status: row.status, error: row.error, suberror: row.suberror, claims: row.claims)
    #expect(FailureClassifier.classify(refusal) == row.failure)
  }

  @Test(
    arguments: [
      (503, 7, 7), (503, 0, 0), (503, 3600, 3600), (503, 3601, 3600), (503, 1_000_000, 3600), (429, 5, 5),
      (429, 7200, 3600),
      (408, 1, 1),
    ] as [(Int, Int64, Int64)])
  func aPauseIsTakenUpToAnHour(status: Int, asked: Int64, taken: Int64) {
    let refusal = TokenEndpointRefusal(status: status, retryAfter: .seconds(asked))
    guard case .transient(_, let pause) = FailureClassifier.classify(refusal) else {
      Issue.record("not transient")
      return
    }
    #expect(pause == .seconds(taken))
  }

  @Test(arguments: [
    (FailureClass.transient, ExchangeFailure.transient("invalid_grant", retryAfter: .seconds(3))),
    (.reauthenticate, refused), (.locked, .locked), (.interaction, .interaction(claims: "{}")),
    (.misconfigured, .misconfigured("invalid_grant")),
  ])
  func theProvidersOwnCodesSayMore(known: FailureClass, failure: ExchangeFailure) {
    let refusal = TokenEndpointRefusal(
      status: 400, error: "invalid_grant", codes: ["50057"], claims: "{}", retryAfter: .seconds(3))
    #expect(FailureClassifier.classify(refusal, codes: ["50057": known]) == failure)
    #expect(FailureClassifier.classify(refusal, codes: ["invalid_grant": known]) == failure)
    // A code that is not on the list changes nothing.
    #expect(FailureClassifier.classify(refusal, codes: ["50058": known]) == .interaction(claims: "{}"))
  }

  @Test func theMostParticularCodeIsHeardFirst() {
    let refusal = TokenEndpointRefusal(status: 400, error: "invalid_grant", suberror: "bad_token", codes: ["a", "b"])
    let codes: [String: FailureClass] = ["b": .locked, "bad_token": .transient, "invalid_grant": .misconfigured]
    #expect(FailureClassifier.classify(refusal, codes: codes) == .locked)
    #expect(
      FailureClassifier.classify(refusal, codes: codes.filter { $0.key != "b" })
        == .transient("invalid_grant", retryAfter: nil))
  }

  @Test func withoutAnErrorTheStatusIsNamed() {
    let refusal = TokenEndpointRefusal(status: 418, codes: ["x"])
    #expect(FailureClassifier.classify(refusal, codes: ["x": .misconfigured]) == .misconfigured("status418"))
    #expect(FailureClassifier.classify(refusal, codes: ["x": .transient]) == .transient("status418", retryAfter: nil))
  }
}
