public import AgentModel

/// The methods and accounts that a restricted caller may use (docs/callers.md, Grants).
///
/// - C1: `a.narrowed(by: b)` is the intersection of `a` and `b`: narrowing never adds a method or an account.
public struct Permission: Hashable, Sendable {
  public private(set) var methods: Set<String>
  public private(set) var accounts: Set<AccountID>

  public init(methods: Set<String>, accounts: Set<AccountID>) {
    self.methods = methods
    self.accounts = accounts
  }

  /// Expands patterns against the methods of the contract.
  public init(
    patterns: [MethodPattern], accounts: Set<AccountID>, among methods: [(name: String, mustBeNamed: Bool)]
  ) {
    let covered = methods.filter { method in
      patterns.contains { $0.covers(method.name, mustBeNamed: method.mustBeNamed) }
    }
    self.init(methods: Set(covered.map(\.name)), accounts: accounts)
  }

  /// The intersection of both permissions.
  public func narrowed(by other: Permission) -> Permission {
    Permission(methods: methods.intersection(other.methods), accounts: accounts.intersection(other.accounts))
  }

  /// True if `other` covers every method and every account of this permission.
  public func isWithin(_ other: Permission) -> Bool {
    methods.isSubset(of: other.methods) && accounts.isSubset(of: other.accounts)
  }
}
