internal import AgentModel
internal import AgentSimulation
internal import Foundation
internal import LoopbackHTTP
internal import PracticeProvider
internal import SchemaKit

/// Directives about providers and their users.
extension Player {
  /// `@provider idp rotation=strict accessTokenLifetime=300s next=/token 400 {"error":"invalid_grant"}`
  func provider(_ arguments: Arguments) throws {
    let name = try arguments.word(0, "a provider's name")
    let provider = try running().provider(name).idp
    var options = provider.options
    for (key, value) in arguments.options { try Self.set(key, value, of: &options) }
    let changed = options
    provider.configure { $0 = changed }
    if let next = arguments.rest { try fault(next, at: provider) }
  }

  private static func set(_ key: String, _ value: String, of options: inout PracticeOptions) throws {
    func seconds() throws -> Int { Int(try Arguments.duration(value).wholeSeconds) }
    switch key {
    case "rotation":
      let parts = value.split(separator: ":")
      switch parts[0] {
      case "none": options.rotation = .none
      case "strict": options.rotation = .strict
      case "grace": options.rotation = .grace(seconds: parts.count > 1 ? Int(parts[1]) ?? 10 : 10)
      default: throw Unreadable("rotation is none, strict or grace:SECONDS")
      }
    case "accessTokenLifetime": options.accessTokenLifetimeSeconds = try seconds()
    case "refreshTokenLifetime":
      options.refreshTokenLifetimeSeconds = try seconds()
      options.tellsRefreshTokenLifetime = true
    case "refreshIn": options.refreshInSeconds = try seconds()
    case "deviceInterval": options.devicePollingIntervalSeconds = try seconds()
    case "deviceLifetime": options.deviceCodeLifetimeSeconds = try seconds()
    case "accessTokens": options.accessTokenFormat = value == "opaque" ? .opaque : .jwt
    case "idTokenOnRefresh": options.idTokenOnRefresh = value == "true"
    case "metadata":
      guard let layout = MetadataLayout(rawValue: value) else { throw Unreadable("metadata is not \(value)") }
      options.metadata = layout
    case "auth":
      let methods = value.split(separator: ",").map { ClientAuthenticationMethod(rawValue: String($0)) }
      guard !methods.contains(nil) else { throw Unreadable("auth is not \(value)") }
      options.toldAuthenticationMethods = methods.compactMap { $0 }
    case "registration":
      guard let policy = ClientRegistrationPolicy(rawValue: value) else {
        throw Unreadable("registration is not \(value)")
      }
      options.registration = policy
    case "par":
      guard let pushed = PushedAuthorization(rawValue: value) else { throw Unreadable("par is not \(value)") }
      options.pushedAuthorization = pushed
    case "parLifetime": options.pushedRequestLifetimeSeconds = try seconds()
    case "signing":
      guard let algorithm = SigningAlgorithm(rawValue: value) else { throw Unreadable("signing is not \(value)") }
      options.signingAlgorithm = algorithm
    case "clock": options.clockOffsetMilliseconds = try Arguments.difference(value).count
    case "date": options.sendsDate = value == "true"
    case "suberror": options.disabledUserSuberror = value == "none" ? nil : value
    default: throw Unreadable("\(key) is no option of a provider")
    }
  }

  /// `/token [times=2] 400 [Retry-After=7] {…}`, or a fault by its name.
  private func fault(_ text: String, at provider: PracticeProvider) throws {
    let parts = text.split(separator: " ", maxSplits: 1)
    guard parts.count == 2 else { throw Unreadable("expected a path and what happens there") }
    let (path, effect) = (String(parts[0]), String(parts[1]))
    let brace = effect.firstIndex { "{[<".contains($0) } ?? effect.endIndex
    let body = String(effect[brace...])
    let arguments = Arguments(String(effect[..<brace]))
    let word = try arguments.word(0, "a status, or what goes wrong")
    var fault: Fault
    switch word {
    case "drop": fault = Fault(.dropBeforeProcessing)
    case "lose": fault = Fault(.dropAfterProcessing)
    case "hang": fault = Fault(.hangBeforeProcessing)
    case "page": fault = Fault(.notJSON)
    case "delay":
      fault = .delay(milliseconds: Int(try Arguments.duration(try arguments.word(1, "a duration")).count))
    case "answer": fault = Fault(.changeAnswer(try Self.members(body)))
    case "idtoken":
      let signature = arguments["signature"].map { Fault.IDTokenSignature(rawValue: $0) } ?? .good
      guard let signature else { throw Unreadable("there is no such signature") }
      fault = Fault(.changeIDToken(try Self.members(body.isEmpty ? "{}" : body), signature: signature))
    default:
      guard let status = Int(word) else { throw Unreadable("\(word) is nothing that goes wrong") }
      let type = body.hasPrefix("<") ? "text/html" : "application/json"
      let headers = arguments.options.filter { $0.key.first?.isUppercase == true }.map {
        (name: $0.key, value: $0.value)
      }
      fault = .status(status, body, headers: [(name: "Content-Type", value: type)] + headers)
    }
    if let times = arguments["times"] { fault.count = Int(times) }
    provider.enqueueFault(path, fault)
  }

