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

/// The answer that the reading thread writes from its parts.
@Suite struct PublishedTokenTests {
  @Test(arguments: ["eyJhbGciOiJub25lIn0.e30.", #"a"b\c"#, "", "\u{1}\u{7f}ü", String(repeating: "x", count: 4_000)])
  func answer_isOneObject(text: String) throws {
    let clock = VirtualClock()
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("access_token", text)
    writer.member("token_type", "Bearer")
    writer.member("expires_in", Int64(600))
    writer.endObject()
    let response = TokenResponse(body: writer.withBytes { Secret(copying: $0) })
    let grant = GrantRecord(
      refreshToken: nil, generation: 3, memory: GrantMemory(health: .ok), scopes: ScopeSet(["openid"]),
      refreshTokenExpiresAt: nil)
    guard let response,
      let token = AccessToken(
        response, for: .standard, of: grant, sentAt: clock.boot(), clock: clock, highWater: clock.wall())
    else { return #expect(text.isEmpty || !text.utf8.allSatisfy { (0x20...0x7E).contains($0) }) }
    var tokens = IssuedTokens()
    let taken = tokens.take(
      token, boundTo: nil, sentAt: clock.boot(), now: clock.boot(), entropy: SeededEntropy(seed: 1))
    let issued = try #require(taken)
    let id = try #require(AccountID(bytes: [UInt8](repeating: 9, count: 16)))
    let published = PublishedToken(issued, account: id, issuer: "https://idp.test", expiresAt: clock.wall())
    var answer = JSONWriter()
    published.shown.write(at: clock.boot(), to: &answer)
    answer.withBytes { bytes in
      var tape = JSONTape()
      #expect(throws: Never.self) { try JSONScanner.scan(bytes, onto: &tape) }
      tape.withRoot(of: bytes) { root in
        #expect(root["accessToken"]?.string == text && root["expiresInSeconds"]?.integer == 600)
        #expect(root["account"]?.string == id.text && root["generation"]?.integer == 3 && !root.hasDuplicateKeys)
      }
    }
  }
}
