#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// `agent.log` in the state directory: the stderr of an agent that a program started. Only this user can read it.
struct AgentLog: ~Copyable {
  /// A larger log is renamed to `agent.log.old` when the next agent starts.
  private static let largestBytes = 1 << 20
  private static let tailBytes = 2_000
  private static let tailLines = 3

  /// Negative if there is no log.
  let descriptor: Int32
  private let path: String
  private let begin: Int

  init() {
    guard let directory = AgentPaths.stateDirectory, Self.makeDirectories(directory) else {
      (descriptor, path, begin) = (-1, "", 0)
      return
    }
    path = "\(directory)/agent.log"
    var information = stat()
    if lstat(path, &information) == 0, information.st_size > Self.largestBytes { rename(path, "\(path).old") }
    descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
    begin = descriptor >= 0 && fstat(descriptor, &information) == 0 ? Int(information.st_size) : 0
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// The last lines that the agent wrote since its start, and the path of the log; empty if there are none.
  var told: String {
    var information = stat()
    guard descriptor >= 0, fstat(descriptor, &information) == 0, Int(information.st_size) > begin else { return "" }
    let from = max(begin, Int(information.st_size) - Self.tailBytes)
    let tail = [UInt8](unsafeUninitializedCapacity: Self.tailBytes) { buffer, count in
      count = max(0, pread(descriptor, buffer.baseAddress, buffer.count, off_t(from)))
    }
    let lines = String(decoding: tail, as: UTF8.self).split(separator: "\n").suffix(Self.tailLines)
    return "; it said: \(lines.joined(separator: " ")) (more in \(path))"
  }

  /// Makes the directory and those above it, each for this user alone.
  private static func makeDirectories(_ path: String) -> Bool {
    if mkdir(path, 0o700) == 0 || errno == EEXIST { return true }
    guard errno == ENOENT, path != "/", path != "." else { return false }
    return makeDirectories(AgentPaths.directory(of: path)) && (mkdir(path, 0o700) == 0 || errno == EEXIST)
  }
}