  private static func members(_ text: String) throws -> [String: PracticeJSON] {
    guard let members = (try? JSONValue(parsing: text))?.members else { throw Unreadable("expected a JSON object") }
    return Dictionary(uniqueKeysWithValues: members.map { ($0.name, PracticeJSON($0.value)) })
  }

  // MARK: users

  /// `@user idp alice@acme disabled=true roles=a,b entitlements=`
  func user(_ arguments: Arguments) throws {
    try arguments.only("disabled", "roles", "entitlements")
    let provider = try running().provider(try arguments.word(0, "a provider's name")).idp
    func names(_ key: String) -> [String]? { arguments[key].map { $0.split(separator: ",").map(String.init) } }
    try provider.setUser(
      try arguments.word(1, "a person"), disabled: arguments["disabled"].map { $0 == "true" }, roles: names("roles"),
      entitlements: names("entitlements"))
  }

  /// `@revoke idp alice@acme`: an administrator ends all grants of this user.
  func revoke(_ arguments: Arguments) throws {
    let provider = try running().provider(try arguments.word(0, "a provider's name")).idp
    try provider.revokeAll(user: try arguments.word(1, "a person"))
  }

  /// `@refresh-token rt provider=idp user=alice`: a token that another program was issued, bound as a secret.
  func refreshToken(_ arguments: Arguments) throws {
    try arguments.only("provider", "user")
    let provider = try running().provider(arguments["provider"] ?? "idp").idp
    let issued = try provider.signIn(user: arguments["user"] ?? "alice@acme")
    guard let token = issued.refreshToken else { throw Unreadable("the provider issued no refresh token") }
    bindings.bind(try arguments.word(0, "a name"), .string(token), isSecret: true)
  }

  /// `@account work provider=idp user=alice tenant=acme`: signs in through the browser, under this alias; the account's
  /// id is bound to its name.
  func account(_ arguments: Arguments) throws {
    try arguments.only("provider", "user", "tenant", "again")
    let alias = try arguments.word(0, "an alias")
    let machine = try running()
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
    bindings.bind(alias, .string(id))
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
    let world = try running().world
    Task(executorPreference: world.executor) { _ = await world.browser.visit(target) }
    try settle()
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
    bindings.bind(try arguments.word(0, "a name"), .string(copied), isSecret: true)
  }

  /// `@device idp $ref:code user=alice tenant=acme`, `@device idp $ref:code deny`: the user enters a user code.
  func device(_ arguments: Arguments) throws {
    try arguments.only("user", "tenant")
    let provider = try running().provider(try arguments.word(0, "a provider's name")).idp
    let code = try bindings.expand(try arguments.word(1, "a user code"))
    if arguments.words.contains("deny") {
      try provider.denyDevice(userCode: code)
    } else {
      try provider.approveDevice(userCode: code, as: try person(arguments))
    }
  }

  /// The provider's redirect, with the script's changes.
  private func comingBack(from reference: String, _ arguments: Arguments) throws -> String {
    let machine = try running()
    let url = try bindings.expand(reference)
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

extension PracticeJSON {
  fileprivate init(_ value: JSONValue) {
    switch value {
    case .null: self = .null
    case .bool(let bool): self = .bool(bool)
    case .number(let text): self = Int64(text).map { .integer($0) } ?? .number(Double(text) ?? 0)
    case .string(let text): self = .string(text)
    case .array(let elements): self = .array(elements.map { PracticeJSON($0) })
    case .object(let members): self = .object(members.map { Member($0.name, PracticeJSON($0.value)) })
    }
  }
}
