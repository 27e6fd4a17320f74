internal import AgentCore
package import AgentModel
internal import AgentPorts
package import AgentStore
package import AgentVault
internal import JSONRPC
internal import SecretJSON
internal import Secrets

extension DeclaredKind {
  /// What stays of the operations that a PIN seals if they are lost.
  package static let operationTraces = DeclaredKind(44, under: .vault, .answersForItself)
}

extension OpenVault {
  package var operationTraces: OperationTraces { OperationTraces(vault: self) }
}

/// What is known of an account's operations while a PIN seals them: what would stay of each after an erasure, and its
/// status. Without it a hard sign-out, or the last wrong PIN, could not tell which operations are lost.
package struct OperationTraces {
  let vault: OpenVault

  /// With the transaction that seals the data of the account. Empty without operations.
  func putting(_ profile: AccountProfile) -> [VaultChange] {
    guard let operations = try? vault.operations.all(of: profile) else { return [] }
    return Self.putting(operations, of: profile.id)
  }

  static func putting(_ operations: some Collection<Operation>, of id: AccountID) -> [VaultChange] {
    guard !operations.isEmpty else { return [] }
    let plain = SecretJSON.write { writer in
      writer.key("operations")
      writer.beginArray()
      for operation in operations {
        writer.beginObject()
        writer.member("id", Base64URL.encode(operation.id))
        writer.key("trace")
        operation.withoutContent.record.withBytes { writer.raw($0) }
        writer.endObject()
      }
      writer.endArray()
    }
    return [.put(.vault, .operationTraces, id: OperationTally.place(of: id), plain)]
  }

  /// With the transaction that opens the data of the account, or erases it.
  package func deleting(_ id: AccountID) -> [VaultChange] {
    guard (try? record(of: id)) ?? nil != nil else { return [] }
    return [.delete(.vault, .operationTraces, id: OperationTally.place(of: id))]
  }

  /// The operations without their content, in their order. Empty where nothing is sealed, or the record is damaged.
  func operations(of id: AccountID) -> [Operation] {
    guard let plain = (try? record(of: id)) ?? nil else { return [] }
    let read = SecretJSON.read(plain) { node in
      node["operations"]?.elements.compactMap { entry -> Operation? in
        guard let id = entry["id"]?.string.flatMap({ Base64URL.decode($0) }), let trace = entry["trace"] else {
          return nil
        }
        return Operation(trace, id: id)
      }
    }
    return read ?? []
  }

  private func record(of id: AccountID) throws(AgentFailure) -> Secret? {
    try vault.withRecords(of: id) { (records) throws(VaultFailure) in
      try records.read(.vault, .operationTraces, id: OperationTally.place(of: id))
    }
  }
}
