internal import FileRules
internal import Glibc

/// Paths of the agent's socket, its state and the programs.
public enum AgentPaths {
  /// The socket, where no option names another (`SocketPlace`).
  public static func socket() throws(CommandFailure) -> String {
    do throws(SocketPlace.Fault) {
      return try SocketPlace().path(environment: Environment.value)
    } catch {
      guard case .unsafe = error else { throw CommandFailure(.noAgent, name: "noAgent", error.description) }
      throw CommandFailure(
        .noAgent, name: "noAgent", error.description,
        hints: [
          "A login session sets it to /run/user/\(geteuid()).",
          "Set it, or set LANYARD_SOCKET to a path in a directory of yours with mode 0700.",
        ])
    }
  }

  /// The state directory (`StatePlace`).
  public static func state() throws(CommandFailure) -> String {
    do throws(StatePlace.Fault) {
      return try StatePlace.path(environment: Environment.value)
    } catch {
      throw CommandFailure(
        .other, name: "system", error.description, hints: ["Set HOME or LANYARD_STATE_DIR to an absolute path."])
    }
  }

  /// The same; nil if it has no place.
  public static var stateDirectory: String? { try? state() }

  /// The directory of the rollback anchors: `$XDG_CONFIG_HOME/lanyard/anchors`, else below `~/.config`.
  public static var anchorDirectory: String? {
    if let home = Environment.value("XDG_CONFIG_HOME"), home.hasPrefix("/") { return "\(home)/lanyard/anchors" }
    guard let home = Environment.value("HOME"), home.hasPrefix("/") else { return nil }
    return "\(home)/.config/lanyard/anchors"
  }

  /// Nil if it is gone.
  public static var workingDirectory: String? {
    guard let directory = getcwd(nil, 0) else { return nil }
    defer { free(directory) }
    return String(cString: directory)
  }

  /// A path as it counts in another working directory, such as another program's.
  public static func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let workingDirectory else { return path }
    return workingDirectory == "/" ? "/\(path)" : "\(workingDirectory)/\(path)"
  }

  /// The error with which no directory can be made in this one; 0 if one can. Only an attempt shows it for the superuser,
  /// whom no mode binds: it makes an empty directory and removes it.
  public static func obstacle(toMakingIn directory: String) -> Int32 {
    var name = "\(directory)/.lanyard-XXXXXX".utf8CString
    return name.withUnsafeMutableBufferPointer { name in
      guard mkdtemp(name.baseAddress!) != nil else { return errno }
      return rmdir(name.baseAddress!) == 0 ? 0 : errno
    }
  }

  /// The directory part of a path.
  public static func directory(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// A program of this project: beside the running one, in its `../libexec/lanyard`, or in `../../bin`.
  public static func companion(_ name: String) -> String? {
    guard let own = ownPath else { return nil }
    let directory = directory(of: own)
    return ["\(directory)/\(name)", "\(directory)/../libexec/lanyard/\(name)", "\(directory)/../../bin/\(name)"]
      .first { access($0, X_OK) == 0 }
  }

  /// A directory of the installation's `share`, whose `bin` or `libexec/lanyard` has the running program.
  public static func shared(_ name: String) -> String? {
    guard let own = ownPath else { return nil }
    let directory = directory(of: own)
    return ["\(directory)/../share/\(name)", "\(directory)/../../share/\(name)"].first { access($0, R_OK | X_OK) == 0 }
  }

  /// A program in `PATH`. Skips relative entries: the choice must not depend on the working directory.
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
