import CommandSupport
import FileRules
import Glibc

/// The units of the agent in systemd's manager of a session. An installation of the whole machine brings them; for another
/// one they are written here, out of its templates.
enum UserUnits {
  static let socket = "lanyard.socket"
  static let service = "lanyard.service"
  /// Take all of them back once the programs are removed: no installer of wheels runs anything then.
  static let removal = ["lanyard-removed.path", "lanyard-removed.service"]
  private static let all = [service, socket] + removal

  /// The first line of what `write` wrote, and of no other file.
  private static let mark = "# By lanyard service install.\n"

  /// True if `write` wrote them.
  static func areOurs() throws(CommandFailure) -> Bool { isOurs("\(try place())/\(socket)") }

  /// Writes them; returns the directory.
  static func write() throws(CommandFailure) -> String {
    guard let templates = AgentPaths.shared("lanyard/systemd"), let programs = programs else {
      throw CommandFailure(
        .other, name: "noUnits",
        "This installation has no units for systemd, or its path is none for them. Nothing was changed.",
        hints: ["Install it again, or with `make install` out of its sources."])
    }
    let directory = try place()
    for unit in all {
      let path = "\(directory)/\(unit)"
      guard access(path, F_OK) != 0 || isOurs(path) else {
        throw CommandFailure(
          .other, name: "otherUnit", "\(path) is not by this command. Nothing was changed.",
          hints: ["Move it away, then run `lanyard service install` again."])
      }
    }
    let error = makeDirectories(directory)
    guard error == 0 else {
      throw CommandFailure(.other, name: "file", "\(directory) can't be made: \(SystemError.message(error)).")
    }
    for unit in all {
      let template = try text(of: "\(templates)/\(unit).in")
      let words =
        mark + template.split(separator: "@bin@", omittingEmptySubsequences: false).joined(separator: programs)
      let error = Array(words.utf8).withUnsafeBytes {
        writeFile($0, to: "\(directory)/\(unit)", draft: "\(directory)/.\(unit).new", mode: 0o644, isDurable: false)
      }
      guard error == 0 else {
        throw CommandFailure(.other, name: "file", "\(directory)/\(unit): \(SystemError.message(error)).")
      }
    }
    return directory
  }

  /// The directory of the agent and the command line, as a unit can name it. Nil if they stand apart, or in a path that systemd
  /// would read as several words.
  private static var programs: String? {
    guard let agent = AgentPaths.companion("lanyard-agent"), let path = realpath(agent, nil) else { return nil }
    defer { free(path) }
    let directory = AgentPaths.directory(of: String(cString: path))
    guard access("\(directory)/lanyard", X_OK) == 0,
      directory.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && !#"%"'\$;"#.utf8.contains($0) })
    else { return nil }
    return directory
  }

  /// Removes what `write` wrote; false if there is none.
  static func remove() throws(CommandFailure) -> Bool {
    let directory = try place()
    var isThere = false
    for unit in all where isOurs("\(directory)/\(unit)") {
      guard unlink("\(directory)/\(unit)") == 0 else {
        throw CommandFailure(.other, name: "file", "\(directory)/\(unit): \(SystemError.message(errno)).")
      }
      isThere = true
    }
    return isThere
  }

  /// `~/.config/systemd/user`.
  private static func place() throws(CommandFailure) -> String {
    guard let home = Environment.value("XDG_CONFIG_HOME") ?? Environment.value("HOME").map({ "\($0)/.config" }),
      home.hasPrefix("/")
    else { throw .usage("HOME has to be an absolute path. Nothing was changed.") }
    return "\(home)/systemd/user"
  }

  private static func isOurs(_ path: String) -> Bool { (try? text(of: path))?.hasPrefix(mark) == true }

  private static func text(of path: String) throws(CommandFailure) -> String {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else {
      throw CommandFailure(.other, name: "file", "\(path) can't be read: \(SystemError.message(errno)).")
    }
    defer { close(file) }
    let bytes = [UInt8](unsafeUninitializedCapacity: 64 << 10) { $1 = max(0, read(file, $0.baseAddress!, $0.count)) }
    return String(decoding: bytes, as: UTF8.self)
  }
}
