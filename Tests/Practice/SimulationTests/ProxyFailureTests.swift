import AgentModel
import AgentSimulation
import Testing

/// A proxy that makes no connection is named wherever a request to a provider fails by it.
@Suite struct ProxyFailureTests {
  static let address = "http://proxy.test:3128"

  static func incident(_ cause: ProxyFailure.Cause) -> Incident {
    .notConnected(.proxy(ProxyFailure(cause, of: "http://alice:secret@proxy.test:3128")))
  }

  @Test(
    arguments: [
      (.credentialsMissing, "proxyAuthenticationRequired", "wants credentials"),
      (.credentialsRefused, "proxyAuthenticationRequired", "does not take the credentials"),
      (.status(502), "proxyRefused", "answers with status 502"), (.nameNotFound, "proxyUnreachable", "was not found"),
      (.refused, "proxyUnreachable", "refuses connections"), (.unreachable, "proxyUnreachable", "There is no way"),
      (.other, "proxyUnreachable", "makes no connection"),
      (.untrusted(.unknownAuthority), "proxyUntrusted", "could not be trusted"),
    ] as [(ProxyFailure.Cause, String, String)])
  func refreshThroughAProxyThatRefuses_namesIt(cause: ProxyFailure.Cause, reason: String, words: String) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      world.network.next("/token", Self.incident(cause))
      let refused = try await scene.token(method: "token.refresh")
      #expect(refused.code == 3001 && refused.reason == reason, "\(refused)")
      let line = refused.line ?? ""
      #expect(line.contains(Self.address) && line.contains(words) && line.contains("session is kept"), "\(line)")
      #expect(!line.contains("secret") && !line.contains("alice:"), "\(line)")
      // The session tells why its last refresh failed.
      let client = try world.client()
      let session = await client.call("session.get", #"{"account":"work"}"#)
      #expect(session.line?.contains(reason) == true && session["state"] == "offlineStale", "\(session)")
    }
  }

  @Test func providerBehindAProxyThatRefuses_isNotAdded_andTheProxyNamed() throws {
    try scenario { world in
      world.network.next("/.well-known/openid-configuration", Self.incident(.credentialsMissing), times: nil)
      world.network.next("/.well-known/oauth-authorization-server", Self.incident(.credentialsMissing), times: nil)
      let client = try world.client()
      let refused = await client.call(
        "provider.add", #"{"name":"second","issuer":"https://other.test","clientId":"app"}"#)
      #expect(refused.code == 3001 && refused.reason == "proxyAuthenticationRequired", "\(refused)")
      #expect(refused.line?.contains("The proxy \(Self.address) wants credentials.") == true, "\(refused)")
    }
  }
}
