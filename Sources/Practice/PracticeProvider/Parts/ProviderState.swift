import LoopbackHTTP

/// The provider's whole state: a part for each concern, with the functions about it. What needs several parts is a
/// mutating method here, in `Routing.swift` and one file each in `Endpoints/`.
package struct ProviderState {
  private let initialOptions: PracticeOptions
  var context: ProviderContext

  var clients = ClientRegistry()
  var authorizations = Authorizations()
  package var signIns = BrowserSignIns()
  var devices = DeviceAuthorizations()
  var tokens: TokenFamilies
  var proofs = PossessionProofs()
  var secrets = GivenSecrets()
  /// Effects at `/protected`, by idempotency key.
  var effects = ProtectedEffects()
  /// How often credentials of a role were given at `/sts`.
  var rolesAssumed = 0

  var faults = FaultQueue()
  var log = RequestLog()

  init(issuer: String, options: PracticeOptions, random: @escaping @Sendable (Int) -> [UInt8]) {
    initialOptions = options
    let issuer = Issuer(issuer, endsInSlash: options.guise?.endsInSlash ?? false)
    context = ProviderContext(issuer: issuer, random: random, options: options)
    tokens = TokenFamilies(
      signer: TokenSigner(keys: KeyRing(options.signingAlgorithm, source: options.keySource, random: random)))
  }

  /// Resets the provider to its first state.
  mutating func reset() {
    self = ProviderState(issuer: context.issuer.identifier, options: initialOptions, random: context.random)
  }

  /// The client that makes this request (RFC 6749 section 2.3).
  mutating func authenticateClient(_ request: HTTPRequest, _ form: Parameters) throws(OAuthError) -> PracticeClient {
    let credentials = try ClientCredentials(request, form)
    let client = try clients.named(by: credentials, in: context)
    guard clients.accept(credentials, of: client, at: request.path, in: context) else {
      if context.options.wrongSecretBurnsRefreshToken, let token = form["refresh_token"] {
        tokens.revoke(refreshToken: token)
      }
      throw credentials.refusal
    }
    return client
  }
}
