import ArgumentParser
import CommandSupport

/// The tools that `lanyard setup` configures.
enum SetupTool: String, CaseIterable, ExpressibleByArgument {
  case aws, bazel, cargo, claude, codex, cursor, docker, gemini, git, kubectl, pip, podman, skopeo, terraform, uv,
    vscode

  /// Asks its helper for a host, so that the host has to be named.
  var needsURL: Bool {
    switch self {
    case .bazel, .docker, .podman, .skopeo: true
    default: startsServers
    }
  }

  /// Its lines name the account: no URL chooses one.
  var namesAccount: Bool { self == .aws || self == .kubectl }

  var missing: CommandFailure {
    CommandFailure(.other, name: "programMissing", "\(rawValue) is not installed. Nothing was changed.")
  }
}

/// What a tool is set up for.
struct SetupTarget: Equatable {
  var url: String?
  /// The account's name, for lines that name it.
  var account: String?
  var roleARN: String?
  /// For a program that starts MCP servers: the name of the entry.
  var name: String?
  /// The directory of the project that the entry is for; nil for the person.
  var project: String?
  /// A text that tells an AI agent how to ask; nil for the entry of a server.
  var skill: AgentSkill?

  /// `https:`, an empty text, the host, the path.
  private var parts: [Substring]? {
    let parts = url?.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    return parts.flatMap { $0.count >= 3 ? $0 : nil }
  }

  /// The host, with the port if the URL has one.
  var host: String? { parts.map { String($0[2]) } }

  var origin: String? { parts.map { "\($0[0])//\($0[2])" } }

  /// The URL without `/*` at its end.
  var base: String? { url.map { $0.hasSuffix("/*") ? String($0.dropLast(2)) : $0 } }

  /// True for what a rule can say: https (or http on this machine), a host with or without a port, and a path of plain
  /// characters. The text comes into files of other tools.
  var isPattern: Bool {
    guard let parts, let url, parts[1].isEmpty, let host, url.utf8.allSatisfy(Self.isPlain) else { return false }
    let name = host.prefix { $0 != ":" }
    let port = host.dropFirst(name.count).dropFirst()
    guard !name.isEmpty, name.utf8.allSatisfy(Self.isHost), host.filter({ $0 == ":" }).count <= 1,
      port.isEmpty ? !host.hasSuffix(":") : UInt16(port) != nil
    else { return false }
    return parts[0] == "https:" || parts[0] == "http:" && (name == "localhost" || name == "127.0.0.1")
  }

  static func isRole(_ text: String) -> Bool {
    text.hasPrefix("arn:aws") && text.contains(":role/")
      && text.utf8.allSatisfy { isPlain($0) || $0 == 0x3D || $0 == 0x2C }
  }

  private static func isHost(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."): true
    default: false
    }
  }

  private static func isPlain(_ byte: UInt8) -> Bool { isHost(byte) || "_~:/+*%".utf8.contains(byte) }

  /// True if the URL covers a part of its host.
  var hasPath: Bool { parts.map { $0.count == 4 && $0[3] != "" && $0[3] != "*" } ?? false }
}

extension SetupTool {
  /// What to write for this tool.
  func changes(for target: SetupTarget) throws(CommandFailure) -> [any SetupChange] {
    switch self {
    case .git: return try git(target)
    case .docker:
      return [
        JSONEntry(place: try dockerConfiguration(), path: ["credHelpers", host(target)], value: .text("lanyard"))
      ]
    case .podman, .skopeo:
      return [
        JSONEntry(
          place: try SetupPlaces.configuration("containers/auth.json"), path: ["credHelpers", host(target)],
          value: .text("lanyard"))
      ]
    case .kubectl:
      let account = target.account ?? ""
      return [
        KubectlUser(
          name: "lanyard-\(account)", command: [Self.lanyard, "credential", "kubectl", "-u", account])
      ]
    case .cargo: return try cargo()
    case .pip:
      return [
        try keyring(),
        TextBlock(
          place: try SetupPlaces.configuration("pip/pip.conf"), name: rawValue, section: "[global]",
          content: ["keyring-provider = subprocess"]),
      ]
    case .uv:
      return [
        try keyring(),
        TextBlock(
          place: try SetupPlaces.configuration("uv/uv.toml"), name: rawValue, isFirst: true, isTOML: true,
          content: ["keyring-provider = \"subprocess\""]),
      ]
    case .aws: return try aws(target)
    case .terraform: return try terraform()
    case .claude where target.skill != nil: return try skill(target)
    case .claude, .codex, .cursor, .gemini, .vscode: return [try serverEntry(target)]
    case .bazel:
      let helper = try Self.helper("bazel-credential-lanyard")
      return [
        TextBlock(
          place: try SetupPlaces.home(".bazelrc"), name: "\(rawValue) \(host(target))", isRepeatable: true,
          content: ["common --credential_helper=\(host(target))=\(helper)"])
      ]
    }
  }

