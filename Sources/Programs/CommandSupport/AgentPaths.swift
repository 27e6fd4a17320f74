internal import Glibc

/// Where the agent's socket, its state and the programs are.
public enum AgentPaths {
  /// The socket: `$LANYARD_SOCKET`, else `$XDG_RUNTIME_DIR/lanyard/agent.sock`, else the same below the directory that
  /// a login session would have named.
  public static func socket() throws(CommandFailure) -> String {
    if let path = Environment.value("LANYARD_SOCKET") {
      guard path.hasPrefix("/") else {
        throw CommandFailure(.noAgent, name: "noAgent", "LANYARD_SOCKET must be an absolute path; it is `\(path)`.")
      }
      return path
    }
    if let directory = Environment.value("XDG_RUNTIME_DIR") { return "\(directory)/lanyard/agent.sock" }
    let usual = "/run/user/\(geteuid())"
    var information = stat()
    if lstat(usual, &information) == 0, information.st_uid == geteuid() { return "\(usual)/lanyard/agent.sock" }
    throw CommandFailure(
      .noAgent, name: "noAgent", "There is no place for the agent's socket: XDG_RUNTIME_DIR is not set.",
      hints: [
        "A login session sets it to /run/user/\(geteuid()). Set it, or LANYARD_SOCKET to the path of a socket in a directory of yours with mode 0700."
      ])
  }

  /// The agent's state: `$LANYARD_STATE_DIR`, else `$XDG_STATE_HOME/lanyard`, else `~/.local/state/lanyard`.
  public static var stateDirectory: String? {
    if let directory = Environment.value("LANYARD_STATE_DIR") { return directory }
    if let home = Environment.value("XDG_STATE_HOME") { return "\(home)/lanyard" }
    return Environment.value("HOME").map { "\($0)/.local/state/lanyard" }
  }

  /// Where witnesses of how far a store has come stand: `$XDG_CONFIG_HOME/lanyard/anchors`, else below `~/.config`.
  public static var anchorDirectory: String? {
    if let home = Environment.value("XDG_CONFIG_HOME") { return "\(home)/lanyard/anchors" }
    return Environment.value("HOME").map { "\($0)/.config/lanyard/anchors" }
  }

  /// The directory part of a path.
  public static func directory(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// A program of ours: beside the running one, or in `../libexec/lanyard` seen from there.
  public static func companion(_ name: String) -> String? {
    guard let own = ownPath else { return nil }
    let directory = directory(of: own)
    return ["\(directory)/\(name)", "\(directory)/../libexec/lanyard/\(name)", "\(directory)/../../bin/\(name)"]
      .first { access($0, X_OK) == 0 }
  }

  /// A program in `PATH`. Entries that are not absolute are skipped: what runs must not depend on where one stands.
  public static func program(_ name: String) -> String? {
    (Environment.value("PATH") ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
      .filter { $0.hasPrefix("/") }
      .map { "\($0)/\(name)" }
      .first { access($0, X_OK) == 0 }
  }

  private static var ownPath: String? {
    let capacity = Int(PATH_MAX)
    let path = String(unsafeUninitializedCapacity: capacity) { buffer in
      max(0, buffer.withMemoryRebound(to: CChar.self) { readlink("/proc/self/exe", $0.baseAddress!, capacity) })
    }
    return path.isEmpty ? nil : path
  }
}
