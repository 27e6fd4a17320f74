internal import AgentCore
package import AgentModel
internal import AgentOAuth
package import AgentPorts
package import AgentStore
package import AgentVault
internal import JSONRPC
internal import SecretJSON

/// The accounts in memory, so that look-ups open no record: read when the vault is opened, and kept in step with each
/// commit.
package final class AccountTable: VaultTable {
  package private(set) var profiles: AccountProfiles
  private var index: AccountIndex
  /// Partitions whose profile does not open: requests for their accounts fail with `integrity`, others are not
  /// affected.
  package private(set) var damagedPartitions: Set<PartitionID> = []
  package private(set) var active: AccountID?
  /// The signed-in accounts with a request in the journal when the vault was opened, or with one in doubt: what became
  /// of it is found out when the account is loaded. So it is with those whose secret ends: the time of now tells.
  let unsettled: Set<AccountID>
  /// The record that names the active account does not open, or the account that it names does not.
  package private(set) var activeIsDamaged = false

  package init(reading records: Vault) throws(VaultFailure) {
    var profiles = AccountProfiles(minimumCapacity: try records.ledger().count)
    var damaged: Set<PartitionID> = []
    var last: AccountProfile?
    try records.forEachPartition(by: .profile) { partition, plain in
      guard var profile = plain.flatMap({ AccountProfile($0, partition: partition) }) else {
        damaged.insert(partition)
        return
      }
      if let last { profile.shareTexts(of: last) }
      last = profile
      _ = profiles.put(profile)
    }
    let requested = try records.partitions(with: .intent)
    unsettled = Set(
      profiles.values.filter {
        $0.signInStatus == .signedIn
          && (requested.contains($0.partition) || $0.health == .unknown || $0.secret?.expiresAt != nil)
      }.map(\.id))
    self.profiles = profiles
    index = AccountIndex(of: profiles.values)
    damagedPartitions = damaged
    for (_, plain) in try records.readEach(.activeAccount) {
      active = plain.flatMap { SecretJSON.read($0) { $0["account"]?.string.flatMap { AccountID($0) } } }
        .flatMap { profiles[$0] == nil ? nil : $0 }
      activeIsDamaged = active == nil && (plain == nil || !damaged.isEmpty)
    }
  }

  // MARK: changes

  /// Returns the profile that was there before.
  fileprivate func put(_ profile: AccountProfile) -> AccountProfile? {
    let previous = profiles.put(profile)
    if let previous { index.remove(previous) }
    index.add(profile)
    return previous
  }

  fileprivate func remove(_ id: AccountID) {
    if let profile = profiles.remove(id) { index.remove(profile) }
  }

  fileprivate func setActive(_ id: AccountID?) {
    active = id
    activeIsDamaged = false
  }
}

extension AccountTable {
  /// Oldest first, as lists show them.
  package var sortedProfiles: [AccountProfile] {
    profiles.values.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
  }

  package func profile(_ selector: AccountSelector) throws(AgentFailure) -> AccountProfile {
    switch selector {
    case .active:
      guard let active, let profile = profiles[active] else {
        if activeIsDamaged { throw .activeAccountDamaged }
        // No account can be chosen where none is signed in; one whose record does not open may be.
        let canChoose = !damagedPartitions.isEmpty || profiles.values.contains { $0.signInStatus == .signedIn }
        throw canChoose ? .noActiveAccount : .noSignedInAccount
      }
      return profile
    case .id(let id):
      guard let profile = profiles[id] else { throw notFound }
      return profile
    case .alias:
      let matches = named(selector)
      guard let first = matches.first else { throw notFound }
      guard matches.count == 1 else { throw .accountAmbiguous(matches.map(\.id)) }
      return first
    }
  }

  /// The accounts that a selector names; none for an unknown one.
  package func named(_ selector: AccountSelector) -> [AccountProfile] {
    let ids: [AccountID] =
      switch selector {
      case .active: active.map { [$0] } ?? []
      case .id(let id): [id]
      case .alias(let alias): index.accounts(named: alias).sorted()
      }
    return ids.compactMap { profiles[$0] }
  }

