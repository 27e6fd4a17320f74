import AgentCore
import CommandSupport
import JSONRPC

/// Takes one entry over: its provider, then its refresh token, which the agent uses at once.
struct TakeOver {
  let entry: ImportEntry
  let json: Bool

  struct Outcome {
    let provider: String
    /// False if the provider was there before.
    let isProviderAdded: Bool
    /// Nil if the provider alone was added.
    var account: AccountInfo?
  }

  /// - Throws: after a failure nothing of the entry is left in the agent.
  func run(via agent: inout AgentConnection) throws(CommandFailure) -> Outcome {
    if let key = entry.key { return try take(key, via: &agent) }
    if let machine = entry.machine { return try take(machine, via: &agent) }
    let (provider, isAdded) = try findProvider(via: &agent)
    guard entry.isImportable, let token = entry.refreshToken else {
      return Outcome(provider: provider, isProviderAdded: isAdded)
    }
    do throws(CommandFailure) {
      let id = try Interruption.telling(ImportedToken.goesOn, json: json) { () throws(CommandFailure) in
        try agent.call("signIn.import") { writer in
          writer.member("provider", provider)
          writer.member("refreshToken", secret: token)
        } result: { (result) throws(CommandFailure) in
          guard let account = result["account"]?.string else {
            throw CommandFailure(.other, name: "notUnderstood", "The agent's answer names no account.")
          }
          return account
        }
      }
      var account = try AccountInfo.named(id, via: &agent)
      if account.alias == nil { account = try named(account, via: &agent) }
      return Outcome(provider: provider, isProviderAdded: isAdded, account: account)
    } catch {
      guard isAdded else { throw error }
      try? agent.perform("provider.remove") { $0.member("provider", provider) }
      throw error.afterRemovingProvider(
        error.name == "providerMisconfigured" ? Self.correction : signIn(at: provider))
    }
  }

  private static let correction =
    "What is wrong can be given with the same command: --client-id ID, --client-secret-file FILE, --scope SCOPE."

  /// The commands by which a person signs in where no token could be taken over.
  private func signIn(at provider: String) -> String {
    let issuer = ErrorMessages.shellWord(entry.issuer ?? "URL")
    let client = ErrorMessages.shellWord(entry.clientID ?? "ID")
    let secret = entry.clientSecret == nil ? "" : " --client-secret-file FILE"
    return "Sign in instead: `lanyard provider add \(provider) --issuer \(issuer) --client-id \(client)\(secret)`, "
      + "then `lanyard login \(provider)`."
  }

  /// The provider is asked whose key it is, where it can be: a refused one is not kept.
  private func take(
    _ key: ImportEntry.ServiceKey, via agent: inout AgentConnection
  ) throws(CommandFailure) -> Outcome {
    let known = try ProviderInfo.all(via: &agent)
    let before = try AccountInfo.all(via: &agent)
    let name = Self.free(key.owner.name, among: known.map(\.name))
    let provider = try KeyProvider(key.owner.provider(among: known), orOf: key.owner.service, as: name, via: &agent)
    do throws(CommandFailure) {
      let id = try agent.call("account.add") { writer in
        writer.member("provider", provider.info.name)
        writer.member("secret", secret: key.secret)
      } result: { (result) throws(CommandFailure) in
        guard let account = result["account"]?.string else { throw CommandFailure.notUnderstood }
        return account
      }
      var account = try AccountInfo.named(id, via: &agent)
      if account.alias == nil { account = ProposedAlias.give(to: account, among: before, via: &agent) }
      return Outcome(provider: provider.info.name, isProviderAdded: provider.isAdded, account: account)
    } catch {
      provider.takeBack(via: &agent)
      throw error.offeringAnotherKey(at: provider.info, for: nil)
    }
  }

  /// The provider is asked for a first token: a key that it refuses is not kept.
  private func take(
    _ machine: ImportEntry.Machine, via agent: inout AgentConnection
  ) throws(CommandFailure) -> Outcome {
    let known = try ProviderInfo.all(via: &agent)
    let before = try AccountInfo.all(via: &agent)
    let same = known.first { $0.kind == "client" && $0.clientID == entry.clientID && $0.issuer == entry.issuer }
    let name = same?.name ?? Self.free(Self.providerName(of: entry.name), among: known.map(\.name))
    if same == nil { try add(machine, as: name, via: &agent) }
    do throws(CommandFailure) {
      var account = try AccountInfo.named(try MachineAccount(provider: name).add(via: &agent), via: &agent)
      if account.alias == nil { account = ProposedAlias.give(to: account, among: before, via: &agent) }
      return Outcome(provider: name, isProviderAdded: same == nil, account: account)
    } catch {
      guard same == nil else { throw error }
      try? agent.perform("provider.remove") { $0.member("provider", name) }
      throw error.afterRemovingProvider(Self.correction)
    }
  }

  private func add(
    _ machine: ImportEntry.Machine, as name: String, via agent: inout AgentConnection
  ) throws(CommandFailure) {
    try agent.perform("provider.add") { writer in
      writer.member("name", name)
      writer.member("kind", "client")
      writer.member("issuer", entry.issuer)
      writer.member("clientId", entry.clientID)
      writer.member("clientKey", secret: machine.key)
      writer.member("scopes", ifAny: entry.scopes)
      writer.key("endpoints")
      writer.beginObject()
      writer.member("token", machine.tokenURL)
      writer.endObject()
      writer.key("machine")
      writer.beginObject()
      writer.member("grant", MachineOptions.Grant.jwtBearer.name)
      writer.endObject()
    }
  }

