import AgentCore
import AgentModel
import Testing

@Suite struct RequestMachineTests {
  private static let reads = ["GET", "HEAD", "OPTIONS"]
  private static let writes = ["POST", "PUT", "PATCH", "DELETE", "TRACE", "PURGE"]
  private static let stepUp = #"Bearer error="insufficient_user_authentication", acr_values="gold""#
  private static let scope = #"Bearer error="insufficient_scope", scope="write""#

  private func target(_ path: String = "/v1/one") throws -> RequestTarget {
    try RequestTarget("https://api.example" + path, allowedOrigins: ["https://api.example"])
  }

  private func machine(
    _ method: String = "GET", hasKey: Bool = false, allowsAuthRetry: Bool = true
  ) throws -> RequestMachine {
    var machine = RequestMachine(
      method: method, target: try target(), hasKey: hasKey, allowsAuthRetry: allowsAuthRetry)
    machine.sent()
    return machine
  }

  @Test(arguments: [200, 204, 304, 400, 404, 409, 412, 429, 500, 503])
  func otherStatus_isAnswered(status: Int) throws {
    var machine = try machine()
    let action = machine.answered(.init(status: status, location: "/v2", challenges: [Self.scope]), fingerprint: "f1")
    #expect(action == .answer)
    #expect(machine.attempts == 1 && !machine.isRefreshed)
  }

  @Test(arguments: [401, 403])
  func demandOfASecret_isAnswered(status: Int) throws {
    var machine = RequestMachine(
      method: "GET", target: try target(), hasKey: false, allowsAuthRetry: false, hasSignIn: false)
    machine.sent()
    #expect(machine.answered(.init(status: status, challenges: [Self.scope]), fingerprint: "f1") == .answer)
  }

  // MARK: nonces of proofs (RFC 9449)

  private static let nonce = #"DPoP error="use_dpop_nonce", error_description="nonce needed""#

  private func nonceRefusal(tells: Bool = true) -> RequestMachine.Response {
    .init(status: 401, challenges: [Self.nonce], tellsNonce: tells)
  }

  @Test(arguments: reads + writes)
  func refusedNonce_isRenewedOnce_alsoForAWrite(method: String) throws {
    let next = try target()
    var machine = try machine(method, allowsAuthRetry: false)
    #expect(machine.answered(nonceRefusal(), fingerprint: "f1") == .send(next))
    machine.sent()
    #expect(machine.answered(nonceRefusal(), fingerprint: "f1") == .answer)
    #expect(machine.attempts == 2 && !machine.isRefreshed)
  }

  @Test func refusedNonceWithoutAnother_isAnswered_andReplacesNoToken() throws {
    var machine = try machine()
    #expect(machine.answered(nonceRefusal(tells: false), fingerprint: "f1") == .answer)
  }

  @Test func refusedTokenAfterARefusedNonce_isReplaced_andTheNewOneMayMeetAnotherNonce() throws {
    let next = try target()
    var machine = try machine()
    #expect(machine.answered(nonceRefusal(), fingerprint: "f1") == .send(next))
    #expect(machine.answered(.init(status: 401), fingerprint: "f1") == .replaceToken(fingerprint: "f1"))
    #expect(machine.replaced(by: "f2") == .send(next))
    #expect(machine.answered(nonceRefusal(), fingerprint: "f2") == .send(next))
    #expect(machine.answered(nonceRefusal(), fingerprint: "f2") == .answer)
  }

  /// The write left once, and no 401 but one for its nonce has it leave again.
  @Test func refusedWriteAfterARefusedNonce_isNotSentAgain() throws {
    let next = try target()
    var machine = try machine("POST")
    #expect(machine.answered(nonceRefusal(), fingerprint: "f1") == .send(next))
    #expect(machine.answered(.init(status: 401), fingerprint: "f1") == .replaceToken(fingerprint: "f1"))
    #expect(machine.replaced(by: "f2") == .answer)
  }

  // MARK: 401

