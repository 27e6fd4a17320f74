internal import CTLSServer

/// A TLS connection that ends here, over a non-blocking socket that its owner polls. One thread uses it.
public final class ServerSession {
  private let pointer: OpaquePointer

  /// What a call came to.
  public enum Outcome: Hashable, Sendable {
    case bytes(Int)
    /// The peer ended the connection in order.
    case closed
    case wantsRead, wantsWrite
    /// The connection is of no use any more, also where the peer cut it off.
    case failed

    fileprivate init(_ result: Int) {
      switch result {
      case 1...: self = .bytes(result)
      case Int(CTLS_CLOSED): self = .closed
      case Int(CTLS_WANTS_READ): self = .wantsRead
      case Int(CTLS_WANTS_WRITE): self = .wantsWrite
      default: self = .failed
      }
    }
  }

  /// Nil if OpenSSL has no memory left. The socket stays the caller's.
  public init?(_ leaf: RunAuthority.Leaf, socket: Int32) {
    guard let pointer = ctls_session_make(leaf.pointer, socket) else { return nil }
    self.pointer = pointer
  }

  deinit { ctls_session_free(pointer) }

  /// Goes on with the handshake; `bytes` once it is complete.
  public func accept() -> Outcome { Outcome(Int(ctls_session_accept(pointer))) }

  public func read(into memory: UnsafeMutableRawBufferPointer) -> Outcome {
    Outcome(ctls_session_read(pointer, memory.baseAddress, memory.count))
  }

  public func write(_ bytes: UnsafeRawBufferPointer) -> Outcome {
    Outcome(ctls_session_write(pointer, bytes.baseAddress, bytes.count))
  }

  /// Tells the peer that nothing follows.
  public func close() { ctls_session_close(pointer) }

  /// The host that the client named (RFC 6066 section 3).
  public var name: String? { ctls_session_name(pointer).map { String(cString: $0) } }
}
