import Testing

import AgentOAuth

/// What a redirect says of a sign-in that was only begun (docs/providers.md, Trying a provider).
struct EndpointTrialsTests {
  private static let uri = "http://127.0.0.1:4711/callback"

  private func meaning(_ place: String?) -> EndpointTrials.Answer {
    EndpointTrials.meaning(ofRedirectTo: place, status: 302, uri: Self.uri)
  }

  @Test(arguments: [
    "http://127.0.0.1:4711/callback?code=1&state=2", "http://127.0.0.1:4711/callback", "/login?return=%2Ferror",
    "https://idp.test/login#top", "https://other.test/terror/mirrors", "/login?error=",
  ])
  func redirectToASignIn_works(place: String) { #expect(meaning(place) == .works) }

  @Test(arguments: [
    "http://127.0.0.1:4711/callback?error=unauthorized_client&state=2", "/oops?error=unauthorized_client",
    "https://idp.test/page?a=b&error=unauthorized_client#top",
    "http://127.0.0.1:4711/callback#error=unauthorized_client",
  ])
  func redirectWithAnError_isARefusal(place: String) {
    #expect(meaning(place) == .refused(error: "unauthorized_client", status: 302))
  }

  @Test(arguments: [
    nil, "", "/error", "https://idp.test/oauth/ERROR?code=17", "/errors/invalid-client", "/access_denied",
  ])
  func redirectToAnErrorPage_isUnclear(place: String?) { #expect(meaning(place) == .unclear) }

  @Test(arguments: [
    "javascript:alert(1)", "JavaScript:alert(1)", " java\tscript:alert(1)", "data:text/html,login", "intent://login#x",
    "file:///etc/passwd", "http://other.test/login", "ftp://idp.test/login", ":login",
    "javascript://idp.test/%0Aalert(1)",
  ])
  func redirectToNoPageOverTLS_isNoSignIn(place: String) { #expect(meaning(place) == .misled) }

  @Test(arguments: [
    "HTTPS://idp.test/login", "http://localhost:8080/login?to=http://other.test/", "//idp.test/login", "login?a=b:c",
    "./a:b", "?x=javascript:1",
  ])
  func redirectToAPage_works(place: String) { #expect(meaning(place) == .works) }

  @Test func errorThatNoStandardNames_isNotRepeated() {
    #expect(meaning("/x?error=%3Cscript%3E") == .refused(error: "other", status: 302))
  }
}
