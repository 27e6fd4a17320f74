/// The protection of the vault's root key.
public enum KeyProtection: String, CaseIterable, Hashable, Sendable {
  case keyFile
  case passphrase
  case secretService
  case systemdCredential
}
