internal import AgentPorts

extension AgentService {
  /// Another root key for the vault. Ends when everything is under it; a caller that goes away does not stop it.
  package func rotateRootKey() async throws(AgentFailure) -> UInt32 {
    let epoch = try await vault.beginRotation()
    try await background.finish { [self] () throws(AgentFailure) in try await finishRotation() }
    return epoch
  }

  /// What a rotation that is on its way has not reached yet; one account after the other, others are served in between.
  func finishRotation() async throws(AgentFailure) {
    var last: PartitionID?
    while let next = try await vault.rotateNext(after: last) { last = next }
  }
}
