internal import AgentModel

/// A text as the value of a header field (MCP 2026-07-28, Streamable HTTP, Value Encoding).
public enum HeaderValue {
  private static let prefix = "=?base64?"
  private static let suffix = "?="

  /// The text itself if it is safe, else its Base64 between the marks. A text that looks like such a value is encoded, too.
  public static func encode(_ text: String) -> String {
    guard !isSafe(text) else { return text }
    var text = text
    return prefix + text.withUTF8 { Base64.encode(UnsafeRawBufferPointer($0)) } + suffix
  }

  /// Printable ASCII without a space at its ends. A tab inside is encoded, since some servers refuse it.
  private static func isSafe(_ text: String) -> Bool {
    text.utf8.allSatisfy { 0x20...0x7E ~= $0 } && text.utf8.first != 0x20 && text.utf8.last != 0x20
      && !(text.hasPrefix(prefix) && text.hasSuffix(suffix))
  }
}
