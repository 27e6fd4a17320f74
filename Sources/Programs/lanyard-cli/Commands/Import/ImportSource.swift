import AgentCore
import CommandSupport
import JSONRPC

/// The store of another program: what is in it, and how an entry is removed from it.
protocol ImportSource {
  /// The program, as a person calls it.
  var program: String { get }

  /// Reads the store and changes nothing.
  ///
  /// - Throws: a failure that names the file and what was expected in it.
  func entries() throws(CommandFailure) -> [ImportEntry]

  /// Removes the token of an entry, if it is still the one that was read. Says where from.
  func remove(_ entry: ImportEntry) throws(CommandFailure) -> String

  /// How the other program gets its tokens from the account instead: one step each.
  func switchOver(to account: String) -> [String]

  /// What a person should know after so many were taken over, before these steps.
  func warning(afterTaking count: Int) -> String

  /// What of an entry that was taken over can go by hand; nil if nothing is left for that.
  func leftover(of entry: ImportEntry) -> String?
}

extension ImportSource {
  func warning(afterTaking count: Int) -> String {
    "The agent refreshes \(count == 1 ? "it" : "them") now, so the next refresh of \(program) may be refused. "
      + "Let the program ask Lanyard:"
  }

  func leftover(of entry: ImportEntry) -> String? { nil }
}

/// What the command line says about the store.
struct ImportRequest {
  let file: String?
  let passphraseFile: String?
  let common: CommonOptions
}

/// One account in the store of another program.
struct ImportEntry {
  /// Its name there; unique among the entries.
  var name: String
  /// Nil if the store does not tell, or for what is no account of OAuth.
  var issuer: String?
  /// Shown where there is no issuer.
  var server: String?
  var user: String?
  var clientID: String?
  var clientSecret: HeldBytes?
  /// How the client was registered to authenticate (OpenID Connect Core §9).
  var authMethod: String?
  var scopes: [String] = []
  /// For servers without discovery.
  var endpoints: Endpoints?
  var refreshToken: HeldBytes?
  /// A key of a service, in place of a refresh token.
  var key: ServiceKey?
  /// A machine identity, in place of a refresh token.
  var machine: Machine?
  /// Why there is no refresh token.
  var lack = "it has no refresh token"
  /// Adding its provider is a step forward, also without a token.
  var offersProvider = false
  /// The account that answers for it already.
  var answeredBy: String?
  /// What a person can do where it can't be taken over.
  var advice: [String] = []
  /// The scopes of a provider that is added for it: a sign-in there has to say who signed in.
  var scopesToAdd: [String] {
    if case .provider = verdict, !namesPerson { return ["openid"] + scopes }
    return scopes
  }

  /// Where it is in the store, for `ImportSource.remove`.
  var place = ""

  struct Endpoints {
    let authorization: String
    let token: String
  }

  /// Who gave a key, as the name of its variable tells.
  enum KeyOwner {
    case service(CatalogueEntry)
    /// A provider of the person's own, which names the variable.
    case provider(ProviderInfo)

    var name: String {
      switch self {
      case .service(let service): service.name
      case .provider(let provider): provider.name
      }
    }

    var service: CatalogueEntry? { if case .service(let service) = self { service } else { nil } }

    func isSame(as other: KeyOwner) -> Bool {
      switch (self, other) {
      case (.service, .service), (.provider, .provider): name == other.name
      case (.service, .provider), (.provider, .service): false
      }
    }

    /// Its provider, if there is one.
    func provider(among known: [ProviderInfo]) -> ProviderInfo? {
      switch self {
      case .service(let service): known.first { $0.kind == "secret" && $0.preset == service.name }
      case .provider(let provider): provider
      }
    }
  }

  /// A key in variables of an environment.
  struct ServiceKey {
    let owner: KeyOwner
    let secret: HeldBytes
    let variables: [String]
    /// Where they stand, from 1.
    let lines: [Int]
  }

  /// What the assertions of a machine are signed with, and where they go.
  struct Machine {
    let key: HeldBytes
    let tokenURL: String
  }

  enum Verdict {
    case token
    case key(ServiceKey)
    case machine(Machine)
    /// The provider can be added; the person signs in then.
    case provider(String)
    case none(String)
  }

  /// Whether it can be taken over.
  var verdict: Verdict {
    if let key { return .key(key) }
    if let machine { return .machine(machine) }
    guard refreshToken != nil else {
      return offersProvider && issuer != nil && clientID != nil ? .provider(lack) : .none(lack)
    }
    if issuer == nil { return .none("its issuer is not known: --issuer URL") }
    if clientID == nil { return .none("its client id is not known: --client-id ID") }
    // The agent refuses a token whose person the server does not name, and revokes it: the other program would lose it.
    if scopes.isEmpty { return .none("its scopes are not known: --scope openid, if it has that") }
    return namesPerson ? .token : .provider("without the scope openid the server does not say whose token it is")
  }

  /// The server says whose the token is: in an ID token, or in a way of its own.
  private var namesPerson: Bool {
    scopes.contains("openid") || ProviderPreset.all.contains { $0.issuer == issuer && !$0.hasDiscovery }
  }

  var isImportable: Bool {
    switch verdict {
    case .token, .key, .machine: true
    case .provider, .none: false
    }
  }

  /// For the table.
  var verdictWord: String {
    switch verdict {
    case .token, .key, .machine: "yes"
    case .provider: "provider alone"
    case .none: answeredBy == nil ? "no" : "not needed"
    }
  }

  /// Why it can't be taken over; nil if it can.
  var reason: String? {
    switch verdict {
    case .token, .key, .machine: nil
    case .provider(let reason): reason
    case .none(let reason): answeredBy.map { "\($0) answers" } ?? reason
    }
  }

  func write(to writer: inout JSONWriter) {
    writer.member("name", name)
    writer.member("issuer", issuer)
    writer.member("server", server)
    writer.member("user", user)
    writer.member("clientId", clientID)
    writer.member("clientSecretSet", clientSecret != nil)
    writer.member("scopes", scopes)
    switch verdict {
    case .token: writer.member("importable", "token")
    case .machine: writer.member("importable", "machine")
    case .key(let key):
      writer.member("importable", "key")
      writer.member("service", key.owner.name)
      writer.member("variables", key.variables)
      writer.key("lines")
      writer.beginArray()
      for line in key.lines { writer.integer(line) }
      writer.endArray()
    case .provider(let reason):
      writer.member("importable", "provider")
      writer.member("reason", reason)
    case .none(let reason):
      writer.member("importable", "none")
      writer.member("reason", reason)
    }
    writer.member("answeredBy", answeredBy)
    writer.member("advice", ifAny: advice)
  }
}

extension [ImportEntry] {
  /// Numbers what has the name of an earlier entry, so that `--only` names just one.
  func named() -> [ImportEntry] {
    var seen: [String: Int] = [:]
    return map { entry in
      var entry = entry
      let number = seen[entry.name, default: 0] + 1
      seen[entry.name] = number
      if number > 1 { entry.name += "#\(number)" }
      return entry
    }
  }
}
