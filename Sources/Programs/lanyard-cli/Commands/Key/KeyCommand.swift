import ArgumentParser

/// `lanyard key`
struct KeyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "key",
    abstract: "Manage key slots: list, add, remove; rotate the root key.",
    discussion: """
      Each key slot opens the vault alone, so the weakest slot decides how safe the vault is. The last slot can't be \
      removed.

      A thief with a copy of the store and the key of one slot has the root key. Removing the slot does not help then; \
      `lanyard key rotate` does.

      EXAMPLES:
        lanyard key add passphrase
        lanyard key remove 0
        lanyard key rotate
      """,
    subcommands: [KeyList.self, KeyAdd.self, KeyRemove.self, KeyRotate.self], defaultSubcommand: KeyList.self)
}

/// The protection of a key slot, as the command line names it.
enum Protection: String, CaseIterable, ExpressibleByArgument {
  case passphrase
  case keyFile = "key-file"
  case secretService = "secret-service"
  case systemdCredential = "systemd-credential"

  /// The contract's name.
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

  /// The key of the slot, for a person.
  var displayName: String {
    switch self {
    case .passphrase: "a passphrase"
    case .keyFile: "the key file beside the store"
    case .secretService: "the keyring of your session"
    case .systemdCredential: "a credential of the service manager"
    }
  }
}
