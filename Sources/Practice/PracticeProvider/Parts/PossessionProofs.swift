import COpenSSL
import LoopbackHTTP

/// Checks proofs of possession (RFC 9449 section 4.3): a second opinion on those of the agent.
struct PossessionProofs {
  /// The use of an endpoint: a nonce of one use is none for the other (section 9).
  enum Use: Hashable { case tokens, resources }

  enum Refusal: Error {
    case invalid(String)
    case nonce(next: String)
  }

  /// How far the time in a proof may be off.
  static let windowSeconds: Int64 = 60
  static let nonceLifetimeMilliseconds: Int64 = 60_000

  /// The proofs that were used, each with the end of its window.
  private var used: [String: Int64] = [:]
  private var nonces: [Use: [String: Int64]] = [:]

  /// The thumbprint of the key; nil without a proof.
  mutating func check(
    _ request: HTTPRequest, _ use: Use, accessToken: String? = nil, in context: ProviderContext
  ) throws(Refusal) -> String? {
    let proofs = request.headers.filter { $0.name.lowercased() == "dpop" }
    guard let proof = proofs.first?.value else { return nil }
    guard proofs.count == 1 else { throw .invalid("more than one proof") }
    guard let signed = SignedProof(proof) else { throw .invalid("the proof can't be read") }
    guard signed.isSigned else { throw .invalid("the signature does not fit") }
    let claims = signed.claims
    guard claims["htm"]?.stringValue == request.method else { throw .invalid("another method") }
    guard claims["htu"]?.stringValue == context.issuer.origin + request.path else { throw .invalid("another URL") }
    guard let issuedAt = claims["iat"]?.integerValue, abs(issuedAt - context.nowSeconds) <= Self.windowSeconds else {
      throw .invalid("too old, or of the future")
    }
    if let accessToken {
      guard claims["ath"]?.stringValue == Base64URL.encode(Digest.sha256(accessToken.utf8)) else {
        throw .invalid("another access token")
      }
    }
    if context.options.dpop == .nonce { try take(nonce: claims["nonce"]?.stringValue, for: use, in: context) }
    guard let id = claims["jti"]?.stringValue, id.utf8.count >= 16 else { throw .invalid("no identifier") }
    used = used.filter { $0.value >= context.nowSeconds }
    guard used.updateValue(issuedAt + Self.windowSeconds, forKey: id) == nil else { throw .invalid("used before") }
    return signed.thumbprint
  }

  /// A nonce for the client's next proof.
  mutating func nextNonce(for use: Use, in context: ProviderContext) -> String {
    let nonce = context.newValue("nonce_")
    nonces[use, default: [:]][nonce] = context.now + Self.nonceLifetimeMilliseconds
    return nonce
  }

  private mutating func take(nonce: String?, for use: Use, in context: ProviderContext) throws(Refusal) {
    nonces[use] = nonces[use]?.filter { $0.value > context.now }
    guard let nonce, nonces[use]?.removeValue(forKey: nonce) != nil else {
      throw .nonce(next: nextNonce(for: use, in: context))
    }
  }
}

/// A proof whose claims are not checked yet.
private struct SignedProof {
  let claims: PracticeJSON
  let isSigned: Bool
  let thumbprint: String

