public import AgentCore

/// Which scopes a sign-in asks for (MCP, Scope Selection Strategy and Step-Up Authorization Flow).
public enum ScopeChoice {
  /// The challenge's scopes, else those of the resource's metadata, else none; nil if the challenge names none.
  public static func challenged(_ challenges: [AuthenticationChallenge]) -> [String]? {
    let scope = challenges.first { ["bearer", "dpop"].contains($0.scheme) && $0.parameters["scope"] != nil }?
      .parameters["scope"]
    let scopes = words(scope ?? "")
    return scopes.isEmpty ? nil : scopes
  }

  /// For a first sign-in. `offline_access` beside others where the authorization server lists it.
  public static func first(challenged: [String]?, metadata: [String]?, supported: [String]) -> [String] {
    let wanted = challenged ?? metadata ?? []
    guard !wanted.isEmpty, supported.contains("offline_access") else { return wanted }
    return union(wanted, ["offline_access"])
  }

  /// Each scope once, in order.
  public static func union(_ lists: [String]...) -> [String] {
    var seen: Set<String> = []
    return lists.joined().filter { seen.insert($0).inserted }
  }

  /// True for a refusal that other scopes would lift (RFC 6750 §3.1).
  public static func isInsufficient(_ challenges: [AuthenticationChallenge]) -> Bool {
    challenges.contains {
      ["bearer", "dpop"].contains($0.scheme) && $0.parameters["error"] == "insufficient_scope"
    }
  }

  private static let maximumCount = 128

  /// RFC 6749 §3.3.
  private static func words(_ text: String) -> [String] {
    text.split(separator: " ").prefix(maximumCount).map(String.init).filter { isScope($0) }
  }

  static func isScope(_ word: String) -> Bool {
    !word.isEmpty && word.utf8.allSatisfy { $0 == 0x21 || 0x23...0x5B ~= $0 || 0x5D...0x7E ~= $0 }
  }
}
