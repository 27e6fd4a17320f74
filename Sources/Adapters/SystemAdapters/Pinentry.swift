public import AgentPorts
internal import CPlatform
internal import Glibc
internal import Secrets
internal import Synchronization
internal import Threads

/// Prompts by `pinentry`, GnuPG's program for it: the typed text goes from `pinentry` to the agent and to no other
/// program.
///
/// The program is chosen when the agent starts, never by a client. Its environment holds only what a display or a
/// terminal needs.
public final class Pinentry: Prompter {
  /// A prompt that stands longer is closed: the person has left.
  private static let patienceSeconds: Int64 = 120
  private static let places = ["/usr/local/bin", "/usr/bin", "/bin"]
  private static let passedOn = [
    "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "WAYLAND_DISPLAY",
    "XAUTHORITY", "XDG_CURRENT_DESKTOP", "XDG_RUNTIME_DIR", "XDG_SESSION_TYPE",
  ]

  private let program: String?
  private let patience: Int64
  /// One prompt at a time.
  private let isAsking = Atomic(false)

  /// - Parameter program: an absolute path; nil for the first `pinentry` of `places` that exists.
  public convenience init(program: String? = nil) {
    self.init(program: program, patienceMilliseconds: Self.patienceSeconds * 1000)
  }

  init(program: String?, patienceMilliseconds: Int64) {
    patience = patienceMilliseconds
    self.program = program ?? Self.places.map { $0 + "/pinentry" }.first { access($0, X_OK) == 0 }
  }

  public func ask(_ question: PromptQuestion) async -> PromptAnswer {
    guard let program, !isAsking.exchange(true, ordering: .acquiring) else { return .unavailable }
    defer { isAsking.store(false, ordering: .releasing) }
    let cancel = lanyard_eventfd()
    guard cancel >= 0 else { return .unavailable }
    defer { close(cancel) }
    let deadline = lanyard_boot_milliseconds() + patience
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isStarted = DetachedThread.start {
          continuation.resume(returning: Self.ask(question, by: program, until: deadline, cancel: cancel))
        }
        if !isStarted { continuation.resume(returning: .unavailable) }
      }
    } onCancel: {
      lanyard_eventfd_signal(cancel)
    }
  }

  /// Blocks its thread until the person has answered.
  private static func ask(
    _ question: PromptQuestion, by program: String, until deadline: Int64, cancel: Int32
  ) -> PromptAnswer {
    guard let child = Child(program, environment: environment()) else { return .unavailable }
    defer { child.end() }
    var answer = PromptAnswer.unavailable
    // Every line is read into guarded memory, since one of them is the typed text.
    _ = SecretBytes(capacity: AssuanClient.longestLine) { buffer in
      var client = AssuanClient(socket: child.socket, cancel: cancel, deadline: deadline, buffer: buffer)
      do throws(AssuanClient.Failure) {
        answer = .typed(try converse(question, with: &client))
      } catch {
        switch error {
        case .cancelled: answer = .cancelled
        case .timedOut: answer = .timedOut
        case .broken, .refused: answer = .unavailable
        }
      }
      return 0
    }
    return answer
  }

  private static func converse(
    _ question: PromptQuestion, with client: inout AssuanClient
  ) throws(AssuanClient.Failure) -> Secret {
    try client.greeting()
    if let terminal = getenv("GPG_TTY") {
      try client.offer("OPTION ttyname", String(cString: terminal))
      if let kind = getenv("TERM") { try client.offer("OPTION ttytype", String(cString: kind)) }
    }
    try client.offer("SETTITLE", "Lanyard")
    try client.offer("SETDESC", question.description)
    try client.offer("SETPROMPT", question.label)
    let first = try client.typed()
    guard question.isNew else { return first }
    // Not every pinentry asks for a repetition by itself.
    for _ in 0..<3 {
      try client.offer("SETDESC", "Once more, to be sure.")
      if try client.typed().equals(first) { return first }
      try client.offer("SETERROR", "That was not the same.")
    }
    throw .cancelled
  }

  private static func environment() -> [String] {
    ["PATH=/usr/local/bin:/usr/bin:/bin"]
      + passedOn.compactMap { name in getenv(name).map { "\(name)=\(String(cString: $0))" } }
  }
}

/// A child process with one socket for its input and output.
private struct Child {
  /// POSIX_SPAWN_SETSID, which glibc declares only under _GNU_SOURCE.
  private static let newSession: Int16 = 0x80

  let process: pid_t
  let socket: Int32

  init?(_ program: String, environment: [String]) {
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      return nil
    }
    defer { close(ends[1]) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends[1], 0)
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    guard lanyard_spawn_closes_others(&actions) == 0 else {
      close(ends[0])
      return nil
    }
    // A session of its own: in the agent's session it would be a background process of the agent's terminal, and the
    // terminal stops background readers (SIGTTIN).
    var child = pid_t()
    let started = withChildAttributes(Self.newSession) { attributes in
      withCStrings([program]) { argv in
        withCStrings(environment) { envp in posix_spawn(&child, program, &actions, attributes, argv, envp) }
      }
    }
    guard started == 0 else {
      close(ends[0])
      return nil
    }
    (process, socket) = (child, ends[0])
  }

  /// Closes the socket, which asks the child to end and to restore its terminal; if it does not end, it is killed.
  func end() {
    close(socket)
    for attempt in 0..<40 {
      if waitpid(process, nil, WNOHANG) != 0 { return }
      if attempt == 4 { kill(process, SIGTERM) }
      _ = poll(nil, 0, 25)
    }
    kill(process, SIGKILL)
    waitpid(process, nil, 0)
  }
}
