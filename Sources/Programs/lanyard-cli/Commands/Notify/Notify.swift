import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard notify`
struct Notify: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Tell you on the desktop when an account needs you, until Ctrl-C.",
    discussion: """
      The notification has an action that begins the sign-in. Each account is told of once until it works again or needs \
      something else. A program that asks for a sign-in and shows its address itself is told of, too. `systemctl --user enable lanyard-notify` runs this beside the agent.
      """)

  @Flag(help: "Tell of the accounts that need you now, and end.")
  var once = false

  @OptionGroup var common: CommonOptions

  func run() throws {
    let interruption = try Interruption()
    let desktop = try DesktopNotifications()
    // Two connections: a call drops events that arrive before its answer.
    var events = try common.connect()
    var agent = try common.connect()
    try events.perform("event.subscribe")
    var told = ToldAccounts(desktop: desktop)
    while true {
      try told.update(AccountInfo.all(via: &agent))
      if once { return }
      while let asked = try events.event(RequestedSignIn.init) {
        if let asked = asked { try desktop.tell(of: asked) }
      }
      let numbers = try desktop.chosen()
      if !numbers.isEmpty {
        for number in numbers { told.signIn(afterChoiceOf: number) }
        continue
      }
      switch try events.wait(interruption: interruption, milliseconds: -1, orReadable: desktop.descriptor) {
      case .interrupted: throw Interruption.failure
      case .bytes, .timeout, .other: break
      }
    }
  }
}

/// The accounts that the person was told of.
struct ToldAccounts {
  private let desktop: DesktopNotifications
  private var told: [String: (state: String, number: UInt32)] = [:]

  init(desktop: DesktopNotifications) { self.desktop = desktop }

  /// Tells of each account whose state changed to one that needs the person, and takes back what is over.
  mutating func update(_ accounts: [AccountInfo]) throws(CommandFailure) {
    var present: Set<String> = []
    for account in accounts {
      guard let text = Self.text(for: account.state) else { continue }
      present.insert(account.id)
      guard told[account.id]?.state != account.state else { continue }
      if let earlier = told[account.id] { desktop.close(earlier.number) }
      let number = try desktop.show(
        title: Text.shown("\(account.label): \(AccountInfo.words(ofState: account.state))"),
        text: Text.shown("\(account.person) at \(account.provider). \(text)"), actionLabel: "Sign in")
      told[account.id] = (account.state, number)
    }
    for (id, entry) in told where !present.contains(id) {
      desktop.close(entry.number)
      told[id] = nil
    }
  }

  /// Begins the sign-in of the account whose notification was chosen.
  func signIn(afterChoiceOf number: UInt32) {
    guard let account = told.first(where: { $0.value.number == number })?.key else { return }
    guard let lanyard = AgentPaths.companion("lanyard") else { return }
    if !DetachedProgram.start(lanyard, ["login", "--account", account]) { Output.warning("The sign-in can't begin.") }
  }

  private static func text(for state: String) -> String? {
    switch state {
    case "reauthenticationRequired": "Its session has ended. Programs get no tokens until you sign in again."
    case "interactionRequired": "The provider wants you. Programs get no tokens until you sign in again."
    default: nil
    }
  }
}

/// A sign-in that another program began and asks the person to complete (`signIn.requested`).
private struct RequestedSignIn {
  let client: String
  let provider: String

  /// Nil if the event is another one.
  init?(_ event: JSONNode) {
    guard event["type"]?.isText("signIn.requested") == true, let data = event["data"],
      let provider = data["provider"]?.string
    else { return nil }
    self.provider = provider
    client = data["client"]?.string ?? "A program"
  }
}

extension DesktopNotifications {
  /// Without an action: only the program that began the sign-in has its address.
  fileprivate func tell(of asked: RequestedSignIn) throws(CommandFailure) {
    _ = try show(
      title: Text.shown("\(asked.client) asks you to sign in"),
      text: Text.shown("At \(asked.provider). The program shows the address of the page."))
  }
}
