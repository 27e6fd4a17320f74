import CommandSupport
import FileRules
import Glibc

/// Findings about files: owners, modes, free space and leftovers.
struct FileFindings {
  private(set) var list: [Finding] = []

  /// With less free space a backup or a vacuum of the store fails: a problem; near that: a notice.
  private static let leastFree = 16 << 20
  private static let littleFree = 64 << 20

  mutating func lookAtState(agentRuns: Bool) {
    let directory: String
    do throws(CommandFailure) { directory = try AgentPaths.state() } catch {
      return list.append(Finding(.problem, "stateDirectory", error.message, remedies: error.hints))
    }
    guard exists(directory) else {
      let above = nearest(above: directory)
      let error = AgentPaths.obstacle(toMakingIn: above)
      guard error == 0 else {
        let reason = SystemError.message(error)
        return add(
          "stateDirectory", directory,
          "The state directory does not exist, and the agent can't create it: \(above): \(reason).",
          PathAdvice.isOfUserAlone(above)
            ? "Make \(above) writable, or name another directory by LANYARD_STATE_DIR."
            : "Choose a directory of your own by LANYARD_STATE_DIR.")
      }
      list.append(
        Finding(
          .notice, "stateDirectory", subject: directory, "The state directory does not exist yet.",
          remedies: ["Nothing to do: the first start of the agent creates it."]))
      return
    }
    guard lookAtDirectory("stateDirectory", directory, named: "LANYARD_STATE_DIR") else { return }
    let count = list.count
    let names = namesInDirectory(directory)
    for name in names { lookAtFile("stateFiles", "\(directory)/\(name)") }
    if list.count == count {
      list.append(Finding(.ok, "stateFiles", subject: directory, "Only you can read or write the files in it."))
    }
    if !agentRuns {
      for name in names where Self.isLeftOver(name) {
        list.append(
          Finding(
            .notice, "leftovers", subject: "\(directory)/\(name)", "Interrupted work left this file behind.",
            remedies: ["Nothing to do: the next start of the agent removes it."]))
      }
    }
    lookAtRoom(directory)
  }

  mutating func lookAtAnchors(_ directory: String?) {
    guard let directory, exists(directory),
      lookAtDirectory("anchorFiles", directory, named: "XDG_CONFIG_HOME")
    else { return }
    let count = list.count
    for name in namesInDirectory(directory) { lookAtFile("anchorFiles", "\(directory)/\(name)") }
    if list.count == count {
      list.append(Finding(.ok, "anchorFiles", subject: directory, "Only you can change the rollback anchors."))
    }
  }

  mutating func lookAtSocket(_ path: String, agentRuns: Bool) {
    let directory = AgentPaths.directory(of: path)
    if exists(directory), !lookAtDirectory("socketDirectory", directory, named: "LANYARD_SOCKET") { return }
    if !agentRuns, let obstacle = Agent.obstacle(toStartAt: path) {
      list.append(
        Finding(.problem, "socketDirectory", subject: directory, obstacle.message, remedies: obstacle.hints))
      return
    }
    guard exists(directory) else { return }
    list.append(Finding(.ok, "socketDirectory", subject: directory, "Only you can reach the agent's socket."))
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    if status.st_mode & S_IFMT != S_IFSOCK {
      list.append(
        Finding(
          .problem, "socket", subject: path, "This is not a socket, but the agent needs this path.",
          remedies: ["Move it away: the agent never removes it."]))
    } else if !agentRuns {
      list.append(
        Finding(
          .notice, "socket", subject: path, "No agent answers at this socket: an agent that was killed left it behind.",
          remedies: ["Nothing to do: the next start of the agent replaces it."]))
    }
  }

  // MARK: Single checks

  /// Checks a directory; true if its contents should be checked, too.
  ///
  /// - Parameter variable: what chooses another directory.
  private mutating func lookAtDirectory(_ check: String, _ path: String, named variable: String) -> Bool {
    let another = "Choose a directory of your own by \(variable)."
    let isOfUserAlone = PathAdvice.isOfUserAlone(path)
    do throws(FileFault) {
      try FileRule.privateDirectory.check(path: path)
      return true
    } catch {
      switch error {
      case .system, .tooLarge: break
      case .link:
        add(
          check, path, "This is a symbolic link; a program that changes it can redirect the agent.",
          "Put the directory itself here, or choose the directory that it points to.")
      case .otherKind: add(check, path, "This is not a directory.", isOfUserAlone ? "Move it away." : another)
      case .foreignOwner:
        add(
          check, path, "It belongs to another user.",
          isOfUserAlone ? "Change its owner (`chown`), or choose another directory." : another)
      case .openToOthers(let mode):
        add(
          check, path, "Others may enter it (mode \(Self.octal(mode))).",
          PathAdvice.closing(directory: path, otherwise: another))
      }
      return false
    }
  }

  private mutating func lookAtFile(_ check: String, _ path: String) {
    do throws(FileFault) {
      guard try FileRule.privateFile.check(path: path).st_nlink > 1 else { return }
      add(
        check, path, "It has a second name (hard link), through which it can be changed.",
        "Find the other name (`find / -samefile`) and remove it.")
    } catch {
      switch error {
      case .link: add(check, path, "This is a symbolic link instead of a file.", "Put the file itself here.")
      case .foreignOwner: add(check, path, "It belongs to another user.", "Change its owner (`chown`).")
      case .openToOthers(let mode):
        add(check, path, "Others may read or write it (mode \(Self.octal(mode))).", PathAdvice.closing(file: path))
      // Not a file of the agent.
      case .otherKind, .system, .tooLarge: break
      }
    }
  }

  private mutating func lookAtRoom(_ path: String) {
    var room = statvfs()
    guard statvfs(path, &room) == 0 else { return }
    let free = Int(clamping: UInt64(room.f_bavail) * UInt64(room.f_frsize))
    if room.f_flag & UInt(ST_RDONLY) != 0 {
      add("diskSpace", path, "The disk is read-only, so you can't sign in or out.", "Make it writable again.")
    } else if free < Self.leastFree {
      add(
        "diskSpace", path, "Only \(free >> 10) KiB are free. The agent starts no work that it can't record.",
        "Free space on this disk.")
    } else if free < Self.littleFree {
      list.append(
        Finding(
          .notice, "diskSpace", subject: path, "Only \(free >> 20) MiB are free.",
          remedies: ["Free space on this disk."]
        ))
    } else {
      list.append(Finding(.ok, "diskSpace", subject: path, "The disk has enough free space."))
    }
  }

  private mutating func add(_ check: String, _ path: String, _ message: String, _ remedy: String) {
    list.append(Finding(.problem, check, subject: path, message, remedies: [remedy]))
  }

  private static func isLeftOver(_ name: String) -> Bool {
    name.hasSuffix(".new") || ["-copy", "-draft", "-fetched"].contains { name.hasPrefix("lanyard.sqlite\($0)") }
  }

  private static func octal(_ mode: UInt32) -> String {
    let digits = String(mode & 0o7777, radix: 8)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }

  /// The nearest directory above that exists.
  private func nearest(above path: String) -> String {
    var directory = AgentPaths.directory(of: path)
    while !exists(directory), directory != "/", directory != "." { directory = AgentPaths.directory(of: directory) }
    return directory
  }

  private func exists(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }
}
