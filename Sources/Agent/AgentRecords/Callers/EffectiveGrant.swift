package import AgentCore
package import AgentModel
internal import Synchronization

/// The grants that a connection presented, and the coverage that they share.
package final class EffectiveGrant: Sendable {
  /// Without what persons added since.
  private let base: Permission
  /// The permission of this moment; nil if nothing was added to a grant.
  private let live: @Sendable () -> Permission?
  /// The names of the grants that the connection presented: the makers of grants that it creates.
  package let grants: [String]
  /// `grants` and their ancestors: when one of these ends, this `EffectiveGrant` ends.
  package let line: Set<String>
  /// The earliest expiry among them; nil if none expires.
  package let until: BootInstant?
  /// The access before the last grant was presented: requests begun under it are still served.
  private let before: EffectiveGrant?
  private let isOver = Atomic(false)
  /// The accounts whose standard tokens the connection gets, for the reading thread.
  private let tokensOf: Set<AccountID>

  private static func tokens(_ permission: Permission) -> Set<AccountID> {
    permission.methods.contains("token.get") && !permission.limitsTokens ? permission.accounts : []
  }

  /// - Parameter live: the permission of the moment at which it is called; nil: `permission`.
  package init(
    permission: Permission, grants: [String], line: Set<String>, until: BootInstant?,
    live: @escaping @Sendable () -> Permission? = { nil }
  ) {
    base = permission
    self.live = live
    self.grants = grants
    self.line = line
    self.until = until
    before = nil
    tokensOf = Self.tokens(permission)
  }

  /// The coverage that both share, until the first of both ends.
  package init(_ before: EffectiveGrant, and other: EffectiveGrant) {
    base = before.base.narrowed(by: other.base)
    live = {
      let (one, two) = (before.live(), other.live())
      return one == nil && two == nil ? nil : (one ?? before.base).narrowed(by: two ?? other.base)
    }
    grants = before.grants + other.grants.filter { !before.grants.contains($0) }
    line = before.line.union(other.line)
    until = [before.until, other.until].compactMap { $0 }.min()
    self.before = before
    tokensOf = Self.tokens(base)
  }

  /// What the grants cover now, with what persons added to them and still counts.
  package var permission: Permission { live() ?? base }

  package func areOpen(at now: BootInstant) -> Bool {
    !isOver.load(ordering: .acquiring) && until.map { now < $0 } ?? true && before?.areOpen(at: now) ?? true
  }

  /// Whether the caller may know of the account.
  package func covers(_ account: AccountID) -> Bool { permission.accounts.contains(account) }

  func coversToken(of account: AccountID) -> Bool { tokensOf.contains(account) }

  package func end() {
    isOver.store(true, ordering: .releasing)
    before?.end()
  }
}
