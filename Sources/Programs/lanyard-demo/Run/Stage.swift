import CPlatform
import Foundation
import PracticeProvider
import Synchronization

/// The demo's environment: a temporary home, a practice provider, and the programs that the demo starts.
final class Stage: Sendable {
  let directory: String
  let environment: [String: String]
  let server: PracticeServer
  private let keepsDirectory: Bool
  /// True after `clear`. Locked while a program starts, so that `clear` finds every program.
  private let isCleared = Mutex(false)

  /// Variables that would bring the person's proxies or Python settings into the demo.
  private static let strangers: Set<String> = ["http_proxy", "https_proxy", "all_proxy", "PYTHONSTARTUP", "PYTHONHOME"]

  init(keepsDirectory: Bool) throws {
    var template = Array("\(FileManager.default.temporaryDirectory.path)/lanyard-demo-XXXXXX".utf8CString)
    guard let made = mkdtemp(&template) else {
      throw NotAsTold("no temporary directory can be made: \(String(cString: strerror(errno)))")
    }
    directory = String(cString: made)
    self.keepsDirectory = keepsDirectory
    server = try PracticeServer(options: Self.provider)
    environment = try Self.environment(below: directory)
    guard FileManager.default.changeCurrentDirectoryPath("\(directory)/home/work") else {
      throw NotAsTold("\(directory) can't be entered")
    }
    // An agent becomes a child of the demo when the command that started it has ended.
    _ = lanyard_adopt_orphans()
  }

  /// A used refresh token stays valid for 30 s, as at many real providers; later its use ends the sign-in.
  private static var provider: PracticeOptions {
    var options = PracticeOptions()
    options.rotation = .grace(seconds: RefreshTokenRotation.ordinaryGraceSeconds)
    return options
  }

  private static func environment(below directory: String) throws -> [String: String] {
    let home = "\(directory)/home"
    for path in [home, "\(directory)/run", "\(home)/work"] {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
    var environment = ProcessInfo.processInfo.environment.filter { name, _ in
      !strangers.contains(name) && !strangers.contains(name.lowercased()) && !name.hasPrefix("LANYARD_")
    }
    environment["HOME"] = home
    environment["XDG_RUNTIME_DIR"] = "\(directory)/run"
    environment["XDG_STATE_HOME"] = "\(home)/.local/state"
    environment["XDG_CONFIG_HOME"] = "\(home)/.config"
    environment["XDG_CACHE_HOME"] = "\(home)/.cache"
    environment["PATH"] = Programs.directory + ":" + (environment["PATH"] ?? "/usr/bin:/bin")
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    if let python = Programs.pythonClient { environment["PYTHONPATH"] = python }
    return environment
  }

  var provider: PracticeProvider { server.provider }
  var work: String { "\(directory)/home/work" }
  var stateDirectory: String { "\(directory)/home/.local/state/lanyard" }

  func start(_ words: [String]) throws -> Child {
    try isCleared.withLock { cleared in
      // The thread that called `clear` also ends this process.
      guard !cleared else { throw NotAsTold("the demo is over") }
      return try Child(words, environment: environment)
    }
  }

  /// The process that serves the agent's socket, from the kernel; nil if there is none.
  var agentPid: pid_t? {
    let connection = lanyard_connect_unix("\(directory)/run/lanyard/agent.sock")
    guard connection >= 0 else { return nil }
    defer { close(connection) }
    var (pid, uid, gid) = (pid_t(), uid_t(), gid_t())
    return lanyard_peer_credentials(connection, &pid, &uid, &gid) == 0 ? pid : nil
  }

  /// Kills the agent, as a crash would, and waits until it is gone.
  func killAgent() throws -> pid_t {
    guard let pid = agentPid else { throw NotAsTold("no agent runs") }
    kill(pid, SIGKILL)
    var status: Int32 = 0
    // The agent may be a child of another process: then wait until it no longer answers. A new one may answer instead.
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    while agentPid == pid { usleep(1_000) }
    return pid
  }

  /// The last lines of the log that `lanyard` keeps of an agent that it starts.
  var agentLog: String {
    let text = (try? String(contentsOfFile: "\(stateDirectory)/agent.log", encoding: .utf8)) ?? ""
    return text.split(separator: "\n").suffix(20).joined(separator: "\n")
  }

  /// Kills all programs and removes the directory. A second call does nothing.
  func clear() {
    isCleared.withLock { cleared in
      guard !cleared else { return }
      cleared = true
      // Repeat: a program may have started an agent, which becomes a child of the demo when its parent dies.
      while true {
        let children = Programs.children(of: getpid())
        if children.isEmpty { break }
        for child in children { kill(child, SIGKILL) }
        for child in children {
          var status: Int32 = 0
          waitpid(child, &status, 0)
        }
      }
      server.stop()
      if !keepsDirectory {
        forgetAnchors()
        try? FileManager.default.removeItem(atPath: directory)
      }
    }
  }

  /// Removes the anchors of the demo's stores from the kernel's keyring, where a person may have 200 keys. Beside each one is
  /// a file with the same name (docs/storage.md).
  private func forgetAnchors() {
    let files = try? FileManager.default.contentsOfDirectory(atPath: "\(directory)/home/.config/lanyard/anchors")
    for database in Set((files ?? []).map { $0.prefix { $0 != "." } }) {
      for name in ["lanyard:\(database)", "lanyard:\(database):root"] { _ = lanyard_keyring_remove(name) }
    }
  }
}
