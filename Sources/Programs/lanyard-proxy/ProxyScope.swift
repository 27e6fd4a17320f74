import AgentCore
import AgentModel
import CommandSupport
import JSONRPC
import ProxyCore
import StreamingHTTP

/// What a proxy may forward, read from the agent at its start: accounts and origins. The agent decides each request again, and
/// says how its server is reached and trusted.
struct ProxyScope: Sendable {
  struct Account: Sendable {
    let id: String
    let label: String
    let origins: AllowedOrigins
    /// What its provider lists.
    let allowance: ProviderAllowance
    /// Which names its requests may have.
    let names: RequestNames
    /// Where its secret stands; nil for tokens.
    let placement: SecretPlacement?
    /// The variables in which programs look for its secret.
    let environment: [String]
  }

  struct Grant: Sendable {
    let id: String
    let client: String
  }

  /// In the agent's order.
  let accounts: [Account]
  let grant: Grant?
  /// The person named the account.
  let isAccountNamed: Bool
  /// The id of the account that requests prefer where several fit: of `LANYARD_ACCOUNT` or a `.lanyard` file, as they
  /// were at the start.
  let preferred: String?
  let origins: AllowedOrigins
  /// Where programs pass without a token.
  let passes: PassedOrigins
  /// What of that the person said at the start of this proxy; nil: what its grant says.
  let passOption: PassedOrigins?
  /// How its accounts have a secret before the path.
  let secretPaths: [SecretTemplate]
  /// By variable: what its programs get in place of a secret.
  let placeholders: [String: String]
  /// By account: no two accounts share a connection.
  let clients: [String: HTTPClient]

  /// - Throws: also where nothing would be forwarded.
  init(_ options: Options, via agent: inout AgentConnection) throws(CommandFailure) {
    let known = try Self.grant(options.grant, via: &agent)
    grant = known.map { Grant(id: $0.id, client: $0.client) }
    isAccountNamed = options.account != nil
    let named = try options.account.map { (name) throws(CommandFailure) in
      try AccountSelection.choose(argument: name).asking(via: &agent, Self.id)
    }
    preferred = try named == nil ? Self.preferred(via: &agent) : nil
    let providers = try Self.providers(via: &agent)
    var client = HTTPClientSettings()
    // Otherwise kept connections of a burst are closed while the next request opens one.
    client.maximumIdleConnections = 32
    var (accounts, clients): ([Account], [String: HTTPClient]) = ([], [:])
    try agent.call("account.list") { (result) throws(CommandFailure) in
      for node in result["accounts"].map({ Array($0.elements) }) ?? [] {
        guard let id = (node["id"] ?? node["account"])?.string, let provider = node["provider"]?.string,
          let provider = providers[provider], named == nil || named == id, known?.accounts.contains(id) ?? true
        else { continue }
        var origins = AllowedOrigins(provider.allowance.origins)
        if let limited = known?.origins { origins = origins.narrowed(to: limited) }
        if !options.allow.isEmpty { origins = origins.narrowed(to: options.allow) }
        accounts.append(
          Account(
            id: id, label: node["alias"]?.string ?? id, origins: origins, allowance: provider.allowance,
            names: RequestNames(allowed: provider.allowance.fields, placing: provider.placement),
            placement: provider.placement, environment: provider.environment))
        clients[id] = HTTPClient(client)
      }
    }
    if let named, !accounts.contains(where: { $0.id == named }) {
      throw CommandFailure(
        .denied, name: "notPermitted",
        "The grant \(known?.client ?? "") does not cover the account \(options.account ?? named).")
    }
    self.accounts = accounts
    origins = AllowedOrigins(accounts.flatMap(\.origins.all))
    secretPaths = accounts.compactMap { if case .path(let template)? = $0.placement { template } else { nil } }
    placeholders = options.givesPlaceholders ? Self.placeholders(for: accounts) : [:]
    self.clients = clients
    passes = try Self.passes(options, known, origins)
    let isOfGrant = known != nil && options.pass.isEmpty
    passOption = isOfGrant || passes.isEmpty ? nil : passes
    // Forgotten since: a grant lasts longer than its accounts.
    let lost = accounts.isEmpty ? known.map { "The grant \($0.client) covers no account that is here." } : nil
    guard origins.all.isEmpty, passes.isEmpty, !options.mayForwardNothing else {
      if let lost { Output.note(Text.shown(lost + " No request gets a token: `lanyard help grant create`.")) }
      return
    }
    if let lost {
      throw CommandFailure(
        .other, name: "noOrigins", Text.shown(lost + " The proxy was not started."),
        hints: ["`lanyard grant list` lists them, `lanyard help grant create` shows how to make one."])
    }
    throw Self.withoutOrigins(accounts, providers, wanted: options.allow)
  }

  /// Why a proxy has no origin, with the command that gives it one.
  private static func withoutOrigins(
    _ accounts: [Account], _ providers: [String: Provider], wanted: [String]
  ) -> CommandFailure {
    var told = CommandFailure(
      .other, name: "noOrigins", "No origin is allowed for this proxy, so it was not started.")
    guard let first = accounts.first else {
      let listing = providers.filter { !$0.value.allowance.origins.isEmpty }.keys.min()
      told.message = "There is no account for this proxy, so it was not started."
      told.hints = [
        listing.map { "Sign in: `lanyard login \(ErrorMessages.shellWord($0))`." } ?? "`lanyard login` adds one."
      ]
      return told
    }
    if let told = first.allowance.explaining(told, of: wanted, so: "the proxy was not started") { return told }
    let command = first.allowance.command(addingOrigin: "https://api.example")
    told.hints = [
      "Choose which servers may get a provider's tokens: `\(command)`.",
      "A grant with --origin, and --allow here, narrow that further.",
    ]
    return told
  }

