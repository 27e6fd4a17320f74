internal import AgentModel
internal import AgentSimulation
internal import Foundation
internal import LoopbackHTTP
internal import PracticeProvider
internal import SchemaKit

/// Directives about providers and their users.
struct ProviderDirectives {
  let stage: Stage
  let playback: Playback

  /// `@provider idp rotation=strict accessTokenLifetime=300s next=/token 400 {"error":"invalid_grant"}`
  func provider(_ arguments: Arguments) throws {
    let name = try arguments.word(0, "a provider's name")
    let provider = try stage.running().provider(name).idp
    var options = provider.options
    for (key, value) in arguments.options { try options.set(key, value) }
    let changed = options
    provider.configure { $0 = changed }
    if let next = arguments.rest {
      let parts = next.split(separator: " ", maxSplits: 1)
      guard parts.count == 2 else { throw Unreadable("expected a path and what happens there") }
      provider.enqueueFault(String(parts[0]), try Fault(scripted: String(parts[1])))
    }
  }

  // MARK: users

  /// `@user idp alice@acme disabled=true roles=a,b entitlements=`
  func user(_ arguments: Arguments) throws {
    try arguments.only("disabled", "roles", "entitlements")
    let provider = try stage.running().provider(try arguments.word(0, "a provider's name")).idp
    func names(_ key: String) -> [String]? { arguments[key].map { $0.split(separator: ",").map(String.init) } }
    try provider.setUser(
      try arguments.word(1, "a person"), disabled: arguments["disabled"].map { $0 == "true" }, roles: names("roles"),
      entitlements: names("entitlements"))
  }

  /// `@revoke idp alice@acme`: an administrator ends all grants of this user.
  func revoke(_ arguments: Arguments) throws {
    let provider = try stage.running().provider(try arguments.word(0, "a provider's name")).idp
    try provider.revokeAll(user: try arguments.word(1, "a person"))
  }

  /// `@refresh-token rt provider=idp user=alice`: a token that another program was issued, bound as a secret.
  func refreshToken(_ arguments: Arguments) throws {
    try arguments.only("provider", "user")
    let provider = try stage.running().provider(arguments["provider"] ?? "idp").idp
    let issued = try provider.signIn(user: arguments["user"] ?? "alice@acme")
    guard let token = issued.refreshToken else { throw Unreadable("the provider issued no refresh token") }
    playback.bindings.bind(try arguments.word(0, "a name"), .string(token), isSecret: true)
  }

  /// `@secret key provider=idp user=alice`: a key that the person made at the provider's `/keyed/`, bound as a secret;
  /// `@secret key provider=idp end`: it is ended there.
  func secret(_ arguments: Arguments) throws {
    try arguments.only("provider", "user")
    let provider = try stage.running().provider(arguments["provider"] ?? "idp").idp
    let name = try arguments.word(0, "a name")
    if arguments.words.contains("end") {
      provider.endSecret(try playback.bindings.expand("$secret:" + name))
    } else {
      playback.bindings.bind(
        name, .string(try provider.makeSecret(user: arguments["user"] ?? "alice@acme")), isSecret: true)
    }
  }

  /// `@account work provider=idp user=alice tenant=acme`: signs in through the browser, under this alias; the account's
  /// id is bound to its name.
  func account(_ arguments: Arguments) throws {
    try arguments.only("provider", "user", "tenant", "again")
    let alias = try arguments.word(0, "an alias")
    let machine = try stage.running()
    let name = arguments["provider"] ?? "idp"
    let person = try person(arguments)
    let provider = machine.provider(name)
    let world = machine.world
    let isNew = machine.configured.insert(name).inserted
    let again = arguments["again"] == "true"
    let id = try world.drive {
      if isNew, !(try await world.knows(provider)) { try await world.tell(of: provider) }
      return try await world.signIn(person, at: provider, alias: again ? nil : alias, again: again ? alias : nil)
    }
    playback.bindings.bind(alias, .string(id))
  }

  private func person(_ arguments: Arguments) throws -> String {
    guard let user = arguments["user"] else { throw Unreadable("expected user=") }
    return arguments["tenant"].map { "\(user)@\($0)" } ?? user
  }

  /// `@browser $ref:url user=alice tenant=acme [deny] [state=other] [iss=…] [code=…]`: the user signs in at the
  /// provider, and the browser is redirected to the agent.
  func browse(_ arguments: Arguments) throws {
    try arguments.only("user", "tenant", "state", "iss", "code")
    let target = try comingBack(from: try arguments.word(0, "an authorization URL"), arguments)
    let world = try stage.running().world
    Task(executorPreference: world.executor) { _ = await world.browser.visit(target) }
    try stage.settle()
  }

  /// `@redirect answer $ref:url user=alice tenant=acme [deny] [state=other] [iss=…] [code=…] [part=code|query]`: the
  /// same in a browser that cannot reach the agent. Its final URL, or a part of it, is bound as a secret.
  func redirect(_ arguments: Arguments) throws {
    try arguments.only("user", "tenant", "state", "iss", "code", "part")
    let address = try comingBack(from: try arguments.word(1, "an authorization URL"), arguments)
    let parts = URLComponents(string: address)
    let copied =
      switch arguments["part"] {
      case nil: address
      case "query"?: parts?.percentEncodedQuery
      case "code"?: parts?.queryItems?.first { $0.name == "code" }?.value
      case let part?: throw Unreadable("there is no part \(part)")
      }
    guard let copied else { throw Unreadable("the address has no such part") }
    playback.bindings.bind(try arguments.word(0, "a name"), .string(copied), isSecret: true)
  }

  /// `@device idp $ref:code user=alice tenant=acme`, `@device idp $ref:code deny`: the user enters a user code.
  func device(_ arguments: Arguments) throws {
    try arguments.only("user", "tenant")
    let provider = try stage.running().provider(try arguments.word(0, "a provider's name")).idp
    let code = try playback.bindings.expand(try arguments.word(1, "a user code"))
    if arguments.words.contains("deny") {
      try provider.denyDevice(userCode: code)
    } else {
      try provider.approveDevice(userCode: code, as: try person(arguments))
    }
  }

  /// The provider's redirect, with the script's changes.
  private func comingBack(from reference: String, _ arguments: Arguments) throws -> String {
    let machine = try stage.running()
    let url = try playback.bindings.expand(reference)
    guard let provider = machine.providers.values.first(where: { url.hasPrefix($0.idp.issuer + "/") })?.idp else {
      throw Unreadable("no provider of this world has this URL")
    }
    let location =
      arguments.words.contains("deny")
      ? try provider.denyAuthorization(url: url) : try provider.authorize(url: url, as: try person(arguments))
    guard var parts = URLComponents(string: location) else { throw Unreadable("the provider sent the browser nowhere") }
    for key in ["state", "iss", "code"] {
      guard let value = arguments[key] else { continue }
      parts.queryItems = (parts.queryItems ?? []).filter { $0.name != key }
      if value != "none" { parts.queryItems?.append(URLQueryItem(name: key, value: value)) }
    }
    return parts.string ?? location
  }
}
