import AgentCore
import AgentModel
import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard login`
struct Login: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Sign in.",
    discussion: """
      Opens the provider's page in your browser and waits until you have signed in there. Ctrl-C cancels the sign-in. \
      With --json, the page to open goes to stderr as JSON on one line, and the account to stdout.

      Without --alias a new account is called after its provider; `lanyard rename` gives it another name.

      EXAMPLES:
        lanyard login                   # if there is only one provider
        lanyard login idp --alias work
        lanyard login idp --device      # on any device: scan or enter a code
        lanyard login idp --paste       # a browser elsewhere: paste its address
        lanyard login --account work    # sign this account in again
        lanyard login -u work --acr mfa --max-age 300   # as a server demands it
        lanyard login bank --details @payment.json   # rights in detail (RFC 9396)
        lanyard login openai            # asks for the key of a service
        lanyard login openai --key-file ~/key --expires 2030-06-30
        lanyard login robot             # a machine identity: nothing is asked
        lanyard login idp --import      # a refresh token, typed or piped
        lanyard login idp --import FILE # a refresh token from a file

      A service that `lanyard provider presets` lists with keys is added by its first sign-in. The key is not shown when \
      it is typed. It is kept only if the service takes it, where it can be asked.

      --import takes over the refresh token of another program. The agent uses the token at once. If the provider \
      rotates refresh tokens, this ends the session of the other program. If the provider refuses the token, the agent \
      keeps nothing. Never type the token as an argument: other programs could read it. Delete the file afterwards.
      """)

  @Argument(help: "The provider. Not needed if there is only one.", completion: .providers)
  var provider: String?

  @Argument(help: "With --import: the file of the refresh token; - reads stdin.", completion: .file())
  var file: String?

  @Flag(name: .long, help: "Sign in on any device, with a code.")
  var device = false

  @Flag(name: .long, help: "Show the page's address, then ask for the address where the browser ended.")
  var paste = false

  @Flag(name: .long, help: "Show the page's address and do not open it.")
  var noBrowser = false

  @Option(
    name: .long,
    help: ArgumentHelp("Open the page with this program instead of $BROWSER or xdg-open.", valueName: "command"))
  var browser: String?

  @Option(name: .long, help: .hidden)
  var hintAfter = 20

  @Flag(name: .customLong("import"), help: "Take over the refresh token of another program.")
  var isImport = false

  @Option(name: .long, help: "A short name for the account.")
  var alias: String?

  @Option(
    name: [.customShort("s"), .long],
    help: "A scope to request; may be repeated. With --account: beside those that the account has.")
  var scope: [String] = []

  @Option(
    name: .customLong("acr"),
    help: ArgumentHelp("An authentication context that a server demands; may be repeated.", valueName: "value")
  )
  var acrValues: [String] = []

  @Option(
    name: .customLong("max-age"),
    help: ArgumentHelp("Sign in again at the provider if the last time is longer ago.", valueName: "seconds"))
  var maxAge: Int?

  @Option(
    name: .long,
    help: ArgumentHelp("The claims that a server demands, as its challenge gives them.", valueName: "claims"))
  var claims: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Rights in detail, a JSON array. With --account and without this option: those of its last sign-in.",
      valueName: "json|@file"))
  var details: String?

  @Option(name: .long, help: "With a key or password: the user name that goes with it.")
  var username: String?

  @OptionGroup var secret: SecretOptions
  @OptionGroup var common: CommonOptions

  private var isForSecret: Bool { username != nil || secret.keyFile != nil || secret.expires != nil }

  func validate() throws {
    if isForSecret, device || paste || isImport {
      throw ValidationError("A key is not signed in with. Leave out --device, --paste and --import.")
    }
    if browser != nil, device || paste || noBrowser || isImport {
      throw ValidationError("--browser opens a page. Leave out --device, --paste, --no-browser and --import.")
    }
    if let browser, !Browser.canOpen(browser) {
      throw ValidationError("The program \(Text.shown(browser)) of --browser was not found.")
    }
    if device && paste { throw ValidationError("Choose --device or --paste, not both.") }
    if let maxAge, maxAge < 0 { throw ValidationError("The age can't be negative.") }
    if device, !acrValues.isEmpty || maxAge != nil || claims != nil {
      throw ValidationError("A code on another device can't ask for --acr, --max-age or --claims. Leave out --device.")
    }
    if file != nil && !isImport { throw ValidationError("Only --import reads a file. Name one provider.") }
    guard isImport else { return }
    if device || paste || noBrowser {
      throw ValidationError("--import opens no page. Leave out --device, --paste and --no-browser.")
    }
    if details != nil { throw ValidationError("A refresh token already has its rights. Leave out --details.") }
    if !acrValues.isEmpty || maxAge != nil || claims != nil {
      throw ValidationError("--import opens no page. Leave out --acr, --max-age and --claims.")
    }
    if !scope.isEmpty { throw ValidationError("A refresh token already has scopes. Leave out --scope.") }
    if common.account != nil {
      throw ValidationError("The refresh token decides the account. Leave out --account.")
    }
  }

  func run() throws {
    var agent = try common.connect()
    let provider = try chosenProvider(via: &agent)
    let before = (try? AccountInfo.all(via: &agent)) ?? []
    let id: String
    do throws(CommandFailure) {
      if let machine = try machine(at: provider, via: &agent) {
        id = try machine.add(via: &agent)
      } else if let given = try givenSecret(at: provider, via: &agent) {
        id = given
      } else if isImport {
        id = try ImportedToken(provider: provider, alias: alias, file: file, json: common.json).handOver(to: &agent)
      } else {
        id = try signIn(at: provider, via: &agent)
      }
    } catch {
      throw alias.map { error.explaining(alias: $0, via: &agent) } ?? error
    }
    let admitted = try AccountInfo.named(id, via: &agent)
    let isNew = !before.contains { $0.id == id && !$0.isErased }
    let account =
      admitted.alias == nil && isNew ? ProposedAlias.give(to: admitted, among: before, via: &agent) : admitted
    guard !common.json else { return Output.answer(json: account.json) }
    let tenant = account.tenant.map { ", tenant \($0)" } ?? ""
    Output.done(
      Text.shown("Signed in: \(account.person) at \(account.provider)\(tenant), account \(account.label)."))
    if let old = before.first(where: { $0.id == id })?.alias, old != account.alias {
      Output.done(Text.shown("Renamed: \(old) is \(account.label) now."))
    }
    if account.isOfUnknownPerson {
      Output.note(
        Text.shown("\(account.provider) was not asked about the key: its first request shows whether it is good."))
    }
    guard admitted.alias == nil, Terminal.showsNotes else { return }
    let proposed = ProposedAlias.proposed(account, among: before) ?? "NEW"
    let what = account.alias == nil ? "a short name" : "another name"
    Output.note(Text.shown("Give it \(what): `lanyard rename \(account.label) \(proposed)`."))
  }

  /// The machine identity that the provider's account is; nil for any other provider.
  private func machine(at provider: String, via agent: inout AgentConnection) throws(CommandFailure) -> MachineAccount?
  {
    guard try ProviderInfo.named(provider, via: &agent)?.kind == "client" else { return nil }
    let isForPerson =
      device || paste || noBrowser || isImport || isForSecret || !scope.isEmpty || !acrValues.isEmpty || maxAge != nil
      || claims != nil || details != nil || browser != nil
    guard !isForPerson else {
      throw .usage("\(provider) is for a machine, which signs in by itself: --alias is all that it takes.")
    }
    return MachineAccount(provider: provider, alias: alias)
  }

  /// Takes a key, where the provider's accounts hold keys; returns the account. Nil for any other provider: an unknown one
  /// is told by the sign-in.
  private func givenSecret(at provider: String, via agent: inout AgentConnection) throws(CommandFailure) -> String? {
    let known = try ProviderInfo.named(provider, via: &agent)
    let service = known == nil ? CatalogueEntry.named(provider) : nil
    guard known?.kind == "secret" || service?.kind == .secret else {
      guard !isForSecret || known == nil else {
        throw .usage("\(provider) has a page to sign in at. Leave out --key-file, --username and --expires.")
      }
      return nil
    }
    if device || paste || isImport {
      throw .usage("\(provider) takes a key: leave out --device, --paste and --import. Nothing was changed.")
    }
    if !scope.isEmpty || !acrValues.isEmpty || maxAge != nil || claims != nil || details != nil {
      throw .usage(
        "\(provider) takes a key, which has what it was made for: leave out --scope and the like. Nothing was changed.")
    }
    let account = try common.namedAccount(via: &agent)
    if account != nil, alias != nil || username != nil {
      throw .usage("An account that is there keeps its names. Leave out --alias and --username.")
    }
    let keys = try KeyProvider(known, orOf: service, via: &agent)
    let page = common.json ? nil : KeyPage(of: keys.info, isOpened: !noBrowser, browser: browser)
    do throws(CommandFailure) {
      return try GivenSecret(
        provider: keys.info, account: account, alias: alias, username: username, options: secret, page: page
      ).handOver(to: &agent)
    } catch {
      keys.takeBack(via: &agent)
      throw error
    }
  }

  private func signIn(at provider: String, via agent: inout AgentConnection) throws(CommandFailure) -> String {
    var scopes = scope.flatMap { $0.split(separator: " ").map(String.init) }
    let account = try common.namedAccount(via: &agent)
    if !scopes.isEmpty, let account {
      let known = try agent.call("session.get", params: { $0.member("account", account) }) { result in
        result["scopes"].map { $0.elements.compactMap(\.string) } ?? []
      }
      scopes += known.filter { !scopes.contains($0) }
    }
    let ownBrowser = if let account { try settled(browserOf: account, via: &agent) } else { String?.none }
    let job = SignIn.SignInRequest(
      provider: provider, flow: device ? .device : paste ? .paste : .browser,
      opensBrowser: !noBrowser, isForPrograms: common.json,
      scopes: scopes, account: account, alias: alias, acrValues: acrValues, maxAgeSeconds: maxAge,
      claims: claims,
      details: try details.map { (argument) throws(CommandFailure) in try DetailsArgument.read(argument) },
      browser: browser ?? ownBrowser,
      hintAfterSeconds: hintAfter)
    return try SignIn(request: job).run(via: &agent)
  }

  /// The browser that `lanyard account set` chose, if it is still there.
  private func settled(
    browserOf account: String, via agent: inout AgentConnection
  ) throws(CommandFailure) -> String? {
    guard !device, !paste, !noBrowser else { return nil }
    let id = try AccountInfo.named(account, via: &agent).id
    let settings: AccountSettings
    do throws(CommandFailure) {
      settings = try AccountSettings()
    } catch {
      Output.warning("\(error.message) The usual browser is used.")
      return nil
    }
    guard let command = settings.browsers[id] else { return nil }
    if Browser.canOpen(command) { return command }
    Output.warning("The browser of this account, \(Text.shown(command)), can't be found. The usual one is used.")
    return nil
  }

  private func chosenProvider(via agent: inout AgentConnection) throws(CommandFailure) -> String {
    if let provider { return provider }
    if let account = try common.namedAccount(via: &agent) {
      return try AccountInfo.named(account, via: &agent).provider
    }
    let providers = try ProviderInfo.all(via: &agent)
    switch providers.count {
    case 1: return providers[0].name
    case 0:
      throw CommandFailure(
        .usage, name: "providerNotFound", "No provider is configured.",
        hints: Presets.hints)
    default:
      throw .usage(
        "There are \(providers.count) providers. Name one.",
        hints: providers.map { "\($0.name)  \($0.issuer)" })
    }
  }
}
