import CommandSupport
import FileRules
import Glibc
import JSONRPC

/// Which directories of this machine a sandbox may show.
struct SandboxPlaces {
  /// The person's home, without links.
  let home: String
  /// The one that the user database names: `HOME` may name another.
  private let usersHome: String?
  /// What no sandbox shows, with what it is.
  private let hiddenPlaces: [(path: String, what: String)]

  init() throws(CommandFailure) {
    guard let named = Environment.value("HOME"), let home = Self.real(named), home != "/" else {
      throw .usage("HOME names no directory of yours, which the sandbox would hide. The command was not run.")
    }
    self.home = home
    usersHome = getpwuid(getuid()).flatMap { Self.real(String(cString: $0.pointee.pw_dir)) }
    var places: [(String?, String)] = [
      (AgentPaths.stateDirectory, "the agent's accounts"),
      (Self.stateOfTheRunningAgent, "the agent's accounts"),
      (try StoreFile.configuration("lanyard"), "Lanyard's configuration"),
      // What is hidden would come back with a directory that holds it.
      (Self.administrators, "the administrator's files for Lanyard"),
    ]
    // Without a place there is no socket, either.
    if let socket = try? AgentPaths.socket() { places.append((AgentPaths.directory(of: socket), "the agent's socket")) }
    places += Self.sockets.map { ($0.path, $0.what) }
    // What is not there yet may be there later.
    hiddenPlaces = places.compactMap { path, what in path.map { (path: Self.real($0) ?? $0, what: what) } }
  }

  /// Another than the usual one, if it was started with `--state-dir`.
  private static var stateOfTheRunningAgent: String? {
    guard
      var agent = try? Agent.connect(mayStart: false, tellsWaiting: false, patienceMilliseconds: patienceMilliseconds)
    else { return nil }
    return (try? agent.call("agent.status") { $0["stateDirectory"]?.string }) ?? nil
  }

  /// The agent answers `agent.status` at once.
  private static let patienceMilliseconds: Int32 = 5_000

  /// Who reaches these has programs started outside, or signs with the person's keys. No mount that is only read keeps a
  /// program from connecting to a socket.
  private static var sockets: [(path: String, what: String)] {
    var found = [("/run/dbus", "the system's message bus")]
    // Some containers name a directory of everyone, which has more than sockets.
    let session = Environment.value("XDG_RUNTIME_DIR") ?? "/run/user/\(getuid())"
    if (try? FileRule.privateDirectory.check(path: session)) != nil {
      found.append((session, "the sockets of your session"))
    }
    if let agent = Environment.value("SSH_AUTH_SOCK") { found.append((agent, "the socket of your SSH agent")) }
    let bus = "unix:path="
    if let address = Environment.value("DBUS_SESSION_BUS_ADDRESS"), address.hasPrefix(bus) {
      found.append((String(address.dropFirst(bus.count).prefix { $0 != "," && $0 != ";" }), "your message bus"))
    }
    return found.filter { $0.0.hasPrefix("/") && $0.0 != "/" }
  }

  static func real(_ path: String) -> String? {
    guard let found = realpath(path, nil) else { return nil }
    defer { free(found) }
    return String(cString: found)
  }

  /// The directory of a profile: below the home if it begins with `~/`.
  func expanded(_ path: String) -> String { path.hasPrefix("~/") ? home + path.dropFirst() : path }

  /// The current directory.
  func current() throws(CommandFailure) -> String {
    guard let directory = AgentPaths.workingDirectory.flatMap(Self.real) else {
      throw .usage("The current directory is gone. The command was not run.")
    }
    try check(directory, "The current directory", help: "Start it in a project's directory.")
    return directory
  }

