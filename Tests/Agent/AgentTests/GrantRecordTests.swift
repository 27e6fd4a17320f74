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

  @Test func tokenFromElsewhere_isRemembered() throws {
    var grant = Self.grant
    #expect(try !#require(GrantRecord(grant.record)).cameFromElsewhere)
    grant.cameFromElsewhere = true
    #expect(try #require(GrantRecord(grant.record)).cameFromElsewhere)
  }

  @Test func recordOfAGrantWithoutDetails_hasNoSuchMember() throws {
    let written = Self.grant.record
    #expect(written.withBytes { String(decoding: $0, as: UTF8.self) }.contains("etails") == false)
    let read = try #require(GrantRecord(written))
    #expect(read.details == nil)
    #expect(read.requestedDetails == nil)
    #expect(read.generation == 3)
  }

  /// The pause of a failure was stored by a wall clock that may be another one at the next start.
  @Test(
    "the last failure is told on the provider's clock, and never as still to come",
    arguments: [(0, 0), (100, 100), (86_400, 86_400), (-100, 0), (-10 * 86_400, 0)] as [(Int64, Int64)])
  func lastFailureAfterAStart(wallPassed: Int64, ago: Int64) throws {
    let (boot, wall) = (BootInstant(milliseconds: 5_000_000), Timestamp(year: 2030, month: 1, day: 1))
    var memory = TokenMemory(health: .ok)
    memory.patience = TokenMemory.Patience(
      until: boot + .seconds(120), callersUntil: boot + .seconds(15),
      failure: .transient("status429", retryAfter: nil), failures: 1, unexplained: 0)
    let stored = GrantMemory(memory, boot: boot, wall: wall)
    let provider = Timestamp(year: 2040, month: 1, day: 1)
    let told = try #require(stored.lastFailure(wall: wall + .seconds(wallPassed), providerTime: provider))
    #expect(told.at == provider + .seconds(-ago))
    #expect(told.reason == "status429")
  }
}
