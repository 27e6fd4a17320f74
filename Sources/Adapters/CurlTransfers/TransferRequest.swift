package import AgentModel
internal import Glibc

/// A request that passed all checks, in the form that libcurl takes.
package struct TransferRequest: Sendable {
  /// What is sent after the head.
  package enum Body: Sendable {
    case none
    case bytes(any TransferMemory)
    /// `TransferReceiver.read` gives the bytes; nil: their number is not known before.
    case stream(length: Int?)
  }

  package let url: HTTPURL
  package let method: String
  /// The path and the query as they leave, with a credential in them and a NUL behind; nil: those of `url`.
  let target: (any TransferMemory)?
  package let headers: HeaderList
  package let body: Body
  package let trust: TrustSettings
  /// The certificates of `trust.authorities.file`; nil if libcurl reads the file.
  package var certificates: [UInt8]?
  /// The address of the proxy; nil for none.
  let proxy: String?
  /// `trust.pins` in libcurl's spelling: `sha256//…;sha256//…`.
  let pinnedKeys: String?

  /// Why a request is refused before anything is sent.
  package enum Refusal: Error {
    /// Requests carry tokens: plain `http` never leaves this machine, wherever the URL came from.
    case invalidURL
    /// The method or a field is not allowed.
    case invalid
    /// An unreadable pin matches nothing, and plain text proves no key: neither counts as "no pin".
    case pinMismatch
  }

  package init(
    _ method: String, _ url: HTTPURL, target: (any TransferMemory)? = nil, _ headers: HeaderList?, _ body: Body,
    _ trust: TrustSettings
  ) throws(Refusal) {
    guard url.scheme == .https || url.isLoopback else { throw .invalidURL }
    guard let headers, FieldSyntax.isToken(method), method != "CONNECT",
      target?.bytes.allSatisfy({ (0x21...0x7E).contains($0) }) ?? true
    else { throw .invalid }
    pinnedKeys = trust.pins.isEmpty ? nil : Self.spelling(trust.pins)
    guard trust.pins.isEmpty || url.scheme == .https && pinnedKeys?.isEmpty == false else { throw .pinMismatch }
    self.method = method
    self.url = url
    self.target = target.map(Self.terminated)
    self.headers = headers
    self.body = body
    self.trust = trust
    proxy = trust.proxy(to: url) { name in getenv(name).map { String(cString: $0) } }
  }

  /// A credential stands in its head.
  package var hasSecret: Bool { headers.hasSecret || target != nil }

  private static func terminated(_ memory: any TransferMemory) -> any TransferMemory {
    type(of: memory).filled(count: memory.count + 1) { place in
      place.copyMemory(from: memory.bytes)
      place[memory.count] = 0
    }
  }

  /// RFC 9110 §8.6: a method that anticipates content sends its length even if that is 0.
  var anticipatesContent: Bool { ["POST", "PUT", "PATCH"].contains(method) }

  private static func spelling(_ pins: [String]) -> String {
    pins.filter(isPin).map { "sha256//" + $0.dropFirst("sha256/".count) }.joined(separator: ";")
  }

  /// `sha256/` and the base64 of 32 bytes (RFC 7469 §2.4). libcurl would take any other text for a file name.
  private static func isPin(_ pin: String) -> Bool {
    let digest = pin.utf8.dropFirst("sha256/".utf8.count)
    return pin.hasPrefix("sha256/") && digest.count == 44 && digest.last == UInt8(ascii: "=")
      && digest.dropLast().allSatisfy { FieldSyntax.isAlphanumeric($0) || $0 == 0x2B || $0 == 0x2F }
  }
}

/// The connection on which a request may be sent.
package struct ConnectionRule {
  /// For name, connection and TLS together.
  package var connectMilliseconds: Int
  /// A kept connection that is idle for longer is not taken. Nil: neither is one taken, nor is this one kept.
  package var longestIdleSeconds: Int?
  /// Whether a kept connection may be taken.
  package var mayReuse = true
  /// HTTP/2 where a TLS server offers it.
  package var allowsHTTP2 = false

  package init(connectMilliseconds: Int, longestIdleSeconds: Int?) {
    // libcurl reads 0 as its own time, and a negative number as 0.
    self.connectMilliseconds = min(max(connectMilliseconds, 1), 86_400_000)
    self.longestIdleSeconds = longestIdleSeconds
  }
}
