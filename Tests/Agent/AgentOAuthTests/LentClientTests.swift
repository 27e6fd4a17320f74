import AgentModel
import AgentOAuth
import Secrets
import Testing

/// The client of one provider for a resource of the same server.
@Suite struct LentClientTests {
  private func provider(
    _ name: String, secret: String? = nil, _ change: (inout ProviderConfiguration) -> Void = { _ in }
  ) -> Provider {
    var configuration = ProviderConfiguration(
      name: ProviderName(name)!, issuer: "https://idp.test", clientID: secret == nil ? "" : "lanyard")
    change(&configuration)
    return Provider(configuration: configuration, clientSecret: secret.map { Secret(text: $0) })
  }

  @Test func clientWithASecret_isLentWhereTheServerIsReachedAlike() {
    let known = provider("corp", secret: "s")
    #expect(known.lendsClient(to: provider("mcp"), notOf: nil))
    #expect(!known.lendsClient(to: provider("mcp") { $0.issuer = "https://other.test" }, notOf: nil))
    #expect(!known.lendsClient(to: provider("mcp") { $0.caFile = "/ca.pem" }, notOf: nil))
    #expect(!known.lendsClient(to: provider("mcp") { $0.proxy = "http://proxy.test" }, notOf: nil))
    let pinned = provider("corp", secret: "s") { $0.pins = ["idp.test": ["sha256/AAAA"]] }
    #expect(!pinned.lendsClient(to: provider("mcp"), notOf: nil))
    #expect(pinned.lendsClient(to: provider("mcp") { $0.pins = pinned.configuration.pins }, notOf: nil))
    let ending = provider("mcp") {
      $0.pins = pinned.configuration.pins
      $0.pinsExpireAt = Timestamp(milliseconds: 0)
    }
    #expect(!pinned.lendsClient(to: ending, notOf: nil))
  }
}
