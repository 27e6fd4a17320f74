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
    // One of the forms NFC, NFD, NFKC and NFKD (Unicode 14) has a slash, a backslash, a semicolon, a full stop, a percent
    // sign, a question mark, a number sign, or a slash of fractions or divisions.
    case 0xBC...0xBE, 0x37E, 0x2024...0x2026, 0x2044, 0x2047...0x2049, 0x2100, 0x2101, 0x2105, 0x2106: true
    case 0x2150...0x215F, 0x2189, 0x2215, 0x2488...0x249B, 0x33A7, 0x33A8, 0x33AE, 0x33AF, 0x33C2, 0x33C6: true
    case 0x33C7, 0x33D8, 0x33DE, 0x33DF, 0xFE14, 0xFE16, 0xFE19, 0xFE30, 0xFE52, 0xFE54, 0xFE56, 0xFE5F: true
    case 0xFE68, 0xFE6A, 0xFF03, 0xFF05, 0xFF0E, 0xFF0F, 0xFF1B, 0xFF1F, 0xFF3C, 0x1F100: true
    // Code pages of one byte have these at the place of a backslash, a slash or a full stop.
    case 0xA5, 0x20A9, 0x2216, 0x29F5, 0x29F8, 0xFF61: true
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
