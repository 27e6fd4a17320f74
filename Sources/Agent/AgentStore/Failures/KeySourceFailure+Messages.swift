internal import AgentModel
internal import AgentPorts

/// The messages to a person about a missing key: each place that keeps keys has its own remedy.
extension KeySourceFailure {
  func message(of protection: String) -> String {
    let place = KeyPlace(protection)
    return switch self {
    case .unsafePermissions: place.isUnsafe
    case .damaged: place.isDamaged
    case .unavailable: place.isUnavailable
    case .missingLibrary(let library): "\(library.missing) No other key was made."
    case .locked: place.isLocked
    }
  }

  /// There is a slot and no key for it. Another one is never made: it would open nothing.
  static func missingKeyMessage(of protection: String) -> String { KeyPlace(protection).isEmpty }
}

private enum KeyPlace {
  case keyFile, secretService, systemdCredential

  init(_ protection: String) {
    switch protection {
    case "secretService": self = .secretService
    case "systemdCredential": self = .systemdCredential
    default: self = .keyFile
    }
  }

  var isUnsafe: String {
    switch self {
    case .keyFile: "Others can read or replace the key file. Its mode must be 0600 and its owner you."
    case .secretService:
      "Others can read or replace the file that names the item in your keyring. Its mode must be 0600 and its owner you."
    case .systemdCredential:
      "Others can read or replace the credential lanyard.key. It must be one that systemd hands over (mode 0400)."
    }
  }

  var isDamaged: String {
    switch self {
    case .keyFile: "The key file is damaged. Put back the one that belongs to this store."
    case .secretService:
      "The item in your keyring is not a key of this store. Put back the one that was there; its label is \"Lanyard\"."
    case .systemdCredential: "The credential lanyard.key is too short or too long. It must have 32 bytes at least."
    }
  }

  var isUnavailable: String {
    switch self {
    case .keyFile: "The key file can't be read or written."
    case .secretService:
      "There is no Secret Service on the session bus that answers and has a default keyring. Start gnome-keyring or "
        + "KeePassXC in this session, and check DBUS_SESSION_BUS_ADDRESS. No other key was made."
    case .systemdCredential:
      "There is no credential lanyard.key. Only the service manager hands it over: make one with systemd-creds encrypt, "
        + "and name it in the unit by LoadCredentialEncrypted=. No other key was made."
    }
  }

  var isLocked: String {
    switch self {
    case .keyFile, .systemdCredential: isUnavailable
    case .secretService: "Your keyring is locked. Unlock it, or let agent.unlock ask you."
    }
  }

  var isEmpty: String {
    switch self {
    case .keyFile: "The key file of this store is gone. Without it nothing in it can be read; put it back."
    case .secretService:
      "The item with this store's key is gone from your keyring. Without it nothing in the store can be read; put it back."
    case .systemdCredential:
      "The service manager hands over no credential lanyard.key. Without it nothing in the store can be read."
    }
  }
}
