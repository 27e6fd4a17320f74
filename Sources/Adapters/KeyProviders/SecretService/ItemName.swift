internal import AgentPorts
internal import Glibc
internal import Secrets

/// The random name of this store's keyring item, kept in a small file beside the store: a state directory that moves
/// finds its key, and two state directories do not share one. The name is not secret.
struct ItemName {
  private static let heading = "lanyard-item-1 "
  private static let digits = 32

  let path: String

  /// Nil if no item was ever created.
  func read() throws(KeySourceFailure) -> String? {
    guard let file = try openPrivately(path) else { return nil }
    defer { close(file) }
    // One byte more than a name has, to detect a longer file.
    var bytes = [UInt8](repeating: 0, count: Self.heading.utf8.count + Self.digits + 2)
    guard let count = bytes.withUnsafeMutableBytes({ readAll(file, into: $0) }) else { throw .unavailable }
    let text = String(decoding: bytes[..<count], as: UTF8.self)
    let name = text.dropFirst(Self.heading.count).dropLast()
    guard text.hasPrefix(Self.heading), text.hasSuffix("\n"), name.utf8.count == Self.digits,
      name.allSatisfy({ "0123456789abcdef".contains($0) })
    else { throw .damaged }
    return String(name)
  }

  /// Durable when this returns: without its name, the item's key could never be found again.
  func make() throws(KeySourceFailure) -> String {
    let name = SecretBytes(random: Self.digits / 2).withBytes { hexadecimal([UInt8]($0)) }
    let bytes = Array((Self.heading + name + "\n").utf8)
    let failure = bytes.withUnsafeBytes { bytes -> KeySourceFailure? in
      do throws(KeySourceFailure) {
        try writeDurably(bytes, to: path, replacing: false)
        return nil
      } catch {
        return error
      }
    }
    if let failure { throw failure }
    return name
  }
}
