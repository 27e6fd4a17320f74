public import AgentModel

/// Which capabilities of a policy decide about a request (docs/offline.md, Requests).
public enum RequestNaming: Hashable, Sendable {
  /// No capability names it: the caller's grant alone decides.
  case none
  /// These name it, and each of them must allow it; the closest first.
  case capabilities([String])
  /// Each of these must allow it, but none permits it to an AI agent: their rules are about what is below the path, so the
  /// caller's grant has to cover it as well. The closest first.
  case restricting([String])
  /// The policy can't be read, so nothing is known of what it names: denied (P1).
  case unreadable

  /// - Parameters:
  ///   - method: `WebSocketMethod.name` for a WebSocket.
  ///   - isForAgent: the request is an AI agent's. A rule about GET does not give it a WebSocket: `.none`. A rule about
  ///     `/items/*` does not give it `/items`: `.restricting`.
  /// - Throws: `RequestPath.Refusal` for a path that servers read in two ways, at an origin that the policy names.
  public init(
    of method: String, _ url: HTTPURL, isForAgent: Bool, under policy: PolicyEngine.Policy
  ) throws(RequestPath.Refusal) {
    switch policy {
    case .none: self = .none
    case .unreadable: self = .unreadable
    case .document(let document):
      guard document.requestRules.hasSome(at: url.origin) else {
        self = .none
        return
      }
      let path = try RequestPath(url)
      func naming(_ methods: Set<String>) -> [String] {
        document.requestRules.capabilities(naming: methods, at: url.origin, path)
      }
      var names = naming([method])
      if method == WebSocketMethod.name, !names.isEmpty || !isForAgent {
        // Rules about the handshake bind it, too.
        names = naming([method, WebSocketMethod.ofHandshake])
      }
      let isPermitted = !isForAgent || document.requestRules.cover(method, at: url.origin, path)
      self = names.isEmpty ? .none : isPermitted ? .capabilities(names) : .restricting(names)
    }
  }

  /// The decisions of the capabilities as one: the first that does not allow it, else the closest capability's. Nil
  /// without a decision.
  public static func joined(_ decisions: [Decision], isRead: Bool) -> Decision? {
    decisions.first { !$0.allows(isRead: isRead) } ?? decisions.first
  }
}

extension PolicyEngine.Policy {
  /// False if no request to the origin has to be decided about.
  public func mayName(_ origin: String) -> Bool {
    switch self {
    case .document(let document): document.requestRules.hasSome(at: origin)
    case .none: false
    case .unreadable: true
    }
  }
}

extension Decision {
  /// `readOnly` allows what reads.
  public func allows(isRead: Bool) -> Bool { effect == .allow || effect == .readOnly && isRead }

  /// Nothing but step-ups of this method is missing.
  public func lacksOnly(_ method: StepUpMethod) -> Bool {
    !failed.isEmpty
      && failed.allSatisfy { $0.reason == .stepUpRequired && $0.facts["method"] == .word(method.rawValue) }
  }

  /// After this time the budget has a use again; nil if something else is missing as well.
  public var retryAfter: Milliseconds? {
    guard failed.count == 1, failed[0].reason == .budgetExceeded,
      case .seconds(let seconds)? = failed[0].facts["retryAfterSeconds"]
    else { return nil }
    return .seconds(seconds)
  }
}
