internal import AgentModel
internal import CommandSupport
internal import JSONRPC
internal import MCPBridge

/// A provider of the agent that is about the server.
struct ServerProvider {
  let name: String
  /// Its accounts sign in; false for keys and machine identities.
  let hasSignIn: Bool
  /// Empty for a provider of keys.
  let issuer: String
  let clientID: String?
  let scopes: [String]
  let resources: [String]
  /// Its accounts are the person at its resource.
  let isForResource: Bool

  init?(_ node: JSONNode) {
    guard let name = node["name"]?.string else { return nil }
    self.name = name
    hasSignIn = node["kind"].map { $0.isText("openid") } ?? true
    issuer = node["issuer"]?.string ?? ""
    clientID = node["clientId"]?.string
    scopes = node["scopes"]?.elements.compactMap(\.string) ?? []
    resources = node["resources"]?.elements.compactMap(\.string) ?? []
    isForResource = node["identity"]?.string == "resource"
  }

  /// It is of what the server's metadata names now.
  func isOf(_ issuer: String, _ resource: String) -> Bool {
    equalCodePoints(self.issuer, issuer) && (!isForResource || resources.contains(resource))
  }

  /// Its accounts are for this server: made for it, or one that the person allowed to send tokens there.
  static func fits(_ node: JSONNode, _ server: HTTPURL) -> Bool { isMade(node, for: server) || isAllowed(node, server) }

  /// Its accounts are the person at this server.
  static func isMade(_ node: JSONNode, for server: HTTPURL) -> Bool {
    guard node["identity"]?.string == "resource" else { return false }
    return node["resources"]?.elements.contains { resource in
      guard let url = resource.string.flatMap({ HTTPURL($0) }) else { return false }
      return Resource.isSame(url, server) || Resource.isAbove(url, server)
    } ?? false
  }

  /// A provider that was made for one resource lists that resource's origin by itself: its tokens are not for another
  /// resource there.
  private static func isAllowed(_ node: JSONNode, _ server: HTTPURL) -> Bool {
    let isOfAnother = node["identity"]?.string == "resource" && lists(node["resources"], server)
    return !isOfAnother && lists(node["allowedOrigins"], server)
  }

  private static func lists(_ urls: JSONNode?, _ server: HTTPURL) -> Bool {
    urls?.elements.contains { $0.string.flatMap { HTTPURL($0) }?.origin == server.origin } ?? false
  }
}

/// The account whose tokens the server gets.
struct ServerAccount {
  let id: String
  let label: String
  let provider: ServerProvider
}

/// Finds the account of the server (docs/mcp.md, Whose account).
struct AccountSearch {
  let options: Options
  let link: AgentPool
  /// The authorization server and the resource that the server's metadata names now; nil before it was asked.
  var named: (issuer: String, resource: String)?

  /// The account; nil if there is none.
  ///
  /// - Throws: a failure that names the accounts, if the person has to choose.
  func account() throws(BridgeFailure) -> ServerAccount? {
    do throws(CommandFailure) {
      let (fitting, made) = try providers()
      if let named = options.account { return try account(named, among: fitting) }
      if let preferred = try AccountSelection.preferred(), let found = try account(preferred, among: fitting) {
        return found
      }
      return try only(among: made)
    } catch {
      throw BridgeFailure(error)
    }
  }

  /// All providers that fit, and those that were made for the server.
  private func providers() throws(CommandFailure) -> (fitting: [ServerProvider], made: [ServerProvider]) {
    try link.call("provider.list") { _ in
    } result: { result in
      var (fitting, made): ([ServerProvider], [ServerProvider]) = ([], [])
      for node in result["providers"].map({ Array($0.elements) }) ?? [] {
        guard let provider = ServerProvider(node), ServerProvider.fits(node, options.url) else { continue }
        fitting.append(provider)
        guard ServerProvider.isMade(node, for: options.url) || provider.name == options.name else { continue }
        if let name = options.name, provider.name != name { continue }
        made.append(provider)
      }
      return (fitting, made)
    }
  }

  /// The account that the person prefers; nil if it does not fit.
  private func account(
    _ preferred: AccountSelection, among fitting: [ServerProvider]
  ) throws(CommandFailure) -> ServerAccount? {
    do throws(CommandFailure) {
      let found = try known(preferred.selector)
      return fitting.first { $0.name == found.provider }
        .map { ServerAccount(id: found.id, label: found.label, provider: $0) }
    } catch {
      throw preferred.told(error)
    }
  }

