import AgentCore
import AgentModel
import AgentPorts
internal import AgentRecords
internal import AgentSessions
import AgentSimulation
import JSONRPC
import Secrets
import Testing

import AgentOAuth

/// The tokens that an answer is searched for.
@Suite struct ValidTokensTests {
  private let clock = VirtualClock()

  private func account(_ number: UInt8) throws -> AccountID {
    try #require(AccountID(bytes: [UInt8](repeating: number, count: 16)))
  }

  private func served(_ text: String, by account: AccountID) throws -> PublishedToken {
    let body = Secret(text: #"{"access_token":"\#(text)","token_type":"Bearer","expires_in":600}"#)
    let grant = GrantRecord(
      refreshToken: nil, generation: 1, memory: GrantMemory(health: .ok), scopes: ScopeSet(["openid"]),
      refreshTokenExpiresAt: nil)
    let response = try #require(TokenResponse(body: body))
    let read = AccessToken(
      response, for: .standard, of: grant, sentAt: clock.boot(), clock: clock, highWater: clock.wall())
    let token = try #require(read)
    var tokens = IssuedTokens()
    let taken = tokens.take(
      token, boundTo: nil, sentAt: clock.boot(), now: clock.boot(), entropy: SeededEntropy(seed: 1))
    return PublishedToken(
      try #require(taken), account: account, issuer: "https://idp.test", expiresAt: clock.wall())
  }

  @Test func servedTokenOfAnotherAccount_isLookedForHoweverManyWereReplaced() throws {
    let (cache, now) = (TokenCache(), clock.boot())
    let valid = ValidTokens(cache)
    for number in 1...9 as ClosedRange<UInt8> {
      for replaced in 0..<32 {
        let text = "replaced-\(number)-\(replaced)"
        valid.note(
          Secret(text: text), fingerprint: text, expiresAt: now + .seconds(60), of: try account(number), at: now)
      }
    }
    cache.publish(try served("served-token", by: try account(9)))
    let found = valid.tokens(of: nil, and: try account(1), at: now)
    #expect(found.count == 256)
    #expect(found.contains { $0.equals(Secret(text: "served-token")) })
    #expect(found.contains { $0.equals(Secret(text: "replaced-1-0")) }, "the account's own come first")
  }
}
