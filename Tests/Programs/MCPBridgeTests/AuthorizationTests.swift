import AgentCore
import AgentModel
import MCPBridge
import Testing

/// What the metadata of a resource may say, and which scopes are asked for.
@Suite struct AuthorizationTests {
  private let server = HTTPURL("https://mcp.example/team/mcp")!

  @Test(
    "the metadata is looked for in MCP's order, or at the place that the server names",
    arguments: [
      (nil, ["/.well-known/oauth-protected-resource/team/mcp", "/.well-known/oauth-protected-resource"]),
      ("https://mcp.example/x", ["/x"]), ("https://other.example/x", ["/x"]), ("http://mcp.example/x", []),
      ("http://127.0.0.1/x", []), ("https://localhost/x", []), ("file:///x", []), ("/x", []), ("", []),
    ])
  func places(named: String?, paths: [String]) {
    #expect(ResourceMetadata.places(for: server, named: named).map(\.url.path) == paths)
  }

  @Test func serverOnThisMachine_mayNameMetadataThere() {
    let local = HTTPURL("http://127.0.0.1:8000/mcp")!
    #expect(ResourceMetadata.places(for: local, named: "http://localhost:8000/x").count == 1)
    #expect(ResourceMetadata.places(for: HTTPURL("http://127.0.0.1:8000")!, named: nil).count == 1)
  }

  /// Whether a document that was read at a path is accepted.
  private func accepts(_ resource: String, at path: String, isNamed: Bool = false) -> Bool {
    let document = #"{"resource":"\#(resource)","authorization_servers":["https://idp.example"]}"#
    let place = ResourceMetadata.places(for: server, named: "https://mcp.example" + path)[0]
    return Array(document.utf8).withUnsafeBytes { (try? ResourceMetadata($0, from: place, of: server)) != nil }
  }

  @Test(
    "the resource is the server's URL, or one above it at that resource's own place",
    arguments: [
      ("https://mcp.example/team/mcp", "/anywhere", true), ("HTTPS://MCP.example:443/team/mcp/", "/anywhere", true),
      ("https://mcp.example", "/.well-known/oauth-protected-resource", true),
      ("https://mcp.example/", "/.well-known/oauth-protected-resource", true),
      ("https://mcp.example/team", "/.well-known/oauth-protected-resource/team", true),
      ("https://mcp.example", "/.well-known/oauth-protected-resource/team/mcp", false),
      ("https://mcp.example", "/anywhere", false),
      ("https://mcp.example/tea", "/.well-known/oauth-protected-resource/tea", false),
      ("https://mcp.example/team/mcp/deeper", "/anywhere", false),
      ("https://evil.example/team/mcp", "/anywhere", false), ("http://mcp.example/team/mcp", "/anywhere", false),
      ("https://mcp.example/team/mcp?x", "/anywhere", false), ("mcp.example", "/anywhere", false),
      ("https://mcp.example/other/../team/mcp", "/anywhere", false),
      ("https://mcp.example/other/%2E%2e/team/mcp", "/anywhere", false),
      ("https://mcp.example/./team/mcp", "/anywhere", false), ("https://mcp.example/team/mcp/.", "/anywhere", false),
    ])
  func resources(resource: String, path: String, isAccepted: Bool) {
    #expect(accepts(resource, at: path) == isAccepted)
  }

  @Test(
    "a document without a resource or an authorization server is refused",
    arguments: [
      "", "[]", "{}", #"{"resource":7,"authorization_servers":["https://idp.example"]}"#,
      #"{"resource":"https://mcp.example/team/mcp","authorization_servers":[]}"#,
      #"{"resource":"https://mcp.example/team/mcp"}"#,
      #"{"resource":"https://mcp.example/team/mcp","resource":"x","authorization_servers":["https://idp.example"]}"#,
    ])
  func malformed(document: String) {
    let place = ResourceMetadata.places(for: server, named: nil)[0]
    _ = Array(document.utf8).withUnsafeBytes { bytes in
      #expect(throws: ResourceMetadata.Failure.malformed) { _ = try ResourceMetadata(bytes, from: place, of: server) }
    }
  }

