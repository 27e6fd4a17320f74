internal import CLanyardClient
#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// Starts the agent as the commands do: one agent for any number of programs that find none.
///
/// The program that takes the lock beside the socket starts the agent and holds the lock until the agent answers. Other
/// programs, commands among them, wait for the lock or for an answer.
struct AgentStarter {
  /// A start takes milliseconds; a slow disk or a key derivation may take seconds.
  private static let patience = Duration.seconds(10)
  private static let pause = Duration.milliseconds(4)
  /// The time that another agent may hold the state: it may not listen yet.
  private static let handover = Duration.seconds(4)
  private static let handoverPause = Duration.milliseconds(30)

  private let socket: AgentSocket
  private let began = ContinuousClock.now

  init(_ socket: AgentSocket) { self.socket = AgentSocket(path: AgentPaths.absolute(socket.path)) }

  /// Starts an agent, or waits for the one that another program starts. Returns a connected socket.
  ///
  /// - Throws: `agentStartFailed`, `untrustedAgent`, or `CancellationError`; a started agent goes on.
  func start() async throws -> Int32 {
    let lock = try openLock()
    defer { close(lock) }
    while flock(lock, LOCK_EX | LOCK_NB) != 0 {
      if let descriptor = try await connection() { return descriptor }
      if ContinuousClock.now - began > Self.patience {
        throw failure("another program has been starting the agent for \(Self.patience.components.seconds) s")
      }
      try await Task.sleep(for: Self.pause)
    }
    if let descriptor = try await connection() { return descriptor }
    while true {
      if let descriptor = try await launch() { return descriptor }
    }
  }

  /// A connection to an agent; nil if no process listens.
  private func connection() async throws -> Int32? {
    while true {
      switch try socket.connect() {
      case .connected(let descriptor): return descriptor
      case .absent: return nil
      case .busy: try await Task.sleep(for: Self.pause)
      }
    }
  }

  /// Starts the program, and connects to it or to an agent that another program started. Nil if a second launch may
  /// succeed.
  private func launch() async throws -> Int32? {
    guard let program = AgentPaths.agentProgram else {
      throw failure("the program lanyard-agent is not installed beside this program, and not in PATH")
    }
    let log = AgentLog()
    let process = AgentProcess(program, socket: socket.path, log: log.descriptor)
    guard process.id > 0 else { throw failure("\(program) can't be run: \(SystemError(-process.id).message)") }
    defer { process.letGo() }
    while true {
      if let descriptor = try await connection() { return descriptor }
      let spent = ContinuousClock.now - began
      switch process.end() {
      case .exited(AgentProcess.alreadyRunning) where spent < Self.handover:
        try await Task.sleep(for: Self.handoverPause)
        return try await connection()
      case let end?: throw failure(end.reason + log.told)
      case nil: break
      }
      if spent > Self.patience {
        throw failure("a new agent did not answer within \(Self.patience.components.seconds) s\(log.told)")
      }
      try await Task.sleep(for: Self.pause)
    }
  }

  private func openLock() throws(LanyardError) -> Int32 {
    let directory = AgentPaths.directory(of: socket.path)
    if mkdir(directory, 0o700) != 0, errno != EEXIST { throw noDirectory(directory, SystemError()) }
    let lock = open("\(directory)/start.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard lock >= 0 else { throw noDirectory(directory, SystemError()) }
    return lock
  }

  private func noDirectory(_ directory: String, _ error: SystemError) -> LanyardError {
    failure("the directory \(directory) for its socket can't be written: \(error.message)")
  }

  private func failure(_ reason: String) -> LanyardError {
    LanyardError(.agentStartFailed, "no agent runs, and none could be started: \(reason)")
  }
}

/// A process of the agent that this program started.
final class AgentProcess {
  /// The exit status of an agent that found another one holding the state.
  static let alreadyRunning: Int32 = 75

  enum End {
    case exited(Int32)
    case signalled(Int32)

    var reason: String {
      switch self {
      case .signalled(let signal): "signal \(signal) ended the agent at once"
      case .exited(64): "the agent did not accept its options or its configuration file (exit 64)"
      case .exited(73): "a directory of the agent can't be created, or others may write to it (exit 73)"
      case .exited(74): "the agent's store can't be read or written (exit 74); nothing was lost"
      case .exited(75): "another agent holds this state directory (exit 75)"
      case .exited(76):
        "the agent can't open its vault (exit 76): the key is wrong, or the store is damaged, old, foreign, or gone"
      case .exited(let status): "the agent ended at once (exit \(status))"
      }
    }
  }

  /// The process id; a negative error number if the program could not be run.
  let id: pid_t
  private var hasEnded = false

  init(_ program: String, socket: String, log: Int32) {
    let strings = { (texts: [String]) in texts.map { strdup($0) } + [nil] }
    let arguments = strings([program, "--socket", socket])
    let environment = strings(Environment.forAgent)
    id = lanyard_client_start(program, arguments, environment, log)
    for string in arguments + environment { free(string) }
  }

  /// How the process ended; nil while it runs.
  func end() -> End? {
    var status: Int32 = 0
    guard waitpid(id, &status, WNOHANG) == id else { return nil }
    hasEnded = true
    let signal = status & 0x7F
    return signal == 0 ? .exited(status >> 8 & 0xFF) : .signalled(signal)
  }

  /// The agent is a child of this program. A thread that waits leaves no zombie when the agent ends first.
  func letGo() {
    guard !hasEnded, id > 0 else { return }
    let id = id
    _ = IOThread.start {
      var status: Int32 = 0
      while waitpid(id, &status, 0) < 0, errno == EINTR {}
    }
  }
}
