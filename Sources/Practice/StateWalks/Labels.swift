internal import AgentCore

/// The machine's values as labels of a diagram: letters, digits, commas, dots and brackets.
enum Labels {
  /// The name of an enum's case without its payload. By reflection, so that new cases have names, too; the payload is not
  /// described, which would take nine tenths of a walk.
  static func caseName<Value>(_ value: Value) -> String {
    Mirror(reflecting: value).children.first?.label ?? String(describing: value)
  }

  static func effect(_ effect: TokenMachine.Effect) -> String {
    switch effect {
    case .answer(_, _, let source): source.rawValue
    case .refuse(_, let refusal): "refuse \(caseName(refusal))"
    case .sessionExpired: "tell the person"
    case .persistHealth: "keep the health"
    case .withdrawTokens: "wipe the tokens"
    case .stateChanged: "tell the state"
    default: caseName(effect)
    }
  }

  /// The failure of an exchange. Add a new one to `Input.failures`, too.
  static func failure(_ failure: ExchangeFailure) -> String {
    switch failure {
    case .offline: "offline"
    case .untrustedServer: "untrusted server"
    case .transient(_, retryAfter: nil): "transient failure"
    case .transient: "throttled"
    case .unexplained: "unexplained refusal"
    case .unknownOutcome: "answer lost"
    case .reauthenticate: "grant refused"
    case .locked: "account disabled"
    case .interaction: "interaction wanted"
    case .misconfigured("invalid_scope"): "scope refused"
    case .misconfigured: "client refused"
    case .store: "store failed"
    }
  }

  /// The meaning of a state; the default if this table has none.
  static func phase(_ phase: String) -> String {
    switch phase {
    case "ok": "no exchange runs; a caller that needs a token begins one"
    case "refreshing": "one exchange is in flight, and all who need a token wait for it"
    case "backoff": "the provider, the way to it or our disk failed; nothing is asked before the pause is over"
    case "interaction": "the provider wants the person, for this audience"
    case "wishRefused": "the provider does not grant this scope or audience; the account goes on"
    case "unknown": "a request was sent and its answer lost; the refresh token is not sent again (I4)"
    case "replayable": "an answer was lost, and the rule allows one replay, once no pause is in the way"
    case "replaying": "the one replay is in flight"
    case "reauthenticate": "the grant is gone, as far as is known: the person has to sign in"
    case "locked": "the provider said that the account is disabled"
    case "misconfigured": "the provider refuses this client, or what it asks"
    case "rechecking": "the provider is asked whether such a refusal still stands (I5)"
    case "signedOut": "the person signed out"
    default: "a health that this table has no words for yet"
    }
  }

  /// The rules under which an input leads from one state to the other; empty if all rules with this input do.
  static func variants(
    of input: Input.Name, from: String, to: String, in steps: [Explorer.Step], by axis: (Look) -> String
  ) -> String {
    let leaving = steps.filter { $0.input == input && axis($0.from) == from }
    let going = Set(leaving.filter { axis($0.to) == to }.map(\.variant))
    guard going != Set(leaving.map(\.variant)) else { return "" }
    let names = Explorer.Variant.all.filter(going.contains).map(\.name)
    // One audience of a strict provider: of interest only where it differs from `strict`.
    let rules = names.filter { $0 != "one audience" }
    if rules.isEmpty || rules.count == Explorer.Variant.all.count - 1 {
      return rules.isEmpty ? "one audience" : "the whole grant"
    }
    return rules.joined(separator: ", ")
  }

  /// The label of an arrow: its inputs and the rules of each, a few to a line.
  static func label(_ inputs: [(input: Input.Name, variants: String)]) -> String {
    inputs.map(\.variants).withoutRepetition.map { variants in
      let names = inputs.filter { $0.variants == variants }.map(\.input)
      let asked = names.filter { $0.group == .demand }
      let texts =
        (asked.count == Subject.demands.count ? ["asked"] : asked.map(\.text))
        + names.filter { $0.group != .demand }.map(\.text)
      return broken(texts) + (variants.isEmpty ? "" : " [\(variants)]")
    }.joined(separator: "<br/>")
  }

  private static func broken(_ texts: [String]) -> String {
    stride(from: 0, to: texts.count, by: 3).map { texts[$0..<min($0 + 3, texts.count)].joined(separator: ", ") }
      .joined(separator: ",<br/>")
  }

  /// The words of several cases; a question mark follows a word that only some have.
  static func joined(_ cases: [[String]]) -> String {
    cases.joined().withoutRepetition.map { word in cases.allSatisfy { $0.contains(word) } ? word : "\(word)?" }
      .joined(separator: ", ")
  }
}
