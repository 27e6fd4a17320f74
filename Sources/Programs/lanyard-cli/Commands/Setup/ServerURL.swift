/// The address of an MCP server, which comes into files of other tools.
enum ServerURL {
  /// Nil for https, or http on this machine, without a user, a fragment, a pattern, a variable or a secret.
  static func problem(_ url: String) -> String? {
    let parts = url.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard SetupTarget(url: parts[0]).isPattern, !parts[0].contains("*"),
      parts.count == 1 || parts[1].utf8.allSatisfy(isQuery)
    else {
      return "is not the https URL of an MCP server."
    }
    guard parts.count == 2 else { return nil }
    let names = parts[1].split(separator: "&").map { $0.prefix { $0 != "=" }.lowercased() }
    if let secret = names.first(where: { name in secretWords.contains { name.hasSuffix($0) } }) {
      return "seems to contain a secret: \(secret). It would be written to a file of the tool. Leave it out."
    }
    return nil
  }

  private static let secretWords = [
    "token", "secret", "key", "password", "passwd", "credential", "signature", "sig", "auth",
  ]

  /// Without `$`, by which the tools name variables, and without what a shell or a file format knows.
  private static func isQuery(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "-._~:/+%=&,".utf8.contains(byte)
    }
  }
}
