import CommandSupport
import JSONRPC

/// What this program keeps for an account: settings that concern the person's desktop, not the agent.
struct AccountSettings {
  private let path: String
  /// The browser of each account, by the account's id.
  private(set) var browsers: [String: String] = [:]

  init() throws(CommandFailure) {
    path = try SetupPlaces.configuration("lanyard/accounts.json")
    let file = try SetupFile(path)
    guard !file.text.isEmpty else { return }
    let read = JSONInput.read(file.text) { root in
      root["accounts"]?.members.map { ($0.key.string ?? "", $0.value["browser"]?.string ?? "") } ?? []
    }
    guard let read else { throw StoreFile.malformed(path, "what `lanyard account set` wrote") }
    browsers = Dictionary(read.filter { !$0.1.isEmpty }) { first, _ in first }
  }

  mutating func set(browser: String?, of account: String) throws(CommandFailure) {
    browsers[account] = browser
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("accounts")
    writer.beginObject()
    for (account, browser) in browsers.sorted(by: { $0.key < $1.key }) {
      writer.key(account)
      writer.beginObject()
      writer.member("browser", browser)
      writer.endObject()
    }
    writer.endObject()
    writer.endObject()
    let text = writer.withBytes { String(decoding: $0, as: UTF8.self) } + "\n"
    try SetupFile(path).replace(by: browsers.isEmpty ? "" : text)
  }
}
