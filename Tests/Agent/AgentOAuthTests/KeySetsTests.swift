import AgentCore
import AgentModel
import AgentOAuth
import AgentPorts
import AgentSimulation
import Testing

@Suite struct KeySetsTests {
  @Test func keysOfAnEarlierReading_doNotReplaceLaterOnes() throws {
    let provider = Provider(
      configuration: ProviderConfiguration(name: ProviderName("idp")!, issuer: "https://idp.test", clientID: "me"))
    let set = try #require(Array(#"{"keys":[]}"#.utf8).withUnsafeBytes { try? JWKSet(parsing: $0) })
    let before = VirtualClock().boot()
    let (sets, after) = (KeySets(), before + .seconds(1))
    sets.keep(IssuerKeys(set: set, algorithms: ["ES256"], readAt: after), of: provider)
    sets.keep(IssuerKeys(set: set, algorithms: ["RS256"], readAt: before), of: provider)
    let name = provider.configuration.name
    #expect(sets.keys(of: name, issuer: "https://idp.test")?.algorithms == ["ES256"])
    sets.keep(IssuerKeys(set: set, algorithms: ["EdDSA"], readAt: after), of: provider)
    #expect(sets.keys(of: name, issuer: "https://idp.test")?.algorithms == ["EdDSA"], "the same keys, known better")
  }
}
