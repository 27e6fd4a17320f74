package import AgentCore
package import AgentModel
internal import AgentPorts
internal import Secrets
internal import Synchronization

/// Counts what the agent does, from any thread (docs/metrics.md). It starts at zero with the agent.
///
/// What the reading thread answers from memory takes one addition without a lock and without a clock.
package final class FigureKeeper: Sendable {
  private let figures = Mutex(Figures())
  /// The digests of issuers, so that each is computed once.
  private let digests = Mutex<[String: String]>([:])
  private let memoryTokens = Atomic<Int64>(0)
  private let clock: any AgentClock

  init(clock: any AgentClock) { self.clock = clock }

  /// What was counted up to now.
  package var counted: Figures { figures.withLock { $0 } }

  /// `token.get` that the reading thread answered from memory.
  package var tokensFromMemory: Int64 { memoryTokens.load(ordering: .relaxed) }
  package func tokenCameFromMemory() { memoryTokens.add(1, ordering: .relaxed) }

  // MARK: exchanges

  /// An exchange ended. `isPaused`: a pause before the next one began.
  func exchangeEnded(_ outcome: ExchangeOutcome, issuer: String, isPaused: Bool = false) {
    let (digest, now) = (digest(of: issuer), clock.boot())
    figures.withLock { figures in
      figures.exchangeEnded(outcome, issuer: digest, at: now)
      if isPaused { figures.pauseBegan() }
    }
  }

  /// A sign-in or a token exchange ended; nil if it brought a token.
  package func grantEnded(_ kind: GrantKind, _ failure: ExchangeFailure?, issuer: String) {
    let digest = digest(of: issuer)
    figures.withLock { $0.grantEnded(kind, failure.map { ExchangeOutcome($0) } ?? .renewed, issuer: digest) }
  }

  /// A request to a token endpoint that began at `began` has ended.
  func exchangeTook(since began: BootInstant) {
    let duration = clock.boot() - began
    figures.withLock { $0.exchangeTook(duration) }
  }

  /// An exchange that entered the queue at `began` may go.
  func exchangeWaited(since began: BootInstant) {
    let duration = clock.boot() - began
    figures.withLock { $0.exchangeWaited(duration) }
  }

  /// The first 12 hexadecimal digits of SHA-256: without a key, so that the figures of many machines can be joined.
  package static func digest(ofIssuer issuer: String) -> String {
    Array(issuer.utf8).withUnsafeBytes { sha256($0) }.prefix(6).map { byte in
      let digits = String(byte, radix: 16)
      return digits.count == 1 ? "0" + digits : digits
    }.joined()
  }

  private func digest(of issuer: String) -> String {
    digests.withLock { digests in
      if let known = digests[issuer] { return known }
      let digest = Self.digest(ofIssuer: issuer)
      // An agent has few issuers; one that is given thousands computes the digests again.
      if digests.count >= Figures.mostIssuers * 4 { digests = [:] }
      digests[issuer] = digest
      return digest
    }
  }

  // MARK: requests

  /// A handler answered a request of a client that came at `began`. `error`: the name of the error, if it is one.
  package func requestEnded(_ kind: RequestKind, since began: BootInstant, error: String?) {
    let duration = clock.boot() - began
    figures.withLock { $0.requestEnded(kind, after: duration, error: error) }
  }

  package func decided(_ decisions: [Decision]) {
    figures.withLock { figures in
      for decision in decisions { figures.decided(decision) }
    }
  }
}
