/// Why a listener could not start.
public enum LoopbackError: Error, Equatable, Sendable {
  /// The host is neither in 127.0.0.0/8 nor `::1` nor `localhost`.
  case notLoopback(host: String)
  /// Another socket listens on the port. RFC 8252 section 8.3: never share a port with another program.
  case portBusy(UInt16)
  /// This user may not listen on this port (below 1024).
  case notPermitted(UInt16)
  /// Any other failure: the call and its errno.
  case system(call: String, errno: Int32)
}

extension LoopbackError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .notLoopback(let host): "\(host) is not a loopback host"
    case .portBusy(let port): "port \(port) is in use"
    case .notPermitted(let port): "this user may not listen on port \(port)"
    case .system(let call, let errno): "\(call) failed (errno \(errno))"
    }
  }
}
