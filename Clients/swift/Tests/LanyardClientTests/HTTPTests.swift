import Foundation
import LanyardClient
import Testing

@testable import LanyardHTTP

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("The HTTP helper") struct HTTPTests {
  @Test(
    "A token goes over TLS, or within this machine",
    arguments: [
      ("https://api.example", true), ("http://api.example", false), ("http://127.0.0.1:80", true),
      ("http://127.9.8.7", true), ("http://[::1]:8080", true), ("http://localhost", true),
      ("http://127.0.0.1.example", false), ("http://127.1", false), ("http://0127.0.0.1", false),
      ("http://128.0.0.1", false),
    ])
  func safeOrigins(text: String, isSafe: Bool) throws {
    #expect(try #require(Origin(text)).isSafe == isSafe)
  }

  @Test(
    "What is no origin is none",
    arguments: ["api.example", "ftp://api.example", "https://", "https://u@api.example", "https://api.example/path"])
  func noOrigins(text: String) { #expect(Origin(text) == nil) }

  @Test("The usual port need not be named")
  func ports() {
    #expect(Origin("https://API.example:443/") == Origin("https://api.example"))
    #expect(Origin("https://api.example:444") != Origin("https://api.example"))
    #expect(Origin("http://localhost") != Origin("https://localhost"))
  }

  @Test(
    "A redirect changes the method as browsers do",
    arguments: [
      (301, "POST", "GET"), (302, "POST", "GET"), (303, "PUT", "GET"), (307, "POST", "POST"), (302, "PUT", "PUT"),
    ])
  func redirects(status: Int, method: String, then: String) throws {
    let url = try #require(URL(string: "https://api.example/a"))
    var request = URLRequest(url: url)
    request.httpMethod = method
    request.httpBody = Data("x".utf8)
    let response = try #require(
      HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: ["Location": "/b"]))
    let next = try #require(Redirect.request(after: request, response))
    #expect(next.url?.absoluteString == "https://api.example/b")
    #expect(next.httpMethod == then)
    #expect((next.httpBody == nil) == (then == "GET"))
  }

  @Test("An origin that was not named is refused before anything is sent")
  func refused() async throws {
    let session = LanyardSession(Lanyard(start: false), account: "work", origins: ["https://api.example"])
    let url = try #require(URL(string: "https://other.example/"))
    await #expect { try await session.data(from: url) } throws: { ($0 as? LanyardError)?.code == .originRefused }
  }
}
