internal import AgentPorts
package import AgentStore

extension VaultActor {
  /// Has the sources unlock the keys that only the person can open, and waits for them; outside of the actor, which
  /// serves others meanwhile. Whether it helped shows when the key is used, which says what is wrong.
  ///
  /// - Parameter protection: the protection of a new slot; nil for the existing slots.
  package nonisolated func unlockKeys(for protection: String? = nil) async {
    let sources = dependencies.keySources
    let slots = protection == nil ? try? await status().slotProtections : nil
    for source in sources {
      let isWanted =
        if let protection {
          source.protection == protection
        } else if let slots {
          // Without a slot the vault would be made by the first source.
          slots.isEmpty ? source.protection == sources.first?.protection : slots.contains(source.protection)
        } else {
          false
        }
      if isWanted { try? await source.unlock() }
    }
  }
}
