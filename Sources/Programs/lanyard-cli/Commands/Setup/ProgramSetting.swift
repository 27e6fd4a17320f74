import CommandSupport
import Glibc

/// The command of a tool that writes its configuration itself.
struct ConfigurationProgram {
  let tool: SetupTool
  /// The first words of each call, after the program's name.
  let words: [String]

  func run(_ more: [String]) throws(CommandFailure) -> ChildOutput {
    guard let path = AgentPaths.program(tool.rawValue) else { throw tool.missing }
    return try ChildOutput.of(path, words + more)
  }

  func lines(_ more: [String]) throws(CommandFailure) -> [String] {
    let found = try run(more).stdout
    return found.text(0..<found.count).split(separator: "\n").map(String.init)
  }

  func change(_ more: [String]) throws(CommandFailure) {
    let ran = try run(more)
    guard ran.hasSucceeded else {
      throw CommandFailure(.other, name: "setupFailed", "\(tool.rawValue) \(words[0]) failed: \(ran.complaint)")
    }
  }
}

/// A setting that git itself writes into the person's configuration.
struct GitSetting: SetupChange {
  let key: String
  let value: String

  private static let git = ConfigurationProgram(tool: .git, words: ["config", "--global"])

  var place: String { "git config --global" }
  var lines: [String] { ["\(key) = \(value)"] }

  func state() throws(CommandFailure) -> SetupState {
    try Self.git.lines(["--get-all", key]).contains(value) ? .present : .absent
  }

  func apply() throws(CommandFailure) { try Self.git.change(["--add", key, value]) }

  func undo() throws(CommandFailure) {
    guard try state() == .present else { return }
    try Self.git.change(["--fixed-value", "--unset-all", key, value])
  }
}

/// A user of the kubeconfig, which kubectl itself writes.
struct KubectlUser: SetupChange {
  let name: String
  let command: [String]

  private static let kubectl = ConfigurationProgram(tool: .kubectl, words: ["config"])

  var place: String { "kubectl config" }
  var lines: [String] { ["user \(name): exec \(command.joined(separator: " "))"] }

  func state() throws(CommandFailure) -> SetupState {
    try Self.kubectl.lines(["get-users"]).contains(name) ? .present : .absent
  }

  func apply() throws(CommandFailure) {
    var words = ["set-credentials", name, "--exec-command=\(command[0])"]
    words += command.dropFirst().map { "--exec-arg=\($0)" }
    words += ["--exec-interactive-mode=IfAvailable", "--exec-api-version=client.authentication.k8s.io/v1"]
    try Self.kubectl.change(words)
  }

  func undo() throws(CommandFailure) {
    guard try state() == .present else { return }
    try Self.kubectl.change(["delete-user", name])
  }
}

/// A link to `lanyard` under the name by which a tool looks for its helper.
struct HelperLink: SetupChange {
  let place: String
  let target: String

  var lines: [String] { ["a link to \(target)"] }

  func state() throws(CommandFailure) -> SetupState {
    var information = stat()
    guard lstat(place, &information) == 0 else { return .absent }
    return leads ? .present : .taken("another program")
  }

  func apply() throws(CommandFailure) {
    try SetupFile.makeDirectories(AgentPaths.directory(of: place))
    guard symlink(target, place) == 0 else {
      throw CommandFailure(.other, name: "output", "\(place) can't be made: \(SystemError.message(errno)).")
    }
  }

  func undo() throws(CommandFailure) {
    if leads { unlink(place) }
  }

  private var leads: Bool {
    var text = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink(place, &text, text.count - 1)
    return count > 0 && String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) == target
  }
}
