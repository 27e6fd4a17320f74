internal import CPlatform
internal import Glibc

/// The program for prompts, as the broker starts it. It is chosen when the agent starts, never by a client, and its
/// environment holds only what a display or a terminal needs.
public struct PinentryProgram: Sendable {
  private static let places = ["/usr/local/bin", "/usr/bin", "/bin"]
  private static let passedOn = [
    "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "WAYLAND_DISPLAY",
    "XAUTHORITY", "XDG_CURRENT_DESKTOP", "XDG_RUNTIME_DIR", "XDG_SESSION_TYPE",
  ]
  /// POSIX_SPAWN_SETSID, which glibc declares only under _GNU_SOURCE.
  private static let newSession: Int16 = 0x80

  private let given: String?

  /// - Parameter program: an absolute path; nil for the first `pinentry` of `places` that exists.
  public init(_ program: String? = nil) { given = program }

  /// Starts the program on the descriptor that was handed over, and ends it when the agent has done with it.
  public func perform(_ request: BrokerRequest) {
    let program = given ?? Self.places.map { $0 + "/pinentry" }.first { access($0, X_OK) == 0 }
    guard let program, request.handed >= 0, let process = Self.start(program, on: request.handed) else { return }
    close(request.handed)
    request.answer("started")
    request.waitForRelease()
    Self.end(process)
  }

  private static func start(_ program: String, on socket: Int32) -> pid_t? {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, socket, 0)
    posix_spawn_file_actions_adddup2(&actions, socket, 1)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    guard lanyard_spawn_closes_others(&actions) == 0 else { return nil }
    // A session of its own: it opens a terminal by name, and the terminal stops background readers of the session that
    // it controls (SIGTTIN).
    var child = pid_t()
    let started = withChildAttributes(newSession) { attributes in
      withCStrings([program]) { argv in
        withCStrings(childEnvironment(passedOn)) { envp in
          posix_spawn(&child, program, &actions, attributes, argv, envp)
        }
      }
    }
    return started == 0 ? child : nil
  }

  /// The agent has closed the other end, which asks the program to end; if it does not, it is killed.
  private static func end(_ process: pid_t) {
    for attempt in 0..<40 {
      if waitpid(process, nil, WNOHANG) != 0 { return }
      if attempt == 4 { kill(process, SIGTERM) }
      _ = poll(nil, 0, 25)
    }
    kill(process, SIGKILL)
    waitpid(process, nil, 0)
  }
}
