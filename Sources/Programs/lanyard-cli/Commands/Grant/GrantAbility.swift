import ArgumentParser

/// What a program may do under a grant, in words for people: each stands for methods of the contract.
enum GrantAbility: String, CaseIterable, ExpressibleByArgument {
  case tokens, requests, operations, decisions, status, secrets

  var methods: [String] {
    switch self {
    case .tokens:
      [
        "token.get", "token.refresh", "token.reject", "token.proof", "token.exchange", "identity.get", "credential.aws",
        "exec.begin",
        // A credential helper asks which account answers for a URL.
        "account.resolve",
      ]
    case .requests: ["request.send"]
    case .operations: ["operation.*"]
    case .decisions: ["authorization.check", "authorization.checkMany", "policy.explain", "snapshot.get"]
    case .status: ["account.list", "account.get", "account.resolve", "session.get", "connectivity.get"]
    case .secrets: ["secret.*"]
    }
  }
}
