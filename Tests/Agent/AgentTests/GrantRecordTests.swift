import AgentCore
import AgentModel
import AgentOAuth
internal import AgentRecords
import JSONRPC
import SecretJSON
import Secrets
import Testing

/// The stored form of a grant (docs/storage.md).
@Suite struct GrantRecordTests {
  private static func details(_ text: String) throws -> AuthorizationDetails {
    try AuthorizationDetails(parsing: text, atMost: AuthorizationDetails.mostGrantedBytes)
  }

  private static var grant: GrantRecord {
    GrantRecord(
      refreshToken: Secret(text: "not-a-real-token"), generation: 3, memory: GrantMemory(health: .ok),
      scopes: ScopeSet(["openid"]), refreshTokenExpiresAt: nil)
  }

  @Test func authorizationDetailsComeBackAsStored() throws {
    var grant = Self.grant
    grant.requestedDetails = try Self.details(#"[{"type":"a","n":[1,{"x":"é\"\n"}]}]"#.replacing("\n", with: "\\n"))
    grant.details = try Self.details(#"[{"type":"a","n":[1],"by":"bank"}]"#)
    let read = try #require(GrantRecord(grant.record))
    #expect(read.requestedDetails == grant.requestedDetails)
    #expect(read.details == grant.details)
  }

  @Test func scopesThatWereNotKeptAreRememberedAsLacking() throws {
    var grant = Self.grant
    #expect(try #require(GrantRecord(grant.record)).scopes == grant.scopes)
    grant.scopes = ScopeSet(["openid"], lacksSome: true)
    let read = try #require(GrantRecord(grant.record))
    #expect(read.scopes == grant.scopes)
    #expect(!read.scopes.isWithin(["openid"]))
  }

  @Test func recordOfAGrantWithoutDetails_hasNoSuchMember() throws {
    let written = Self.grant.record
    #expect(written.withBytes { String(decoding: $0, as: UTF8.self) }.contains("etails") == false)
    let read = try #require(GrantRecord(written))
    #expect(read.details == nil)
    #expect(read.requestedDetails == nil)
    #expect(read.generation == 3)
  }
}
