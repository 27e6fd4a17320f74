public import AgentPorts
internal import FileRules
internal import Glibc

/// The nearest `.lanyard` file in a directory or its parents: one line, `account = NAME` or the name alone.
public struct DotLanyardFiles: DirectoryAccounts {
  /// Longer files are ignored.
  private static let maximumBytes = 4096
  /// Limit of parent directories that are searched; people do not make deeper trees by hand.
  private static let maximumDepth = 64

  public init() {}

  public func account(for directory: String) -> String? {
    guard directory.hasPrefix("/") else { return nil }
    var path = directory[...]
    for _ in 0..<Self.maximumDepth {
      while path.count > 1, path.last == "/" { path = path.dropLast() }
      if let name = read(path == "/" ? "/.lanyard" : path + "/.lanyard") { return name }
      guard path != "/", let slash = path.lastIndex(of: "/") else { return nil }
      path = slash == path.startIndex ? "/" : path[..<slash]
    }
    return nil
  }

  /// Nil for a file that another user could have written: it would choose whose tokens are used.
  private func read(_ path: some StringProtocol) -> String? {
    guard let fd = try? FileRule.dotLanyard.open(String(path)) else { return nil }
    defer { close(fd) }
    var bytes = [UInt8](repeating: 0, count: Self.maximumBytes)
    let count = Glibc.read(fd, &bytes, bytes.count)
    guard count > 0 else { return nil }
    for line in String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n") {
      var text = Self.trimmed(line.prefix { $0 != "#" })
      if text.hasPrefix("account") {
        let rest = Self.trimmed(text.dropFirst("account".count))
        if rest.hasPrefix("=") { text = Self.trimmed(rest.dropFirst()) }
      }
      if !text.isEmpty { return String(text) }
    }
    return nil
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text.drop { $0 == " " || $0 == "\t" || $0 == "\r" }
    while let last = text.last, last == " " || last == "\t" || last == "\r" { text = text.dropLast() }
    return text
  }
}
