import CommandSupport
import Glibc

/// What the files say by themselves: whose they are, who may touch them, how much room there is, and what was left.
struct FileFindings {
  private(set) var list: [Finding] = []

  /// Below the first, a backup or a rewriting of the log finds no room; below the second, it is near.
  private static let leastFree = 16 << 20
  private static let littleFree = 64 << 20

  mutating func lookAtState(_ directory: String?, agentRuns: Bool) {
    guard let directory else {
      list.append(
        Finding(
          .problem, "stateDirectory", "There is no place for the agent's state: HOME is not set.",
          remedies: ["Set HOME, or LANYARD_STATE_DIR."]))
      return
    }
    guard exists(directory) else {
      list.append(
        Finding(
          .notice, "stateDirectory", subject: directory, "There is no state yet.",
          remedies: ["Nothing: the first start of the agent makes it."]))
      return
    }
    guard lookAtDirectory("stateDirectory", directory) else { return }
    let count = list.count
    let names = entries(of: directory)
    for name in names { lookAtFile("stateFiles", "\(directory)/\(name)") }
    if list.count == count {
      list.append(Finding(.ok, "stateFiles", subject: directory, "Only you can read or write what is in it."))
    }
    if !agentRuns {
      for name in names where Self.isLeftOver(name) {
        list.append(
          Finding(
            .notice, "leftovers", subject: "\(directory)/\(name)", "Something that was cut off left this behind.",
            remedies: ["Nothing: the next start of the agent removes it."]))
      }
    }
    lookAtRoom(directory)
  }

  mutating func lookAtAnchors(_ directory: String?) {
    guard let directory, exists(directory), lookAtDirectory("anchorFiles", directory) else { return }
    let count = list.count
    for name in entries(of: directory) { lookAtFile("anchorFiles", "\(directory)/\(name)") }
    if list.count == count {
      list.append(Finding(.ok, "anchorFiles", subject: directory, "Only you can change what tells an old copy."))
    }
  }

  mutating func lookAtSocket(_ path: String, agentRuns: Bool) {
    let directory = AgentPaths.directory(of: path)
    guard exists(directory) else { return }
    guard lookAtDirectory("socketDirectory", directory) else { return }
    list.append(Finding(.ok, "socketDirectory", subject: directory, "Only you can reach the agent's socket."))
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    if status.st_mode & S_IFMT != S_IFSOCK {
      list.append(
        Finding(
          .problem, "socket", subject: path, "Something that is no socket stands in the agent's place.",
          remedies: ["Move it away; the agent never removes it."]))
    } else if !agentRuns {
      list.append(
        Finding(
          .notice, "socket", subject: path, "Nobody answers at this socket: an agent that was killed left it.",
          remedies: ["Nothing: the next start of the agent takes it over."]))
    }
  }

  // MARK: pieces

  /// True if it may be used; what is in it is worth a look then.
  private mutating func lookAtDirectory(_ check: String, _ path: String) -> Bool {
    var status = stat()
    guard lstat(path, &status) == 0 else { return false }
    switch status.st_mode & S_IFMT {
    case S_IFDIR: break
    case S_IFLNK:
      add(
        check, path, "A symbolic link stands here: whoever can change it turns the agent elsewhere.",
        "Put the directory itself here, or name the one it leads to.")
      return false
    default:
      add(check, path, "This is no directory.", "Move it away.")
      return false
    }
    guard status.st_uid == geteuid() else {
      add(check, path, "It belongs to another user.", "Give it to yourself (`chown`), or name another directory.")
      return false
    }
    guard status.st_mode & 0o077 == 0 else {
      add(check, path, "Others may enter it (mode \(Self.octal(status.st_mode))).", "`chmod 700 \(path)`")
      return false
    }
    return true
  }

  private mutating func lookAtFile(_ check: String, _ path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    switch status.st_mode & S_IFMT {
    case S_IFREG: break
    case S_IFLNK:
      return add(check, path, "A symbolic link stands in the place of a file.", "Put the file itself here.")
    // Somebody's own, and nothing of the agent's.
    default: return
    }
    if status.st_uid != geteuid() {
      add(check, path, "It belongs to another user.", "Give it to yourself (`chown`).")
    } else if status.st_mode & 0o077 != 0 {
      add(check, path, "Others may read or write it (mode \(Self.octal(status.st_mode))).", "`chmod 600 \(path)`")
    } else if status.st_nlink > 1 {
      add(
        check, path, "It has a second name somewhere, by which it can be changed.",
        "Find that (`find / -samefile`), and remove it.")
    }
  }

  private mutating func lookAtRoom(_ path: String) {
    var room = statvfs()
    guard statvfs(path, &room) == 0 else { return }
    let free = Int(clamping: UInt64(room.f_bavail) * UInt64(room.f_frsize))
    if room.f_flag & UInt(ST_RDONLY) != 0 {
      add("diskSpace", path, "The disk can only be read. Nobody can sign in or out.", "Make it writable again.")
    } else if free < Self.leastFree {
      add(
        "diskSpace", path, "\(free >> 10) KiB are free. Without room nothing is begun that could not be written down.",
        "Make room on this disk.")
    } else if free < Self.littleFree {
      list.append(
        Finding(
          .notice, "diskSpace", subject: path, "Only \(free >> 20) MiB are free.", remedies: ["Make room on this disk."]
        ))
    } else {
      list.append(Finding(.ok, "diskSpace", subject: path, "There is room on the disk."))
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

  private func exists(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  private func entries(of path: String) -> [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }
}
