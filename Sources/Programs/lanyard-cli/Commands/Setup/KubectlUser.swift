import CommandSupport
import Glibc

/// A user of the kubeconfig. It is written into the text, so that the person's comments and order stay: `kubectl config`
/// would write the whole file anew. kubectl itself checks the outcome before it is kept.
struct KubectlUser: FileChange {
  let name: String
  let command: [String]

  var place: String { "kubectl config" }
  var lines: [String] { ["user \(name): exec \(command.joined(separator: " "))"] }

  /// As `kubectl config` chooses it: the first that is there of `KUBECONFIG`, else its last.
  var file: String {
    get throws(CommandFailure) {
      let named = Environment.value("KUBECONFIG").map { $0.split(separator: ":").map(String.init) } ?? []
      if let file = named.first(where: { access($0, F_OK) == 0 }) ?? named.last { return file }
      return try SetupPlaces.home(".kube/config")
    }
  }

  private static func kubectl(_ file: String? = nil) -> ConfigurationProgram {
    ConfigurationProgram(tool: .kubectl, words: ["config"] + (file.map { ["--kubeconfig", $0] } ?? []))
  }

  private static func users(of file: String? = nil) throws(CommandFailure) -> [String] {
    // The first line is a heading.
    Array(try kubectl(file).lines(["get-users"]).dropFirst())
  }

  /// The first version that knows `client.authentication.k8s.io/v1`, which says whether a plugin may ask the person.
  private static let firstMinor = 22

  /// - Throws: for a kubectl that would take the user and then not understand it. A version that can't be told passes.
  private static func requireExecPlugins() throws(CommandFailure) {
    let answer = try ConfigurationProgram(tool: .kubectl, words: ["version"]).run(["--client", "--output", "json"])
    guard answer.hasSucceeded,
      let version = answer.stdout.text(0..<answer.stdout.count).split(separator: "\"").first(where: {
        $0.hasPrefix("v1.") && $0.dropFirst(3).prefix { $0 != "." }.allSatisfy(\.isNumber)
      }), let minor = Int(version.dropFirst(3).prefix { $0 != "." }), minor < firstMinor
    else { return }
    throw CommandFailure(
      .other, name: "setupFailed",
      "This kubectl is \(version), and takes credentials of a program only from v1.\(firstMinor) on. Nothing was changed.",
      hints: ["Install a newer kubectl, then run the same command again."])
  }

  func state(in file: SetupFile) throws(CommandFailure) -> SetupState {
    guard try Self.users().contains(name) else { return .absent }
    return .present
  }

  func applied(to file: SetupFile) throws(CommandFailure) -> String {
    try Self.requireExecPlugins()
    guard let text = KubeconfigText(file.text).inserting(name, command) else { throw unreadable(file) }
    let before = file.text.isEmpty ? [] : try Self.users(of: file.path)
    guard try Self.has(before + [name], in: text, beside: file.path) else { throw unreadable(file) }
    return text
  }

  func removed(from file: SetupFile) throws(CommandFailure) -> String? {
    // kubectl has written the file anew since, or the person has changed the user. What kubectl would drop is kept.
    guard !KubeconfigText(file.text).hasComments else { throw unreadable(file) }
    return try ConfigurationProgram.withCopy(of: file.text, beside: file.path) { (copy) throws(CommandFailure) in
      if try Self.users(of: copy).contains(name) { try Self.kubectl(copy).change(["delete-user", name]) }
    }
  }

  func leavesTheRest(_ rest: String, of file: SetupFile) throws(CommandFailure) -> Bool {
    try Self.has(Self.users(of: file.path).filter { $0 != name }, in: rest, beside: file.path)
  }

  /// Has kubectl read the text: true if it has these users and no other.
  private static func has(
    _ users: [String], in text: String, beside path: String
  ) throws(CommandFailure) -> Bool {
    var found: [String]?
    _ = try ConfigurationProgram.withCopy(of: text, beside: path) { (copy) throws(CommandFailure) in
      found = try? text.isEmpty ? [] : Self.users(of: copy)
    }
    return found.map { $0.sorted() == users.sorted() } ?? false
  }

  private func unreadable(_ file: SetupFile) -> CommandFailure {
    let words = command.dropFirst().map { "--exec-arg=\(ErrorMessages.shellWord($0))" }.joined(separator: " ")
    return CommandFailure(
      .other, name: "setupFailed",
      "\(file.path) is laid out in a way that Lanyard can't change without loss. Nothing was changed.",
      hints: [
        "kubectl changes it, and drops comments: `kubectl config set-credentials \(ErrorMessages.shellWord(name)) "
          + "--exec-command=\(ErrorMessages.shellWord(command[0])) \(words) --exec-interactive-mode=IfAvailable "
          + "--exec-api-version=client.authentication.k8s.io/v1`.",
        "To remove the user: `kubectl config delete-user \(ErrorMessages.shellWord(name))`.",
      ])
  }
}
