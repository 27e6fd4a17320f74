package import AgentCore
package import AgentModel
internal import AgentPorts
internal import AgentRecords
package import AgentStore
package import AgentVault
internal import JSONRPC
internal import SecretJSON
internal import Secrets

extension DeclaredKind {
  /// The uses of one capability in the last hour (docs/offline.md, Budgets).
  package static let budget = DeclaredKind(47, under: .token, named: "budget")
}

/// A use of a capability that has a budget (docs/offline.md, Budgets).
package struct BudgetUse: Hashable, Sendable {
  var account: AccountID
  package var capability: String
  var perHour: Int64

  package init(account: AccountID, capability: String, perHour: Int64) {
    (self.account, self.capability, self.perHour) = (account, capability, perHour)
  }
}

extension OpenVault {
  package var budgets: BudgetStore { BudgetStore(vault: self) }
}

/// The uses of the last hour: a record of constant size for each capability of an account, which goes with the
/// account's data. Read and written in one step of `VaultActor`, so that two callers at once never take one use.
package struct BudgetStore {
  /// Uses that are taken and not committed yet.
  typealias Taken = [Key: BudgetWindow]

  struct Key: Hashable {
    var account: AccountID
    var capability: String
  }

  let vault: OpenVault

  /// The uses up to now. None for an account that is gone: no decision allows it anything.
  package func window(of capability: String, _ account: AccountID) throws(AgentFailure) -> BudgetWindow {
    let (now, bootID) = (vault.clock.boot(), vault.clock.bootID)
    guard let profile = vault.directory.profiles[account] else { return BudgetWindow(at: now, bootID: bootID) }
    let stored = try vault.withRecords(of: account) { (records) throws(VaultFailure) -> BudgetWindow? in
      let place = try records.places().id(of: .budget, capability)
      guard let plain = try records.read(profile.partition, .budget, id: place) else { return nil }
      guard let window = BudgetWindow(plain) else { throw .integrity }
      return window
    }
    var window = stored ?? BudgetWindow(at: now, bootID: bootID)
    window.advance(to: now, bootID: bootID)
    return window
  }

  /// The windows after these uses as well; nil if a budget has none left.
  func taking(_ uses: [BudgetUse], after taken: Taken) throws(AgentFailure) -> Taken? {
    var taken = taken
    for use in uses {
      let key = Key(account: use.account, capability: use.capability)
      var window: BudgetWindow
      if let known = taken[key] { window = known } else { window = try self.window(of: use.capability, use.account) }
      guard window.wait(perHour: use.perHour) == nil else { return nil }
      window.take()
      taken[key] = window
    }
    return taken
  }

  func changes(_ taken: Taken) throws(AgentFailure) -> [VaultChange] {
    var changes: [VaultChange] = []
    for (key, window) in taken.sorted(by: { ($0.key.account, $0.key.capability) < ($1.key.account, $1.key.capability) })
    {
      guard let profile = vault.directory.profiles[key.account] else { continue }
      changes.append(
        try vault.withRecords(of: key.account) { (records) throws(VaultFailure) in
          .put(profile.partition, .budget, id: try records.places().id(of: .budget, key.capability), window.record)
        })
    }
    return changes
  }
}

extension BudgetWindow {
  fileprivate var record: Secret {
    SecretJSON.write { writer in
      writer.member("bootID", bootID)
      writer.member("at", at.milliseconds)
      writer.member("elapsed", elapsed.count)
      writer.key("counts")
      writer.beginArray()
      for count in counts { writer.integer(count) }
      writer.endArray()
    }
  }

  fileprivate init?(_ plain: Secret) {
    let read = SecretJSON.read(plain) { node -> BudgetWindow? in
      guard let bootID = node["bootID"]?.string, let at = node["at"]?.integer, let elapsed = node["elapsed"]?.integer,
        let counts = node["counts"].map({ $0.elements.compactMap(\.integer) })
      else { return nil }
      return BudgetWindow(
        at: BootInstant(milliseconds: at), bootID: bootID, elapsed: Milliseconds(elapsed), counts: counts)
    }
    guard let read else { return nil }
    self = read
  }
}
