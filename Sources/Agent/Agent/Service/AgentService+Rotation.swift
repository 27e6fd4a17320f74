internal import AgentPorts
internal import AgentRecords
package import AgentStore
internal import AgentUpkeep

extension AgentService {
  /// Another root key for the vault. Ends when everything is under it; a caller that goes away does not stop it.
  package func rotateRootKey() async throws(AgentFailure) -> UInt32 {
    let epoch = try await VaultRotation.begin(in: vault)
    try await background.finish { [self] () throws(AgentFailure) in try await finishRotation() }
    return epoch
  }

  /// Continues an unfinished rotation, one partition at a time: other requests are served in between.
  func finishRotation() async throws(AgentFailure) {
    var last: PartitionID?
    while let next = try await VaultRotation.next(after: last, in: vault) { last = next }
  }
}
