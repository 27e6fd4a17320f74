import LoopbackHTTP

/// All that the provider remembers. The endpoints are its mutating methods, one file each in `Endpoints/`.
struct ProviderState {
  let issuer: Issuer
  let random: @Sendable (Int) -> [UInt8]
  let initialOptions: PracticeOptions
  var options: PracticeOptions
  var keys: KeyRing

  /// Wall clock in milliseconds, the provider's offset included; set once at the beginning of each call.
  var now: Int64 = 0

  var grants: [String: Grant] = [:]
  var refreshTokens: [String: RefreshToken] = [:]
  var accessTokens: [String: AccessToken] = [:]
  var codes: [String: AuthorizationCode] = [:]
  /// Authorization requests that were pushed and not yet used, by `request_uri`.
  var pushedRequests: [String: PushedRequest] = [:]
  /// The ids of client assertions that have come, with their end: each is taken once.
  var seenAssertions: [String: Int64] = [:]
  /// Clients that registered themselves, by id, after those of the options.
  var registeredClients: [String: RegisteredClient] = [:]
  var devices: [String: DeviceAuthorization] = [:]
  /// ID tokens to the grants they came from, for `id_token_hint`.
  var idTokens: [String: String] = [:]
  /// Browsers that are signed in, by cookie.
  var sessions: [String: BrowserSession] = [:]
  /// Sign-in pages that are open, by the id in their form.
  var interactions: [String: Interaction] = [:]
  /// What was done at `/protected`, by idempotency key.
  var effects = ProtectedEffects()

  var faults = FaultQueue()
  var log = RequestLog()
  /// How the ID token of the answer in the making differs from a good one.
  var idTokenChange: (claims: [String: PracticeJSON], signature: Fault.IDTokenSignature)?
  /// For the log: the `client_id` of the request at hand, once it is known.
  var seenClientID: String?

  init(issuer: String, options: PracticeOptions, random: @escaping @Sendable (Int) -> [UInt8]) {
    self.issuer = Issuer(issuer)
    initialOptions = options
    self.options = options
    self.random = random
    keys = KeyRing(options.signingAlgorithm, source: options.keySource, random: random)
  }

  var nowSeconds: Int64 { now / 1000 }

  /// A value nobody can guess: 192 random bits behind a prefix that tells a reader what it is.
  func newValue(_ prefix: String) -> String { prefix + Base64URL.encode(random(24)) }

  func client(_ id: String) -> PracticeClient? {
    options.clients.first { $0.id == id } ?? registeredClients[id]?.client
  }

  func userIndex(_ name: String) -> Int? { options.users.firstIndex { $0.isCalled(name) } }
}

struct BrowserSession: Sendable, Equatable {
  let userIndex: Int
  let authTime: Int64
}

/// An authorization request whose page is open in a browser.
struct Interaction: Sendable {
  static let lifetimeMilliseconds: Int64 = 600_000
  /// Pages that are opened and never answered must not pile up.
  static let maximumOpen = 256

  let request: AuthorizationRequest
  let openedAtMilliseconds: Int64
  /// The page greeted somebody who is signed in already, and asked no password.
  var session: BrowserSession?
}
