/// Writes a credential to its place in a request: the one code for all that send one, in the agent and in the programs
/// beside it (docs/secrets.md, Placement). `emit` gets piece by piece, so that a credential goes from guarded memory into
/// guarded memory.
extension SecretPlacement {
  /// The value of the field `fieldName`; nothing for a credential in the URL.
  public func writeField(_ secret: UnsafeRawBufferPointer, _ emit: (UnsafeRawBufferPointer) -> Void) {
    func emitByte(_ byte: UInt8) { withUnsafeBytes(of: byte) { emit($0) } }
    switch self {
    case .header(_, let template):
      template.before.utf8.forEach(emitByte)
      emit(secret)
      template.after.utf8.forEach(emitByte)
    case .basic(let username):
      "Basic ".utf8.forEach(emitByte)
      var encoder = Base64.Encoder()
      for byte in (username ?? "").utf8 { encoder.append(byte, emitByte) }
      encoder.append(UInt8(ascii: ":"), emitByte)
      for byte in secret { encoder.append(byte, emitByte) }
      encoder.finish(emitByte)
    case .query, .path: break
    }
  }

  /// The path and the query of a request, with a credential that stands in the URL.
  public func writeTarget(of url: HTTPURL, _ secret: UnsafeRawBufferPointer, _ emit: (UInt8) -> Void) {
    if case .path(let template) = self {
      template.before.utf8.forEach(emit)
      Self.encodeSegment(secret, emit)
      template.after.utf8.forEach(emit)
    }
    url.path.utf8.forEach(emit)
    guard case .query(let name) = self else {
      if let query = url.query { "?\(query)".utf8.forEach(emit) }
      return
    }
    "?".utf8.forEach(emit)
    if let query = url.query, !query.isEmpty { "\(query)&".utf8.forEach(emit) }
    PercentCoding.encode(name.utf8, emit)
    emit(UInt8(ascii: "="))
    PercentCoding.encode(secret, emit)
  }

  /// One segment of a path (RFC 3986 §3.3). Bot tokens have a colon, which some servers want as it is.
  private static func encodeSegment(_ secret: UnsafeRawBufferPointer, _ emit: (UInt8) -> Void) {
    for byte in secret {
      if "!$&'()*+,;=:@".utf8.contains(byte) { emit(byte) } else { PercentCoding.encode(CollectionOfOne(byte), emit) }
    }
  }
}
