internal import AgentCore
package import AgentModel
internal import AgentPorts

/// Renews tokens in use before a caller has to wait for it (docs/tokens.md, Health and freshness): one planned check
/// for each account, and none for an account that no caller uses.
extension Account {
  /// A check that is this late shows that the machine slept.
  static let overslept = Milliseconds.seconds(5)
  /// Spreads the renewals after a wake or a reconnect, when all accounts would renew at once.
  static let herdSpread = Milliseconds.seconds(3)

  /// Plans the next check, unless an earlier one is planned already.
  func watchRenewal() {
    guard let machine = loaded?.machine else { return }
    let now = clock.boot()
    if let next = [machine.nextRenewal(at: now), machine.doubtShows(at: now)].compactMap({ $0 }).min() {
      planRenewal(at: next)
    }
  }

  private func planRenewal(at moment: BootInstant) {
    if let nextLook, nextLook <= moment { return }
    nextLook = moment
    dependencies.renewals.plan(self, at: moment)
  }

  package func look(planned: BootInstant) {
    guard nextLook == planned else { return }
    nextLook = nil
    let now = clock.boot()
    if planned + Self.overslept < now { return planRenewal(at: now + herdPause) }
    noteUse()
    perform((loaded?.machine.renew(at: now) ?? []) + [.stateChanged])
    watchRenewal()
  }

  /// The provider may be reachable again: renews tokens in use that are due soon, and ends the pause for the next
  /// caller.
  func reconnected() {
    noticeReachability()
    rightsFetcher.retry(for: self)
    guard let next = loaded?.machine.nextRenewal(at: clock.boot()) else { return }
    planRenewal(at: max(next, clock.boot() + herdPause))
  }

  func noticeReachability() {
    let reachabilityGeneration = dependencies.connectivity.reachabilityGeneration
    guard noticedReachability != reachabilityGeneration else { return }
    noticedReachability = reachabilityGeneration
    loaded?.machine.reconnected()
  }

  /// Counts the answers of the reading thread as use, too.
  func noteUse() {
    if let used = published?.lastUsed { loaded?.machine.used(.standard, at: used) }
  }

  private var herdPause: Milliseconds {
    Milliseconds(Int64(Double(Self.herdSpread.count) * dependencies.environment.entropy.fraction()))
  }
}
