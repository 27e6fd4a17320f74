import AgentModel
import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard grant create`
struct GrantCreate: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create", abstract: "Create a grant and print its secret. The secret is shown only once.",
    discussion: """
      A program has the grant if LANYARD_GRANT_FILE names a file with the secret.

      EXAMPLES:
        lanyard grant create ci --can tokens -u work --expires-in 12h --to grant
        lanyard grant create claude --agent -u work --to claude.grant
      """)

  @Argument(help: "A name for the program.")
  var client: String

  @Option(
    name: [.customShort("m"), .customLong("method")],
    help: ArgumentHelp(
      "A method that the program may call: token.get, all token.* methods, or *; may be repeated.",
      valueName: "method"), completion: .methods)
  var methods: [String] = []

  @Option(
    name: .customLong("can"),
    help: ArgumentHelp(
      "What the program may do: tokens, requests, operations, decisions, status, secrets; may be repeated.",
      valueName: "what"))
  var abilities: [GrantAbility] = []

  @Option(
    name: [.customShort("u"), .customLong("account")],
    help: ArgumentHelp(
      "An account that the program may use; may be repeated. Default: the active account.",
      valueName: "account"),
    completion: .accounts)
  var accounts: [String] = []

  @Option(
    name: [.customShort("s"), .customLong("scope")],
    help: ArgumentHelp("A scope that its tokens may have; may be repeated. Default: all.", valueName: "scope"))
  var scopes: [String] = []

  @Option(
    name: .customLong("resource"),
    help: ArgumentHelp(
      "A resource that its tokens may be for (an address); may be repeated. Default: all.", valueName: "url"))
  var resources: [String] = []

  @Option(
    name: .customLong("details-type"),
    help: ArgumentHelp(
      "A type of authorization details that its tokens may carry; may be repeated. Default: none with --scope or --resource, else all.",
      valueName: "type"))
  var detailTypes: [String] = []

  @Option(
    name: .customLong("origin"),
    help: ArgumentHelp(
      "An origin that its requests may go to, such as https://api.example; may be repeated. Default: all of the provider's.",
      valueName: "url"))
  var origins: [String] = []

  @Option(
    name: .customLong("pass"),
    help: ArgumentHelp(
      "An origin to which its proxy lets it pass without a token, or * for every public one that no account serves; may be repeated. Default: none.",
      valueName: "origin"))
  var passOrigins: [String] = []

  @Option(
    name: .customLong("capability"),
    help: ArgumentHelp(
      "A capability whose operations it may claim even if other programs queued them; may be repeated. Default: all; with --agent none.",
      valueName: "capability"))
  var capabilities: [String] = []

  @Flag(
    name: .customLong("agent"),
    help: ArgumentHelp(
      "The program is an AI agent: its requests may only read (GET and HEAD without a body), unless the policy says otherwise. "
        + "Without --can and -m it may send requests, and gets no token."))
  var isForAgent = false

  @Option(
    name: .customLong("expires-in"),
    help: ArgumentHelp("When the grant ends: 90s, 15m, 12h, 7d. Default: never.", valueName: "time"))
  var lifetime: Lifetime?

  @Option(
    name: .customLong("to"),
    help: ArgumentHelp("Write the secret to a new file that only you can read.", valueName: "file"), completion: .file()
  )
  var file: String?

  @Flag(name: .long, help: "Print the answer as JSON on one line; errors go to stderr as JSON.")
  var json = false

  @Flag(name: .long, help: "Do not start an agent.")
  var noStart = false

  @Flag(name: .shortAndLong, help: "No notes and no warnings: only the answer, and failures.")
  var quiet = false

  func validate() throws {
    if methods.isEmpty, abilities.isEmpty, !isForAgent {
      throw ValidationError("Say what the program may do: --can tokens, or a method with -m.")
    }
  }

  func run() throws {
    let abilities = isForAgent && methods.isEmpty && self.abilities.isEmpty ? [.requests] : self.abilities
    let selection = try AccountSelection.choose(argument: accounts.first)
    // Open the file before the grant exists: the agent returns the secret only once.
    let target = try file.map { (path) throws(CommandFailure) in try NewSecretFile(path) }
    var agent = try Agent.connect(mayStart: !noStart)
    var created: String?
    do throws(CommandFailure) {
      if self.accounts.count > 1 { AccountSelection.nameNoneInHints() }
      var accounts = [try selection.located(via: &agent)]
      for account in self.accounts.dropFirst() {
        accounts.append(try AccountSelection(account, because: .argument).located(via: &agent))
      }
      try agent.call("grant.create") { writer in
        writer.member("client", client)
        writer.member("accounts", ifAny: accounts)
        writer.member("methods", ifAny: methods + GrantAbility.methods(of: abilities).filter { !methods.contains($0) })
        writer.member("scopes", ifAny: scopes)
        writer.member("resources", ifAny: resources)
        writer.member("authorizationDetailTypes", ifAny: detailTypes)
        writer.member("origins", ifAny: origins)
        writer.member("passOrigins", ifAny: passOrigins)
        writer.member("capabilities", ifAny: capabilities)
        if isForAgent { writer.member("agent", true) }
        if let lifetime {
          writer.key("expiresInSeconds")
          writer.integer(lifetime.seconds)
        }
      } result: { (result) throws(CommandFailure) in
        created = result["grant"]?.string
        try show(result, target)
      }
    } catch {
      target?.abandon()
      guard let created else { throw error }
      throw Self.revoke(created, after: error, via: &agent)
    }
  }

  /// Ends a grant whose secret is lost, so that no program can use it. If that fails, the failure names the grant.
  private static func revoke(
    _ grant: String, after failure: CommandFailure, via agent: inout AgentConnection
  ) -> CommandFailure {
    var failure = failure
    do throws(CommandFailure) {
      try agent.perform("grant.revoke") { $0.member("grant", grant) }
      failure.message += " The grant was revoked."
    } catch {
      failure.hints.append("The secret is lost: `lanyard grant revoke \(grant)` ends the grant.")
    }
    return failure
  }

  private func show(_ result: JSONNode, _ target: NewSecretFile?) throws(CommandFailure) {
    if json, target == nil {
      Output.answer(json: result.raw)
      return try Output.checkAnswer()
    }
    guard let secret = result["secret"], secret.kind == .string, let grant = result["grant"]?.string else {
      throw .notUnderstood
    }
    try Output.secretLine(secret, to: target?.descriptor)
    try target?.finish()
    if json { return Self.answerWithoutSecret(result) }
    let end =
      result["expiresAt"]?.string.flatMap { Moment($0) }.map { "ends \($0.relative)" } ?? "does not expire"
    let place = file.map { " Its secret is in \($0)." } ?? " Its secret is shown only once."
    Output.note(Text.shown("Grant \(grant) for \(client) \(end).\(place)"))
  }
}

extension GrantCreate {
  /// The secret went into a file.
  fileprivate static func answerWithoutSecret(_ result: JSONNode) {
    var writer = JSONWriter()
    writer.beginObject()
    for (name, value) in result.members where !name.isText("secret") {
      writer.key(name.string ?? "")
      writer.raw(value.raw)
    }
    writer.endObject()
    writer.withBytes { Output.answer(json: $0) }
  }
}

/// A duration with its unit: `90s`, `15m`, `12h`, `7d`.
struct Lifetime: ExpressibleByArgument {
  let seconds: Int64

  /// The agent's limit.
  private static let longestSeconds: Int64 = 366 * 86_400

  init?(argument: String) {
    guard let length = DurationArgument.seconds(argument), (1...Self.longestSeconds).contains(Int64(length)) else {
      return nil
    }
    seconds = Int64(length)
  }
}
