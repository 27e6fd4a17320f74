internal import FileRules
internal import Glibc

/// A `.lanyard` file: it names the account of a directory and of all directories below.
///
///     # the client's tenant
///     account = work
///
/// or an alias or id alone. It selects one of the person's accounts and can do nothing else.
public struct DirectoryFile: Sendable {
  public let path: String
  public let account: String
  /// All of the file, to notice a change.
  let text: String

  private static let largestBytes = 4_096

  /// The nearest file, from the working directory upward. Warns about a file that others may write and skips it: they
  /// must not choose this person's account.
  public static func nearest() throws(CommandFailure) -> DirectoryFile? {
    try AgentPaths.workingDirectory.flatMap { (directory) throws(CommandFailure) in try nearest(to: directory) }
  }

  /// The nearest file, from an absolute path of a directory upward.
  public static func nearest(to start: String) throws(CommandFailure) -> DirectoryFile? {
    var directory = start
    while true {
      let path = directory == "/" ? "/.lanyard" : "\(directory)/.lanyard"
      if let text = read(path) {
        return DirectoryFile(path: path, account: try account(in: text, of: path), text: text)
      }
      if directory == "/" { return nil }
      directory = AgentPaths.directory(of: directory)
    }
  }

  private static func read(_ path: String) -> String? {
    let file: Int32
    do throws(FileFault) {
      file = try FileRule.dotLanyard.open(path)
    } catch {
      switch error {
      case .link: return ignore(path, "is a symbolic link")
      case .system(EACCES): return ignore(path, "can't be read")
      case .foreignOwner: return ignore(path, "belongs to another user")
      case .openToOthers: return ignore(path, "can be written by other users")
      case .system, .otherKind, .tooLarge: return nil
      }
    }
    defer { close(file) }
    return String(unsafeUninitializedCapacity: largestBytes) { max(0, Glibc.read(file, $0.baseAddress!, $0.count)) }
  }

  private static func ignore(_ path: String, _ reason: String) -> String? {
    Output.warning("\(Text.shown(path)) \(reason), so it is ignored.")
    return nil
  }

  private static func account(in text: String, of path: String) throws(CommandFailure) -> String {
    let statements = text.split(whereSeparator: \.isNewline).map { line in
      trimmed(line.prefix { $0 != "#" })
    }.filter { !$0.isEmpty }
    var account = statements.first ?? ""
    if let equals = account.firstIndex(of: "=") {
      let key = trimmed(account[..<equals])
      account = key == "account" ? trimmed(account[account.index(after: equals)...]) : ""
    }
    guard statements.count == 1, !account.isEmpty, !account.contains(where: \.isWhitespace), !account.hasPrefix("@")
    else {
      throw .usage(
        "\(path) does not name an account. No account was chosen.",
        hints: ["Write one line into it: `account = ALIAS`, or an id. Comments begin with #."])
    }
    return account
  }

  private static func trimmed(_ text: some StringProtocol) -> String {
    var text = Substring(text)
    while text.first?.isWhitespace == true { text.removeFirst() }
    while text.last?.isWhitespace == true { text.removeLast() }
    return String(text)
  }
}
