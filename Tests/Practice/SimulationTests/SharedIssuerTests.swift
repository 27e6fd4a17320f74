import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import Testing

/// A provider with one issuer per tenant behind a shared address (Microsoft's `…/common/v2.0`).
@Suite struct SharedIssuerTests {
  private func provider(_ world: SimulatedWorld) -> SimulatedProvider {
    var options = Scene.options
    options.hasIssuerOfEachTenant = true
    return world.makeProvider("idp", host: "idp.test/common/v2.0", options: options)
  }

  private func add(
    _ world: SimulatedWorld, issuer: String = "https://idp.test/common/v2.0", more: String = #","preset":"entra""#
  ) async throws -> SimulatedAnswer {
    try await world.client().call(
      "provider.add", #"{"name":"idp","issuer":"\#(issuer)","clientId":"lanyard-demo"\#(more)}"#)
  }

  @Test func eachTenant_isItsOwnIssuer() throws {
    try scenario { world in
      let provider = provider(world)
      let added = try await add(world)
      #expect(added.error == nil, "\(added)")
      for (person, tenant) in [("alice@acme", "acme"), ("alice@globex", "globex")] {
        let account = try await world.signIn(person, at: provider)
        let shown = try await world.client().call("account.get", #"{"account":"\#(account)"}"#)
        #expect(shown["issuer"] == "https://idp.test/\(tenant)/v2.0")
        #expect(shown["tenant"] == tenant)
        let refreshed = try await world.client().call("token.refresh", #"{"account":"\#(account)"}"#)
        #expect(refreshed["issuer"] == "https://idp.test/\(tenant)/v2.0", "\(refreshed)")
        #expect(try await world.signIn(person, at: provider, again: account) == account)
      }
    }
  }

  @Test func sharedIssuerWithoutItsPreset_isRefused() throws {
    try scenario { world in
      _ = provider(world)
      for more in ["", #","preset":"okta""#] {
        let added = try await add(world, more: more)
        #expect(added.code == 3003, "\(added)")
      }
    }
  }

  /// Its address looks like one that tenants share, and no preset says that it is.
  @Test func refreshedIDTokenOfANeighbour_isAnotherPersonsWithoutThePreset() throws {
    try scenario { world in
      let issuer = "https://idp.test/common/oauth2"
      let provider = world.makeProvider("idp", host: "idp.test/common/oauth2", options: Scene.options)
      let places = ["authorization": "authorize", "token": "token", "introspection": "introspect"]
        .map { #""\#($0.key)":"\#(issuer)/\#($0.value)""# }.joined(separator: ",")
      let added = try await add(
        world, issuer: issuer, more: #","scopes":["profile","offline_access"],"endpoints":{\#(places)}"#)
      #expect(added.error == nil, "\(added)")
      let account = try await world.signIn("alice@acme", at: provider)
      let shown = try await world.client().call("account.get", #"{"account":"\#(account)"}"#)
      let claims = #"{"iss":"https://idp.test/other/oauth2","sub":"\#(shown["subject"] ?? "")"}"#
      let token = "e30." + AgentModel.Base64URL.encode(claims.utf8) + ".c2ln"
      provider.idp.enqueueFault("/token", Fault(.changeAnswer(["id_token": .string(token)])))
      let refreshed = try await world.client().call("token.refresh", #"{"account":"\#(account)"}"#)
      #expect(refreshed.error != nil, "\(refreshed)")
      let session = try await world.client().call("session.get", #"{"account":"\#(account)"}"#)
      #expect(session["state"] != "active", "\(session)")
    }
  }

  @Test(
    arguments: [
      ["iss": "https://idp.test/globex/v2.0"], ["tid": "globex"], ["tid": nil], ["tid": "acme/../globex"],
      ["iss": "https://idp.test/common/v2.0"], ["iss": "https://idp.test/{tenantid}/v2.0", "tid": "{tenantid}"],
      ["iss": "https://idp.test/{tenantid}/v2.0", "tid": nil], ["iss": "https://else.test/acme/v2.0"],
    ] as [[String: String?]]) func idTokenOfAnotherIssuer_isNotBelieved(claims: [String: String?]) throws
  {
    try scenario { world in
      let provider = provider(world)
      _ = try await add(world)
      provider.idp.enqueueFault(
        "/token", Fault(.changeIDToken(claims.mapValues { $0.map { PracticeJSON.string($0) } ?? .null })))
      let begun = try await world.client().call("signIn.begin", #"{"provider":"idp","flow":"browser"}"#)
      _ = await world.browser.visit(
        try provider.idp.authorize(url: try #require(begun["authorizationUrl"]), as: "alice@acme"))
      let ended = try await world.client().call("signIn.wait", #"{"signIn":"\#(begun["signIn"] ?? "")"}"#)
      #expect(ended.reason == "invalidIdToken", "\(ended)")
      let accounts = try await world.client().call("account.list")
      #expect(accounts.json["result", "accounts"]?.arrayValue?.isEmpty == true)
    }
  }
}
