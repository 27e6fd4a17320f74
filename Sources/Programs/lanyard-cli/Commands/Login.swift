import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard login`
struct Login: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Sign in.",
    discussion: """
      Opens the provider's page in your browser and waits until you have signed in there. Ctrl-C gives up; nothing is \
      left behind. With --json, what signIn.begin answered goes to stderr on one line, and the account to stdout.

      EXAMPLES:
        lanyard login                   # the only provider there is
        lanyard login idp --alias work
        lanyard login idp --device      # elsewhere: a code to scan or enter
        lanyard login idp --paste       # a browser elsewhere: paste where it ended
        lanyard login --account work    # sign this account in again
        lanyard login idp --import      # a refresh token: typed unseen, or piped
        lanyard login idp --import FILE # the same, from a file

      --import takes over the refresh token of another program. It is used once at once, so that only the agent can go \
      on with it; where the provider rotates tokens, the other program's session ends. If the provider refuses it, \
      nothing is kept. It is never given as an argument: other programs could read it there. Delete the file afterwards.
      """)

  @Argument(help: "The provider; may be left out if there is one.", completion: .providers)
  var provider: String?

  @Argument(help: "With --import: the file that the refresh token is in; - is stdin.", completion: .file())
  var file: String?

  @Flag(name: .long, help: "Show a code to enter on any device.")
  var device = false

  @Flag(name: .long, help: "Show an address; then paste the one to which the browser was sent back.")
  var paste = false

  @Flag(name: .long, help: "Show the address instead of opening it.")
  var noBrowser = false

  @Flag(name: .customLong("import"), help: "Take over the refresh token of another program.")
  var isImport = false

  @Option(name: .long, help: "A short name for the account.")
  var alias: String?

  @Option(name: [.customShort("s"), .long], help: "A scope to ask for; may be given again.")
  var scope: [String] = []

  @OptionGroup var common: CommonOptions

  func validate() throws {
    if device && paste { throw ValidationError("--device and --paste are two ways; choose one.") }
    if file != nil && !isImport { throw ValidationError("Only --import reads a file. Name one provider.") }
    guard isImport else { return }
    if device || paste || noBrowser { throw ValidationError("--import needs no page and no code; choose one way.") }
    if !scope.isEmpty { throw ValidationError("A refresh token has its scopes; -s does not go with --import.") }
    if common.account != nil {
      throw ValidationError("An import finds its account by who the token belongs to; --account does not go with it.")
    }
  }

  func run() throws {
    var agent = try common.connect()
    let provider = try chosenProvider(over: &agent)
    let id: String
    if isImport {
      id = try ImportedToken(provider: provider, alias: alias, file: file).handOver(to: &agent)
    } else {
      id = try signIn(at: provider, over: &agent)
    }
    let account = try AccountInfo.named(id, over: &agent)
    guard !common.json else { return Output.answer(account.json) }
    let tenant = account.tenant.map { ", tenant \($0)" } ?? ""
    Output.answer(
      Text.shown("Signed in: \(account.person) at \(account.provider)\(tenant), account \(account.label)."))
  }

  private func signIn(at provider: String, over agent: inout AgentConnection) throws(CommandFailure) -> String {
    let job = SignIn.SignInRequest(
      provider: provider, flow: device ? .device : paste ? .paste : .browser,
      opensBrowser: !noBrowser, isForPrograms: common.json,
      scopes: scope.flatMap { $0.split(separator: " ").map(String.init) },
      account: common.account, alias: alias)
    return try SignIn(request: job).run(over: &agent)
  }

  private func chosenProvider(over agent: inout AgentConnection) throws(CommandFailure) -> String {
    if let provider { return provider }
    if let account = common.account { return try AccountInfo.named(account, over: &agent).provider }
    let providers = try ProviderInfo.all(over: &agent)
    switch providers.count {
    case 1: return providers[0].name
    case 0:
      throw CommandFailure(
        .usage, name: "providerNotFound", "No provider is configured, so there is nowhere to sign in.",
        hints: Presets.hints)
    default:
      throw .usage(
        "There are \(providers.count) providers. Name the one to sign in at.",
        hints: providers.map { "\($0.name)  \($0.issuer)" })
    }
  }
}