  /// The failure for an unknown name: `integrity` if it may belong to a profile that does not open.
  var notFound: AgentFailure { damagedPartitions.isEmpty ? .accountNotFound : .vault(.integrity) }

  /// The account that a person has at a provider, signed in or not. Erased ones are found by
  /// `OpenVault.profile(of:at:)`.
  func namedProfile(of identity: Identity, at provider: ProviderName) -> AccountProfile? {
    index.account(of: identity, at: provider).flatMap { profiles[$0] }
  }

  func erasedProfiles(at provider: ProviderName) -> [AccountProfile] {
    index.erased(at: provider).sorted().compactMap { profiles[$0] }
  }

  /// The account, if it is still in the epoch in which the work began; nil for late answers, which change nothing.
  func current(_ id: AccountID, epoch: UInt64) -> AccountProfile? {
    profiles[id].flatMap { $0.epoch == epoch && $0.signInStatus == .signedIn ? $0 : nil }
  }

  /// The account, if it is signed in.
  package func signedIn(_ selector: AccountSelector) throws(AgentFailure) -> AccountProfile {
    let profile = try profile(selector)
    guard profile.signInStatus == .signedIn else { throw .signedOut(profile.id) }
    return profile
  }

  /// The accounts whose id or alias is `word`, else whose mail address or user name it is, in capital letters or small ones. The
  /// provider chooses the name of a person, so it counts last, and only if `byName` is true: for words that a person
  /// typed.
  package func matches(_ word: String, byName: Bool = false) -> [AccountProfile] {
    let all = sortedProfiles
    let exact = all.filter { $0.id.text == word || $0.alias?.text == word }
    guard exact.isEmpty else { return exact }
    let folded = word.lowercased()
    let mailed = all.filter { $0.email?.lowercased() == folded || $0.secret?.username?.lowercased() == folded }
    return mailed.isEmpty && byName ? all.filter { $0.displayName?.lowercased() == folded } : mailed
  }

  /// The accounts that belong to a provider.
  package func accounts(of provider: ProviderName) -> [AccountID] {
    sortedProfiles.filter { $0.provider == provider }.map(\.id)
  }

  /// The account whose last import brought this refresh token (`Fingerprint.number`).
  package func account(ofImported token: Int64, at provider: ProviderName) -> AccountProfile? {
    index.account(ofImported: token, at: provider).flatMap { profiles[$0] }
  }

  package func requireFree(_ alias: Alias, for id: AccountID?) throws(AgentFailure) {
    if let other = index.accounts(named: alias.text).first(where: { $0 != id }) { throw .accountAmbiguous([other]) }
  }

  /// Checks an alias before the sign-in. An account of the same provider with this alias is allowed, since it may be
  /// the one that signs in again; the identity is compared later.
  package func requirePossible(_ alias: Alias, at provider: ProviderName) throws(AgentFailure) {
    if let other = index.accounts(named: alias.text).first(where: { profiles[$0]?.provider != provider }) {
      throw .accountAmbiguous([other])
    }
  }
}

extension MemoryChange {
  package static func account(_ profile: AccountProfile) -> MemoryChange {
    MemoryChange { vault in
      vault.tellWatchers(of: profile.id)
      let previous = vault.directory.put(profile)
      if previous == nil || previous?.alias != profile.alias {
        vault.tables.tokenCache.setAccount(profile.id, alias: profile.alias)
      }
    }
  }

  static func accountForgotten(_ id: AccountID) -> MemoryChange {
    MemoryChange { vault in
      vault.tellWatchers(of: id)
      vault.directory.remove(id)
      vault.tables.tokenCache.remove(id)
    }
  }

  static func active(_ id: AccountID?) -> MemoryChange {
    MemoryChange { vault in
      vault.directory.setActive(id)
      vault.tables.tokenCache.setActive(id)
    }
  }

  static func tokensWithdrawn(_ id: AccountID) -> MemoryChange {
    MemoryChange { vault in
      vault.tables.tokenCache.withdraw(id)
      vault.tables.tokenCache.setSession(nil, of: id)
    }
  }
}

extension OpenVault {
  fileprivate func tellWatchers(of id: AccountID) {
    for case let watcher as any AccountWatcher in tables.inOrder { watcher.accountChanged(id) }
  }
}
