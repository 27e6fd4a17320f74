internal import AgentCore
package import AgentModel
package import AgentOAuth
package import AgentPorts
package import AgentRecords

/// The access tokens of one account in memory, by the serials that `TokenMachine` refers to.
package struct IssuedTokens {

  package init() {}
  /// The oldest first. Few, mostly one.
  private var tokens: [IssuedToken] = []
  /// Goes on after `removeAll`: no two tokens have one serial.
  private var serials: UInt64 = 0

  subscript(serial: UInt64) -> IssuedToken? { tokens.first { $0.facts.serial == serial } }

  /// Keeps an access token; nil if it has expired already. `sentAt` is when its request was sent.
  package mutating func take(
    _ token: AccessToken, boundTo key: DeviceKey?, sentAt: BootInstant, now: BootInstant, entropy: any Entropy
  ) -> IssuedToken? {
    // A bound token can't be used without its key.
    guard !token.isBound || key != nil else { return nil }
    let expiresAt = sentAt + token.lifetime
    guard expiresAt > now else { return nil }
    serials += 1
    let refreshAt = expiresAt + (.zero - token.lead)
    let isSecret = token.placement != nil
    let facts = TokenMachine.TokenFacts(
      // No other secret lives longer: what is left of this one is compared with what a caller wants.
      serial: serials, lifetime: isSecret ? Milliseconds(.max) : token.lifetime, refreshAt: refreshAt,
      expiresAt: expiresAt,
      renewAt: isSecret
        ? nil
        : RenewalTime.of(
          issuedAt: sentAt, refreshAt: refreshAt, expiresAt: expiresAt, jitter: entropy.fraction()),
      fingerprint: Fingerprint.of(token.secret))
    let issued = IssuedToken(issued: token, facts: facts, deviceKey: token.isBound ? key : nil)
    if tokens.isEmpty { tokens.reserveCapacity(1) }
    tokens.append(issued)
    return issued
  }

  /// The tokens that have not expired, the oldest first.
  func live(at now: BootInstant) -> [IssuedToken] { tokens.filter { now < $0.facts.expiresAt } }

  /// Wipes all other tokens. Returns these.
  mutating func keep(only serials: Set<UInt64>) -> [IssuedToken] {
    let others = tokens.filter { !serials.contains($0.facts.serial) }
    if !others.isEmpty { tokens.removeAll { !serials.contains($0.facts.serial) } }
    return others
  }

  mutating func removeAll() { tokens = [] }
}
