public import AgentPorts
internal import CPlatform
internal import Glibc
public import Secrets

/// A key in a file of mode 0600. It protects copies of the database alone, and nothing from a process that can read
/// this user's files; `agent.status` reports it so.
///
/// Layout: 7 bytes `LNYDKEY` and a version byte, 32 bytes of key, then the first 8 bytes of the SHA-256 of all before,
/// so that a damaged file is not taken for a wrong key.
public struct KeyFile: KeySource {
  public let protection = "keyFile"
  private let path: String

  private static let magic: [UInt8] = Array("LNYDKEY".utf8) + [1]
  private static let checkBytes = 8
  private static let byteCount = magic.count + SealingKey.byteCount + checkBytes

  /// - Parameter path: in a directory that only this user may enter.
  public init(path: String) { self.path = path }

  public func key() throws(KeySourceFailure) -> SealingKey? {
    guard let file = try openPrivately(path) else { return nil }
    defer { close(file) }
    // One byte more than the layout has, to detect a longer file.
    let content = try SecretBytes(capacity: Self.byteCount + 1) { (buffer) throws(KeySourceFailure) -> Int in
      guard let count = readAll(file, into: buffer) else { throw .unavailable }
      return count
    }
    return try content.withBytes { (bytes) throws(KeySourceFailure) -> SealingKey in
      guard bytes.count == Self.byteCount, bytes.starts(with: Self.magic) else { throw .damaged }
      let checked = UnsafeRawBufferPointer(rebasing: bytes.dropLast(Self.checkBytes))
      guard bytes.suffix(Self.checkBytes).elementsEqual(sha256(checked).prefix(Self.checkBytes)) else { throw .damaged }
      let key = UnsafeRawBufferPointer(rebasing: checked.dropFirst(Self.magic.count))
      guard let key = SealingKey(Secret(copying: key)) else { throw .damaged }
      return key
    }
  }

  public func removeKey() throws(KeySourceFailure) {
    guard unlink(path) == 0 || errno == ENOENT else { throw .unavailable }
  }

  /// Throws `unavailable` if the file exists: a key that may have sealed something is never replaced.
  public func createKey() throws(KeySourceFailure) -> SealingKey {
    let key = SealingKey.random()
    var content = SecretBuilder(capacity: Self.byteCount)
    Self.magic.withUnsafeBytes { content.append($0) }
    content.append(key.secret)
    let check = content.withBytes { sha256($0) }
    check[..<Self.checkBytes].withUnsafeBytes { content.append($0) }
    try content.withBytes { (bytes) throws(KeySourceFailure) in
      try writeDurably(bytes, to: path, replacing: false)
    }
    return key
  }
}
