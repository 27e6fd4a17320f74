import CommandSupport
import Glibc

/// What Git Credential Manager keeps in the desktop's keyring (Secret Service), by `secret-tool`: the attributes `service`
/// and `account` name a credential, and the secret is the credential alone.
enum GCMKeyring {
  struct Item: Equatable {
    /// With GCM's name space before the URL.
    let service: String
    let account: String?

    fileprivate var attributes: [String] { ["service", service] + (account.map { ["account", $0] } ?? []) }

    /// The URL.
    var url: String { service.firstRange(of: "http").map { String(service[$0.lowerBound...]) } ?? service }
  }

  private static let schema = ["xdg:schema", "com.microsoft.GitCredentialManager"]

  /// Empty where no keyring can be asked.
  static func items() throws(CommandFailure) -> [Item] {
    guard Environment.value("DBUS_SESSION_BUS_ADDRESS") != nil, let tool = AgentPaths.program("secret-tool") else {
      return []
    }
    let found = try ChildOutput.of(tool, ["search", "--all"] + schema)
    // It prints the attributes to stderr, later versions to stdout, between the secrets: these are not looked at.
    return parse(found.stderr) + parse(found.stdout)
  }

  /// The attributes of an item are together; one that comes again begins the next item.
  static func parse(_ output: HeldBytes) -> [Item] {
    var items: [[String: String]] = [[:]]
    output.withBytes { bytes in
      for line in bytes.split(separator: 0x0A) where line.starts(with: "attribute.".utf8) {
        let text = String(decoding: line.dropFirst("attribute.".utf8.count), as: UTF8.self)
        guard let middle = text.firstRange(of: " = ") else { continue }
        let name = String(text[..<middle.lowerBound])
        if items[items.count - 1][name] != nil { items.append([:]) }
        items[items.count - 1][name] = String(text[middle.upperBound...])
      }
    }
    return items.compactMap { item in item["service"].map { Item(service: $0, account: item["account"]) } }
  }

  /// Nil if it is gone, or if the person does not unlock the keyring.
  static func secret(of item: Item) throws(CommandFailure) -> HeldBytes? {
    let tool = try ChildOutput.require("secret-tool", package: "libsecret-tools")
    let output = try ChildOutput.of(tool, ["lookup"] + schema + item.attributes)
    return output.hasSucceeded && !output.stdout.isEmpty ? output.stdout : nil
  }

  static func remove(_ item: Item, ifIts secret: HeldBytes?) throws(CommandFailure) -> String {
    guard let found = try Self.secret(of: item) else { return "it is gone from the keyring already" }
    guard found == secret else { throw unchanged("the token in it has changed meanwhile") }
    let tool = try ChildOutput.require("secret-tool", package: "libsecret-tools")
    let output = try ChildOutput.of(tool, ["clear"] + schema + item.attributes)
    guard output.hasSucceeded else { throw unchanged("secret-tool could not clear it") }
    return "it is cleared from the keyring"
  }

  private static func unchanged(_ reason: String) -> CommandFailure {
    CommandFailure(.other, name: "storeUnchanged", "The keyring was not changed: \(reason).")
  }
}
