import Testing

import AgentCore

@Suite struct IssuerPatternTests {
  @Test func issuerOfOneTenant_hasNoPattern() {
    #expect(IssuerPattern(sharedAddress: "https://login.microsoftonline.com/8a1b/v2.0") == nil)
    #expect(IssuerPattern(sharedAddress: "https://common.example/v2.0") == nil)
    #expect(ProviderPreset.okta.issuerPattern(at: "https://o.example/common/v2.0") == nil)
  }

  @Test(arguments: ["common", "organizations", "consumers"])
  func sharedIssuer_coversItsTenantsOnly(name: String) throws {
    let pattern = try #require(
      ProviderPreset.entra.issuerPattern(at: "https://login.microsoftonline.com/\(name)/v2.0"))
    #expect(pattern.issuer(ofTenant: "8a1b-2") == "https://login.microsoftonline.com/8a1b-2/v2.0")
    for tenant in ["", "a/b", "..", "{tenantid}", "ä", String(repeating: "a", count: 65)] {
      #expect(pattern.issuer(ofTenant: tenant) == nil)
    }
    #expect(pattern.covers("https://login.microsoftonline.com/{tenantid}/v2.0"))
    #expect(pattern.covers("https://login.microsoftonline.com/8a1b-2/v2.0"))
    for other in [
      "https://login.microsoftonline.com/v2.0", "https://login.microsoftonline.com//v2.0",
      "https://login.microsoftonline.com/a/b/v2.0", "https://login.microsoftonline.com/8a1b-2/v2.0/",
      "https://login.example.com/8a1b-2/v2.0", "https://login.microsoftonline.com/{tenant}/v2.0",
    ] {
      #expect(!pattern.covers(other))
    }
  }
}