  /// The part of an e-mail address before the `@`, as far as a provider's name can have it.
  private static func providerName(of address: String) -> String {
    let name = address.prefix { $0 != "@" }.lowercased().filter {
      $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-")
    }
    .trimming { $0 == "-" }
    return name.isEmpty ? "machine" : String(name.prefix(60))
  }

  // MARK: the provider

  private func findProvider(via agent: inout AgentConnection) throws(CommandFailure) -> (name: String, isAdded: Bool) {
    let known = try ProviderInfo.all(via: &agent)
    let wanted = entry.issuer ?? ""
    if let found = known.first(where: { fits($0, issuer: wanted) }) { return (found.name, false) }
    let (server, endpoints) = try locate(wanted, via: &agent)
    if let found = known.first(where: { fits($0, issuer: server.issuer) }) { return (found.name, false) }
    let name = Self.free(server.proposedName, among: known.map(\.name))
    try agent.call("provider.add") { writer in
      writer.member("name", name)
      writer.member("issuer", server.issuer)
      writer.member("preset", server.known?.name)
      writer.member("clientId", entry.clientID)
      writer.member("clientSecret", secret: entry.clientSecret)
      writer.member("tokenEndpointAuthMethod", entry.authMethod)
      writer.member("scopes", ifAny: entry.scopesToAdd)
      if let endpoints {
        writer.key("endpoints")
        writer.beginObject()
        writer.member("authorization", endpoints.authorization)
        writer.member("token", endpoints.token)
        writer.endObject()
      }
    } result: { (_) throws(CommandFailure) in
    }
    return (name, true)
  }

  private func fits(_ provider: ProviderInfo, issuer: String) -> Bool {
    provider.clientID == entry.clientID && Self.plain(provider.issuer) == Self.plain(issuer)
  }

  /// Programs write an issuer with and without its last slash.
  private static func plain(_ issuer: String) -> Substring { issuer.hasSuffix("/") ? issuer.dropLast() : issuer[...] }

  /// The issuer as the server writes it. It must be the entry's: the token goes to no other server. The endpoints of the
  /// entry are used only at a server without documents, since these also name the keys that sign ID tokens.
  private func locate(
    _ issuer: String, via agent: inout AgentConnection
  ) throws(CommandFailure) -> (FoundServer, ImportEntry.Endpoints?) {
    let server: FoundServer
    do throws(CommandFailure) {
      server = try agent.call("provider.discover", params: { $0.member("url", issuer) }, result: { FoundServer($0) })
    } catch {
      if error.name == "providerMisconfigured", let endpoints = entry.endpoints, let server = Self.silent(issuer) {
        return (server, endpoints)
      }
      guard error.name == "providerMisconfigured" || error.problem?.path == "/url" else { throw error }
      throw CommandFailure(
        .other, name: "providerMisconfigured", "At \(issuer) there is no document that names an issuer.",
        hints: ["If the issuer is another one, name it: --issuer URL."])
    }
    guard server.known != nil && !server.isElsewhere || Self.plain(server.issuer) == Self.plain(issuer) else {
      if let endpoints = entry.endpoints, let server = Self.silent(issuer) { return (server, endpoints) }
      throw CommandFailure(
        .other, name: "providerMisconfigured",
        "The server at \(issuer) says that its issuer is \(server.issuer). The token was not sent to it.",
        hints: ["If that is right: --issuer \(ErrorMessages.shellWord(server.issuer))."])
    }
    return (server, nil)
  }

  /// A server that publishes no documents.
  private static func silent(_ issuer: String) -> FoundServer? {
    var text = JSONWriter()
    text.beginObject()
    text.member("issuer", issuer)
    text.endObject()
    return text.withBytes { bytes in JSONInput.read(bytes) { FoundServer($0) } }
  }

  private static func free(_ name: String, among taken: [String]) -> String {
    guard taken.contains(name) else { return name }
    return (2...).lazy.map { "\(name)-\($0)" }.first { !taken.contains($0) } ?? name
  }

  // MARK: the alias

  /// Gives the account the entry's name, if it can be an alias and no other account has it.
  private func named(_ account: AccountInfo, via agent: inout AgentConnection) throws(CommandFailure) -> AccountInfo {
    guard let alias = Self.alias(of: entry.name) else { return account }
    do throws(CommandFailure) {
      try agent.perform("account.rename") { writer in
        writer.member("account", account.id)
        writer.member("alias", alias)
      }
      return try AccountInfo.named(account.id, via: &agent)
    } catch {
      return account  // the account is there under its id, which is told
    }
  }

  /// With `-` for what an alias can't have; nil if it can't be one.
  static func alias(of name: String) -> String? {
    let plain = name.prefix(64).map { character -> Character in
      character.isASCII && (character.isLetter || character.isNumber || "._@-".contains(character)) ? character : "-"
    }
    let alias = String(plain.drop { !($0.isLetter || $0.isNumber) })
    return alias.isEmpty || alias.hasPrefix("acc_") ? nil : alias
  }
}