  /// What an option or a profile names, without links. A file may be read.
  func named(_ path: String, by word: String, mayBeFile: Bool) throws(CommandFailure) -> String {
    guard let found = Self.real(AgentPaths.absolute(path)) else {
      throw .usage(
        "\(word) \(Text.shown(path)): \(SystemError.message(errno)). The command was not run.")
    }
    var information = stat()
    guard stat(found, &information) == 0, mayBeFile || information.st_mode & S_IFMT == S_IFDIR else {
      throw .usage("\(word) \(Text.shown(path)) is no directory. The command was not run.")
    }
    try check(found, "\(word) \(Text.shown(path))", help: "Name a directory that a project needs.")
    return found
  }

  /// Only what is whole in a sandbox may be shown to it: neither the home, nor anything of Lanyard, nor a way out.
  private func check(_ path: String, _ subject: String, help: String) throws(CommandFailure) {
    for place in [home, usersHome].compactMap(\.self) where path == place || Self.holds(path, place) {
      let relation = path == place ? "is" : "holds"
      throw .usage("\(subject) \(relation) your home, which a sandbox hides. The command was not run.", hints: [help])
    }
    let agents = Self.accounts(above: path).map { [(path: $0, what: "an agent's accounts")] } ?? []
    for (place, what) in hiddenPlaces + agents {
      guard path == place || Self.holds(path, place) || Self.holds(place, path) else { continue }
      throw .usage(
        "\(subject) would show \(what) (\(Text.shown(place))) to the command. The command was not run.", hints: [help])
    }
    for own in SandboxPlan.inMemory {
      let place = Self.real(own) ?? own
      guard path == place || Self.holds(path, place) else { continue }
      let relation = path == place ? "is" : "holds"
      throw .usage(
        "\(subject) \(relation) \(own), and a sandbox has its own. The command was not run.",
        hints: [help + " A directory below \(own) may be shown."])
    }
    for own in ["/proc", "/dev", "/sys"] where path == own || Self.holds(own, path) {
      throw .usage(
        "\(subject) is of the system's \(own), which no sandbox sees. The command was not run.", hints: [help])
    }
  }

  /// The state directory that a path is or lies in, of an agent that this program may not know of (`--state-dir`).
  private static func accounts(above path: String) -> String? {
    var directory = path
    while !directory.isEmpty, directory != "/" {
      var information = stat()
      if lstat(directory + "/lanyard.sqlite", &information) == 0 { return directory }
      directory = AgentPaths.directory(of: directory)
    }
    return nil
  }

  private static func holds(_ directory: String, _ path: String) -> Bool {
    directory == "/" || path.hasPrefix(directory + "/")
  }

  /// The system's directories, as they are here.
  static var system: [SandboxPlan.System] {
    let whole = ["/usr", "/etc", "/opt"].filter(isDirectory).map { SandboxPlan.System.directory($0) }
    let others = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"].compactMap { path -> SandboxPlan.System? in
      let capacity = Int(PATH_MAX)
      let target = String(unsafeUninitializedCapacity: capacity) { buffer in
        max(0, buffer.withMemoryRebound(to: CChar.self) { readlink(path, $0.baseAddress!, capacity) })
      }
      if !target.isEmpty { return .link(path, target: target) }
      return isDirectory(path) ? .directory(path) : nil
    }
    return whole + others
  }

  /// The administrator's file for Lanyard may name what is of no concern to a program.
  static var hidden: [String] { [administrators].filter(isDirectory) }

  private static let administrators = "/etc/lanyard"

  static var settings: [String] {
    ["/proc/acpi", "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"].filter { real($0) != nil }
  }

  private static func isDirectory(_ path: String) -> Bool {
    var information = stat()
    return lstat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFDIR
  }

  /// Makes the directory that a profile keeps, for this person alone.
  static func make(_ kept: SandboxPlan.Kept) throws(CommandFailure) {
    try SetupFile.makeDirectories(kept.outside)
    guard (try? FileRule.privateDirectory.check(path: kept.outside)) != nil else {
      throw CommandFailure(
        .other, name: "output",
        "\(Text.shown(kept.outside)) is not a directory that only you can use. The command was not run.",
        hints: [
          PathAdvice.closing(directory: kept.outside, otherwise: "Let the profile keep a directory of your own.")
        ])
    }
  }
}
