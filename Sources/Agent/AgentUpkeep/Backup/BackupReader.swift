internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPermissions
internal import AgentPorts
internal import AgentRecords
internal import AgentVault
internal import Secrets

/// One account of a backup, to be restored into the live vault.
struct BackedUpAccount: Sendable {
  /// Its partition is the backup's.
  var profile: AccountProfile
  var rights: RightsMemory?
  /// The PIN's record, and its pepper.
  var stepUp: (record: StepUpRecord, pepper: Secret)?
  var kept: [(id: [UInt8], plain: Secret)]
  /// What a backup takes over without knowing more of it than its name.
  var data: [(kind: DeclaredKind, plain: Secret)] = []
  /// Nil in a backup without refresh tokens.
  var grant: Secret?
  var idToken: Secret?
}

/// Reads a backup that its passphrase has opened.
struct BackupReader {
  private let vault: Vault

  init(_ vault: Vault) { self.vault = vault }

  func manifest() throws(VaultFailure) -> BackupManifest {
    guard let manifest = try vault.read(.vault, .backup).flatMap({ BackupManifest($0) }) else { throw .integrity }
    return manifest
  }

  func providers() throws(VaultFailure) -> [Provider] {
    var all: [Provider] = []
    for (_, plain) in try vault.readAll(.vault, .provider) {
      guard let provider = Provider(plain) else { throw .integrity }
      all.append(provider)
    }
    guard Set(all.map(\.configuration.name)).count == all.count else { throw .integrity }
    return all.sorted { $0.configuration.name < $1.configuration.name }
  }

  func policies() throws(VaultFailure) -> [StoredPolicy] {
    var all: [StoredPolicy] = []
    for (_, plain) in try vault.readAll(.vault, .policy) {
      guard let policy = StoredPolicy(plain) else { throw .integrity }
      all.append(policy)
    }
    return all.sorted { $0.name < $1.name }
  }

  /// The accounts, oldest first. Throws if one does not open: then the whole file counts as damaged.
  func accounts() throws(VaultFailure) -> [PartitionID] {
    var found: [(PartitionID, Timestamp, AccountID)] = []
    var isDamaged = false
    try vault.forEachPartition(by: .profile) { partition, plain in
      guard let profile = plain.flatMap({ AccountProfile($0, partition: partition) }) else {
        isDamaged = true
        return
      }
      found.append((partition, profile.createdAt, profile.id))
    }
    guard !isDamaged else { throw .integrity }
    return found.sorted { ($0.1, $0.2) < ($1.1, $1.2) }.map(\.0)
  }

  /// The rules, by the account that they name in the backup.
  func rules() throws(VaultFailure) -> [AccountID: [AccountRule]] {
    var all: [AccountRule] = []
    for (id, plain) in try vault.readAll(.vault, .rule) {
      guard let rule = AccountRule(plain, id: id) else { throw .integrity }
      all.append(rule)
    }
    return Dictionary(grouping: all, by: \.account)
  }

  func account(in partition: PartitionID) throws(VaultFailure) -> BackedUpAccount {
    guard let plain = try vault.read(partition, .profile),
      var profile = AccountProfile(plain, partition: partition)
    else { throw .integrity }
    var account = BackedUpAccount(
      profile: profile, kept: try vault.readAll(partition, .keptData), grant: try vault.read(partition, .grant),
      idToken: try vault.read(partition, .idToken))
    if let plain = try vault.read(partition, .snapshot) {
      guard let rights = RightsMemory(plain) else { throw .integrity }
      account.rights = rights
    }
    if let plain = try vault.read(partition, .stepUp) {
      guard let record = StepUpRecord(plain), let pepper = try vault.read(partition, .pepper) else { throw .integrity }
      account.stepUp = (record, pepper)
    }
    let places = try vault.places()
    for kind in vault.kinds.copied {
      for (_, plain) in try vault.readAll(partition, kind) {
        _ = try places.id(of: kind, copying: plain)
        account.data.append((kind, plain))
      }
    }
    if account.grant == nil, profile.signInStatus == .signedIn { profile.signInStatus = .signedOutSoft }
    account.profile = profile
    return account
  }
}
