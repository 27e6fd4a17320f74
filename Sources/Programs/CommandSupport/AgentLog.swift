internal import FileRules
internal import Glibc

/// `agent.log` in the state directory: the stderr of an agent that a command started. Only this user can read it.
struct AgentLog {
  /// A larger log is renamed to `agent.log.old` when the next agent starts.
  private static let largestBytes = 1 << 20

  let path: String?
  let descriptor: Int32
  /// Why there is no log: the agent can't write its state there either.
  let problem: String?
  private let startsAt: Int

  init() {
    let directory: String
    do throws(CommandFailure) { directory = try AgentPaths.state() } catch {
      (path, descriptor, startsAt) = (nil, -1, 0)
      problem = error.message
      return
    }
    let error = makeDirectories(directory)
    guard error == 0 else {
      problem = "\(directory) can't be created: \(SystemError.message(error))."
      (path, descriptor, startsAt) = (nil, -1, 0)
      return
    }
    let path = "\(directory)/agent.log"
    var information = stat()
    if lstat(path, &information) == 0, information.st_size > Self.largestBytes { rename(path, "\(path).old") }
    let opened = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
    // The umask may have removed permissions of the owner. A file of another user stays as it is.
    if opened >= 0 { fchmod(opened, 0o600) }
    problem = opened < 0 ? "\(path) can't be written: \(SystemError.message(errno))." : nil
    self.path = path
    descriptor = opened
    startsAt = opened >= 0 && fstat(opened, &information) == 0 ? information.st_size : 0
  }

  /// The last lines that the agent wrote since its start, and the path of the log; without a log, why.
  var hints: [String] {
    if let problem { return [problem, "`lanyard doctor` checks the agent's directories."] }
    guard let path, descriptor >= 0 else { return [] }
    var information = stat()
    guard fstat(descriptor, &information) == 0, information.st_size > startsAt else { return [] }
    let from = max(startsAt, information.st_size - 2_000)
    let text = String(unsafeUninitializedCapacity: 2_000) { max(0, pread(descriptor, $0.baseAddress!, 2_000, from)) }
    return text.split(separator: "\n").suffix(3).map { "It said: \(CommandWords.translated(String($0)))" } + [
      "More in \(path)."
    ]
  }

  func close() {
    if descriptor >= 0 { Glibc.close(descriptor) }
  }
}
