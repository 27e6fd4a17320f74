public import AgentModel

/// What a caller that is limited may do: these methods, for these accounts (DESIGN, Callers).
///
/// - C1: `a.narrowed(by: b)` covers what both cover, and nothing else: whatever is added to it later, a permission never
///   gets wider.
public struct Permission: Hashable, Sendable {
  public private(set) var methods: Set<String>
  public private(set) var accounts: Set<AccountID>

  public init(methods: Set<String>, accounts: Set<AccountID>) {
    self.methods = methods
    self.accounts = accounts
  }

  /// What patterns mean in a contract that has these methods.
  public init(
    patterns: [MethodPattern], accounts: Set<AccountID>, among methods: [(name: String, mustBeNamed: Bool)]
  ) {
    let covered = methods.filter { method in
      patterns.contains { $0.covers(method.name, mustBeNamed: method.mustBeNamed) }
    }
    self.init(methods: Set(covered.map(\.name)), accounts: accounts)
  }

  public func narrowed(by other: Permission) -> Permission {
    Permission(methods: methods.intersection(other.methods), accounts: accounts.intersection(other.accounts))
  }

  /// True if there is nothing that this covers and the other does not.
  public func isWithin(_ other: Permission) -> Bool {
    methods.isSubset(of: other.methods) && accounts.isSubset(of: other.accounts)
  }
}
