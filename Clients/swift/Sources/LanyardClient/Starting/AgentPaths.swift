#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// Where the commands look for the agent.
enum AgentPaths {
  /// The socket: `$LANYARD_SOCKET`, else `$XDG_RUNTIME_DIR/lanyard/agent.sock`, else `/run/user/UID/lanyard/agent.sock`
  /// if `/run/user/UID` belongs to this user, else `/tmp/lanyard-UID/agent.sock`.
  static func socket() throws(LanyardError) -> String {
    if let path = Environment.value("LANYARD_SOCKET") {
      guard path.hasPrefix("/") else {
        throw LanyardError(.agentNotRunning, "LANYARD_SOCKET must be an absolute path")
      }
      return path
    }
    // A relative one is to be ignored (XDG Base Directory Specification).
    if let directory = Environment.value("XDG_RUNTIME_DIR"), directory.hasPrefix("/") {
      return "\(directory)/lanyard/agent.sock"
    }
    let usual = "/run/user/\(geteuid())"
    var information = stat()
    if lstat(usual, &information) == 0, information.st_uid == geteuid() { return "\(usual)/lanyard/agent.sock" }
    return "\(try privateDirectory(in: "/tmp"))/agent.sock"
  }

  /// `lanyard-UID` in a directory where everyone can make files: what stands there must be this user's alone.
  static func privateDirectory(in temporary: String) throws(LanyardError) -> String {
    let directory = "\(temporary)/lanyard-\(geteuid())"
    var information = stat()
    let isPrivate =
      lstat(directory, &information) == 0
      ? information.st_mode & S_IFMT == S_IFDIR && information.st_uid == geteuid() && information.st_mode & 0o077 == 0
      : errno == ENOENT
    guard isPrivate else {
      throw LanyardError(
        .agentNotRunning,
        "the agent's socket has no directory: XDG_RUNTIME_DIR is not set, and \(directory) is not a directory that only "
          + "this user can use")
    }
    return directory
  }

  /// The state directory: `$LANYARD_STATE_DIR`, else `$XDG_STATE_HOME/lanyard`, else `~/.local/state/lanyard`.
  static var stateDirectory: String? {
    if let directory = Environment.value("LANYARD_STATE_DIR") { return directory }
    if let home = Environment.value("XDG_STATE_HOME") { return "\(home)/lanyard" }
    return Environment.value("HOME").map { "\($0)/.local/state/lanyard" }
  }

  /// The path of `lanyard-agent`: beside this program, else in `PATH`. Skips relative entries of `PATH`: the choice
  /// must not depend on the working directory.
  static var agentProgram: String? {
    let places = (Environment.value("PATH") ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
      .filter { $0.hasPrefix("/") }.map { "\($0)/lanyard-agent" }
    return ((ownPath.map { ["\(directory(of: $0))/lanyard-agent"] } ?? []) + places).first(where: isProgram)
  }

  /// The directory part of a path.
  static func directory(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// The path from the root: the agent's working directory is another one.
  static func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let current = getcwd(nil, 0) else { return path }
    defer { free(current) }
    return "\(String(cString: current))/\(path)"
  }

  private static func isProgram(_ path: String) -> Bool {
    var information = stat()
    return stat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
  }

  private static var ownPath: String? {
    #if os(Linux)
      let path = String(unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer in
        buffer.withMemoryRebound(to: CChar.self) { max(0, readlink("/proc/self/exe", $0.baseAddress!, $0.count)) }
      }
      return path.isEmpty ? nil : path
    #else
      return nil
    #endif
  }
}