  init?(_ text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 3, let header = Base64URL.decode(parts[0]).flatMap({ try? PracticeJSON(parsing: $0) }),
      let claims = Base64URL.decode(parts[1]).flatMap({ try? PracticeJSON(parsing: $0) }),
      let signature = Base64URL.decode(parts[2]), header["typ"]?.stringValue == "dpop+jwt",
      header["alg"]?.stringValue == "ES256", let key = header["jwk"], key["kty"]?.stringValue == "EC",
      key["crv"]?.stringValue == "P-256", key["d"] == nil, let xText = key["x"]?.stringValue,
      let yText = key["y"]?.stringValue, let x = Base64URL.decode(xText), let y = Base64URL.decode(yText),
      x.count == 32, y.count == 32
    else { return nil }
    self.claims = claims
    isSigned = Self.verify(signature, over: Array((parts[0] + "." + parts[1]).utf8), x, y)
    thumbprint = Base64URL.encode(
      Digest.sha256(#"{"crv":"P-256","kty":"EC","x":"\#(xText)","y":"\#(yText)"}"#.utf8))
  }

  private static func verify(_ signature: [UInt8], over message: [UInt8], _ x: [UInt8], _ y: [UInt8]) -> Bool {
    // SubjectPublicKeyInfo of an uncompressed point on P-256 (RFC 5480 section 2).
    let head: [UInt8] = [
      0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE,
      0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
    ]
    let der = head + x + y
    let key = der.withUnsafeBufferPointer { buffer in
      var cursor = buffer.baseAddress
      return d2i_PUBKEY(nil, &cursor, buffer.count)
    }
    guard let key else { return false }
    defer { EVP_PKEY_free(key) }
    let encoded = ClientAssertion.der(fromJOSE: signature)
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
      && EVP_DigestVerify(context, encoded, encoded.count, message, message.count) == 1
  }
}

/// The endpoints' part.
extension ProviderState {
  /// The thumbprint of the key that the tokens of this request are bound to; nil for bearer tokens.
  mutating func provenKey(
    atTokenEndpoint request: HTTPRequest, isNeeded: Bool = true
  ) throws(OAuthError) -> String? {
    guard context.options.dpop != .off else { return nil }
    let thumbprint: String?
    do throws(PossessionProofs.Refusal) {
      thumbprint = try proofs.check(request, .tokens, in: context)
    } catch {
      switch error {
      case .invalid(let text): throw OAuthError(code: "invalid_dpop_proof", description: text)
      case .nonce(let next):
        throw OAuthError(code: NonceError.code, headers: [("DPoP-Nonce", next)])
      }
    }
    guard thumbprint != nil || !isNeeded || context.options.dpop == .offered else {
      throw OAuthError(code: "invalid_dpop_proof", description: "a proof is needed")
    }
    return thumbprint
  }

  /// The token of a request to a resource, if it is bound to the key of its proof (section 7.1); nil for another scheme.
  mutating func boundToken(_ request: HTTPRequest) throws(OAuthError) -> (token: AccessToken, grant: Grant)? {
    guard let header = request.header("Authorization") else { return nil }
    let parts = header.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "dpop" else { return nil }
    let thumbprint: String?
    do throws(PossessionProofs.Refusal) {
      thumbprint = try proofs.check(request, .resources, accessToken: String(parts[1]), in: context)
    } catch {
      switch error {
      case .invalid(let text): throw .possession("invalid_dpop_proof", text)
      case .nonce(let next): throw .possession(NonceError.code, "another nonce", nonce: next)
      }
    }
    guard let thumbprint else { throw .possession("invalid_dpop_proof", "a proof is needed") }
    guard let valid = tokens.validAccessToken(String(parts[1]), in: context), valid.token.thumbprint == thumbprint
    else {
      throw .possession("invalid_token", "the access token is expired, revoked, unknown or bound to another key")
    }
    return valid
  }

  /// The fields that a response to a request with a proof has.
  mutating func nonceField(for use: PossessionProofs.Use) -> [(name: String, value: String)] {
    context.options.dpop == .nonce ? [("DPoP-Nonce", proofs.nextNonce(for: use, in: context))] : []
  }
}

private enum NonceError { static let code = "use_dpop_nonce" }

extension OAuthError {
  fileprivate static func possession(_ code: String, _ description: String, nonce: String? = nil) -> OAuthError {
    let challenge = "DPoP error=\"\(code)\", error_description=\"\(description)\", algs=\"ES256\""
    return OAuthError(
      code: code, status: 401, description: description,
      headers: [("WWW-Authenticate", challenge)] + (nonce.map { [("DPoP-Nonce", $0)] } ?? []))
  }
}
