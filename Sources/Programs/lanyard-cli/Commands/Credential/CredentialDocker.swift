import AgentModel
import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard credential docker`: a helper of docker, podman, skopeo and buildah. Its texts on stdout are part of the
/// protocol (docker-credential-helpers, `credentials`).
struct CredentialDocker: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "docker",
    abstract: "A credential helper of docker, podman and skopeo.",
    discussion: """
      The tools call it as docker-credential-lanyard, a link that `make install` makes.

      EXAMPLES:
        lanyard rule add 'https://registry.acme.example/*' work
        echo https://registry.acme.example | docker-credential-lanyard get
      """)

  @Argument(help: "What the tool asks for: get, list, store, erase or version.")
  var operation: String

  @Option(help: "The user name beside the token. Default: what the registry is known to want.")
  var user: String?

  @OptionGroup var common: CommonOptions

  func run() throws {
    do throws(CommandFailure) {
      switch operation {
      case "get": try get()
      case "list": try list()
      case "version": Output.answer("docker-credential-lanyard (lanyard) v\(Version.text)")
      case "store":
        try refuse("Lanyard signs in by `lanyard login`. Nothing was stored.")
      case "erase":
        try refuse("Lanyard signs out by `lanyard logout`. Nothing was erased.")
      default: try refuse("unknown credential operation: \(operation)")
      }
    } catch {
      if error.name == Self.refused { throw OtherAnswer(status: .other) }
      // The tool shows stdout, and drops stderr.
      Output.answer(([error.message] + error.hints).joined(separator: " "))
      throw OtherAnswer(status: .other)
    }
  }

  private static let refused = "refused"

  private func refuse(_ text: String) throws(CommandFailure) {
    Output.answer(text)
    throw CommandFailure(.other, name: Self.refused, text)
  }

  private func get() throws(CommandFailure) {
    let input = try SecretInput.contents(of: "-")
    let server = input.withBytes { String(decoding: $0, as: UTF8.self) }.trimmedLine
    guard !server.isEmpty else { return try refuse("no credentials server URL") }
    var agent = try common.connect()
    for address in Self.addresses(of: server) {
      guard let found = try ResourceCredential.find(address, user: user, named: common.account, via: &agent) else {
        continue
      }
      let usual = try found.usualUsername(for: address, via: &agent)
      return try found.token(via: &agent) { (token) throws(CommandFailure) in
        var answer = JSONWriter()
        answer.beginObject()
        answer.member("ServerURL", server)
        answer.member("Username", token.username(asked: user, usual: usual))
        answer.member("Secret", "", token)
        answer.endObject()
        answer.text("\n")
        try answer.answer()
      }
    }
    // Exactly this text lets the tool go on without a credential.
    try refuse("credentials not found in native keychain")
  }

  /// The addresses that a server stands for. Tools leave the scheme out: they speak https to all registries but those on
  /// this machine.
  private static func addresses(of server: String) -> [ResourceAddress] {
    if server.contains("://") { return [ResourceAddress(whole: server)].compactMap { $0 } }
    let host = server.prefix { $0 != "/" }
    return ["https", "http"].compactMap {
      ResourceAddress(scheme: $0, host: String(host), path: String(server.dropFirst(host.count).drop { $0 == "/" }))
    }.filter { $0.url.scheme == .https || $0.url.isLoopback }
  }

  /// The servers that a rule names whole.
  private func list() throws(CommandFailure) {
    var agent = try common.connect()
    try agent.call("rule.list") { (result) throws(CommandFailure) in
      var answer = JSONWriter()
      answer.beginObject()
      var told: Set<String> = []
      for rule in result["rules"].map({ Array($0.elements) }) ?? [] {
        guard let pattern = rule["pattern"]?.string, pattern.hasSuffix("/*") else { continue }
        let server = String(pattern.dropLast(2))
        guard server.split(separator: "/").count == 2, told.insert(server).inserted,
          let address = ResourceAddress(whole: server)
        else { continue }
        answer.key(server)
        answer.string(user ?? PlaceholderUser.name(for: address.url))
      }
      answer.endObject()
      answer.text("\n")
      try answer.answer()
    }
  }
}

extension String {
  /// Without white space and the end of a line around it.
  var trimmedLine: String {
    func isBlank(_ character: Character) -> Bool { character.isWhitespace || character.isNewline }
    let begun = drop(while: isBlank)
    guard let last = begun.lastIndex(where: { !isBlank($0) }) else { return "" }
    return String(begun[...last])
  }
}
