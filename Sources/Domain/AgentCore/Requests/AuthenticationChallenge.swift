internal import AgentModel

/// A challenge of a `WWW-Authenticate` field (RFC 9110 §11.6.1).
public struct AuthenticationChallenge: Hashable, Sendable {
  /// The scheme in lower case.
  public var scheme: String
  /// The parameters by their names in lower case; of a repeated one the first.
  public var parameters: [String: String] = [:]

  /// The challenges of these field values. What follows a violation of the syntax in a value is left out.
  public static func all(in values: [String]) -> [AuthenticationChallenge] {
    values.flatMap { value in
      var reader = ChallengeReader(Array(value.utf8))
      return reader.challenges()
    }
  }
}

/// What a resource server demands before it serves a request, and a new token of the same sign-in can't give.
public struct InteractionDemand: Hashable, Sendable {
  /// The claims of an authorization request, as told; nil if the challenge names none.
  public var claims: String?
  /// `acr_values` of an authorization request (RFC 9470 §3).
  public var acrValues: [String] = []
  /// `max_age` of an authorization request in seconds (RFC 9470 §3).
  public var maxAgeSeconds: Int64?
  /// The scopes that the request needs (RFC 6750 §3).
  public var scopes: [String] = []

  public init(claims: String) { self.claims = claims }

  /// The first demand among the challenges for an access token; nil if none asks for the person. Lists that are longer
  /// than `maximumItems`, and texts that are longer than the contract allows, are cut or left out.
  public init?(_ challenges: [AuthenticationChallenge]) {
    let demand = challenges.first { challenge in
      ["bearer", "dpop"].contains(challenge.scheme) && Self.errors.contains(challenge.parameters["error"] ?? "")
    }
    guard let parameters = demand?.parameters else { return nil }
    claims = parameters["claims"].flatMap { $0.isEmpty || $0.utf8.count > Self.maximumClaims ? nil : $0 }
    acrValues = Self.list(parameters["acr_values"])
    maxAgeSeconds = parameters["max_age"].flatMap(Int64.init).flatMap { (0...Self.longestAge).contains($0) ? $0 : nil }
    scopes = Self.list(parameters["scope"]).filter { ScopeSet.isName($0) }
  }

  /// The demand of a challenge that a caller tells of. Missing scopes are none: `token.get` takes them.
  public init?(told challenge: String) {
    self.init(
      AuthenticationChallenge.all(in: [challenge]).filter { $0.parameters["error"] != Self.insufficientScope })
  }

  /// The length of `claims` in bytes, and the number and length of list items, that an error of the contract has.
  static let maximumClaims = 16_384
  static let maximumItems = 128
  static let maximumItemBytes = 256
  /// The greatest integer that every JSON reader keeps exactly.
  private static let longestAge: Int64 = 9_007_199_254_740_991

  /// RFC 9470 §3, RFC 6750 §3.1, and the claims challenge of Microsoft Entra.
  private static let errors: Set<String> = [
    "insufficient_user_authentication", insufficientScope, "insufficient_claims",
  ]
  private static let insufficientScope = "insufficient_scope"

  private static func list(_ text: String?) -> [String] {
    let items = (text ?? "").split(separator: " ").filter { $0.utf8.count <= maximumItemBytes }.map(String.init)
    return Array(items.prefix(maximumItems))
  }
}

/// Reads one `WWW-Authenticate` value. A comma separates challenges as well as their parameters, so a name is a
/// parameter only if `=` follows.
private struct ChallengeReader {
  private let bytes: [UInt8]
  private var place = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func challenges() -> [AuthenticationChallenge] {
    var read: [AuthenticationChallenge] = []
    while true {
      skip { FieldSyntax.isBlank($0) || $0 == UInt8(ascii: ",") }
      guard let name = token()?.lowercased() else { return read }
      if let last = read.indices.last, takesEquals() {
        guard let value = value() else { return read }
        if read[last].parameters[name] == nil { read[last].parameters[name] = value }
        guard atItemEnd() else { return read }
      } else {
        // A scheme: a space, the end or a comma follows.
        guard place == bytes.count || FieldSyntax.isBlank(bytes[place]) || bytes[place] == UInt8(ascii: ",") else {
          return read
        }
        read.append(AuthenticationChallenge(scheme: name))
        skipToken68()
      }
    }
  }

  private mutating func skip(while isSkipped: (UInt8) -> Bool) {
    while place < bytes.count, isSkipped(bytes[place]) { place += 1 }
  }

  private mutating func token() -> String? {
    let start = place
    skip(while: FieldSyntax.isToken)
    return start == place ? nil : String(decoding: bytes[start..<place], as: UTF8.self)
  }

  private mutating func takesEquals() -> Bool {
    let start = place
    skip(while: FieldSyntax.isBlank)
    guard place < bytes.count, bytes[place] == UInt8(ascii: "=") else {
      place = start
      return false
    }
    place += 1
    skip(while: FieldSyntax.isBlank)
    return true
  }

  /// A token or a quoted string (RFC 9110 §5.6.4); nil for neither, and for a string without its end.
  private mutating func value() -> String? {
    guard place < bytes.count, bytes[place] == UInt8(ascii: "\"") else { return token() }
    place += 1
    var text: [UInt8] = []
    while place < bytes.count {
      let byte = bytes[place]
      place += 1
      switch byte {
      case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
      case UInt8(ascii: "\\") where place < bytes.count:
        text.append(bytes[place])
        place += 1
      default: text.append(byte)
      }
    }
    return nil
  }

  private mutating func atItemEnd() -> Bool {
    skip(while: FieldSyntax.isBlank)
    return place == bytes.count || bytes[place] == UInt8(ascii: ",")
  }

  /// The credentials of schemes without parameters (RFC 9110 §11.2), up to the next comma.
  private mutating func skipToken68() {
    let start = place
    skip(while: FieldSyntax.isBlank)
    let first = place
    skip { FieldSyntax.isAlphanumeric($0) || "-._~+/".utf8.contains($0) }
    guard place > first else {
      place = start
      return
    }
    skip { $0 == UInt8(ascii: "=") }
    if !atItemEnd() { place = start }
  }
}
