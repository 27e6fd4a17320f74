import AgentSimulation
import PracticeProvider
import Testing

/// Expected answers (docs/protocol.md, Errors).
extension SimulatedAnswer {
  /// For each error of the token methods: its name, whether a retry can help, and the remedy.
  private static let errors: [Int: (name: String, isRetryable: Bool, remedies: [String])] = [
    1001: ("agentLocked", true, ["unlock"]),
    1004: ("requestCancelled", true, []),
    1006: ("timedOut", true, []),
    2003: ("signedOut", false, ["reauthenticate"]),
    2004: ("reauthenticationRequired", false, ["reauthenticate"]),
    2005: ("interactionRequired", false, ["interact", "reauthenticate"]),
    2006: ("accountLocked", false, ["administrator"]),
    3001: ("offline", true, ["connect"]),
    3002: ("providerUnavailable", true, []),
    3003: ("providerMisconfigured", false, ["administrator"]),
    5001: ("storeUnavailable", true, []),
  ]

  /// An error for `account`, with everything that its code promises.
  func isExpected(
    _ code: Int, reason: String? = nil, account: String? = nil, pause: ClosedRange<Int64>? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let told = Comment(rawValue: description)
    guard let error = Self.errors[code] else { preconditionFailure("no row for \(code)") }
    #expect(self.code == code, told, sourceLocation: sourceLocation)
    guard self.code == code else { return }
    let data = json["error", "data"]
    #expect(data?["name"]?.stringValue == error.name, told, sourceLocation: sourceLocation)
    #expect(data?["retryable"]?.boolValue == error.isRetryable, told, sourceLocation: sourceLocation)
    let remedies = data?["remedies"]?.arrayValue?.compactMap(\.stringValue) ?? []
    #expect(remedies == error.remedies, told, sourceLocation: sourceLocation)
    if let reason { #expect(self.reason == reason, told, sourceLocation: sourceLocation) }
    if let account {
      #expect(data?["account"]?.stringValue == account, told, sourceLocation: sourceLocation)
    }
    if let pause {
      #expect(retryAfterMs.map(pause.contains) == true, told, sourceLocation: sourceLocation)
    }
  }
}
