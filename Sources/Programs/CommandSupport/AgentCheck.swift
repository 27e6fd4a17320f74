internal import Glibc

/// Runs `lanyard-agent --check`, which examines the store while no agent runs.
public struct AgentCheck: Sendable {
  /// The exit code of `lanyard-agent` (docs/protocol.md, Programs); -1 if a signal ended it.
  public var exitCode: Int32
  /// Its stdout: the findings as JSON, or nothing if it failed.
  public var found: [UInt8]
  /// Its stderr.
  public var errorOutput: String

  /// Enough for ten thousand accounts with a finding each.
  private static let mostBytes = 16 << 20

  /// Nil if `lanyard-agent` is not installed or can't be run.
  public static func run() -> AgentCheck? {
    guard let program = AgentPaths.companion("lanyard-agent") ?? AgentPaths.program("lanyard-agent") else { return nil }
    guard let (out, err) = pipes() else { return nil }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO)
    posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO)
    var child = pid_t()
    let result = CStrings.with([program, "--check"]) { arguments in
      CStrings.with(Environment.forAgent) { environment in
        posix_spawn(&child, program, &actions, nil, arguments, environment)
      }
    }
    close(out[1])
    close(err[1])
    defer {
      close(out[0])
      close(err[0])
    }
    guard result == 0 else { return nil }
    // Read stdout first: stderr is a line or two and fits into its pipe.
    var line = WaitingLine()
    let found = read(out[0]) { line.waitUntilReadable($0) }
    line.clear()
    let errorOutput = String(decoding: read(err[0]) { _ in }, as: UTF8.self)
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0, errno == EINTR {}
    return AgentCheck(exitCode: status & 0x7F == 0 ? (status >> 8) & 0xFF : -1, found: found, errorOutput: errorOutput)
  }

  /// Both pipes are close-on-exec.
  private static func pipes() -> (out: [Int32], err: [Int32])? {
    var (out, err): ([Int32], [Int32]) = ([0, 0], [0, 0])
    guard pipe(&out) == 0 else { return nil }
    guard pipe(&err) == 0 else {
      for end in out { close(end) }
      return nil
    }
    for end in out + err { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (out, err)
  }

  private static func read(_ descriptor: Int32, waiting: (Int32) -> Void) -> [UInt8] {
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65_536)
    while bytes.count < mostBytes {
      waiting(descriptor)
      let count = Glibc.read(descriptor, &piece, piece.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      bytes += piece[..<count]
    }
    return bytes
  }
}
