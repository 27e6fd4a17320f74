internal import AgentModel

/// A public key of the program `minisign`: an Ed25519 key and the id by which its signatures name it
/// (docs/policy-bundles.md).
public struct MinisignKey: Hashable, Sendable {
  /// Names the key in a signature. It proves nothing.
  public let id: [UInt8]
  /// The Ed25519 public key, 32 bytes.
  public let bytes: [UInt8]
  /// As `minisign -G` prints it, in one line.
  public let text: String

  static let algorithm = Array("Ed".utf8)
  static let idByteCount = 8

  /// Reads the line that `minisign -G` prints, or the two lines of the file that it writes. Nil for anything else.
  public init?(_ text: String) {
    var lines = MinisignLines.of(text)
    if lines.count == 2, lines[0].hasPrefix(MinisignLines.untrusted) { lines.removeFirst() }
    guard lines.count == 1, let decoded = Base64.decode(lines[0]),
      decoded.count == Self.algorithm.count + Self.idByteCount + 32, decoded.starts(with: Self.algorithm)
    else { return nil }
    id = Array(decoded[2..<10])
    bytes = Array(decoded[10...])
    self.text = lines[0]
  }
}

/// The lines of files that `minisign` writes.
enum MinisignLines {
  static let untrusted = "untrusted comment: "
  static let trusted = "trusted comment: "

  /// The lines of a file, without the empty one after its last newline, and without the carriage returns of a file that
  /// was converted on its way.
  static func of(_ text: String) -> [String] {
    var lines = text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false)
    if lines.count > 1, lines.last?.isEmpty == true { lines.removeLast() }
    return lines.map { line in String(Substring(line.last == 0x0D ? line.dropLast() : line)) }
  }
}
