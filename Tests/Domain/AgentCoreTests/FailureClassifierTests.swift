import AgentCore
import AgentModel
import Testing

/// Precedence where two fields of a response, or two tables, disagree. `FailureTableTests` has the rows themselves.
@Suite struct FailureClassifierTests {
  typealias Answer = TokenEndpointRefusal

  static let refused = ExchangeFailure.reauthenticate(reason: "refused")
  static let throttled = ExchangeFailure.transient("throttled", retryAfter: .seconds(60))

  @Test(
    arguments: [
      // A failing server says nothing about the token, even with `invalid_grant`.
      (Answer(status: 500, error: "invalid_grant"), .transient("status500", retryAfter: nil)),
      (Answer(status: 503, error: "invalid_grant", suberror: "bad_token"), .transient("status503", retryAfter: nil)),
      (Answer(status: 429, error: "invalid_grant"), throttled),
      (Answer(status: 302, error: "invalid_grant"), .transient("status302", retryAfter: nil)),
      // `invalid_grant` refuses the token under any other status.
      (Answer(status: 401, error: "invalid_grant"), refused), (Answer(status: 403, error: "invalid_grant"), refused),
      (Answer(status: 200, error: "invalid_grant"), refused),
      // The suberror is more specific than the error.
      (Answer(status: 400, error: "invalid_grant", suberror: "consent_required"), .interaction(claims: nil)),
      (Answer(status: 400, error: "interaction_required", suberror: "bad_token"), refused),
      (Answer(status: 400, error: "invalid_grant", suberror: "bad_token", claims: "{}"), refused),
      (Answer(status: 400, error: "invalid_grant", suberror: "no_such_word"), refused),
      (Answer(status: 400, error: "invalid_grant", suberror: "no_such_word", claims: "{}"), .interaction(claims: "{}")),
      (Answer(status: 400, error: "interaction_required", claims: "{}"), .interaction(claims: "{}")),
      // Some real servers answer so for a dead token.
      (Answer(status: 400), .unexplained(status: 400)),
      (Answer(status: 400, error: "invalid_request"), .unexplained(status: 400)),
      // The phrase of the status is no code.
      (Answer(status: 401, error: "Unauthorized"), .unexplained(status: 401)),
      (Answer(status: 403, codes: ["forbidden"]), .unexplained(status: 403)),
      // Words that no table has.
      (Answer(status: 401), .unexplained(status: 401)), (Answer(status: 404), .unexplained(status: 404)),
      (Answer(status: 400, error: ""), .unexplained(status: 400)),
      (Answer(status: 400, error: "no_such_word", claims: "{}"), .unexplained(status: 400)),
      (Answer(status: 200, error: "no_such_word"), .unexplained(status: 200)),
      // A response with Retry-After is not a final refusal.
      (Answer(status: 400, retryAfter: .seconds(7)), .transient("status400", retryAfter: .seconds(7))),
      (
        Answer(status: 403, error: "no_such_word", retryAfter: .seconds(5400)),
        .transient("status403", retryAfter: .seconds(3600))
      ),
      (Answer(status: 400, error: "invalid_grant", retryAfter: .seconds(7)), refused),
    ] as [(Answer, ExchangeFailure)])
  func conflictingFields_areClassifiedByTheMostSpecificOne(answer: Answer, failure: ExchangeFailure) {
    #expect(FailureClassifier.classify(answer) == failure)
  }

  /// Codes and texts of one preset mean nothing with another.
  @Test func presetSpecificCodes_meanNothingWithAnotherPreset() {
    let disabled = Answer(status: 400, error: "invalid_grant", codes: ["50057"], description: "User disabled")
    #expect(FailureClassifier.classify(disabled) == Self.refused)
    #expect(FailureClassifier.classify(disabled, table: .google) == Self.refused)
    #expect(FailureClassifier.classify(disabled, table: .entra) == .locked)
    #expect(FailureClassifier.classify(disabled, table: .keycloak) == .locked)
  }

  @Test(
    arguments: [
      // The preset's table comes before the standard table…
      (Answer(status: 400, error: "invalid_grant", suberror: "bad_token", codes: ["50057"]), .locked),
      (Answer(status: 400, error: "invalid_grant", codes: ["50076"], claims: "{}"), .interaction(claims: "{}")),
      (Answer(status: 400, error: "invalid_grant", codes: ["1", "50173"], claims: "{}"), refused),
      (Answer(status: 400, error: "invalid_request", codes: ["500011"]), .misconfigured("invalid_target")),
      // …and the standard table decides what the preset's table does not list.
      (
        Answer(status: 400, error: "invalid_grant", suberror: "consent_required", codes: ["1"]),
        .interaction(claims: nil)
      ),
      (Answer(status: 400, codes: ["1"]), .unexplained(status: 400)),
      // The status comes before the preset's table.
      (Answer(status: 503, error: "invalid_grant", codes: ["50057"]), .transient("status503", retryAfter: nil)),
      (Answer(status: 429, error: "invalid_grant", codes: ["50057"]), throttled),
    ] as [(Answer, ExchangeFailure)])
  func presetTable_ranksAfterTheStatusAndBeforeTheStandardTable(answer: Answer, failure: ExchangeFailure) {
    #expect(FailureClassifier.classify(answer, table: .entra) == failure)
  }

