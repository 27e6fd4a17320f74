internal import AgentPorts

/// The text in which an anchor keeps root prints: `lanyard-roots-1 1:<hex> 2:<hex>` and a newline.
enum RootPrints {
  /// One for the current root key, and one for the next.
  static let most = 2
  private static let heading = "lanyard-roots-1"
  /// The heading, and for each print a space, ten digits, a colon and the digest; a newline; one byte more detects a
  /// longer text.
  static let longest = heading.utf8.count + most * (12 + 2 * RootPrint.digestBytes) + 2

  static func text(_ prints: [RootPrint]) -> String {
    prints.reduce(heading) { $0 + " \($1.epoch):" + hexadecimal($1.digest) } + "\n"
  }

  /// Nil if the text is not what `text` makes.
  static func read(_ text: String) -> [RootPrint]? {
    guard text.hasSuffix("\n") else { return nil }
    let fields = text.dropLast().split(separator: " ", omittingEmptySubsequences: false)
    guard fields.first.map(String.init) == heading, (2...most + 1).contains(fields.count) else { return nil }
    var prints: [RootPrint] = []
    for field in fields.dropFirst() {
      let parts = field.split(separator: ":", omittingEmptySubsequences: false)
      guard parts.count == 2, let epoch = UInt32(parts[0]), let digest = bytes(hexadecimal: parts[1]),
        digest.count == RootPrint.digestBytes
      else { return nil }
      prints.append(RootPrint(epoch: epoch, digest: digest))
    }
    return prints
  }

  /// Nil for text that is not hexadecimal.
  static func bytes(hexadecimal text: Substring) -> [UInt8]? {
    let digits = text.compactMap(\.hexDigitValue)
    guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }
}