  @Test(arguments: reads)
  func refusedRead_isSentAgainWithANewToken(method: String) throws {
    let next = try target()
    var machine = try machine(method)
    #expect(machine.answered(.init(status: 401), fingerprint: "f1") == .replaceToken(fingerprint: "f1"))
    #expect(machine.replaced(by: "f2") == .send(next))
    machine.sent()
    #expect(machine.answered(.init(status: 200), fingerprint: "f2") == .answer)
    #expect(machine.attempts == 2 && machine.isRefreshed)
  }

  @Test func secondRefusal_isAnswered() throws {
    let next = try target()
    var machine = try machine()
    #expect(machine.answered(.init(status: 401), fingerprint: "f1") == .replaceToken(fingerprint: "f1"))
    #expect(machine.replaced(by: "f2") == .send(next))
    machine.sent()
    #expect(machine.answered(.init(status: 401), fingerprint: "f2") == .answer)
  }

  @Test(arguments: writes)
  func refusedWriteWithoutKey_getsANewTokenAndIsNotSentAgain(method: String) throws {
    var machine = try machine(method)
    #expect(machine.answered(.init(status: 401), fingerprint: "f1") == .replaceToken(fingerprint: "f1"))
    #expect(machine.replaced(by: "f2") == .answer)
    #expect(machine.attempts == 1 && machine.isRefreshed)
  }

  @Test(arguments: writes)
  func refusedWriteWithKey_isSentAgainOnce(method: String) throws {
    let next = try target()
    var machine = try machine(method, hasKey: true)
    #expect(machine.answered(.init(status: 401), fingerprint: "f1") == .replaceToken(fingerprint: "f1"))
    #expect(machine.replaced(by: "f2") == .send(next))
    machine.sent()
    #expect(machine.answered(.init(status: 401), fingerprint: "f2") == .answer)
    #expect(machine.attempts == 2)
  }

  @Test(arguments: reads + writes, [true, false])
  func withoutAuthRetry_aRefusalIsAnswered(method: String, hasKey: Bool) throws {
    var machine = try machine(method, hasKey: hasKey, allowsAuthRetry: false)
    #expect(machine.answered(.init(status: 401), fingerprint: "f1") == .answer)
    #expect(!machine.isRefreshed)
  }

  @Test func refreshWithoutAnotherToken_isAnsweredWithTheRefusal() throws {
    var machine = try machine()
    #expect(machine.answered(.init(status: 401), fingerprint: "f1") == .replaceToken(fingerprint: "f1"))
    #expect(machine.replaced(by: "f1") == .answer)
    #expect(!machine.isRefreshed)
  }

  // MARK: challenges

  @Test(arguments: [401, 403], reads + writes)
  func demandForThePerson_endsTheRequest(status: Int, method: String) throws {
    for challenge in [Self.stepUp, Self.scope] {
      var machine = try machine(method, hasKey: true)
      let action = machine.answered(.init(status: status, challenges: [challenge]), fingerprint: "f1")
      let demand = try #require(InteractionDemand(AuthenticationChallenge.all(in: [challenge])))
      #expect(action == .interact(demand))
      #expect(machine.answered(.init(status: 401), fingerprint: "f1") == .answer)
    }
  }

  @Test func demandAfterTheRefresh_endsTheRequest() throws {
    var machine = try machine()
    _ = machine.answered(.init(status: 401), fingerprint: "f1")
    _ = machine.replaced(by: "f2")
    machine.sent()
    guard case .interact(let demand) = machine.answered(.init(status: 401, challenges: [Self.scope]), fingerprint: "f2")
    else {
      Issue.record("the challenge was not read")
      return
    }
    #expect(demand.scopes == ["write"])
  }

