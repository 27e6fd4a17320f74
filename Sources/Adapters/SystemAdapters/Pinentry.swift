public import AgentPorts
internal import CPlatform
internal import Glibc
internal import Secrets
internal import Synchronization

/// Asks by `pinentry`, the program of GnuPG for this: what is typed goes from it to the agent, and by no other program.
///
/// Which program that is, is said where the agent is started, and never on the wire. It gets an environment made from
/// nothing but what a display or a terminal needs.
public final class Pinentry: Prompter {
  /// A person who was called away comes back to no open question.
  private static let patienceSeconds: Int64 = 120
  private static let places = ["/usr/local/bin", "/usr/bin", "/bin"]
  private static let passedOn = [
    "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "WAYLAND_DISPLAY",
    "XAUTHORITY", "XDG_CURRENT_DESKTOP", "XDG_RUNTIME_DIR", "XDG_SESSION_TYPE",
  ]

  private let program: String?
  private let patience: Int64
  /// One question at a time: a screen full of them answers none.
  private let isAsking = Atomic(false)

  /// `program`: an absolute path; nil for the one that this machine has, if any.
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
        let thread = Thread {
          continuation.resume(returning: Self.ask(question, by: program, until: deadline, cancel: cancel))
        }
        if !thread.start() { continuation.resume(returning: .unavailable) }
      }
    } onCancel: {
      lanyard_eventfd_signal(cancel)
    }
  }

  /// Blocks a thread of its own until the person has answered.
  private static func ask(
    _ question: PromptQuestion, by program: String, until deadline: Int64, cancel: Int32
  ) -> PromptAnswer {
    guard let child = Child(program, environment: environment()) else { return .unavailable }
    defer { child.end() }
    var answer = PromptAnswer.unavailable
    // Every line stands in guarded memory, since one of them is what was typed.
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
    // Not every pinentry repeats by itself.
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

/// A child with one socket for its input and output.
private struct Child {
  /// POSIX_SPAWN_SETSID, which glibc shows only to those who ask for GNU's own.
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
    // A session of its own: in that of the agent it would stand behind the foreground of the agent's terminal, and the
    // terminal stops who reads it from there (SIGTTIN).
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

  /// It is asked to go, so that it gives a terminal back as it was; if it does not, it is ended.
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

/// A thread that does one thing and is gone.
private final class Thread: Sendable {
  private let work: @Sendable () -> Void

  init(_ work: @escaping @Sendable () -> Void) { self.work = work }

  func start() -> Bool {
    var thread = pthread_t()
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    pthread_attr_setstacksize(&attributes, 256 << 10)
    defer { pthread_attr_destroy(&attributes) }
    let retained = Unmanaged.passRetained(self)
    let failed = pthread_create(
      &thread, &attributes,
      { thread in
        Unmanaged<Thread>.fromOpaque(thread!).takeRetainedValue().work()
        lanyard_wipe_stack()
        return nil
      }, retained.toOpaque())
    if failed != 0 { retained.release() }
    return failed == 0
  }
}
