import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard account`
struct AccountCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "account", abstract: "Settings of an account on this desktop.",
    discussion: """
      EXAMPLES:
        lanyard account set work --browser 'firefox -P work'
        lanyard account set work --unit backup.service    # see credential systemd
        lanyard account show work
        lanyard account set work --browser ''    # the usual browser again
      """,
    subcommands: [AccountShow.self, AccountSet.self], defaultSubcommand: AccountShow.self)
}

/// `lanyard account set`
struct AccountSet: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Choose the browser of an account, or the systemd units that get its token.")

  @Argument(help: "The account: its alias, e-mail address, name or id.", completion: .accounts)
  var account: String?

  @Option(help: ArgumentHelp("The browser's command; empty for the usual browser.", valueName: "command"))
  var browser: String?

  @Option(
    help: ArgumentHelp(
      "A unit that gets a token of this account, and no other unit; may be repeated. Empty for none.",
      valueName: "unit"))
  var unit: [String] = []

  @OptionGroup var common: CommonOptions

  func validate() throws {
    if browser == nil, unit.isEmpty { throw ValidationError("There is nothing to set. Give --browser or --unit.") }
    if let browser, !browser.isEmpty, !Browser.canOpen(browser) {
      throw ValidationError("The program \(Text.shown(browser)) of --browser was not found.")
    }
    for name in unit where !name.isEmpty {
      guard !name.contains("/"), name.contains(".") else {
        throw ValidationError("\(Text.shown(name)) is not a unit such as NAME.service.")
      }
    }
  }

  func run() throws {
    let selection = try AccountSelection.choose(argument: account, option: common.account)
    var agent = try common.connect()
    let known = try AccountInfo.named(selection, via: &agent)
    var settings = try AccountSettings()
    if let browser { settings.set(browser: browser.isEmpty ? nil : browser, of: known.id) }
    if !unit.isEmpty { settings.set(units: unit.filter { !$0.isEmpty }, of: known.id) }
    try settings.write()
    guard common.json || !Output.isQuiet else { return }
    AccountShow.tell(known, settings, json: common.json)
  }
}

/// `lanyard account [show]`
struct AccountShow: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "show", abstract: "Show the settings of an account.")

  @Argument(help: "The account: its alias, e-mail address, name or id.", completion: .accounts)
  var account: String?

  @OptionGroup var common: CommonOptions

  func run() throws {
    let selection = try AccountSelection.choose(argument: account, option: common.account)
    var agent = try common.connect()
    let known = try AccountInfo.named(selection, via: &agent)
    try Self.tell(known, AccountSettings(), json: common.json)
  }

  static func tell(_ account: AccountInfo, _ settings: AccountSettings, json: Bool) {
    let browser = settings.browsers[account.id]
    let units = settings.units(of: account.id)
    guard !json else {
      var writer = JSONWriter()
      writer.beginObject()
      writer.member("account", account.id)
      writer.member("browser", browser)
      writer.member("units", ifAny: units)
      writer.endObject()
      return writer.withBytes { Output.answer(json: $0) }
    }
    let opens =
      switch account.kind {
      case "secret": "has a key or a password, which needs no browser"
      case "client": "is the account of a machine, which needs no browser"
      default: "signs in with " + (browser.map { "the browser `\($0)`" } ?? "the usual browser")
      }
    Output.answer(text: Text.shown("\(account.label) \(opens)."))
    for unit in units { Output.answer(text: Text.shown("\(unit) gets its token.")) }
  }
}
