internal import AgentCore
internal import AgentPorts
internal import AgentStore
internal import AgentVault

/// Whether the keys are still there that open the vault after it is locked (docs/storage.md, Key slots).
struct KeySlotDiagnosis {
  /// The slots whose key is gone or is another one. A passphrase counts as known, and a key that can't be read now as there;
  /// so does that of the service manager, which an agent that was started otherwise does not get.
  private let lost: [KeySlotRow]
  private let isOneLeft: Bool
  private let isOpen: Bool

  /// Asks the sources for their keys, which may take seconds.
  init(of vault: VaultActor) async throws(AgentFailure) {
    let slots = try await vault.openingSlots()
    let sources = vault.dependencies.keySources
    lost = slots.filter { slot in
      guard let source = sources.first(where: { $0.protection == slot.protection }) else { return false }
      return Self.isLost(slot, source)
    }
    isOneLeft = lost.count < slots.count
    isOpen = await vault.isOpen
  }

  private static func isLost(_ slot: KeySlotRow, _ source: any KeySource) -> Bool {
    do throws(KeySourceFailure) {
      guard let key = try source.key() else { return KeyProtection(rawValue: slot.protection) != .systemdCredential }
      return !KeySlots.isHolder(key, of: slot)
    } catch {
      return error == .damaged
    }
  }

  var findings: Findings {
    var findings = Findings()
    for slot in lost {
      let what = Self.what(slot.protection)
      switch (isOneLeft, isOpen) {
      case (true, _):
        findings.notice(
          "protection", "\(what), so key slot \(slot.number) opens nothing.",
          "`lanyard key remove \(slot.number)` removes the slot; or put the key back.")
      case (false, true):
        findings.problem(
          "protection",
          "\(what). The vault is still open; once it is locked or the agent ends, nothing opens it, and all accounts are lost.",
          "`lanyard key add passphrase` now: then the passphrase opens it, and nothing is lost.",
          "Or put the key back from a copy.")
      case (false, false):
        findings.problem(
          "protection", "\(what), so nothing opens the vault.", "Put the key back from a copy.",
          "Without one: move the state directory away, start the agent, and `lanyard restore` a backup.")
      }
    }
    return findings
  }

  /// A sentence without its end.
  private static func what(_ protection: String) -> String {
    switch KeyProtection(rawValue: protection) {
    case .secretService: "The keyring no longer has this store's key"
    case .systemdCredential: "The credential of the service manager is not this store's key"
    case .keyFile, .passphrase, nil: "The file `key` of the state directory is gone, or is not this store's key"
    }
  }
}

extension VaultActor {
  /// The slots that open the vault: while it is open, those that it knows.
  fileprivate func openingSlots() throws(AgentFailure) -> [KeySlotRow] {
    if let vault { return try vault.keySlots.known() }
    return try slots()
  }
}