  @Test(
    "a document is read in the encoding and the form that servers use",
    arguments: [
      "\u{FEFF}" + #"{"resource":"https://mcp.example/team/mcp","authorization_servers":["https://idp.example"]}"#,
      #"{"resource":"https://mcp.example/team/mcp","authorization_servers":"https://idp.example","resource_name":"\ud83d"}"#,
    ])
  func lenient(document: String) throws {
    let place = ResourceMetadata.places(for: server, named: nil)[0]
    let wide = document.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    for bytes in [Array(document.utf8), wide] {
      let read = try bytes.withUnsafeBytes { try ResourceMetadata($0, from: place, of: server) }
      #expect(read.authorizationServers == ["https://idp.example"])
    }
  }

  @Test(
    "an authorization server on this machine is for a resource on this machine alone",
    arguments: [
      ("https://mcp.example", "http://127.0.0.1:631", false), ("https://mcp.example", "https://localhost", false),
      ("https://mcp.example", "http://[::1]", false), ("https://mcp.example", "https://idp.example", true),
      ("http://127.0.0.1:8000", "http://localhost:9000", true),
    ])
  func localAuthorizationServer(server: String, issuer: String, isAccepted: Bool) {
    let url = HTTPURL(server)!
    let document = #"{"resource":"\#(server)","authorization_servers":["\#(issuer)"]}"#
    let place = ResourceMetadata.places(for: url, named: nil)[0]
    Array(document.utf8).withUnsafeBytes { bytes in
      let read = try? ResourceMetadata(bytes, from: place, of: url)
      #expect((read != nil) == isAccepted)
    }
  }

  @Test func providerName_isValid_andTellsResourcesApart() {
    let hosts = ["mcp.example", "::1", String(repeating: "a", count: 200), "UPPER.example"]
    var names: Set<String> = []
    for host in hosts {
      for resource in ["https://mcp.example/a", "https://mcp.example/b"] {
        let name = ProviderNaming.name(issuer: "https://idp.example", resource: resource, host: host)
        #expect(ProviderName(name) != nil && name.hasPrefix("mcp-"))
        #expect(name == ProviderNaming.name(issuer: "https://idp.example", resource: resource, host: host))
        names.insert(name)
      }
    }
    #expect(names.count == 8)
  }

  @Test func scopes_areThoseOfTheChallenge_elseOfTheMetadata_elseNone() {
    let challenges = AuthenticationChallenge.all(
      in: [#"Basic realm="x", Bearer error="insufficient_scope", scope="a b a""#])
    #expect(ScopeChoice.isInsufficient(challenges))
    let challenged = ScopeChoice.challenged(challenges)
    #expect(challenged == ["a", "b", "a"])
    #expect(ScopeChoice.first(challenged: ["a"], metadata: ["b"], supported: []) == ["a"])
    let offline = ["offline_access"]
    #expect(ScopeChoice.first(challenged: nil, metadata: ["b"], supported: offline) == ["b", "offline_access"])
    #expect(ScopeChoice.first(challenged: nil, metadata: nil, supported: offline) == [])
    #expect(ScopeChoice.union(["a"], ["b", "a"], []) == ["a", "b"])
  }

  @Test func signIns_areCountedForEachOperation() {
    var count = SignInCount()
    for _ in 0..<SignInCount.maximum {
      #expect(count.mayAsk(for: "tools/call a"))
      count.asked(for: "tools/call a")
    }
    #expect(!count.mayAsk(for: "tools/call a") && count.mayAsk(for: "tools/call b"))
    count.succeeded("tools/call a")
    #expect(count.mayAsk(for: "tools/call a"))
  }

  @Test func pendingSignIn_isReadAsItWasWritten_andNothingElse() {
    let pending = PendingSignIn(provider: "p", signIn: "sgn_1", page: "https://idp.example/?a=\"", account: nil)
    #expect(pending.bytes.withUnsafeBytes { PendingSignIn($0) } == pending)
    for text in ["", "{}", "{\"provider\":7}", "x"] {
      #expect(Array(text.utf8).withUnsafeBytes { PendingSignIn($0) } == nil)
    }
  }
}
