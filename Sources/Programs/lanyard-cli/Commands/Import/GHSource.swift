import AgentCore
import CommandSupport

/// `hosts.yml` of GitHub's command line. Its tokens don't expire and have no refresh token, so that there is nothing to
/// take over: the person signs in anew.
struct GHSource: ImportSource {
  let program = "gh"
  private let file: String?

  init(_ request: ImportRequest) { file = request.file }

  func entries() throws(CommandFailure) -> [ImportEntry] {
    let usual =
      if let directory = Environment.value("GH_CONFIG_DIR") { "\(directory)/hosts.yml" } else {
        try StoreFile.configuration("gh/hosts.yml")
      }
    guard let store = try StoreFile.named(file, orUsual: usual) else { return [] }
    guard let hosts = GHHosts(store.contents) else {
      throw store.malformed(
        "hosts.yml of gh, with user or users below the name of each host, each a plain or quoted word on its line")
    }
    if hosts.accounts.contains(where: \.hasToken) { store.warnOfReaders() }
    let providers = Self.knownProviders()
    return hosts.accounts.map { account in
      var entry = ImportEntry(name: "\(account.host)/\(account.user ?? "?")")
      entry.server = "https://\(account.host)"
      entry.user = account.user
      entry.place = store.named
      entry.lack =
        account.hasToken
        ? "gh's tokens have no refresh token" : "its token is in the keyring, and has no refresh token"
      let provider = providers.first { WebOrigin($0.issuer)?.host == account.host }?.name
      if provider == nil {
        entry.advice.append("Add \(account.host) with a client of yours: `\(Self.command(adding: account.host))`.")
      }
      entry.advice.append("Sign in: `lanyard login \(provider ?? "PROVIDER") --device`.")
      return entry
    }.named()
  }

  /// Without starting an agent: that some are known shortens the advice, and nothing else.
  private static func knownProviders() -> [ProviderInfo] {
    guard var agent = try? Agent.connect(mayStart: false) else { return [] }
    return (try? ProviderInfo.all(via: &agent)) ?? []
  }

  private static func command(adding host: String) -> String {
    guard host != "github.com" else { return Presets.command(adding: "github") }
    let issuer = ProviderPreset.named("github-enterprise")?.issuer(atHostOf: "https://\(host)") ?? "https://\(host)"
    return "lanyard provider add --preset github-enterprise --issuer \(issuer) --client-id ID"
  }

  func remove(_ entry: ImportEntry) throws(CommandFailure) -> String {
    throw CommandFailure(
      .other, name: "notRemoved", "Nothing of \(entry.name) was taken over, so nothing was removed.",
      hints: ["`gh auth logout --hostname HOST` removes it and its token."])
  }

  func switchOver(to account: String) -> [String] { [] }
}

/// The few forms of YAML that gh writes into `hosts.yml`: nested mappings of plain scalars (`YAMLPair`). A file with others
/// is not understood as a whole, rather than in part.
struct GHHosts {
  struct Account: Equatable {
    let host: String
    let user: String?
    /// False if the token is in the system's keyring.
    let hasToken: Bool
  }

  private(set) var accounts: [Account] = []

  /// Nil if the bytes are something else.
  init?(_ contents: HeldBytes) {
    var hosts: [(name: String, user: String?, hasToken: Bool, users: [(name: String, hasToken: Bool)])] = []
    // The columns of the mappings that enclose the line, and their keys.
    var outer: [(column: Int, key: String)] = []
    var paths: Set<[String]> = []
    let isRead = contents.withBytes { bytes in
      let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...]
      for line in text.split(separator: UInt8(ascii: "\n")) {
        guard let pair = YAMLPair(line) else { return false }
        guard let key = pair.key else { continue }
        while let last = outer.last, last.column >= pair.column { outer.removeLast() }
        // Of a key that stands twice it is not known which counts (YAML 1.2.2 §3.2.1.3); `<<` takes over other mappings.
        guard key != "<<", paths.insert(outer.map(\.key) + [key]).inserted else { return false }
        switch (outer.count, key) {
        case (0, _):
          guard !pair.hasValue else { return false }
          hosts.append((key, nil, false, []))
        case (1, "user"):
          switch pair.scalar() {
          case .text(let user)?: hosts[hosts.count - 1].user = user
          case .empty?: hosts[hosts.count - 1].user = nil
          case nil: return false
          }
        case (1, "oauth_token"): hosts[hosts.count - 1].hasToken = pair.hasValue
        case (2, _) where outer[1].key == "users": hosts[hosts.count - 1].users.append((key, false))
        case (3, "oauth_token") where outer[1].key == "users":
          let last = hosts[hosts.count - 1].users.count - 1
          hosts[hosts.count - 1].users[last].hasToken = pair.hasValue
        default: break
        }
        outer.append((pair.column, key))
      }
      return true
    }
    guard isRead, !hosts.isEmpty || contents.isEmpty else { return nil }
    for host in hosts {
      // Each host is a mapping with one of these; other YAML is not.
      guard host.user != nil || host.hasToken || !host.users.isEmpty else { return nil }
      guard !host.users.isEmpty else {
        accounts.append(Account(host: host.name, user: host.user, hasToken: host.hasToken))
        continue
      }
      for user in host.users {
        let isActive = user.name == host.user
        accounts.append(
          Account(host: host.name, user: user.name, hasToken: user.hasToken || isActive && host.hasToken))
      }
    }
  }
}
