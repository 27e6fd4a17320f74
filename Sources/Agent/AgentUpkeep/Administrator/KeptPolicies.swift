internal import AgentCore
internal import AgentPermissions
internal import AgentPorts
internal import AgentStore
package import AgentVault
internal import JSONRPC
internal import SecretJSON
internal import Secrets

extension DeclaredKind {
  /// A policy of the administrator's files as it was good last (docs/administrator.md).
  package static let administratorPolicy = DeclaredKind(54, under: .vault, [.counted, .answersForItself])
}

extension OpenVault {
  var administratorPolicies: KeptPolicies { KeptPolicies(vault: self) }
}

/// The policies of the administrator's files as they were good last, sealed in the vault: a file that can't be read at a
/// start must not leave the decisions to a weaker policy of the person (docs/administrator.md).
struct KeptPolicies {
  let vault: OpenVault

  /// What is kept. A record that does not open is left out.
  func all() throws(AgentFailure) -> [ManagedPolicy] { try records().compactMap(\.policy) }

  /// The changes after which `policies`, those that count now, are kept and no others.
  func keeping(_ policies: [ManagedPolicy]) throws(AgentFailure) -> [VaultChange] {
    let kept = try records()
    var (changes, places): ([VaultChange], Set<[UInt8]>) = ([], [])
    for policy in policies {
      guard let document = policy.document, case .file(let path) = policy.source else { continue }
      let place = try vault.withRecords { (records) throws(VaultFailure) in
        try records.places().id(of: .policy, document.name)
      }
      places.insert(place)
      let before = kept.first { $0.place == place }?.policy
      if before?.document == document, before?.source == policy.source { continue }
      changes.append(.put(.vault, .administratorPolicy, id: place, Self.record(policy, path)))
    }
    for record in kept where !places.contains(record.place) {
      changes.append(.delete(.vault, .administratorPolicy, id: record.place))
    }
    return changes
  }

  private func records() throws(AgentFailure) -> [(place: [UInt8], policy: ManagedPolicy?)] {
    try vault.withRecords { (records) throws(VaultFailure) in try records.readEach(.administratorPolicy) }
      .map { ($0.id, $0.plain.flatMap(Self.policy)) }
  }

  private static func record(_ policy: ManagedPolicy, _ path: String) -> Secret {
    SecretJSON.write { writer in
      writer.member("path", path)
      writer.key("document")
      policy.policy.document.write(to: &writer)
    }
  }

  private static func policy(_ plain: Secret) -> ManagedPolicy? {
    let read = SecretJSON.read(plain) { node -> (String, RawJSON)? in
      guard let path = node["path"]?.string, let document = node["document"] else { return nil }
      return (path, RawJSON(document))
    }
    guard let (path, written) = read, let document = try? PolicyDocument(parsing: written.withBytes { [UInt8]($0) })
    else { return nil }
    return ManagedPolicy(document, as: written, from: .file(path))
  }
}
