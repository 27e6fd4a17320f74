internal import AgentCore
package import AgentModel
internal import AgentPorts
package import AgentStore
package import AgentVault
internal import JSONRPC
internal import SecretJSON
package import Secrets

extension DeclaredKind {
  /// A value that a client program keeps with the account, and the names of all of them.
  package static let programSecret = DeclaredKind(9, under: .data, [.counted, .copied], named: "client secret")
  package static let programSecretNames = DeclaredKind(10, under: .data, [.counted, .copied])
}

extension OpenVault {
  package var programSecrets: ProgramSecretStore { ProgramSecretStore(vault: self) }
}

/// The secrets that client programs store with an account, sealed under its data key. A soft sign-out makes them
/// unreadable, a hard one deletes them (docs/sign-out.md, Modes).
///
/// The names are in one record of their own, so that listing them opens no value; the row of a value is found by a
/// keyed digest, so that the file reveals neither the names nor which row belongs to which name.
package struct ProgramSecretStore {
  let vault: OpenVault

  /// The bound in the schema of `secret.list`.
  static let most = 4096

  package func put(_ name: String, _ value: Secret, of selector: AccountSelector) throws(AgentFailure) -> ChangeSet<
    AccountID
  > {
    let profile = try readable(selector)
    var names = try storedNames(of: profile)
    let isNew = names.insert(name).inserted
    guard names.count <= Self.most else { throw .overloaded("values of one account") }
    let record = VaultChange.put(
      profile.partition, .programSecret, id: try place(of: name, in: profile), Self.record(name, value))
    return ChangeSet(
      [record] + (isNew ? [.put(profile.partition, .programSecretNames, Self.record(names))] : []), of: profile.id,
      result: profile.id
    ).onlyIntoFreeRoom
  }

  package func value(_ name: String, of selector: AccountSelector) throws(AgentFailure) -> (AccountID, Secret) {
    let profile = try given(selector)
    let found = try vault.withRecords(of: profile.id) { (records) throws(VaultFailure) -> Secret? in
      let place = try records.places().id(of: .programSecret, name)
      guard let plain = try records.read(profile.partition, .programSecret, id: place) else { return nil }
      guard let value = SecretJSON.read(plain, { $0["name"]?.string == name ? $0["value"]?.secret : nil }) else {
        throw .integrity
      }
      return value
    }
    guard let found else { throw .notFound(.secret, profile.id) }
    return (profile.id, found)
  }

  package func names(of selector: AccountSelector) throws(AgentFailure) -> (AccountID, [String]) {
    let profile = try given(selector)
    return (profile.id, try storedNames(of: profile).sorted())
  }

  package func remove(_ name: String, of selector: AccountSelector) throws(AgentFailure) -> ChangeSet<AccountID> {
    let profile = try readable(selector)
    var names = try storedNames(of: profile)
    guard names.remove(name) != nil else { throw .notFound(.secret, profile.id) }
    return ChangeSet(
      [
        .delete(profile.partition, .programSecret, id: try place(of: name, in: profile)),
        .put(profile.partition, .programSecretNames, Self.record(names)),
      ], of: profile.id, result: profile.id)
  }

  /// The account, if its data may be given out now: a disabled account gives nothing out.
  private func given(_ selector: AccountSelector) throws(AgentFailure) -> AccountProfile {
    let profile = try readable(selector)
    if vault.tables.tokenCache.session(of: profile).state == .locked { throw .token(.locked, profile.id) }
    return profile
  }

  /// The account, if its data may be read now.
  package func readable(_ selector: AccountSelector) throws(AgentFailure) -> AccountProfile {
    let profile = try vault.directory.profile(selector)
    switch profile.signInStatus {
    case .signedIn:
      guard try !vault.isDataLocked(of: profile) else { throw .dataUnderPIN(profile.id) }
      return profile
    case .signedOutSoft:
      throw .dataSealed(profile.id)
    case .signedOutHard:
      throw .signedOut(profile.id, during: .erasedData)
    }
  }

  private func storedNames(of profile: AccountProfile) throws(AgentFailure) -> Set<String> {
    try vault.withRecords(of: profile.id) { (records) throws(VaultFailure) in
      guard let plain = try records.read(profile.partition, .programSecretNames) else { return [] }
      guard let names = SecretJSON.read(plain, { $0["names"]?.strings }) else { throw .integrity }
      return Set(names)
    }
  }

  private func place(of name: String, in profile: AccountProfile) throws(AgentFailure) -> [UInt8] {
    try vault.withRecords(of: profile.id) { (records) throws(VaultFailure) in
      try records.places().id(of: .programSecret, name)
    }
  }

  private static func record(_ name: String, _ value: Secret) -> Secret {
    SecretJSON.write { writer in
      writer.member("name", name)
      writer.member("value", value)
    }
  }

  private static func record(_ names: Set<String>) -> Secret {
    SecretJSON.write { $0.member("names", names.sorted()) }
  }
}
