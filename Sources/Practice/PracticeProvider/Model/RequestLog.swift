/// One logged request. It contains no token, code or secret.
public struct LoggedRequest: Sendable, Equatable {
  public var method: String
  /// The path below the issuer: `/token`.
  public var path: String
  public var grantType: String?
  public var clientID: String?
  /// Nil if no response was sent.
  public var status: Int?
  /// `error` of the response.
  public var error: String?
  /// Whether a scripted fault affected it.
  public var metFault: Bool
  /// The provider's wall clock, milliseconds since 1970.
  public var atMilliseconds: Int64

  var json: PracticeJSON {
    var members: [PracticeJSON.Member] = [.init("method", .string(method)), .init("path", .string(path))]
    if let grantType { members.append(.init("grant_type", .string(grantType))) }
    if let clientID { members.append(.init("client_id", .string(clientID))) }
    if let status { members.append(.init("status", .integer(Int64(status)))) }
    if let error { members.append(.init("error", .string(error))) }
    if metFault { members.append(.init("fault", true)) }
    members.append(.init("atMilliseconds", .integer(atMilliseconds)))
    return .object(members)
  }
}

/// Values of `grant_type`.
enum GrantType {
  static let authorizationCode = "authorization_code"
  static let refreshToken = "refresh_token"
  static let device = "urn:ietf:params:oauth:grant-type:device_code"
  static let clientCredentials = "client_credentials"
  static let tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"

  /// The parameter may contain anything, also a token: only known values are logged.
  static func logged(_ text: String) -> String {
    [authorizationCode, refreshToken, device, clientCredentials, tokenExchange].contains(text) ? text : "other"
  }
}

/// The latest requests, and the number of all requests to each path.
struct RequestLog: Sendable {
  /// Enough for any script; bounds the log of a demo that runs for weeks.
  static let maximumEntries = 10_000

  private(set) var entries: [LoggedRequest] = []
  private(set) var counts: [String: Int] = [:]

  mutating func append(_ entry: LoggedRequest) {
    if entries.count == Self.maximumEntries { entries.removeFirst(Self.maximumEntries / 10) }
    entries.append(entry)
    counts[entry.path, default: 0] += 1
  }

  var json: PracticeJSON {
    let counts = counts.sorted { $0.key < $1.key }.map { PracticeJSON.Member($0.key, .integer(Int64($0.value))) }
    return ["requests": .array(entries.map(\.json)), "counts": .object(counts)]
  }
}
