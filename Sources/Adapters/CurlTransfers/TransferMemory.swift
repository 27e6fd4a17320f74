/// Memory that wipes itself, for what a request sends: guarded memory in the agent, ordinary memory in programs beside it.
/// Its bytes stay at one address, from which libcurl sends.
package protocol TransferMemory: AnyObject, Sendable {
  /// So many bytes, which `write` writes.
  static func filled(count: Int, _ write: (UnsafeMutableRawBufferPointer) -> Void) -> Self
  /// Number of bytes.
  var count: Int { get }
  /// Lends the bytes to `body`, which must not keep them.
  func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result
}

extension TransferMemory {
  /// Valid as long as this object.
  var bytes: UnsafeRawBufferPointer { withBytes { $0 } }
}

/// The value of a request's field.
package enum TransferFieldValue {
  case text(String)
  /// A credential.
  case secret(any TransferMemory)
}
