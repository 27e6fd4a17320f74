package import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentRecords
package import AgentStore
package import AgentVault
package import JSONRPC
internal import SecretJSON
package import Secrets

extension DeclaredKind {
  /// A policy document, as it was written.
  package static let policy = DeclaredKind(21, under: .vault, [.counted, .answersForItself], named: "policy")
}

/// A policy: its document as written.
package struct StoredPolicy: Sendable {
  package var name: String
  package var version: Int64
  package var document: RawJSON
  /// Nil for the person's own policy, which is in the vault.
  package var source: ManagedSource?

  package var record: Secret {
    SecretJSON.write { writer in
      writer.member("name", name)
      writer.member("version", version)
      writer.key("document")
      document.write(to: &writer)
    }
  }

  init(_ document: PolicyDocument, as written: RawJSON) {
    name = document.name
    version = document.version
    self.document = written
  }

  package init?(_ plain: Secret) {
    let read = SecretJSON.read(plain) { node -> (String, Int64, RawJSON)? in
      guard let name = node["name"]?.string, let version = node["version"]?.integer, let document = node["document"]
      else { return nil }
      return (name, version, RawJSON(document))
    }
    guard let read else { return nil }
    (name, version, document) = read
  }

  /// The parsed document; nil if this agent can't read it, since a later version wrote it with members of its own.
  package var parsed: PolicyDocument? {
    try? PolicyDocument(parsing: document.withBytes { [UInt8]($0) }, expectedName: name)
  }
}

extension OpenVault {
  package var policies: PolicyStore { PolicyStore(vault: self) }
}

/// The policies: sealed in the vault, one record each.
package struct PolicyStore {
  let vault: OpenVault

  /// The bound: each document may have a line's 1 MiB, and all are in memory.
  package static let most = 64

  /// The person's own policies.
  package func all() throws(AgentFailure) -> [StoredPolicy] {
    try vault.withRecords { (records) throws(VaultFailure) in try records.policies() }.sorted { $0.name < $1.name }
  }

  /// The policies that decide: those of the organisation, and the person's own under other names.
  package func inForce() throws(AgentFailure) -> [StoredPolicy] {
    let managed = vault.tables.policyCache.managed
    return (managed.values.map(\.policy) + (try all()).filter { managed[$0.name] == nil }).sorted { $0.name < $1.name }
  }

  /// The policy that decides under this name.
  package func policy(named name: String) throws(AgentFailure) -> StoredPolicy {
    if let managed = vault.tables.policyCache.managed[name] { return managed.policy }
    let found = try vault.withRecords { (records) throws(VaultFailure) in try records.policy(named: name) }
    guard let found else { throw .notFound(.policy) }
    return found
  }

  /// Sets a policy, which takes effect with the commit. Returns the version before.
  ///
  /// A version never decreases: an old document that is put back would allow what a newer one denies. A name that an
  /// organisation's policy has is refused.
  package func set(_ document: PolicyDocument, as written: RawJSON) throws(AgentFailure) -> ChangeSet<Int64?> {
    if let managed = vault.tables.policyCache.managed[document.name] { throw .managed(.policy, managed.source) }
    if let path = vault.tables.policyCache.unreadFile(of: document.name) { throw .managed(.policy, .file(path)) }
    let all = try all()
    let previous = all.first { $0.name == document.name }
    if let previous, document.version < previous.version {
      throw .policyInvalid(
        PolicyProblems(
          PolicyProblem(
            pointer: "/version",
            text: "Version \(previous.version) of this policy is in force, and a version never decreases.")))
    }
    // What a version says is what was decided by it: the log names the version alone.
    if let previous, document.version == previous.version, !PolicyContent.isSame(previous.document, written) {
      throw .policyInvalid(
        PolicyProblems(
          PolicyProblem(
            pointer: "/version",
            text: "Version \(previous.version) of this policy is in force with other content. Raise the version.")))
    }
    guard previous != nil || all.count < Self.most else { throw .overloaded("policies") }
    return ChangeSet(
      [
        try putting(StoredPolicy(document, as: written)),
        vault.audited(.policySet, .policy(document.name), .policyVersion(document.version)),
      ],
      memory: [.policy(document)], result: previous?.version
    ).onlyIntoFreeRoom
  }

  package func putting(_ policy: StoredPolicy) throws(AgentFailure) -> VaultChange {
    try vault.withRecords { (records) throws(VaultFailure) in
      .put(.vault, .policy, id: try records.places().id(of: .policy, policy.name), policy.record)
    }
  }
}

extension Vault {
  /// The readable policies. Under the name of a damaged record everything is denied until the policy is set again.
  func policies() throws(VaultFailure) -> [StoredPolicy] {
    try readEach(.policy).compactMap { _, plain in plain.flatMap { StoredPolicy($0) } }
  }

  /// The documents for `PolicyCache`: nil stands for an unreadable document, under the name that providers use.
  func documents(named names: Set<String>) throws(VaultFailure) -> [String: PolicyDocument?] {
    var documents: [String: PolicyDocument?] = [:]
    var unreadable: Set<[UInt8]> = []
    for (id, plain) in try readEach(.policy) {
      if let policy = plain.flatMap({ StoredPolicy($0) }) {
        documents.updateValue(policy.parsed, forKey: policy.name)
      } else {
        unreadable.insert(id)
      }
    }
    guard !unreadable.isEmpty else { return documents }
    for name in names.union([PolicyCache.defaultName]) where unreadable.contains(try places().id(of: .policy, name)) {
      documents.updateValue(nil, forKey: name)
    }
    return documents
  }

  fileprivate func policy(named name: String) throws(VaultFailure) -> StoredPolicy? {
    guard let plain = try read(.vault, .policy, id: places().id(of: .policy, name)) else { return nil }
    guard let policy = StoredPolicy(plain) else { throw .integrity }
    return policy
  }
}
