import CommandSupport
import FileRules
import Glibc
import JSONRPC

/// A file with an account's access token for one command: mode 0600, replaced before the token expires, removed at the
/// end. A reader sees a whole token at any moment.
final class TokenFile {
  let path: String
  private let account: String
  private let mayStart: Bool
  /// On the clock of this boot, which no one sets.
  private var renewAt = 0
  /// A token that has less left is replaced by the agent; nil until the first one is there.
  private var leastSeconds: Int?
  private var hasToldFailure = false

  /// The largest pause between two attempts after a failure.
  private static let pauseSeconds = 10

  /// - Throws: also if there is something at `path` already: it would be replaced, and removed at the end.
  init(path: String, account: String, mayStart: Bool) throws(CommandFailure) {
    self.path = path
    self.account = account
    self.mayStart = mayStart
    try requireOwnDirectory()
    try requireFree()
    try write()
  }

  /// The path that a person's word stands for.
  static func path(for word: String) throws(CommandFailure) -> String {
    guard !word.isEmpty else { throw .usage("The name of the file is empty.") }
    if word.hasPrefix("/") { return word }
    guard word.contains("/") else {
      guard word != ".", word != ".." else { throw .usage("\(word) is not a file name.") }
      let directory = try runtimeDirectory()
      guard makeDirectory(directory) == 0,
        (try? FileRule.privateDirectory.check(path: directory)) != nil
      else {
        throw CommandFailure(
          .other, name: "output",
          "\(Text.shown(directory)) can't hold a token: it is not a directory that only you can use.")
      }
      return "\(directory)/\(word)"
    }
    return AgentPaths.absolute(word)
  }

  /// Where files lie that were named without a directory: no other program writes there. It is not in the directory of
  /// the socket, which a container may see.
  private static func runtimeDirectory() throws(CommandFailure) -> String {
    if let runtime = Environment.value("XDG_RUNTIME_DIR"), runtime.hasPrefix("/") { return "\(runtime)/lanyard-exec" }
    return try "\(AgentPaths.directory(of: AgentPaths.socket()))-exec"
  }

  /// Seconds of this boot, also those in which the machine slept.
  private static var bootSeconds: Int {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return time.tv_sec
  }

  /// Writes a new token if it is time. Returns the milliseconds until the next attempt.
  func renewWhenDue() -> Int32 {
    if Self.bootSeconds >= renewAt {
      do throws(CommandFailure) {
        try write()
        hasToldFailure = false
      } catch {
        if !hasToldFailure {
          Output.warning(
            "The token in \(Text.shown(path)) could not be renewed: \(error.message) The command tries again.")
        }
        hasToldFailure = true
        renewAt = Self.bootSeconds + Self.pauseSeconds
      }
    }
    return Int32(clamping: max(1, renewAt - Self.bootSeconds) * 1000)
  }

  /// Removes the file, if it is still the one that was written.
  func remove() {
    if isOwn { unlink(path) }
  }

  /// The file that was written last. While it is open, no other file gets its number.
  private var written: Int32 = -1

  /// True if nothing, or what was written last, is at the path.
  private var isOwn: Bool {
    var information = stat()
    guard lstat(path, &information) == 0 else { return true }
    var own = stat()
    guard fstat(written, &own) == 0 else { return false }
    return information.st_dev == own.st_dev && information.st_ino == own.st_ino
  }

  /// - Throws: if another user chose the directory, by a link in its place.
  private func requireOwnDirectory() throws(CommandFailure) {
    let directory = AgentPaths.directory(of: path)
    var information = stat()
    guard lstat(directory, &information) == 0, information.st_mode & S_IFMT == S_IFLNK,
      information.st_uid != 0, information.st_uid != geteuid()
    else { return }
    throw .usage(
      "\(Text.shown(directory)) is a link of another user. Nothing was written.",
      hints: ["Name a file in a directory of your own."])
  }

  private func requireFree() throws(CommandFailure) {
    var information = stat()
    guard lstat(path, &information) == 0 else { return }
    // A `lanyard exec` that was killed leaves its file. No other program writes into this directory.
    guard (try? FileRule.madeFile.check(path: path))?.st_nlink == 1,
      try AgentPaths.directory(of: path) == Self.runtimeDirectory()
    else { throw isTaken }
    let left = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    defer { close(left) }
    // Another command that runs holds the lock of its file.
    guard left >= 0, flock(left, LOCK_EX | LOCK_NB) == 0 else { throw isTaken }
    unlink(path)
  }

  private var isTaken: CommandFailure {
    .usage(
      "\(Text.shown(path)) is there already. Nothing was written.", hints: ["Name a file that is not there yet."])
  }

  private func write() throws(CommandFailure) {
    // Once the command runs, the terminal is its own.
    var agent = try Agent.connect(mayStart: mayStart, tellsWaiting: renewAt == 0)
    try ResourceCredential(account: account).token(via: &agent, leastSeconds: leastSeconds) {
      (token) throws(CommandFailure) in
      var text = JSONWriter()
      text.text(token)
      try replace(by: text)
      let left = max(2, token.expiresInSeconds ?? 3600)
      leastSeconds = min(60, max(1, left / 4)) + 1
      renewAt = Self.bootSeconds + left - min(60, max(1, left / 4))
    }
  }

  /// A new file takes the place of the old one, so that neither a link nor another open file is written to.
  private func replace(by text: borrowing JSONWriter) throws(CommandFailure) {
    guard isOwn else { throw isTaken }
    try requireOwnDirectory()
    let new = "\(path).new-\(getpid())"
    let file = open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure(errno) }
    flock(file, LOCK_EX | LOCK_NB)
    let isWritten = text.withBytes { Output.write($0, to: file) }
    let error = errno
    guard isWritten else {
      close(file)
      unlink(new)
      throw failure(error)
    }
    guard rename(new, path) == 0 else {
      let error = errno
      close(file)
      unlink(new)
      throw failure(error)
    }
    if written >= 0 { close(written) }
    written = file
  }

  private func failure(_ error: Int32) -> CommandFailure {
    CommandFailure(.other, name: "output", "\(Text.shown(path)) can't be written: \(SystemError.message(error)).")
  }
}
