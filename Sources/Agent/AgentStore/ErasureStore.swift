internal import AgentModel
internal import AgentPorts
package import AgentVault
internal import JSONRPC
internal import SecretJSON
internal import Secrets

extension DeclaredKind {
  /// Erasures whose data may still be in the log.
  package static let erasure = DeclaredKind(20, under: .vault)
}

extension OpenVault {
  package var erasures: ErasureStore { ErasureStore(vault: self) }
}

/// Why an erasure is outstanding.
package enum ErasureHoldUp: Sendable {
  /// Another program reads the database, or has locked it.
  case reader
  /// The store failed.
  case failure
}

/// Stores erasures. Erased rows leave the tables at once, and the files when their deleted bytes can be overwritten, which
/// an open reader prevents (docs/sign-out.md, Modes). The note of an outstanding erasure is part of the erasing transaction.
package struct ErasureStore {
  let vault: OpenVault

  /// For the transaction that erases: the accounts whose data must still be erased from the files.
  func notes(of erasure: Erasure?) -> [VaultChange] {
    switch erasure {
    case nil: []
    case .account(let id)?: [Self.note(id, vault.entropy)]
    case .values?: [Self.note(nil, vault.entropy)]
    }
  }

  static func note(_ id: AccountID?, _ entropy: any Entropy) -> VaultChange {
    .put(.vault, .erasure, id: entropy.bytes(16), SecretJSON.write { $0.member("account", id?.text) })
  }

  /// Erases what deleted records left in the files. Returns the accounts whose last data is erased with it; nil if a
  /// reader prevents it.
  func finish() throws(AgentFailure) -> ChangeSet<[AccountID]>? {
    let pending = try vault.withRecords { (records) throws(VaultFailure) -> [(id: [UInt8], plain: Secret)]? in
      let pending = try records.readAll(.vault, .erasure)
      guard !pending.isEmpty else { return [] }
      return try records.eraseDeleted() ? pending : nil
    }
    guard let pending else { return nil }
    return ChangeSet(
      pending.map { .delete(.vault, .erasure, id: $0.id) },
      result: pending.compactMap { entry in
        SecretJSON.read(entry.plain) { $0["account"]?.string.flatMap { AccountID($0) } }
      })
  }

  package func arePending() throws(AgentFailure) -> Bool {
    try vault.withRecords { (records) throws(VaultFailure) in try !records.readAll(.vault, .erasure).isEmpty }
  }
}
