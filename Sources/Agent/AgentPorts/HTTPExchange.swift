public import AgentModel
public import Secrets

/// Sends one HTTP request exactly once: no retry and no redirect, and unless the request allows it (`reuse`) on a new
/// connection that is closed after it.
///
/// A refresh request whose response is lost may have consumed the refresh token. A silent retry would reuse that token,
/// and the provider could end the session.
public protocol HTTPExchange: Sendable {
  /// Sends `request`. It never throws: every failure is an `HTTPOutcome`. Cancelling the task ends the request as
  /// `unknown` or `notConnected`.
  func send(_ request: HTTPRequest) async -> HTTPOutcome
  /// Begins to send `request` without a task, and calls `ended` once: on a thread of the exchange, which does nothing else
  /// meanwhile, or before it returns, so the caller holds no lock. Returns false if the request can't begin at once: then
  /// nothing happened, and `send` takes it. `cancellation` ends the request as cancelling the task of `send` does.
  func begin(
    _ request: HTTPRequest, _ cancellation: Cancellation, ended: @escaping @Sendable (HTTPOutcome) -> Void
  ) -> Bool
  /// Connects to the server of `request`, as it says but for its pins, and sends nothing on the connection.
  func serverKey(for request: HTTPRequest) async -> ServerKey
  /// True if a request can take its authorities from the file at `path`: it can be read, and has certificates in PEM form.
  func hasCertificates(at path: String) async -> Bool
  /// How `request` reaches its server and what proves that it is the server, after what is enforced.
  func trust(of request: HTTPRequest) -> TrustSettings
  /// Closes the connections that are kept for this user (`ConnectionReuse.user`), or for all with nil: those that no
  /// request uses at once, the others after their request.
  func closeConnections(of user: String?)
}

extension HTTPExchange {
  /// An exchange whose requests all need a task.
  public func begin(
    _ request: HTTPRequest, _ cancellation: Cancellation, ended: @escaping @Sendable (HTTPOutcome) -> Void
  ) -> Bool { false }
  /// An exchange that reads no files takes every name of one.
  public func hasCertificates(at path: String) async -> Bool { true }
  /// An exchange that enforces nothing takes what the request names.
  public func trust(of request: HTTPRequest) -> TrustSettings {
    TrustSettings(
      authorities: CertificateAuthorities(file: request.certificateAuthorities), pins: request.pins,
      proxy: request.proxy)
  }
  /// An exchange that keeps no connections has none to close.
  public func closeConnections(of user: String?) {}
}

/// The key with which a server proved itself.
public enum ServerKey: Sendable {
  /// Its pin: `sha256/BASE64`.
  case pin(String)
  /// No connection stands, or its server is not trusted.
  case failed(HTTPOutcome)
}

/// A request may take a connection that an earlier request of the same user left open, and leaves its own open.
/// Requests of one user share a connection only where they agree in authorities, proxy and pins.
public struct ConnectionReuse: Hashable, Sendable {
  /// The account. Connections of different accounts are never shared: a server may take a connection for a person.
  public var user: String
  /// The request may be sent once more, on a new connection, if a kept connection ends before it brings a byte of a
  /// response. Otherwise that is `unknown`, like any other response that is lost.
  public var isRepeatable: Bool

  public init(user: String, isRepeatable: Bool) {
    self.user = user
    self.isRepeatable = isRepeatable
  }
}

