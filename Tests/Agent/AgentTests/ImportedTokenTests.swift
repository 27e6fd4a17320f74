import AgentCore
import AgentModel
import AgentOAuth
import AgentPorts
internal import AgentRecords
import JSONRPC
import SecretJSON
import Secrets
import Testing

/// What an account keeps of the refresh token that an import took over.
@Suite struct ImportedTokenTests {
  private static func profile() throws -> AccountProfile {
    let record = SecretJSON.write { writer in
      writer.member("id", "acc_c2ztq4xk7m3vwy5ndhb6rfgupa")
      writer.member("issuer", "https://idp.test")
      writer.member("subject", "alice-acme")
      writer.member("provider", "idp")
      writer.member("standing", "signedIn")
      IssuingClient(issuer: "https://idp.test", clientID: "demo", tokenEndpoint: nil).write(to: &writer, as: "issuedBy")
      writer.member("epoch", Int64(1))
      writer.member("createdAt", Int64(0))
    }
    return try read(record)
  }

  private static func read(_ record: Secret) throws -> AccountProfile {
    let partition = try #require(PartitionID(bytes: [UInt8](repeating: 1, count: PartitionID.byteCount)))
    return try #require(AccountProfile(record, partition: partition))
  }

  @Test func digestComesBackAsStored_andTheTokenIsNotInIt() throws {
    for text in (0..<64).map({ "not-a-real-token-\($0)" }) {
      var profile = try Self.profile()
      #expect(profile.importedToken == nil)
      profile.importedToken = Fingerprint.number(of: Secret(text: text))
      let record = profile.record
      #expect(try Self.read(record).importedToken == profile.importedToken)
      #expect(record.withBytes { String(decoding: $0, as: UTF8.self) }.contains(text) == false)
    }
    #expect(Fingerprint.number(of: Secret(text: "a")) != Fingerprint.number(of: Secret(text: "b")))
  }

  @Test func sessionLives_unlessItWasSignedOutOrEnded() throws {
    var profile = try Self.profile()
    for health in [TokenMachine.Health.ok, .unknown, .locked, .misconfigured("invalid_client")] {
      profile.health = health
      #expect(profile.hasLivingSession, "\(health)")
    }
    profile.health = .reauthenticate(reason: "refused")
    #expect(!profile.hasLivingSession)
    profile.health = .ok
    profile.isIssuedElsewhere = true
    #expect(!profile.hasLivingSession)
    profile.isIssuedElsewhere = false
    profile.signInStatus = .signedOutSoft
    #expect(!profile.hasLivingSession)
  }
}