  /// The account of `--account`. One that does not fit is refused.
  private func account(_ selector: String, among fitting: [ServerProvider]) throws(CommandFailure) -> ServerAccount {
    let found = try known(try located(selector))
    guard let provider = fitting.first(where: { $0.name == found.provider }) else {
      // The tokens of a provider that was made for a resource are for that one alone.
      let command = try link.call("provider.get", params: { $0.member("provider", found.provider) }) { result in
        (result["provider"] ?? result)["identity"]?.isText("resource") == true
          ? nil : ProviderAllowance(result, of: found.provider).command(addingOrigin: options.url.origin)
      }
      throw CommandFailure(
        .other, name: "originNotAllowed",
        "The account \(selector) is not for \(options.url.origin), so its token was not sent there.",
        hints: [
          "Leave out --account to sign in to this server"
            + (command.map { ", or, if its tokens are meant for it, `\($0)`." } ?? ".")
        ])
    }
    return ServerAccount(id: found.id, label: found.label, provider: provider)
  }

  private func known(_ selector: String) throws(CommandFailure) -> (id: String, label: String, provider: String) {
    try link.call("account.get") {
      $0.member("account", selector)
    } result: { (node) throws(CommandFailure) in
      guard let id = node["id"]?.string, let provider = node["provider"]?.string else { throw .notUnderstood }
      return (id, Self.label(node), provider)
    }
  }

  /// An e-mail address or a name counts on the command line alone: the provider chooses it (`AccountSelection.located`).
  private func located(_ selector: String) throws(CommandFailure) -> String {
    guard !selector.hasPrefix("acc_"), !selector.hasPrefix("@") else { return selector }
    do throws(CommandFailure) {
      return try link.call("account.resolve") {
        $0.member("selector", selector)
      } result: {
        $0["account"]?.string ?? selector
      }
    } catch {
      guard error.name == "accountAmbiguous" else { return selector }
      throw error
    }
  }

  /// The only account of the providers that were made for the server.
  private func only(among providers: [ServerProvider]) throws(CommandFailure) -> ServerAccount? {
    let current = named.map { named in providers.filter { $0.isOf(named.issuer, named.resource) } } ?? providers
    guard !current.isEmpty else { return nil }
    let accounts = try link.call("account.list") { _ in
    } result: { result in
      result["accounts"].map { list in
        list.elements.compactMap { node -> ServerAccount? in
          guard let id = node["id"]?.string, let name = node["provider"]?.string,
            let provider = current.first(where: { $0.name == name }),
            node["subject"]?.string?.hasPrefix("erased:") != true
          else { return nil }
          return ServerAccount(id: id, label: Self.label(node), provider: provider)
        }
      } ?? []
    }
    guard accounts.count > 1 else { return accounts.first }
    // The authorization server has changed, or there are several: which one counts, the server says by its refusal.
    if named == nil, Set(accounts.map(\.provider.name)).count > 1 { return nil }
    let names = accounts.map(\.label).sorted().joined(separator: ", ")
    throw CommandFailure(
      .other, name: "accountAmbiguous", "Several accounts are signed in to this server: \(names).",
      hints: ["Name one: `lanyard mcp \(options.urlText) --account \(accounts[0].label)`, or in LANYARD_ACCOUNT."])
  }

  private static func label(_ node: JSONNode) -> String {
    node["alias"]?.string ?? node["email"]?.string ?? node["id"]?.string ?? ""
  }
}

extension BridgeFailure {
  /// A failure of the agent, in the words of the command line.
  init(_ failure: CommandFailure) {
    let told = failure.namingAccount()
    let hints = told.hints.prefix(3).map { " " + $0 }.joined()
    self.init(
      Code.authorizationFailed, failure.name, "\(told.message)\(hints) The request was not carried out.")
  }

  /// A failure of the agent about an account's token. A server that has forgotten the client that it registered refuses
  /// each exchange, until the provider is removed and made anew.
  init(_ failure: CommandFailure, of account: ServerAccount) {
    self.init(failure)
    guard failure.name == "providerMisconfigured" else { return }
    let label = ErrorMessages.shellWord(account.label)
    message += """
       If the server has forgotten the client that it registered, begin again: `lanyard logout \(label)`, \
      `lanyard forget \(label)`, `lanyard provider remove \(account.provider.name)`, then repeat the call.
      """
  }
}
