import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard grant create`
struct GrantCreate: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create", abstract: "Make a grant, and print its secret, which is told this once.")

  @Argument(help: "What you call the program.")
  var client: String

  @Option(
    name: [.customShort("m"), .customLong("method")],
    help: ArgumentHelp(
      "A method that it may call: token.get, all of a name space: token.*, or *. May be given several times.",
      valueName: "method"))
  var methods: [String]

  @Option(
    name: [.customShort("u"), .customLong("account")],
    help: ArgumentHelp(
      "An account that it may speak for. May be given several times; the active one, if left out.",
      valueName: "account"),
    completion: .accounts)
  var accounts: [String] = []

  @Option(
    name: .customLong("expires-in"),
    help: ArgumentHelp("When it ends by itself: 90s, 15m, 12h, 7d. Never, if left out.", valueName: "time"))
  var lifetime: Lifetime?

  @Option(
    name: .customLong("to"),
    help: ArgumentHelp("Write the secret to a new file that only you can read.", valueName: "file"), completion: .file()
  )
  var file: String?

  @Flag(name: .long, help: "Print the answer as JSON on one line; errors go to stderr as JSON.")
  var json = false

  @Flag(name: .long, help: "Fail if no agent runs, instead of starting one.")
  var noStart = false

  func validate() throws {
    if methods.isEmpty { throw ValidationError("Name at least one method by -m: what the program may do.") }
    if json, file != nil { throw ValidationError("--json prints the secret, --to writes it to a file. Choose one.") }
  }

  func run() throws {
    let selection = try AccountSelection.choose(argument: accounts.first)
    let accounts = accounts.isEmpty ? [selection.selector] : accounts
    // Before the grant is made: its secret is told once.
    let target = try file.map { (path) throws(CommandFailure) in try NewSecretFile(path) }
    var agent = try Agent.connect(mayStart: !noStart)
    do throws(CommandFailure) {
      try agent.call("grant.create") { writer in
        writer.member("client", client)
        writer.member("accounts", accounts)
        writer.member("methods", methods)
        if let lifetime {
          writer.key("expiresInSeconds")
          writer.integer(lifetime.seconds)
        }
      } result: { (result) throws(CommandFailure) in
        try show(result, target)
      }
    } catch {
      target?.abandon()
      throw error
    }
  }

  private func show(_ result: JSONNode, _ target: NewSecretFile?) throws(CommandFailure) {
    if json { return Output.answer(json: result.raw) }
    guard let secret = result["secret"], secret.kind == .string, let grant = result["grant"]?.string else {
      throw .notUnderstood
    }
    try Output.secretLine(secret, to: target?.descriptor)
    try target?.finish()
    let end =
      result["expiresAt"]?.string.flatMap { Moment($0) }.map { "ends \($0.relative)" } ?? "does not end by itself"
    let place = file.map { " Its secret is in \($0)." } ?? " Its secret is told this once."
    Output.note(Text.shown("Grant \(grant) for \(client) \(end).\(place)"))
  }
}

/// A length of time with its unit: `90s`, `15m`, `12h`, `7d`.
struct Lifetime: ExpressibleByArgument {
  let seconds: Int64

  /// A year and a day, as the agent bounds it.
  private static let longestSeconds: Int64 = 366 * 86_400

  init?(argument: String) {
    let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
    guard let unit = argument.last.flatMap({ units[$0] }), let count = Int64(argument.dropLast()), count > 0,
      count <= Self.longestSeconds, count * unit <= Self.longestSeconds
    else { return nil }
    seconds = count * unit
  }
}
