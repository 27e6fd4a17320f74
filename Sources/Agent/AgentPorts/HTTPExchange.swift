public import AgentModel
public import Secrets

/// One HTTP request on a connection of its own, sent exactly once: no retry, no redirect, no reuse.
///
/// A refresh token may be spent by a request whose answer never came, so whoever resends silently loses sessions.
public protocol HTTPExchange: Sendable {
  /// Never throws: every way to fail is an outcome with a meaning of its own. Cancelling the task ends the request
  /// as `unknown` or `notConnected`.
  func send(_ request: HTTPRequest) async -> HTTPOutcome
}

public struct HTTPRequest: Sendable {
  public var method: String
  public var url: String
  public var fields: [HTTPField]
  /// In guarded memory, since it carries tokens, codes and client secrets.
  public var body: Secret?
  public var connectTimeout: Milliseconds
  /// From the start to the last byte of the answer.
  public var timeout: Milliseconds
  /// A longer answer ends the exchange as `unknown(.tooLarge)`.
  public var maximumResponseBytes: Int
  /// Pins of the server's public key (`sha256/BASE64`), any of which must match; none: the system's trust alone.
  public var pins: [String]

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
}

/// A header field. `Authorization` is the secret kind.
public struct HTTPField: Sendable {
  public enum Value: Sendable { case text(String), secret(Secret) }
  public var name: String
  public var value: Value

  public init(_ name: String, _ value: String) { (self.name, self.value) = (name, .text(value)) }
  public init(_ name: String, secret: Secret) { (self.name, self.value) = (name, .secret(secret)) }
}

public enum HTTPOutcome: Sendable {
  case response(HTTPResponse)
  /// The connection was never made: nothing left this machine.
  case notConnected(ConnectFailure)
  /// TLS refused the server, or no pin matched: nothing of the request left this machine.
  case untrusted
  /// The request may have arrived; the answer did not.
  case unknown(LostAnswer)

  public enum ConnectFailure: String, Sendable { case nameNotFound, refused, unreachable, timedOut, invalidURL, other }
  public enum LostAnswer: String, Sendable { case timedOut, reset, tooLarge, malformed, cancelled }
}

public struct HTTPResponse: Sendable {
  public var status: Int
  /// In the order of the answer, interim answers left out.
  public var fields: [(name: String, value: String)]
  public var body: Secret
  /// When the request was sent and its last byte came, on the boot clock.
  public var sentAt: BootInstant
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

  /// The first field with this name, ignoring case (RFC 9110 §5.1).
  public func field(_ name: String) -> String? {
    fields.first { $0.name.lowercased() == name.lowercased() }?.value
  }
}