/// An HTTP request.
public struct HTTPRequest: Sendable {
  /// The method, such as `GET`.
  public var method: String
  /// An absolute URL.
  public var url: String { didSet { parsedURL = nil } }
  /// `url`, if it is parsed already.
  public private(set) var parsedURL: HTTPURL?
  /// The path and the query as they leave, with a credential in them; nil: those of `url`.
  public var target: Secret?
  /// Header fields in the order of sending.
  public var fields: [HTTPField]
  /// The body, in guarded memory: it may hold tokens, codes and client secrets.
  public var body: Secret?
  /// Upper bound for name resolution, TCP and TLS handshakes together.
  public var connectTimeout: Milliseconds
  /// Upper bound for the whole exchange, from the start to the last byte of the response.
  public var timeout: Milliseconds
  /// A longer response ends the exchange as `unknown(.tooLarge)`.
  public var maximumResponseBytes: Int
  /// Where the body of the response gets its memory from; nil: it is not counted. The exchange reads no further while it
  /// waits for that.
  public var memory: MemoryBudget?
  /// Its share of `memory` is one of a limited caller.
  public var isForLimitedCaller = false
  /// Public key pins of the server (`sha256/BASE64`); one must match. If empty, only the system's trust store decides.
  public var pins: [String]
  /// A PEM file with the authorities that count for this request; nil: those of the exchange.
  public var certificateAuthorities: String?
  /// The proxy (`ProxyAddress`); nil: that of the exchange.
  public var proxy: String?
  /// Nil: the request has a connection of its own. So has one with `beforeSending`.
  public var reuse: ConnectionReuse?
  /// Asked once the connection and TLS stand, before the first byte of the request leaves. If it says no, nothing is
  /// sent, and the exchange ends as `notConnected(.withheld)`. It is not asked when no connection can be made, and
  /// other exchanges do not wait for it.
  public var beforeSending: (@Sendable () async -> Bool)?

  public init(
    method: String, url: String, fields: [HTTPField] = [], body: Secret? = nil,
    connectTimeout: Milliseconds = .seconds(10), timeout: Milliseconds = .seconds(30),
    maximumResponseBytes: Int = 1 << 20, pins: [String] = []
  ) {
    self.method = method
    self.url = url
    self.fields = fields
    self.body = body
    self.connectTimeout = connectTimeout
    self.timeout = timeout
    self.maximumResponseBytes = maximumResponseBytes
    self.pins = pins
  }

  public init(method: String, to url: HTTPURL, fields: [HTTPField], body: Secret?, pins: [String]) {
    self.init(method: method, url: url.text, fields: fields, body: body, pins: pins)
    parsedURL = url
  }
}

/// A header field. A credential, such as `Authorization`, is a `.secret`.
public struct HTTPField: Sendable {
  public enum Value: Sendable { case text(String), secret(Secret) }
  public var name: String
  public var value: Value

  public init(_ name: String, _ value: String) { (self.name, self.value) = (name, .text(value)) }
  public init(_ name: String, secret: Secret) { (self.name, self.value) = (name, .secret(secret)) }
}

/// The result of an exchange.
public enum HTTPOutcome: Sendable {
  /// The server answered, with any status.
  case response(HTTPResponse)
  /// No connection was made: no byte of the request left this machine.
  case notConnected(ConnectFailure)
  /// The certificate was refused, or no pin matched: no byte of the HTTP request was sent.
  case untrusted(TrustFailure)
  /// The request may have arrived, but no complete response did. `partial`: its complete head, and the body so far, if
  /// the response was cut in its body (`reset`, `timedOut`), also where only its compressed stream shows that.
  case unknown(LostResponse, partial: HTTPResponse? = nil)

  /// Why the response is missing or unusable.
  public enum LostResponse: String, Sendable { case timedOut, reset, tooLarge, malformed, cancelled }
}

/// An HTTP response.
public struct HTTPResponse: Sendable {
  /// The status code.
  public var status: Int
  /// Header fields in the order of the response, without those of interim (1xx) responses.
  public var fields: [(name: String, value: String)]
  /// The body, in guarded memory.
  public var body: Secret
  /// The body's share of the request's `memory`: kept as long as there is a copy of the body. Nil for a small one.
  public var share: MemoryBudget.Share?
  /// The form that it answers, so that a text which repeats one of the form's values can be hidden. Nil for a response to
  /// another request.
  public var form: Secret?
  /// When the request was sent, on the boot clock.
  public var sentAt: BootInstant
  /// When the last byte of the response arrived, on the boot clock.
  public var receivedAt: BootInstant

  public init(
    status: Int, fields: [(name: String, value: String)], body: Secret, sentAt: BootInstant, receivedAt: BootInstant
  ) {
    self.status = status
    self.fields = fields
    self.body = body
    self.sentAt = sentAt
    self.receivedAt = receivedAt
  }

  /// The value of the first field with this name, ignoring case (RFC 9110 §5.1).
  public func field(_ name: String) -> String? {
    let name = name.lowercased()
    return fields.first { FieldSyntax.isName($0.name, name) }?.value
  }
}
