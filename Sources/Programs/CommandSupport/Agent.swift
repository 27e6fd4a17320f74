internal import CPlatform
internal import Glibc

/// Reaching the agent of this user.
public enum Agent {
  /// Connects to the agent, and starts one if there is none, unless `mayStart` is false or `LANYARD_NO_START` says no.
  public static func connect(mayStart: Bool) throws(CommandFailure) -> AgentConnection {
    var connection = try find(mayStart: mayStart)
    if try GrantHandshake.make(on: &connection) { return connection }
    return try find(mayStart: mayStart)
  }

  private static func find(mayStart: Bool) throws(CommandFailure) -> AgentConnection {
    let path = try AgentPaths.socket()
    if let connection = try connection(to: path) { return connection }
    guard mayStart, !Environment.flag("LANYARD_NO_START") else {
      throw CommandFailure(
        .noAgent, name: "noAgent", "No agent answers at \(path), and none was to be started.",
        hints: ["Start one: `lanyard-agent`, or leave out --no-start."])
    }
    return try AgentStarter(socket: path).start()
  }

  /// A connection to whoever listens at `path`; nil if nobody does.
  static func connection(to path: String) throws(CommandFailure) -> AgentConnection? {
    let socket = lanyard_connect_unix(path)
    guard socket >= 0 else {
      switch -socket {
      case ENOENT, ECONNREFUSED, ENOTDIR: return nil
      default:
        throw CommandFailure(
          .noAgent, name: "noAgent", "The agent's socket \(path) can't be reached: \(SystemError.words(-socket)).")
      }
    }
    // Before a word is said: another user who could put a socket there would be told what we ask, and answer it.
    var (pid, uid, gid): (pid_t, uid_t, gid_t) = (0, 0, 0)
    let known = lanyard_peer_credentials(socket, &pid, &uid, &gid)
    guard known == 0, uid == geteuid() else {
      close(socket)
      throw CommandFailure(
        .noAgent, name: "unsafeSocket", "The socket \(path) is served by another user. Nothing was sent to it.",
        hints: ["Set LANYARD_SOCKET or XDG_RUNTIME_DIR to a directory of yours with mode 0700."])
    }
    return AgentConnection(socket: socket)
  }
}
