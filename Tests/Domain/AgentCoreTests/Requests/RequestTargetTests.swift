import AgentCore
import AgentModel
import Testing

@Suite struct RequestTargetTests {
  private let texts = ["https://api.example", "https://api.example:8443", "http://127.0.0.1:9000"]

  private var origins: Set<String> { RequestTarget.origins(texts) }

  private func refusal(_ url: String, _ texts: [String]? = nil) -> RequestTarget.Refusal? {
    do throws(RequestTarget.Refusal) {
      _ = try RequestTarget(url, allowedOrigins: RequestTarget.origins(texts ?? self.texts))
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: [
    "https://api.example", "https://api.example/v1/orders?open=true", "HTTPS://API.Example:443/v1",
    "https://api.example:8443/", "http://127.0.0.1:9000/x",
  ])
  func listedOrigin_isAllowed(url: String) {
    #expect(refusal(url) == nil)
  }

  @Test(arguments: [
    "https://api.example:444/", "https://api.example.evil.example/", "https://evil.example/https://api.example/",
    "https://xapi.example/", "https://127.0.0.1:9000/", "http://127.0.0.1:9001/", "http://localhost:9000/",
    "https://api.example./",
  ])
  func otherOrigin_isNotAllowed(url: String) {
    #expect(refusal(url) != nil)
    #expect(refusal(url, []) != nil)
  }

  @Test func originThatIsNotListed_isToldApartFromABadURL() {
    #expect(refusal("https://evil.example/") == .originNotAllowed)
    #expect(refusal("https://api.example/", []) == .originNotAllowed)
    #expect(refusal("https://api.example/#top") == .invalidURL)
  }

  @Test(arguments: [
    "https://pat@api.example/", "https://pat:secret@api.example/", "https://api.example@evil.example/",
    "https://api.example/#top", "https://api.example#", "http://api.example/", "ftp://api.example/", "/v1", "",
    "https://api.example\\@evil.example/", "https://api.example/ x", "https://api.example/\u{0}",
    "https://api.example/\r\nHost: evil.example", "https://2130706433/", "https://api.example/%zz",
  ])
  func credentialsFragmentsAndBadURLs_areInvalid(url: String) {
    #expect(refusal(url, ["http://api.example"] + texts) == .invalidURL)
  }

  @Test(arguments: [
    "https://api.example/v1", "https://api.example/?x", "http://api.example", "api.example", "*", "https://*.example",
    "https://pat@api.example", "",
  ])
  func entryThatIsNoOrigin_allowsNothing(entry: String) {
    #expect(refusal("https://api.example/v1", [entry]) != nil)
    #expect(RequestTarget.origin(entry) == nil)
  }

  @Test(arguments: ["https://API.example", "https://api.example/", "https://api.example:443"])
  func entry_isComparedInNormalForm(entry: String) {
    #expect(refusal("https://api.example/v1", [entry]) == nil)
    #expect(RequestTarget.origin(entry) == "https://api.example")
  }

  @Test func url_isRequestedInTheFormThatWasJudged() throws {
    let target = try RequestTarget("HTTPS://API.example:443/v1/../v2/%2e%2E/orders?x=/../", allowedOrigins: origins)
    #expect(target.url.text == "https://api.example/orders?x=/../")
  }

  // MARK: redirects

  @Test(arguments: [
    ("/v2", "https://api.example/v2"), ("two", "https://api.example/v1/two"), ("../x", "https://api.example/x"),
    ("?page=2", "https://api.example/v1/one?page=2"), ("//api.example/y", "https://api.example/y"),
    ("https://API.example:443/z#part", "https://api.example/z"), ("/v2#part", "https://api.example/v2"),
    ("./a:b", "https://api.example/v1/a:b"), ("../../../..", "https://api.example/"),
  ])
  func redirectWithinTheOrigin_isResolved(location: String, url: String) throws {
    let target = try RequestTarget("https://api.example/v1/one?page=1", allowedOrigins: origins)
    #expect(target.redirected(to: location)?.url.text == url)
  }

  @Test(arguments: [
    "https://api.example:8443/", "http://api.example/", "https://evil.example/", "//evil.example/v1",
    "https://pat@api.example/", "https:///v1", "https:v1", "javascript:alert(1)", "http://127.0.0.1:9000/", "", "#part",
    "\\\\evil.example\\", "/a b",
  ])
  func redirectToAnotherOrigin_isNotFollowed(location: String) throws {
    let target = try RequestTarget("https://api.example/v1/one", allowedOrigins: origins)
    #expect(target.redirected(to: location) == nil)
  }
}
