internal import AgentPorts
internal import AgentProtocol

/// Keys that are kept under something which only the person can open.
extension Registry {
  /// Has them asked, and waits for them; outside of the actor, for others go on meanwhile. What can't be asked for is
  /// left to `openAgain`, which says what is wrong with it.
  ///
  /// - Parameter protection: the one that a slot is to be made for; nil for those that have one.
  nonisolated func askForKeys(for protection: String? = nil) async throws(RPCError) {
    for source in keySources {
      let isWanted = if let protection { source.protection == protection } else { try await hasSlot(source) }
      guard isWanted else { continue }
      do throws(KeySourceFailure) {
        try await source.unlock()
      } catch .locked {
        throw .key(.locked, of: source.protection)
      } catch {}
    }
  }

  /// Whether a slot is opened by it, or the vault would be made by it.
  private func hasSlot(_ source: any KeySource) throws(RPCError) -> Bool {
    let slots = try keySlotProtections()
    return slots.isEmpty ? source.protection == keySources.first?.protection : slots.contains(source.protection)
  }
}