  @Test(arguments: reads + writes)
  func status403_isNeverRetried(method: String) throws {
    var machine = try machine(method, hasKey: true)
    let action = machine.answered(
      .init(status: 403, challenges: [#"Bearer error="invalid_token""#]), fingerprint: "f1")
    #expect(action == .answer)
  }

  // MARK: redirects

  @Test(arguments: [301, 302, 303, 307, 308])
  func read_followsARedirectOfItsOrigin(status: Int) throws {
    let next = try target("/v1/two")
    var machine = try machine()
    let action = machine.answered(.init(status: status, location: "two"), fingerprint: "f1")
    #expect(action == .send(next))
  }

  @Test(arguments: [300, 304, 305, 306, 399])
  func otherStatusOf3xx_isAnswered(status: Int) throws {
    var machine = try machine()
    #expect(machine.answered(.init(status: status, location: "/two"), fingerprint: "f1") == .answer)
  }

  @Test(arguments: [301, 302, 303, 307, 308], writes)
  func write_followsNoRedirect(status: Int, method: String) throws {
    var machine = try machine(method, hasKey: true)
    #expect(machine.answered(.init(status: status, location: "/two"), fingerprint: "f1") == .answer)
  }

  @Test func redirectToAnotherOrigin_isAnswered() throws {
    for location in ["https://other.example/", "http://api.example/", nil] {
      var machine = try machine()
      #expect(machine.answered(.init(status: 302, location: location), fingerprint: "f1") == .answer)
    }
  }

  @Test func optionsRequest_isNotTurnedIntoARead() throws {
    var machine = try machine("OPTIONS")
    #expect(machine.answered(.init(status: 303, location: "/two"), fingerprint: "f1") == .answer)
  }

  @Test func sixthRedirect_isAnswered() throws {
    var machine = try machine()
    for count in 1...RequestMachine.maximumRedirects {
      let action = machine.answered(.init(status: 302, location: "/\(count)"), fingerprint: "f1")
      let next = try target("/\(count)")
      #expect(action == .send(next))
      machine.sent()
    }
    #expect(machine.answered(.init(status: 302, location: "/6"), fingerprint: "f1") == .answer)
    #expect(machine.attempts == 6)
  }

  @Test func refusalAfterARedirect_isSentAgainToWhereItLed() throws {
    let next = try target("/two")
    var machine = try machine()
    _ = machine.answered(.init(status: 307, location: "/two"), fingerprint: "f1")
    machine.sent()
    #expect(machine.answered(.init(status: 401), fingerprint: "f1") == .replaceToken(fingerprint: "f1"))
    #expect(machine.replaced(by: "f2") == .send(next))
  }

  // MARK: stale answers

  @Test func answerAfterTheEnd_changesNothing() throws {
    var machine = try machine()
    _ = machine.answered(.init(status: 200), fingerprint: "f1")
    #expect(machine.answered(.init(status: 401), fingerprint: "f1") == .answer)
    #expect(machine.replaced(by: "f2") == .answer)
    #expect(!machine.isRefreshed)
  }

  /// Q2 and Q3 over every sequence of four answers.
  @Test(arguments: reads + writes, [true, false])
  func sequencesOfAnswers_keepTheBounds(method: String, hasKey: Bool) throws {
    let answers: [RequestMachine.Response] = [
      .init(status: 200), .init(status: 302, location: "/two"), .init(status: 401),
      .init(status: 401, challenges: [Self.stepUp]), .init(status: 403),
    ]
    for code in 0..<625 {
      var machine = try machine(method, hasKey: hasKey)
      var replacements = 0
      for answer in [code % 5, code / 5 % 5, code / 25 % 5, code / 125].map({ answers[$0] }) {
        var action = machine.answered(answer, fingerprint: "f\(replacements)")
        if case .replaceToken = action {
          replacements += 1
          action = machine.replaced(by: "f\(replacements)")
        }
        guard case .send(let next) = action else { break }
        #expect(next.url.origin == "https://api.example")
        machine.sent()
      }
      #expect(replacements <= 1)
      if !machine.isRead { #expect(machine.attempts <= (hasKey ? 2 : 1)) }
    }
  }
}

@Suite struct RequestFailureTests {
  @Test func outcome_tellsWhetherTheRequestMayHaveBeenPerformed() {
    #expect(RequestFailure.notSent(.refused).outcome == .notSent)
    #expect(RequestFailure.untrusted(.pinMismatch).outcome == .notSent)
    #expect(RequestFailure.lost(reason: "reset").outcome == .unknown)
    #expect(RequestFailure.responseTooLarge.outcome == .unknown)
    #expect(RequestFailure.cancelled(.notSent).outcome == .notSent)
    #expect(RequestFailure.timedOut(.unknown).outcome == .unknown)
  }
}
