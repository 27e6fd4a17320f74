package import AgentModel
package import AgentPorts

extension Provider {
  /// Whether a sign-in asks for tokens that are bound to a key.
  package var bindsTokens: Bool {
    switch configuration.dpop {
    case .off: false
    case .auto: metadata?.dpopAlgorithms.contains(SignatureAlgorithm.es256.rawValue) == true
    case .required: true
    }
  }

  /// The key of a sign-in; nil for one that brings bearer tokens, and without a cryptographic library.
  package func newDeviceKey(by signer: any ClientKeySigner) -> DeviceKey? {
    bindsTokens ? DeviceKey(by: signer) : nil
  }

  /// Bearer tokens are not served.
  package var refusesBearerTokens: Bool { configuration.dpop == .required }

  /// True for an address at which no program has a request of its own: it is for the agent's client credentials, for
  /// refresh tokens and codes. Userinfo takes access tokens. Another spelling that servers may take for the same path
  /// counts as that path.
  package func isOwnEndpoint(_ url: HTTPURL) -> Bool {
    let own = [
      endpoints.authorization, endpoints.token, endpoints.revocation, endpoints.introspection,
      endpoints.deviceAuthorization, endpoints.registration, endpoints.pushedAuthorizationRequest,
    ]
    let path = url.comparablePath
    return own.contains { address in
      address.flatMap { HTTPURL($0) }.map { $0.origin == url.origin && $0.comparablePath == path } ?? false
    }
  }
}

extension HTTPURL {
  /// The segments of the path as a lenient server may read them: escapes decoded, without parameters (`;…`, RFC 3986
  /// §3.3), empty segments and dot segments. For comparison only.
  fileprivate var comparablePath: [[UInt8]] {
    var kept: [[UInt8]] = []
    for segment in Self.unescaped(path).split(separator: UInt8(ascii: "/")) {
      switch Array(segment.prefix { $0 != UInt8(ascii: ";") }) {
      case [], [0x2E]: break
      case [0x2E, 0x2E]: _ = kept.popLast()
      case let name: kept.append(name)
      }
    }
    return kept
  }

  /// Each `%` of a path is followed by two hexadecimal digits.
  private static func unescaped(_ path: String) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = path.utf8[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), let decoded = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) {
        bytes.append(decoded)
        rest.removeFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return bytes
  }
}
