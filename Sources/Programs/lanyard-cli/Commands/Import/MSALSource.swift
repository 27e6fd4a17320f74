import CommandSupport
import JSONRPC

/// The token cache of Microsoft's MSAL libraries, of which that of the Azure command line is one: JSON with the objects
/// `RefreshToken`, `Account` and others, each by key.
struct MSALSource: ImportSource {
  let program = "msal"
  private let file: String?

  init(_ request: ImportRequest) { file = request.file }

  private static let expected = "a token cache of MSAL, a JSON object with the objects RefreshToken and Account"

  func entries() throws(CommandFailure) -> [ImportEntry] {
    let directory = try StoreFile.path(in: "AZURE_CONFIG_DIR", orHome: ".azure")
    guard let store = try StoreFile.named(file, orUsual: "\(directory)/msal_token_cache.json") else { return [] }
    let entries: [ImportEntry]?? = store.contents.withBytes { bytes in JSONInput.read(bytes) { Self.parse($0) } }
    guard let entries, let entries else { throw store.malformed(Self.expected) }
    store.warnOfReaders()
    return entries.map { entry in
      var entry = entry
      entry.place = store.named + "\u{0}" + entry.place
      return entry
    }.named()
  }

  private struct Account {
    let home: String
    let environment: String
    let realm: String
    let user: String?
  }

  /// Nil for what is no cache.
  static func parse(_ node: JSONNode) -> [ImportEntry]? {
    let sections = ["RefreshToken", "Account", "AccessToken", "IdToken", "AppMetadata"]
    guard node.members.allSatisfy({ _, value in value.kind == .object }),
      node.members.contains(where: { key, _ in key.string.map(sections.contains) ?? false })
    else { return nil }
    var accounts: [Account] = []
    if let section = node["Account"] {
      for (_, account) in section.members {
        guard let home = account["home_account_id"]?.string, let environment = account["environment"]?.string else {
          return nil
        }
        accounts.append(
          Account(
            home: home, environment: environment, realm: account["realm"]?.string ?? "",
            user: account["username"]?.string))
      }
    }
    var entries: [ImportEntry] = []
    guard let section = node["RefreshToken"] else { return [] }
    for (key, token) in section.members {
      guard let entry = parse(key, token, accounts) else { return nil }
      entries.append(entry)
    }
    return entries
  }

  private static func parse(_ key: JSONNode, _ token: JSONNode, _ accounts: [Account]) -> ImportEntry? {
    guard let home = token["home_account_id"]?.string, let environment = token["environment"]?.string,
      let client = token["client_id"]?.string, token["secret"]?.kind == .string, let place = key.string
    else { return nil }
    let own = accounts.filter { $0.home == home && $0.environment == environment && !$0.realm.isEmpty }
      .sorted { $0.realm < $1.realm }
    // The part behind the dot is the tenant that the account is at home in; in others it is a guest. A program that
    // named no tenant has one of the words instead.
    let homeTenant = home.split(separator: ".").last.map(String.init) ?? ""
    let preferred = [homeTenant, "organizations", "common", "consumers"]
    let account = preferred.lazy.compactMap { realm in own.first { $0.realm == realm } }.first ?? own.first
    var entry = ImportEntry(name: account?.user ?? home)
    entry.user = account?.user
    entry.server = environment
    if let account { entry.issuer = "https://\(environment)/\(account.realm)/v2.0" }
    entry.clientID = client
    // MSAL adds these three to each request.
    let asked = token["target"]?.string?.split(separator: " ").map(String.init) ?? []
    entry.scopes = asked + ["openid", "profile", "offline_access"].filter { !asked.contains($0) }
    entry.refreshToken = HeldBytes(token["secret"])
    entry.place = place
    return entry
  }

  /// Cuts the one refresh token out. The account and its access tokens stay until they expire.
  func remove(_ entry: ImportEntry) throws(CommandFailure) -> String {
    let place = entry.place.split(separator: "\u{0}", maxSplits: 1).map(String.init)
    guard place.count == 2, let store = try StoreFile.read(place[0]) else { return "the file is gone already" }
    let (path, name) = (store.path, place[1])
    var isFound = false
    var writer = JSONWriter(capacity: store.contents.count)
    let written: Void? = store.contents.withBytes { bytes in
      JSONInput.read(bytes) { node in
        writer.beginObject()
        for (key, section) in node.members {
          writer.key(key.string ?? "")
          guard key.isText("RefreshToken") else {
            writer.raw(section.raw)
            continue
          }
          writer.beginObject()
          for (key, token) in section.members {
            if key.string == name, HeldBytes(token["secret"]) == entry.refreshToken {
              isFound = true
            } else {
              writer.key(key.string ?? "")
              writer.raw(token.raw)
            }
          }
          writer.endObject()
        }
        writer.endObject()
      }
    }
    guard written != nil else { throw store.malformed(Self.expected) }
    guard isFound else { throw store.unchanged("the token in it has changed meanwhile") }
    try store.replace(by: writer.withBytes { HeldBytes($0) })
    return "the refresh token is cut out of \(path)"
  }

  func switchOver(to account: String) -> [String] {
    ["`lanyard token \(account)` prints a token. The Azure command line can't use one: sign it in again."]
  }
}
