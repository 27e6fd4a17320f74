public import AgentPorts
internal import FileRules
internal import Glibc
public import Secrets

/// A key from the service manager (systemd.exec(5), Credentials): sealed to the machine or its TPM while the service is
/// stopped, and readable only by the service while it runs.
///
/// Exactly 32 bytes are the key itself. Longer credentials, such as text from a password manager, are hashed to one;
/// shorter ones are refused, since they could be guessed. Only an administrator creates credentials: `createKey` always
/// throws.
public struct SystemdCredential: KeySource {
  public let protection = "systemdCredential"
  /// The credential's name in `LoadCredential=`, `LoadCredentialEncrypted=` and `SetCredentialEncrypted=`.
  public static let name = "lanyard.key"

  /// Longer than any key, and below systemd's own limit.
  private static let longest = 64 << 10

  private let directory: String?

  /// - Parameter directory: `$CREDENTIALS_DIRECTORY`; nil if the service manager set none.
  public init(directory: String?) { self.directory = directory }

  public func key() throws(KeySourceFailure) -> SealingKey? {
    guard let directory, directory.hasPrefix("/") else { return nil }
    guard let file = try openCredential(directory + "/" + Self.name) else { return nil }
    defer { close(file) }
    // One byte more than the limit, to detect a longer credential.
    let content = Secret(
      try SecretBytes(capacity: Self.longest + 1) { (buffer) throws(KeySourceFailure) -> Int in
        guard let count = readAll(file, into: buffer) else { throw .unavailable }
        return count
      })
    guard content.count <= Self.longest else { throw .damaged }
    if let key = SealingKey(content) { return key }
    guard content.count > SealingKey.byteCount else { throw .damaged }
    return Self.hash(content)
  }

  public func createKey() throws(KeySourceFailure) -> SealingKey { throw .unavailable }

  /// Opens a file that belongs to the service manager or to this user and that only this user and root can read.
  /// systemd sets mode 0400, or 0440 where an ACL grants the access.
  private func openCredential(_ path: String) throws(KeySourceFailure) -> Int32? {
    guard let file = try openPrivately(path, .credential) else { return nil }
    if let status = try? FileRule.credential.check(file), status.st_mode & 0o040 == 0 || status.st_gid == 0 {
      return file
    }
    close(file)
    throw .unsafePermissions
  }

  /// The secret is the message and not the key of the hash: it may be longer than a key.
  private static func hash(_ secret: Secret) -> SealingKey? {
    let domain = SecretBytes(capacity: SealingKey.byteCount) { target in
      // A public key, which separates this hash from other uses.
      let label = Array("lanyard systemd credential 1".utf8)
      target.initializeMemory(as: UInt8.self, repeating: 0)
      target.copyBytes(from: label)
      return target.count
    }
    return SealingKey(Secret(domain)).flatMap { SealingKey($0.keyed("systemd credential", secret)) }
  }
}
