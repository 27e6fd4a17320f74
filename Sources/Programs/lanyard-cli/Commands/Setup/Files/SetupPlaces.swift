import CommandSupport
import Glibc

/// Where the person's configuration files are.
enum SetupPlaces {
  static func home(_ path: String) throws(CommandFailure) -> String {
    guard let home = Environment.value("HOME") else { throw .usage("HOME is not set.") }
    return "\(home)/\(path)"
  }

  /// The place in a variable of the tool, else one in the home directory.
  static func named(_ variable: String, else path: String) throws(CommandFailure) -> String {
    if let place = Environment.value(variable) { return place }
    return try home(path)
  }

  static func here() throws(CommandFailure) -> String {
    guard let directory = AgentPaths.workingDirectory else { throw .usage("The current directory is gone.") }
    return directory
  }

  /// A file of a project. A link that leads out of the project is refused: it came with the project, perhaps.
  static func inside(_ project: String, _ path: String) throws(CommandFailure) -> String {
    var existing = "\(project)/\(path)"
    while access(existing, F_OK) != 0, existing.utf8.count > project.utf8.count {
      existing = AgentPaths.directory(of: existing)
    }
    guard let root = real(project), let found = real(existing), found == root || found.hasPrefix(root + "/") else {
      throw CommandFailure(
        .other, name: "outsideProject", "\(project)/\(path) is not in \(project): a link leads elsewhere.",
        hints: ["Nothing was changed. Replace the link by a file, or leave out --scope project."])
    }
    return "\(project)/\(path)"
  }

  private static func real(_ path: String) -> String? {
    guard let found = realpath(path, nil) else { return nil }
    defer { free(found) }
    return String(cString: found)
  }

  static func configuration(_ path: String) throws(CommandFailure) -> String {
    if let directory = Environment.value("XDG_CONFIG_HOME") { return "\(directory)/\(path)" }
    return try home(".config/\(path)")
  }
}
