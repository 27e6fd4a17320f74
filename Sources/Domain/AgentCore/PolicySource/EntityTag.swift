/// An entity tag that a server named a bundle with (RFC 9110 §8.8.3), as a later request may repeat it.
public enum EntityTag {
  /// A longer one is not kept, and the bundle is fetched whole.
  static let longest = 256

  /// True for one tag in its exact form. Any other text in `If-None-Match` asks another question: `*` and a list match
  /// what the server has now, so that its 304 would confirm an old bundle for good, and a request with a control
  /// character is never sent.
  public static func isUsable(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    let opaque = bytes.starts(with: "W/".utf8) ? bytes.dropFirst(2) : bytes[...]
    guard bytes.count <= longest, opaque.count >= 2, opaque.first == 0x22, opaque.last == 0x22 else { return false }
    // `obs-text` (0x80 and above) has no one form as text, so it is not kept.
    return opaque.dropFirst().dropLast().allSatisfy { $0 != 0x22 && (0x21...0x7E).contains($0) }
  }
}
