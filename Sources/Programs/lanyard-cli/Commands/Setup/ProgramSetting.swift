import CommandSupport
import Glibc

/// A setting that git itself writes into the person's configuration.
struct GitSetting: SetupChange {
  let key: String
  let value: String

  var place: String { "git config --global" }
  var lines: [String] { ["\(key) = \(value)"] }

  func state() throws(CommandFailure) -> SetupState {
    let found = try Self.run(["--get-all", key]).stdout
    let values = found.text(0..<found.count).split(separator: "\n").map(String.init)
    return values.contains(value) ? .present : .absent
  }

  func apply() throws(CommandFailure) { try Self.require(["--add", key, value]) }

  func undo() throws(CommandFailure) {
    guard try state() == .present else { return }
    try Self.require(["--fixed-value", "--unset-all", key, value])
  }

  @discardableResult
  private static func run(_ words: [String]) throws(CommandFailure) -> ChildOutput {
    guard let git = AgentPaths.program("git") else { throw SetupTool.git.missing }
    return try ChildOutput.of(git, ["config", "--global"] + words)
  }

  private static func require(_ words: [String]) throws(CommandFailure) {
    let ran = try run(words)
    guard ran.hasSucceeded else {
      throw CommandFailure(.other, name: "setupFailed", "git config failed: \(ran.complaint)")
    }
  }
}

/// A user of the kubeconfig, which kubectl itself writes.
struct KubectlUser: SetupChange {
  let name: String
  let command: [String]

  var place: String { "kubectl config" }
  var lines: [String] { ["user \(name): exec \(command.joined(separator: " "))"] }

  func state() throws(CommandFailure) -> SetupState {
    let found = try Self.run(["get-users"]).stdout
    return found.text(0..<found.count).split(separator: "\n").contains { $0 == name } ? .present : .absent
  }

  func apply() throws(CommandFailure) {
    var words = ["set-credentials", name, "--exec-command=\(command[0])"]
    words += command.dropFirst().map { "--exec-arg=\($0)" }
    words += ["--exec-interactive-mode=IfAvailable", "--exec-api-version=client.authentication.k8s.io/v1"]
    try Self.require(words)
  }

  func undo() throws(CommandFailure) {
    guard try state() == .present else { return }
    try Self.require(["delete-user", name])
  }

  private static func run(_ words: [String]) throws(CommandFailure) -> ChildOutput {
    guard let kubectl = AgentPaths.program("kubectl") else { throw SetupTool.kubectl.missing }
    return try ChildOutput.of(kubectl, ["config"] + words)
  }

  private static func require(_ words: [String]) throws(CommandFailure) {
    let ran = try run(words)
    guard ran.hasSucceeded else {
      throw CommandFailure(.other, name: "setupFailed", "kubectl config failed: \(ran.complaint)")
    }
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
    let directory = AgentPaths.directory(of: place)
    try makeDirectories(directory)
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

  private func makeDirectories(_ directory: String) throws(CommandFailure) {
    if access(directory, F_OK) == 0 { return }
    try makeDirectories(AgentPaths.directory(of: directory))
    guard mkdir(directory, 0o755) == 0 || errno == EEXIST else {
      throw CommandFailure(.other, name: "output", "\(directory) can't be made: \(SystemError.message(errno)).")
    }
  }
}
