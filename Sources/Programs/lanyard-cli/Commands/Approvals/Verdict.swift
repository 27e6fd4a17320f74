import CommandSupport
import JSONRPC

/// What a person decides.
enum Verdict: Equatable {
  /// This request alone; for access: until the grant ends.
  case allow
  /// A request, and those of its capability under this grant from now on.
  case allowSession
  /// Access, for so long.
  case allowFor(seconds: Int)
  case deny

  /// `verdict` of `approval.decide` or `access.decide`.
  private func word(for kind: WaitingDecision.Kind) -> String {
    switch (self, kind) {
    case (.deny, _): "deny"
    case (.allowSession, .request): "session"
    case (_, .request): "once"
    case (_, .access): "allow"
    }
  }

  /// Tells the agent.
  ///
  /// Where the policy wants a step-up for a yes, the PIN is asked for first: on the terminal, or in the agent's own prompt.
  ///
  /// - Parameter pinentry: asks in the agent's own prompt also without a terminal.
  /// - Returns: the agent's answer as JSON.
  func give(
    _ decision: WaitingDecision, pinentry: Bool = false, via agent: inout AgentConnection
  ) throws(CommandFailure) -> String {
    do throws(CommandFailure) {
      return try send(decision, via: &agent)
    } catch {
      guard error.name == "stepUpRequired", pinentry || Terminal.canAsk, let account = error.account ?? decision.account
      else {
        throw error.explaining(decision, via: &agent)
      }
      if Terminal.canAsk { Output.instruction("The policy wants a confirmation that it is you.") }
      // A step-up of this method is typed in the agent's own prompt.
      try StepUp.confirm(
        account, asking: "PIN (not shown): ", pinentry: pinentry || decision.stepUp == "pinentry", via: &agent)
    }
    do throws(CommandFailure) {
      return try send(decision, via: &agent)
    } catch {
      throw error.explaining(decision, via: &agent)
    }
  }

  /// Tells the agent, without a step-up.
  func send(_ decision: WaitingDecision, via agent: inout AgentConnection) throws(CommandFailure) -> String {
    let isRequest = decision.kind == .request
    return try agent.call(isRequest ? "approval.decide" : "access.decide") { writer in
      isRequest ? writer.member("approval", decision.id) : writer.member("request", decision.id)
      writer.member("verdict", word(for: decision.kind))
      if case .allowFor(let seconds) = self { writer.member("expiresInSeconds", seconds) }
    } result: {
      $0.text
    }
  }

  /// What the person did, for the person.
  func words(for kind: WaitingDecision.Kind) -> String {
    switch (self, kind) {
    case (.deny, .request): "Denied. The program is told so; the same request is not asked again for a minute."
    case (.deny, .access): "Denied. The grant stays as it is."
    case (.allowSession, _): "Allowed, and such requests of this account too, until the grant or the agent ends."
    case (_, .request): "Allowed once."
    case (.allowFor(let seconds), .access): "Allowed for \(Moment.spelledOut(seconds))."
    case (.allow, .access): "Allowed, until the grant ends."
    }
  }
}

extension CommandFailure {
  /// What is not there any more was decided elsewhere, or has ended.
  static func decided(_ id: String) -> CommandFailure {
    CommandFailure(
      .other, name: "notFound",
      "\(id) does not wait any more: it was decided elsewhere, its time is over, or the program gave up.",
      hints: ["`lanyard approvals` shows what waits."])
  }

  /// For an id of which nothing waits.
  ///
  /// - Parameter others: what waits.
  static func notWaiting(_ id: String, among others: [WaitingDecision]) -> CommandFailure {
    let meant = others.map(\.id).filter { !id.isEmpty && $0.hasPrefix(id) }
    guard !meant.isEmpty else { return decided(id) }
    return .usage("\(id) is not a whole id. Nothing was decided.", hints: meant.map { "Did you mean \($0)?" })
  }

  fileprivate func explaining(_ decision: WaitingDecision, via agent: inout AgentConnection) -> CommandFailure {
    switch name {
    case "notFound":
      var told = Self.decided(decision.id)
      told.wire = wire
      return told
    case "originNotAllowed":
      guard let account, let provider = try? AccountInfo.named(account, via: &agent).provider,
        let listed = ProviderAllowance(of: provider, via: &agent)
      else { return self }
      return listed.explaining(self, of: decision.origins, so: "nothing was allowed, and the wish still waits") ?? self
    default: return self
    }
  }
}
