internal import CTLSServer
internal import Synchronization

/// A certificate authority for one run: its key exists in this process's memory only, and its certificate is constrained to the
/// hosts that it was made for (docs/proxy.md, The authority of a run).
public final class RunAuthority: Sendable {
  /// So long its certificate is good. A proxy that runs longer has to be started again.
  public static let validSeconds = 7 * 86_400
  /// A host's certificate is made anew after half of this.
  static let leafSeconds = 86_400

  private let authority: Handle
  private let leaves = Mutex<[String: (leaf: Leaf, madeAt: Int64)]>([:])
  /// DNS names and IP addresses; leaves are made for no other.
  public let hosts: Set<String>
  /// The certificate in PEM.
  public let certificate: String

  /// Whether the library of the system that this needs, OpenSSL 3, is there.
  public static var isPossible: Bool { ctls_open() }

  /// Nil if there is no host, one is neither a name nor an address, or OpenSSL fails.
  public init?(hosts: [String]) {
    guard let authority = Handle(hosts: hosts) else { return nil }
    self.authority = authority
    self.hosts = Set(hosts)
    certificate = Self.pem { ctls_authority_certificate(authority.pointer, $0, $1) }
    guard !certificate.isEmpty else { return nil }
  }

  /// The certificate for a host of `hosts`, made at the first use. Nil for other hosts.
  /// - Parameter now: seconds of a clock that runs on.
  public func leaf(for host: String, now: Int64) -> Leaf? {
    guard hosts.contains(host) else { return nil }
    return leaves.withLock { leaves in
      if let known = leaves[host], now - known.madeAt < Int64(Self.leafSeconds / 2) { return known.leaf }
      guard let leaf = makeLeaf(for: host) else { return nil }
      leaves[host] = (leaf, now)
      return leaf
    }
  }

  /// Makes a certificate for any host, also for one that a client refuses for the constraints.
  package func makeLeaf(for host: String) -> Leaf? { Leaf(authority.pointer, host: host) }

  fileprivate static func pem(_ copy: (UnsafeMutablePointer<CChar>?, Int) -> Int) -> String {
    // A certificate with hundreds of hosts has some 30 KiB.
    var bytes = [CChar](repeating: 0, count: 1 << 20)
    let count = copy(&bytes, bytes.count)
    guard count <= bytes.count else { return "" }
    return String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private final class Handle: @unchecked Sendable {
    // OpenSSL only reads the key and the certificate after `init`.
    let pointer: OpaquePointer

    init?(hosts: [String]) {
      let names = hosts.map { name in name.utf8CString }
      func make(_ rest: ArraySlice<ContiguousArray<CChar>>, _ pointers: [UnsafePointer<CChar>?]) -> OpaquePointer? {
        guard let first = rest.first else {
          return ctls_authority_make(pointers, pointers.count, RunAuthority.validSeconds)
        }
        return first.withUnsafeBufferPointer { make(rest.dropFirst(), pointers + [$0.baseAddress]) }
      }
      guard let pointer = make(names[...], []) else { return nil }
      self.pointer = pointer
    }

    deinit { ctls_authority_free(pointer) }
  }

  /// A host's certificate with its key.
  public final class Leaf: @unchecked Sendable {
    // OpenSSL counts the references of an SSL_CTX, and sessions only read it.
    let pointer: OpaquePointer

    fileprivate init?(_ authority: OpaquePointer, host: String) {
      guard let pointer = ctls_leaf_make(authority, host, RunAuthority.leafSeconds) else { return nil }
      self.pointer = pointer
    }

    deinit { ctls_leaf_free(pointer) }

    /// The certificate in PEM.
    public var certificate: String { RunAuthority.pem { ctls_leaf_certificate(pointer, $0, $1) } }
  }
}
