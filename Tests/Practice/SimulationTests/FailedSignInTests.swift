import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import Testing

/// A wrong answer of any kind leaves no account, no listener, no timer, no request and no file behind; an account
/// that was to be signed in again stays unchanged.
@Suite struct FailedSignInTests {
  @Test(arguments: Wrong.all) func failedSignIn_leavesNothingBehind(wrong: Wrong) throws {
    try scenario { world in
      // Bob is signed in at the same provider, so that there is an account to damage.
      let provider = try await world.provider("idp", options: Scene.options, more: wrong.more)
      let bob = try await world.signIn("bob", at: provider, alias: "home")
      let before = try await Traces(of: world, provider, account: bob)
      let error = try await wrong.attempt(world, provider, "")
      #expect(error.code == wrong.code, "\(wrong.name): \(error)")
      #expect(error.reason == wrong.reason, "\(wrong.name): \(error)")
      try await before.areAll(in: world, provider, account: bob, wrong)
      // One failure does not prevent the next sign-in.
      provider.idp.clearFaults()
      try await world.signIn("alice", at: provider, alias: "work")
    }
  }

  /// A failed sign-in of an existing account changes nothing of it.
  @Test(arguments: Wrong.all + Wrong.otherIdentity)
  func failedSignInOfAnExistingAccount_changesNothing(wrong: Wrong) throws {
    try scenario { world in
      let provider = try await world.provider("idp", options: Scene.options, more: wrong.more)
      let alice = try await world.signIn("alice", at: provider, alias: "work")
      let before = try await Traces(of: world, provider, account: alice)
      let error = try await wrong.attempt(world, provider, #","account":"\#(alice)""#)
      #expect(error.code == wrong.code, "\(wrong.name): \(error)")
      #expect(error.reason == wrong.reason, "\(wrong.name): \(error)")
      try await before.areAll(in: world, provider, account: alice, wrong)
      provider.idp.clearFaults()
      #expect(try await world.signIn("alice", at: provider, again: alice) == alice)
    }
  }

  /// Everything on a machine that a sign-in could change.
  struct Traces: Sendable {
    let accounts: String
    let session: String
    let token: String
    let rights: String
    let stepUp: String
    let refreshTokens: Set<String>

    init(of world: SimulatedWorld, _ provider: SimulatedProvider, account: String) async throws {
      let client = try world.client()
      accounts = await client.call("account.list").line ?? ""
      let selector = #"{"account":"\#(account)"}"#
      session = "\(await client.call("session.get", selector).result?["generation"]?.integerValue ?? -1)"
      token = await client.call("token.get", selector)["accessToken"] ?? ""
      rights = "\(await client.call("snapshot.get", selector))"
      stepUp = "\(await client.call("stepUp.status", selector))"
      refreshTokens = Set(provider.idp.activeRefreshTokens())
      client.disconnect()
    }

    func areAll(
      in world: SimulatedWorld, _ provider: SimulatedProvider, account: String, _ wrong: Wrong,
      sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
      let name = wrong.name
      #expect(world.browser.listening.isEmpty, "\(name)", sourceLocation: sourceLocation)
      // Tokens without an account are revoked soon, and then no request follows.
      await world.clock.sleep(for: .seconds(30))
      let asked = world.network.sent.count
      await world.clock.sleep(for: .seconds(60))
      #expect(world.network.sent.count == asked, "\(name): a request was still sent", sourceLocation: sourceLocation)
      let after = try await Traces(of: world, provider, account: account)
      if !wrong.isUnheard {
        #expect(after.refreshTokens == refreshTokens, "\(name)", sourceLocation: sourceLocation)
      }
      #expect(after.rights == rights, "\(name)", sourceLocation: sourceLocation)
      #expect(after.stepUp == stepUp, "\(name)", sourceLocation: sourceLocation)
      #expect(after.session == session, "\(name)", sourceLocation: sourceLocation)
      #expect(after.token == token, "\(name)", sourceLocation: sourceLocation)
      #expect(after.accounts == accounts, "\(name)", sourceLocation: sourceLocation)
      let waiting = try await world.client().call("revocation.list").result?["revocations"]?.arrayValue
      #expect(waiting?.isEmpty == true, "\(name)", sourceLocation: sourceLocation)
      // The store holds one account.
      world.crash()
      let partitions = try world.tamper { try $0.partitions().filter { $0 != .vault }.count }
      #expect(partitions == 1, "\(name)", sourceLocation: sourceLocation)
      try await world.restart()
    }
  }

  /// One kind of failure.
  struct Wrong: Sendable, CustomTestStringConvertible {
    var name: String
    var code = 2007
    var reason: String?
    /// Members of `provider.add`.
    var more: String?
    /// The response with the tokens could not be read here, so they can't be revoked.
    var isUnheard = false
    /// The redirect that the browser brings back.
    var location: @Sendable (PracticeProvider, String) throws -> String = { try $0.authorize(url: $1, as: "alice") }
    /// Runs before the browser comes back.
    var prepare: @Sendable (SimulatedWorld, PracticeProvider, SimulatedClient, String) async throws -> Void = {
      _, _, _, _ in
    }

    var testDescription: String { name }

    /// A browser sign-in that meets this failure; returns the answer of `signIn.wait`.
    func attempt(
      _ world: SimulatedWorld, _ provider: SimulatedProvider, _ more: String
    ) async throws -> SimulatedAnswer {
      let client = try world.client()
      let begun = await client.call("signIn.begin", #"{"provider":"idp","flow":"browser"\#(more)}"#)
      let id = try #require(begun["signIn"], "\(begun)")
      let location = try location(provider.idp, try #require(begun["authorizationUrl"]))
      try await prepare(world, provider.idp, client, id)
      let page = await world.browser.visit(location)
      #expect(page?.status != 200, "\(name)")
      let ended = await client.call("signIn.wait", #"{"signIn":"\#(id)"}"#)
      #expect(await world.browser.visit(location) == nil, "\(name): a listener is good for one answer")
      client.disconnect()
      return ended
    }
  }
}

extension FailedSignInTests.Wrong {
  static let all = answers + endpoints + idTokens + machine

  /// Failures in the redirect.
  private static let answers: [Self] = [
    changed("no code", "malformedAnswer", "code=[^&]*", "code="),
    changed("an invented code", "refused", "code=[^&]*", "code=invented"),
    changed("another issuer", "issuerMismatch", "iss=[^&]*", "iss=https://evil.test"),
    changed("no issuer", "issuerMismatch", "&?iss=[^&]*", ""),
    Self(name: "the person said no", reason: "denied", location: { try $0.denyAuthorization(url: $1) }),
  ]

  /// Failures of the provider's endpoints.
  private static let endpoints: [Self] = [
    Self(name: "a refused client", code: 3003, reason: "invalid_client", fault: .error("invalid_client", status: 401)),
    Self(name: "a dead token endpoint", code: 3002, reason: "status503", fault: .status(503)),
    Self(name: "a page for people", code: 3002, reason: "notAnOAuthAnswer", fault: Fault(.notJSON)),
    Self(name: "a lost answer", reason: "answerLost", isUnheard: true, fault: Fault(.dropAfterProcessing)),
    Self(name: "a cut answer", reason: "answerLost", isUnheard: true, fault: Fault(.truncatedBody(bytes: 10))),
    Self(name: "an answer without end", reason: "answerLost", fault: Fault(.endlessBody)),
    Self(name: "a huge answer", reason: "answerLost", isUnheard: true, fault: Fault(.hugeBody(bytes: 8 << 20))),
    Self(name: "silence", reason: "answerLost", isUnheard: true, fault: Fault(.hangAfterProcessing)),
    Self(
      name: "no tokens at all", code: 3002, reason: "notAnOAuthAnswer", isUnheard: true,
      fault: Fault(.changeAnswer(["access_token": .null, "refresh_token": .null]))),
    Self(
      name: "no access token", reason: "invalidTokenResponse", fault: Fault(.changeAnswer(["access_token": .null]))),
    Self(name: "no keys", reason: "invalidIdToken", fault: .status(500, count: nil), at: "/jwks"),
  ]

  /// Another identity than Alice at Acme, whose account was named.
  static let otherIdentity: [Self] = [
    Self(name: "another person", reason: "identityMismatch", location: { try $0.authorize(url: $1, as: "bob") }),
    Self(
      name: "another person of the tenant", reason: "identityMismatch",
      location: { try $0.authorize(url: $1, as: "carol") }),
    Self(
      name: "the person at another tenant", reason: "identityMismatch", more: #","tenant":{"claim":"tid"}"#,
      fault: Fault(.changeIDToken(["tid": "globex"]))),
  ]

  private static let idTokens: [Self] =
    SignInTests.IDTokenFlaw.all.map { flaw in
      Self(
        name: flaw.name, reason: "invalidIdToken", fault: Fault(.changeIDToken(flaw.claims, signature: flaw.signature)))
    } + [
      Self(name: "no ID token", reason: "invalidIdToken", fault: Fault(.changeAnswer(["id_token": .null]))),
      Self(
        name: "no tenant where one belongs", reason: "identityMismatch", more: #","tenant":{"claim":"tid"}"#,
        prepare: { _, idp, _, _ in
          idp.enqueueFault("/token", Fault(.changeIDToken(["tid": nil])))
          idp.enqueueFault("/userinfo", Fault(.changeAnswer(["tid": .null])))
        }),
    ]

  /// Events on this machine meanwhile.
  private static let machine: [Self] = [
    Self(name: "a full disk", code: 5001, reason: "diskFull") { world, _, _, _ in world.failCommit(1, with: .full) },
    Self(name: "a cancellation", reason: "cancelled") { _, _, client, id in
      #expect(await client.call("signIn.cancel", #"{"signIn":"\#(id)"}"#).error == nil)
    },
    Self(name: "no visit in time", reason: "expired") { world, _, _, _ in
      await world.clock.sleep(for: .seconds(601))
    },
  ]

  private static func changed(_ name: String, _ reason: String, _ pattern: String, _ replacement: String) -> Self {
    Self(
      name: name, reason: reason,
      location: { idp, url in
        try idp.authorize(url: url, as: "alice").replacing(try Regex(pattern), with: replacement)
      })
  }

  private init(
    name: String, code: Int = 2007, reason: String? = nil, more: String? = nil, isUnheard: Bool = false,
    fault: Fault, at path: String = "/token"
  ) {
    self.init(name: name, code: code, reason: reason, more: more, isUnheard: isUnheard) { _, idp, _, _ in
      idp.enqueueFault(path, fault)
    }
  }

  private init(
    name: String, code: Int = 2007, reason: String? = nil, more: String? = nil,
    isUnheard: Bool = false,
    prepare: @escaping @Sendable (SimulatedWorld, PracticeProvider, SimulatedClient, String) async throws -> Void
  ) {
    self.init(
      name: name, code: code, reason: reason, more: more, isUnheard: isUnheard,
      location: { try $0.authorize(url: $1, as: "alice") }, prepare: prepare)
  }
}
