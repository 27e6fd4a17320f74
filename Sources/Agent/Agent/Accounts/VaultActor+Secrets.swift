internal import AgentModel
internal import AgentPorts
internal import JSONRPC
internal import Secrets

/// What client programs keep with an account: sealed under its data key, kept by a soft sign-out and unreadable then,
/// gone with a hard one (docs/sign-out.md, Modes).
///
/// The names stand in one record of their own, so that listing them opens no value; a value's row is found by a keyed
/// digest, so that the file tells neither names nor which of them is which.
extension VaultActor {
  /// As the schema of `secret.list` bounds it.
  static let mostSecrets = 4096

  func putSecret(_ name: String, _ value: Secret, of selector: AccountSelector) throws(AgentFailure) -> AccountID {
    let profile = try readable(selector)
    var names = try onVault(account: profile.id) { (vault) throws(VaultFailure) in try vault.secretNames(of: profile) }
    let isNew = names.insert(name).inserted
    guard names.count <= Self.mostSecrets else { throw .overloaded("values of one account") }
    let all = names
    try onVault(account: profile.id) { (vault) throws(VaultFailure) in
      try vault.apply(
        [.put(profile.partition, .clientSecret, id: vault.place(of: name), Self.record(name, value))]
          + (isNew ? [.put(profile.partition, .clientSecretNames, Self.record(all))] : []))
    }
    return profile.id
  }

  func secret(_ name: String, of selector: AccountSelector) throws(AgentFailure) -> (AccountID, Secret) {
    let profile = try readable(selector)
    let found = try onVault(account: profile.id) { (vault) throws(VaultFailure) -> Secret? in
      guard let plain = try vault.read(profile.partition, .clientSecret, id: vault.place(of: name)) else { return nil }
      guard let value = RecordCoding.read(plain, { $0["name"]?.string == name ? $0["value"]?.secret : nil }) else {
        throw .integrity
      }
      return value
    }
    guard let found else { throw .notFound(.secret, profile.id) }
    return (profile.id, found)
  }

  func secretNames(of selector: AccountSelector) throws(AgentFailure) -> (AccountID, [String]) {
    let profile = try readable(selector)
    let names = try onVault(account: profile.id) { (vault) throws(VaultFailure) in try vault.secretNames(of: profile) }
    return (profile.id, names.sorted())
  }

  func removeSecret(_ name: String, of selector: AccountSelector) throws(AgentFailure) -> AccountID {
    let profile = try readable(selector)
    let wasThere = try onVault(account: profile.id) { (vault) throws(VaultFailure) in
      var names = try vault.secretNames(of: profile)
      guard names.remove(name) != nil else { return false }
      try vault.apply([
        .delete(profile.partition, .clientSecret, id: vault.place(of: name)),
        .put(profile.partition, .clientSecretNames, Self.record(names)),
      ])
      return true
    }
    guard wasThere else { throw .notFound(.secret, profile.id) }
    return profile.id
  }

  /// The account, if its data may be read now.
  func readable(_ selector: AccountSelector) throws(AgentFailure) -> AccountProfile {
    let profile = try profile(selector)
    switch profile.signInStatus {
    case .signedIn:
      let isUnderPIN = try onVault(account: profile.id) { (vault) throws(VaultFailure) in
        try vault.isDataLocked(profile.partition)
      }
      guard !isUnderPIN else { throw .dataUnderPIN(profile.id) }
      return profile
    case .signedOutSoft:
      throw .dataSealed(profile.id)
    case .signedOutHard:
      throw .signedOut(profile.id, during: .erasedData)
    }
  }

  private static func record(_ name: String, _ value: Secret) -> Secret {
    RecordCoding.write { writer in
      writer.member("name", name)
      writer.member("value", value)
    }
  }

  private static func record(_ names: Set<String>) -> Secret {
    RecordCoding.write { $0.member("names", names.sorted()) }
  }
}

extension Vault {
  func place(of name: String) throws(VaultFailure) -> [UInt8] { try index("client secret", name) }

  fileprivate func secretNames(of profile: AccountProfile) throws(VaultFailure) -> Set<String> {
    guard let plain = try read(profile.partition, .clientSecretNames) else { return [] }
    guard let names = RecordCoding.read(plain, { $0["names"]?.strings }) else { throw .integrity }
    return Set(names)
  }
}