  /// What the person has to do besides.
  func notes(for target: SetupTarget) -> [String] {
    switch self {
    case .kubectl: ["Use it: `kubectl config set-context --current --user=lanyard-\(target.account ?? "")`."]
    case .aws: ["Use it: `aws --profile lanyard-\(target.account ?? "") sts get-caller-identity`."]
    case .git where target.hasPath:
      ["git now tells its helpers the path of a URL of \(target.host ?? "the host"), too."]
    case .codex where target.project != nil: ["Codex reads it once you have trusted this project."]
    default: startsServers ? ["A running \(rawValue) sees it when it is started again."] : []
    }
  }

  private func host(_ target: SetupTarget) -> String { target.host ?? "" }

  /// `lanyard` as a tool finds it: by its name if it is in PATH.
  static var lanyard: String {
    AgentPaths.program("lanyard") == nil ? AgentPaths.companion("lanyard") ?? "lanyard" : "lanyard"
  }

  /// The path of `lanyard`.
  static var lanyardPath: String { AgentPaths.program("lanyard") ?? AgentPaths.companion("lanyard") ?? "lanyard" }

  private static func helper(_ name: String) throws(CommandFailure) -> String {
    if let path = AgentPaths.program(name) { return path }
    throw CommandFailure(
      .other, name: "helperMissing", "\(name) is not in PATH. Nothing was changed.",
      hints: ["`make install` and the Debian package make this link to lanyard."])
  }

  private func git(_ target: SetupTarget) throws(CommandFailure) -> [any SetupChange] {
    guard AgentPaths.program("git") != nil else { throw missing }
    let named = AgentPaths.program("git-credential-lanyard") != nil
    let helper = named ? "lanyard" : "!\(ErrorMessages.shellWord(Self.lanyardPath)) credential git"
    guard let origin = target.origin else { return [GitSetting(origin: nil, name: "helper", value: helper)] }
    let settings = [GitSetting(origin: origin, name: "helper", value: helper)]
    return target.hasPath ? settings + [GitSetting(origin: origin, name: "useHttpPath", value: "true")] : settings
  }

  private func dockerConfiguration() throws(CommandFailure) -> String {
    if let directory = Environment.value("DOCKER_CONFIG") { return "\(directory)/config.json" }
    return try SetupPlaces.home(".docker/config.json")
  }

  private func cargo() throws(CommandFailure) -> [any SetupChange] {
    let home = try SetupPlaces.named("CARGO_HOME", else: ".cargo")
    let lanyard = Self.lanyardPath
    return [
      TextBlock(
        place: "\(home)/config.toml", name: rawValue, section: "[registry]", isTOML: true,
        content: [
          "global-credential-providers = [\"cargo:token\", \"\(lanyard) credential cargo --cargo-plugin\"]"
        ])
    ]
  }

  /// pip and uv look for a program of this name.
  private func keyring() throws(CommandFailure) -> HelperLink {
    let place = try SetupPlaces.home(".local/bin/keyring")
    return HelperLink(place: place, target: Self.lanyardPath)
  }

  private func aws(_ target: SetupTarget) throws(CommandFailure) -> [any SetupChange] {
    guard let role = target.roleARN else {
      throw .usage(
        "The role is missing. Nothing was changed.", hints: ["Name it: --role-arn arn:aws:iam::ACCOUNT:role/NAME."])
    }
    let account = target.account ?? ""
    return [
      TextBlock(
        place: try SetupPlaces.named("AWS_CONFIG_FILE", else: ".aws/config"), name: "aws \(account)",
        section: "[profile lanyard-\(account)]",
        content: ["credential_process = \(Self.lanyardPath) credential aws -u \(account) --role-arn \(role)"])
    ]
  }

  private func terraform() throws(CommandFailure) -> [any SetupChange] {
    [
      HelperLink(
        place: try SetupPlaces.home(".terraform.d/plugins/terraform-credentials-lanyard"), target: Self.lanyardPath),
      TextBlock(
        place: try SetupPlaces.named("TF_CLI_CONFIG_FILE", else: ".terraformrc"), name: rawValue,
        content: ["credentials_helper \"lanyard\" {}"]),
    ]
  }
}
