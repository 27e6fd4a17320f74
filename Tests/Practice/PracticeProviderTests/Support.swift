import Foundation
import LoopbackHTTP
import Synchronization

import PracticeProvider

/// A provider in memory, with a clock that the test advances and seeded random bytes.
final class Practice: Sendable {
  static let issuer = "https://idp.test"
  static let redirectURI = "http://127.0.0.1:49152/callback"
  /// RFC 7636 appendix B.
  static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
  static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
  /// 2030-01-01T00:00:00Z
  static let beginning: Int64 = 1_893_456_000_000

  let idp: PracticeProvider
  let clock = VirtualClock(Practice.beginning)

  init(issuer: String = Practice.issuer, seed: UInt64 = 1, _ change: (inout PracticeOptions) -> Void = { _ in }) {
    var options = PracticeOptions()
    change(&options)
    let random = SeededBytes(seed: seed)
    idp = PracticeProvider(
      issuer: issuer,
      options: options,
      now: { [clock] in clock.milliseconds },
      random: { random.bytes($0) }
    )
  }

  func advance(seconds: Int64) { clock.advance(milliseconds: seconds * 1000) }

  // MARK: requests of a client and a browser

  func get(_ path: String, token: String? = nil, headers: [(name: String, value: String)] = []) -> HTTPResponse {
    let authorization = token.map { [(name: "Authorization", value: "Bearer \($0)")] } ?? []
    return answer(.get(path, headers: authorization + headers))
  }

  func post(
    _ path: String,
    _ fields: KeyValuePairs<String, String>,
    headers: [(name: String, value: String)] = []
  ) -> HTTPResponse {
    answer(.postForm(path, fields.map { ($0.key, $0.value) }, headers: headers))
  }

  func control(_ path: String, _ json: String, method: String = "POST") -> HTTPResponse {
    answer(
      HTTPRequest(
        method: method,
        url: "/practice/\(path)",
        headers: [("Content-Type", "application/json")],
        body: Array(json.utf8)
      )
    )
  }

  /// The response to a request; 599 if there is none.
  func answer(_ request: HTTPRequest) -> HTTPResponse {
    idp.handle(request).response ?? HTTPResponse(status: 599)
  }

  func authorizationURL(_ changes: KeyValuePairs<String, String?> = [:]) -> String {
    var items: [(name: String, value: String)] = [
      ("response_type", "code"), ("client_id", "lanyard-demo"), ("redirect_uri", Self.redirectURI),
      ("scope", "openid profile email mail"), ("state", "s-1"), ("nonce", "n-1"),
      ("code_challenge", Self.challenge), ("code_challenge_method", "S256"),
    ]
    for (name, value) in changes {
      items.removeAll { $0.name == name }
      if let value { items.append((name, value)) }
    }
    return idp.issuer + "/authorize?" + FormEncoding.encode(items)
  }

  /// A code for a person who approved.
  func code(as user: String = "alice", _ changes: KeyValuePairs<String, String?> = [:]) throws -> String {
    let location = try idp.authorize(url: authorizationURL(changes), as: user)
    guard let code = Redirect(location)["code"] else { throw PracticeError(description: location) }
    return code
  }

  func exchange(code: String, verifier: String = Practice.verifier) -> HTTPResponse {
    post(
      "/token",
      [
        "grant_type": "authorization_code", "client_id": "lanyard-demo", "code": code,
        "redirect_uri": Self.redirectURI, "code_verifier": verifier,
      ]
    )
  }

  func refresh(_ token: String?) -> HTTPResponse {
    post(
      "/token",
      ["grant_type": "refresh_token", "client_id": "lanyard-demo", "refresh_token": token ?? ""]
    )
  }
}

final class VirtualClock: Sendable {
  private let now: Mutex<Int64>

  init(_ beginning: Int64) { now = Mutex(beginning) }

  var milliseconds: Int64 { now.withLock { $0 } }

  func advance(milliseconds: Int64) { now.withLock { $0 += milliseconds } }
}

/// SplitMix64: the same bytes for the same seed.
final class SeededBytes: Sendable {
  private let state: Mutex<UInt64>

  init(seed: UInt64) { state = Mutex(seed) }

  func bytes(_ count: Int) -> [UInt8] {
    state.withLock { state in
      (0..<count).map { _ in
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return UInt8(truncatingIfNeeded: z ^ (z >> 31))
      }
    }
  }
}

/// The target of a redirect.
struct Redirect {
  let target: String
  let items: [(name: String, value: String)]

  init(_ location: String) {
    let request = HTTPRequest.get(location)
    target = String(location.prefix { $0 != "?" })
    items = request.queryItems
  }

  subscript(name: String) -> String? { items.first { $0.name == name }?.value }
}

extension HTTPResponse {
  subscript(member: String) -> String? { json?[member]?.stringValue }
  var error: String? { self["error"] }
  var text: String { String(decoding: body, as: UTF8.self) }
  var redirect: Redirect { Redirect(header("Location") ?? "") }

  /// The value of a hidden field of the page.
  func hiddenField(_ name: String) -> String? {
    guard let start = text.range(of: "name=\"\(name)\" value=\"") else { return nil }
    return String(text[start.upperBound...].prefix { $0 != "\"" })
  }
}

/// A decoded token, not verified.
struct DecodedJWT {
  let header: PracticeJSON
  let claims: PracticeJSON
  let signedPart: String
  let signature: [UInt8]

  init(_ token: String?) throws {
    let parts = (token ?? "").split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 3, let head = Base64URL.decode(parts[0]), let body = Base64URL.decode(parts[1]),
      let signature = Base64URL.decode(parts[2])
    else { throw PracticeError(description: "not a JWT") }
    header = try PracticeJSON(parsing: head)
    claims = try PracticeJSON(parsing: body)
    signedPart = parts[0] + "." + parts[1]
    self.signature = signature
  }
}
