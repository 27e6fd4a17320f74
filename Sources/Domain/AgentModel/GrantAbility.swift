/// What a program may do under a grant, in words for people: each stands for methods of the contract, so that the commands
/// for it run under a grant with this word alone.
public enum GrantAbility: String, CaseIterable, Sendable {
  case tokens, requests, operations, decisions, status, secrets

  /// The method that it is about stands first.
  public var methods: [String] { ownMethods + [Self.choosingMethod] }

  private var ownMethods: [String] {
    switch self {
    case .tokens:
      [
        "token.get", "token.refresh", "token.reject", "token.proof", "token.exchange", "identity.get", "credential.aws",
        "exec.begin", "account.get",
      ]
    case .requests: ["request.send"]
    case .operations: ["operation.*"]
    case .decisions:
      ["authorization.check", "authorization.checkMany", "policy.explain", "snapshot.get", "account.get"]
    case .status: ["account.list", "account.get", "agent.status", "session.get", "connectivity.get"]
    case .secrets: ["secret.*"]
    }
  }

  /// Every command asks which account an e-mail address stands for, and a credential helper which answers for a URL.
  private static let choosingMethod = "account.resolve"

  /// The methods of several, each once.
  public static func methods(of abilities: [GrantAbility]) -> [String] {
    var methods: [String] = []
    for method in abilities.flatMap(\.methods) where !methods.contains(method) { methods.append(method) }
    return methods
  }
}
