import LoopbackHTTP

/// The provider's whole state. The endpoints are its mutating methods, one file each in `Endpoints/`.
struct ProviderState {
  let issuer: Issuer
  let random: @Sendable (Int) -> [UInt8]
  let initialOptions: PracticeOptions
  var options: PracticeOptions
  var keys: KeyRing

  /// Wall clock in milliseconds, with the provider's offset; set at the beginning of each call.
  var now: Int64 = 0

  var grants: [String: Grant] = [:]
  var refreshTokens: [String: RefreshToken] = [:]
  var accessTokens: [String: AccessToken] = [:]
  var codes: [String: AuthorizationCode] = [:]
  /// Pushed authorization requests that were not used yet, by `request_uri`.
  var pushedRequests: [String: PushedRequest] = [:]
  /// The ids of client assertions that were used, with their expiry: each is accepted once.
  var seenAssertions: [String: Int64] = [:]
  /// Clients that registered themselves, by id; the clients of the options come first.
  var registeredClients: [String: RegisteredClient] = [:]
  var devices: [String: DeviceAuthorization] = [:]
  /// The grant of each ID token, for `id_token_hint`.
  var idTokens: [String: String] = [:]
  /// Sessions of browsers, by cookie.
  var sessions: [String: BrowserSession] = [:]
  /// Open sign-in pages, by the id in their form.
  var interactions: [String: Interaction] = [:]
  /// Effects at `/protected`, by idempotency key.
  var effects = ProtectedEffects()

  var faults = FaultQueue()
  var log = RequestLog()
  /// The difference between the ID token of the current response and a valid one.
  var idTokenChange: (claims: [String: PracticeJSON], signature: Fault.IDTokenSignature)?
  /// For the log: the `client_id` of the current request, once it is known.
  var seenClientID: String?

  init(issuer: String, options: PracticeOptions, random: @escaping @Sendable (Int) -> [UInt8]) {
    self.issuer = Issuer(issuer)
    initialOptions = options
    self.options = options
    self.random = random
    keys = KeyRing(options.signingAlgorithm, source: options.keySource, random: random)
  }

  var nowSeconds: Int64 { now / 1000 }

  /// An unpredictable value: 192 random bits behind a prefix that names its kind.
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
  /// Limit of pages that are opened and never answered.
  static let maximumOpen = 256

  let request: AuthorizationRequest
  let openedAtMilliseconds: Int64
  /// The page greeted a user who was signed in already, and asked for no password.
  var session: BrowserSession?
}
