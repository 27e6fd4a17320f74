import CommandSupport
import JSONRPC

/// What this program keeps for accounts: settings that concern the person's desktop, not the agent.
struct AccountSettings {
  private let path: String
  /// The browser of each account, by the account's id.
  private(set) var browsers: [String: String] = [:]
  /// The account of each systemd unit that gets a token.
  private(set) var units: [String: String] = [:]

  init() throws(CommandFailure) {
    path = try SetupPlaces.configuration("lanyard/accounts.json")
    let file = try SetupFile(path)
    guard !file.text.isEmpty else { return }
    typealias Entry = (id: String, browser: String?, units: [String])
    let read = JSONInput.read(file.text) { root -> [Entry]? in
      guard let accounts = root["accounts"], accounts.kind == .object else { return nil }
      return accounts.members.map { account in
        (
          id: account.key.string ?? "", browser: account.value["browser"]?.string,
          units: account.value["units"]?.elements.compactMap(\.string) ?? []
        )
      }
    }
    guard let read, let read else { throw StoreFile.malformed(path, "what `lanyard account set` wrote") }
    for account in read {
      browsers[account.id] = account.browser
      for unit in account.units { units[unit] = account.id }
    }
  }

  func units(of account: String) -> [String] { units.filter { $0.value == account }.keys.sorted() }

  mutating func set(browser: String?, of account: String) { browsers[account] = browser }

  /// The units that get a token of this account; a unit has one account.
  mutating func set(units: [String], of account: String) {
    self.units = self.units.filter { $0.value != account }
    for unit in units { self.units[unit] = account }
  }

  func write() throws(CommandFailure) {
    let accounts = Set(browsers.keys).union(units.values).sorted()
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("accounts")
    writer.beginObject()
    for account in accounts {
      writer.key(account)
      writer.beginObject()
      writer.member("browser", browsers[account])
      writer.member("units", ifAny: units(of: account))
      writer.endObject()
    }
    writer.endObject()
    writer.endObject()
    let text = writer.withBytes { String(decoding: $0, as: UTF8.self) } + "\n"
    try SetupFile(path).replace(by: accounts.isEmpty ? "" : text)
  }
}
