import CommandSupport
import FileRules
import Glibc

/// A file of another program, as it was when it was read. It is changed only in one step, and only if no other program
/// changed it since.
struct StoreFile {
  /// As it was named: a link may lead to it.
  let named: String
  /// The file itself.
  let path: String
  let contents: HeldBytes
  private let information: stat

  /// The largest store that is read. Those of the programs have some kilobytes.
  static let largestBytes = 4 << 20

  /// Nil if there is no such file. Warns about a file that other users can change.
  static func read(_ named: String) throws(CommandFailure) -> StoreFile? {
    guard let path = try target(of: named) else { return nil }
    let (file, information) = try opened(path, named)
    defer { close(file) }
    let contents = HeldBytes(capacity: min(Int(clamping: information.st_size), largestBytes) + 65_537)
    while true {
      let read = contents.appendOnce(from: file)
      if read < 0, errno == EINTR { continue }
      guard read >= 0 else { throw unreadable(named, SystemError.message(errno)) }
      guard contents.count <= largestBytes else {
        throw unreadable(named, "it has more than \(largestBytes >> 20) MiB")
      }
      if read == 0 { break }
    }
    do throws(FileFault) {
      try FileRule.ownFile.check(information)
    } catch .foreignOwner {
      Output.warning("\(Text.shown(path)) belongs to another user, who may know what is in it.")
    } catch {
      Output.warning("Other users can write \(Text.shown(path)). `chmod go-w` ends that.")
    }
    return StoreFile(named: named, path: path, contents: contents, information: information)
  }

  /// Where a link leads to, and else the path itself; nil if there is nothing.
  private static func target(of named: String) throws(CommandFailure) -> String? {
    do throws(FileFault) {
      try FileRule.trustedLink.check(path: named)
    } catch .otherKind {
      return named
    } catch .system(ENOENT), .system(ENOTDIR) {
      return nil
    } catch {
      throw unreadable(named, error)
    }
    guard let target = realpath(named, nil) else { throw unreadable(named, SystemError.message(errno)) }
    defer { free(target) }
    return String(cString: target)
  }

  private static func opened(_ path: String, _ named: String) throws(CommandFailure) -> (Int32, stat) {
    do throws(FileFault) {
      let file = try FileRule.otherProgramsFile.open(path)
      return (file, try FileRule.otherProgramsFile.check(file))
    } catch {
      throw unreadable(named, error)
    }
  }

  /// For a file with secrets that are not encrypted.
  func warnOfReaders() {
    do throws(FileFault) {
      try FileRule.otherProgramsSecrets.check(information)
    } catch .openToOthers {
      Output.warning("Other users can read \(Text.shown(path)), and the secrets in it. `chmod go-rwx` ends that.")
    } catch {
      return
    }
  }

  private static func unreadable(_ path: String, _ fault: FileFault) -> CommandFailure {
    switch fault {
    case .foreignOwner: unreadable(path, "it is a link that belongs to another user")
    case .otherKind: unreadable(path, "it is not a plain file")
    case .system, .link, .openToOthers, .tooLarge: unreadable(path, SystemError.message(fault.code))
    }
  }

  private static func unreadable(_ path: String, _ reason: String) -> CommandFailure {
    CommandFailure(.other, name: "storeUnreadable", "\(path) can't be read: \(reason). Nothing was changed.")
  }

  /// The failure of a file that another program would not have written.
  func malformed(_ expected: String) -> CommandFailure { Self.malformed(path, expected) }

  static func malformed(_ path: String, _ expected: String) -> CommandFailure {
    CommandFailure(
      .other, name: "storeMalformed", "\(path) can't be understood. Expected: \(expected). Nothing was changed.")
  }

  // MARK: changing

  /// Writes `new` in the place of the file, with the same mode and owner.
  func replace(by new: HeldBytes) throws(CommandFailure) {
    try requireUnlinked()
    let draft = "\(path).lanyard-\(getpid())"
    let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw unchanged(SystemError.message(errno)) }
    var own = stat()
    let isWritten =
      new.withBytes { Output.write($0, to: file) } && fstat(file, &own) == 0
      && (own.st_uid == information.st_uid && own.st_gid == information.st_gid
        || fchown(file, information.st_uid, information.st_gid) == 0)
      && fchmod(file, information.st_mode & 0o7777) == 0 && fsync(file) == 0
    let error = errno
    close(file)
    do throws(CommandFailure) {
      guard isWritten else { throw unchanged(SystemError.message(error)) }
      try requireSame()
      guard rename(draft, path) == 0 else { throw unchanged(SystemError.message(errno)) }
    } catch {
      unlink(draft)
      throw error
    }
    syncDirectory()
  }

  /// Deletes the file.
  func delete() throws(CommandFailure) {
    try requireUnlinked()
    try requireSame()
    guard unlink(path) == 0 else { throw unchanged(SystemError.message(errno)) }
    syncDirectory()
  }

  private func requireUnlinked() throws(CommandFailure) {
    if path != named { throw unchanged("\(named) is a link to it; name the file itself") }
  }

  /// Another program may have written a newer token in the meantime.
  private func requireSame() throws(CommandFailure) {
    var now = stat()
    guard lstat(path, &now) == 0, now.st_dev == information.st_dev, now.st_ino == information.st_ino,
      now.st_size == information.st_size, now.st_mtim.tv_sec == information.st_mtim.tv_sec,
      now.st_mtim.tv_nsec == information.st_mtim.tv_nsec
    else { throw unchanged("another program changed it meanwhile") }
  }

  private func syncDirectory() {
    let directory = open(AgentPaths.directory(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0 else { return }
    fsync(directory)
    close(directory)
  }

  func unchanged(_ reason: String) -> CommandFailure {
    CommandFailure(.other, name: "storeUnchanged", "\(path) was not changed: \(reason).")
  }
}

extension StoreFile {
  /// The file of an option or, without one, the usual one; nil if the usual one is missing.
  static func named(_ file: String?, orUsual usual: String) throws(CommandFailure) -> StoreFile? {
    if let file { return try require(file) }
    return try read(usual)
  }

  /// A file that must be there.
  static func require(_ path: String) throws(CommandFailure) -> StoreFile {
    if let found = try read(path) { return found }
    throw .usage("There is no file \(path).")
  }

  /// The path in an environment variable, else one below the person's home.
  static func path(in variable: String, orHome path: String) throws(CommandFailure) -> String {
    if let named = Environment.value(variable) { return named }
    return try home(path)
  }

  /// A path below the person's home.
  static func home(_ path: String) throws(CommandFailure) -> String {
    guard let home = Environment.value("HOME") else {
      throw .usage("HOME is not set, so the usual file is not known. Name the file.")
    }
    return "\(home)/\(path)"
  }

  /// A path below the person's configuration.
  static func configuration(_ path: String) throws(CommandFailure) -> String {
    if let directory = Environment.value("XDG_CONFIG_HOME") { return "\(directory)/\(path)" }
    return try home(".config/\(path)")
  }
}
