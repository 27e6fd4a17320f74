import LoopbackHTTP
import Testing

import PracticeProvider

@Suite struct DiscoveryTests {
  @Test func discoveryDocuments_agreeOnIssuerAndEndpoints() throws {
    let practice = Practice()
    let openID = try #require(practice.get("/.well-known/openid-configuration").json)
    let oauth = try #require(practice.get("/.well-known/oauth-authorization-server").json)
    #expect(openID["issuer"] == "https://idp.test")
    #expect(openID == oauth)
    #expect(openID["token_endpoint"] == "https://idp.test/token")
    #expect(openID["device_authorization_endpoint"] == "https://idp.test/device_authorization")
    #expect(openID["code_challenge_methods_supported"] == ["S256"])
  }

  @Test func endpointsOnlyInRFC8414_areMissingFromOpenIDDiscovery() throws {
    let practice = Practice { $0.metadata = .onlyInRFC8414 }
    let openID = try #require(practice.get("/.well-known/openid-configuration").json)
    let oauth = try #require(practice.get("/.well-known/oauth-authorization-server").json)
    for name in ["revocation_endpoint", "introspection_endpoint", "device_authorization_endpoint"] {
      #expect(openID[name] == nil)
      #expect(oauth[name]?.stringValue?.hasPrefix("https://idp.test/") == true)
    }
    #expect(openID["token_endpoint"] == oauth["token_endpoint"])
  }

  @Test func issuerWithAPath_hasItsDocumentsAtTheSpecifiedPaths() throws {
    let practice = Practice(issuer: "https://idp.test/realms/acme")
    let openID = practice.get("/realms/acme/.well-known/openid-configuration")
    let oauth = practice.get("/.well-known/oauth-authorization-server/realms/acme")
    #expect(openID.json?["issuer"] == "https://idp.test/realms/acme")
    #expect(oauth.json?["token_endpoint"] == "https://idp.test/realms/acme/token")
    #expect(practice.get("/.well-known/openid-configuration").status == 404)
    #expect(practice.get("/realms/globex/.well-known/openid-configuration").status == 404)
    #expect(practice.idp.requestCount(to: "/.well-known/openid-configuration") == 1)
  }

  @Test func everyResponse_carriesTheProvidersDate() {
    let practice = Practice()
    #expect(practice.get("/jwks").header("Date") == "Tue, 01 Jan 2030 00:00:00 GMT")
    practice.idp.setClockOffset(milliseconds: -3_600_000)
    #expect(practice.get("/jwks").header("Date") == "Mon, 31 Dec 2029 23:00:00 GMT")
    practice.idp.configure { $0.sendsDate = false }
    #expect(practice.get("/jwks").header("Date") == nil)
  }

  @Test(arguments: [
    (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
    (784_111_777_000, "Sun, 06 Nov 1994 08:49:37 GMT"),
    (951_782_400_999, "Tue, 29 Feb 2000 00:00:00 GMT"),
    (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
    (4_107_542_399_000, "Sun, 28 Feb 2100 23:59:59 GMT"),
  ])
  func httpDate_isWrittenInTheStandardForm(milliseconds: Int64, text: String) {
    #expect(HTTPDate.text(milliseconds: milliseconds) == text)
  }
}
