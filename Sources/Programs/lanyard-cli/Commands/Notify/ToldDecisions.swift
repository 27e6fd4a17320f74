import CommandSupport
import JSONRPC

/// What waits for a person's yes, and of which the person was told.
struct ToldDecisions {
  private let desktop: DesktopNotifications
  private var told: [(decision: WaitingDecision, number: UInt32)] = []

  /// More at once would bury the desktop: the next one is told of when one of these is over.
  private static let mostTold = 8
  /// More access by one click ends by itself.
  private static let accessSeconds = 3_600

  private enum Choice: String, CaseIterable {
    case allow, deny

    func label(for kind: WaitingDecision.Kind) -> String {
      switch (self, kind) {
      case (.deny, _): "Deny"
      case (.allow, .request): "Allow once"
      case (.allow, .access): "Allow for an hour"
      }
    }
  }

  init(desktop: DesktopNotifications) { self.desktop = desktop }

  /// Tells of what waits, and takes back what was decided elsewhere or has ended.
  mutating func update(via agent: inout AgentConnection) throws(CommandFailure) {
    guard let waiting = try Self.waiting(via: &agent) else { return }
    for (decision, number) in told where waiting.named(decision.id) == nil {
      desktop.close(number)
      told.removeAll { $0.number == number }
    }
    let new = waiting.all.filter { decision in !told.contains { $0.decision.id == decision.id } }
    guard !new.isEmpty, told.count < Self.mostTold else { return }
    let accounts = DecisionAccounts(via: &agent)
    let hasActions = desktop.hasActions
    for decision in new.prefix(Self.mostTold - told.count) {
      told.append((decision, try show(decision, as: accounts.label(of: decision), hasActions: hasActions)))
    }
  }

  /// Nil for a program whose grant does not let it decide.
  private static func waiting(via agent: inout AgentConnection) throws(CommandFailure) -> WaitingDecisions? {
    do throws(CommandFailure) {
      return try WaitingDecisions.now(via: &agent)
    } catch {
      guard error.name == "notPermitted" else { throw error }
      return nil
    }
  }

  private func show(
    _ decision: WaitingDecision, as label: String?, hasActions: Bool
  ) throws(CommandFailure) -> UInt32 {
    let asks = decision.kind == .request ? "asks for your yes" : "asks for more access"
    // No action is the default one: a click that only wants to see the notification is no yes.
    let actions =
      hasActions
      ? Choice.allCases.map { DesktopNotifications.Action(key: $0.rawValue, label: $0.label(for: decision.kind)) } : []
    let command =
      hasActions
      ? "" : " `lanyard approvals allow \(decision.id)` says yes, `lanyard approvals deny \(decision.id)` no."
    return try desktop.show(
      title: Text.shown("\(decision.client) \(asks)"), text: Text.shown("\(decision.wish(as: label)).\(command)"),
      actions: actions)
  }

  /// Gives the verdict of a button. A notification that another program made has no number here.
  mutating func decide(
    afterChoiceOf number: UInt32, _ action: String, via agent: inout AgentConnection
  ) throws(CommandFailure) {
    guard let index = told.firstIndex(where: { $0.number == number }), let choice = Choice(rawValue: action) else {
      return
    }
    let decision = told[index].decision
    do throws(CommandFailure) {
      _ = try verdict(choice, for: decision).send(decision, via: &agent)
    } catch {
      switch error.name {
      case "stepUpRequired": confirm(decision)
      // Decided elsewhere, or over: `update` takes the notification away.
      case "notFound": break
      default:
        // The service has closed the notification; it waits on, and is told of again.
        guard error.wire != nil else { throw error }
        told.remove(at: index)
        Output.tell(error, json: false)
      }
    }
  }

  private func verdict(_ choice: Choice, for decision: WaitingDecision) -> Verdict {
    switch (choice, decision.kind) {
    case (.deny, _): .deny
    case (.allow, .request): .allow
    case (.allow, .access): .allowFor(seconds: Self.accessSeconds)
    }
  }

  /// Another process asks for the PIN, so that this one goes on telling.
  private func confirm(_ decision: WaitingDecision) {
    guard let lanyard = AgentPaths.companion("lanyard"),
      DetachedProgram.start(lanyard, ["approvals", "allow", decision.id, "--pinentry"])
    else { return Output.warning("The PIN could not be asked for.") }
  }
}
