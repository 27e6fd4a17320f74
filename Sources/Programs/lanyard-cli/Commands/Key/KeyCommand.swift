import ArgumentParser

/// `lanyard key`
struct KeyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "key",
    abstract: "The ways to open the vault: show, add and remove them, and change what they open.",
    discussion: """
      Each key slot opens the vault by itself, so it is as well protected as by the weakest of them. The last one can't \
      be removed.

      Whoever once had both a copy of the store and what opens one of its slots may have its root key. Removing the slot \
      does not change that; `lanyard key rotate` does.

      EXAMPLES:
        lanyard key add passphrase
        lanyard key remove 0
        lanyard key rotate
      """,
    subcommands: [KeyList.self, KeyAdd.self, KeyRemove.self, KeyRotate.self], defaultSubcommand: KeyList.self)
}

/// What protects a slot, as the command line names it.
enum Protection: String, CaseIterable, ExpressibleByArgument {
  case passphrase
  case keyFile = "key-file"
  case secretService = "secret-service"
  case systemdCredential = "systemd-credential"

  /// As the contract names it.
  var name: String {
    switch self {
    case .passphrase: "passphrase"
    case .keyFile: "keyFile"
    case .secretService: "secretService"
    case .systemdCredential: "systemdCredential"
    }
  }

  init?(name: String) {
    guard let found = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = found
  }

  /// What opens it, for a person.
  var words: String {
    switch self {
    case .passphrase: "a passphrase"
    case .keyFile: "the key file beside the store"
    case .secretService: "the keyring of your session"
    case .systemdCredential: "a credential of the service manager"
    }
  }
}
