package import AgentCore
internal import AgentModel
internal import AgentPorts
internal import Secrets

/// Why the claims in an answer of userinfo can't be read.
package enum UserInfoFailure: Error, Sendable {
  /// Neither a JSON object nor a JWT.
  case malformed
  /// Encrypted, which this agent never asked for.
  case encrypted
  /// Signed, and not by this provider for this client.
  case unproven(IDTokenFailure)
  /// Signed, and the provider's keys can't be read.
  case keysUnread(DocumentFailure)

  /// For programs.
  var reason: String {
    switch self {
    case .malformed: "userInfoMalformed"
    case .encrypted: "userInfoEncrypted"
    case .unproven: "userInfoUnproven"
    case .keysUnread: "keysUnread"
    }
  }

  /// Another try may find the keys.
  var isTemporary: Bool { if case .keysUnread(let failure) = self { failure.isTemporary } else { false } }
}

/// Userinfo (OpenID Connect Core §5.3).
extension ProviderDocuments {
  /// Most servers send JSON; a client may be registered for signed answers (§5.3.2).
  func userInfoRequest(_ url: String, atMost bytes: Int? = nil, timeout: Milliseconds? = nil) -> HTTPRequest {
    let fields = [HTTPField("Accept", "application/json, application/jwt;q=0.5")]
    var request = client.request("GET", url, fields: fields, body: nil)
    if let bytes { request.maximumResponseBytes = bytes }
    if let timeout { request.timeout = timeout }
    return request
  }

  /// The claims as JSON text: the body, or the payload of a JWT whose signature is the provider's. The body tells which,
  /// whatever its media type.
  func userInfoClaims(_ body: Secret, _ keySets: KeySets?) async throws(UserInfoFailure) -> Secret {
    guard let parts = body.compactParts else { return body.withoutPreface }
    guard parts == 3 else { throw .encrypted }
    let token: CompactJWT
    do throws(IDTokenFailure) {
      token = try body.trimmed.withBytes { (bytes) throws(IDTokenFailure) in try CompactJWT(parsing: bytes) }
    } catch {
      throw .unproven(error)
    }
    try await verify(token, keySets)
    let provider = client.provider
    do throws(IDTokenFailure) {
      let fault = UserInfoPolicy.fault(
        of: try IDTokenClaims(token), clientID: provider.configuration.clientID, now: client.now,
        isIssuer: provider.isItself)
      if let fault { throw fault }
    } catch {
      throw .unproven(error)
    }
    return token.payload.withUnsafeBytes { Secret(copying: $0) }
  }

  /// By the keys that are known, else by those that the provider publishes now.
  private func verify(_ token: CompactJWT, _ keySets: KeySets?) async throws(UserInfoFailure) {
    let configuration = client.provider.configuration
    if let known = keySets?.keys(of: configuration.name, issuer: configuration.issuer),
      client.clock.boot() - known.readAt < KeySets.lifetime,
      (try? known.set.hasSigned(token, by: client.signatures)) == true
    {
      return
    }
    let keys: IssuerKeys?
    do throws(DocumentFailure) {
      keys = try await readKeys(into: keySets)
    } catch {
      throw .keysUnread(error)
    }
    do throws(IDTokenFailure) {
      guard let keys else { throw .keyNotFound }
      guard try keys.set.hasSigned(token, by: client.signatures) else { throw .signatureInvalid }
    } catch {
      throw .unproven(error)
    }
  }
}

extension Secret {
  /// Without white space around it.
  fileprivate var trimmed: Secret {
    withBytes { bytes in
      let end = bytes.lastIndex { $0 > 0x20 }.map { $0 + 1 } ?? 0
      let start = bytes.firstIndex { $0 > 0x20 } ?? 0
      return Secret(copying: UnsafeRawBufferPointer(rebasing: bytes[min(start, end)..<end]))
    }
  }

  /// The number of parts of a JOSE object in compact form (RFC 7515 §7.1, RFC 7516 §7.1); nil for any other text.
  fileprivate var compactParts: Int? {
    trimmed.withBytes { bytes in
      // The first letters of an object's encoding.
      guard bytes.starts(with: "ey".utf8), bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
      return 1 + bytes.count { $0 == UInt8(ascii: ".") }
    }
  }
}

extension JWKSet {
  /// True if one of the keys signed an answer of userinfo, whose algorithms the metadata lists apart from those of ID
  /// tokens.
  fileprivate func hasSigned(_ token: CompactJWT, by signatures: any SignatureVerifier) throws(IDTokenFailure) -> Bool {
    try candidates(for: token, announced: []).contains {
      signatures.isValid(token.signature, over: token.signedBytes, by: $0, algorithm: token.algorithm)
    }
  }
}
