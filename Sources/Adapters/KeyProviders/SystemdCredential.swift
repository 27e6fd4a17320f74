public import AgentPorts
internal import CPlatform
internal import Glibc
public import Secrets

/// A key that the service manager hands over (systemd.exec(5), Credentials): sealed to the machine or its TPM as long as
/// the service does not run, and readable by nobody else while it does.
///
/// Exactly 32 bytes are the key. Something longer, such as text from a password manager, is hashed to one. Shorter ones
/// could be guessed. Only an administrator makes credentials: `createKey` never does.
public struct SystemdCredential: KeySource {
  public let protection = "systemdCredential"
  /// As `LoadCredential=`, `LoadCredentialEncrypted=` and `SetCredentialEncrypted=` name it.
  public static let name = "lanyard.key"

  /// Longer than any key, and shorter than the credential that systemd would refuse.
  private static let longest = 64 << 10

  private let directory: String?

  /// - Parameter directory: `$CREDENTIALS_DIRECTORY`; nil where the service manager gave none.
  public init(directory: String?) { self.directory = directory }

  public func key() throws(KeySourceFailure) -> SealingKey? {
    guard let directory, directory.hasPrefix("/") else { return nil }
    guard let file = try openCredential(directory + "/" + Self.name) else { return nil }
    defer { close(file) }
    // One byte more than there may be, to notice one that is longer.
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

  /// A file of the service manager's or of this user's that only this user, and who may be root, can read. systemd sets
  /// mode 0400, or 0440 where the access is by an ACL.
  private func openCredential(_ path: String) throws(KeySourceFailure) -> Int32? {
    // Non-blocking, so that a FIFO in its place can't hold us.
    let file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard file >= 0 else {
      switch errno {
      case ENOENT: return nil
      case ELOOP, EPERM, EACCES, ENXIO: throw .unsafePermissions
      default: throw .unavailable
      }
    }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      status.st_uid == 0 || status.st_uid == geteuid(),
      status.st_mode & 0o7777 & ~0o640 == 0, status.st_mode & 0o040 == 0 || status.st_gid == 0
    else {
      close(file)
      throw .unsafePermissions
    }
    return file
  }

  /// The secret is the message and not the key of the hash: it may be longer than a key.
  private static func hash(_ secret: Secret) -> SealingKey? {
    let domain = SecretBytes(capacity: SealingKey.byteCount) { target in
      // A public key: it only keeps this hash from being another one.
      let label = Array("lanyard systemd credential 1".utf8)
      target.initializeMemory(as: UInt8.self, repeating: 0)
      target.copyBytes(from: label)
      return target.count
    }
    return SealingKey(Secret(domain)).flatMap { SealingKey($0.keyed("systemd credential", secret)) }
  }
}
