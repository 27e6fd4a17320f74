package import AgentModel
package import AgentPorts
internal import Synchronization

/// The nonces that servers told in `DPoP-Nonce` (RFC 9449 §8 and §9), in memory: a lost one costs one more request.
package final class DPoPNonces: Sendable {
  /// The use of a server: a nonce for the token endpoint is none for resources, also at the same origin (§9).
  package enum Use: Hashable, Sendable { case tokens, resources }

  private struct Place: Hashable {
    var use: Use
    var origin: String
    var thumbprint: String
  }

  /// In two halves, each full at this number, so that forgetting the oldest ones costs nothing. Enough for a server of
  /// each kind for 4,096 accounts.
  private static let half = 8192
  /// Some servers encrypt their state into it.
  private static let longest = 1024

  private let nonces = Mutex<(new: [Place: String], old: [Place: String])>(([:], [:]))

  package init() {}

  /// The nonce that the server told this key last.
  package func nonce(for use: Use, at url: HTTPURL, by key: DeviceKey) -> String? {
    let place = Place(use: use, origin: url.origin, thumbprint: key.thumbprint)
    return nonces.withLock { $0.new[place] ?? $0.old[place] }
  }

  /// Remembers the nonce of a response.
  package func remember(_ nonce: String, for use: Use, at url: HTTPURL, by key: DeviceKey) {
    let place = Place(use: use, origin: url.origin, thumbprint: key.thumbprint)
    nonces.withLock { nonces in
      if nonces.new.count >= Self.half { (nonces.new, nonces.old) = ([:], nonces.new) }
      nonces.new[place] = nonce
    }
  }

  /// The nonce of a response; nil without one that RFC 9449 §8.1 allows.
  package static func told(by response: HTTPResponse) -> String? {
    guard let nonce = response.field("DPoP-Nonce"), (1...longest).contains(nonce.utf8.count),
      nonce.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") })
    else { return nil }
    return nonce
  }
}
