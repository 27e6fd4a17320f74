internal import AgentCore
package import AgentModel
internal import AgentStore
package import Secrets
internal import Synchronization

extension PublishedTables {
  var validTokens: ValidTokens { self[ValidTokens.self] }
}

/// Tokens of the accounts that are not served any more, or beside the standard one, and that their servers still take. A
/// server that got one of them earlier may repeat it in any answer, so answers for callers without the token are searched
/// for these, too (docs/requests.md).
///
/// In memory only: what a token was before the agent started is not known.
package final class ValidTokens: PublishedTable {
  private struct Entry {
    var fingerprint: String
    var secret: Secret
    var expiresAt: BootInstant
    /// The agent gives it out no more, not even to be searched for.
    var isWithdrawn = false
  }
  private let entries = Mutex<[AccountID: [Entry]]>([:])
  private let cache: TokenCache

  /// An account has one or two a lifetime; forced refreshes make more. The one that expires first makes room.
  private static let mostOfAnAccount = 32
  /// Each of them is searched for in the whole answer.
  private static let most = 256

  /// - Parameter cache: has the standard token of each account.
  package init(_ cache: TokenCache) { self.cache = cache }

  package func note(
    _ token: Secret, fingerprint: String, expiresAt: BootInstant, of account: AccountID, at now: BootInstant
  ) {
    guard now < expiresAt else { return }
    entries.withLock { entries in
      var known = (entries[account] ?? []).filter { now < $0.expiresAt && $0.fingerprint != fingerprint }
      known.append(Entry(fingerprint: fingerprint, secret: token, expiresAt: expiresAt))
      if known.count > Self.mostOfAnAccount {
        known.remove(at: known.indices.min { known[$0].expiresAt < known[$1].expiresAt }!)
      }
      entries[account] = known
    }
  }

  /// The provider does not stand by the tokens that the account has had so far.
  package func withdraw(_ account: AccountID) {
    entries.withLock { entries in
      for index in entries[account]?.indices ?? 0..<0 { entries[account]?[index].isWithdrawn = true }
    }
  }

  /// - Parameters:
  ///   - reach: the accounts whose tokens the caller must not see; nil: all of them.
  ///   - account: whose request it is.
  ///   - isGivenOut: another program searches for them.
  package func tokens(
    of reach: Set<AccountID>?, and account: AccountID, isGivenOut: Bool = false, at now: BootInstant
  ) -> [Secret] {
    // If there are too many: the ones that are served before replaced ones, and its own before other accounts'.
    let served = cache.standardTokens(of: reach?.union([account]), at: now)
    let others = entries.withLock { entries in
      let others = entries.keys.filter { $0 != account && reach?.contains($0) ?? true }.sorted { $0.text < $1.text }
      return ([account] + others).flatMap { entries[$0] ?? [] }.filter {
        now < $0.expiresAt && !(isGivenOut && $0.isWithdrawn)
      }.map(\.secret)
    }
    return Array((served + others).prefix(Self.most))
  }

  /// The account was signed out, or has another grant.
  package func forget(_ account: AccountID) { entries.withLock { $0[account] = nil } }

  package func close() { entries.withLock { $0 = [:] } }
}
