internal import FileRules
internal import Glibc
internal import JSONRPC

/// The `.lanyard` files that the person trusts (docs/protocol.md, Programs): a cloned repository must not choose an
/// account.
///
/// One line of JSON each in `$XDG_CONFIG_HOME/lanyard/trusted-directories`, with the text of the file at that time: a
/// file that changed is not trusted.
public struct TrustedFiles {
  /// Enough for some thousand directories.
  private static let largestBytes = 1 << 20

  private struct Entry {
    var path: String
    var text: String
  }

  private var entries: [Entry] = []
  private let list: String?
  /// The list is there and can't be used, so that it is not replaced, either.
  private var isRefused = false

  /// Reads the list. An unreadable list, or one that others may write, trusts no file.
  public init() {
    let directory = Environment.value("XDG_CONFIG_HOME") ?? Environment.value("HOME").map { "\($0)/.config" }
    list = directory.map { "\($0)/lanyard/trusted-directories" }
    guard let list else { return }
    guard let lines = Self.read(list) else {
      isRefused = access(list, F_OK) == 0
      return
    }
    for line in lines.split(separator: "\n") {
      var line = String(line)
      let entry = line.withUTF8 { bytes -> Entry? in
        var tape = JSONTape()
        let bytes = UnsafeRawBufferPointer(bytes)
        guard (try? JSONScanner.scan(bytes, onto: &tape)) != nil else { return nil }
        return tape.withRoot(of: bytes) { node in
          guard let path = node["path"]?.string, let text = node["text"]?.string else { return nil }
          return Entry(path: path, text: text)
        }
      }
      if let entry { entries.append(entry) }
    }
  }

  /// The paths of the trusted files.
  public var paths: [String] { entries.map(\.path).sorted() }

  /// True if the person trusted this file with this text.
  public func contains(_ file: DirectoryFile) -> Bool {
    entries.contains { $0.path == file.path && $0.text == file.text }
  }

  /// True if the person trusted an earlier text of this file.
  public func knewOther(_ file: DirectoryFile) -> Bool {
    entries.contains { $0.path == file.path && $0.text != file.text }
  }

  /// Trusts the file as it is now.
  public mutating func insert(_ file: DirectoryFile) throws(CommandFailure) {
    entries.removeAll { $0.path == file.path }
    entries.append(Entry(path: file.path, text: file.text))
    try write()
  }

  /// Trusts the file no longer; false if it was not trusted.
  public mutating func remove(_ path: String) throws(CommandFailure) -> Bool {
    guard entries.contains(where: { $0.path == path }) else { return false }
    entries.removeAll { $0.path == path }
    try write()
    return true
  }

  private static func read(_ path: String) -> String? {
    (try? FileRule.ownFile.contents(of: path, atMost: largestBytes)).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Replaces the list in one step, so that a crash leaves the old one or the new one.
  private func write() throws(CommandFailure) {
    guard let list else { throw Self.failure("HOME is not set") }
    guard !isRefused else {
      throw Self.failure("\(list) has to be a plain file of yours that no other user can write, of 1 MiB at most")
    }
    let directory = AgentPaths.directory(of: list)
    for path in [AgentPaths.directory(of: directory), directory] where mkdir(path, 0o700) != 0 && errno != EEXIST {
      throw Self.failure("\(path) can't be created: \(SystemError.message(errno))")
    }
    var text = entries.map(Self.line).joined()
    let error = text.withUTF8 {
      writeFile(UnsafeRawBufferPointer($0), to: list, draft: "\(list).\(getpid()).new", isDurable: true)
    }
    guard error == 0 else { throw Self.failure("\(list) can't be written: \(SystemError.message(error))") }
  }

  private static func line(_ entry: Entry) -> String {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("path", entry.path)
    writer.member("text", entry.text)
    writer.endObject()
    return writer.withBytes { String(decoding: $0, as: UTF8.self) } + "\n"
  }

  private static func failure(_ reason: String) -> CommandFailure {
    CommandFailure(.other, name: "system", "The trust could not be recorded: \(reason).")
  }
}

extension DirectoryFile {
  /// True if the person trusts this file as it is now.
  public var isTrusted: Bool { TrustedFiles().contains(self) }

  /// Asks the person once whether this file may choose the account.
  ///
  /// - Throws: a usage failure if the person declines, or can't be asked.
  func requireTrust() throws(CommandFailure) {
    var trusted = TrustedFiles()
    guard !trusted.contains(self) else { return }
    let change = trusted.knewOther(self) ? "changed: it now names" : "names"
    guard Terminal.canAsk else {
      throw CommandFailure(
        .usage, name: "untrustedDirectory",
        "\(path) \(change) the account \(account), and you do not trust it yet. No account was chosen.",
        hints: ["`lanyard trust` trusts it as it is. Or name the account in the command."])
    }
    let question = "\(path) \(change) the account \(account) for this directory. Trust it?"
    guard Terminal.confirm(Text.shown(question)) else {
      throw CommandFailure(
        .usage, name: "untrustedDirectory", "\(path) is not trusted. No account was chosen.",
        hints: ["Name the account in the command."])
    }
    try trusted.insert(self)
  }
}
