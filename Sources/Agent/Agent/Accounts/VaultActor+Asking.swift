internal import AgentPorts

/// Keys that are kept under something which only the person can open.
extension VaultActor {
  /// Has them asked, and waits for them; outside of the actor, for others go on meanwhile. Whether it helped shows when
  /// the key is used, which says what is wrong.
  ///
  /// - Parameter protection: the one that a slot is to be made for; nil for those that have one.
  nonisolated func askForKeys(for protection: String? = nil) async {
    for source in keySources {
      let isWanted = if let protection { source.protection == protection } else { await hasSlot(source) }
      if isWanted { try? await source.unlock() }
    }
  }

  /// Whether a slot is opened by it, or the vault would be made by it.
  private func hasSlot(_ source: any KeySource) -> Bool {
    guard let slots = try? keySlotProtections() else { return false }
    return slots.isEmpty ? source.protection == keySources.first?.protection : slots.contains(source.protection)
  }
}
