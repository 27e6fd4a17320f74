import AgentCore
import Testing

@Suite struct IssuerSearchTests {
  private func addresses(_ url: String) -> [String]? { IssuerSearch(url)?.places.map(\.address) }

  @Test(
    arguments: [
      ("https://idp.example", ["https://idp.example"]), ("https://idp.example/", ["https://idp.example"]),
      (
        "https://IdP.example:8443/realms/acme/account?x=1#top",
        [
          "https://idp.example:8443/realms/acme/account", "https://idp.example:8443/realms/acme",
          "https://idp.example:8443/realms", "https://idp.example:8443",
        ]
      ),
      ("https://idp.example/a/.well-known/openid-configuration", ["https://idp.example/a"]),
      ("https://idp.example/.well-known/openid-configuration", ["https://idp.example"]),
      (
        "https://idp.example/.well-known/oauth-authorization-server/a/b",
        ["https://idp.example/a/b", "https://idp.example"]
      ),
      ("http://127.0.0.1:9000/x", ["http://127.0.0.1:9000/x", "http://127.0.0.1:9000"]),
    ])
  func places_areThePathAndThoseAboveIt(url: String, places: [String]) {
    #expect(addresses(url) == places)
  }

  @Test func placeWithAPath_hasItsDocumentsInTheStandardsOrder() {
    #expect(
      IssuerSearch("https://idp.example/a")?.places.first?.documents == [
        "https://idp.example/.well-known/oauth-authorization-server/a",
        "https://idp.example/.well-known/openid-configuration/a",
        "https://idp.example/a/.well-known/openid-configuration",
      ])
    #expect(
      IssuerSearch("https://idp.example")?.places.first?.documents == [
        "https://idp.example/.well-known/oauth-authorization-server",
        "https://idp.example/.well-known/openid-configuration",
      ])
  }

  @Test(arguments: ["http://idp.example", "idp.example", "ftp://idp.example", "https://a@idp.example", "https://", ""])
  func otherText_isNotSearched(url: String) {
    #expect(IssuerSearch(url) == nil)
  }

  @Test func deepPage_isLookedForFromABoundedDepth() throws {
    let url = "https://idp.example" + String(repeating: "/a", count: 100)
    #expect(try #require(addresses(url)).count == 7)
  }

  @Test(
    arguments: [
      ("https://accounts.google.com/signin/v2", "google", "https://accounts.google.com"),
      ("https://github.com/settings/apps", "github", "https://github.com/login/oauth"),
      (
        "https://login.microsoftonline.com/acme/oauth2/v2.0/authorize", "entra",
        "https://login.microsoftonline.com/acme/v2.0"
      ),
      ("https://acme.okta.com/app/UserHome", "okta", "https://acme.okta.com/oauth2/default"),
      ("https://acme.eu.auth0.com/authorize", "auth0", "https://acme.eu.auth0.com"),
    ])
  func knownHost_hasItsPresetAndPlace(url: String, preset: String, first: String) throws {
    let search = try #require(IssuerSearch(url))
    #expect(search.preset?.name == preset)
    #expect(search.places.first?.address == first)
  }

  @Test func verdict_comparesTheIssuerWithThePlace() throws {
    let search = try #require(IssuerSearch("https://idp.example/a"))
    let place = try #require(search.places.first)
    #expect(search.verdict(on: "https://idp.example/a", at: place) == .itself("https://idp.example/a"))
    #expect(search.verdict(on: "https://IDP.example/a/", at: place) == .itself("https://IDP.example/a/"))
    #expect(search.verdict(on: "https://idp.example/b", at: place) == .sameOrigin("https://idp.example/b"))
    #expect(search.verdict(on: "https://idp.example.evil/a", at: place) == .elsewhere("https://idp.example.evil/a"))
    for text in ["http://idp.example/a", "https://127.0.0.1/", "https://idp.example/a?x", "idp", ""] {
      #expect(search.verdict(on: text, at: place) == .none, "\(text)")
    }
  }

  @Test func sharedEntraAddress_isItsOwnIssuer() throws {
    let search = try #require(IssuerSearch("https://login.microsoftonline.com/organizations"))
    let place = try #require(search.places.first)
    let told = "https://login.microsoftonline.com/{tenantid}/v2.0"
    #expect(search.verdict(on: told, at: place) == .itself("https://login.microsoftonline.com/organizations/v2.0"))
    #expect(search.verdict(on: "https://evil.example/{tenantid}/v2.0", at: place) == .none)
  }
}