  @Test func configuredFailureClass_overridesStatusAndTables() {
    let answer = Answer(status: 429, error: "invalid_grant", suberror: "bad_token", codes: ["50057"], claims: "{}")
    for code in ["50057", "bad_token", "invalid_grant"] {
      let configured: [String: FailureClass] = [code: .misconfigured]
      #expect(
        FailureClassifier.classify(answer, codes: configured, table: .entra) == .misconfigured("invalid_grant"))
    }
    #expect(
      FailureClassifier.classify(answer, codes: ["50057": .transient])
        == .transient(
          "invalid_grant", retryAfter: .seconds(60)), "429 without Retry-After means a minute")
  }

  @Test(arguments: [(nil, 60), (0, 0), (7, 7), (5400, 3600)] as [(Int64?, Int64)])
  func throttlingCodeUnderAnyStatus_waitsForRetryAfterOrAMinute(asked: Int64?, taken: Int64) {
    let answer = Answer(
      status: 400, error: "invalid_grant", codes: ["50196"], retryAfter: asked.map { Milliseconds.seconds($0) })
    #expect(
      FailureClassifier.classify(answer, table: .entra) == .transient("throttled", retryAfter: .seconds(taken)))
  }

  @Test(
    arguments: [
      (503, 7, 7), (503, 0, 0), (503, 3600, 3600), (503, 3601, 3600), (503, 1_000_000, 3600), (429, 5, 5),
      (429, 7200, 3600),
      (408, 1, 1),
    ] as [(Int, Int64, Int64)])
  func retryAfter_isCappedAtOneHour(status: Int, asked: Int64, taken: Int64) {
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
  func configuredCode_decidesTheFailure(known: FailureClass, failure: ExchangeFailure) {
    let refusal = TokenEndpointRefusal(
      status: 400, error: "invalid_grant", codes: ["50057"], claims: "{}", retryAfter: .seconds(3))
    #expect(FailureClassifier.classify(refusal, codes: ["50057": known]) == failure)
    #expect(FailureClassifier.classify(refusal, codes: ["invalid_grant": known]) == failure)
    // A code that is not configured changes nothing.
    #expect(FailureClassifier.classify(refusal, codes: ["50058": known]) == .interaction(claims: "{}"))
  }

  @Test func configuredCodes_rankNumericBeforeSuberrorBeforeError() {
    let refusal = TokenEndpointRefusal(status: 400, error: "invalid_grant", suberror: "bad_token", codes: ["a", "b"])
    let codes: [String: FailureClass] = ["b": .locked, "bad_token": .transient, "invalid_grant": .misconfigured]
    #expect(FailureClassifier.classify(refusal, codes: codes) == .locked)
    #expect(
      FailureClassifier.classify(refusal, codes: codes.filter { $0.key != "b" })
        == .transient("invalid_grant", retryAfter: nil))
  }

  /// What ends an issuer's silence (docs/tokens.md, Unknown outcome).
  @Test(
    arguments: [
      (.transient(FailureClassifier.notAnOAuthAnswer, retryAfter: nil), false),
      (.transient("status302", retryAfter: nil), false), (.transient("status511", retryAfter: nil), false),
      (.unexplained(status: 403, isPage: true), false), (.transient("status502", retryAfter: nil), false),
      (.unknownOutcome(ExchangeFailure.reset), false), (.offline(.refused), false), (.untrustedServer(.tls), false),
      (.store, false), (.notAnswering, false),
      (.transient("status503", retryAfter: nil), true), (.transient("throttled", retryAfter: .seconds(60)), true),
      (.unexplained(status: 400), true), (.reauthenticate(reason: "refused"), true), (.locked, true),
      (.misconfigured("invalid_client"), true), (.interaction(claims: nil), true),
    ] as [(ExchangeFailure, Bool)])
  func pageOrRedirect_isNoAnswerOfTheProvider(failure: ExchangeFailure, isOfTheProvider: Bool) {
    #expect(failure.isOfTheProvider == isOfTheProvider)
  }

  @Test func refusalWithoutAnErrorCode_isNamedByItsStatus() {
    let refusal = TokenEndpointRefusal(status: 418, codes: ["x"])
    #expect(FailureClassifier.classify(refusal, codes: ["x": .misconfigured]) == .misconfigured("status418"))
    #expect(FailureClassifier.classify(refusal, codes: ["x": .transient]) == .transient("status418", retryAfter: nil))
  }
}
