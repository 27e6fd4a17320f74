import AgentCore
import AgentModel
import Testing

/// Polling with a device code (RFC 8628 §3.5), by values alone.
@Suite struct DevicePollingTests {
  private func pauses(_ answers: [DevicePolling.Answer], interval: Int64 = 5) -> [Int64] {
    var polling = DevicePolling(interval: .seconds(interval))
    return answers.map { answer in
      guard case .ask(let pause) = polling.next(after: answer) else { return -1 }
      return pause.count / 1000
    }
  }

  @Test func pendingAnswers_keepTheProvidersInterval() {
    #expect(pauses([.pending, .pending, .pending]) == [5, 5, 5])
    #expect(pauses([.pending, .pending], interval: 60) == [60, 60])
  }

  @Test func slowDown_lengthensTheIntervalForTheRestOfThePolling() {
    #expect(pauses([.slowDown, .pending, .slowDown, .pending]) == [10, 10, 15, 15])
  }

  @Test func offlineFailures_lengthenThePauseUntilAnAnswerComes() {
    let offline = DevicePolling.Answer.failed(.offline(.refused))
    #expect(pauses([offline, offline, offline, offline, .pending, offline]) == [10, 20, 30, 30, 5, 10])
    #expect(pauses([offline, offline], interval: 60) == [60, 60], "never sooner than the provider wants")
    #expect(pauses([DevicePolling.Answer](repeating: offline, count: 1000)).allSatisfy { $0 <= 30 })
  }

  @Test func transientFailure_waitsForRetryAfter() {
    #expect(pauses([.failed(.transient("status503", retryAfter: .seconds(120)))]) == [120])
    #expect(pauses([.failed(.transient("status503", retryAfter: .seconds(1)))]) == [10])
    #expect(pauses([.failed(.transient("status500", retryAfter: nil)), .pending]) == [10, 5])
  }

  @Test func thirdUnexplainedRefusalInARow_endsThePolling() {
    let odd = DevicePolling.Answer.failed(.unexplained(status: 404))
    #expect(pauses([odd, odd, odd]) == [10, 20, -1])
    #expect(pauses([odd, odd, .pending, odd, odd]) == [10, 20, 5, 10, 20])
  }

  @Test(
    arguments: [
      (.denied, .denied), (.expired, .expired), (.unknownCode, .unknownCode),
      (.failed(.untrustedServer(.tls)), .failed(.untrustedServer(.tls))),
      (.failed(.misconfigured("invalid_client")), .failed(.misconfigured("invalid_client"))),
      (.failed(.locked), .failed(.locked)), (.failed(.interaction(claims: nil)), .failed(.interaction(claims: nil))),
    ] as [(DevicePolling.Answer, DevicePolling.End)])
  func finalAnswer_endsThePolling(answer: DevicePolling.Answer, end: DevicePolling.End) {
    var polling = DevicePolling(interval: .seconds(5))
    #expect(polling.next(after: .pending) == .ask(after: .seconds(5)))
    #expect(polling.next(after: answer) == .ended(end))
  }

  @Test func unknownCodeAfterALostAnswer_isReportedAsAnswerLost() {
    let lost = DevicePolling.Answer.failed(.unknownOutcome("reset"))
    var polling = DevicePolling(interval: .seconds(5))
    #expect(polling.next(after: lost) == .ask(after: .seconds(10)))
    #expect(polling.next(after: .failed(.offline(.refused))) == .ask(after: .seconds(20)))
    #expect(polling.next(after: .unknownCode) == .ended(.answerLost))

    var fortunate = DevicePolling(interval: .seconds(5))
    #expect(fortunate.next(after: lost) == .ask(after: .seconds(10)))
    #expect(fortunate.next(after: .pending) == .ask(after: .seconds(5)), "it was not the one with the tokens")
    #expect(fortunate.next(after: .unknownCode) == .ended(.unknownCode))
  }

  @Test(
    arguments: [
      ("authorization_pending", .pending), ("slow_down", .slowDown), ("access_denied", .denied),
      ("authorization_declined", .denied), ("expired_token", .expired), ("invalid_grant", .unknownCode),
      ("device_not_found", .unknownCode), ("incorrect_device_code", .unknownCode),
      ("bad_verification_code", .unknownCode), ("invalid_client", nil), ("server_error", nil), ("", nil),
    ] as [(String, DevicePolling.Answer?)])
  func errorCode_mapsToAPollingAnswer(word: String, answer: DevicePolling.Answer?) {
    #expect(DevicePolling.Answer(error: word) == answer)
  }
}
