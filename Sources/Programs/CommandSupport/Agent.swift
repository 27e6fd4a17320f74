internal import CPlatform
internal import Glibc

/// Connects to the agent of this user.
public enum Agent {
  /// Connects to the agent. Starts one if none runs, unless `mayStart` is false or `LANYARD_NO_START` is set.
  ///
  /// - Parameters:
  ///   - tellsWaiting: a person at the terminal is told whom a call on the connection waits for, and of a long start.
  ///   - patienceMilliseconds: how long each call waits for its answer; nil: as long as it takes.
  public static func connect(
    mayStart: Bool, tellsWaiting: Bool = true, patienceMilliseconds: Int32? = nil
  ) throws(CommandFailure) -> AgentConnection {
    var connection = try greeted(mayStart, tellsWaiting, patienceMilliseconds)
    connection.patienceMilliseconds = patienceMilliseconds
    return connection
  }

  private static func greeted(
    _ mayStart: Bool, _ tellsWaiting: Bool, _ patience: Int32?
  ) throws(CommandFailure) -> AgentConnection {
    var connection = try find(mayStart, tellsWaiting)
    connection.tellsWaiting = tellsWaiting
    connection.patienceMilliseconds = patience
    if try GrantHandshake.make(on: &connection) == .ready { return connection }
    connection = try find(mayStart, tellsWaiting)
    connection.tellsWaiting = tellsWaiting
    return connection
  }

  private static func find(_ mayStart: Bool, _ tellsWaiting: Bool) throws(CommandFailure) -> AgentConnection {
    let path = try AgentPaths.socket()
    if let connection = try connection(to: path) { return connection }
    guard mayStart, !Environment.flag("LANYARD_NO_START") else {
      let words = CommandLine.arguments.prefix { $0 != "--" }
      // A command may start none by its nature.
      let otherwise =
        mayStart ? ", or unset LANYARD_NO_START" : words.contains("--no-start") ? ", or leave out --no-start" : ""
      throw CommandFailure(
        .noAgent, name: "noAgent", "No agent answers at \(path), and this command may not start one.",
        hints: [
          InsideSandbox.isHere
            ? "In `lanyard sandbox` there is no agent: its proxy adds tokens to requests."
            : "Start one: `lanyard-agent`\(otherwise)."
        ])
    }
    return try AgentStarter(socket: path, tellsWaiting: tellsWaiting).start()
  }

  /// Why no agent could be started for this socket; nil if nothing at its place hinders one. Starts and keeps nothing.
  public static func obstacle(toStartAt socket: String) -> CommandFailure? {
    do throws(CommandFailure) {
      _ = try connection(to: socket)
      try AgentStarter(socket: socket, tellsWaiting: false).checkDirectory()
      return nil
    } catch {
      return error
    }
  }

  /// Connects to the socket at `path`; nil if no process listens there.
  static func connection(to path: String) throws(CommandFailure) -> AgentConnection? {
    let socket = lanyard_connect_unix(path)
    guard socket >= 0 else {
      switch -socket {
      case ENOENT, ECONNREFUSED, ENOTDIR: return nil
      default:
        throw CommandFailure(
          .noAgent, name: "noAgent", "The agent's socket \(path) can't be reached: \(SystemError.message(-socket)).",
          hints: ["Set LANYARD_SOCKET to a path of at most 107 bytes in a directory of yours with mode 0700."])
      }
    }
    // Check before the first request: another user may have bound this path to read requests and forge answers.
    var (pid, uid, gid): (pid_t, uid_t, gid_t) = (0, 0, 0)
    let known = lanyard_peer_credentials(socket, &pid, &uid, &gid)
    guard known == 0, uid == geteuid() else {
      close(socket)
      throw CommandFailure(
        .noAgent, name: "unsafeSocket", "Another user serves the socket \(path). Nothing was sent to it.",
        hints: ["Set XDG_RUNTIME_DIR to a directory of yours with mode 0700, or LANYARD_SOCKET to a path in one."])
    }
    return AgentConnection(socket: socket)
  }
}
