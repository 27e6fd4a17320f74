import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard login`
struct Login: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Sign in.",
    discussion: """
      Opens the provider's page in your browser and waits until you have signed in there. Ctrl-C gives up; nothing is
      left behind. With --json, what signIn.begin answered goes to stderr on one line, and the account to stdout.

      EXAMPLES:
        lanyard login                   # the only provider there is
        lanyard login idp --alias work
        lanyard login idp --device      # no browser here: scan a code, or enter one, on another device
        lanyard login idp --paste       # a browser elsewhere: paste the address with which it was left
        lanyard login --account work    # sign this account in again
      """)

  @Argument(help: "The provider; may be left out if there is one.", completion: .providers)
  var provider: String?

  @Flag(name: .long, help: "Show a code to enter on any device.")
  var device = false

  @Flag(name: .long, help: "Show an address; then paste the one to which the browser was sent back.")
  var paste = false

  @Flag(name: .long, help: "Show the address instead of opening it.")
  var noBrowser = false

  @Option(name: .long, help: "A short name for the account.")
  var alias: String?

  @Option(name: [.customShort("s"), .long], help: "A scope to ask for; may be given again.")
  var scope: [String] = []

  @OptionGroup var common: CommonOptions

  func validate() throws {
    if device && paste { throw ValidationError("--device and --paste are two ways; choose one.") }
  }

  func run() throws {
    var agent = try common.connect()
    let job = SignIn.Wish(
      provider: try chosenProvider(over: &agent), flow: device ? .device : paste ? .paste : .browser,
      opensBrowser: !noBrowser, isForPrograms: common.json,
      scopes: scope.flatMap { $0.split(separator: " ").map(String.init) },
      account: common.account, alias: alias)
    let id = try SignIn(wish: job).run(over: &agent)
    let account = try AccountInfo.named(id, over: &agent)
    guard !common.json else { return Output.answer(account.json) }
    let tenant = account.tenant.map { ", tenant \($0)" } ?? ""
    Output.answer(
      Text.shown("Signed in: \(account.person) at \(account.provider)\(tenant), account \(account.label)."))
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
