internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import JSONRPC
internal import Secrets

/// A policy as it is kept: the document as it was written.
struct StoredPolicy: Sendable {
  var name: String
  var version: Int64
  var document: RawJSON

  var record: Secret {
    RecordCoding.write { writer in
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

  init?(_ plain: Secret) {
    let read = RecordCoding.read(plain) { node -> (String, Int64, RawJSON)? in
      guard let name = node["name"]?.string, let version = node["version"]?.integer, let document = node["document"]
      else { return nil }
      return (name, version, RawJSON(document))
    }
    guard let read else { return nil }
    (name, version, document) = read
  }

  /// Nil if this agent can't read it: one that a later version wrote, with members that this one does not know.
  var parsed: PolicyDocument? { try? PolicyDocument(parsing: document.withBytes { [UInt8]($0) }, expectedName: name) }
}

/// The policies: sealed in the vault, one record each.
extension VaultActor {
  /// Each may hold a line's 1 MiB, and all are in memory.
  static let mostPolicies = 64

  func policies() throws(AgentFailure) -> [StoredPolicy] {
    let all = try onVault { (vault) throws(VaultFailure) in try vault.policies() }
    return all.sorted { $0.name < $1.name }
  }

  func policy(named name: String) throws(AgentFailure) -> StoredPolicy {
    let found = try onVault { (vault) throws(VaultFailure) -> StoredPolicy? in try vault.policy(named: name) }
    guard let found else {
      throw .notFound(.policy)
    }
    return found
  }

  /// Durable when it returns, and in force. Returns the version that was there before.
  ///
  /// A version never decreases: whoever puts back an old document would widen what was narrowed since.
  func setPolicy(_ document: PolicyDocument, as written: RawJSON) throws(AgentFailure) -> Int64? {
    let all = try onVault { (vault) throws(VaultFailure) in try vault.policies() }
    let previous = all.first { $0.name == document.name }
    if let previous, document.version < previous.version {
      throw .policyInvalid(
        PolicyProblems(
          PolicyProblem(
            pointer: "/version",
            text: "Version \(previous.version) of this policy is in force, and a version never decreases.")))
    }
    guard previous != nil || all.count < Self.mostPolicies else { throw .overloaded("policies") }
    let entry = audited(.policySet, .policy(document.name), .policyVersion(document.version))
    try onVault { (vault) throws(VaultFailure) in
      try vault.apply([
        .put(.vault, .policy, id: vault.place(ofPolicy: document.name), StoredPolicy(document, as: written).record),
        entry,
      ])
    }
    policyCache.put(document)
    return previous?.version
  }
}

extension Vault {
  /// Those that open. One that does not is no policy any more: what stood under it is denied, and whoever sets it
  /// again replaces it.
  func policies() throws(VaultFailure) -> [StoredPolicy] {
    try readEach(.policy).compactMap { _, plain in plain.flatMap { StoredPolicy($0) } }
  }

  /// The documents for those who decide: nil stands for one that can't be read, under the name that providers use.
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
    for name in names.union([PolicyCache.defaultName]) where unreadable.contains(try place(ofPolicy: name)) {
      documents.updateValue(nil, forKey: name)
    }
    return documents
  }

  fileprivate func policy(named name: String) throws(VaultFailure) -> StoredPolicy? {
    guard let plain = try read(.vault, .policy, id: place(ofPolicy: name)) else { return nil }
    guard let policy = StoredPolicy(plain) else { throw .integrity }
    return policy
  }

  func place(ofPolicy name: String) throws(VaultFailure) -> [UInt8] { try index("policy", name) }
}