  /// - Throws: for an option that the grant does not cover, or that names an origin of an account of this proxy.
  private static func passes(
    _ options: Options, _ grant: KnownGrant?, _ origins: AllowedOrigins
  ) throws(CommandFailure) -> PassedOrigins {
    let wanted = PassedOrigins(options.pass)
    if let served = wanted.named.sorted().first(where: origins.all.contains) {
      throw .usage(
        "\(served) is an origin of an account of this proxy, whose token its requests get. Leave out --pass \(served).")
    }
    let profiles = PassedOrigins(options.mayPass.filter { !origins.all.contains($0) })
    guard let grant else { return PassedOrigins(wanted.texts + profiles.texts) }
    let passed = PassedOrigins(grant.passOrigins)
    let refused = profiles.texts.filter { !PassedOrigins([$0]).isWithin(passed) }
    if !refused.isEmpty {
      let origins = refused.joined(separator: ", ")
      Output.note(
        Text.shown(
          "The grant \(grant.client) lets no program pass to \(origins), which the profile names. A grant with --pass does: `lanyard help grant create`."
        ))
    }
    guard !options.pass.isEmpty else { return passed }
    guard wanted.isWithin(passed) else {
      let outside = wanted.texts.first { !PassedOrigins([$0]).isWithin(passed) } ?? ""
      throw CommandFailure(
        .denied, name: "notPermitted", "The grant \(grant.client) lets no program pass to \(outside).",
        hints: [
          "`lanyard grant create NAME --can requests --pass \(ErrorMessages.shellWord(outside))` makes a grant that does."
        ])
    }
    return PassedOrigins(wanted.texts + profiles.texts.filter { !refused.contains($0) })
  }

  private static func id(of account: String, via agent: inout AgentConnection) throws(CommandFailure) -> String {
    try agent.call("account.get", params: { $0.member("account", account) }) {
      ($0["id"] ?? $0["account"])?.string ?? ""
    }
  }

  private static func preferred(via agent: inout AgentConnection) throws(CommandFailure) -> String? {
    guard let selection = try AccountSelection.preferred() else { return nil }
    do throws(CommandFailure) { return try id(of: selection.selector, via: &agent) } catch {
      // The caller's grant does not cover it: so it fits no URL here.
      if error.name == "notPermitted" { return nil }
      throw selection.told(error)
    }
  }

  private struct KnownGrant {
    var id: String
    var client: String
    var accounts: Set<String>
    var origins: [String]?
    var passOrigins: [String]
  }

  private static func grant(
    _ name: String?, via agent: inout AgentConnection
  ) throws(CommandFailure) -> KnownGrant? {
    guard let name else { return nil }
    let found = try agent.call("grant.list") { (result) throws(CommandFailure) in
      (result["grants"].map { Array($0.elements) } ?? []).compactMap { node -> KnownGrant? in
        guard let id = node["grant"]?.string, let client = node["client"]?.string, id == name || client == name else {
          return nil
        }
        // What a person added to the grant counts for a proxy that starts then.
        let added = node["additions"].map { list in
          list.elements.flatMap { $0["origins"]?.elements.compactMap(\.string) ?? [] }
        }
        let origins = node["origins"].map { $0.elements.compactMap(\.string) + (added ?? []) }
        return KnownGrant(
          id: id, client: client, accounts: Set(node["accounts"].map { $0.elements.compactMap(\.string) } ?? []),
          origins: origins, passOrigins: node["passOrigins"].map { $0.elements.compactMap(\.string) } ?? [])
      }
    }
    let chosen = found.filter { $0.id == name }.first ?? (found.count == 1 ? found[0] : nil)
    guard let chosen else {
      throw .usage(
        found.isEmpty
          ? "There is no grant \(name)."
          : "Several grants are for \(name). Name one by its id: \(found.map(\.id).joined(separator: ", ")).",
        hints: ["`lanyard grant list` lists them, `lanyard help grant create` shows how to make one."])
    }
    return chosen
  }

  /// The first account in reach whose programs read a variable has it.
  private static func placeholders(for accounts: [Account]) -> [String: String] {
    let all = accounts.filter { !$0.origins.all.isEmpty }
      .flatMap { account in account.environment.map { ($0, Placeholder.text(for: account.id)) } }
    return Dictionary(all) { first, _ in first }
  }

  private struct Provider {
    let allowance: ProviderAllowance
    /// The place of its accounts' secrets; nil for tokens.
    let placement: SecretPlacement?
    let environment: [String]
  }

  private static func providers(via agent: inout AgentConnection) throws(CommandFailure) -> [String: Provider] {
    let names = try agent.call("provider.list") { result in
      (result["providers"].map { Array($0.elements) } ?? []).compactMap { $0["name"]?.string }
    }
    var providers: [String: Provider] = [:]
    for name in names {
      providers[name] = try agent.call("provider.get", params: { $0.member("provider", name) }) { result in
        let node = result["provider"] ?? result
        return Provider(
          allowance: ProviderAllowance(result, of: name), placement: node["placement"].flatMap { SecretPlacement($0) },
          environment: node["environment"].map { $0.elements.compactMap(\.string) } ?? [])
      }
    }
    return providers
  }
}
