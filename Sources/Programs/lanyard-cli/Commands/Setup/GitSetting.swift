import CommandSupport
import Glibc

/// A setting of git in a section of its own at the end of the person's configuration. git reads it after all others there.
struct GitSetting: FileChange {
  /// The section's server; nil for all servers.
  let origin: String?
  let name: String
  let value: String

  private static let git = ConfigurationProgram(tool: .git, words: ["config"])

  private var key: String { "credential.\(origin.map { "\($0)." } ?? "")\(name)" }

  var place: String { "git config --global" }
  var lines: [String] { ["\(key) = \(value)"] }

  /// As git chooses it (git-config(1), FILES).
  var file: String {
    get throws(CommandFailure) {
      if let path = Environment.value("GIT_CONFIG_GLOBAL") { return path }
      let usual = try SetupPlaces.home(".gitconfig")
      guard access(usual, F_OK) != 0 else { return usual }
      let other = try SetupPlaces.configuration("git/config")
      return access(other, F_OK) == 0 ? other : usual
    }
  }

  func state(in file: SetupFile) throws(CommandFailure) -> SetupState {
    // 1: the key is not there. git fails otherwise for a file that it can't read.
    let values = try Self.git.lines(["--global", "--get-all", key], none: 1)
    return values.contains(value) ? .present : .absent
  }

  func applied(to file: SetupFile) throws(CommandFailure) -> String {
    let end = file.text.utf8.firstIndex(of: 0x0A).map { file.text.utf8[..<$0].last == 0x0D } ?? false ? "\r\n" : "\n"
    let isEnded = file.text.isEmpty || file.text.utf8.last == 0x0A
    let header = origin.map { "[credential \(Self.quoted($0))]" } ?? "[credential]"
    return file.text + (isEnded ? "" : end) + header + end + "\t\(name) = \(Self.written(value))" + end
  }

  func leavesTheRest(_ rest: String, of file: SetupFile) throws(CommandFailure) -> Bool {
    var settings = try Self.git.lines(["--file", file.path, "--list"])
    // As git lists it: the names in lower case, but for the server.
    let own = "credential.\(origin.map { "\($0)." } ?? "")\(name.lowercased())=\(value)"
    guard let place = settings.firstIndex(of: own) else { return false }
    settings.remove(at: place)
    var left: [String] = []
    _ = try ConfigurationProgram.withCopy(of: rest, beside: file.path) { (copy) throws(CommandFailure) in
      left = try Self.git.lines(["--file", copy, "--list"])
    }
    return left == settings
  }

  func removed(from file: SetupFile) throws(CommandFailure) -> String? {
    guard try Self.git.lines(["--file", file.path, "--get-all", key], none: 1).contains(value) else { return nil }
    return try ConfigurationProgram.withCopy(of: file.text, beside: file.path) { (copy) throws(CommandFailure) in
      try Self.git.change(["--file", copy, "--fixed-value", "--unset-all", key, value])
    }
  }

  /// In quotation marks where git would end the value or leave something out (git-config(1), Syntax).
  private static func written(_ value: String) -> String {
    let isPlain = value.utf8.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
      default: "-_./:".utf8.contains(byte)
      }
    }
    return isPlain ? value : quoted(value)
  }

  private static func quoted(_ text: String) -> String {
    "\"" + text.reduce(into: "") { $0 += $1 == "\"" || $1 == "\\" ? "\\\($1)" : String($1) } + "\""
  }
}
