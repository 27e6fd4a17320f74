import CommandSupport

/// The name of an entry, by which the tool and its model know the server.
enum ServerName {
  /// Codex and Claude Code take no other characters. Gemini CLI parts names at `_`.
  static func problem(_ name: String, for tool: SetupTool) -> String? {
    let isValid =
      (1...64).contains(name.utf8.count) && name.utf8.first != UInt8(ascii: "-")
      && name.utf8.allSatisfy { isPlain($0) || $0 == UInt8(ascii: "_") }
    guard isValid else {
      return "\(Text.shown(name)) is not a server name: it has at most 64 letters, digits, - and _."
    }
    if tool == .gemini, name.contains("_") { return "Gemini CLI splits names at _: choose a name without it." }
    return nil
  }

  /// `mcp.notion.com` becomes `notion-com`.
  static func proposed(for host: String) -> String {
    var host = host.lowercased()
    for prefix in ["mcp.", "www."] where host.hasPrefix(prefix) && host.dropFirst(prefix.count).contains(".") {
      host = String(host.dropFirst(prefix.count))
    }
    let plain = host.utf8.map { isPlain($0) ? Character(Unicode.Scalar($0)) : "-" }
    return String(String(plain).drop { $0 == "-" }.prefix(64))
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"): true
    default: false
    }
  }
}
