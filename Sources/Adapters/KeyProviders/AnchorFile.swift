public import AgentPorts
internal import CPlatform
internal import FileRules
internal import Glibc

/// A rollback anchor in a small file for each database: `$XDG_CONFIG_HOME/lanyard/anchors/<id in hex>`. It lies outside
/// the state directory, so that the agent notices if only that directory is restored.
public struct AnchorFile: RollbackAnchor {
  private let directory: String
  private let place: AnchoredPlace?

  /// - Parameters:
  ///   - directory: created with mode 0700 when the first anchor is written.
  ///   - place: remembers where the database stands, from its first count on.
  public init(directory: String, place: AnchoredPlace? = nil) {
    self.directory = directory
    self.place = place
  }

  private static let heading = "lanyard-anchor-1 "
  /// Magic, 20 digits, a newline; one byte more detects a longer file.
  private static let longest = heading.utf8.count + 22

  public func sequence(databaseID: [UInt8]) throws(KeySourceFailure) -> UInt64? {
    guard let file = try openPrivately(path(databaseID)) else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: Self.longest)
    guard let count = bytes.withUnsafeMutableBytes({ readAll(file, into: $0) }) else { throw .unavailable }
    let text = String(decoding: bytes[..<count], as: UTF8.self)
    guard text.hasPrefix(Self.heading), text.hasSuffix("\n"),
      let sequence = UInt64(text.dropFirst(Self.heading.count).dropLast())
    else { throw .damaged }
    return sequence
  }

  @discardableResult
  public func advance(databaseID: [UInt8], to sequence: UInt64) throws(KeySourceFailure) -> Bool {
    guard makeDirectories(directory) == 0 else { throw .unavailable }
    // Two agents on copies of one store must not both find the count free.
    let lock = try lockDirectory()
    defer { close(lock) }
    // The anchor never goes back: it is the highest count that was ever written.
    do throws(KeySourceFailure) {
      if let known = try self.sequence(databaseID: databaseID), known >= sequence { return false }
    } catch .damaged {
      // A damaged anchor is replaced.
    }
    try replace(path(databaseID), by: Self.heading + String(sequence) + "\n")
    try place?.note(databaseID)
    return true
  }

  // MARK: root keys

  /// Prints lie in a file of their own, which is written at a rotation only.
  public func rootPrints(databaseID: [UInt8]) throws(KeySourceFailure) -> [RootPrint] { try readRoots(databaseID) }

  /// Notes the database as that of the state directory, too: each opening records its root key.
  public func record(_ prints: [RootPrint], databaseID: [UInt8]) throws(KeySourceFailure) {
    guard makeDirectories(directory) == 0 else { throw .unavailable }
    let lock = try lockDirectory()
    defer { close(lock) }
    var isKnown = false
    do throws(KeySourceFailure) {
      isKnown = try readRoots(databaseID) == prints
    } catch .damaged {
      // Damaged prints are replaced.
    }
    if !isKnown { try replace(rootsPath(databaseID), by: RootPrints.text(prints)) }
    try place?.note(databaseID)
  }

  // MARK: the state directory

  public func databaseHere() throws(KeySourceFailure) -> [UInt8]? { try place?.database() }

  private func replace(_ path: String, by text: String) throws(KeySourceFailure) {
    var text = text
    let failure = text.withUTF8 { utf8 -> KeySourceFailure? in
      do throws(KeySourceFailure) {
        try writeDurably(UnsafeRawBufferPointer(utf8), to: path, replacing: true)
        return nil
      } catch {
        return error
      }
    }
    if let failure { throw failure }
  }

  private func readRoots(_ databaseID: [UInt8]) throws(KeySourceFailure) -> [RootPrint] {
    guard let file = try openPrivately(rootsPath(databaseID)) else { return [] }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: RootPrints.longest)
    guard let count = bytes.withUnsafeMutableBytes({ readAll(file, into: $0) }) else { throw .unavailable }
    guard let prints = RootPrints.read(String(decoding: bytes[..<count], as: UTF8.self)) else { throw .damaged }
    return prints
  }

  private func rootsPath(_ databaseID: [UInt8]) -> String { path(databaseID) + ".root" }

  // MARK: files

  /// Another agent holds the lock for one write of a file: the time of a sync.
  private static let lockMilliseconds = 1_000

  /// A descriptor that holds the lock until it is closed. Never waits long: the holder may be stopped.
  private func lockDirectory() throws(KeySourceFailure) -> Int32 {
    let descriptor = lanyard_open_directory_for_sync(directory)
    guard descriptor >= 0 else { throw .unavailable }
    for _ in 0..<Self.lockMilliseconds {
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return descriptor }
      guard errno == EWOULDBLOCK || errno == EINTR else { break }
      usleep(1_000)
    }
    close(descriptor)
    throw .unavailable
  }

  private func path(_ databaseID: [UInt8]) -> String { directory + "/" + hexadecimal(databaseID) }
}

package func hexadecimal(_ bytes: [UInt8]) -> String {
  let digits = Array("0123456789abcdef".utf8)
  return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}
