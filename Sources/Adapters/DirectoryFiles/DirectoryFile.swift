internal import FileRules
internal import Glibc

/// A `.lanyard` file: it names the account of a directory and of all directories below (docs/protocol.md, Programs).
///
///     # the client's tenant
///     account = work
///
/// or an alias or id alone. It selects one of the person's accounts and can do nothing else. The agent and the commands
/// read it here, and count it only if `TrustedFiles` contains it.
package struct DirectoryFile: Hashable, Sendable {
  package let path: PathBytes
  /// All of the file, to notice a change.
  package let text: String

  package init(path: PathBytes, text: String) { (self.path, self.text) = (path, text) }

  package static let name = ".lanyard"
  /// A file names one account, and may have comments.
  package static let largestBytes = 4_096
  /// `O_PATH` (open(2)), which Glibc's module does not show: it takes the right to enter a directory, not to list it.
  private static let pathOnly: Int32 = 0o10_000_000

  /// The nearest file, from a directory upward. A directory that is not there has no file; its parents may have one.
  ///
  /// - Parameter skipping: is told each file that is passed over, since another user could have written it: a stranger
  ///   must neither choose this person's account nor stop the person's commands.
  /// - Throws: `DirectoryFileFault` for a file of the person that can't be read: no other file counts in its place.
  package static func nearest(
    to start: PathBytes, skipping: (DirectoryFileFault) -> Void = { _ in }
  ) throws(DirectoryFileFault) -> DirectoryFile? {
    var directory = try existing(start)
    while true {
      if let file = try read(in: directory, skipping: skipping) { return file }
      if directory.isRoot { return nil }
      directory = directory.directory
    }
  }

  /// The path without links of the directory, or of the nearest one above it that is there.
  private static func existing(_ start: PathBytes) throws(DirectoryFileFault) -> PathBytes {
    var directory = start
    while true {
      if let resolved = directory.resolved { return resolved }
      guard errno == ENOENT || errno == ENOTDIR, !directory.isRoot else {
        throw DirectoryFileFault(path: directory, reason: .system(errno))
      }
      directory = directory.directory
    }
  }

  private static func read(
    in directory: PathBytes, skipping: (DirectoryFileFault) -> Void
  ) throws(DirectoryFileFault) -> DirectoryFile? {
    let path = directory.appending(name)
    let opened = directory.withPointer { open($0, Self.pathOnly | O_DIRECTORY | O_CLOEXEC) }
    guard opened >= 0 else {
      if errno == ENOENT || errno == ENOTDIR { return nil }
      throw DirectoryFileFault(path: path, reason: .system(errno))
    }
    defer { close(opened) }
    let bytes: [UInt8]
    do throws(FileFault) {
      bytes = try FileRule.dotLanyard.contents(of: name, at: opened, atMost: largestBytes)
    } catch {
      return try told(error, of: path, in: opened, skipping)
    }
    guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
      throw DirectoryFileFault(path: path, reason: .noText)
    }
    return DirectoryFile(path: path, text: text)
  }

  /// Nil if there is no file, or one that is passed over.
  private static func told(
    _ fault: FileFault, of path: PathBytes, in directory: Int32, _ skipping: (DirectoryFileFault) -> Void
  ) throws(DirectoryFileFault) -> DirectoryFile? {
    var status = stat()
    guard fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
      if errno == ENOENT { return nil }
      throw DirectoryFileFault(path: path, reason: .system(errno))
    }
    guard status.st_uid == geteuid() || status.st_uid == 0 else {
      skipping(DirectoryFileFault(path: path, reason: .foreignOwner))
      return nil
    }
    switch fault {
    // Another user replaced it meanwhile.
    case .foreignOwner: return nil
    case .openToOthers:
      skipping(DirectoryFileFault(path: path, reason: .openToOthers))
      return nil
    case .link: throw DirectoryFileFault(path: path, reason: .link)
    case .system(ENXIO), .otherKind: throw DirectoryFileFault(path: path, reason: .otherKind)
    case .tooLarge: throw DirectoryFileFault(path: path, reason: .tooLarge)
    case .system(let error): throw DirectoryFileFault(path: path, reason: .system(error))
    }
  }

  // MARK: what is in it

  /// The name of the account in the file: the one line that is no comment. A byte order mark and the line ends of other
  /// systems are no part of it.
  package var account: String? {
    var lines: [String] = []
    let text = text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
    for line in text.split(whereSeparator: \.isNewline) {
      let statement = Self.trimmed(line.prefix { $0 != "#" })
      if !statement.isEmpty { lines.append(statement) }
    }
    guard lines.count == 1, var account = lines.first else { return nil }
    if let equals = account.firstIndex(of: "=") {
      guard Self.trimmed(account[..<equals]) == "account" else { return nil }
      account = Self.trimmed(account[account.index(after: equals)...])
    }
    // `@active` is no account of a directory.
    guard !account.isEmpty, !account.hasPrefix("@"), !account.contains(where: \.isWhitespace),
      account.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
    else { return nil }
    return account
  }

  private static func trimmed(_ text: some StringProtocol) -> String {
    var text = Substring(text)
    while text.first?.isWhitespace == true { text.removeFirst() }
    while text.last?.isWhitespace == true { text.removeLast() }
    return String(text)
  }
}

/// Why a `.lanyard` file does not count.
package struct DirectoryFileFault: Error, Hashable, Sendable {
  package enum Reason: Hashable, Sendable {
    /// The number of errno.h.
    case system(Int32)
    case link
    /// A directory, a pipe, a socket or a device.
    case otherKind
    case tooLarge
    /// Not UTF-8.
    case noText
    /// Not one line that names an account.
    case noAccount
    /// It is not as the person trusted it.
    case changed
    case foreignOwner, openToOthers

    /// Follows the path in a sentence for a person.
    package var text: String {
      switch self {
      case .system(let error): "can't be read: \(String(cString: strerror(error)))"
      case .link: "is a symbolic link"
      case .otherKind: "is not a plain file"
      case .tooLarge: "has more than \(DirectoryFile.largestBytes) bytes"
      case .noText: "is not text in UTF-8"
      case .noAccount: "does not name an account"
      case .changed: "has changed since you trusted it"
      case .foreignOwner: "belongs to another user"
      case .openToOthers: "can be written by other users"
      }
    }
  }

  package let path: PathBytes
  package let reason: Reason

  package init(path: PathBytes, reason: Reason) { (self.path, self.reason) = (path, reason) }
}
