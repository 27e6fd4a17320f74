public import AgentModel

/// The path of a request as policies compare it: its segments, decoded (docs/offline.md, Requests).
///
/// `HTTPURL` has removed dot segments. A path that servers read in two ways is refused, so that the path that is judged
/// is the path that the server serves.
public struct RequestPath: Hashable, Sendable {
  let segments: [String]

  /// The path has an empty segment, a `;`, a slash or a backslash in an escape, an escape within an escape, an escape of
  /// a control character, or one that is no UTF-8.
  public struct Refusal: Error, Hashable, Sendable {
    public init() {}
  }

  public static let expected = "a path without empty segments, `;`, and escaped slashes, backslashes and percent signs"

  /// A slash at the end says nothing: most servers ignore it.
  public init(_ url: HTTPURL) throws(Refusal) {
    var segments: [String] = []
    for segment in url.path.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
      segments.append(try Self.segment(segment))
    }
    if segments.last == "" { segments.removeLast() }
    guard !segments.contains("") else { throw Refusal() }
    self.segments = segments
  }

  private static func segment(_ written: Substring.UTF8View) throws(Refusal) -> String {
    guard let segment = PercentCoding.decode(written), segment != ".", segment != ".." else { throw Refusal() }
    guard !segment.unicodeScalars.contains(where: isSeparator), !hasEscape(segment) else { throw Refusal() }
    return segment
  }

  /// True for control characters, for what separates segments or their parameters, and for the characters that some
  /// servers turn into these (Unicode's compatibility forms).
  private static func isSeparator(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0: true
    case 0x2F, 0x5C, 0x3B: true
    // Forms of the full stop, the slash, the backslash, the percent sign and the semicolon.
    case 0x2024...0x2026, 0xFE19, 0xFE30, 0xFE52, 0xFF0E, 0xFF61: true
    case 0x2044, 0x2215, 0x29F8, 0xFF0F, 0x2216, 0x29F5, 0xFE68, 0xFF3C, 0xFE6A, 0xFF05, 0xFE54, 0xFF1B: true
    default: false
    }
  }

  /// `%252F` is `%2F` once it is decoded, and a slash where a server decodes twice.
  private static func hasEscape(_ segment: String) -> Bool {
    let bytes = Array(segment.utf8)
    return bytes.indices.dropLast(2).contains { index in
      bytes[index] == UInt8(ascii: "%") && isHex(bytes[index + 1]) && isHex(bytes[index + 2])
    }
  }

  private static func isHex(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
      UInt8(ascii: "A")...UInt8(ascii: "F"):
      true
    default: false
    }
  }
}
