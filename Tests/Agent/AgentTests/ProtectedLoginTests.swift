import AgentCore
import AgentModel
import AgentOAuth
internal import AgentRecords
import Secrets
import Testing

/// Which revocations that wait would end a login (docs/sign-out.md, Outbox).
@Suite struct ProtectedLoginTests {
  typealias Reach = ProviderConfiguration.RevocationScope

  private static let issuer = "https://idp.test"
  private static let alice = Identity(issuer: issuer, tenant: nil, subject: "alice")
  private static let bob = Identity(issuer: issuer, tenant: nil, subject: "bob")
  private static let someone = Identity(unproven: [1, 2, 3], issuer: issuer)
  private static let erased = Identity(issuer: issuer, tenant: nil, subject: "erased:digest")

  private static func provider(
    _ reach: Reach, name: String = "idp", client: String = "lanyard", issuer: String = issuer
  ) throws -> Provider {
    var configuration = ProviderConfiguration(
      name: try #require(ProviderName(name)), issuer: issuer, clientID: client)
    configuration.revocationScope = reach
    return Provider(configuration: configuration, clientSecret: nil, metadata: nil)
  }

  private static func entry(
    _ token: String = "waits", of identity: Identity? = alice, by sender: Provider?, kind: TokenTypeHint = .refreshToken
  ) throws -> OutboxEntry {
    let zero = Timestamp(milliseconds: 0)
    var entry = OutboxEntry(
      id: [1], token: Secret(text: token), provider: try #require(ProviderName("idp")), issuer: issuer,
      accountLabel: "work", identity: identity, now: TrustedInstant(time: zero, lived: .seconds(1000)),
      expiresAt: zero + .seconds(3600))
    entry.sender = sender
    entry.kind = kind
    return entry
  }

  private static func login(
    _ tokens: [String] = ["new"], of identity: Identity = alice, client: String = "lanyard",
    mayShareFamily: Bool = false
  ) -> ProtectedLogin {
    ProtectedLogin(
      identity: identity, issuedBy: IssuingClient(issuer: issuer, clientID: client, tokenEndpoint: nil),
      tokens: tokens.map { Secret(text: $0) }, mayShareFamily: mayShareFamily)
  }

  @Test(arguments: [Reach.token, .family, .grant]) func sameToken_isProtected_whoeverItIsOf(reach: Reach) throws {
    for sender in [try Self.provider(reach), try Self.provider(reach, client: "other"), nil] {
      for identity in [Self.alice, Self.bob, nil] {
        let entry = try Self.entry("same", of: identity, by: sender)
        #expect(Self.login(["new", "same"]).isEnded(by: entry, []))
      }
    }
  }

  @Test(arguments: [Reach.token, .family]) func otherToken_isRevoked(reach: Reach) throws {
    let provider = try Self.provider(reach)
    for identity in [Self.alice, Self.bob, Self.someone, nil] {
      #expect(!Self.login().isEnded(by: try Self.entry(of: identity, by: provider), [provider]))
    }
  }

  @Test func revocationOfTheWholeGrant_endsEachLoginOfThePersonAndTheClient() throws {
    let provider = try Self.provider(.grant)
    let entry = try Self.entry(by: provider)
    #expect(Self.login().isEnded(by: entry, [provider]))
    #expect(!Self.login(of: Self.bob).isEnded(by: entry, [provider]))
    #expect(!Self.login(client: "other").isEnded(by: entry, [provider]))
    let elsewhere = try Self.entry(by: try Self.provider(.grant, issuer: "https://other.test"))
    #expect(!Self.login().isEnded(by: elsewhere, [provider]))
  }

  /// Another provider record of the server, or one that was configured since.
  @Test func grantIsBelieved_whicheverProviderOfTheClientSaysSo() throws {
    let (family, grant) = (try Self.provider(.family), try Self.provider(.grant, name: "other"))
    #expect(Self.login().isEnded(by: try Self.entry(by: family), [family, grant]))
    #expect(Self.login().isEnded(by: try Self.entry(by: grant), [family]))
    #expect(Self.login().isEnded(by: try Self.entry(by: grant), []))
    #expect(Self.login().isEnded(by: try Self.entry(by: nil), [grant]))
    #expect(!Self.login().isEnded(by: try Self.entry(by: family), [family]))
  }

  @Test func personWhoIsNotKnown_mayBeThisOne() throws {
    let provider = try Self.provider(.grant)
    for identity in [nil, Self.someone, Self.erased] {
      let entry = try Self.entry(of: identity, by: provider)
      #expect(Self.login().isEnded(by: entry, [provider], erased: Self.erased))
      #expect(Self.login(of: Self.someone).isEnded(by: entry, [provider], erased: Self.erased))
    }
    let ofAnother = try Self.entry(of: Self.erased, by: provider)
    #expect(!Self.login().isEnded(by: ofAnother, [provider], erased: Self.bob))
  }

  /// An import or a restore: the token may descend from the one that waits, or that one from it.
  @Test func tokenFromElsewhere_mayBeOfTheFamilyThatWaits() throws {
    let family = try Self.provider(.family)
    let login = Self.login(mayShareFamily: true)
    #expect(login.isEnded(by: try Self.entry(by: family), [family]))
    #expect(!login.isEnded(by: try Self.entry(of: Self.bob, by: family), [family]))
    #expect(!login.isEnded(by: try Self.entry(by: family, kind: .accessToken), [family]))
    let token = try Self.provider(.token)
    #expect(!login.isEnded(by: try Self.entry(by: token), [token]))
  }

  /// The entry was made at 1000 s of running time, and its token is told to live for an hour.
  @Test func attemptsEnd_byTheTimeThatTheMachineRan() throws {
    var entry = try Self.entry(by: nil)
    let day = Milliseconds.seconds(86_400)
    #expect(!entry.isOver(at: .seconds(1000) + day * 29))
    #expect(entry.isOver(at: .seconds(1000) + day * 30))
    entry.isAnswered = true
    #expect(!entry.isOver(at: .seconds(1000 + 3599)))
    #expect(entry.isOver(at: .seconds(1000 + 3600)))
  }
}
