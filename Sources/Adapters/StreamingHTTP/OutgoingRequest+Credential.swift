public import AgentModel

extension OutgoingRequest {
  /// Puts a credential to its place: into a field, or into the URL as it leaves.
  public mutating func place(_ credential: UnsafeRawBufferPointer, at placement: SecretPlacement) {
    let placed = WipedBytes(capacity: credential.count + 64)
    if placement.isInURL {
      placement.writeTarget(of: url, credential) { placed.append($0) }
    } else {
      placement.writeField(credential) { placed.append($0) }
    }
    if let name = placement.fieldName { fields.append(RequestField(name, secret: placed)) } else { target = placed }
  }
}
