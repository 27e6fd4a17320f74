import AgentModel
import AgentOAuth
import AgentPorts
import Testing

/// How often a sign-in asks for the keys and for the person's name.
@Suite struct DocumentTriesTests {
  /// The pauses until the failure counts, each try taking `length`.
  private func pauses(_ failure: DocumentFailure, each length: Milliseconds = .zero) -> [Milliseconds] {
    var now = BootInstant(milliseconds: 0)
    var tries = DocumentTries(at: now)
    var pauses: [Milliseconds] = []
    while pauses.count < 10 {
      now = now + length
      guard let next = tries.next(after: failure, at: now) else { break }
      pauses.append(next - now)
      now = next
    }
    return pauses
  }

  @Test func failureThatPasses_isAskedAgainTwice() {
    let usual = [Milliseconds.seconds(1), .seconds(2)]
    for status in [0, 429, 500, 503] { #expect(pauses(.unavailable(status: status)) == usual, "\(status)") }
    #expect(pauses(.offline(.unreachable)) == usual)
  }

  @Test func failureThatDoesNotPass_counts() {
    let lasting: [DocumentFailure] = [
      .malformed, .page, .issuerMismatch, .redirected(to: nil), .unavailable(status: 404),
      .untrusted(.unknownAuthority),
    ]
    for failure in lasting { #expect(pauses(failure).isEmpty, "\(failure)") }
  }

  @Test func pauseThatTheServerAskedFor_isKeptUpToFiveSeconds() {
    #expect(pauses(.unavailable(status: 503, retryAfter: .seconds(1))) == [.seconds(1), .seconds(2)])
    #expect(pauses(.unavailable(status: 429, retryAfter: .seconds(4))) == [.seconds(4), .seconds(4)])
    #expect(pauses(.unavailable(status: 503, retryAfter: .seconds(3600))) == [.seconds(5), .seconds(5)])
  }

  @Test func silence_isNotAskedAgainWithoutEnd() {
    #expect(pauses(.unavailable(status: 0), each: .seconds(10)) == [.seconds(1)])
    #expect(pauses(.unavailable(status: 0), each: .seconds(30)).isEmpty)
  }
}
