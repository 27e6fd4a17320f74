internal import AgentCore
internal import AgentProtocol
internal import JSONRPC

// The engine's words are those of the contract; a test holds one against the other.

extension WireEffect {
  init(_ effect: Decision.Effect) {
    switch effect {
    case .allow: self = .allow
    case .deny: self = .deny
    case .readOnly: self = .readOnly
    }
  }
}

extension WireDecisionReason {
  init(_ reason: Decision.Reason) { self = Self(rawValue: reason.rawValue) ?? .policyError }
}

extension WireRemedy {
  init(_ remedy: Decision.Remedy) { self = Self(rawValue: remedy.rawValue) ?? .administrator }
}

extension WireDecisionBasis {
  init(_ about: AccountFacts) {
    if about.time.serverTimeOffset != nil {
      self = .server
    } else {
      self = about.facts.confirmationAge == nil ? .wall : .boot
    }
  }
}

extension WireFailedCheck {
  init(_ failure: Decision.Failure) {
    var facts: RawJSON?
    if !failure.facts.isEmpty {
      facts = RawJSON { writer in
        writer.beginObject()
        for (name, fact) in failure.facts.sorted(by: { $0.key < $1.key }) {
          writer.key(name)
          switch fact {
          case .seconds(let seconds): writer.integer(seconds)
          case .word(let word): writer.string(word)
          case .words(let words):
            writer.beginArray()
            for word in words { writer.string(word) }
            writer.endArray()
          }
        }
        writer.endObject()
      }
    }
    self.init(check: failure.check.rawValue, reason: WireDecisionReason(failure.reason), facts: facts)
  }
}

extension PolicyContext {
  init(_ context: WireAuthorizationContext?) {
    self.init(sensitivity: context?.sensitivity.flatMap { Sensitivity(rawValue: $0.rawValue) })
  }
}
