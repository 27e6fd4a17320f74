internal import CPlatform
internal import FileRules
internal import Glibc

/// Starts one agent, also if several commands try at once.
///
/// The command that takes the lock beside the socket starts the agent and holds the lock until the agent answers. Other
/// commands wait for the lock or for an answer.
struct AgentStarter {
  /// A start takes milliseconds; a slow disk or a key derivation may take seconds.
  private static let patienceSeconds = 10
  private static let pauseMicroseconds: UInt32 = 4_000
  /// The time that another agent may hold the state: it may not listen yet, or has lost its socket and ends. A new agent
  /// itself waits for one that is ending.
  private static let handoverSeconds = 4
  private static let handoverPauseMicroseconds: UInt32 = 30_000

  let socket: String
  /// A person at the terminal is told of a long start.
  private let tellsWaiting: Bool
  private let began = Self.seconds

  init(socket: String, tellsWaiting: Bool) { (self.socket, self.tellsWaiting) = (socket, tellsWaiting) }

  private static var seconds: Int {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return now.tv_sec
  }

  private var timeIsOver: Bool { Self.seconds - began > Self.patienceSeconds }

  func start() throws(CommandFailure) -> AgentConnection {
    let lock = try openLock()
    defer { close(lock) }
    var line = WaitingLine(isAllowed: tellsWaiting)
    while flock(lock, LOCK_EX | LOCK_NB) != 0 {
      if let connection = try Agent.connection(to: socket) { return connection }
      guard !timeIsOver else {
        line.clear()
        throw failure("Another command has been starting the agent for \(Self.patienceSeconds) s.")
      }
      line.show { nil }
      usleep(Self.pauseMicroseconds)
    }
    if let connection = try Agent.connection(to: socket) { return connection }
    var heldSince: Int?
    while true {
      let log = AgentLog()
      defer { log.close() }
      try launch(log)
      if let connection = try firstConnection(log, &line, &heldSince) { return connection }
    }
  }

  private func openLock() throws(CommandFailure) -> Int32 {
    let directory = AgentPaths.directory(of: socket)
    let error = makeDirectory(directory)
    guard error == 0 else { throw noDirectory(directory, "created", error) }
    let lock = open(SocketPlace.startLock(in: directory), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard lock >= 0 else { throw noDirectory(directory, "written", errno) }
    // The umask may have removed permissions of the owner: the next command opens it, too.
    fchmod(lock, 0o600)
    return lock
  }

  /// Throws as `start` would for want of a directory for the socket, and leaves none behind.
  func checkDirectory() throws(CommandFailure) {
    let directory = AgentPaths.directory(of: socket)
    var status = stat()
    if lstat(directory, &status) == 0 {
      guard access(directory, W_OK | X_OK) == 0 else { throw noDirectory(directory, "written", errno) }
    } else {
      let error = AgentPaths.obstacle(toMakingIn: AgentPaths.directory(of: directory))
      guard error == 0 else { throw noDirectory(directory, "created", error) }
    }
  }

  /// After `su`, in containers and under WSL the variable may name a directory of another user, or one that was never made.
  private func noDirectory(_ directory: String, _ done: String, _ error: Int32) -> CommandFailure {
    let reason = "The directory \(directory) for its socket can't be \(done): \(SystemError.message(error))."
    guard Environment.value("LANYARD_SOCKET") == nil, let named = Environment.value("XDG_RUNTIME_DIR"),
      let other = try? SocketPlace().path(environment: { _ in nil })
    else {
      return failure(reason, hints: ["Set LANYARD_SOCKET to a path in a directory of yours with mode 0700."])
    }
    return failure(
      reason,
      hints: [
        "XDG_RUNTIME_DIR is \(named). Set it to a directory of yours with mode 0700, or unset it: the socket is then "
          + "\(other)."
      ])
  }

  private func launch(_ log: AgentLog) throws(CommandFailure) {
    guard let program = AgentPaths.companion("lanyard-agent") ?? AgentPaths.program("lanyard-agent") else {
      throw failure(
        "The program lanyard-agent is neither beside this program nor in PATH.",
        hints: ["Install it, or add it to PATH."])
    }
    // The detached agent becomes a child of this process, so that its exit status can be read.
    _ = lanyard_adopt_orphans()
    let result = CStrings.with([program, "--socket", socket]) { arguments in
      CStrings.with(Environment.forAgent) { environment in
        lanyard_start_detached(program, arguments, environment, log.descriptor, -1)
      }
    }
    guard result == 0 else { throw failure(SystemError.whyNotRun(program, -result)) }
  }

  /// Connects to the new agent, or to one that another command started. Nil if a second launch may succeed.
  ///
  /// - Parameter heldSince: when a new agent first found the state held.
  private func firstConnection(
    _ log: AgentLog, _ line: inout WaitingLine, _ heldSince: inout Int?
  ) throws(CommandFailure) -> AgentConnection? {
    while true {
      if let connection = try Agent.connection(to: socket) { return connection }
      switch AgentExit.ofChild() {
      case .alreadyRunning? where Self.seconds - (heldSince ?? Self.seconds) < Self.handoverSeconds:
        heldSince = heldSince ?? Self.seconds
        line.show { nil }
        usleep(Self.handoverPauseMicroseconds)
        return try Agent.connection(to: socket)
      // A directory that can't be written at all is no matter of its mode alone.
      case let exit?:
        line.clear()
        throw failure(exit.message, hints: (log.problem == nil ? exit.hints : []) + log.hints)
      case nil: break
      }
      guard !timeIsOver else {
        line.clear()
        throw failure("A new agent did not answer within \(Self.patienceSeconds) s.", hints: log.hints)
      }
      line.show { nil }
      usleep(Self.pauseMicroseconds)
    }
  }

  private func failure(_ reason: String, hints: [String] = []) -> CommandFailure {
    CommandFailure(.noAgent, name: "noAgent", "No agent runs, and none could be started. \(reason)", hints: hints)
  }
}
