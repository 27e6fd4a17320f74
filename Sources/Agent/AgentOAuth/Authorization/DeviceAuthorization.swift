internal import AgentCore
package import AgentModel
internal import JSONRPC
internal import SecretJSON
package import Secrets

/// The answer of the device authorization endpoint (RFC 8628 §3.2).
package struct DeviceAuthorization: Sendable {
  package let deviceCode: Secret
  package let userCode: String
  package let verificationURI: String
  /// With the user code in it: what a QR code holds. Nil where there is none, or none that may be opened.
  package let verificationURIComplete: String?
  package let lifetime: Milliseconds
  package let interval: Milliseconds

  /// Where the provider says nothing, though RFC 8628 §3.2 wants it.
  private static let defaultLifetime = Milliseconds.seconds(600)
  /// A provider that lets people take longer is asked no longer.
  private static let longestLifetime = Milliseconds.seconds(3600)
  /// A longer code is nothing that a person can type.
  private static let longestUserCode = 64

  /// Nil if a person could not follow it, or the agent could not ask about it.
  package init?(body: Secret) {
    let read = ProviderJSON.read(body) { node -> DeviceAuthorization? in
      guard let deviceCode = node["device_code"]?.secret, deviceCode.count > 0,
        !node["device_code"]!.isDoubtful, let userCode = node["user_code"]?.idText, Self.isTypeable(userCode),
        // Google said `verification_url` before there was a standard, and others took it over.
        let page = Self.page(node["verification_uri"], else: node["verification_url"])
      else { return nil }
      let told = node["expires_in"]?.seconds
      // No server issues a code that has expired: 0 is unknown.
      let lifetime = told.flatMap { $0 > .zero ? $0 : nil } ?? Self.defaultLifetime
      return DeviceAuthorization(
        deviceCode: deviceCode, userCode: userCode, verificationURI: page,
        verificationURIComplete: Self.page(
          node["verification_uri_complete"], else: node["verification_url_complete"]),
        lifetime: min(lifetime, Self.longestLifetime),
        interval: min(
          max(node["interval"]?.seconds ?? DevicePolling.defaultInterval, .seconds(1)), Self.longestLifetime))
    }
    guard let read else { return nil }
    self = read
  }

  private init(
    deviceCode: Secret, userCode: String, verificationURI: String, verificationURIComplete: String?,
    lifetime: Milliseconds, interval: Milliseconds
  ) {
    self.deviceCode = deviceCode
    self.userCode = userCode
    self.verificationURI = verificationURI
    self.verificationURIComplete = verificationURIComplete
    self.lifetime = lifetime
    self.interval = interval
  }

  private static func isTypeable(_ code: String) -> Bool {
    (1...longestUserCode).contains(code.utf8.count) && code.utf8.allSatisfy { (0x20...0x7E).contains($0) }
  }

  /// The first of two members that is a page: one that is null or empty is as absent.
  private static func page(_ first: JSONNode?, else second: JSONNode?) -> String? {
    [first, second].lazy.compactMap { $0?.string.flatMap(page) }.first
  }

  /// A page of the web that a person may be sent to, and nothing else: it ends up in a browser. Real ones have
  /// fragments (`/#/device`).
  private static func page(_ text: String) -> String? {
    guard text.utf8.count <= 2048 else { return nil }
    let address = text.prefix { $0 != "#" }
    let fragment = text.dropFirst(address.count)
    guard let url = HTTPURL(String(address)), url.scheme == .https || url.isLoopback,
      fragment.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { return nil }
    return url.text + fragment
  }
}

extension JSONNode {
  /// A number of seconds, or a string of digits as some providers write them.
  fileprivate var seconds: Milliseconds? {
    (integer ?? string.flatMap { Int64($0) }).map { .seconds(max(0, min($0, 1 << 31))) }
  }
}
