internal import AgentCore
internal import AgentModel
internal import AgentPorts

/// Renews tokens in use before a caller has to wait for it (docs/tokens.md, Health and freshness): one planned check
/// for each account, and none for an account that no caller uses.
///
/// A part of `Account`, to which all its functions are isolated.
final class RenewalPlan {
  /// A check that is this late shows that the machine slept.
  private static let overslept = Milliseconds.seconds(5)
  /// Spreads the renewals after a wake or a reconnect, when all accounts would renew at once.
  private static let herdSpread = Milliseconds.seconds(3)

  /// When the next check comes; nil if none is planned.
  private var nextLook: BootInstant?

  /// Plans the next check, unless an earlier one is planned already.
  func watch(_ account: isolated Account) {
    guard let machine = account.loaded?.machine else { return }
    let now = account.clock.boot()
    let moments = [machine.nextRenewal(at: now), machine.doubtShows(at: now), machine.stateMayChange(at: now)]
    if let next = moments.compactMap({ $0 }).min() {
      plan(account, at: next)
    }
  }

  /// The account left memory: a check that was planned does nothing.
  func clear() { nextLook = nil }

  /// The provider may be reachable again: renews tokens in use that are due soon.
  func reconnected(_ account: isolated Account) {
    let now = account.clock.boot()
    guard let next = account.loaded?.machine.nextRenewal(at: now) else { return }
    plan(account, at: max(next, now + herdPause(account)))
  }

  /// The check that `RenewalTimer` calls at the moment that was planned.
  static func look(at account: isolated Account, planned: BootInstant) {
    account.renewal.look(at: account, planned: planned)
  }

  private func look(at account: isolated Account, planned: BootInstant) {
    guard nextLook == planned else { return }
    nextLook = nil
    let now = account.clock.boot()
    if planned + Self.overslept < now { return plan(account, at: now + herdPause(account)) }
    account.tokens.noteUse(of: account)
    account.perform(account.loaded?.machine.renew(at: now) ?? [])
    watch(account)
  }

  private func plan(_ account: isolated Account, at moment: BootInstant) {
    if let nextLook, nextLook <= moment { return }
    nextLook = moment
    account.dependencies.renewals.plan(account, at: moment)
  }

  private func herdPause(_ account: isolated Account) -> Milliseconds {
    Milliseconds(Int64(Double(Self.herdSpread.count) * account.dependencies.environment.entropy.fraction()))
  }
}
