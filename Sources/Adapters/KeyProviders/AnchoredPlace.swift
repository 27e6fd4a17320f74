public import AgentPorts
internal import Glibc
internal import Secrets
internal import Synchronization

/// Remembers, beside the anchor files, which database stands in a state directory: a file named by a digest of the
/// directory's path. A state directory without its database is then not taken for a new one, and another vault's database
/// is not taken for its own.
public final class AnchoredPlace: Sendable {
  private let path: String
  /// The database that the file names, as far as this process knows.
  private let noted = Mutex<[UInt8]?>(nil)

  private static let heading = "lanyard-place-1 "
  private static let nameBytes = 16

  /// - Parameters:
  ///   - directory: of the anchor files.
  ///   - stateDirectory: of the store; it need not exist.
  public init(directory: String, stateDirectory: String) {
    var resolved = Self.resolved(stateDirectory)
    let digest = resolved.withUTF8 { sha256(UnsafeRawBufferPointer($0)) }
    path = directory + "/place-" + hexadecimal(Array(digest.prefix(Self.nameBytes)))
  }

  /// True if there is a note, readable or not: a database stood in the state directory.
  public var isKnown: Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  /// Notes that this database stands in the state directory, durable when this returns. The directory of the note must
  /// exist.
  public func note(_ databaseID: [UInt8]) throws(KeySourceFailure) {
    guard noted.withLock({ $0 }) != databaseID else { return }
    let text = Self.heading + hexadecimal(databaseID) + "\n"
    if try read() != text {
      let failure = Array(text.utf8).withUnsafeBytes { bytes -> KeySourceFailure? in
        do throws(KeySourceFailure) {
          try writeDurably(bytes, to: path, replacing: true)
          return nil
        } catch {
          return error
        }
      }
      if let failure { throw failure }
    }
    noted.withLock { $0 = databaseID }
  }

  /// The database that the note names; nil without a readable note.
  func database() throws(KeySourceFailure) -> [UInt8]? {
    guard let text = try read(), text.hasPrefix(Self.heading), text.hasSuffix("\n") else { return nil }
    return RootPrints.bytes(hexadecimal: text.dropFirst(Self.heading.count).dropLast())
  }

  private func read() throws(KeySourceFailure) -> String? {
    guard let file = try openPrivately(path) else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 256)
    guard let count = bytes.withUnsafeMutableBytes({ readAll(file, into: $0) }) else { throw .unavailable }
    return String(decoding: bytes[..<count], as: UTF8.self)
  }

  /// The path without symlinks. What does not exist is appended as it is written.
  private static func resolved(_ path: String) -> String {
    if let whole = realpath(path, nil) {
      defer { free(whole) }
      return String(cString: whole)
    }
    var trimmed = path[...]
    while trimmed.count > 1, trimmed.last == "/" { trimmed = trimmed.dropLast() }
    guard let slash = trimmed.lastIndex(of: "/") else { return resolved(".") + "/" + trimmed }
    guard slash != trimmed.startIndex else { return String(trimmed) }
    return resolved(String(trimmed[..<slash])) + trimmed[slash...]
  }
}
