import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard notify`
struct Notify: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show a desktop notification when an account or an AI agent needs you, until Ctrl-C.",
    discussion: """
      What waits for your yes (`lanyard approvals`) gets one with the buttons Allow and Deny, until it is decided. Where \
      the policy wants a step-up for a yes, the agent then asks for your PIN in its own window.

      The notification has an action that begins the sign-in. Each account gets one, until it works again or needs \
      something else. While a program asks for a sign-in whose page it shows itself, that gets one, too. `systemctl \
      --user enable lanyard-notify` runs this beside the agent.
      """)

  @Flag(help: "Show notifications for what needs you now, and exit.")
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
    var requested = RequestedSignIns(desktop: desktop)
    var decisions = ToldDecisions(desktop: desktop)
    while true {
      try told.update(AccountInfo.all(via: &agent))
      try decisions.update(via: &agent)
      try requested.update(via: &agent)
      if once { return }
      while let requests = try events.event({ RequestedSignIn($0).map { [$0] } ?? [] }) {
        for request in requests { try requested.tell(request) }
      }
      let chosen = try desktop.chosen()
      if !chosen.isEmpty {
        for (number, action) in chosen {
          if ToldAccounts.actions.contains(where: { $0.key == action }) { told.signIn(afterChoiceOf: number) }
          try decisions.decide(afterChoiceOf: number, action, via: &agent)
        }
        continue
      }
      let patience = requested.isEmpty ? -1 : RequestedSignIns.intervalMilliseconds
      switch try events.wait(interruption: interruption, milliseconds: patience, orReadable: desktop.descriptor) {
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

  /// A click on the notification, and its button.
  static let actions = ["default", "sign-in"].map { DesktopNotifications.Action(key: $0, label: "Sign in") }

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
        text: Text.shown("\(account.person) at \(account.provider). \(text)"), actions: Self.actions)
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
    if !DetachedProgram.start(lanyard, ["login", "--account", account]) {
      Output.warning("The sign-in could not begin.")
    }
  }

  private static func text(for state: String) -> String? {
    switch state {
    case "reauthenticationRequired": "Its session has ended. Programs get no tokens until you sign in again."
    case "interactionRequired": "The provider demands that you sign in. Programs get no tokens until then."
    default: nil
    }
  }
}
